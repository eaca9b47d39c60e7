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

# The browser has had its turn by then.
sanitized() {
	build build-asan -Db_sanitize=address,undefined -Db_lundef=false &&
		suites build-asan --suite unit --suite integration --no-suite browser \
			--timeout-multiplier 4
}
# Without those that test a browser and Prometheus rather than rdmad.
lab_sanitized() {
	local tests
	mapfile -t tests < <(tests/lab/run -l | grep -vxE 'test-(dashboard|page)')
	LAB_BUILD=build-asan LAB_TIMEOUT=1200 LAB_SECONDS=400 tests/lab/run "${tests[@]}"
}
threads() { build build-tsan -Db_sanitize=thread -Db_lundef=false && suites build-tsan work; }
# The daemon of an unprivileged user; tests that need root are skipped with the reason.
as_nobody() {
	local nobody=(setpriv --reuid=nobody --regid=nogroup --clear-groups --inh-caps=-all env HOME=/)

	((EUID == 0)) || { echo 'needs root, to become nobody'; return 77; }
	"${nobody[@]}" test -x "$PWD/build" || { echo "nobody may not enter $PWD"; return 77; }
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

conclude
