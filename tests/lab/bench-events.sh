# SPDX-License-Identifier: Apache-2.0
# tests/lab/run -v bench-events: from a link that goes down or up to the message that kubelet gets.
# Under software emulation all is 10 to 20 times slower than on a machine, so that the time of one bare
# look at the hardware stands beside it.
. "$LAB_DIR/lib.sh"

lab_devices 4
cat >rdmad.conf <<'CONF'
modules = {
  device-plugin = {
    health_delay = 0;
    resources = ( { name = "rdma/nic"; mode = "exclusive"; selectors = { drivers = "rxe"; }; } );
  };
};
CONF
mkdir -p "$lab_root/plugins_registry"
lab_rdmad
lab_wait 20 compgen -G "$lab_root/plugins_registry/rdmad-*"
"$LAB_BUILD/tests/lab/time-events" "$lab_root"/plugins_registry/rdmad-* "$lab_daemon" eth3 20
echo "goal: 20 ms beyond coalescing, on a real machine"

# Nobody shares its libraries here, and the verbs of four devices are open.
echo "memory, KiB: $(awk '/^(Rss|Pss|Pss_Anon|Pss_File):/ { printf "%s %s  ", $1, $2 }' \
	"/proc/$lab_daemon/smaps_rollup")"
awk '/^[0-9a-f]+-/ { name = NF > 5 ? $6 : "anonymous" } /^Pss:/ { sum[name] += $2 }
	END { for (n in sum) print sum[n], n }' "/proc/$lab_daemon/smaps" | sort -rn | head -12
lab_rdmad_stop
