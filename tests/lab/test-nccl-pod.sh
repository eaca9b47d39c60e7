# SPDX-License-Identifier: Apache-2.0
# Pods on one soft-RoCE device, with crun: one on the host's network, one with a macvlan of module cni.  Each finds
# the GID of its own network in /run/rdmad before its first process.
. "$LAB_DIR/lib.sh"

lab_devices 2
ip address add 192.0.2.1/24 dev eth0
ip address add 192.0.2.2/24 dev eth1
cat >rdmad.conf <<-END
	modules = {
	  device-plugin = { resources = ( { name = "rdma/rxe"; count = 4; selectors = { names = "rxe0"; }; } ); };
	  cni = { enabled = true; spool_dir = "$LAB_TMP/spool"; };
	  nccl = { };
	};
END
lab_kubelet
lab_rdmad
lab_wait 120 kubelet_ctl wait rdma/rxe 4
shim=$LAB_BUILD/modules/cni/shim/rdmad-cni
export RDMAD_CNI_SOCKET=$LAB_TMP/run/cni.sock RDMAD_CNI_SPOOL=$LAB_TMP/spool CNI_PATH=/usr/lib/cni CNI_IFNAME=net1

# sandbox POD NUMBER COMMAND...: its first process, where kubelet's and the runtime's would be.
sandbox() {
	local uid=0e7f1ca3-1b2c-4d5e-8f90-a1b2c3d4e5f$2
	local cgroup=/sys/fs/cgroup/kubepods/burstable/pod$uid/sandbox
	mkdir -p "$cgroup" "/var/log/pods/ml_$1_$uid"
	"${@:3}" sleep 600 &
	echo $! >"$cgroup/cgroup.procs"
}

# add POD DEVICE ADDRESS: the pod's network, by module cni.
add() {
	CNI_COMMAND=ADD CNI_CONTAINERID=$1 CNI_NETNS=/run/netns/$1 \
		CNI_ARGS="K8S_POD_NAMESPACE=ml;K8S_POD_NAME=$1" "$shim" <<-JSON >added || fail "$(cat added; tail -20 rdmad.log)"
			{ "cniVersion": "1.0.0", "name": "rdma", "type": "rdmad-cni",
			  "runtimeConfig": { "deviceID": "$2", "ips": [ "$3/24" ] } }
		JSON
}

# grant POD: Allocate and the start of its container; the second time the start alone.
grant() {
	kubelet_ctl --json allocate rdma/rxe 1 --pod "ml/$1"
}

# first_process POD COMMAND...: in a container with what Allocate returned.
first_process() {
	mkdir -p "$1/rootfs"
	mountpoint -q "$1/rootfs" || mount --bind / "$1/rootfs"
	"$LAB_DIR/oci-config" "$1" "${@:2}" <"$1.grant"
	crun --root "$LAB_TMP/crun" run --bundle "$1" "lab-$1-$RANDOM" </dev/null
}

# check POD ADDRESS: what its first process finds.
check() {
	local index found
	lab_wait 60 lab_has_gid rxe0 "$2"
	index=$(lab_gid_index rxe0 "$2")
	found=$(first_process "$1" sh -euc "cat /run/rdmad/nccl.conf >&2; . $LAB_DIR/../../contrib/nccl_env.sh
		echo \"\$NCCL_CONF_FILE \$NCCL_IB_HCA \$NCCL_IB_GID_INDEX\"")
	[[ $found == "/run/rdmad/nccl.conf =rxe0:1 $index" ]] || fail "$1 found $found, and its index is $index"
	echo "$1: GID index $index, $2"
}

# ---- a pod on the host's network ----

sandbox host 1 env
grant host >host.grant
check host 192.0.2.1

# ---- a pod with its own ----

grant own >own.grant
ip netns add own
sandbox own 2 ip netns exec own
add own rxe0 192.0.2.7
grant own >own.grant
export LAB_NETNS=/run/netns/own
check own 192.0.2.7
own_index=$(lab_gid_index rxe0 192.0.2.7)
[[ $own_index != "$(lab_gid_index rxe0 192.0.2.1)" ]]

unset LAB_NETNS

# ---- its address gets another index: the files follow, and the job is told ----

conf=$(/usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["mounts"][0][0])' <own.grant)/nccl.conf
ip -n own address del 192.0.2.7/24 dev net1
lab_wait 60 lab_lacks_gid rxe0 192.0.2.7
ip address add 192.0.2.66/32 dev eth0
lab_wait 60 lab_has_gid rxe0 192.0.2.66
ip -n own address add 192.0.2.7/24 dev net1
lab_wait 60 lab_has_gid rxe0 192.0.2.7
index=$(lab_gid_index rxe0 192.0.2.7)
[[ $index != "$own_index" ]]
lab_wait 60 grep -q "NCCL_IB_GID_INDEX=$index" "$conf"
lab_client events >events
grep nccl-plan-changed events

# ---- traffic between two namespaces, on the GIDs of the plans ----

ip netns add peer
ip link add link eth1 name peer0 type macvlan mode bridge
ip link set peer0 netns peer name eth0
ip -n peer address add 192.0.2.8/24 dev eth0
ip -n peer link set eth0 up
lab_wait 60 lab_has_gid rxe1 192.0.2.8
tool=$LAB_BUILD/contrib/nccl/rdmad-nccl-env
for by in index address; do
	for at in "own rxe0" "peer rxe1"; do
		read -r netns device <<<"$at"
		lab_wait 60 ip netns exec "$netns" "$tool" --device "$device" --gid-by "$by" --format json
		ip netns exec "$netns" "$tool" --device "$device" --gid-by "$by" --format json >"plan-$netns"
	done
	selected() {
		/usr/bin/python3 -c 'import json, sys
print(*[g["index"] for r in json.load(open(sys.argv[1]))["rails"] for g in r["gids"] if g["selected"]])' "plan-$1"
	}
	[[ $(selected own) == "$(lab_gid_index rxe0 192.0.2.7)" && $(selected peer) == "$(lab_gid_index rxe1 192.0.2.8)" ]]
	ip netns exec own timeout 120 ibv_rc_pingpong -n 5 -d rxe0 -g "$(selected own)" >server.log 2>&1 &
	server=$!
	lab_wait 60 bash -c "ip netns exec own ss -ltn | grep -q :18515"
	if ip netns exec peer timeout 30 ibv_rc_pingpong -n 5 -d rxe1 -g "$(selected peer)" 192.0.2.7 >client.log 2>&1; then
		grep -q 'GID ::ffff:192.0.2.8' client.log
		echo "by $by: traffic between two namespaces"
	else
		# Queue pairs connect with these GIDs.  rxe sends by a route of the host's namespace, where the
		# source is not an address (rxe_net.c, rxe_find_route4()), and listens at UDP port 4791 there alone:
		# that these two are so is the proof that it is not the GID.
		grep -q 'GID ::ffff:192.0.2.8' client.log || fail "$(cat client.log server.log)"
		ss -lunH | grep -q :4791
		if ip route get 192.0.2.7 from 192.0.2.8 oif eth1 ||
			ip netns exec own ss -lunH | grep -q :4791; then
			fail "rxe could have sent: $(cat client.log server.log)"
		fi
		echo "by $by: connected on both GIDs; this kernel's rxe serves the host's namespace alone"
	fi
	kill "$server" 2>/dev/null || true
	wait "$server" || true
done
lab_client nccl-env --netns /run/netns/own --explain >explained
grep -E '192.0.2.7 .*selected' explained
lab_client events
lab_rdmad_stop
