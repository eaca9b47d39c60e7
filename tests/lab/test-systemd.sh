# SPDX-License-Identifier: Apache-2.0
# Boots systemd: our Debian packages, installed, run and purged by Debian's systemd as PID 1.
. "$LAB_DIR/lib.sh"

unit=rdmad.service
drop_ins=/etc/systemd/system/$unit.d

show() { systemctl show --value -p "$1" $unit; }
is() { [[ $(show "$1") == "$2" ]]; }
journal() { journalctl -o cat -u $unit; }

# All files of the root itself, but what each package changes and what runs beside us.
listing() {
	find / -xdev \( -path /lab -o -path /tmp -o -path /root -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /var/log -o \
		-path /var/cache -o -path /var/tmp -o -path /var/lib/systemd/catalog -o -path /var/lib/systemd/timers -o \
		-path /etc/ld.so.cache \) -prune -o -print | sort
	find /run -path /run/systemd -prune -o -path '*rdmad*' -print | sort
}

running() { rdmad status >/dev/null 2>&1 && is ActiveState active; }
# Another process than $1.
replaced() { running && [[ $(show MainPID) != "$1" ]]; }
processes() { grep -lE '^rdmad' /proc/[0-9]*/comm 2>/dev/null || true; }

# caps PROCESS: the names that --privileges has for it, of the modules that run.  The port of metrics is above 1023, and
# their drop-in not in place.
caps() { rdmad --privileges | awk -F'\t' -v p="$1" '$1 != "metrics" && $2 ~ p { print $3 }' | sort -u; }

# has_caps PID NAME...: these and no others.  The bounding set stays the unit's: CAP_SETPCAP, which it has not, could
# change that, and no program gains anything by it (NoNewPrivs).
has_caps() {
	local pid=$1 mask=0 name set
	local -A numbers=([CAP_DAC_READ_SEARCH]=2 [CAP_NET_BIND_SERVICE]=10 [CAP_NET_ADMIN]=12 [CAP_NET_RAW]=13
		[CAP_SYS_MODULE]=16 [CAP_SYS_CHROOT]=18 [CAP_SYS_PTRACE]=19 [CAP_SYS_ADMIN]=21)
	for name in "${@:2}"; do
		mask=$((mask | 1 << numbers[$name]))
	done
	for set in CapPrm CapEff; do
		grep -q "^$set:[[:space:]]*$(printf %016x $mask)$" "/proc/$pid/status" ||
			fail "$set of process $pid: $(grep "^$set" "/proc/$pid/status"), not $(printf %x $mask)"
	done
}

# check_privileges EXPOSURE: as `rdmad --privileges` says, and `systemd-analyze security`, in tenths.
check_privileges() {
	local keeper daemon=() executor=()
	mapfile -t daemon < <(caps daemon)
	mapfile -t executor < <(caps executor)
	[[ $(show CapabilityBoundingSet | tr ' ' '\n' | sort) == "$(caps . | tr '[:upper:]' '[:lower:]')" ]] ||
		fail "the unit gives $(show CapabilityBoundingSet), --privileges has: $(caps . | paste -sd' ')"
	has_caps "$(show MainPID)" "${daemon[@]}"
	for keeper in $(</proc/"$(show MainPID)"/task/"$(show MainPID)"/children); do
		[[ $(</proc/"$keeper"/comm) == rdmad-keeper ]] && has_caps "$keeper" "${executor[@]}"
	done
	grep -E '^(Uid:[[:space:]]*0|NoNewPrivs:[[:space:]]*1|Seccomp:[[:space:]]*2)' "/proc/$(show MainPID)/status" |
		wc -l | grep -qx 3
	systemd-analyze security --no-pager --threshold="$1" $unit | tail -1
}

echo "systemd: $(systemctl is-system-running --wait), $(systemctl --version | head -1), $(uname -r)"
[[ $(</proc/1/comm) == systemd ]]
mkdir -p /var/lib/kubelet
listing >before

# ---- installed, it runs ----

dpkg -i "$LAB_DEBS"/rdmad_*.deb
lab_wait 120 running
[[ $(systemctl is-enabled $unit) == enabled ]]
is Type notify
is NRestarts 0
[[ $(journal) == *'rdmad '*' is ready'* ]]
check_privileges 20
[[ $(stat -c '%a %U' /run/rdmad /var/lib/rdmad /run/rdmad/rdmad.sock) == $'755 root\n700 root\n600 root' ]] ||
	fail "$(stat -c '%n %a %U' /run/rdmad /var/lib/rdmad /run/rdmad/rdmad.sock)"
lab_devices 2
lab_wait 60 eval 'rdmad devices | grep -q rxe1'

# ---- a daemon that hangs, or is killed, is started again ----

pid=$(show MainPID)
kill -STOP "$pid"
lab_wait 300 replaced "$pid"
is NRestarts 1
journal | grep -i watchdog
pid=$(show MainPID)
kill -KILL "$pid"
lab_wait 120 replaced "$pid"
is NRestarts 2

# ---- reload ----

pid=$(show MainPID)
has_error() { [[ $(rdmad status --json) == *'"error": "'*lab.conf* ]]; }
# When the configuration was read.
loaded() { rdmad status --json | grep '"loaded"'; }
is_newer() { [[ $(loaded) != "$1" ]] && ! has_error; }
mkdir -p /etc/rdmad/conf.d
before=$(loaded)
echo 'log = { level = "debug"; };' >/etc/rdmad/conf.d/lab.conf
systemctl reload $unit
lab_wait 60 is_newer "$before"
echo 'log = { level = 7; ' >/etc/rdmad/conf.d/lab.conf
systemctl reload $unit
lab_wait 60 has_error
before=$(loaded)
rm /etc/rdmad/conf.d/lab.conf
systemctl reload $unit
lab_wait 60 is_newer "$before"
is MainPID "$pid"
is NRestarts 2

# ---- the drop-ins of modules ----

# with EXPOSURE MODULE...: these modules run too.
with() {
	local module
	for module in "${@:2}"; do
		echo "modules = { $module = { enabled = true; }; };" >"/etc/rdmad/conf.d/$module.conf"
		[[ $module == cni ]] || install -D -m 644 "/usr/share/rdmad/systemd/$module.conf" "$drop_ins/$module.conf"
	done
	systemctl daemon-reload
	systemctl restart $unit
	running
	for module in "${@:2}"; do
		[[ $(rdmad status) == *"$module"* ]]
	done
	check_privileges "$1"
}

dpkg -i "$LAB_DEBS"/rdmad-cni_*.deb
with 34 cni
with 40 cni erdma
rm -r "$drop_ins" /etc/rdmad/conf.d/*.conf
systemctl daemon-reload
systemctl restart $unit
running

# ---- stop, and start again ----

systemctl stop $unit
is ActiveState inactive
is Result success
[[ -z $(processes) ]] || fail "processes are left: $(processes)"
[[ ! -e /sys/fs/cgroup/system.slice/$unit ]]
[[ ! -e /run/rdmad/rdmad.sock && -d /run/rdmad ]]
systemctl start $unit
running

# ---- purge ----

rmdir /etc/rdmad/conf.d
DEBIAN_FRONTEND=noninteractive apt-get -y purge rdmad rdmad-cni
[[ -z $(processes) ]]
[[ $(systemctl show --value -p LoadState $unit) == not-found ]]
listing >after
diff before after
