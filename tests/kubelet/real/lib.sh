# What scenarios ask of rdmad's API and of pods, beside the rig's own; `run` puts it behind guest/lib.sh.
allocation_of() { ask allocations --json | jq -r --arg p "$1-$node" '[.allocations[] | select(.pod == $p)][0].id // empty'; }
device_of() { ask allocations --json | jq -r --arg p "$1-$node" '[.allocations[] | select(.pod == $p) | .device_names[]] | join(" ")'; }
n_allocations_now() { ask allocations --json | jq '.allocations | length'; }

# ---- what kubelet notices of a plugin ----

next_line() { echo $(($(wc -l <"$OUT/kubelet-$scenario.log") + 1)); }
# noticed LINE: what kubelet wrote, since that line of its log, of a plugin that went or came.
noticed() {
	tail -n "+$1" "$OUT/kubelet-$scenario.log" | grep -E "Endpoint became unhealthy|Device plugin (dis)?connected|$(
		)ListAndWatch ended|healthyCount=0|Registering plugin|Deregister|Got registration request"
}
# allocates RESOURCE: the number of Allocate calls that kubelet has had answered, and their seconds.
allocates() {
	curl -s http://127.0.0.1:10255/metrics |
		sed -n "s#^kubelet_device_plugin_alloc_duration_seconds_\\(sum\\|count\\){resource_name=\"$1\"} #\\1=#p" | sort | xargs
}
serving() { ask status --json | jq .pid; }

# Kubelet admits a manifest that is still being written, and then the whole one as another pod.
pod_with_init() {	# pod_with_init NAME RESOURCE INIT-COUNT COUNT
	local final=$manifests
	manifests=$(mktemp -d)
	pod "$1" "$2=$4"
	cat >>"$manifests/$1.yaml" <<-YAML
		  initContainers:
		  - name: before
		    image: rig.local/rdma:1
		    imagePullPolicy: Never
		    command: [sh, -c, "cat /run/rdmad/allocation.json; sleep 2"]
		    resources: {limits: {cpu: 100m, $2: "$3"}}
	YAML
	mv "$manifests/$1.yaml" "$final/.$1"
	manifests=$final
	mv "$manifests/.$1" "$manifests/$1.yaml"
}
