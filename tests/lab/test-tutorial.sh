# SPDX-License-Identifier: Apache-2.0
# contrib/docs/tutorial.md on a soft-RoCE device: its configuration, and its commands in their order.
. "$LAB_DIR/lib.sh"

tutorial=$LAB_DIR/../../contrib/docs/tutorial.md
ip link add eth0 type veth peer name eth1
ip link set eth0 up
ip link set eth1 up

sed -n '/^modules = {$/,/^};$/p' "$tutorial" >rdmad.conf
grep -q device-plugin rdmad.conf || fail "no configuration in the tutorial: $(cat rdmad.conf)"
lab_kubelet

# What is a program of the node elsewhere.
rdmad() {
	case $1 in
	--check) "$LAB_BUILD/core/rdmad" --check --config rdmad.conf --module-dir "$LAB_BUILD/modules" ;;
	*) lab_client "$@" ;;
	esac
}

# The guest's kernel has it before it has a root.
modprobe() {
	grep -q "^$1 " /proc/modules
}

systemctl() {
	[[ $* == 'start rdmad' ]] || fail "systemctl $*"
	lab_rdmad
	lab_wait 120 kubelet_ctl wait rdma/roce 4
}

# The pod of the tutorial, between the commands of its section.
pod() {
	kubelet_ctl allocate rdma/roce 1 --pod ml/train-0 >grant
	grep -q uverbs grant
}

sed -n '/^```console/,/^```$/s/^\$ //p' "$tutorial" >commands
count=0
while IFS= read -r command; do
	[[ $command != 'rdmad allocations'* ]] || pod
	echo "\$ $command"
	eval "$command" >said || [[ $command == 'rdmad doctor' ]] || fail "$command: $(cat said)"
	count=$((count + 1))
	case $command in
	'rdma link add'*) lab_wait 10 grep -q ACTIVE /sys/class/infiniband/rxe0/ports/1/state ;;
	'rdmad devices') grep -E '^rxe0 .* active .* healthy' said ;;
	'rdmad allocations'*) grep -E 'rdma/roce +rxe0 +ml/train-0' said ;;
	'rdmad nccl-env'*) grep -E '192\.0\.2\.1.*selected' said ;;
	'curl '*) grep -q 'rdma_port_state_id{.*device="rxe0"' said ;;
	esac
done <commands
((count >= 10)) || fail "only $count commands"
echo "$count commands of the tutorial"
lab_rdmad_stop
