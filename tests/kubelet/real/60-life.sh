# Registration once and no socket churn, the end of a pod, kubelet's restart.
registry=/var/lib/kubelet/plugins_registry
sockets() { ls $registry | xargs; }
log=$OUT/kubelet-$scenario.log
registrations() { grep -c 'Registering plugin at endpoint\|Got registration request from device plugin\|Got a registration request' "$log"; }
cgroup_of() {	# of a pod
	local directory=$(echo /var/log/pods/default_$1-${node}_*)
	find /sys/fs/cgroup/kubepods* -type d -name "pod${directory##*_}"
}
# In the background: when the pod's last process ends, and when its cgroup goes.
watch_end() {
	local cgroup=$(cgroup_of $1) line
	rm -f /tmp/{end,gone}-$1
	while read -r line 2>/dev/null <$cgroup/cgroup.events && [[ $line == "populated 1" ]]; do read -rt 0.02 <>/tmp/never; done
	now >/tmp/end-$1
	while [[ -d $cgroup ]]; do read -rt 0.02 <>/tmp/never; done
	now >/tmp/gone-$1
}
[[ -p /tmp/never ]] || mkfifo /tmp/never
event_time() {	# event_time KIND ALLOCATION: ms
	date -d "$(ask events --json | jq -r --arg k "$1" --arg c "$2" '[.events[] | select(.kind == $k and .allocation == $c)] | last.time')" +%s%3N
}
mkdir -p $registry
rdmad_config "$EXCLUSIVE"
rdmad_start --log-level debug
wait_for 20 test -n "$(sockets)"
first=$(sockets)
sleep 8
check "without kubelet there is one socket, the same after 8 s" is "$first" sockets
kubelet_config
kubelet_start
within 60 "registered" says 'rdma/hca .* yes( |$)' ask status
within 60 "kubelet has four devices" is 4 allocatable rdma/hca
sleep 5
check "by the same socket" is "$first" sockets
note "doctor: $(ask doctor | grep -i "kubelet is\|process")"
note "kubelet's lines about registration:"; grep -i 'regist.*\(plugin\|rdmad\)' "$log" | tail -5 | cut -c1-250 | sed 's/^/#   /'
pod a rdma/hca=1
within 240 "a pod with rdma/hca: 1 runs" pod_running a
within 30 "rdmad names the pod" says 'default/a-node1 ' ask allocations
allocation=$(allocation_of a)
uid_of() { ask allocations --json | jq -r --arg p "$1-$node" '.allocations[] | select(.pod == $p).pod_uid'; }
uid=$(echo /var/log/pods/default_a-${node}_*)
within 10 "and finds its cgroup" is "${uid##*_}" uid_of a
check "no problem with cgroups" not says 'only kubelet reports the end of pods' cat "$OUT/rdmad-$scenario.log"
watch_end a & watcher=$!
sleep 3
unpod a
within 120 "its allocation has ended" is 0 n_allocations_now
wait $watcher

note "pod a: last process ended; allocation ended $(($(event_time allocation-ended $allocation) - $(cat /tmp/end-a))) ms later; the cgroup went $(($(cat /tmp/gone-a) - $(cat /tmp/end-a))) ms later"
check "within 1 s" test $(($(event_time allocation-ended $allocation) - $(cat /tmp/end-a))) -lt 1000
pod b rdma/hca=2
within 240 "a pod with rdma/hca: 2 runs" pod_running b
within 30 "rdmad names the pod" says 'default/b-node1 ' ask allocations
allocation=$(allocation_of b)
kubelet_stop
sleep 8
check "while kubelet is away the socket stays" is "$first" sockets
check "and the allocation" is "$allocation" allocation_of b
kubelet_start
within 120 "registered again" says 'rdma/hca .* yes( |$)' ask status
within 120 "kubelet has four devices" is 4 allocatable rdma/hca
sleep 5
check "by the same socket" is "$first" sockets
note "doctor: $(ask doctor | grep -i "kubelet is\|process")"
check "the allocation is the same" is "$allocation" allocation_of b
watch_end b & watcher=$!
sleep 3
unpod b
within 120 "its allocation has ended" is 0 n_allocations_now
wait $watcher
note "pod b: allocation ended $(($(event_time allocation-ended $allocation) - $(cat /tmp/end-b))) ms after its last process; the cgroup went $(($(cat /tmp/gone-b) - $(cat /tmp/end-b))) ms after it"
ask events | tail -12
