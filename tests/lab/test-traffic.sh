# SPDX-License-Identifier: Apache-2.0
# The lab's own promise: two devices of one cable really carry data.
. "$LAB_DIR/lib.sh"

lab_devices 2
ibv_rc_pingpong -d rxe0 -g 0 -n 50 >server.log 2>&1 &
lab_wait 5 bash -c "ss -ltn | grep -q ':18515 '"
ibv_rc_pingpong -d rxe1 -g 0 -n 50 127.0.0.1
wait $!

ib_write_bw -d rxe0 -x 0 -n 20 -s 4096 -F >server.log 2>&1 &
lab_wait 20 bash -c "ss -ltn | grep -q ':18515 '"
ib_write_bw -d rxe1 -x 0 -n 20 -s 4096 -F 127.0.0.1
wait $!
