# Builds.  Sourced.

# configure DIR [MESON OPTIONS...]: configures DIR once, and again after packages were installed, because programs
# of the tests are left out without theirs; quiet unless it fails.
configure() {
	local dir=$1 log again=()
	shift
	if [[ -f $dir/build.ninja ]]; then
		[[ $dir/build.ninja -ot /var/lib/dpkg/status ]] || return 0
		again=(--reconfigure)
	fi
	log=$(mktemp)
	echo "Configuring and building $dir, which takes some minutes the first time"
	if ! meson setup "$dir" "${again[@]}" -Dwerror=true "$@" >"$log" 2>&1; then
		tail -n 30 "$log" >&2
		rm -f "$log"
		return 1
	fi
	rm -f "$log"
}

# make_targets DIR [TARGET...]: builds what changed; quiet unless it fails.
make_targets() {
	local dir=$1 log
	shift
	log=$(mktemp)
	if ! ninja -C "$dir" "$@" >"$log" 2>&1; then
		grep -v '^\[' "$log" | tail -n 60 >&2
		rm -f "$log"
		return 1
	fi
	rm -f "$log"
}

# build DIR [MESON OPTIONS...]: both, of all that there is.
build() {
	configure "$@" && make_targets "$1"
}

# build_asan: with the address and the undefined behaviour sanitizer.  A sanitizer's checks are the same at -O0, which
# takes half of the compiler's time of -O1; -g1 has the lines of its reports.
build_asan() {
	build build-asan -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=0 -Dc_args=-g1
}

# build_fuzz: the fuzz targets, and not the tests.
build_fuzz() {
	CC=clang configure build-fuzz -Dfuzz=true -Doptimization=1 && make_targets build-fuzz fuzz
}
