{{- define "rdmad.labels" -}}
{{ include "rdmad.selector" . }}
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

{{- /* Of an init container as well: the pod is Guaranteed only if all have limits that equal their requests. */ -}}
{{- define "rdmad.resources" -}}
{{- $memory := ternary "256Mi" "48Mi" .Values.modules.cni -}}
{{- $own := dict "cpu" "100m" "memory" $memory -}}
{{- .Values.resources | default (dict "requests" $own "limits" $own) | toYaml -}}
{{- end }}

{{- define "rdmad.restricted" -}}
privileged: false
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
seccompProfile: {type: RuntimeDefault}
{{- with .Values.seLinuxOptions }}
seLinuxOptions:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* "true": the values ask for two pods on a node during an update. */}}
{{- define "rdmad.surgeAsked" -}}
{{- $rolling := .Values.updateStrategy.rollingUpdate | default dict -}}
{{- and (eq .Values.updateStrategy.type "RollingUpdate") (not (has (toString ($rolling.maxSurge | default 0)) (list "0" "0%"))) -}}
{{- end }}

{{/* "true": during an update two pods are on a node, and one gives over to the other in the run directory, which only
root has. */}}
{{- define "rdmad.surge" -}}
{{- $needs := include "rdmad.needs" . | fromYaml -}}
{{- and (eq (include "rdmad.surgeAsked" .) "true") $needs.root -}}
{{- end }}

{{/* Pods of one release give over to each other, and to no others (--instance in rdmad(8)). */}}
{{- define "rdmad.instance" -}}
{{- .Release.Namespace }}/{{ .Release.Name -}}
{{- end }}

{{/* Kubelet asks every address of the node, without a certificate of its own. */}}
{{- define "rdmad.probed" -}}
{{- and .Values.modules.metrics (not .Values.metrics.address) (not .Values.metrics.webConfigSecret) -}}
{{- end }}

{{- define "rdmad.updateStrategy" -}}
{{- if eq (include "rdmad.surge" .) (include "rdmad.surgeAsked" .) -}}
{{ toYaml .Values.updateStrategy }}
{{- else -}}
type: RollingUpdate
rollingUpdate: {maxUnavailable: {{ .Values.updateStrategy.rollingUpdate.maxSurge }}, maxSurge: 0}
{{- end }}
{{- end }}
