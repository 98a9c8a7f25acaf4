{{/* What objects are called and labelled. */}}

{{- define "plimsoll.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{- define "plimsoll.fullname" -}}
{{- $name := include "plimsoll.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{- define "plimsoll.agentNamespace" -}}
{{- default .Release.Namespace .Values.agent.namespace -}}
{{- end }}

{{/* The namespaces that are left alone: by the webhooks, and by each process if it is asked. */}}
{{- define "plimsoll.excludedNamespaces" -}}
{{- $agents := ternary (list (include "plimsoll.agentNamespace" .)) list .Values.agent.enabled -}}
{{- concat (list "kube-system" .Release.Namespace) $agents .Values.webhook.excludedNamespaces | uniq | join "," -}}
{{- end }}

{{/* Selectors hold the name, and those of Deployments cannot change: what a release is renamed by stays
in them, and the command line knows its objects by this label. */}}
{{- define "plimsoll.renamed" -}}
{{- if ne (include "plimsoll.name" .) .Chart.Name -}}
plimsoll.dev/renamed: "true"
{{- end -}}
{{- end }}

{{/* A name such as `2024` or `true` gets quotes, and stays a text. */}}
{{- define "plimsoll.selector" -}}
app.kubernetes.io/name: {{ include "plimsoll.name" .root | toYaml }}
app.kubernetes.io/instance: {{ .root.Release.Name | toYaml }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* Of an object: labels and annotations. Takes root, component (optional), annotations (optional). */}}
{{- define "plimsoll.metadata" -}}
labels:
  app.kubernetes.io/name: {{ include "plimsoll.name" .root | toYaml }}
  app.kubernetes.io/instance: {{ .root.Release.Name | toYaml }}
  app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .root.Release.Service }}
  helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
  {{- with include "plimsoll.renamed" .root }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- with .component }}
  app.kubernetes.io/component: {{ . }}
  {{- end }}
  {{- range $key, $value := merge (dict) (default dict .labels) .root.Values.labels }}
  {{ $key }}: {{ $value | quote }}
  {{- end }}
{{- with merge (dict) (default dict .annotations) .root.Values.annotations }}
annotations:
  {{- range $key, $value := . }}
  {{ $key }}: {{ $value | quote }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "plimsoll.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ default $.Chart.AppVersion .tag }}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Kubernetes' variable with the address of a Service of the same namespace: no DNS is needed. */}}
{{- define "plimsoll.addressOf" -}}
{{- printf "$(%s_SERVICE_HOST)" (upper . | replace "-" "_") -}}
{{- end }}

{{/* Where the controller's Service is. A fixed address is written down: a Service that is made anew with
another one then restarts the pods, which else ask where it was when they started. */}}
{{- define "plimsoll.controllerAddress" -}}
{{- default (include "plimsoll.addressOf" (printf "%s-controller" (include "plimsoll.fullname" .))) .Values.controller.clusterIP -}}
{{- end }}
