#!/bin/bash
# Every test there is.  Prints progress, the reasons of skips, and last `N passed, M failed, K skipped`.
# The long runs are soak.sh's.
set -uo pipefail
unset RDMAD_TEST_SLOW
here=contrib/quickstart.d
# shellcheck source-path=SCRIPTDIR
. $here/build.sh
. $here/stages.sh

export ASAN_OPTIONS=detect_stack_use_after_return=1:halt_on_error=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1

# For its warnings, which need objects without optimization and debug information, and no programs.
build_clang() {
	local objects
	CC=clang configure build-clang -Doptimization=0 -Ddebug=false || return
	mapfile -t objects < <(ninja -C build-clang -t targets rule c_COMPILER)
	make_targets build-clang "${objects[@]}"
}
# The builds of later stages, while the tests of the first ones wait.  Errors are reported by the stages, which
# build what is left.
ahead() {
	renice -n 19 $BASHPID
	build_clang
	build_fuzz
	build_asan
}

sanitized() {
	build_asan && suites build-asan --suite unit --suite integration --no-suite once \
		--timeout-multiplier 6
}

# Each test of the lab runs once, with the sanitizers or without them.  `contrib/quickstart soak` runs all without, the
# paths of a pod with them, and it alone the longest ones.
#
# Tests of a browser, Prometheus, the kernel or memory rather than of rdmad, those that take minutes with sanitizers
# and whose code the unit tests run with them, and races that need the full speed:
lab_without='test-(cni|dashboard|device-plugin|erdma|memory|metrics|nccl|page|rdma-limits|storm|traffic|transitions)'
lab_long='test-(nccl-pod|rxe-pods|smc)'

lab() {
	local tests
	mapfile -t tests < <(tests/lab/run -l | grep -xE "$lab_without")
	LAB_TIMEOUT=1200 tests/lab/run "${tests[@]}"
}
lab_sanitized() {
	local tests
	mapfile -t tests < <(tests/lab/run -l | grep -vxE "$lab_without|$lab_long")
	LAB_BUILD=build-asan LAB_TIMEOUT=1200 LAB_SECONDS=400 tests/lab/run "${tests[@]}"
}

# Meson builds what these tests need, and nothing else.  Without GLib's slices: memory goes from thread to thread
# there under locks that the sanitizer does not understand.
threads() {
	configure build-tsan -Db_sanitize=thread -Db_lundef=false -Doptimization=1 &&
		G_SLICE=always-malloc suites build-tsan --suite threads --timeout-multiplier 4
}
# The daemon of a user who may do nothing; what needs root says so and is skipped.
as_nobody() {
	local nobody=(setpriv --reuid=nobody --regid=nogroup --clear-groups --inh-caps=-all env HOME=/)

	((EUID == 0)) || { echo 'needs root, to become nobody'; return 77; }
	"${nobody[@]}" test -x "$PWD/build" || { echo "nobody may not enter $PWD"; return 77; }
	chown -R nobody build/meson-logs
	meson() { "${nobody[@]}" /usr/bin/meson "$@"; }
	suites build --no-rebuild --suite unit --suite unprivileged --timeout-multiplier 2
	chown -R root build/meson-logs
}
clang() {
	wait "$builds"
	build_clang && echo "ok 1 - clang compiles it without a warning"
}
# The same inputs each time: the search for others is soak's.
fuzz() { build_fuzz && tests/fuzz/run 20 build-fuzz -seed=1; }

stage 'build with gcc' eval 'build build && echo "ok 1 - gcc builds it without a warning"'
stage 'style' suites build --suite style
ahead >/dev/null 2>&1 &
builds=$!
stage 'unit and integration' suites build --suite unit --suite integration --timeout-multiplier 2
stage 'unit and metrics as nobody' eval '(as_nobody)'
stage 'build with clang' clang
stage 'fuzz smoke' fuzz
stage 'address and undefined sanitizers' eval '(sanitized)'
stage 'thread sanitizer' threads
stage 'lab' lab
stage 'lab with sanitizers' lab_sanitized

conclude
