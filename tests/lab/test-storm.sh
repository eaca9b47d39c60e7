# SPDX-License-Identifier: Apache-2.0
# Many events at once are few looks, and the last picture is the right one.
. "$LAB_DIR/lib.sh"

lab_devices 2
lab_watch

# 300 addresses as fast as the kernel takes them: 300 events of addresses, 300 of GIDs.
lab_forget
for ((i = 1; i <= 300; i++)); do
	echo "address add 198.18.$((i / 250)).$((i % 250 + 1))/15 dev eth0"
done | ip -batch -
lab_wait 20 grep -q '^changed rxe0.*addresses:[^ ]*198.18.1.51/15' seen
lab_wait 20 bash -c "grep '^changed rxe0' seen | tail -1 | grep -o ' gid[0-9]*=' | wc -l | grep -qx 301"
looks=$(grep -c '^settled' seen)
echo "$looks looks that found a change"
((looks <= 60)) || fail "600 events made $looks looks"

# A link that flaps: the end counts.
lab_forget
for i in 1 2 3 4 5 6 7 8 9 10; do
	ip link set eth1 down
	ip link set eth1 up
done
lab_wait 10 grep -q . seen
lab_wait 10 lab_sleeps "$lab_watcher" 1
grep '^changed rxe0' seen | tail -1 | grep -q 'state=active'

# Devices come and go faster than they are looked at.
for i in 1 2 3 4 5; do
	timeout 10 rdma link delete rxe1
	rdma link add rxe1 type rxe netdev eth1
done
index=$(rdma dev show rxe1 | cut -d: -f1)
lab_wait 10 grep -Eq "^(added|changed) rxe1 .*index=$index .*state=active" seen
lab_wait 10 bash -c "kill -USR1 $lab_watcher; sleep 0.2; grep '^verbs ' seen | tail -8 | grep '^verbs rxe1: listening'"
lab_unwatch
