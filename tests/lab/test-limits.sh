# SPDX-License-Identifier: Apache-2.0
# A device's limits equal those that libibverbs' own program prints; also of one that came again.
. "$LAB_DIR/lib.sh"

keys="max_qp max_qp_wr max_sge max_cq max_cqe max_mr max_mr_size page_size_cap max_pd max_srq
	max_ah phys_port_cnt gid_tbl_len max_msg_sz max_mtu"

# said KEY: by rdmad of rxe0, a string without its quotes.
said() {
	sed -n "s/^ *\"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" said.json
}

# truth KEY: by ibv_devinfo, of "max_mtu: 4096 (5)" the first word.
truth() {
	sed -n "s/^[ \t]*$1:[ \t]*\([^ \t]*\).*/\1/p" truth.txt
}

ask() {
	lab_client devices rxe0 --json >said.json
}

has_limits() {
	ask && grep -q '"max_qp": [0-9]' said.json
}

check() {
	local key want
	lab_wait 20 has_limits
	ibv_devinfo -v -d rxe0 >truth.txt
	for key in $keys; do
		want=$(($(truth "$key")))
		echo "$key $want"
		[[ $(($(said "$key"))) == "$want" ]] || fail "$key is $want, not $(said "$key")"
	done
	[[ $(truth atomic_cap) == ATOMIC_HCA && $(said atomic_cap) == hca ]]
}

lab_devices 2
echo 'modules = { device-plugin = { }; };' >rdmad.conf
lab_rdmad
check
lab_client devices rxe0 | tee shown
grep -q '^limits$' shown

# Gone, and back under the same name: asked again.
timeout 30 rdma link delete rxe0
lab_wait 10 bash -c "! '$LAB_BUILD/core/rdmad' devices rxe0 --socket '$LAB_TMP/run/rdmad.sock'"
rdma link add rxe0 type rxe netdev eth0
lab_wait 20 has_limits
lab_rdmad_stop
