# SPDX-License-Identifier: Apache-2.0
# Links of every kind, and an RDMA device that cannot be moved: a build machine may have none of these.
. "$LAB_DIR/lib.sh"

lab_devices 2
for program in links addresses routes sysctls rdma network netns; do
	"$LAB_BUILD/tests/unit/test-$program" --tap | tee -a result
done
! grep -E "kernel has no|SKIP" result || fail "not all was tested"
