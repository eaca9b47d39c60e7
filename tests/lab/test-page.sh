# SPDX-License-Identifier: Apache-2.0
# Real traffic on the status page: packets, where a device counts no bytes, and who has queue pairs.
. "$LAB_DIR/lib.sh"

echo 'modules = { metrics = { listen = ( ); }; };' >rdmad.conf
lab_devices 2
lab_rdmad

traffic() {
	curl -sf --unix-socket run/rdmad.sock http://localhost/api/v1/traffic >traffic.json
}

# traffic_is EXPRESSION: of the ports and users by device, what `ports["rxe0"]` and `users` say.
traffic_is() {
	/usr/bin/python3 - "$1" <<-'END'
		import json, sys
		answer = json.load(open("traffic.json"))
		ports = {port["device_name"]: port for port in answer["ports"]}
		users = {user["device_name"]: user for user in answer["users"]}
		sys.exit(not eval(sys.argv[1]))
	END
}

traffic
traffic_is 'ports["rxe0"]["unit"] == ports["rxe1"]["unit"] == "packets"'
# rdmad itself has the devices open.
traffic_is 'users["rxe0"]["queue_pairs"] == users["rxe0"]["processes"] == 0'

ib_write_bw -d rxe0 -x 0 -D 1000 -s 65536 -F >server.log 2>&1 &
server=$!
lab_wait 20 bash -c "ss -ltn | grep -q ':18515 '"
ib_write_bw -d rxe1 -x 0 -D 1000 -s 65536 -F 127.0.0.1 >client.log 2>&1 &
client=$!
# It writes from rxe1 to rxe0.
busy() {
	sleep 1
	traffic
	traffic_is 'ports["rxe1"]["transmitted"][-1] > 100 and ports["rxe0"]["received"][-1] > 100' &&
		traffic_is 'users["rxe0"]["queue_pairs"] == users["rxe0"]["processes"] == 1'
}
lab_wait 30 busy
kill $client $server
wait $client $server || true
idle() {
	sleep 1
	traffic
	traffic_is 'ports["rxe1"]["transmitted"][-1] < 10 and users["rxe0"]["processes"] == 0'
}
lab_wait 30 idle
