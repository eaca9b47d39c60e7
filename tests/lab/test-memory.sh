# SPDX-License-Identifier: Apache-2.0
# An idle daemon with two open devices: what it costs, by file, and that nothing wakes it.
. "$LAB_DIR/lib.sh"

if [[ $(nm -D "$LAB_BUILD/core/rdmad") == *__asan* ]]; then
	echo "sanitizers have a memory of their own"
	exit 77
fi
lab_devices 2
echo 'modules = { device-plugin = { }; };' >rdmad.conf
lab_rdmad
# Worker threads end after 10 quiet seconds.
lab_wait 30 bash -c "[[ \$(ls /proc/$lab_daemon/task | wc -l) == 1 ]]"

# by_file: kB of PSS of each mapped file, largest first.
by_file() {
	awk '/^[0-9a-f]+-[0-9a-f]+ / { file = $6 == "" ? "anonymous" : $6 }
		/^Pss:/ { pss[file] += $2 }
		END { for (file in pss) print pss[file], file }' "/proc/$1/smaps" | sort -rn
}
by_file "$lab_daemon"
pss=$(awk '/^Pss:/ { print $2 }' "/proc/$lab_daemon/smaps_rollup")
echo "PSS $pss kB"
((pss <= 6144)) || fail "an idle daemon takes $pss kB, more than 6 MiB"

lab_wait 5 lab_sleeps "$lab_daemon" 5
lab_rdmad_stop
