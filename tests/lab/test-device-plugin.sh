# SPDX-License-Identifier: Apache-2.0
# The main job on real devices: links, removals and restarts at kubelet, traffic from a container.
. "$LAB_DIR/lib.sh"

resource=rdma/nic
lab_devices 4
cat >rdmad.conf <<'CONF'
modules = {
  device-plugin = {
    health_delay = 0;
    resources = ( { name = "rdma/nic"; mode = "exclusive"; selectors = { drivers = "rxe"; }; } );
  };
};
CONF
lab_kubelet
lab_rdmad

# healthy N WHAT: kubelet was told of N healthy devices, the last time that it was told, since `act`.
healthy() {
	lab_wait 20 bash -c "grep 'rdma/nic: .* unhealthy' kubelet.log | tail -1 | grep -q ': $1 healthy'"
	echo "$1 healthy: $2"
}

# act COMMAND...: the response to kubelet, saved before the next.  Querying the fake kubelet would do too,
# but each start of Python takes seconds here.
act() {
	: >kubelet.log
	"$@"
}

healthy 4 "registered"

# A link goes down, and both ends of the cable with it; up again.  The end whose interface nobody has set up is at rest.
act ip link set eth3 down
healthy 3 "a link is down"
act ip link set eth3 up
healthy 4 "the link is up again"

# A device is removed and added while all runs.
act timeout 30 rdma link delete rxe3
healthy 3 "a device was removed"
act rdma link add rxe3 type rxe netdev eth3
healthy 4 "it was added again"

# A pod gets one device; a process that is confined to what Allocate returned uses it.
grant=$(kubelet_ctl --json allocate $resource 1 --pod default/trainer)
echo "$grant"
granted=$(sed -n 's/.*"ids": \["\([^"]*\)"\].*/\1/p' <<<"$grant")
[[ $granted == rxe? ]]
peer=rxe$((${granted#rxe} ^ 1))
other=$(cat "/sys/class/infiniband_verbs/$(basename "$(grep -l "^$peer\$" /sys/class/infiniband_verbs/*/ibdev | xargs dirname)")/dev")

# confined COMMAND...: runs it in a container with the grant.
confined() {
	mkdir -p bundle/rootfs
	mountpoint -q bundle/rootfs || mount --bind / bundle/rootfs
	"$LAB_DIR/oci-config" bundle "$@" <<<"$grant"
	crun --root "$LAB_TMP/crun" run --bundle bundle "lab-$RANDOM" </dev/null
}

ibv_rc_pingpong -d "$peer" -g 0 -n 50 >server.log 2>&1 &
server=$!
lab_wait 5 bash -c "ss -ltn | grep -q ':18515 '"
confined ibv_rc_pingpong -d "$granted" -g 0 -n 50 127.0.0.1
wait $server
echo "traffic from the container: $granted to $peer"

ib_write_bw -d "$peer" -x 0 -n 20 -s 4096 -F >server.log 2>&1 &
server=$!
lab_wait 20 bash -c "ss -ltn | grep -q ':18515 '"
confined ib_write_bw -d "$granted" -x 0 -n 20 -s 4096 -F 127.0.0.1
wait $server

# The other device's node is not there, and made by hand it does not open.
confined bash -c "ls /dev/infiniband; mknod /dev/other c ${other/:/ } && ! : <>/dev/other" \
	>confined.log 2>&1 || fail "a container opened a device that it was not given"
cat confined.log
grep -q 'Operation not permitted' confined.log
[[ $(grep -c '^uverbs' confined.log) == 1 ]]

# rdmad restarts: the allocation stands, the resource comes back.
lab_has_allocation() {
	[[ $(lab_client allocations --json) == *"$granted"* ]]
}
lab_has_allocation
lab_rdmad_stop
act lab_rdmad
healthy 4 "rdmad restarted"
lab_has_allocation

# Kubelet restarts: it wipes the sockets and forgets who registered.
act kubelet_ctl restart
healthy 4 "kubelet restarted"
act ip link set eth3 down
healthy 3 "events still arrive"
act ip link set eth3 up
healthy 4 "in both directions"
kubelet_ctl release default/trainer

lab_client status
lab_client devices
lab_client events
grep ^Pss: "/proc/$lab_daemon/smaps_rollup"
lab_rdmad_stop
