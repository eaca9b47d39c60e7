# Debian packages that rdmad needs, by purpose.  Sourced.

packages_build='gcc libc6-dev meson ninja-build pkg-config protobuf-c-compiler
	libglib2.0-dev libevent-dev libconfig-dev libprotobuf-c-dev libnghttp2-dev libcurl4-openssl-dev
	libibverbs-dev librdmacm-dev libnl-3-dev libnl-route-3-dev
	libseccomp-dev libsqlite3-dev libjansson-dev libssl-dev libyaml-dev zlib1g-dev'

# The fake kubelet; the importer.
packages_demo='python3 python3-grpcio python3-protobuf python3-yaml protobuf-compiler iproute2'

# The lab: --lab and the tests.
packages_lab='qemu-system-x86 busybox-static cpio kmod xz-utils'

packages_test='git clang clang-format libclang-rt-14-dev binutils crun podman perftest rdma-core
	ibverbs-utils ibverbs-providers sqlite3 curl openssl apache2-utils man-db prometheus
	prometheus-node-exporter python3-prometheus-client python3-jsonschema zsh fish libfuse3-dev chromium
	chromium-driver fonts-liberation python3-selenium python3-pil ethtool strace containernetworking-plugins
	ucx-utils rdmacm-utils dash containerd runc systemd libseccomp2 dpkg-dev'

# Our own packages, and the root that they are installed in.
packages_soak='build-essential debhelper debootstrap libcrypt-dev'

packages_bench='g++ libgrpc++-dev'

package_missing() {
	[[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) != installed ]]
}

# install_packages PURPOSE...: what is missing, and nothing else; silent when nothing is.
install_packages() {
	local purpose package list missing=()

	for purpose; do
		list=packages_$purpose
		for package in ${!list}; do
			package_missing "$package" && missing+=("$package")
		done
	done
	((${#missing[@]})) || return 0
	if ((EUID != 0)); then
		echo "quickstart: needs root to install: ${missing[*]}" >&2
		return 1
	fi
	echo "Installing ${#missing[@]} Debian packages, which takes a minute or two: ${missing[*]}"
	apt_quiet update && apt_quiet install -y --no-install-recommends "${missing[@]}"
}

apt_quiet() {
	local log
	log=$(mktemp)
	if ! DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" >"$log" 2>&1 </dev/null; then
		tail -n 20 "$log" >&2
		rm -f "$log"
		return 1
	fi
	rm -f "$log"
}
