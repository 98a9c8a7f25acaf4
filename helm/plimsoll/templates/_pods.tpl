{{/* What the pods of all processes have in common. Each takes root, component, values. */}}

{{/* Pod Security `restricted`, and a read-only root file system beyond it. */}}
{{- define "plimsoll.containerSecurity" -}}
allowPrivilegeEscalation: false
capabilities:
  drop: [ALL]
readOnlyRootFilesystem: true
{{- end }}

{{- define "plimsoll.podSecurity" -}}
runAsNonRoot: true
{{- if not (kindIs "invalid" .Values.runAsUser) }}
runAsUser: {{ .Values.runAsUser | int64 }}
runAsGroup: {{ .Values.runAsUser | int64 }}
# A volume is handed over to this group.
fsGroup: {{ .Values.runAsUser | int64 }}
fsGroupChangePolicy: OnRootMismatch
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "plimsoll.podMetadata" -}}
labels:
  {{- include "plimsoll.selector" . | nindent 2 }}
  app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
  {{- with include "plimsoll.renamed" .root }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- range $key, $value := merge (dict) .values.podLabels .root.Values.labels }}
  {{ $key }}: {{ $value | quote }}
  {{- end }}
{{- with .values.podAnnotations }}
annotations:
  {{- range $key, $value := . }}
  {{ $key }}: {{ $value | quote }}
  {{- end }}
{{- end }}
{{- end }}

{{/* What pods that end by themselves have for podLabels and podAnnotations: no proxy of a mesh, which
would not end with them. */}}
{{- define "plimsoll.withoutProxy" -}}
podLabels: {sidecar.istio.io/inject: "false"}
podAnnotations: {linkerd.io/inject: disabled}
{{- end }}

{{- define "plimsoll.placement" -}}
{{- with .values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- /* The image is for Linux, and cgroups are there only. */}}
nodeSelector:
  {{- toYaml (merge (dict) (default dict .values.nodeSelector) (dict "kubernetes.io/os" "linux")) | nindent 2 }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Replicas apart from each other where that can be had: a node that goes takes only one. */}}
{{- define "plimsoll.spread" -}}
{{- if not .values.affinity }}
topologySpreadConstraints:
  {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "plimsoll.selector" $ | nindent 8 }}
    # Without the revision in it, a roll-out's new pods would be spread against the old ones.
    matchLabelKeys: [pod-template-hash]
  {{- end }}
{{- end }}
{{- end }}

{{- define "plimsoll.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | quote }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "plimsoll.container" -}}
image: {{ include "plimsoll.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
args: {{ toJson (prepend (default list .arguments) .component) }}
securityContext:
  {{- include "plimsoll.containerSecurity" . | nindent 2 }}
resources:
  {{- toYaml .values.resources | nindent 2 }}
{{- end }}

{{/* Whoever asks the database knows its authority, and itself, by these files. */}}
{{- define "plimsoll.databaseTlsMount" -}}
{{- if .Values.database.tlsSecret -}}
- name: database
  mountPath: /etc/plimsoll/database
  readOnly: true
{{- end -}}
{{- end }}

{{/* The database's library refuses a key that others than the owner and its group may read. */}}
{{- define "plimsoll.databaseTlsVolume" -}}
{{- with .Values.database.tlsSecret -}}
- name: database
  secret:
    secretName: {{ . | quote }}
    defaultMode: 0440
{{- end -}}
{{- end }}
