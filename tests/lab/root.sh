# SPDX-License-Identifier: Apache-2.0
# The root of tests that boot systemd: Debian as debootstrap makes it, with what our packages need, and the packages
# of the commit that is checked out.  Sets lab_root and lab_debs (directories).

lab_check_root_tools() {
	local tool
	((EUID == 0)) || skip "only root can make a root directory of Debian"
	for tool in debootstrap dpkg-buildpackage dh; do
		command -v "$tool" >/dev/null || skip "$tool is missing: apt-get install debootstrap dpkg-dev debhelper"
	done
}

# Once for each commit.
lab_make_debs() {
	lab_debs=${LAB_DEBS:-$cache/debs-$(git -C "$here" rev-parse HEAD)}
	[[ ! -d $lab_debs ]] || return 0
	echo "# building the packages"
	lab_forget_old 'debs-*'
	rm -rf "$lab_debs.new"
	"$here/../../contrib/debian/build" "$lab_debs.new" >"$cache/debs.log" 2>&1 || {
		echo "not ok - contrib/debian/build: $(tail -1 "$cache/debs.log")"
		exit 1
	}
	mv "$lab_debs.new" "$lab_debs"
}

lab_needed_packages() {
	local deb
	for deb in "$lab_debs"/rdmad_*.deb "$lab_debs"/rdmad-cni_*.deb; do
		dpkg-deb -f "$deb" Depends
	done | tr , '\n' | sed 's/^ *//; s/[ (|:].*//' | grep -vx rdmad | sort -u | paste -sd,
}

lab_make_root() {
	local codename mirror packages
	lab_check_root_tools
	lab_make_debs
	codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
	packages=systemd-sysv,kmod,iproute2,$(lab_needed_packages)
	lab_root=$cache/root-$(md5sum <<<"$codename $packages" | cut -c1-12)
	[[ ! -d $lab_root ]] || return 0
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Component: main' \
		"Codename: $codename" | head -1)
	[[ $mirror ]] || skip "apt has no lists of $codename: run apt-get update"
	echo "# making a root of Debian $codename"
	lab_forget_old 'root-*'
	rm -rf "$lab_root.new"
	debootstrap --variant=minbase --include="$packages" "$codename" "$lab_root.new" "$mirror" \
		>"$cache/root.log" 2>&1 || skip "debootstrap failed: $(tail -1 "$cache/root.log")"
	mv "$lab_root.new" "$lab_root"
}
