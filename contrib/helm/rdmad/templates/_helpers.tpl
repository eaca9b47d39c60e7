{{- define "rdmad.labels" -}}
app.kubernetes.io/name: rdmad
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "rdmad.selector" -}}
app.kubernetes.io/name: rdmad
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "rdmad.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- /* As `rdmad privileges` prints them for these modules; tests/helm compares. */ -}}
{{- define "rdmad.capabilities" -}}
{{- $found := list -}}
{{- if .Values.modules.cni }}{{ $found = concat $found (list "NET_ADMIN" "NET_RAW" "SYS_ADMIN" "SYS_PTRACE") }}{{ end -}}
{{- $found | uniq | sortAlpha | toJson -}}
{{- end }}

{{- /* Directories of the node that only root may enter. */ -}}
{{- define "rdmad.root" -}}
{{- if or .Values.modules.devicePlugin .Values.modules.cni .Values.modules.nccl }}true{{ end -}}
{{- end }}
