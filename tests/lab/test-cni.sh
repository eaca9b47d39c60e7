# SPDX-License-Identifier: Apache-2.0
# Pods on soft-RoCE NICs in each mode: the GID of the pod's address is there when ADD returns, its index is
# recorded, RDMA_CM finds the device by the pod's own address, and verbs carry data between pods.
# The limits of rxe in a pod are shown by test-rxe-pods.
# Runs last: perftest in namespaces of other tests was seen to fail after it.
. "$LAB_DIR/lib.sh"

lab_devices 4
for i in 0 1 2 3; do
	ip address add "198.51.100.$((i + 1))/24" dev "eth$i"
done
ip link set card0 up
ip address add 203.0.113.1/24 dev card0
rdma link add rxe4 type rxe netdev card0
cat >rdmad.conf <<'CONF'
modules = {
  device-plugin = { health_delay = 0; resources = (
	{ name = "rdma/one"; mode = "shared"; count = 1; count_per = "device"; selectors = { names = "rxe0"; }; },
	{ name = "rdma/many"; mode = "shared-multi"; multi_count = 4; selectors = { names = "rxe1"; }; },
	{ name = "rdma/alone"; mode = "exclusive"; selectors = { names = ( "rxe2", "rxe3" ); }; },
	{ name = "rdma/card"; mode = "exclusive"; selectors = { names = "rxe4"; }; } ); };
  cni = { spool_dir = "/tmp/cni-spool"; gid_timeout = 2; networks = (
	{ name = "ipvlan"; netdevs = "eth1"; link = "ipvlan"; },
	{ name = "bare"; netdevs = ( "eth2", "card0" ); wait_gid = false; prove = false; } ); }; };
CONF
mkdir -p "$lab_root"
lab_kubelet
lab_rdmad --module=cni --module=device-plugin --module=metrics
shim=$LAB_BUILD/modules/cni/shim/rdmad-cni
export RDMAD_CNI_SOCKET=$LAB_TMP/run/cni.sock RDMAD_CNI_SPOOL=/tmp/cni-spool
export CNI_PATH=/usr/lib/cni

# plugin COMMAND POD INTERFACE [KEY...]: keys of the network.
plugin() {
	CNI_COMMAND=$1 CNI_CONTAINERID=$2 CNI_NETNS=/run/netns/$2 CNI_IFNAME=$3 \
		CNI_ARGS="K8S_POD_NAMESPACE=lab;K8S_POD_NAME=$2" "$shim" <<-JSON
		{ "cniVersion": "1.0.0", "name": "rdma", "type": "rdmad-cni", "prevResult": { "cniVersion": "1.0.0" } ${4:+, $4} }
	JSON
}
address() { echo "\"runtimeConfig\": { \"ips\": [ \"$1/24\" ] }"; }

# attached POD INTERFACE FIELD: of the attachment.
attached() {
	lab_client allocations --json | /usr/bin/python3 -c '
import json, sys
for allocation in json.load(sys.stdin)["allocations"]:
    for found in allocation.get("attachments", []):
        if found.get("netns", "").endswith("/" + sys.argv[1]) and found["interface"] == sys.argv[2]:
            print(found[sys.argv[3]])
' "$@"
}

# pod NAME RESOURCE COUNT TOTAL: so many of all that the resource has.
pod() {
	ip netns add "$1"
	ip -n "$1" link set lo up
	lab_wait 30 kubelet_ctl wait "$2" "$4"
	kubelet_ctl allocate "$2" "$3" --pod "lab/$1" >/dev/null
}

# add POD INTERFACE ADDRESS DEVICE KIND
add() {
	local index
	plugin ADD "$1" "$2" "$(address "$3")" >result || { cat result; tail -30 rdmad.log; fail "ADD of $1"; }
	[[ $(ip -n "$1" -d link show "$2") == *"$5"* ]] || fail "$1 has no $5"
	index=$(lab_gid_index "$4" "$3")
	[[ $index ]] || fail "no GID of $1"
	[[ $(attached "$1" "$2" gid_index) == "$index" ]] || fail "recorded: $(attached "$1" "$2" gid_index), not $index"
	plugin CHECK "$1" "$2" "$(address "$3")"
	echo "$1: $2 is a $5 of $4, GID index $index is recorded, RDMA_CM finds $4 by $3"
}

# talk SERVER DEVICE CLIENT DEVICE ADDRESS: RDMA writes between two pods.  They meet over their own addresses; the
# GIDs are those of the NICs, since rxe does not send for interfaces of other namespaces.
talk() {
	ip netns exec "$1" ib_write_bw -d "$2" -x 0 -n 20 -s 4096 -F >server.log 2>&1 &
	lab_wait 20 bash -c "ip netns exec $1 ss -ltn | grep -q ':18515 '"
	ip netns exec "$3" timeout 60 ib_write_bw -d "$4" -x 0 -n 20 -s 4096 -F "$5" >client || { cat client server.log; false; }
	wait $!
	echo "$3 writes to $1 by $4 and $2"
}

# ---- shared and shared-multi, macvlan and ipvlan ----
pod one rdma/one 1 1
pod many rdma/many 2 4
# Of the name that a NIC of the host has: kernels before 6.15 refuse it.
add one eth1 198.51.100.10 rxe0 macvlan
add many net1 198.51.100.11 rxe1 ipvlan
add many net2 198.51.100.12 rxe1 ipvlan
talk many rxe1 one rxe0 198.51.100.11
talk one rxe0 many rxe1 198.51.100.10
curl -s http://127.0.0.1:9889/metrics | grep -E "^rdmad_cni_(step|request).*_(sum|count)" || true
for i in net1 net2; do
	plugin DEL many $i
done
plugin DEL one eth1
for i in "one rxe0 198.51.100.10" "many rxe1 198.51.100.11" "many rxe1 198.51.100.12"; do
	set -- $i
	[[ $(ip -n "$1" -o link | wc -l) == 1 ]] || fail "a link is left in $1"
	lab_wait 5 lab_lacks_gid "$2" "$3"
done

# ---- exclusive: the kernel takes rxe from a NIC that changes its namespace ----
before=$(ip -o -4 address show dev eth3)
pod waits rdma/alone 2 2
! plugin ADD waits net1 '"deviceID": "rxe3"' >result || fail "an exclusive NIC without its RDMA device"
echo "exclusive, GID awaited: $(tr -d '\n\t' <result)"
[[ $(ip -o -4 address show dev eth3) == "$before" ]] || fail "eth3 did not come back whole"
[[ $(ip -o link show dev eth3) == *[\<,]UP[,\>]* ]] || fail "eth3 is down"
before=$(ip -o -4 address show dev eth2)
plugin ADD waits net1 '"deviceID": "rxe2"' >result || { cat result; fail "exclusive"; }
[[ $(ip -n waits -4 address show dev net1) == *198.51.100.3/* ]] || fail "net1 has not the NIC's own address"
plugin DEL waits net1
[[ $(ip -o -4 address show dev eth2) == "$before" ]] || fail "eth2 did not come back whole"
echo "exclusive, GID not awaited: the NIC went and came back; rxe2 did not go with it"

# The kernel gives a card back, down and without its addresses.  Its group says that it was away.
away='ip -o link show group 1919184246'
before=$(ip -o -4 address show dev card0)
pod ends rdma/card 1 1
plugin ADD ends net1 '"deviceID": "rxe4"' >result || { cat result; fail "exclusive, of a card"; }
ip netns del ends
lab_wait 20 bash -c "$away | grep -q ."
plugin DEL ends net1
[[ $(ip -o -4 address show dev card0) == "$before" ]] || fail "card0 is not whole after the end of its namespace"
[[ -z $($away) ]] || fail "card0 has not its group back"
echo "exclusive, the namespace ended: card0 came back, and is whole"
lab_client status >/dev/null
