# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Running programs over virtual hosts (scripts/vhosts; needs root). Sourced after tests/tap.sh. Uses OSHRUN, VHOSTS and
# API_DIR, the directory of the test programs in the build tree.

: "${OSHRUN:?}" "${API_DIR:?}" "${VHOSTS:?}"
export VHOSTS_ID=test$$
VHOSTS_KEEP=$(cd "$API_DIR" && pwd):$(cd "$(dirname "$OSHRUN")" && pwd):$(cd "$(dirname "$VHOSTS")" && pwd)
export VHOSTS_KEEP

cleanup_hosts() {
    "$VHOSTS" down 2>/dev/null
    tap_clean
}
trap cleanup_hosts EXIT

# absolute NAME: a path of the program that is valid on other hosts and in other directories
absolute() { echo "$(cd "$(dirname "$1")" && pwd)/$(basename "$1")"; }

# launcher_kind: which kind of arguments oshrun's launcher takes; empty if vhosts does not know it
launcher_kind() {
    case $("$OSHRUN" --dry-run -n 1 /bin/true) in
        *--prtemca* | *prterun*) echo ompi5 ;;
        *mpirun*) mpirun --version 2>/dev/null | grep -q ' 4\.' && echo ompi4 || echo ompi5 ;;
    esac
}

# can_make_hosts: sets kind; if it fails, out is the reason
can_make_hosts() {
    kind=$(launcher_kind)
    out="not with this launcher"
    [ -n "$kind" ] || return
    # shellcheck disable=SC2034 # for the caller
    out="they need root, network namespaces, ip and nsenter"
    # shellcheck disable=SC2154 # of tap.sh
    [ "$(id -u)" = 0 ] && command -v ip unshare nsenter setpriv >/dev/null && "$VHOSTS" up 1 >"$tap_output" 2>&1 &&
        "$VHOSTS" down
}

# run_on_hosts PES PES_PER_HOST PROGRAM ARGUMENTS...: over the hosts that are up. They share the cores of one machine, and
# PEs that wait may keep others from running for many seconds there: that is no lost host.
run_on_hosts() {
    local pes=$1 per_host=$2 program args
    program=$(absolute "$3")
    read -r -a args <<<"$("$VHOSTS" mpirun-args "$kind" "$per_host")"
    SHMEM_PEER_TIMEOUT=${SHMEM_PEER_TIMEOUT:-100} run 240 "$VHOSTS" exec 0 "$(absolute "$OSHRUN")" -n "$pes" "$program" "${@:4}" -- "${args[@]}"
}
