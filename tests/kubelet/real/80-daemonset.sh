# The chart on a real control plane: image, DaemonSet, module kube, manifests of three documents, a rolling update.
. /share/rig/guest/cluster.sh
VKE=vke.volcengine.com/rdma
plugins=/usr/lib/cni
# Ten times the chart's, as an emulated processor has a tenth of the speed.
cpu='resources={"limits": {"cpu": "1", "memory": "256Mi"}, "requests": {"cpu": "100m", "memory": "256Mi"}}'
documents=$RIG_SRC/tests/kubelet/real/manifests

# The rig's control plane, with what a pod needs that asks the API server: a port and an address that are those of the
# service kubernetes (in the place of kube-proxy), the certificate of its CA; and Jobs.
eval "rig_$(declare -f cluster_part)"
eval "rig_$(declare -f kubeconfig)"
kubeconfig() { rig_kubeconfig "$@" | sed 's/:6443/:443/'; }
cluster_part() {
	case $1 in
	apiserver) set -- "$@" --bind-address=0.0.0.0 --secure-port=443 ;;
	controller-manager) set -- "$@" --root-ca-file=/data/pki/apiserver/apiserver.crt \
		--controllers=root-ca-certificate-publisher-controller,job-controller ;;
	esac
	rig_cluster_part "$@"
}
# A look takes seconds of the CPU time that pods wait for.
eval "$(declare -f within | sed 's/sleep 0.7/sleep 5/')"
# Each kubectl takes seconds here.
api() { curl -sSk --fail-with-body -H 'Authorization: Bearer admin-token' "https://127.0.0.1$1" "${@:2}"; }
chart() {	# chart VALUES-FILE TAG [OPTION...]
	"$RIG_HELM" --kubeconfig $KC upgrade --install rdmad "$RIG_SRC/contrib/helm/rdmad" -n kube-system --timeout 15m \
		--values "$RIG_SRC/contrib/helm/values/$1.yaml" --set image.pullPolicy=Never,image.tag="$2" \
		--set cni.binDir=$plugins,cni.ipamPluginDir=$plugins --set-json "$cpu" "${@:3}"
}
daemon_pods() { api "/api/v1/namespaces/kube-system/pods?labelSelector=app.kubernetes.io/name=rdmad"; }
rolled_out() {	# rolled_out TAG
	api /apis/apps/v1/namespaces/kube-system/daemonsets/rdmad | jq -e --arg image "rdmad:$1" '
		.metadata.generation == .status.observedGeneration and .status.updatedNumberScheduled == 1 and
		.status.numberReady == 1 and (.spec.template.spec.containers[0].image | endswith($image))' &&
		[[ $(daemon_pods | jq '.items | length') == 1 ]]
}
ended_with_2() { daemon_pods | jq -e '[.items[].status.containerStatuses[]? | (.state, .lastState).terminated.exitCode] | index(2)'; }
node_allocatable() { api /api/v1/nodes/$node | jq -r --arg r "$1" '.status.allocatable[$r] // "none"'; }
node_label() { api /api/v1/nodes/$node | jq -r --arg l "$1" '.metadata.labels[$l] // "none"'; }
set_label() {	# set_label NAME VALUE
	api /api/v1/nodes/$node -X PATCH -H 'Content-Type: application/merge-patch+json' \
		-d "{\"metadata\": {\"labels\": {\"$1\": \"$2\"}}}"
}
mode() { ask status --json | jq -r --arg r "$1" '.modules[] | select(.name == "device-plugin") | (.status // .).resources[] | select(.name == $r) | .mode'; }
refusals() { ask status --json | jq '[.modules[] | select(.name == "device-plugin") | (.status // .).resources[].refusals] | add'; }
phase() { api /api/v1/namespaces/default/pods/$1 | jq -r .status.phase; }
holder() { ask allocations --json | jq -r --arg p "$1" '[.allocations[] | select(.pod == $p) | .device_names[]] | join(" ")'; }
# Kinds of Events of rdmad on a pod, as `kubectl describe pod` finds them.
events_on() {
	local uid=$(api /api/v1/namespaces/default/pods/$1 | jq -r .metadata.uid)
	api "/api/v1/namespaces/default/events?fieldSelector=involvedObject.uid=$uid" |
		jq -r '[.items[] | select((.reportingComponent // .source.component) | startswith("rdmad")) | .reason] | unique | join(" ")'
}
daemons() { for pid in $(pgrep '^rdmad'); do sed -n "s/^\(CapEff\|CapBnd\|NoNewPrivs\|Seccomp\):\t*/\1=/p" /proc/$pid/status | xargs echo "$pid"; done; }
# beyond CAPABILITIES: processes that could have others.
beyond() {
	daemons | while read -r pid line; do
		local bound=${line#*CapBnd=}
		(((0x${bound%% *} & ~$1) == 0)) || echo "$pid $line"
	done
}
# Kubelet's view of a resource, and the node's, until end_samples.  What lies between two samples is in kubelet's log.
sample() {	# sample RESOURCE
	local n
	touch /tmp/sampling
	while [[ -e /tmp/sampling ]]; do
		ctl allocatable >/tmp/allocatable && awk -v r="$1" '$1 == r { n = $2 } END { print "kubelet=" n + 0 }' /tmp/allocatable
		n=$(node_allocatable "$1")
		[[ ! $n ]] || echo "node=$n"
		sleep 2
	done >/tmp/samples &
	sampler=$!
}
end_samples() {
	rm -f /tmp/sampling
	wait $sampler
	note "samples: $(sort /tmp/samples | uniq -c | awk '{ printf "%s %d times, ", $2, $1 }')"
}
always() { grep -Eq "^kubelet=$1$" /tmp/samples && not grep -Ev "=$1$" /tmp/samples; }
one_shot() {	# one_shot NAME RESOURCE: a pod that ends by itself
	api /api/v1/namespaces/default/pods -X POST -H 'Content-Type: application/json' -d '{"apiVersion": "v1", "kind": "Pod",
		"metadata": {"name": "'$1'", "labels": {"app": "churn"}}, "spec": {"restartPolicy": "Never", "hostNetwork": true,
		"automountServiceAccountToken": false, "containers": [{"name": "main", "image": "rig.local/rdma:1",
		"command": ["true"], "resources": {"limits": {"'$2'": "1"}}}]}}'
}
# A pod that kubelet admits, and that then waits for a volume: an admission without the minute of a container.
admit() {	# admit NAME RESOURCE
	api /api/v1/namespaces/default/pods -X POST -H 'Content-Type: application/json' -d '{"apiVersion": "v1", "kind": "Pod",
		"metadata": {"name": "'$1'", "labels": {"app": "admit"}}, "spec": {"nodeName": "'$node'", "hostNetwork": true,
		"automountServiceAccountToken": false, "terminationGracePeriodSeconds": 0,
		"volumes": [{"name": "none", "configMap": {"name": "none"}}], "containers": [{"name": "main",
		"image": "rig.local/rdma:1", "volumeMounts": [{"name": "none", "mountPath": "/none"}],
		"resources": {"limits": {"'$2'": "1"}}}]}}'
}
# admit_until RESOURCE COMMAND...: pods, one after the other, until the command succeeds, for ten minutes.
admit_until() {
	local resource=$1 end=$((SECONDS + 600 * scale)) n
	shift
	for ((n = 1; SECONDS < end; n++)); do
		((n > 45)) || admit "admit-$((++admit_number))" "$resource" >/dev/null	# twice, of 110 that kubelet takes
		! "$@" >/dev/null || return 0
	done
	return 1
}
admissions() {
	api '/api/v1/namespaces/default/pods?labelSelector=app=admit' |
		jq -r '[.items[].status | .reason // (if .startTime then "admitted" else "unseen" end)] | group_by(.) | map("\(.[0])=\(length)") | join(" ")'
}
churn() { api '/api/v1/namespaces/default/pods?labelSelector=app=churn' | jq -r '[.items[].status | .reason // .phase] | group_by(.) | map("\(.[0])=\(length)") | join(" ")'; }

ip address add 10.96.0.1/32 dev node0
cluster_start || return
ctr -n k8s.io images import "$RIG_IMAGES/rdmad-image.tar" >/dev/null
ctr -n k8s.io images tag docker.io/library/rdmad:0.1.0 docker.io/library/rdmad:next >/dev/null
kubelet_config 'nodeStatusUpdateFrequency: 5s'
KUBELET_FLAGS="--kubeconfig=/data/kubelet.conf" kubelet_start
within 240 "the node is ready" ready

mark=$(now)
check "helm installs the chart with the values of vke" chart vke 0.1.0
within 600 "the DaemonSet's pod is ready" rolled_out 0.1.0
took "from helm to ready"
daemons | sed 's/^/#   /'
check "the daemon has no capability" says 'CapEff=0000000000000000 .*NoNewPrivs=1 Seccomp=2' daemons
check "no process of it may have others than the chart gave" is "" beyond $((1 << 12 | 1 << 13 | 1 << 19 | 1 << 21))
within 120 "the node has the document's capacity" is 4 node_allocatable $VKE
check "rdmad-cni was installed" cmp $plugins/rdmad-cni "$RIG_SRC/build/image-root/usr/libexec/cni/rdmad-cni"

within 60 "module kube publishes that the node can do RDMA" is true node_label rdmad.io/capable
check "by which link layer" is true node_label rdmad.io/link-layer.ethernet
check "how many rails" is 4 node_label rdmad.io/rails
check "and the mode of its resource" is shared node_label rdmad.io/mode.${VKE/\//.}
set_label vke.node.rdma.mode exclusive >/dev/null
within 60 "a label of the node that changes is a mode that changes" is exclusive mode $VKE
within 60 "and is published" is exclusive node_label rdmad.io/mode.${VKE/\//.}
set_label vke.node.rdma.mode shared >/dev/null
within 60 "and back" is shared mode $VKE

# Not 30-vke.conflist: the NICs of this machine have no addresses, and so no subnets for shared ones.
cp "$RIG_SRC/contrib/cni/10-chained.conflist" /data/cni/.new
mv /data/cni/.new /data/cni/05-rdma.conflist
kc apply -f "$documents/vke.yaml"
within 400 "the document's pod runs" is Running phase vke
within 60 "rdmad names it" says 'default/vke ' ask allocations
check "it has eth0 of ptp, and eth1" says 'eth1' ctl exec vke main ip -o link
check "its device's files" says 'uverbs' ctl exec vke main ls /dev/infiniband
ctl exec vke main ip -o address | sed 's/^/#   /'
device=$(holder vke)
ip link set "eth${device#rxe}" down
within 120 "an Event on the pod says that its device has failed" says 'Unhealthy' events_on vke
ip link set "eth${device#rxe}" up
within 120 "and that it works again" says 'Healthy' events_on vke
kc get events -A | grep -i rdma | cut -c1-200 | sed 's/^/#   /'

allocation=$(ask allocations --json | jq -r '.allocations[] | select(.pod == "vke") | .id')
line=$(next_line)
before=$(allocates $VKE)
sample $VKE
check "helm upgrades to another tag" chart vke next
for i in 1 2 3 4 5 6; do
	one_shot churn-$i $VKE >/dev/null
	sleep 5
done
within 600 "the update is through" rolled_out next
within 400 "pods that were made meanwhile have run, and none was refused" is 'Succeeded=6' churn
end_samples
note "Allocate calls of kubelet before: $before; after: $(allocates $VKE)"
check "kubelet and the node always had the four devices" always 4
check "kubelet noticed nothing" is "" noticed $line
check "no Allocate was refused" is 0 refusals
check "the allocation of the pod that runs stays" is "$allocation" eval 'ask allocations --json | jq -r ".allocations[] | select(.pod == \"vke\") | .id"'
check "and its NIC" says eth1 ctl exec vke main ip -o link
kc delete pod --all --wait=false
within 400 "all allocations have ended" is 0 n_allocations_now
rm /data/cni/05-rdma.conflist

kc patch node $node --subresource=status --type=json -p '[{"op": "add", "path": "/status/capacity/nvidia.com~1gpu", "value": "8"}]'
check "helm changes to the values of ack-lingjun" chart ack-lingjun next
within 600 "the update is through" rolled_out next
within 120 "the node has 1k of rdma/hca" is 1k node_allocatable rdma/hca
within 60 "and none of the other" is 0 node_allocatable $VKE
kc apply -f "$documents/container-service.yaml" -f "$documents/lingjun.yaml"
within 400 "the first pod of the document of Container Service runs" is Running phase rdma-test-pod
within 400 "and the second one" is Running phase rdma-test-pod-1
check "with every device" says 'uverbs3' ctl exec rdma-test-pod mofed-test-ctr ls /dev/infiniband
within 400 "the Job of the document of Lingjun has been run" is 1 eval 'api /apis/batch/v1/namespaces/default/jobs/hps-benchmark | jq .status.succeeded'
ask allocations
kc delete pod,job --all --wait=false
within 400 "all allocations have ended" is 0 n_allocations_now

printf 'modules = { device-plugin = { nonsense = 1; }; };\n' >/tmp/bad.conf
line=$(next_line)
pid=$(serving)
sample rdma/hca
check "helm upgrades to a configuration that is wrong" chart ack-lingjun next --set-file config=/tmp/bad.conf
check "pods come until the new daemon has ended with 2" admit_until rdma/hca ended_with_2
check "the old one serves" is $pid serving
within 240 "kubelet has admitted the pods, and refused none" says '^admitted=[0-9]+$' admissions
note "pods that came meanwhile: $(admissions)"
check "helm upgrades to a configuration that is right" chart ack-lingjun 0.1.0
check "pods come until the update is through" admit_until rdma/hca rolled_out 0.1.0
check "another one serves" not is $pid serving
within 240 "kubelet has admitted the pods, and refused none" says '^admitted=[0-9]+$' admissions
note "pods that came in both: $(admissions); Allocate calls of kubelet: $(allocates rdma/hca)"
end_samples
check "kubelet and the node always had all devices" always '(1000|1k)'
check "kubelet noticed nothing" is "" noticed $line
check "no Allocate was refused" is 0 refusals
kc delete pod --all --wait=false
within 400 "all allocations have ended" is 0 n_allocations_now
check "helm uninstalls" "$RIG_HELM" --kubeconfig $KC uninstall rdmad -n kube-system
within 240 "the node shows none" is 0 node_allocatable rdma/hca
kubelet_stop
cluster_stop
