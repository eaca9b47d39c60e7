# SPDX-License-Identifier: Apache-2.0
# Pods on macvlan and ipvlan of soft-RoCE NICs: the GID of the pod's address is there when ADD returns,
# its index is recorded, and RDMA_CM finds the device by the pod's own address.
# Runs last: perftest in namespaces of other tests was seen to fail after it.
. "$LAB_DIR/lib.sh"

lab_devices 2
for i in 0 1; do
	ip addr add "198.51.100.$((i + 1))/24" dev "eth$i"
done
cat >rdmad.conf <<'CONF'
modules = { cni = { spool_dir = "/tmp/cni-spool"; networks = (
	{ name = "ipvlan"; netdevs = "eth1"; link = "ipvlan"; },
	{ name = "macvlan"; } ); }; };
CONF
mkdir -p "$lab_root"
lab_rdmad --module=cni --module=metrics
shim=$LAB_BUILD/modules/cni/shim/rdmad-cni
export RDMAD_CNI_SOCKET=$LAB_TMP/run/cni.sock RDMAD_CNI_SPOOL=/tmp/cni-spool
export CNI_PATH=/usr/lib/cni CNI_IFNAME=net1

# plugin COMMAND POD DEVICE ADDRESS
plugin() {
	CNI_COMMAND=$1 CNI_CONTAINERID=$2 CNI_NETNS=/run/netns/$2 "$shim" <<-JSON
		{ "cniVersion": "1.0.0", "name": "rdma", "type": "rdmad-cni", "prevResult": { "cniVersion": "1.0.0" },
		  "runtimeConfig": { "deviceID": "$3", "ips": [ "$4/24" ] } }
	JSON
}

# gid_index DEVICE ADDRESS: of RoCE v2
gid_index() {
	local hex i
	hex=$(printf '%02x%02x:%02x%02x' ${2//./ })
	for i in /sys/class/infiniband/"$1"/ports/1/gids/*; do
		if [[ $(<"$i") == "0000:0000:0000:0000:0000:ffff:$hex" ]] &&
			grep -q v2 "/sys/class/infiniband/$1/ports/1/gid_attrs/types/${i##*/}" 2>/dev/null; then
			echo "${i##*/}"
		fi
	done
}

kinds=(macvlan ipvlan)
for i in 0 1; do
	ip netns add "pod$i"
	plugin ADD "pod$i" "rxe$i" "198.51.100.1$i" || { tail -30 rdmad.log; fail "ADD of pod$i"; }
	ip -n "pod$i" -d link show net1 | grep -q "${kinds[i]}" || fail "pod$i has no ${kinds[i]}"
	index=$(gid_index "rxe$i" "198.51.100.1$i")
	[[ $index ]] || fail "no GID of pod$i"
	plugin CHECK "pod$i" "rxe$i" "198.51.100.1$i"
	echo "pod$i: ${kinds[i]} upon rxe$i, GID index $index"
done
curl -s http://127.0.0.1:9889/metrics | grep -E "^rdmad_cni_(step|request).*_(sum|count)" || true

# rxe sends and listens in the namespace of the host alone (drivers/infiniband/sw/rxe/rxe_net.c): whether a
# kernel's rxe serves pods is its own affair, and is told.
ip netns exec pod1 rping -s -a 198.51.100.11 -C 3 >server 2>&1 &
server=$!
sleep 1
if timeout 15 ip netns exec pod0 rping -c -a 198.51.100.11 -I 198.51.100.10 -C 3 >client 2>&1; then
	echo "rping between the pods: works"
else
	echo "rping between the pods: does not work with this kernel's rxe: $(tail -1 client)"
fi
kill $server 2>/dev/null || true

for i in 0 1; do
	plugin DEL "pod$i" "rxe$i" "198.51.100.1$i"
	! ip -n "pod$i" link show net1 2>/dev/null || fail "net1 is left in pod$i"
	lab_wait 5 test -z "$(gid_index "rxe$i" "198.51.100.1$i")"
done
lab_client status >/dev/null
