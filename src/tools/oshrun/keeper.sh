# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Part of oshrun: ends a launcher that hangs, and what a launcher that was killed has left. mpirun can lock itself up when
# a PE fails while it starts, and then reacts to no signal but SIGKILL; its own children and folders stay behind.
#
# That is the work of a process of its own, the keeper, which also sees when oshrun itself has been killed: it reads
# orders from descriptor 5, whose other end only oshrun has.

# keeping_times: sets how many seconds a launcher has until SIGTERM, and then until SIGKILL. Daemons of Open MPI end
# their PEs within two seconds, and those on other hosts at once (see no_delay) if the user does not want it otherwise;
# they take another two when mpirun is gone; it does nothing at a SIGTERM while it ends a job. Slurm waits longer before
# it kills, and its daemons need srun for that.
keeping_times() {
    local pause
    time_to_end=$((3 + ${npes:-0} / 100)) time_to_die=0
    pause=$(users_sigkill_timeout)
    [[ ! $pause =~ ^[1-9][0-9]{0,3}$ ]] || time_to_end=$((time_to_end + 4 * pause))
    case $kind in
        hydra) time_to_die=1 ;;
        slurm) time_to_end=5 time_to_die=40 ;;
    esac
}

# order WORD: tell the keeper that the launcher has to end now, or has ended: with the job done, or failed
order() { [ -z "$keeper" ] || echo "$1" >&5; }

# members: prints the processes of the launcher's session. The launcher has one of its own (see guard).
members() {
    local file line
    local -a fields
    for file in /proc/[0-9]*/stat; do
        { read -r line <"$file"; } 2>/dev/null || continue
        read -r -a fields <<<"${line##*) }" # behind the name: state, parent, group, session
        [ "${fields[3]:-}" = "$1" ] && [ "${fields[0]}" != Z ] && echo "${line%% *}"
    done
}

# within SECONDS COMMAND...: whether the command succeeds in this time
within() {
    local tries=$(($1 * 10))
    until "${@:2}"; do
        [ $((tries -= 1)) -gt 0 ] || return 1
        sleep 0.1
    done
}
has_ended() { ! kill -0 "$1" 2>/dev/null; }
has_no_members() { [ -z "$(members "$1")" ]; }

# end_launcher PID: says so on descriptor 3 if the launcher has to be ended
end_launcher() {
    within $time_to_end has_ended "$1" && return
    echo oshrun-hung >&3
    if [ $time_to_die -gt 0 ]; then
        kill -s TERM "$1" 2>/dev/null
        within $time_to_die has_ended "$1" && return
    fi
    kill -s KILL "$1" 2>/dev/null
}

# sweep PID: what a launcher has left behind; processes end by themselves when they notice that it is gone. The folders
# are those of Open MPI 4, which also names some by a number that stands in contact.txt, and of PRRTE.
sweep() {
    local folder number uid pid
    within 1 has_no_members "$1" || for pid in $(members "$1"); do kill -s KILL "$pid" 2>/dev/null; done
    uid=$(id -u)
    for folder in "${TMPDIR:-/tmp}"/ompi.*."$uid"/pid."$1" "${TMPDIR:-/tmp}"/prte*."$1"."$uid"; do
        [ -O "$folder" ] || continue
        read -r -d . number 2>/dev/null <"$folder/contact.txt" && [[ $number =~ ^[1-9][0-9]{0,9}$ ]] &&
            rm -rf "${folder%/*}/jf.$((number >> 16))"
        rm -rf "$folder"
    done
}

# keep: the keeper. The first line it reads is the launcher's pid; the end of file means that oshrun was killed.
keep() {
    local launcher word=''
    trap '' INT TERM HUP QUIT USR1 USR2 ALRM
    read -r launcher || return
    read -r word
    if [[ $word != job-* ]]; then
        end_launcher "$launcher"
        [ -z "$word" ] || until [[ $word == job-* ]] || ! read -r word; do :; done
    fi
    [ "$word" = job-done ] || sweep "$launcher"
}

