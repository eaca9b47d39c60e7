{{- /*
Requirements of each module to the node and the cluster.  Everything else in the chart follows from this table: a module
that is new gets its lines here, a value and a line of the schema.

capabilities	as `rdmad --privileges` prints them; tests/helm compares
root		directories of the node that only root may enter
hostPID		/proc of the node's processes
appArmor	"Unconfined" where the runtime's default profile forbids what the module does
token, rules	access to the API server
mounts		names of rdmad.mounts
*/ -}}
{{- define "rdmad.table" -}}
{{- $low := lt (int .Values.metrics.port) 1024 -}}
devicePlugin:
  root: true
  mounts: [device-plugins, plugins-registry, pod-resources, cdi, devinfo, cgroup, pod-logs, cri]
nccl:
  root: true
  hostPID: true
  mounts: [pod-resources, cgroup, pod-logs]
metrics:
  root: {{ $low }}
  hostPID: true
  {{- if $low }}
  capabilities: [NET_BIND_SERVICE]
  {{- end }}
  mounts: [pod-logs]
cni:
  root: true
  hostPID: true
  capabilities: [NET_ADMIN, NET_RAW, SYS_ADMIN, SYS_PTRACE]
  mounts: [pod-resources, cgroup, pod-logs, netns, sysctls, ipam-plugins, leases]
erdma:
  root: true
  hostPID: true
  capabilities: [NET_ADMIN, SYS_ADMIN, SYS_CHROOT, SYS_MODULE, SYS_PTRACE]
  appArmor: Unconfined
  mounts: [modules, netns, sysctls]
kube:
  token: true
  rules:
    - {apiGroups: [""], resources: [nodes], verbs: [list, watch, patch]}
    - {apiGroups: [""], resources: [pods], verbs: [get]}
    - {apiGroups: [""], resources: [events], verbs: [create, patch]}
{{- end }}

{{- /* Directories of the node, at the same place in the container unless `at` is given. */ -}}
{{- define "rdmad.mounts" -}}
run: [{path: /run/rdmad}]
state: [{path: /var/lib/rdmad}]
infiniband: [{path: /dev/infiniband, readOnly: true}]
device-plugins: [{path: {{ .Values.kubeletDir }}/device-plugins}]
plugins-registry: [{path: {{ .Values.kubeletDir }}/plugins_registry}]
pod-resources: [{path: {{ .Values.kubeletDir }}/pod-resources, readOnly: true}]
cdi: [{path: /var/run/cdi}]
devinfo: [{path: /var/run/k8s.cni.cncf.io/devinfo/dp}]
cgroup: {{ if .Values.cgroupDir }}[{path: {{ .Values.cgroupDir }}, type: Directory, readOnly: {{ not .Values.devicePlugin.rdmaLimits }}}]{{ else }}[]{{ end }}
pod-logs: [{path: /var/log/pods, readOnly: true}]
{{- /* The directory: a socket that is mounted by itself stays the old one when the runtime restarts. */}}
cri: {{ with .Values.devicePlugin.criSocket }}[{path: {{ dir . }}, type: Directory, readOnly: true}]{{ else }}[]{{ end }}
netns: [{path: /run/netns, mountPropagation: HostToContainer}]
{{- /* /proc/sys is read-only in a container without privileges, and shows each thread its own network. */}}
sysctls: [{path: /proc/sys/net, at: /run/host/proc/sys/net, type: Directory}]
ipam-plugins: {{ with .Values.cni.ipamPluginDir }}[{path: {{ . }}, readOnly: true}]{{ else }}[]{{ end }}
leases:
  {{- range .Values.cni.leaseDirs }}
  - {path: {{ . }}}
  {{- else }} []
  {{- end }}
modules: [{path: /lib/modules, type: Directory, readOnly: true}]
{{- end }}

{{- /* The union of the table's rows of the modules that are on, with the mounts resolved. */ -}}
{{- define "rdmad.needs" -}}
{{- $table := include "rdmad.table" . | fromYaml -}}
{{- $known := include "rdmad.mounts" . | fromYaml -}}
{{- $needs := dict "root" false "hostPID" false "token" false "appArmor" "" "capabilities" list "rules" list -}}
{{- $names := list "infiniband" -}}
{{- range $name, $on := .Values.modules -}}
{{- if $on -}}
{{- $row := get $table $name -}}
{{- range $key := list "root" "hostPID" "token" -}}
{{- $_ := set $needs $key (or (get $needs $key) (get $row $key | default false)) -}}
{{- end -}}
{{- $_ := set $needs "appArmor" ($row.appArmor | default $needs.appArmor) -}}
{{- $_ := set $needs "capabilities" (concat $needs.capabilities ($row.capabilities | default list) | uniq | sortAlpha) -}}
{{- $_ := set $needs "rules" (concat $needs.rules ($row.rules | default list)) -}}
{{- $names = concat $names ($row.mounts | default list) -}}
{{- end -}}
{{- end -}}
{{- if $needs.root -}}{{- $names = concat $names (list "run" "state") -}}{{- end -}}
{{- $mounts := list -}}
{{- range $name := $names | uniq | sortAlpha -}}
{{- range $i, $mount := get $known $name -}}
{{- $mounts = append $mounts (merge (dict "name" (ternary $name (printf "%s-%d" $name $i) (eq $i 0))) $mount) -}}
{{- end -}}
{{- end -}}
{{- $_ := set $needs "mounts" $mounts -}}
{{- $needs | toYaml -}}
{{- end }}
