#!/bin/bash
# Every test there is.  Prints progress, the reasons of skips, and last `N passed, M failed, K skipped`.
# RDMAD_TEST_SLOW=1: the long runs too (100 000 Allocates, 20 000 scrapes, random sequences).
set -uo pipefail
here=contrib/quickstart.d
# shellcheck source-path=SCRIPTDIR
. $here/build.sh
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

export ASAN_OPTIONS=detect_stack_use_after_return=1:halt_on_error=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1

# stage NAME COMMAND...: runs it, its output kept as a result; a failure without a `not ok` line counts as one.
stage() {
	local name=$1 start=$SECONDS status
	shift
	printf '%-44s' "$name"
	"$@" >"$results/$name.tap" 2>&1
	status=$?
	if ((status == 77)); then
		echo "ok 1 - $name # SKIP $(tail -n 1 "$results/$name.tap")" >>"$results/$name.tap"
	elif ((status)) && ! grep -q '^ *not ok' "$results/$name.tap"; then
		echo "not ok 1 - $name (exit status $status)" >>"$results/$name.tap"
	fi
	/usr/bin/python3 $here/tally.py --line "$results/$name.tap"
	printf '%-44s%4d s\n' '' $((SECONDS - start))
	grep -q '^ *not ok' "$results/$name.tap" && show_failures "$results/$name.tap"
	return 0
}

# Successful tests leave no comments in a result: these are of those that failed.
show_failures() {
	grep -E '^ *(not ok|#|Bail out|FAIL)' "$1" | grep -Ev '^# (Start of|End of|random seed)' | tail -n 120
}

# What meson ran, as TAP.
suites() {
	local dir=$1
	shift
	meson test -C "$dir" --print-errorlogs "$@" >"$dir/test-output.txt" 2>&1
	/usr/bin/python3 $here/tally.py --meson "$dir/meson-logs/testlog.json"
}

# The long runs and the browser have had their turn by then.
sanitized() {
	unset RDMAD_TEST_SLOW
	build build-asan -Db_sanitize=address,undefined -Db_lundef=false &&
		suites build-asan --suite unit --suite integration --no-suite browser \
			--timeout-multiplier 4
}
# Without those that look at a browser and at Prometheus rather than at rdmad.
lab_sanitized() {
	local tests
	mapfile -t tests < <(tests/lab/run -l | grep -vxE 'test-(dashboard|page)')
	LAB_BUILD=build-asan LAB_TIMEOUT=1200 LAB_SECONDS=400 tests/lab/run "${tests[@]}"
}
threads() { build build-tsan -Db_sanitize=thread -Db_lundef=false && suites build-tsan work; }
# The daemon of a user who may do nothing; what needs root says so and is skipped.
as_nobody() {
	local nobody=(setpriv --reuid=nobody --regid=nogroup --clear-groups --inh-caps=-all env HOME=/)

	((EUID == 0)) || { echo 'needs root, to become nobody'; return 77; }
	"${nobody[@]}" test -x "$PWD/build" || { echo "nobody may not enter $PWD"; return 77; }
	unset RDMAD_TEST_SLOW
	chown -R nobody build/meson-logs
	meson() { "${nobody[@]}" /usr/bin/meson "$@"; }
	suites build --no-rebuild --suite unit --suite unprivileged
	chown -R root build/meson-logs
}
clang() { CC=clang build build-clang -Dfuzz=true && echo "ok 1 - clang builds it without a warning"; }

stage 'build with gcc' eval 'build build && echo "ok 1 - gcc builds it without a warning"'
stage 'style' suites build --suite style
stage 'unit and integration' suites build --suite unit --suite integration
stage 'unit and metrics as nobody' eval '(as_nobody)'
stage 'build with clang' clang
stage 'fuzz smoke' tests/fuzz/run 30 build-clang
stage 'address and undefined sanitizers' eval '(sanitized)'
stage 'thread sanitizer' threads
stage 'lab' tests/lab/run
stage 'lab with sanitizers' lab_sanitized

grep -h '# SKIP' "$results"/*.tap | sed 's/^ *ok [0-9]* *-\{0,1\} */skipped: /; s/# SKIP */ - /'
/usr/bin/python3 $here/tally.py --total "$results"/*.tap
