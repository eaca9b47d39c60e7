# SPDX-License-Identifier: Apache-2.0
# Users of a device: as many objects of each kind as the kernel's own tool lists, with the pod of each
# process by its cgroup; and none when the process has ended.
. "$LAB_DIR/lib.sh"

lab_devices 2
reader=$LAB_BUILD/tests/lab/read-counters
uid_a=0e7f1ca3-1b2c-4d5e-8f90-a1b2c3d4e5f6
uid_b=11111111-2222-3333-4444-555555555555
id_a=$(printf 'a%.0s' {1..64}) id_b=$(printf 'b%.0s' {1..64})

# The two forms in which kubelet names its cgroups.
pod_a=/sys/fs/cgroup/kubepods.slice/kubepods-pod${uid_a//-/_}.slice/cri-containerd-$id_a.scope
pod_b=/sys/fs/cgroup/kubepods/burstable/pod$uid_b/$id_b
mkdir -p "$pod_a" "$pod_b"

# in_cgroup DIRECTORY COMMAND...
in_cgroup() {
	echo "$BASHPID" >"$1/cgroup.procs"
	exec "${@:2}"
}

# by_tool KIND DEVICE: "pid count" of each process; the kernel's own have no pid.
by_tool() {
	rdma resource show "$1" | sed -n "s/^[a-z]* $2[/ ].* pid \([0-9]*\) .*/\1/p" | sort -n |
		uniq -c | awk '{ print $2, $1 }'
}
# The same of the last reading, which is in a file.
by_reader() {
	sed -n "s/^user \([0-9]*\) .* $1=\([0-9]*\).*/\1 \2/p" "$2" |
		awk '$1 > 0 && $2 > 0' | sort -n
}
kernel_by_tool() {
	rdma resource show "$1" | grep -c "^[a-z]* $2[/ ].*comm \[" || true
}
kernel_by_reader() {
	sed -n "s/^user 0 .* $1=\([0-9]*\).*/\1/p" "$2" | grep . || echo 0
}

# has_queue_pairs DEVICE PID COUNT
has_queue_pairs() {
	[[ $(by_tool qp "$1" | grep "^$2 ") == "$2 $3" ]]
}

# With rdma_cm, so that there are CM ids: both ends are the address's device.
ip address add 192.0.2.1/24 dev eth0
in_cgroup "$pod_a" ib_write_bw -R -D 60 -q 4 -F >server.log 2>&1 &
server=$!
lab_wait 20 bash -c "rdma resource show cm_id | grep -q LISTEN"
in_cgroup "$pod_b" ib_write_bw -R -D 60 -q 4 -F 192.0.2.1 >client.log 2>&1 &
client=$!
# Four, and one of rdma_cm's; a stopped process keeps its objects.
lab_wait 60 has_queue_pairs rxe0 "$client" 5
kill -STOP "$server" "$client"
# One more, of a process in no pod.
ibv_rc_pingpong -d rxe1 -g 0 >pingpong.log 2>&1 &
other=$!
lab_wait 20 has_queue_pairs rxe1 "$other" 1

rdma resource
for device in rxe0 rxe1; do
	"$reader" $device | grep ^user | tee $device
	for kind in qp cq mr cm_id pd srq ctx; do
		by_tool $kind $device >tool
		by_reader $kind $device >ours
		diff ours tool || fail "$kind of $device"
		[[ $(kernel_by_reader $kind $device) == $(kernel_by_tool $kind $device) ]] ||
			fail "the kernel has $(kernel_by_reader $kind $device) $kind of $device"
	done
done
grep -q "^user $server $uid_a $id_a: qp=5 " rxe0 || fail "the server's"
grep -q "^user $client $uid_b $id_b: qp=5 " rxe0 || fail "the client's"
grep -q "cm_id=[1-9]" rxe0 || fail "no CM ids"
grep -q "^user $other - -: qp=1 " rxe1 || fail "the other's"

# Anybody may ask, with the same answer.
setpriv --reuid=65534 --clear-groups --bounding-set=-all --inh-caps=-all "$reader" rxe0 |
	grep ^user | diff rxe0 -

kill -KILL "$server" "$client" "$other"
lab_wait 10 bash -c "! '$reader' rxe0 | grep -E '^user [1-9]'"
lab_wait 10 bash -c "! '$reader' rxe1 | grep -E '^user [1-9]'"
