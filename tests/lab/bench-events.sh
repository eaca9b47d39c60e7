# SPDX-License-Identifier: Apache-2.0
# From a cable that is pulled or put in to the message that kubelet gets, beside a plain listener to the same
# port; tests/bench/events.py runs it, and makes the table.
. "$LAB_DIR/lib.sh"

# The far ends are elsewhere, as a switch is: rdmad hears only of its own interfaces.
ip netns add far
for i in 0 1 2 3; do
	ip link add "eth$i" type veth peer name "far$i" netns far
	ip link set "eth$i" up
	ip -n far link set "far$i" up
	rdma link add "rxe$i" type rxe netdev "eth$i"
done
for i in 0 1 2 3; do
	lab_wait 5 grep -q ACTIVE "/sys/class/infiniband/rxe$i/ports/1/state"
done
cat >rdmad.conf <<'CONF'
modules = {
  device-plugin = {
    health_delay = 0;
    resources = ( { name = "rdma/nic"; mode = "exclusive"; selectors = { drivers = "rxe"; }; } );
  };
};
CONF
mkdir -p "$lab_root/plugins_registry"
lab_rdmad
lab_wait 20 compgen -G "$lab_root/plugins_registry/rdmad-*"
"$LAB_BUILD/tests/lab/time-events" "$lab_root"/plugins_registry/rdmad-* rxe3 /run/netns/far far3 101
lab_rdmad_stop
