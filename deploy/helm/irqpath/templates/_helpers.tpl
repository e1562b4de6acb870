{{/* SPDX-License-Identifier: GPL-2.0-or-later */}}
{{- define "irqpath.name" -}}
{{ if contains "irqpath" .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-irqpath" .Release.Name | trunc 52 | trimSuffix "-" }}{{ end }}
{{- end }}

{{/* What a selector may say: it can never change. The alerts expect the job irqpath. */}}
{{- define "irqpath.selector" -}}
app.kubernetes.io/name: irqpath
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "irqpath.labels" -}}
{{ include "irqpath.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "irqpath.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{/* Where the agent writes captures. */}}
{{- define "irqpath.captures" -}}
/var/lib/irqpath-agent
{{- end }}

{{/* The limit has room for what the container has besides memory_mib: pages of files that are written. */}}
{{- define "irqpath.resources" -}}
{{- $resources := deepCopy .Values.resources }}
{{- if .Values.record.enabled }}
{{- $memory := int .Values.record.memoryMiB }}
{{- $asked := dict "memory" (printf "%dMi" $memory) }}
{{- $most := dict "memory" (printf "%dMi" (add $memory 64)) }}
{{- $_ := set $resources "requests" (merge $asked ($resources.requests | default dict)) }}
{{- $_ := set $resources "limits" (merge $most ($resources.limits | default dict)) }}
{{- end }}
{{- toYaml $resources }}
{{- end }}

{{/* What the kubelet asks, which is on the node and not in the pod, and knows no password. */}}
{{- define "irqpath.probe" -}}
{{- if eq .Values.access "direct" -}}
tcpSocket:
  port: {{ .Values.port }}
{{- else if eq .Values.access "rbacProxy" -}}
httpGet:
  path: /-/healthy
  port: {{ .Values.rbacProxy.port }}
  scheme: HTTPS
{{- else -}}
httpGet:
  path: /-/healthy
  host: 127.0.0.1
  port: {{ .Values.port }}
{{- end }}
{{- end }}

{{/* The agent asks for no more once its programs are attached, and gives these two up then. */}}
{{- define "irqpath.securityContext" -}}
runAsUser: 0
runAsGroup: 0
privileged: false
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
  add: [BPF, PERFMON]
seccompProfile:
  {{- toYaml .Values.seccompProfile | nindent 2 }}
{{- with .Values.seLinuxOptions }}
seLinuxOptions:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
