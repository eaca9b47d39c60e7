#!/bin/bash
# Demonstration of the main job: rdmad on this machine's RDMA devices (or the files of a node), a kubelet (or the
# fake one), two devices allocated.  demo.sh [--once | --lab]
set -euo pipefail
export PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH
build=${LAB_BUILD:-build}
dir=$(mktemp -d /tmp/rdmad.XXXXXX)	# short: socket paths end at 107 bytes
pids=()
export RDMAD_SOCKET=$dir/run/rdmad.sock

clean_up() {
	((${#pids[@]} == 0)) || kill "${pids[@]}" 2>/dev/null || true
	wait
	[[ $(readlink $build/quickstart 2>/dev/null) != "$dir" ]] || rm -f $build/quickstart
	rm -rf "$dir"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

start() {
	local name=$1
	shift
	"$@" >"$dir/$name.log" 2>&1 &
	pids+=($!)
}

fail() {
	echo "quickstart: $1; the log:" >&2
	tail -n 20 "$dir"/*.log >&2
	exit 1
}

# wait_for SECONDS COMMAND...: until it succeeds.
wait_for() {
	local tries=$(($1 * 10))
	shift
	until "$@" >/dev/null 2>&1; do
		((tries-- > 0)) || return 1
		sleep 0.1
	done
}

show() {
	printf '\n$ %s\n' "$1"
	shift
	"$@"
}

ask() { "$build/core/rdmad" "$@"; }
ctl() { tests/kubelet/kubelet-ctl --root "$kubelet" "$@"; }

choose_machine() {
	if compgen -G '/sys/class/infiniband/*' >/dev/null; then
		machine='the RDMA devices of this machine'
		sysroot=()
	else
		machine='the files of a node with eight ConnectX-7 rails (this machine has no RDMA devices)'
		tests/machines/expand gpu-8rail "$dir/machine"
		echo gpu-node-17 >"$dir/machine/proc/sys/kernel/hostname"
		sysroot=(--sysroot "$dir/machine")
	fi
}

# Of the page: the default, or the next one that is free.
choose_port() {
	port=9889
	while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
		((++port <= 9999)) || fail 'no port from 9889 to 9999 is free'
	done
	((port == 9889)) || echo "Port 9889 is in use: the status page is at port $port."
}

choose_kubelet() {
	if [[ -S /var/lib/kubelet/device-plugins/kubelet.sock ]]; then
		kubelet=/var/lib/kubelet fake=
	else
		kubelet=$dir/kubelet fake=1
		start kubelet tests/kubelet/kubelet --root "$kubelet"
		wait_for 20 ctl resources || fail 'the fake kubelet does not answer'
	fi
}

show_allocation() {
	ctl wait rdma/hca 1000 --timeout 20 || fail 'rdmad did not register with kubelet'
	show 'kubelet: resources' ctl resources
	show 'kubelet: admit pod demo/train, which requests two rdma/hca' \
		ctl allocate rdma/hca 2 --pod demo/train
	ask allocations --refresh >/dev/null
	show 'rdmad allocations' ask allocations
}

show_where_next() {
	cat <<-END

	Where to look next
	  contrib/quickstart exec status      a summary: modules, resources, kubelet
	  contrib/quickstart exec topology    distances of NICs and GPUs
	  contrib/quickstart exec doctor      problems of this node, with advice
	  etc/rdmad.conf                      every option, at its default
	END
	if [[ $(ask status) == *'module metrics: running'* ]]; then
		echo "  http://127.0.0.1:$port/              the status page; /metrics there is for Prometheus"
	fi
}

choose_machine
choose_kubelet
choose_port
# Another program may take the port before rdmad does.
echo "modules = { device-plugin = { }; nccl = { optional = true; network = \"host\"; };
	metrics = { optional = true; listen = \"127.0.0.1:$port\"; }; };" >"$dir/rdmad.conf"
start rdmad "$build/core/rdmad" --config "$dir/rdmad.conf" --module-dir "$build/modules" "${sysroot[@]}" \
	--run-dir "$dir/run" --state-dir "$dir/state" --kubelet-dir "$kubelet"
wait_for 20 ask status || fail 'rdmad does not answer'
[[ ! -w $build ]] || ln -sfn "$dir" "$build/quickstart"

echo "rdmad $("$build/core/rdmad" --version | awk '{ print $2 }') on $machine"
show 'rdmad devices' ask devices
if [[ $fake ]]; then
	show_allocation
else
	echo; echo 'A kubelet runs here: rdmad has registered with it, and its pods can request rdma/hca.'
	show 'rdmad status' ask status
fi
# The lab has no terminal beside this one.
[[ ! ${LAB_TMP-} ]] || show 'rdmad status' ask status
if [[ ${1-} == --once ]]; then
	[[ ${LAB_TMP-} ]] || printf '\nWithout --once it keeps running, for `contrib/quickstart exec COMMAND` in another terminal.\n'
	exit 0
fi
[[ ${LAB_TMP-} ]] || show_where_next
printf '\nrdmad keeps running until you press Ctrl-C.\n'
wait -n "${pids[@]}" || true
fail 'a program has exited'
