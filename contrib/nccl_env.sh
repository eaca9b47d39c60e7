# SPDX-License-Identifier: Apache-2.0
#
# NCCL's settings for this container:  source nccl_env.sh && mpirun ...
#
# In a container that rdmad manages they are read from /run/rdmad; where that has none, or where there is
# no daemon, rdmad-nccl-env reads the hardware itself.  Any POSIX shell, also under `set -u`: it leaves no variable
# or function behind, says what is wrong on stderr, and unsets the ports and GIDs that an earlier run has set.  Without
# settings its status is 1, which ends a shell under `set -e`.

rdmad_nccl_env_() {
	if [ -r "${RDMAD_DIR:-/run/rdmad}/nccl.env" ] &&
		! grep -q '^# Refused: ' "${RDMAD_DIR:-/run/rdmad}/nccl.env"; then
		. "${RDMAD_DIR:-/run/rdmad}/nccl.env"
	elif command -v rdmad-nccl-env >/dev/null 2>&1; then
		eval "$(rdmad-nccl-env --format sh || printf '\nreturn 1\n')"
	elif [ -r "${RDMAD_DIR:-/run/rdmad}/nccl.env" ]; then
		. "${RDMAD_DIR:-/run/rdmad}/nccl.env"
		return 1
	else
		unset NCCL_IB_HCA NCCL_IB_GID_INDEX NCCL_IB_ADDR_FAMILY NCCL_IB_ADDR_RANGE \
			NCCL_IB_ROCE_VERSION_NUM NCCL_IB_MERGE_NICS
		echo "nccl_env.sh: neither ${RDMAD_DIR:-/run/rdmad}/nccl.env nor rdmad-nccl-env is there" >&2
		return 1
	fi
}

if rdmad_nccl_env_; then
	unset -f rdmad_nccl_env_
else
	unset -f rdmad_nccl_env_
	# A status that `set -e` leaves to the caller, also in `. nccl_env.sh || true` of dash.
	! :
fi
