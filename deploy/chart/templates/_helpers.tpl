{{/* Labels of an object: those of all, those of a dict beside the context, and commonLabels. */}}
{{- define "bumpwright.labels" -}}
{{- $own := dict "app.kubernetes.io/part-of" "flux" -}}
{{- range append (rest .) (first .).Values.commonLabels }}{{ $own = merge $own (. | default dict) }}{{ end -}}
{{- toYaml $own -}}
{{- end }}

{{/* The name of the ServiceAccount of the pods. */}}
{{- define "bumpwright.serviceAccountName" -}}
{{- if not (or .Values.serviceAccount.create .Values.serviceAccount.name) -}}
{{- fail "serviceAccount.name: name the ServiceAccount that is there, or set serviceAccount.create" -}}
{{- end -}}
{{- default "bumpwright" .Values.serviceAccount.name -}}
{{- end }}

{{/* The image with its tag, its digest or both. */}}
{{- define "bumpwright.image" -}}
{{- $tag := .Values.image.tag -}}
{{- if not (or $tag .Values.image.digest) }}{{ $tag = .Chart.AppVersion }}{{ end -}}
{{- .Values.image.repository }}{{ with $tag }}:{{ . }}{{ end }}{{ with .Values.image.digest }}@{{ . }}{{ end }}
{{- end }}

{{/* The kinds of images that are switched on, as --controllers has them. */}}
{{- define "bumpwright.images" -}}
{{- $on := list -}}
{{- if .Values.controllers.imageReflector }}{{ $on = append $on "image-reflector" }}{{ end -}}
{{- if .Values.controllers.imageAutomation }}{{ $on = append $on "image-automation" }}{{ end -}}
{{- join "," $on -}}
{{- end }}

{{/* The arguments of the process. */}}
{{- define "bumpwright.arguments" -}}
- controller
- --watch-all-namespaces={{ .Values.watchAllNamespaces }}
- --enable-leader-election=true
- --storage-path=/data
- --log-level={{ .Values.logLevel }}
- --log-encoding=json
{{- with include "bumpwright.images" . }}
- --controllers={{ . }}
{{- end }}
{{- if .Values.besideFlux }}
- --events-addr=http://notification-controller.$(RUNTIME_NAMESPACE).svc.{{ .Values.clusterDomain }}./
{{- end }}
{{- if not .Values.watchAllNamespaces }}
- --no-cross-namespace-refs=true
{{- end }}
{{- if .Values.controllers.source }}
- --controllers=source
{{- if not .Values.shards.replicas }}
- --storage-adv-addr=bumpwright-artifacts.$(RUNTIME_NAMESPACE).svc.{{ .Values.clusterDomain }}.
{{- end }}
{{- end }}
{{- if .Values.controllers.helm }}
- --controllers=helm
{{- end }}
{{- if .Values.shards.replicas }}
- --shards
- --storage-adv-addr=$(POD_NAME).bumpwright-shards.$(RUNTIME_NAMESPACE).svc.{{ .Values.clusterDomain }}:9090
{{- end }}
{{- if .Values.controllers.kustomize }}
- --controllers=kustomize
{{- end }}
{{- if .Values.webhooks.enabled }}
- --webhook-addr=:9292
{{- end }}
{{- if .Values.ui.enabled }}
- --ui-addr=:9393
{{- if .Values.ui.actions }}
- --ui-actions
{{- end }}
{{- end }}
{{- if .Values.reviews }}
- --reviews
{{- end }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Binds a role to the ServiceAccount, in the whole cluster or in the release's namespace: context, name in the cluster, name
in a namespace, kind and name of the role. */}}
{{- define "bumpwright.binding" -}}
{{- $everywhere := .context.Values.watchAllNamespaces -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ ternary "ClusterRoleBinding" "RoleBinding" $everywhere }}
metadata:
  name: {{ ternary .clusterName .name $everywhere }}
  {{- if not $everywhere }}
  namespace: {{ .context.Release.Namespace }}
  {{- end }}
  labels:
    {{- include "bumpwright.labels" (list .context) | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .roleKind | default (ternary "ClusterRole" "Role" $everywhere) }}
  name: {{ .role }}
subjects:
- kind: ServiceAccount
  name: {{ include "bumpwright.serviceAccountName" .context }}
  namespace: {{ .context.Release.Namespace }}
{{- end }}

{{/* A role of the controllers and its binding, of the whole cluster or of the release's namespace: context, name, name of the
binding in the cluster, rules. */}}
{{- define "bumpwright.rights" -}}
{{- $everywhere := .context.Values.watchAllNamespaces -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ ternary "ClusterRole" "Role" $everywhere }}
metadata:
  name: {{ .name }}
  {{- if not $everywhere }}
  namespace: {{ .context.Release.Namespace }}
  {{- end }}
  labels:
    {{- include "bumpwright.labels" (list .context) | nindent 4 }}
rules:
{{ .rules }}
---
{{ include "bumpwright.binding" (merge (dict "role" .name) .) }}
{{- end }}
