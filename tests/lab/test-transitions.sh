# SPDX-License-Identifier: Apache-2.0
# Ports that change faster than a scan: every change is counted, and the event log shows it.
. "$LAB_DIR/lib.sh"

# of_port KEY: of rxe0's port, as rdmad says it.
of_port() {
	lab_client devices rxe0 --json | sed -n "s/^ *\"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" |
		head -1
}

# counted N: so many changes since `before`.
counted() {
	(($(of_port transitions) - before == $1))
}

# Waits for it, and then that no more come.
expect_changes() {
	lab_wait 10 counted "$1"
	sleep 1.5
	counted "$1" || fail "$(($(of_port transitions) - before)) changes, not $1"
}

hears() {
	lab_client devices rxe0 --json >device.json && grep -q '"verbs_problem": null' device.json
}

carrier() {
	cat /sys/class/net/eth0/carrier_changes
}

# flap INTERFACE TIMES: down and up, as fast as the kernel can.
flap() {
	local i
	for ((i = 0; i < $2; i++)); do
		echo "link set $1 down"
		echo "link set $1 up"
	done | ip -batch -
}

lab_devices 2
echo 'modules = { device-plugin = { }; };' >rdmad.conf
lab_rdmad
lab_wait 20 hears
before=$(of_port transitions)
((before == 0)) || fail "a port that nobody touched has changed $before times"

# One change, at leisure.
ip link set eth1 down
expect_changes 1
ip link set eth1 up
expect_changes 2
[[ $(of_port last_state_change) == 20* ]]

# Its own interface, fifty times: the driver is told at once, and tells us.  No scan sees it while it is down, which
# would be another use of the port and no flap.
before=$(of_port transitions)
kill -STOP "$lab_daemon"
flap eth0 50
kill -CONT "$lab_daemon"
expect_changes 100
lab_client events >events
grep 'port-flap' events | tail -3
grep -q 'rxe0 port 1: went .* changes between two scans' events || fail "the event log does not show it"
looks=$(grep -c 'rxe0 port 1:' events)
((looks < 50)) || fail "100 fast changes took $looks entries of the event log"
echo "100 changes are $looks entries of the event log"
lab_rdmad_stop

# Without verbs, the carrier of the interface tells.
mkdir hidden
mv /dev/infiniband/uverbs* hidden/
lab_rdmad
before=$(of_port transitions)
carrier_before=$(carrier)
flap eth1 20
lab_wait 10 grep -q ACTIVE /sys/class/infiniband/rxe0/ports/1/state
changes=$(($(carrier) - carrier_before))
echo "the carrier of eth0 changed $changes times"
((changes > 0))
! hears
expect_changes "$changes"
lab_rdmad_stop
mv hidden/uverbs* /dev/infiniband/
