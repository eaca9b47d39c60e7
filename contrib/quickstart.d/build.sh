# Builds.  Sourced.

# build DIR [MESON OPTIONS...]: configures DIR once, then builds what changed; quiet unless it fails.
build() {
	local dir=$1 log
	shift
	log=$(mktemp)
	if [[ ! -f $dir/build.ninja ]]; then
		echo "Configuring $dir"
		if ! meson setup "$dir" -Dwerror=true "$@" >"$log" 2>&1; then
			tail -n 30 "$log" >&2
			rm -f "$log"
			return 1
		fi
	fi
	if ! ninja -C "$dir" >"$log" 2>&1; then
		grep -v '^\[' "$log" | tail -n 60 >&2
		rm -f "$log"
		return 1
	fi
	rm -f "$log"
}
