# Losses that must not matter: rdmad's database, kubelet's checkpoint; and an init container.
checkpoint=/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint
allocations_of() { ask allocations --json | jq -c --arg p "$1-$node" '[.allocations[] | select(.pod == $p) | [.id, .container, .device_names]]'; }
begin "$EXCLUSIVE"
pod a rdma/hca=1
within 240 "a pod with rdma/hca: 1 runs" pod_running a
within 60 "rdmad names the pod" says 'default/a-node1 ' ask allocations
allocation=$(allocation_of a) device=$(device_of a)

rdmad_stop
rm -rf /var/lib/rdmad/*
rdmad_start
within 120 "database lost: the allocation has the same id again" is "$allocation" allocation_of a
check "and the same device" is "$device" device_of a
check "its directory is there in the container" says "$allocation" pod_exec a cat /run/rdmad/allocation.json
ask events | grep -v device-added | tail -4 | sed 's/^/#   /'

pod_with_init c rdma/hca 2 1
within 400 "an init container with two devices, then the main one with one" pod_running c
sleep 5
check "the main container has its directory" says '"id"' pod_exec c cat /run/rdmad/allocation.json
id=$(pod_exec c sh -c 'echo $RDMAD_ALLOCATION')
check "which is of an allocation that is known" says "$id" ask allocations --json
note "allocations of c: $(allocations_of c)"; ctl podres | sed 's/^/#   /'
unpod c
within 120 "all allocations of that pod have ended" is '[]' allocations_of c

kubelet_stop
rm -f $checkpoint
kubelet_start
within 120 "checkpoint lost: registered again" says 'rdma/hca .* yes( |$)' ask status
within 120 "kubelet has four devices" is 4 allocatable rdma/hca
ctl podres | sed 's/^/#   podresources: /'
for i in 1 2 3; do ask allocations --refresh >/dev/null; sleep 2; done
check "the allocation of the running pod stays" is "$allocation" allocation_of a
note "doctor:"; ask doctor | grep -i kubelet -A1 | sed 's/^/#   /'
pod b rdma/hca=3
within 300 "another pod gets three devices" pod_running b
within 60 "rdmad names it" says 'default/b-node1 ' ask allocations
check "not that of the running pod" not says "$device" device_of b
check "whose allocation stays" is "$allocation" allocation_of a
pod d rdma/hca=1
sleep 15
check "a third pod is not given it" not pod_running d
ctl pods | sed 's/^/#   /'
ask events | tail -6 | sed 's/^/#   /'
unpod a b d
within 240 "all allocations have ended" is 0 n_allocations_now
