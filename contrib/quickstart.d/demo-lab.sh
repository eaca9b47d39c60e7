#!/bin/bash
# The main job on real (kernel) RDMA devices: demo.sh inside the lab's virtual machine.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

# In the guest.
if [[ ${1-} == --inside ]]; then
	export LAB_TMP=/run/lab
	mkdir -p $LAB_TMP
	. "$here/../../tests/lab/lib.sh"
	lab_devices 4
	for i in 0 1 2 3; do
		ip address add "192.0.2.$((i + 1))/24" dev "eth$i"
	done
	cd "$here/../.."
	exec "$here/demo.sh" "${@:2}"
fi

echo 'Starting a virtual machine with four soft-RoCE devices (some seconds under software emulation)'
LAB_TIMEOUT=0 exec tests/lab/run -x "$here/demo-lab.sh" --inside "$@"
