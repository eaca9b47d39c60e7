# Kubelet's behaviour is that of tests/kubelet/behaviour.trace, which the simulator's model and the fake kubelet follow.
RESOURCE=rdma/whole
registry=/var/lib/kubelet/plugins_registry
legacy=/var/lib/kubelet/device-plugins
tests=$RIG_SRC/tests/kubelet
log=$OUT/rdmad-$scenario.log
declare -A restarts
seen=0	# calls that were expected

# A process that asks podresources, because to start one takes seconds here: "allocatable N", "POD N"...
coproc podresources { "$tests/podresources" /var/lib/kubelet "$RESOURCE"; }
ask_podresources() {
	local line
	echo >&"${podresources[1]}"
	while read -rt 120 line <&"${podresources[0]}" && [[ $line != . ]]; do echo "$line"; done
}

# ---- steps ----

configure() {	# configure OPTIONS
	rdmad_config "health_delay = 0; forget_delay = 0; $1
		resources = ( { name = \"$RESOURCE\"; mode = \"exclusive\"; selectors = { names = ( \"rxe0\", \"rxe2\" ); }; } );"
}
make_pod() {	# make_pod NAME COUNT [INIT-COUNT]
	restarts[$1]=0
	if [[ ${3-} ]]; then pod_with_init "$1" $RESOURCE "$3" "$2"; else pod "$1" "$RESOURCE=$2"; fi
}
# Device 1 is rxe2, as rxe0 and rxe1 are the ends of one cable.
change_device() {	# change_device NUMBER WHAT
	local n=$(($1 * 2))
	case $2 in
	"goes down") ip link set eth$n down ;;
	"comes up") ip link set eth$n up ;;
	"is unplugged") rdma link delete rxe$n ;;
	"is plugged in") rdma link add rxe$n type rxe netdev eth$n ;;
	*) return 1 ;;
	esac
}
perform() {
	local -a words=($1)
	case $1 in
	"kubelet starts") kubelet_start ;;
	"kubelet restarts") kubelet_stop && kubelet_start ;;
	"kubelet restarts without its checkpoint") kubelet_stop && rm $legacy/kubelet_internal_checkpoint && kubelet_start ;;
	"rdmad starts") configure "prestart = true;" && rdmad_start --log-level debug ;;
	"rdmad starts by Register") configure 'prestart = true; registration = "legacy";' && rdmad_start --log-level debug ;;
	"rdmad starts without prestart") configure "" && rdmad_start --log-level debug ;;
	"rdmad stops") rdmad_stop ;;
	"rdmad is killed") rdmad_stop KILL ;;
	"sockets are removed") rm -f $registry/rdmad-* $legacy/rdmad-* ;;
	"pod "*" wants "*) make_pod "${words[1]}" "${words[3]}" "${words[5]-}" ;;
	"pod "*" is deleted") unpod "${words[1]}" ;;
	"container of "*" exits") kill_task "${words[2]}"; ((++restarts[${words[2]}])) ;;
	"device "*) change_device "${words[1]}" "${words[*]:2}" ;;
	*) return 1 ;;
	esac
}

# ---- what is then so ----

calls() {
	sed -En "s|.*$RESOURCE: kubelet calls ([A-Za-z]+)( for ([0-9]+) slots)?.*|\1:\3|; T; s/:$//; p" "$log" 2>/dev/null |
		tail -n "+$((seen + 1))"
}
sorted() { tr ' ' '\n' | sort | xargs; }
# Each line of expected calls has the next ones, in any order.
calls_are() {
	local -a came=($(calls))
	local expected n=0 first=0
	for expected in "${calls[@]}"; do
		n=$(wc -w <<<"$expected")
		[[ $(sorted <<<"${came[*]:first:n}") == $(sorted <<<"$expected") ]] || return 1
		first=$((first + n))
	done
	((first == ${#came[@]}))
}
# Whether a process is in the cgroup of a pod of that name.
populated() {
	local directory
	for directory in /var/log/pods/default_$1-${node}_*; do
		find /sys/fs/cgroup/kubepods* -path "*/pod${directory##*_}/cgroup.events" -exec cat {} +
	done 2>/dev/null | grep -qx 'populated 1'
}
named() { ask allocations --refresh --json | jq --arg p "$1-$node" '[.allocations[] | select(.pod == $p)] | length'; }
holds() {	# holds STATE
	local -a words=($1)
	case $1 in
	"allocatable "*) grep -qx "$1" /tmp/podresources ;;
	"rdmad names "*) [[ $(named "${words[2]}") == "${words[3]}" ]] ;;
	*" runs") ctl pods | grep -Eq "^default/${words[0]}-$node Running ready=1 restarts=${restarts[${words[0]}]} " ;;
	*" is refused") ctl pods | grep -Eq "^default/${words[0]}-$node Failed .*UnexpectedAdmissionError" &&
		pod_gone "${words[0]}" && ! grep -q "^${words[0]}-$node " /tmp/podresources ;;
	*" lists "*) grep -qx "${words[0]}-$node ${words[2]}" /tmp/podresources ;;
	*" has ended") ! populated "${words[0]}" ;;
	*" is unlisted") ! grep -q "^${words[0]}-$node " /tmp/podresources ;;
	*) return 1 ;;
	esac
}
all_hold() {
	local state
	echo "calls: $(calls | xargs)"
	(($(calls | wc -l) >= $(wc -w <<<"${calls[*]}"))) || return 1
	ask_podresources >/tmp/podresources
	for state in "${states[@]}"; do
		holds "$state" || { echo "not so: $state"; cat /tmp/podresources; ctl pods; return 1; }
	done
}
# A manifest that was refused would be admitted again by a kubelet that restarts.
settle() {
	[[ $step ]] || return 0
	within 600 "line $number: $step" all_hold || return 1
	calls_are || { bad "line $number: $step: calls are $(calls | xargs)"; return 1; }
	seen=$((seen + $(calls | wc -l)))
	for state in "${states[@]}"; do
		[[ $state != *" is refused" ]] || unpod "${state%% *}"
	done
}

mkdir -p $registry
kubelet_config
step= number=0 line_number=0
calls=() states=()
while IFS= read -r line <&3; do
	((++line_number))
	case $line in
	"" | "#"*) ;;
	$'\t'calls*) calls+=("${line#*calls }") ;;
	$'\t'*) states+=("${line#?}") ;;
	*)
		settle || return 0
		calls=() states=() step=$line number=$line_number
		perform "$step" 3<&- || bad "line $number: $step: not done"
		;;
	esac
done 3<"$tests/behaviour.trace"
settle || return 0
calls=()
check "no call came after the last step" calls_are
within 420 "all allocations have ended" is 0 n_allocations_now
