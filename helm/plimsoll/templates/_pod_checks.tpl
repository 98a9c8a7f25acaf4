{{/* What the API server would refuse of pods in the middle of an installation, and the controller's Job
of trainings much later. What is off is not asked for, and so not checked. */}}

{{- define "plimsoll.processesOn" -}}
{{- $on := list "admission" "controller" -}}
{{- range $process := list "agent" "extender" "trainers" -}}
{{- if (index $.Values $process).enabled }}{{ $on = append $on $process }}{{ end -}}
{{- end -}}
{{- join " " $on -}}
{{- end }}

{{- define "plimsoll.labelTexts" -}}
{{- $part := "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?" -}}
{{- $given := dict "labels" .Values.labels -}}
{{- range $process := splitList " " (include "plimsoll.processesOn" .) -}}
{{- $_ := set $given (printf "%s.podLabels" $process) (index $.Values $process).podLabels -}}
{{- $_ := set $given (printf "%s.nodeSelector" $process) (index $.Values $process).nodeSelector -}}
{{- end -}}
{{- range $object := list "serviceMonitor" "rules" "dashboard" -}}
{{- with index $.Values.monitoring $object -}}
{{- if .enabled }}{{ $_ := set $given (printf "monitoring.%s.labels" $object) .labels }}{{ end -}}
{{- end -}}
{{- end -}}
{{- range $field, $labels := $given -}}
{{- range $key, $value := $labels -}}
{{- if not (regexMatch (printf "^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?%s$" $part) $key) -}}
{{- fail (printf "%s: %q is no label's key: write up to 63 letters, digits, dashes, dots and underscores, with example.com/ before them or without" $field $key) -}}
{{- end -}}
{{- if not (regexMatch (printf "^(%s)?$" $part) $value) -}}
{{- fail (printf "%s: %q of %s is no label's value: write up to 63 letters, digits, dashes, dots and underscores, with a letter or digit at both ends" $field $value $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "plimsoll.requestsFit" -}}
{{- range $process := append (splitList " " (include "plimsoll.processesOn" .)) "hooks" -}}
{{- $resources := (index $.Values $process).resources -}}
{{- range $resource, $limit := $resources.limits -}}
{{- with get (default dict $resources.requests) $resource -}}
{{- if gt (include "plimsoll.amount" . | float64) (include "plimsoll.amount" $limit | float64) -}}
{{- fail (printf "%s.resources.requests.%s is %s, and its limit %s: raise the limit or lower the request" $process $resource (include "plimsoll.quantity" .) (include "plimsoll.quantity" $limit)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Of two variables with one name the later one counts, and so these values of the chart would do nothing.
What the chart makes from no value is people's to change. */}}
{{- define "plimsoll.valueOfSetting" -}}
PLIMSOLL_CONTROLLER_URL: agent.controllerUrl
PLIMSOLL_DRAIN_S: admission.drainSeconds
PLIMSOLL_EXCLUDED_NAMESPACES: webhook.excludedNamespaces
PLIMSOLL_FEED_MODELS_MIB: admission.modelsMi
PLIMSOLL_LATE_BINDINGS_PER_S: controller.lateBindingsPerSecond
PLIMSOLL_LEASE_S: controller.leaseSeconds
PLIMSOLL_LEASES_HOST: listenAddress
PLIMSOLL_LISTEN_ADDRESS: listenAddress
PLIMSOLL_LISTEN_HOST: listenAddress
PLIMSOLL_MAX_FEED_AGE_S: admission.maxFeedAgeSeconds
PLIMSOLL_MAX_SILENCE_S: admission.maxSilenceSeconds
PLIMSOLL_METRICS_LISTEN_HOST: listenAddress
PLIMSOLL_MLFLOW_PREFIX: mlflow.prefix
PLIMSOLL_MLFLOW_URL: mlflow.existingSecret
PLIMSOLL_MODE: policy.mode
PLIMSOLL_PAGE_HOST: controller.exposePage
PLIMSOLL_RESCUE_BY_AGENT: rescue.byAgent
PLIMSOLL_STORE_URL: database.existingSecret
PLIMSOLL_TASK_METRICS: monitoring.taskMetrics
PLIMSOLL_TLS_LIFETIME_S: certificates.lifetimeSeconds
PLIMSOLL_TRAINING_BUDGET_S: controller.training.budgetSeconds
PLIMSOLL_TRAINING_MEMORY_MIB: controller.training.memoryMi
{{- end }}

{{/* The templates themselves say which of them they set; people's come last. They make the other checks,
so this is none of those. */}}
{{- define "plimsoll.ownSettings" -}}
{{- $values := fromYaml (include "plimsoll.valueOfSetting" .) -}}
{{- range $process := list "admission" "controller" "agent" "extender" "trainers" -}}
{{- $more := (index $.Values $process).env -}}
{{- $text := "" -}}
{{- if $more }}{{ $text = include (printf "%s/%s.yaml" $.Template.BasePath $process) $ }}{{ end -}}
{{- range splitList "\n---" $text -}}
{{- $object := fromYaml . -}}
{{- with get (default dict $object.data) "job.yaml" }}{{ $object = fromYaml . }}{{ end -}}
{{- range ((($object.spec).template).spec).containers -}}
{{- $own := list -}}
{{- range slice .env 0 (sub (len .env) (len $more) | int) }}{{ $own = append $own .name }}{{ end -}}
{{- range $more -}}
{{- if and (has .name $own) (hasKey $values .name) -}}
{{- fail (printf "%s.env: the chart sets %s itself: leave it out, and set %s" $process .name (get $values .name)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}
