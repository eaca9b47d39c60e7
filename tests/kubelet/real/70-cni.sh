# Module cni: a pod with two NICs by annotation, in a chain on the pods' main network, deleted; and over a reboot.
# The profile vke and contrib/cni/30-vke.conflist are used as they stand.
VKE=vke.volcengine.com/rdma
plugins=/usr/lib/cni
# With its capabilities, as contrib/systemd/cni.conf has it.
cni_start() {
	mkdir -p /etc/rdmad $plugins
	printf 'profile = "vke";\n' >/etc/rdmad/rdmad.conf
	cp "$RIG_SRC/build/modules/cni/shim/rdmad-cni" $plugins/
	(umask 077; exec setsid "$rdmad" --config /etc/rdmad/rdmad.conf --module=device-plugin --module=cni \
		--module-dir "$RIG_SRC/build/modules" --profile-dir "$RIG_SRC/etc/profiles" --log-level debug \
		>>"$OUT/rdmad-$scenario.log" 2>&1 </dev/null) &
	echo $! >/run/rdmad.pid
	wait_for 60 "$rdmad" status
}
# Containerd loads a network again when its file is renamed into place.
network() {
	cp "$RIG_SRC/contrib/cni/$1" /data/cni/.new
	mv /data/cni/.new /data/cni/05-rdma.conflist
}
# two_nics NAME A B: a pod whose addresses are these.
two_nics() {
	(mkdir -p /tmp/pods; manifests=/tmp/pods; pod "$1" net=pod $VKE=2)
	sed "s|annotations: {|&k8s.volcengine.com/pod-networks: '[{\"cniConf\": {\"name\": \"rdma\"}, \"deviceConf\": {\"ips\": [\"$2/24\"]}}, {\"cniConf\": {\"name\": \"rdma\"}, \"deviceConf\": {\"ips\": [\"$3/24\"]}}]', |" \
		/tmp/pods/$1.yaml >"$manifests/.$1"
	mv "$manifests/.$1" "$manifests/$1.yaml"
}
attachments() { ask status --json | jq '.modules[] | select(.name == "cni") | .status.attachments // .attachments'; }
links() { pod_exec "$1" ip -o link | sed -n 's/^[0-9]*: \([a-z0-9]*\).*/\1/p' | sort | xargs; }
addresses_of() { pod_exec "$1" ip -o -4 addr show | awk '$2 ~ /^eth[12]/ { print $2, $4 }' | sort | xargs; }
# Devices of the files in a pod, and those of its NICs.
devices_in() { for file in $(pod_exec "$1" ls /dev/infiniband | grep uverbs); do cat /sys/class/infiniband_verbs/$file/ibdev; done | sort | xargs; }
attached() { ask allocations --json | jq -r '[.allocations[].attachments[].device_name] | sort | join(" ")'; }
host_nics() { ip -o -4 addr show | awk '/ eth[0-3] / { print $2, $4 }' | sort | xargs; }

network 30-vke.conflist
if [[ -e /data/after-reboot ]]; then
	note "after the reboot: the database is of another boot, kubelet makes the pod's sandbox again"
	cni_start
	check "the host's NICs have what the boot gave them" is "$(cat /data/host-nics)" host_nics
	check "nothing of the boot before is attached" is 0 attachments
	kubelet_start
	within 400 "the pod runs again" pod_running b
	within 60 "with its two NICs" is "eth1 192.0.2.113/24 eth2 192.0.2.114/24" addresses_of b
	check "which are one attachment" is 1 attachments
	check "of its own devices" is "$(device_of b)" attached
	unpod b
	within 240 "they go with the pod" is 0 attachments
	check "the host's NICs are as they were" is "$(cat /data/host-nics)" host_nics
	rm /data/after-reboot
	ask events | tail -12
	return 0
fi
host_nics >/data/host-nics
cni_start
kubelet_config
kubelet_start
within 120 "kubelet has the four devices" is 4 allocatable $VKE
two_nics a 192.0.2.111 192.0.2.112
within 400 "a pod with two NICs by annotation runs" pod_running a
check "it has eth0 of ptp, eth1 and eth2 of ours" is "eth0 eth1 eth2 lo" links a
check "with the addresses of its annotation" is "eth1 192.0.2.111/24 eth2 192.0.2.112/24" addresses_of a
check "the NICs are those that kubelet allocated" is "$(device_of a)" attached
check "and whose files the pod has" is "$(device_of a)" devices_in a
check "GIDs of both addresses are there" says 'c000:026f' sh -c 'cat /sys/class/infiniband/rxe*/ports/1/gids/*'
ask allocations; ask allocations --json | jq -c '.allocations[] | .attachments' | sed 's/^/#   /'
two_nics a 192.0.2.115 192.0.2.116
within 400 "another one of the same name takes its place" is "eth1 192.0.2.115/24 eth2 192.0.2.116/24" addresses_of a
within 60 "and has one allocation" is 1 n_allocations_now
check "whose devices its NICs are" is "$(device_of a)" attached
check "and its files" is "$(device_of a)" devices_in a
unpod a
within 60 "the pod's container has ended" pod_gone a
within 240 "its attachments have gone" is 0 attachments
check "the host's NICs are as they were" is "$(cat /data/host-nics)" host_nics

two_nics b 192.0.2.113 192.0.2.114
within 400 "a pod that the reboot will meet runs" pod_running b
within 60 "it is attached" is 1 attachments
kubelet_stop KILL
rdmad_stop KILL
touch /data/after-reboot
sync
return 9
