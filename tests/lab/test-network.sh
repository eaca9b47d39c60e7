# SPDX-License-Identifier: Apache-2.0
# Links of every kind, and an RDMA device that cannot be moved: a build machine may have none of these.
. "$LAB_DIR/lib.sh"

lab_devices 2
"$LAB_BUILD/tests/unit/test-network" --tap | tee result
"$LAB_BUILD/tests/unit/test-netns" --tap
! grep -E "kernel has no|SKIP" result || fail "not all was tested"
