# SPDX-License-Identifier: Apache-2.0
# NCCL's settings on real devices: each namespace gets the index of its own GID, traffic flows on it with
# perftest's and UCX's programs, and nccl.conf follows the GIDs.
. "$LAB_DIR/lib.sh"

tool=$LAB_BUILD/contrib/nccl/rdmad-nccl-env
lab_devices 2
ip address add 192.0.2.1/24 dev eth0
ip address add 192.0.2.2/24 dev eth1

# gid_index DEVICE ADDRESS: where the kernel has it.
gid_index() {
	local wanted file
	wanted=$(printf '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x' ${2//./ })
	for file in "/sys/class/infiniband/$1/ports/1/gids/"*; do
		[[ $(cat "$file") == "$wanted" ]] && basename "$file" && return
	done
	return 1
}

# value NAME: of the last plan.
value() {
	sed -n "s/^$1=//p" plan
}

# ---- a pod with a macvlan on the same device ----

ip netns add pod
ip link add link eth0 name pod0 type macvlan mode bridge
ip link set pod0 netns pod name eth0
ip -n pod address add 192.0.2.7/24 dev eth0
ip -n pod link set eth0 up
lab_wait 10 gid_index rxe0 192.0.2.1
lab_wait 10 gid_index rxe0 192.0.2.7

"$tool" --format conf --device rxe0 >plan
cat plan
[[ $(value NCCL_IB_HCA) == =rxe0:1 ]]
[[ $(value NCCL_IB_GID_INDEX) == "$(gid_index rxe0 192.0.2.1)" ]]
ip netns exec pod "$tool" --format conf --device rxe0 >plan
cat plan
[[ $(value NCCL_IB_GID_INDEX) == "$(gid_index rxe0 192.0.2.7)" ]]
"$tool" --netns /run/netns/pod --format conf --device rxe0 >again
diff plan again
ip netns exec pod sleep 1000 &
sleeper=$!
lab_wait 10 grep -q sleep "/proc/$sleeper/comm"
"$tool" --pid "$sleeper" --format conf --device rxe0 >again
diff plan again
kill "$sleeper"
# By address: the pod's own, in each version that can.
ip netns exec pod "$tool" --format conf --device rxe0 --gid-by address --nccl-version 2.21 >plan
[[ $(value NCCL_IB_ADDR_RANGE) == 192.0.2.7/32 ]]
# None of the namespace's addresses is on the device.
if ip netns exec pod "$tool" --format conf --device rxe1 >plan 2>refused; then
	fail "a GID of another namespace was taken"
fi
grep -q 'no routable GID: rxe1:1: address of another network namespace' refused

# ---- traffic on the emitted GID ----

ping_pong() {
	local index=$1
	ibv_rc_pingpong -n 50 -d rxe0 -g "$index" >server.log 2>&1 &
	local server=$!
	lab_wait 20 bash -c "ss -ltn | grep -q :18515"
	ibv_rc_pingpong -n 50 -d rxe0 -g "$index" 127.0.0.1 >client.log 2>&1
	wait "$server"
	grep -q 'GID ::ffff:192.0.2.1' client.log
	grep -q '50 iters' client.log
}
"$tool" --format conf --device rxe0 >plan
ping_pong "$(value NCCL_IB_GID_INDEX)"

eval "$("$tool" --format sh --device rxe0 --siblings ucx)"
[[ $UCX_NET_DEVICES == rxe0:1 ]]
ucx_info -d >ucx.log 2>&1
grep -q 'Device: rxe0:1' ucx.log
# Reliable connections alone: UCX's datagrams, by which it connects others, time out on rxe.
ucx_perftest -d "$UCX_NET_DEVICES" -x rc_verbs -t am_lat -n 50 -w 5 >ucx-server.log 2>&1 &
server=$!
lab_wait 30 bash -c "ss -ltn | grep -q :13337"
before=$(cat /sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts)
ucx_perftest -d "$UCX_NET_DEVICES" -x rc_verbs -t am_lat -n 50 -w 5 127.0.0.1 >ucx-client.log 2>&1 ||
	fail "$(cat ucx-client.log ucx-server.log)"
wait "$server"
after=$(cat /sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts)
((after > before + 50)) || fail "UCX did not use rxe0"

# ---- the module: nccl.conf follows the GIDs ----

cat >rdmad.conf <<-END
	modules = {
	  device-plugin = { resources = ( { name = "rdma/rxe"; mode = "exclusive"; selectors = { names = "rxe0"; }; } ); };
	  nccl = { network = "host"; gid_by = "address"; };
	};
END
lab_kubelet
lab_rdmad
lab_wait 30 kubelet_ctl wait rdma/rxe 1
kubelet_ctl allocate --pod ml/train-0 rdma/rxe 1 >reply.json
conf=$(ls -d run/allocations/*)/nccl.conf
lab_wait 10 grep -q 'NCCL_IB_ADDR_RANGE=192.0.2.1/32' "$conf"
/usr/bin/python3 "$LAB_DIR/nccl-follow.py" "$conf" eth0 192.0.2.1 30
lab_client events >events
grep -q nccl-plan-changed events
lab_rdmad_stop
