# SPDX-License-Identifier: Apache-2.0
# The kernel's soft-RoCE in a network namespace other than the host's, without rdmad: the table
# "Shown on" of rdmad-cni(7) rests on this.  A kernel whose rxe does more makes this test say so.
. "$LAB_DIR/lib.sh"

lab_devices 2
index=4711

# pod N [INDEX]: a macvlan of ethN in a namespace, with an address; of this index there.
pod() {
	ip netns add "pod$1"
	ip link add "m$1" ${2:+index "$2"} link "eth$1" netns "pod$1" type macvlan mode bridge
	ip -n "pod$1" link set lo up
	ip -n "pod$1" link set "m$1" up
	ip -n "pod$1" address add "198.51.100.1$1/24" dev "m$1"
	lab_wait 5 gid_of "rxe$1" "$1"
}
gid_of() { grep -l "ffff:c633:640$(printf %x $((10 + $2)))" "/sys/class/infiniband/$1/ports/1/gids/"*; }

# Frames of RoCE v2 that leave and reach an interface, until its standard input ends.
cat >frames.py <<'PYTHON'
import select, socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
s.bind((sys.argv[1], 0))
n = 0
print("ready", file=sys.stderr, flush=True)
while sys.stdin not in (ready := select.select([s, sys.stdin], [], [])[0]):
    frame = s.recv(2048)
    n += frame[12:14] == b"\x08\x00" and frame[23] == 17 and frame[36:38] == b"\x12\xb7"
print(n)
PYTHON

# gid_index N: of the address of pod N.
gid_index() { gid_of "rxe$1" "$1" | head -1 | sed 's|.*/||'; }

# write_between INTERFACE: RDMA writes from pod 0 to pod 1 by the GIDs of their own addresses; they meet over TCP.
# `frames` has what the host's interface saw.
write_between() {
	local watcher server status=0
	mkfifo end
	/usr/bin/python3 frames.py "$1" <end >frames 2>ready &
	watcher=$!
	exec 7>end
	lab_wait 60 grep -q ready ready
	ip netns exec pod1 timeout 90 ib_write_bw -d rxe1 -x "$(gid_index 1)" -n 5 -s 1024 -F >server.log 2>&1 &
	server=$!
	lab_wait 60 bash -c "ip netns exec pod1 ss -ltn | grep -q ':18515 '"
	ip netns exec pod0 timeout 60 ib_write_bw -d rxe0 -x "$(gid_index 0)" -n 5 -s 1024 -F 198.51.100.11 \
		>client 2>&1 || status=$?
	exec 7>&-
	wait $watcher
	kill $server 2>/dev/null || true
	wait $server || true
	rm end
	return $status
}

pod 0 $index
pod 1
echo "sockets of RoCE: host $(ss -Hlun 'sport = 4791' | wc -l)," \
	"pod $(ip netns exec pod0 ss -Hlun 'sport = 4791' | wc -l)"
if write_between eth0; then
	echo "writes between the pods by their own GIDs work: rdmad-cni(7) should say so"
	exit 0
fi
grep -q "GID index" client || { cat client server.log; fail "the pods did not meet"; }
echo "writes between two macvlan pods by their own GIDs: $(grep -i 'error' client | head -1)"
echo "frames on eth0: $(<frames)"
[[ $(<frames) == 0 ]] || fail "something was sent"
[[ ! $(ip netns exec pod0 ss -Hlun 'sport = 4791') ]] || fail "rxe listens in the pod and does not work"

# Why: rxe asks the host's namespace for the route of a packet, from the pod's address by the index that the pod's
# interface has in the pod.  An interface of the host that has both by chance is the one that sends.
ip link add chance index $index type veth peer name other
ip link set chance up
ip link set other up
ip address add 198.51.100.10/24 dev chance
ip neighbour add 198.51.100.11 lladdr 02:00:00:00:00:01 dev chance
! write_between chance || fail "it works by chance"
echo "the same, and an interface of the host has the index and address of the pod's: frames on it: $(<frames)"
(($(<frames) > 0)) || fail "the reason is another one"

# A device upon the pod's own interface listens in the host's namespace, too.
rdma link delete rxe0
if ip netns exec pod0 rdma link add rxe9 type rxe netdev m0; then
	echo "rxe made in the pod: sockets there $(ip netns exec pod0 ss -Hlun 'sport = 4791' | wc -l)"
	rdma link delete rxe9
fi

# The NIC itself: rxe goes with it, and a device does not move.
rdma link add rxe0 type rxe netdev eth0
rdma dev set rxe0 netns pod0 >moved 2>&1 || true
grep -qi "not supported\|invalid" moved || fail "rxe moves: rdmad-cni(7) should say so: $(<moved)"
echo "rdma dev set rxe0 netns: $(<moved)"
ip link set eth0 netns pod0
lab_wait 5 test ! -e /sys/class/infiniband/rxe0
echo "eth0 moved into the pod: rxe0 has gone"
