# SPDX-License-Identifier: Apache-2.0
# Links of every kind that the stock kernel has, and an RDMA device that cannot be moved.
. "$LAB_DIR/lib.sh"

lab_devices 2
for module in macvlan ipvlan 8021q dummy; do
	modprobe "$module" 2>/dev/null || echo "no $module"
done
"$LAB_BUILD/tests/unit/test-network" --tap | tee result
"$LAB_BUILD/tests/unit/test-netns" --tap
! grep -q "no RDMA device" result || fail "rxe0 was not seen"
