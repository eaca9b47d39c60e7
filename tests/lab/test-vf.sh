# SPDX-License-Identifier: Apache-2.0
# Virtual functions of a real PCI device: each in its own pool, given to one pod, gone with its card's.
# A pod gets soft-RoCE over a function's interface, which rdmad does not take for the function:
# those pools are by `netdevs`.
. "$LAB_DIR/lib.sh"

if [[ ! $LAB_IGB ]]; then
	echo "this QEMU has no igb device (QEMU 8 or later has)"
	exit 77
fi

card=$(realpath /sys/class/net/pf0/device)

# Made while the card is down, or it takes long here.  The links of such functions may stay down, so
# the pools do not ask for health.
ip link set pf0 down
echo 2 >"$card/sriov_numvfs"
for i in 0 1; do
	lab_wait 20 test -d "$card/virtfn$i/net"
	ip link set "$(ls "$card/virtfn$i/net")" name "vf$i"
done
for netdev in pf0 vf0 vf1; do
	ip link set "$netdev" up
	rdma link add "rxe_$netdev" type rxe netdev "$netdev"
done

# node_of DEVICE: its node, /dev/infiniband/uverbsN.
node_of() {
	local ibdev
	ibdev=$(grep -lx "$1" /sys/class/infiniband_verbs/*/ibdev)
	echo "/dev/infiniband/$(basename "$(dirname "$ibdev")")"
}

# explains DEVICE PATTERN: of one resource, whether it has the device and why not.
explains() {
	lab_client explain "$1" >explained
	cat explained
	grep -Eq -- "$2" explained
}

healthy() {
	lab_wait 20 bash -c "grep '$1: .* unhealthy' kubelet.log | tail -1 | grep -q ': $2 healthy'"
}

cat >rdmad.conf <<'CONF'
modules = {
  device-plugin = {
    health_delay = 0;
    resources = (
      { name = "rdma/first"; mode = "exclusive"; ignore_health = true;
	 selectors = { netdevs = "vf0"; }; },
      { name = "rdma/second"; mode = "exclusive"; ignore_health = true;
	 selectors = { netdevs = "vf1"; }; }
    );
  };
};
CONF
lab_kubelet
lab_rdmad
healthy rdma/first 1
healthy rdma/second 1

# Each function is in its own pool, and the card in neither.
lab_client devices
explains rxe_vf0 'rdma/first +yes'
explains rxe_vf1 'rdma/second +yes'
explains rxe_vf0 'rdma/second .*netdevs: vf0, which is not "vf1"'
explains rxe_pf0 'rdma/first .*netdevs: pf0, which is not "vf0"'
explains rxe_pf0 'rdma/second .*netdevs: pf0, which is not "vf1"'

# A pod gets the nodes of its function and no other's; there is nothing for a second one.
grant=$(kubelet_ctl --json allocate rdma/second 1 --pod default/trainer)
echo "$grant"
grep -q '"ids": \["rxe_vf1"\]' <<<"$grant"
[[ $(grep -o '/dev/infiniband/uverbs[0-9]*' <<<"$grant" | sort -u) == "$(node_of rxe_vf1)" ]]
! kubelet_ctl --json allocate rdma/second 1 --pod default/late || fail "one function, two pods"

# The functions go, and with them their interfaces and what stood on these.
ip link set pf0 down
echo 0 >"$card/sriov_numvfs"
healthy rdma/first 0
healthy rdma/second 0
lab_rdmad_stop
