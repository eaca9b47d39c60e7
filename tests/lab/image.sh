# SPDX-License-Identifier: Apache-2.0
# The system that tests/lab/run boots: a kernel from Debian's archive, and an initramfs that finds the root.
# Sets lab_kernel (version) and lab_initramfs (file).

# crc32 first: without it `rdma link add` fails with ENOENT.  Modules that a kernel does not have are left out.
lab_modules="crc32_generic crc32_pclmul virtio_pci virtio_net virtio_console 9pnet_virtio 9p overlay
	ib_uverbs rdma_ucm rdma_rxe siw smc smc_diag macvlan ipvlan dummy veth bridge 8021q igb igbvf
	netdevsim"

# lab_forget_old PATTERN: of the cache, which other trees may use at the same time.
lab_forget_old() {
	find "$cache" -maxdepth 1 -name "$1" -mtime +7 -exec rm -rf {} +
}

lab_check_tools() {
	local tool
	for tool in "${QEMU:-qemu-system-x86_64}" busybox cpio depmod modprobe xz; do
		command -v "$tool" >/dev/null ||
			skip "$tool is missing: apt-get install qemu-system-x86 busybox-static cpio kmod xz-utils"
	done
}

# The newest kernel for real machines that the archive has; debug, cloud and real-time ones are not.
lab_newest_kernel() {
	apt-cache search --names-only '^linux-image-[6-9]\.[0-9.]+[^ ]*-amd64$' |
		awk '$1 !~ /cloud|rt-amd64|dbg|unsigned/ { print $1 }' | sort -V | tail -1
}

lab_fetch_kernel() {
	if [[ ! -d $cache/kernel ]]; then
		local package
		package=$(lab_newest_kernel)
		[[ -n $package ]] || skip "no linux-image 6.x for amd64 in apt's lists: run apt-get update"
		echo "# fetching $package"
		rm -rf "$cache"/kernel.new
		(cd "$cache" && apt-get -qq -o APT::Sandbox::User=root download "$package" >&2 &&
			dpkg -x "$package"_*.deb kernel.new && rm -f "$package"_*.deb) ||
			skip "cannot download $package"
		depmod -b "$cache/kernel.new" "$(ls "$cache/kernel.new/lib/modules")"
		mv "$cache/kernel.new" "$cache/kernel"
	fi
	lab_kernel=$(ls "$cache/kernel/lib/modules")
}

lab_unpack_module() {
	case $1 in
	*.xz) xz -dc "$1" ;;
	*.zst) zstd -dcq "$1" ;;
	*) cat "$1" ;;
	esac
}

lab_add_modules() {
	local tree=$1 module file name
	for module in $lab_modules; do
		modprobe -S "$lab_kernel" -d "$cache/kernel" --show-depends "$module" 2>/dev/null |
			awk '/^insmod/ { print $2 }' || true
	done | awk '!seen[$0]++' | while read -r file; do
		name=$(basename "$file")
		name=${name%%.*}.ko
		lab_unpack_module "$file" >"$tree/modules/$name"
		echo "$name" >>"$tree/modules/order"
	done
}

lab_make_initramfs() {
	local sum tree
	sum=$(cat "$here/init" "$here/image.sh" | md5sum | cut -c1-12)
	lab_initramfs=$cache/initramfs-$lab_kernel-$sum.gz
	[[ ! -f $lab_initramfs ]] || return 0
	lab_forget_old 'initramfs-*'
	tree=$(mktemp -d)
	mkdir -p "$tree"/{bin,proc,sys,dev,modules,lower,upper,new}
	cp "$(command -v busybox)" "$tree/bin/busybox"
	cp "$here/init" "$tree/init"
	lab_add_modules "$tree"
	(cd "$tree" && find . | cpio -o -H newc --quiet | gzip -1) >"$lab_initramfs.new"
	mv "$lab_initramfs.new" "$lab_initramfs"
	rm -rf "$tree"
}
