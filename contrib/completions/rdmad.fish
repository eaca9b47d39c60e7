# SPDX-License-Identifier: Apache-2.0
# Completion of rdmad for fish.

function __rdmad_devices
	rdmad devices --no-headers 2>/dev/null | awk '{ sub("/.*", "", $1); print $1 }'
end

function __rdmad_pods
	rdmad allocations --no-headers 2>/dev/null | awk '{ for (i = 2; i <= NF; i++) if ($i ~ /\//) print $i }'
end

complete -c rdmad -f
complete -c rdmad -n __fish_use_subcommand -a 'status devices explain allocations attachments topology events smc doctor attributes commands nccl-env import-config version help'
complete -c rdmad -n '__fish_seen_subcommand_from devices explain' -a '(__rdmad_devices)'
complete -c rdmad -s o -l output -x -a 'table wide json yaml'
complete -c rdmad -s j -l json
complete -c rdmad -l no-headers
complete -c rdmad -s v -l verbose
complete -c rdmad -s w -l watch
complete -c rdmad -s s -l socket -r -F
complete -c rdmad -n '__fish_seen_subcommand_from allocations' -s r -l refresh
complete -c rdmad -n '__fish_seen_subcommand_from doctor' -s b -l bundle -r -F
complete -c rdmad -n '__fish_seen_subcommand_from import-config' -F
complete -c rdmad -n '__fish_seen_subcommand_from import-config' -s k -l key -x
complete -c rdmad -n '__fish_seen_subcommand_from import-config' -s p -l resource-prefix -x
complete -c rdmad -n '__fish_seen_subcommand_from events' -s f -l follow
complete -c rdmad -n '__fish_seen_subcommand_from events' -s n -l lines -x
complete -c rdmad -n '__fish_seen_subcommand_from events' -l since -x
complete -c rdmad -n '__fish_seen_subcommand_from events' -l device -x -a '(__rdmad_devices)'
complete -c rdmad -n '__fish_seen_subcommand_from events attachments' -l pod -x -a '(__rdmad_pods)'
