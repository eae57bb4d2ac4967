{{- define "louver.selector" -}}
app.kubernetes.io/name: louver
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "louver.metadata" -}}
name: {{ .Release.Name }}
labels:
  {{- include "louver.selector" . | nindent 2 }}
  app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .Release.Service }}
  helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}
