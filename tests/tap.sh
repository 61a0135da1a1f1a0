# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# What the test scripts share: functions that report results in the Test Anything Protocol. Test scripts source it.

tap_count=0
tap_asides=0
tap_dir=$(mktemp -d "${TMPDIR:-/tmp}/mapshmem-test.XXXXXX") || exit 99
tap_output=$tap_dir/output

# Open MPI 4 puts the folders of its jobs into one for the user, which the last mpirun removes while the next may be making
# it; that one then fails with "File exists". As long as there is something in it, nobody removes it.
tap_jobs=${TMPDIR:-/tmp}/ompi.$(uname -n).$(id -u)
tap_kept=$tap_jobs/kept-by-${tap_dir##*/}
(umask 077 && mkdir -p "$tap_kept/in-use")
tap_clean() { rm -rf "$tap_dir" "$tap_kept"; rmdir "$tap_jobs" 2>/dev/null; }
trap tap_clean EXIT

# skip_all REASON
skip_all() { echo "1..0 # SKIP $*"; exit 0; }

# once_is_enough: TEST_SCOPE=short, which scripts/check sets for the second pass, leaves out the rest of this script
once_is_enough() { [ "${TEST_SCOPE:-}" != short ] || skip_all "TEST_SCOPE=short"; }

ok() { tap_count=$((tap_count + 1)); echo "ok $tap_count - $*"; }

skip() { tap_count=$((tap_count + 1)); echo "ok $tap_count - $1 # SKIP ${*:2}"; }

# not_ok NAME [REASON]: with what the command wrote
not_ok() {
    tap_count=$((tap_count + 1))
    echo "not ok $tap_count - $1"
    [ $# -gt 1 ] && echo "# ${*:2}"
    # shellcheck disable=SC1003 # $a\ ends the last line, too
    [ -s "$tap_output" ] && head -n 60 "$tap_output" | sed -e 's/^/# /' -e '$a\'
}

# check NAME CONDITION...: the command after the name decides
check() {
    if "${@:2}"; then ok "$1"; else not_ok "$1" "failed: ${*:2}"; fi
}

# run SECONDS COMMAND...: sets status, and out: what the command wrote. 124 means that it had to be ended.
run() {
    timeout -k 10 "$@" >"$tap_output" 2>&1 </dev/null
    status=$?
    # shellcheck disable=SC2034
    out=$(cat "$tap_output")
}

# judge NAME: ok, skip or not ok by the status of the last run
judge() {
    case $status in
        0) ok "$1" ;;
        77) skip "$1" "$(grep -v '^oshrun:' "$tap_output" | tail -n 1)" ;;
        124 | 137) not_ok "$1" "did not end in time" ;;
        *) not_ok "$1" "ended with status $status" ;;
    esac
}

# aside COMMAND...: runs a case that mostly waits in a shell of its own beside those that follow; at most four at a time
aside() {
    tap_asides=$((tap_asides + 1))
    while [ "$(jobs -rp | wc -l)" -ge 4 ]; do wait -n; done
    in_own_shell "$@" >"$tap_dir/aside.$tap_asides" 2>&1 &
}
in_own_shell() { tap_count=0 tap_output=$tap_dir/aside.$tap_asides.output; "$@"; }

# gather: waits for all that went aside; their results in the order of the calls
gather() {
    local i line
    [ "$tap_asides" = 0 ] || wait
    for ((i = 1; i <= tap_asides; i++)); do
        while IFS= read -r line; do
            [[ ! $line =~ ^(not )?ok\ [0-9]+\  ]] ||
                tap_count=$((tap_count + 1)) line="${BASH_REMATCH[1]}ok $tap_count ${line#*ok * }"
            printf '%s\n' "$line"
        done <"$tap_dir/aside.$i"
        rm -f "$tap_dir/aside.$i" "$tap_dir/aside.$i.output"
    done
    tap_asides=0
}

# finish: the plan, after the last test
finish() { gather; echo "1..$tap_count"; }
