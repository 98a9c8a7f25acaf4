{{/* What values.schema.json cannot say, or not in words that people understand. */}}

{{- define "plimsoll.checks" -}}
{{- include "plimsoll.wholeValues" . -}}
{{- $v := .Values -}}
{{- if and (gt (int $v.controller.replicas) 1) (not $v.database.existingSecret) -}}
{{- fail (printf "controller.replicas is %d, and SQLite's file has one writer: set database.existingSecret to a Secret with a PostgreSQL URL, or leave controller.replicas at 1" (int $v.controller.replicas)) -}}
{{- end -}}
{{- if and $v.trainers.enabled (not $v.database.existingSecret) -}}
{{- fail "trainers.enabled is true, and SQLite's file has one writer: set database.existingSecret to a Secret with a PostgreSQL URL, or leave trainers.enabled at false" -}}
{{- end -}}
{{- if and $v.agent.namespace (eq $v.agent.namespace "kube-system") $v.agent.createNamespace -}}
{{- fail "agent.namespace is kube-system, which is there already: set agent.createNamespace to false" -}}
{{- end -}}
{{- if and $v.rescue.byAgent $v.agent.enabled (not (semverCompare ">=1.33.0-0" .Capabilities.KubeVersion.Version)) -}}
{{- fail (printf "rescue.byAgent needs Kubernetes 1.33, and this is %s: before, nothing binds an agent to its own node; set rescue.byAgent to false" .Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- if and $v.mlflow.tokenKey (not $v.mlflow.existingSecret) -}}
{{- fail "mlflow.tokenKey is a key of mlflow.existingSecret, which is empty: name the Secret, or leave out the key" -}}
{{- end -}}
{{- if and $v.database.tlsSecret (not $v.database.existingSecret) -}}
{{- fail "database.tlsSecret is for the database of database.existingSecret, which is empty: name the Secret with its URL, or leave out the certificates" -}}
{{- end -}}
{{- if and $v.certificates.certManager.issuerName (ne $v.certificates.mode "cert-manager") -}}
{{- fail (printf "certificates.certManager.issuerName is set, but certificates.mode is %s: set the mode to cert-manager, or leave out the issuer" $v.certificates.mode) -}}
{{- end -}}
{{- if has .Release.Namespace (list "kube-system" "default") -}}
{{- fail (printf "Plimsoll's own namespace is left alone by its webhook, and %s holds other things: install it into one of its own, as with --namespace plimsoll --create-namespace" .Release.Namespace) -}}
{{- end -}}
{{- include "plimsoll.formats" . -}}
{{- include "plimsoll.sizes" . -}}
{{- include "plimsoll.labelTexts" . -}}
{{- include "plimsoll.requestsFit" . -}}
{{- include "plimsoll.volume" . -}}
{{- include "plimsoll.othersNamespace" . -}}
{{- include "plimsoll.another" . -}}
{{- end }}

{{/* `--reuse-values` upgrades with the values of the older chart, which lack what is new. The template that
Helm renders first asks, too: it would end with a nil pointer. */}}
{{- define "plimsoll.wholeValues" -}}
{{- if not (hasKey .Values "hooks") -}}
{{- fail "hooks is empty, as if the values were an older chart's: upgrade with --reset-then-reuse-values in place of --reuse-values, and leave hooks out where you set it to null" -}}
{{- end -}}
{{- end }}

{{/* Two in a cluster would write each other's statuses over, and with `--take-ownership` Helm gives one the
other's rights and webhooks. An upgrade, which may rename its release by a value, makes no second one, and
whoever upgrades need not be allowed to list webhooks. */}}
{{- define "plimsoll.another" -}}
{{- if .Release.IsInstall -}}
{{- range (lookup "admissionregistration.k8s.io/v1" "MutatingWebhookConfiguration" "" "").items -}}
{{- $configuration := .metadata.name -}}
{{- range .webhooks -}}
{{- $service := (.clientConfig).service -}}
{{- if and (eq .name "size.plimsoll.dev") $service -}}
{{- $ours := and (eq $service.namespace $.Release.Namespace) (eq $service.name (printf "%s-admission" (include "plimsoll.fullname" $))) -}}
{{- if not $ours -}}
{{- fail (printf "Plimsoll is in namespace %s already (MutatingWebhookConfiguration %s), and a cluster has one: upgrade that release, or uninstall it first; if nothing else is left of it: kubectl delete mutatingwebhookconfiguration %s" $service.namespace $configuration $configuration) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* With `--take-ownership`, Helm takes a namespace of others. Ours has the release's annotations, or
was applied by kubectl with the chart's labels. */}}
{{- define "plimsoll.othersNamespace" -}}
{{- $agents := include "plimsoll.agentNamespace" . -}}
{{- if and .Values.agent.enabled .Values.agent.createNamespace (ne $agents .Release.Namespace) -}}
{{- with lookup "v1" "Namespace" "" $agents -}}
{{- $annotations := default dict .metadata.annotations -}}
{{- $labels := default dict .metadata.labels -}}
{{- $owned := and (eq (toString (get $annotations "meta.helm.sh/release-name")) $.Release.Name) (eq (toString (get $annotations "meta.helm.sh/release-namespace")) $.Release.Namespace) -}}
{{- $applied := and (eq (toString (get $labels "app.kubernetes.io/instance")) $.Release.Name) (eq (toString (get $labels "app.kubernetes.io/component")) "agent") -}}
{{- if not (or $owned $applied) -}}
{{- fail (printf "agent.namespace is %s, which is there already and not of this release: set agent.createNamespace to false, and let it enforce Pod Security `privileged` for the agents" $agents) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* A claim that nothing can satisfy stays Pending, and `--wait` says nothing of it. Without a cluster,
lookup finds nothing, not even an empty list. */}}
{{- define "plimsoll.volume" -}}
{{- $p := .Values.persistence -}}
{{- $claim := printf "%s-store" (include "plimsoll.fullname" .) -}}
{{- if and $p.enabled (not $p.existingClaim) (not $p.storageClassName) (not .Values.database.existingSecret) -}}
{{- if not (lookup "v1" "PersistentVolumeClaim" .Release.Namespace $claim) -}}
{{- $classes := lookup "storage.k8s.io/v1" "StorageClass" "" "" -}}
{{- if hasKey $classes "items" -}}
{{- $names := list -}}
{{- $found := false -}}
{{- range $classes.items -}}
{{- $names = append $names .metadata.name -}}
{{- $annotations := default dict .metadata.annotations -}}
{{- range list "storageclass.kubernetes.io/is-default-class" "storageclass.beta.kubernetes.io/is-default-class" -}}
{{- if eq (toString (get $annotations .)) "true" }}{{ $found = true }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if not $found -}}
{{- range (lookup "v1" "PersistentVolume" "" "").items -}}
{{- $for := default (dict "namespace" $.Release.Namespace "name" $claim) .spec.claimRef -}}
{{- $ours := and (eq (toString $for.namespace) $.Release.Namespace) (eq (toString $for.name) $claim) -}}
{{- if and $ours (not .spec.storageClassName) (not (has (.status).phase (list "Bound" "Released" "Failed"))) }}{{ $found = true }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if not $found -}}
{{- $choice := "a class that you make" -}}
{{- if $names }}{{ $choice = printf "one of its classes (%s)" (join ", " $names) }}{{ end -}}
{{- fail (printf "the cluster has no default StorageClass, and no free PersistentVolume without a class, so the claim %s would wait for ever: set persistence.storageClassName to %s, or persistence.existingClaim to a claim of yours, or database.existingSecret to a Secret with a PostgreSQL URL; or set persistence.enabled to false, and what was learned is lost whenever the controller's pod goes" $claim $choice) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Texts of a form. A pattern in the schema would answer with the pattern. */}}
{{- define "plimsoll.formats" -}}
{{- $name := "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$" -}}
{{- $octet := "(25[0-5]|2[0-4][0-9]|[01]?[0-9]?[0-9])" -}}
{{- $ip4 := printf "(%s[.]){3}%s" $octet $octet -}}
{{- $cidr4 := printf "^%s/0*(3[0-2]|[12]?[0-9])$" $ip4 -}}
{{- $group := "[0-9a-fA-F]{1,4}" -}}
{{- $groups := printf "(%s(:%s)*)?" $group $group -}}
{{- $prefix6 := "/0*(12[0-8]|1[01][0-9]|[1-9]?[0-9])$" -}}
{{- $whole6 := printf "^(%s:){7}%s%s" $group $group $prefix6 -}}
{{- $short6 := printf "^%s::%s%s" $groups $groups $prefix6 -}}
{{- $v := .Values -}}
{{- $names := dict "database.existingSecret" $v.database.existingSecret "database.tlsSecret" $v.database.tlsSecret "mlflow.existingSecret" $v.mlflow.existingSecret "persistence.existingClaim" $v.persistence.existingClaim "persistence.storageClassName" $v.persistence.storageClassName "agent.namespace" $v.agent.namespace "certificates.certManager.issuerName" $v.certificates.certManager.issuerName "nameOverride" $v.nameOverride "fullnameOverride" $v.fullnameOverride "admission.priorityClassName" $v.admission.priorityClassName "controller.priorityClassName" $v.controller.priorityClassName "agent.priorityClassName" $v.agent.priorityClassName "extender.priorityClassName" $v.extender.priorityClassName "trainers.priorityClassName" $v.trainers.priorityClassName "extender.schedulerName" $v.extender.schedulerName -}}
{{- range $i, $each := $v.image.pullSecrets }}{{ $_ := set $names (printf "image.pullSecrets[%d]" $i) $each }}{{ end -}}
{{- range $i, $each := $v.webhook.excludedNamespaces }}{{ $_ := set $names (printf "webhook.excludedNamespaces[%d]" $i) $each }}{{ end -}}
{{- range $i, $each := $v.networkPolicies.metricsNamespaces }}{{ $_ := set $names (printf "networkPolicies.metricsNamespaces[%d]" $i) $each }}{{ end -}}
{{- range $i, $each := $v.campaigns.namespaces }}{{ $_ := set $names (printf "campaigns.namespaces[%d]" $i) $each }}{{ end -}}
{{- range $field, $text := $names -}}
{{- if and $text (not (regexMatch $name $text)) -}}
{{- fail (printf "%s: %q is no name of Kubernetes: write lower-case letters, digits and dashes" $field $text) -}}
{{- end -}}
{{- end -}}
{{- include "plimsoll.beginning" . -}}
{{- include "plimsoll.ownLabels" . -}}
{{- $cidrs := dict -}}
{{- range $i, $each := $v.networkPolicies.apiServerCidrs }}{{ $_ := set $cidrs (printf "networkPolicies.apiServerCidrs[%d]" $i) $each }}{{ end -}}
{{- range $i, $each := $v.networkPolicies.webhookCidrs }}{{ $_ := set $cidrs (printf "networkPolicies.webhookCidrs[%d]" $i) $each }}{{ end -}}
{{- range $i, $each := $v.networkPolicies.schedulerCidrs }}{{ $_ := set $cidrs (printf "networkPolicies.schedulerCidrs[%d]" $i) $each }}{{ end -}}
{{- range $i, $each := $v.networkPolicies.databaseCidrs }}{{ $_ := set $cidrs (printf "networkPolicies.databaseCidrs[%d]" $i) $each }}{{ end -}}
{{- range $field, $text := $cidrs -}}
{{- /* An IPv4 address at the end stands for two groups, and `::` for at least one. */ -}}
{{- $six := regexReplaceAll (printf ":%s/" $ip4) $text ":0:0/" -}}
{{- $few := le (regexFindAll $group (regexReplaceAll "/.*" $six "") -1 | len) 7 -}}
{{- if not (or (regexMatch $cidr4 $text) (regexMatch $whole6 $six) (and $few (regexMatch $short6 $six))) -}}
{{- fail (printf "%s: %q is no range of addresses: write it as 10.0.0.0/16, a single one as 10.0.0.1/32" $field $text) -}}
{{- end -}}
{{- end -}}
{{- with $v.agent.controllerUrl -}}
{{- if not (regexMatch "^https?://[^ ]+$" .) -}}
{{- fail (printf "agent.controllerUrl: %q is no URL: write http://HOST:PORT" .) -}}
{{- end -}}
{{- end -}}
{{- range $field, $text := dict "controller.clusterIP" $v.controller.clusterIP "extender.clusterIP" $v.extender.clusterIP -}}
{{- if and $text (not (regexMatch "^([0-9]+([.][0-9]+){3}|[0-9a-fA-F:]+:[0-9a-fA-F:]*)$" $text)) -}}
{{- fail (printf "%s: %q is no address: write one of the cluster's Service range, or leave it empty" $field $text) -}}
{{- end -}}
{{- end -}}
{{- with $v.image.digest -}}
{{- if not (regexMatch "^sha256:[0-9a-f]{64}$" .) -}}
{{- fail (printf "image.digest: %q is no digest: write sha256: and its 64 hex digits" .) -}}
{{- end -}}
{{- end -}}
{{- if not (hasPrefix "/" $v.agent.cgroupRoot) -}}
{{- fail (printf "agent.cgroupRoot: %q is no absolute path: write /sys/fs/cgroup, or where the nodes have it" $v.agent.cgroupRoot) -}}
{{- end -}}
{{- range $field, $text := dict "certificates.certManager.duration" $v.certificates.certManager.duration "certificates.certManager.renewBefore" $v.certificates.certManager.renewBefore "monitoring.serviceMonitor.interval" $v.monitoring.serviceMonitor.interval -}}
{{- if not (regexMatch "^([0-9]+(h|m|s))+$" $text) -}}
{{- fail (printf "%s: %q is no time: write it as 30s, 5m or 720h" $field $text) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Helm would make roles and accounts first, and stop at the first Service. */}}
{{- define "plimsoll.beginning" -}}
{{- $begins := include "plimsoll.fullname" . -}}
{{- if has $begins (list "y" "n" "yes" "no" "on" "off" "true" "false" "null") -}}
{{- fail (printf "the objects' names would begin with %q, which YAML does not read as text: set fullnameOverride to another name" $begins) -}}
{{- end -}}
{{- if not (regexMatch "^[a-z][-a-z0-9]*$" $begins) -}}
{{- fail (printf "the objects' names would begin with %q, and a Service's name begins with a letter and has no dot: set fullnameOverride to lower-case letters, digits and dashes, a letter first" $begins) -}}
{{- end -}}
{{- end }}

{{/* Selectors know pods by these labels. With another value, the API server refuses all workloads. */}}
{{- define "plimsoll.ownLabels" -}}
{{- $own := dict "app.kubernetes.io/name" (include "plimsoll.name" .) "app.kubernetes.io/instance" .Release.Name "app.kubernetes.io/component" "" -}}
{{- $given := dict "labels" .Values.labels -}}
{{- range $process := list "admission" "controller" "agent" "extender" "trainers" -}}
{{- $_ := set $given (printf "%s.podLabels" $process) (index $.Values $process).podLabels -}}
{{- end -}}
{{- range $field, $labels := $given -}}
{{- range $key, $value := $labels -}}
{{- if and (hasKey $own $key) (ne $value (get $own $key)) -}}
{{- fail (printf "%s: the label %s is the chart's own, by which its objects find their pods: leave it out" $field $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* A quantity as text. A number in a file of values is a float, and a large one's text has an exponent. */}}
{{- define "plimsoll.quantity" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ int64 . }}{{ else }}{{ toString . }}{{ end -}}
{{- end }}

{{/* A quantity in bytes or processors. */}}
{{- define "plimsoll.amount" -}}
{{- $text := include "plimsoll.quantity" . -}}
{{- $units := dict "" 1.0 "m" 0.001 "k" 1e3 "K" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 -}}
{{- mulf (regexFind "^[0-9.]+" $text | float64) (get $units (regexFind "[a-zA-Z]*$" $text)) -}}
{{- end }}

{{/* Quantities, and what must fit into what. */}}
{{- define "plimsoll.sizes" -}}
{{- $quantity := "^[0-9]+([.][0-9]+)?(m|k|K|M|G|T|Ki|Mi|Gi|Ti)?$" -}}
{{- $quantities := dict "persistence.size" .Values.persistence.size -}}
{{- range $process := list "admission" "controller" "agent" "extender" "trainers" "hooks" -}}
{{- range $kind, $each := (index $.Values $process).resources -}}
{{- range $resource, $text := $each -}}
{{- $_ := set $quantities (printf "%s.resources.%s.%s" $process $kind $resource) (include "plimsoll.quantity" $text) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $field, $text := $quantities -}}
{{- if not (regexMatch $quantity $text) -}}
{{- fail (printf "%s: %q is no quantity: write memory as 256Mi or 2Gi, processors as 100m or 0.1" $field $text) -}}
{{- end -}}
{{- end -}}
{{- $training := int64 .Values.controller.training.memoryMi -}}
{{- $models := int64 .Values.admission.modelsMi -}}
{{- $learns := printf "a training may take controller.training.memoryMi (%dMi) beside 256Mi of the process that starts it" $training -}}
{{- $reads := printf "models may take three times admission.modelsMi (%dMi) beside 144Mi, while they are read" $models -}}
{{- $needs := list (list "controller" (add $training 256) $learns) -}}
{{- /* Few clusters have so many models that admission needs all that modelsMi allows. Who raises it has. */ -}}
{{- if gt $models 80 }}{{ $needs = append $needs (list "admission" (add (mul 3 $models) 144) $reads) }}{{ end -}}
{{- if .Values.trainers.enabled }}{{ $needs = append $needs (list "trainers" (add $training 256) $learns) }}{{ end -}}
{{- range $needs -}}
{{- $process := index . 0 -}}
{{- $needed := index . 1 -}}
{{- $why := index . 2 -}}
{{- with (((index $.Values $process).resources).limits).memory -}}
{{- if lt (include "plimsoll.amount" . | float64) (mulf $needed 1048576.0) -}}
{{- fail (printf "%s.resources.limits.memory is %s, and %s: raise the one or lower the other" $process (include "plimsoll.quantity" .) $why) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}
