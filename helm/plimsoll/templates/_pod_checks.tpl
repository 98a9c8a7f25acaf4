{{/* What the API server would refuse of pods in the middle of an installation, and the controller's Job
of trainings much later. */}}

{{- define "plimsoll.labelTexts" -}}
{{- $part := "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?" -}}
{{- $given := dict "labels" .Values.labels -}}
{{- range $process := list "admission" "controller" "agent" "extender" "trainers" -}}
{{- $_ := set $given (printf "%s.podLabels" $process) (index $.Values $process).podLabels -}}
{{- $_ := set $given (printf "%s.nodeSelector" $process) (index $.Values $process).nodeSelector -}}
{{- end -}}
{{- range $object := list "serviceMonitor" "rules" "dashboard" -}}
{{- $_ := set $given (printf "monitoring.%s.labels" $object) (index $.Values.monitoring $object).labels -}}
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
{{- range $process := list "admission" "controller" "agent" "extender" "trainers" "hooks" -}}
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

{{/* Of two variables with one name the later one counts, and so a value of the chart would do nothing.
The templates themselves say which they set; people's come last. They make the other checks, so this
is none of those. */}}
{{- define "plimsoll.ownSettings" -}}
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
{{- if has .name $own -}}
{{- fail (printf "%s.env: the chart sets %s itself: leave it out, and set the value that the chart makes it from" $process .name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}
