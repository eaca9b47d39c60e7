# SPDX-License-Identifier: Apache-2.0
# Counters of real devices: the same as the kernel's own tool and files say, by netlink, and they move.
. "$LAB_DIR/lib.sh"

lab_devices 2
reader=$LAB_BUILD/tests/lab/read-counters
port=/sys/class/infiniband/rxe0/ports/1

# by_tool DEVICE: "name value" of `rdma statistic show`, "link rxe0/1 sent_pkts 0 rcvd_pkts 0 ...".
by_tool() {
	rdma statistic show link "$1/1" | tr ' ' '\n' | tail -n +3 | grep . | paste -d' ' - - | sort
}

by_reader() {
	"$reader" "$@" | sed -n 's,^hw/1 ,,p' | sort
}

# Without what netlink does not have.
without_lifespan() {
	grep -v '^lifespan '
}

value() {
	"$reader" "$1" | awk -v name="$2" '$1 == "hw/1" && $2 == name { print $3 }'
}

# Interfaces say hello when they come up; then it is quiet.
is_quiet() {
	local before
	before=$(by_tool rxe0)
	sleep 1
	[[ $(by_tool rxe0) == "$before" ]]
}
lab_wait 30 is_quiet

# All values are those of the tool, and of the files.
by_tool rxe0 >tool
by_reader rxe0 >ours
without_lifespan <ours | diff tool -
(cd "$port/hw_counters" && for name in *; do echo "$name $(<"$name")"; done) | sort >files
diff files ours
grep -Eq '^lifespan [0-9]+$' ours || fail "no lifespan: $(<ours)"
(($(wc -l <tool) > 10)) || fail "few counters: $(<tool)"

# A later reading of the same reader has them all too.
by_reader rxe0 3 | diff files -

# State as sysfs has it, then as it becomes.
"$reader" rxe0 >now
rate=$(awk '{ print $1 * 1000 }' "$port/rate")
grep "^state/1 4 5 $rate\$" now || fail "not active at rate $rate: $(grep ^state now)"
ip link set eth1 down
lab_wait 5 bash -c "'$reader' rxe0 | grep '^state/1 1 '"
ip link set eth1 up
lab_wait 5 bash -c "'$reader' rxe0 | grep '^state/1 4 5 '"

# Traffic: 64 packets of 1024 bytes each time, and those that a busy machine sends again.
sent=$(value rxe1 sent_pkts) received=$(value rxe0 rcvd_pkts)
ib_write_bw -d rxe0 -x 0 -n 200 -s 65536 -m 1024 -F >server.log 2>&1 &
lab_wait 20 bash -c "ss -ltn | grep -q ':18515 '"
ib_write_bw -d rxe1 -x 0 -n 200 -s 65536 -m 1024 -F 127.0.0.1
wait $!
sent=$(($(value rxe1 sent_pkts) - sent)) received=$(($(value rxe0 rcvd_pkts) - received))
echo "sent $sent, received $received packets"
((sent >= 12800 && received >= 12800)) || fail "fewer than 12800"
lab_wait 30 is_quiet
for device in rxe0 rxe1; do
	by_tool $device >tool
	by_reader $device | without_lifespan | diff tool -
done

# Netlink is what is asked: with the files covered up nothing is missing.
mount -t tmpfs none "$port/hw_counters"
lab_wait 30 is_quiet
by_tool rxe0 >tool
by_reader rxe0 | diff tool -
umount "$port/hw_counters"

# A device that leaves is told from one that fails.
rdma link delete rxe1
"$reader" rxe1 && fail "a device that is gone was read"
true
