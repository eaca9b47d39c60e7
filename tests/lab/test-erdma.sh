# SPDX-License-Identifier: Apache-2.0
# The driver manager with a real kernel: rdma_rxe is in the role of erdma, as no machine here has that NIC.
. "$LAB_DIR/lib.sh"

tree=/lib/modules/$(uname -r)

# configure LOAD_WITH PREFER [INSTALL]
configure() {
	echo "modules = { erdma = { driver = { module = \"rdma_rxe\"; pci_device = \"\"; retry = \"1h\";
		load_with = \"$1\"; prefer_driver = \"$2\"; ${3:-} }; }; };" >rdmad.conf
}

driver_is() {
	lab_client status --json >status.json && grep -q "\"state\": \"$1\"" status.json
}

loaded() { [[ $(cat /sys/module/rdma_rxe/initstate) == live ]]; }

# Namespaces of PID 1 and cgroups, which the build machine may not let a test have.
"$LAB_BUILD/tests/unit/test-child" --tap -p /child/nothing_leaves_a_cgroup \
	-p /child/a_child_on_the_host_has_the_namespaces_of_pid_1 >child.tap || fail "$(cat child.tap)"
[[ $(grep -c '^ok' child.tap) == 2 ]] && ! grep '# SKIP' child.tap

# Without its module: the installer brings it.  Its remaining processes are killed with its cgroup.
rmmod rdma_rxe
cat >install <<EOF
#!/bin/sh
cat /proc/self/cgroup >"$LAB_TMP/cgroup"
setsid sh -c 'echo \$\$ >"$LAB_TMP/left"; exec sleep 100000' >/dev/null 2>&1 &
until [ -s "$LAB_TMP/left" ]; do sleep 0.05; done
mkdir -p /lib/modules && ln -s "$LAB_MODULES" $tree
EOF
chmod +x install
configure auto compat "install = { command = \"$LAB_TMP/install\"; };"
mkdir -p /sys/fs/cgroup/system.slice # as systemd has it: the root's own directory is read-only
mkdir -p "$tree.none" && touch "$tree.none/modules.dep" && ln -s "$tree.none" "$tree"
sed -i "s,ln -s ,ln -sfn ," install
lab_rdmad
lab_wait 60 driver_is ready
loaded
grep -q '^0::/system.slice/rdmad-erdma-installer$' cgroup
lab_wait 10 bash -c "! kill -0 $(cat left)"
left=/sys/fs/cgroup/system.slice/rdmad-erdma-installer
[[ ! -e $left ]] || fail "the installer's cgroup is left"
lab_rdmad_stop

# What an installer has started is killed with it when rdmad is killed, although it left the process group.
rmmod rdma_rxe
ln -sfn "$tree.none" "$tree"
rm -f left
sed 's,^mkdir.*,exec sleep 100000,' install >hanging && chmod +x hanging
configure auto compat "install = { command = \"$LAB_TMP/hanging\"; };"
lab_rdmad
lab_wait 60 test -s left
grep -Eq '^CapPrm:[[:space:]]*0+$' "/proc/$lab_daemon/status"
kill -9 "$lab_daemon"
lab_wait 20 bash -c "! kill -0 $(cat left)"
ln -sfn "$LAB_MODULES" "$tree"
modprobe rdma_rxe

# By either way, and again when somebody unloads it.
for how in kmod finit; do
	rmmod rdma_rxe
	configure $how compat
	lab_rdmad
	lab_wait 60 driver_is ready
	lab_wait 20 loaded
	ip link add erdma$how type dummy
	ip link set erdma$how address 00:16:3e:0a:0b:0c up
	rdma link add erdma_0 type rxe netdev erdma$how
	lab_wait 20 grep -q 0216:3eff:fe0a:0b0c /sys/class/infiniband/erdma_0/node_guid
	lab_wait 20 bash -c "'$LAB_BUILD/core/rdmad' doctor -v --socket '$LAB_TMP/run/rdmad.sock' |
		grep 'driver rdma_rxe is loaded in mode .*, with 1 devices'"
	rdma link delete erdma_0
	ip link delete erdma$how
	lab_wait 20 rmmod rdma_rxe
	lab_wait 20 loaded
	lab_wait 20 driver_is ready
	lab_client events | grep -c driver-state
	lab_rdmad_stop
done

# A kernel's own driver has one mode, which its devices tell.
ip link add erdma type dummy
ip link set erdma up
rdma link add erdma_0 type rxe netdev erdma
configure auto default
lab_rdmad
lab_wait 60 driver_is failed
lab_client status --json | grep "has no mode default"
lab_rdmad_stop
