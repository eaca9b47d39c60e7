#!/bin/bash
# The long runs, hours: every point of the fault sweeps, 100 000 Allocates, 20 000 scrapes, random sequences, half an
# hour of new inputs for the fuzz targets, the whole lab with two machines and with systemd.  Prints progress, the
# reasons of skips, and last `N passed, M failed, K skipped`.
set -uo pipefail
here=contrib/quickstart.d
# shellcheck source-path=SCRIPTDIR
. $here/build.sh
. $here/stages.sh
export RDMAD_TEST_SLOW=1

lab_sanitized() {
	build_asan && LAB_BUILD=build-asan LAB_TIMEOUT=1800 LAB_SECONDS=600 \
		tests/lab/run test-device-plugin test-storm test-transitions
}

stage 'build with gcc' eval 'build build && echo "ok 1 - gcc builds it without a warning"'
stage 'long runs' suites build --suite soak --timeout-multiplier 0
stage 'fuzz' eval 'build_fuzz && tests/fuzz/run 1800 build-fuzz'
stage 'lab' tests/lab/run
stage 'lab with sanitizers' lab_sanitized
stage 'lab of two machines' tests/lab/pair test-smc
stage 'systemd' env LAB_TIMEOUT=1800 LAB_SECONDS=1500 tests/lab/run test-systemd
# How much each has done.
grep -E '^# .*(points tried|Allocates|steps|scrapes)' build/meson-logs/testlog.txt
conclude
