# SPDX-License-Identifier: Apache-2.0
# The metrics module on real devices, also of a user who may do nothing: promtool finds no fault, and
# packets are counted as the kernel counts them, all that ib_write_bw says that it sent and those sent again.
#
# rxe has no counters of the port, and so no bytes: packets of one MTU each are compared.
. "$LAB_DIR/lib.sh"

lab_devices 2
url=http://127.0.0.1:9889/metrics

scrape() {
	curl -sS --fail --max-time 20 "$@" "$url"
}

# value SERIES: its number now; a reading a second old would do for others.
value() {
	sleep 1.1
	scrape | awk -v series="$1" '$1 == series { print $2 }'
}

# Neither interfaces nor anybody else sends anything.
is_quiet() {
	local before
	before=$(scrape | grep '^rdma_sent_pkts_total')
	sleep 1.1
	[[ $(scrape | grep '^rdma_sent_pkts_total') == "$before" ]]
}

# write_bw: packets that ib_write_bw sent from rxe1 to rxe0, by its own table.
write_bw() {
	ib_write_bw -d rxe0 -x 0 -n 500 -s 65536 -m 1024 -F >server.log 2>&1 &
	lab_wait 20 bash -c "ss -ltn | grep -q ':18515 '" >&2
	ib_write_bw -d rxe1 -x 0 -n 500 -s 65536 -m 1024 -F 127.0.0.1 >client.log
	wait $!
	awk 'table { print $1 / 1024 * $2; exit } /#bytes/ { table = 1 }' client.log
}

# kernel DEVICE COUNTER: as its own file has it.
kernel() {
	cat "/sys/class/infiniband/$1/ports/1/hw_counters/$2"
}

# counted DEVICE COUNTER BEFORE REPORTED: since `before`, the kernel's value then.
counted() {
	local now
	now=$(value "rdma_$2_total{device=\"$1\",port=\"1\"}")
	echo "ib_write_bw: $4 packets; counted: $((now - $3)) of $1 $2"
	[[ $now == "$(kernel "$1" "$2")" ]] || fail "$now, not $(kernel "$1" "$2")"
	(((now - $3) * 100 >= $4 * 99)) || fail "$((now - $3)) are fewer than $4"
}

check_all() {
	local reported sent received

	lab_wait 20 scrape -o first
	promtool check metrics <first >promtool.log 2>&1 || fail "promtool: $(<promtool.log)"
	[[ ! -s promtool.log ]] || fail "promtool: $(<promtool.log)"
	scrape -H 'Accept: application/openmetrics-text;version=1.0.0' | tail -n 1 | grep -qx '# EOF'
	for device in rxe0 rxe1; do
		grep -qx "rdma_device_scrape_success{device=\"$device\"} 1" first
		grep -qx "rdma_port_state_id{device=\"$device\",port=\"1\"} 4" first
	done
	grep -q '^rdma_netdev_carrier{device="rxe0",netdev="eth0"} 1$' first

	lab_wait 30 is_quiet
	sent=$(kernel rxe1 sent_pkts) received=$(kernel rxe0 rcvd_pkts)
	reported=$(write_bw)
	lab_wait 30 is_quiet
	counted rxe1 sent_pkts "$sent" "$reported"
	counted rxe0 rcvd_pkts "$received" "$reported"
}

# Queue pairs by pod are test-users.sh's; here: that they are exported.
check_users() {
	ib_write_bw -d rxe0 -x 0 >/dev/null 2>&1 &
	local server=$!
	lab_wait 20 bash -c "ss -ltn | grep -q ':18515 '"
	sleep 1.1
	scrape | grep -E '^rdma_device_queue_pairs\{device="rxe0"\} [1-9]' || fail 'no queue pairs'
	kill $server
	wait $server || true
}

echo 'modules = { metrics = { }; };' >rdmad.conf
lab_rdmad
check_all
check_users
# A port that goes down is seen, and counted.
before=$(value 'rdma_port_link_transitions_total{device="rxe0",port="1"}')
ip link set eth1 down
lab_wait 10 bash -c "curl -sS $url | grep -qx 'rdma_port_state_id{device=\"rxe0\",port=\"1\"} 1'"
ip link set eth1 up
lab_wait 10 bash -c "curl -sS $url | grep -qx 'rdma_port_state_id{device=\"rxe0\",port=\"1\"} 4'"
(($(value 'rdma_port_link_transitions_total{device="rxe0",port="1"}') >= before + 2)) ||
	fail 'the port went down and came back, and was not counted'
# A device that leaves takes its series along.
rdma link delete rxe1
lab_wait 10 bash -c "! curl -sS $url | grep -q '\"rxe1\"'"
lab_rdmad_stop
rdma link add rxe1 type rxe netdev eth1
lab_wait 5 grep -q ACTIVE /sys/class/infiniband/rxe1/ports/1/state

# The same of a user without any right, any directory and any file.
: >rdmad.log
setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs \
	env -i "$LAB_BUILD/core/rdmad" --module=metrics --module-dir "$LAB_BUILD/modules" >>rdmad.log 2>&1 &
lab_daemon=$!
check_all
grep -E ' (warning|error) ' rdmad.log && fail 'it complains'
lab_rdmad_stop
