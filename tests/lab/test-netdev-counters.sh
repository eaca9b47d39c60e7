# SPDX-License-Identifier: Apache-2.0
# Counters of real interfaces: the same as ethtool and the kernel's files say.  Pause and FEC need a driver
# that counts them: netdevsim, which Debian's kernel is built without; built from linux-source and put
# below lib/modules of LAB_CACHE's kernel (with ptp_mock, and depmod after it) it is used.
. "$LAB_DIR/lib.sh"

lab_devices 2
reader=$LAB_BUILD/tests/lab/read-counters

# Flaps are counted, each of them.
link() {
	"$reader" rxe0 | awk -v name="$1" '$1 == "link/0/eth0" && $2 == name { print $3 }'
}
for name in carrier_changes carrier_up_count carrier_down_count; do
	value=$(link $name)
	[[ $value && $value == "$(</sys/class/net/eth0/$name)" ]] || fail "$name is '$value'"
done
changes=$(link carrier_changes) ups=$(link carrier_up_count) downs=$(link carrier_down_count)
for ((i = 0; i < 3; i++)); do
	ip link set eth1 down
	lab_wait 5 grep -q 0 /sys/class/net/eth0/carrier
	ip link set eth1 up
	lab_wait 5 grep -q 1 /sys/class/net/eth0/carrier
done
[[ $(link carrier_changes) == $((changes + 6)) ]] || fail "$(link carrier_changes) changes, not 6 more than $changes"
[[ $(link carrier_up_count) == $((ups + 3)) ]] || fail "$(link carrier_up_count), not 3 more than $ups"
[[ $(link carrier_down_count) == $((downs + 3)) ]] || fail "$(link carrier_down_count), not 3 more than $downs"

# All of a driver's own statistics equal ethtool's.
ethtool -S eth0 | grep '^     ' | sort >tool
"$LAB_BUILD/tests/lab/read-ethtool" eth0 | sort >ours
diff ours tool
(($(wc -l <tool) > 3)) || fail "few statistics: $(<tool)"

# A driver that has none of a kind is not trouble.
if "$reader" rxe0 3 | grep -E '^(pause|fec|ethtool)/'; then
	fail "a veth has neither"
fi

if [[ ! -e /sys/bus/netdevsim/new_device ]]; then
	echo "# this kernel has no netdevsim: pause and FEC statistics are not compared"
	exit 0
fi
mount -t debugfs none /sys/kernel/debug 2>/dev/null || true
echo "7 1" >/sys/bus/netdevsim/new_device
netdev=$(ls /sys/bus/netdevsim/devices/netdevsim7/net)
debug=$(echo /sys/kernel/debug/netdevsim/netdevsim7/ports/*/ethtool)
ip link set "$netdev" up
rdma link add rxe7 type rxe netdev "$netdev"

# pause_of_reader, pause_of_tool: "rx_frames 1"
pause_of_reader() {
	"$reader" rxe7 | sed -n "s,^pause/0/$netdev ,,p" | sort
}
pause_of_tool() {
	ethtool -I -a "$netdev" | sed -n 's/^ *\([rt]x\)_pause_frames: /\1_frames /p' | sort
}
for what in "N N" "Y N" "N Y" "Y Y"; do
	read -r rx tx <<<"$what"
	echo "$rx" >"$debug/pause/report_stats_rx"
	echo "$tx" >"$debug/pause/report_stats_tx"
	pause_of_reader >ours
	pause_of_tool >tool
	diff ours tool
done
[[ $(wc -l <ours) == 2 ]] || fail "not both directions: $(<ours)"

"$reader" rxe7 | sed -n "s,^fec/0/$netdev ,,p" | sort >ours
ethtool -I --show-fec "$netdev" |
	sed -n 's/^ *corrected_blocks: /corrected /p; s/^ *uncorrectable_blocks: /uncorr /p;
		s/^ *corrected_bits: /corr_bits /p' | sort >tool
diff ours tool
[[ $(wc -l <ours) -ge 2 ]] || fail "few FEC statistics: $(<ours)"

# A failure has its reason, and the others are there.
echo 5 >"$debug/get_err"
"$reader" rxe7 2 >ours
grep -qx "fec/0/$netdev \* Input/output error" ours || fail "not said: $(<ours)"
grep -q "^pause/0/$netdev rx_frames " ours || fail "gone, too: $(<ours)"
rdma link delete rxe7
echo 7 >/sys/bus/netdevsim/del_device
