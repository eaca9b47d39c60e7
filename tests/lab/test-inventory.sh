# SPDX-License-Identifier: Apache-2.0
# The inventory follows real devices: found, with GIDs; addresses, links, removals, all by events.
. "$LAB_DIR/lib.sh"

lab_devices 2
lab_watch

# The devices at the start.
lab_see '^added rxe0 id=rxe0 index=[0-9]+ driver=rxe guid=([0-9a-f]{4}:){3}[0-9a-f]{4} port=1 state=active netdev=eth0 '
lab_see '^(added|changed) rxe1 .*gid[0-9]+=fe80:.* /dev/infiniband/uverbs1 /dev/infiniband/rdma_cm'
lab_see '^attribute node:netns-mode=shared'
! grep problem= seen || fail "a healthy device has problems"

# An address becomes a GID.
lab_forget
ip address add 192.0.2.7/24 dev eth0
lab_see '^changed rxe0 .*=0000:0000:0000:0000:0000:ffff:c000:0207 .*addresses:[^ ]*192.0.2.7/24'
lab_forget
ip address del 192.0.2.7/24 dev eth0
lab_wait 5 bash -c "grep '^changed rxe0' seen | tail -1 | grep -v ffff:c000:0207"

# Links go down and come back; the other end loses its carrier.
lab_forget
ip link set eth1 down
lab_see '^changed rxe0 .*state=down .*carrier:0'
lab_see '^changed rxe1 .*state=down .*carrier:-1'
lab_forget
ip link set eth1 up
lab_see '^changed rxe0 .*state=active .*carrier:1'

# The asynchronous events are open, and do not hold up a removal.
kill -USR1 "$lab_watcher"
lab_see '^verbs rxe1: listening'
lab_forget
start=$(date +%s%N)
timeout 30 rdma link delete rxe1
took=$((($(date +%s%N) - start) / 1000000))
echo "rdma link delete took $took ms"
((took < 10000)) || fail "a removal waited $took ms for rdmad"
lab_see '^removed rxe1 '
! grep FATAL seen || fail "a removal was taken for a failure"

# The same name again is another device.
lab_forget
rdma link add rxe1 type rxe netdev eth1
lab_see '^(added|changed) rxe1 .*state=active'
lab_wait 5 bash -c "kill -USR1 $lab_watcher; sleep 0.2; grep '^verbs rxe1: listening' seen"

# A new pair, while running.
lab_forget
lab_add_pair 2
lab_see '^(added|changed) rxe2 .*uverbs2'
lab_see '^added rxe3 '

# The namespace mode is a node attribute; it has no event of its own.
lab_forget
rdma system set netns exclusive
ip address add 192.0.2.8/24 dev eth0
lab_see '^attribute node:netns-mode=exclusive'
rdma system set netns shared
ip address del 192.0.2.8/24 dev eth0
lab_see '^attribute node:netns-mode=shared'

# Nothing happens: nothing wakes it.
lab_wait 10 lab_sleeps "$lab_watcher" 3
grep ^Pss "/proc/$lab_watcher/smaps_rollup"

lab_unwatch
