# One rdmad gives over to another while kubelet admits pods; one that could not start gets nothing.
count=500
# A pod that kubelet admits, and that then waits for a volume: an admission without the minute of a container.
admit() {	# admit NAME
	cat >"$manifests/.$1" <<-YAML
		apiVersion: v1
		kind: Pod
		metadata: {name: $1, namespace: default, annotations: {turn: "$scenario-$RANDOM"}}
		spec:
		  hostNetwork: true
		  terminationGracePeriodSeconds: 0
		  volumes: [{name: none, hostPath: {path: /none, type: Directory}}]
		  containers:
		  - {name: main, image: "rig.local/rdma:1", resources: {limits: {rdma/hca: 1}}, volumeMounts: [{name: none, mountPath: /none}]}
	YAML
	mv "$manifests/.$1" "$manifests/$1.yaml"
}
# Pods come and kubelet's devices are counted, until `calm`.
crowd() {
	touch /tmp/crowd
	for ((n = 1; n <= 200; n++)); do
		[[ -e /tmp/crowd ]] || break
		admit crowd-$n
		sleep 0.5
	done &
	crowd=$!
	while [[ -e /tmp/crowd ]]; do
		ctl allocatable >/tmp/allocatable && awk '$1 == "rdma/hca" { n = $2 } END { print n + 0 }' /tmp/allocatable
		sleep 1
	done >/tmp/samples &
	samples=$!
}
calm() {
	rm -f /tmp/crowd
	wait $crowd $samples
}
admitted() { ctl podres | grep -c '^default/crowd-.* rdma/hca ids='; }
asked() { ls $manifests | grep -c '^crowd-'; }
more_admitted() { (($(admitted) > $1)); }
all_admitted() { [[ $(admitted) == $(asked) ]] || { admitted; asked; return 1; }; }
failed() { ctl pods | grep '^default/crowd-.* Failed '; }
serves() { [[ $(serving) == "$1" ]]; }
ended() { [[ ! -d /proc/$1 ]]; }

begin "health_delay = 0; resources = ( { name = \"rdma/hca\"; count = $count; selectors = { drivers = \"rxe\"; }; } );" 'maxPods: 300'
within 60 "kubelet has its devices" is $count allocatable rdma/hca
pod a rdma/hca=1
within 400 "a pod runs" pod_running a
allocation=$(allocation_of a)
line=$(next_line)
crowd
within 120 "kubelet admits pods" more_admitted 3

old=$(serving)
printf 'modules = { device-plugin = { nonsense = 1; }; };\n' >/tmp/bad.conf
check "one whose configuration is wrong ends with 2" is 2 eval '"$rdmad" --config /tmp/bad.conf --module-dir "$RIG_SRC/build/modules" --take-over 2>/tmp/bad.log; echo $?'
check "and says why" says nonsense cat /tmp/bad.log
check "the old one serves" serves $old
for turn in 1 2 3; do
	before=$(admitted)
	within 120 "kubelet admits pods" more_admitted $((before + 1))
	old=$(serving)
	rdmad_start --take-over
	within 60 "hand-over $turn: another one serves" not serves $old
	check "the first one stays" test -d /proc/$old
	kill $old
	within 60 "and ends when it is told to" ended $old
done
before=$(admitted)
within 120 "kubelet admits pods" more_admitted $((before + 1))
calm
within 240 "kubelet has admitted every pod" all_admitted
check "and has refused none" is "" failed
check "it always had all devices" is "$count" sort -u /tmp/samples
check "it noticed nothing" is "" noticed $line
check "the allocation of the pod that runs stays" is "$allocation" allocation_of a
note "$(admitted) pods admitted; devices counted $(wc -l </tmp/samples) times; Allocate by kubelet's metrics: $(allocates rdma/hca)"
rm -f $manifests/crowd-*
unpod a
within 300 "all allocations have ended" is 0 n_allocations_now
