# SPDX-License-Identifier: Apache-2.0
# For test-*.sh: devices, programs, waiting.  A test ends at its first failing command.
set -euo pipefail
cd "$LAB_TMP"

fail() {
	echo "FAILED: $*" >&2
	exit 1
}
trap 'echo "FAILED at line $LINENO: $BASH_COMMAND" >&2' ERR

# lab_wait SECONDS COMMAND...: until the command succeeds.  The seconds are those of an idle machine; a busy one has
# five times as many.
lab_wait() {
	local until=$((SECONDS + 5 * $1)) what="${*:2}"
	shift
	echo "; it waits for: $what" >"$LAB_TMP/awaited"
	until "$@" >/dev/null 2>&1; do
		((SECONDS < until)) || fail "waited in vain: $what"
		sleep 0.05
	done
	: >"$LAB_TMP/awaited"
}

# lab_add_device N: rxeN over ethN; devices 2k and 2k+1 are the two ends of one cable.
lab_add_pair() {
	local a=$1 b=$(($1 + 1))
	ip link add "eth$a" type veth peer name "eth$b"
	ip link set "eth$a" up
	ip link set "eth$b" up
	rdma link add "rxe$a" type rxe netdev "eth$a"
	rdma link add "rxe$b" type rxe netdev "eth$b"
}

# lab_devices N: rxe0 .. rxeN-1, N even, port active.
lab_devices() {
	local i
	for ((i = 0; i < $1; i += 2)); do
		lab_add_pair "$i"
	done
	for ((i = 0; i < $1; i++)); do
		lab_wait 5 grep -q ACTIVE "/sys/class/infiniband/rxe$i/ports/1/state"
	done
}

# lab_gid_index DEVICE ADDRESS: of RoCE v2, as the kernel has it.
lab_gid_index() {
	local hex i
	hex=$(printf '%02x%02x:%02x%02x' ${2//./ })
	for i in /sys/class/infiniband/"$1"/ports/1/gids/*; do
		if [[ $(<"$i") == "0000:0000:0000:0000:0000:ffff:$hex" ]] &&
			grep -q v2 "/sys/class/infiniband/$1/ports/1/gid_attrs/types/${i##*/}" 2>/dev/null; then
			echo "${i##*/}"
		fi
	done
}

lab_has_gid() {
	[[ $(lab_gid_index "$@") ]]
}

lab_lacks_gid() {
	! lab_has_gid "$@"
}

# Tells what the hardware service sees, one line a change, in `seen`.
lab_watch() {
	"$LAB_BUILD/tests/lab/watch-hardware" >>seen 2>rdmad.log &
	lab_watcher=$!
	lab_wait 10 grep -q '^settled' seen
}

# Ends it; fails when it did not end well, which is also how the sanitizers report.
lab_unwatch() {
	kill -TERM "$lab_watcher"
	wait "$lab_watcher"
}

# lab_see PATTERN: a line of `seen` that came after the last lab_forget matches.
lab_see() {
	lab_wait 5 grep -Eq -- "$1" seen || fail "not seen: $1"
}

# Forgets the events seen so far: the program appends, so the file may be emptied.
lab_forget() {
	: >seen
}

# lab_sleeps PID SECONDS: nothing wakes the process for so long.
lab_sleeps() {
	local before
	before=$(grep ^voluntary_ctxt "/proc/$1/status")
	sleep "$2"
	[[ $(grep ^voluntary_ctxt "/proc/$1/status") == "$before" ]]
}

# ---- the daemon and the fake kubelet ----

lab_root=$LAB_TMP/kubelet

# lab_rdmad [OPTION...]: starts the daemon; its log is rdmad.log.  The configuration is rdmad.conf.
lab_rdmad() {
	"$LAB_BUILD/core/rdmad" --config "$LAB_TMP/rdmad.conf" --module-dir "$LAB_BUILD/modules" \
		--run-dir "$LAB_TMP/run" --state-dir "$LAB_TMP/state" --kubelet-dir "$lab_root" \
		"$@" >>rdmad.log 2>&1 &
	lab_daemon=$!
	lab_wait 120 lab_client status
}

# lab_client COMMAND...: asks the daemon.
lab_client() {
	"$LAB_BUILD/core/rdmad" "$@" --socket "$LAB_TMP/run/rdmad.sock"
}

# Ends it as a service manager does; fails when it did not end well.
lab_rdmad_stop() {
	kill -TERM "$lab_daemon"
	wait "$lab_daemon"
}

lab_kubelet() {
	/usr/bin/python3 "$LAB_DIR/../kubelet/kubelet" --root "$lab_root" >>kubelet.log 2>&1 &
	lab_wait 180 test -S "$lab_root/device-plugins/kubelet.sock"
}

# kubelet_ctl COMMAND...: calls the fake kubelet.
kubelet_ctl() {
	/usr/bin/python3 "$LAB_DIR/../kubelet/kubelet-ctl" --root "$lab_root" "$@"
}
