# SPDX-License-Identifier: Apache-2.0
# A Prometheus scrapes rdmad while pods carry data: each query of the dashboards has data, or the reason
# why soft-RoCE has none; all rules can be evaluated.
. "$LAB_DIR/lib.sh"

command -v prometheus >/dev/null || {
	echo "prometheus is missing: apt-get install prometheus"
	exit 77
}

uid=0e7f1ca3-1b2c-4d5e-8f90-a1b2c3d4e5f6
id=$(printf 'a%.0s' {1..64})
pod=/sys/fs/cgroup/kubepods.slice/kubepods-pod${uid//-/_}.slice/cri-containerd-$id.scope
mkdir -p "$pod" "pods/ml_train-0_$uid"
# The pod's traffic takes a fifth of a CPU, and Prometheus has the rest.
groups=/sys/fs/cgroup
echo +cpu | tee {$groups,$groups/kubepods.slice,"${pod%/*}"}/cgroup.subtree_control
echo '20000 100000' >"$pod/cpu.max"

lab_devices 4
cat >rdmad.conf <<CONF
modules = {
  device-plugin = { resources = (
    { name = "rdma/rail"; mode = "exclusive"; selectors = { names = ( "rxe0", "rxe1" ); }; },
    { name = "rdma/hca"; count = 100; selectors = { names = ( "rxe2", "rxe3" ); }; }
  ); };
  metrics = { listen = "127.0.0.1:9889"; pod_log_dir = "$LAB_TMP/pods"; };
};
CONF
lab_kubelet
lab_rdmad
kubelet_ctl wait rdma/rail 2
kubelet_ctl allocate rdma/rail 2 --pod ml/train-0
kubelet_ctl allocate rdma/hca 2 --pod ml/train-1
kubelet_ctl allocate rdma/hca 2 --pod ml/train-2
lab_client allocations --refresh

# in_pod COMMAND...
in_pod() {
	echo "$BASHPID" >"$pod/cgroup.procs"
	exec "$@"
}

# Both ends are the address's device.
ip address add 192.0.2.1/24 dev eth0
in_pod rping -s -C 100000000 -S 4096 >server.log 2>&1 &
server=$!
lab_wait 30 bash -c "rdma resource show cm_id | grep -q LISTEN"
in_pod rping -c -a 192.0.2.1 -C 100000000 -S 4096 >client.log 2>&1 &
client=$!
lab_wait 30 bash -c "rdma resource show qp | grep -q 'state RTS'"

/usr/bin/python3 "$LAB_DIR/dashboard.py"
kill "$server" "$client"
lab_rdmad_stop
