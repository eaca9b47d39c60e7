# SPDX-License-Identifier: Apache-2.0
# Completion of rdmad for bash.

_rdmad_pods()
{
	"$1" allocations --no-headers 2>/dev/null | awk '{ for (i = 2; i <= NF; i++) if ($i ~ /\//) print $i }' | sort -u
}

# Names of the running daemon's devices; nothing where none runs.
_rdmad_devices()
{
	"$1" devices --no-headers 2>/dev/null | awk '{ sub("/.*", "", $1); print $1 }' | sort -u
}

_rdmad()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local commands="status devices explain allocations attachments topology events smc nccl-env doctor attributes commands import-config version help"
	local command=${COMP_WORDS[1]} words common="--output --json --no-headers --verbose --watch --socket --help"

	case $prev in
	-s | --socket | -b | --bundle | -c | --config | --sysroot | --module-dir | --profile-dir | --run-dir | --state-dir | --kubelet-dir)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	-o | --output)
		mapfile -t COMPREPLY < <(compgen -W "table wide json yaml" -- "$cur")
		return
		;;
	-m | --module)
		mapfile -t COMPREPLY < <(compgen -W "device-plugin cni erdma kube metrics nccl" -- "$cur")
		return
		;;
	--device)
		mapfile -t COMPREPLY < <(compgen -W "$(_rdmad_devices "${COMP_WORDS[0]}")" -- "$cur")
		return
		;;
	--pod)
		mapfile -t COMPREPLY < <(compgen -W "$(_rdmad_pods "${COMP_WORDS[0]}")" -- "$cur")
		return
		;;
	--log-level)
		mapfile -t COMPREPLY < <(compgen -W "error warning notice info debug" -- "$cur")
		return
		;;
	--log-format)
		mapfile -t COMPREPLY < <(compgen -W "auto text json journal" -- "$cur")
		return
		;;
	esac
	case $COMP_CWORD:$command in
	1:*)
		words="$commands --config"
		words+=" --module --module-dir --profile-dir --sysroot --run-dir --state-dir --kubelet-dir --check"
		words+=" --print-config --privileges --log-level --log-format --lock-wait --take-over --instance
			--any-instance --version --help"
		;;
	*:devices | *:explain)
		words="$common"
		[[ $cur == -* ]] || words=$(_rdmad_devices "${COMP_WORDS[0]}")
		;;
	*:status) words="$common --instance" ;;
	*:allocations) words="$common --refresh" ;;
	*:attachments) words="$common --pod" ;;
	*:events) words="$common --follow --lines --since --device --pod" ;;
	*:import-config)
		if [[ $cur != -* ]]; then
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			return
		fi
		words="--key --resource-prefix --help"
		;;
	*:attributes) words="$common set unset" ;;
	*:doctor) words="$common --bundle --sysroot" ;;
	*:help) words="$commands" ;;
	*:version) words="" ;;
	*:-*) words="--config --module --module-dir --profile-dir --sysroot --run-dir --state-dir --kubelet-dir
		--check --print-config --privileges --log-level --log-format --lock-wait --take-over --instance --any-instance" ;;
	*) words="$common" ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _rdmad rdmad
