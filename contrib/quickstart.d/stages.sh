# Runs tests in stages, for test.sh and soak.sh.  Sourced.
# shellcheck disable=SC2154 # $here is the caller's
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

# stage NAME COMMAND...: runs it, its output kept as a result.  A failure without a `not ok` line counts as one, and
# the end of its output, such as a compiler's errors, is the reason.
stage() {
	local name=$1 start=$SECONDS status reason
	shift
	printf '%-44s' "$name"
	"$@" >"$results/$name.tap" 2>&1
	status=$?
	if ((status == 77)); then
		echo "ok 1 - $name # SKIP $(tail -n 1 "$results/$name.tap")" >>"$results/$name.tap"
	elif ((status)) && ! grep -q '^ *not ok' "$results/$name.tap"; then
		reason=$(tail -n 50 "$results/$name.tap" | sed 's/^/# /')
		printf '%s\n' "not ok 1 - $name (exit status $status)" "$reason" >>"$results/$name.tap"
	fi
	/usr/bin/python3 $here/tally.py --line "$results/$name.tap"
	printf '%-44s%4d s\n' '' $((SECONDS - start))
	grep -q '^ *not ok' "$results/$name.tap" && show_failures "$results/$name.tap"
	return 0
}

# Each failure with its first lines, which begin with the reason.  Successful tests leave no comments in a result.
show_failures() {
	grep -E '^ *(not ok|#|Bail out)' "$1" | grep -Ev '^# (Start of|End of|random seed)' |
		awk '/^ *not ok/ { left = 60 } /^# [^ ]+ failed$/ || left-- > 0'
}

# Where tests put their machines of thousands of small files: in memory, which takes a twentieth of the time of a
# disk, where there is room and programs may run.
scratch_directory() {
	local directory

	(($(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1) > 4 << 20)) || return 0
	directory=$(mktemp -d /dev/shm/rXXXX) || return 0
	chmod 1777 "$directory"
	if cp /bin/true "$directory" && "$directory/true"; then
		echo "$directory"
	else
		rm -r "$directory"
	fi
}

# Results of meson's tests as TAP.  The tests wait more than they compute, so there are four for each CPU.
suites() {
	local dir=$1 scratch
	shift
	rm -f "$dir/meson-logs/testlog.json"
	scratch=$(scratch_directory)
	TMPDIR=${scratch:-${TMPDIR-/tmp}} meson test -C "$dir" --print-errorlogs --num-processes $(($(nproc) * 4)) "$@" >"$dir/test-output.txt" 2>&1
	[[ ! $scratch ]] || rm -rf "$scratch"
	if [[ ! -f $dir/meson-logs/testlog.json ]]; then
		cat "$dir/test-output.txt"
		return 1
	fi
	/usr/bin/python3 $here/tally.py --meson "$dir/meson-logs/testlog.json"
}

# Reasons of skips, then the closing line; fails when a test did.
conclude() {
	/usr/bin/python3 $here/tally.py --skips "$results"/*.tap
	/usr/bin/python3 $here/tally.py --total "$results"/*.tap
}
