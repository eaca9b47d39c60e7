# What scenarios ask of rdmad's API and of pods, beside the rig's own; `run` puts it behind guest/lib.sh.
allocation_of() { ask allocations --json | jq -r --arg p "$1-$node" '[.allocations[] | select(.pod == $p)][0].id // empty'; }
device_of() { ask allocations --json | jq -r --arg p "$1-$node" '[.allocations[] | select(.pod == $p) | .device_names[]] | join(" ")'; }
n_allocations_now() { ask allocations --json | jq '.allocations | length'; }
# A look takes seconds of the CPU time that pods wait for.
eval "$(declare -f within | sed 's/sleep 0.7/sleep 5/')"
