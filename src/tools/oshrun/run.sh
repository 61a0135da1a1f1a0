# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Part of oshrun: runs the command, passes signals on to it, and ends with the status of the job.

job='' reader='' keeper='' signaled=no interrupted='' timed_out=no

# shellcheck disable=SC2317 # called by trap
on_signal() {
    signaled=yes
    [[ $1 == USR? ]] || interrupted=$1
    # without a launcher the program has had the terminal's SIGINT already
    [[ $1 == INT && $kind == none ]] && in_foreground && return
    # srun ends a job at the second SIGINT only
    if [[ $kind == slurm && $1 == INT ]]; then kill -s TERM "$job"; else kill -s "$1" "$job"; fi 2>/dev/null
    [ -z "$interrupted" ] || order end
}

# shellcheck disable=SC2317 # called by trap; watch sends this signal when a PE has failed
on_failure() {
    signaled=yes
    order end
}

# shellcheck disable=SC2317 # called by trap; the timer sends this signal
on_timeout() {
    signaled=yes
    if [ $timed_out = yes ]; then kill -s KILL "$job"; else kill -s TERM "$job"; fi 2>/dev/null
    timed_out=yes
    order end
}

# start_timer: of --timeout. It ends with descriptor 6, which only this script has. A program without a launcher may ignore
# the first signal.
start_timer() {
    [ -z "$time_limit" ] || exec 6> >(
        exec 3>&- 4>&- 5>&-
        trap '' INT TERM HUP QUIT USR1 USR2 ALRM
        read -r -t "$time_limit"
        [ $? -gt 128 ] || exit
        kill -s XCPU $$
        [ "$kind" = none ] || exit
        read -r -t 3
        [ $? -le 128 ] || kill -s XCPU $$
    )
}

# in_foreground: whether stdin is the terminal and this is its foreground job
in_foreground() {
    local group foreground
    [ -t 0 ] && read -r _ _ _ _ group _ _ foreground _ </proc/$$/stat && [ "$group" = "$foreground" ]
}

# job_is_lost: whether bash (5.2 at least) has forgotten that the job has ended: it does when a trapped signal comes at
# that moment. Then wait would never return.
job_is_lost() {
    ! kill -0 "$job" && [[ $'\n'$(jobs -rp)$'\n' == *$'\n'"$job"$'\n'* ]]
}

# wait_for_job: sets status; 1 where a signal has hidden it. A signal that is trapped interrupts wait, which is then
# repeated. Afterwards nothing interrupts the waiting for helpers of this script but the user's signals.
wait_for_job() {
    until signaled=no; wait "$job"; status=$?; [ $signaled = no ]; do
        if job_is_lost; then status=1; break; fi
    done 2>/dev/null # where bash says how the job ended
    trap '' ALRM XCPU
}

# guard: sets guards, the words in front of the command. The command must not ignore SIGINT, as background jobs of a
# script do. A launcher must die with this script and get each signal once (at the second one Open MPI gives up without
# cleaning up): it gets a session of its own, which the terminal's signals do not reach, and typed input by a pipe.
guard() {
    guards=(env --default-signal=INT --default-signal=QUIT)
    "${guards[@]}" true 2>/dev/null || guards=()
    [ "$kind" != none ] || return
    setpriv --help 2>/dev/null | grep -q pdeathsig && guards=(setpriv --pdeathsig TERM -- "${guards[@]}")
    guards=(setsid "${guards[@]}")
    if in_foreground; then
        exec < <(exec cat <&0)
        reader=$!
    elif [ -t 0 ]; then
        exec </dev/null
    fi
}

# start: run the command as process $job. A background job of a script reads nothing unless its stdin is given.
start() {
    "${guards[@]}" "${command[@]}" <&0 5>&- &
    job=$!
    order "$job"
    start_timer
}

# start_keeper: after the other helpers of this script, which so do not hold descriptor 5
start_keeper() {
    keeping_times
    exec 5> >(keep)
    keeper=$!
}

# end_keeper: let it clean up after the launcher
end_keeper() {
    local pid=$keeper word="job-failed"
    [ "$status" -ne 0 ] || word="job-done"
    order $word
    keeper=''
    exec 5>&-
    wait "$pid"
}

# run_direct: one PE without a launcher
run_direct() {
    start
    wait_for_job
    failed_pe=0 failed_how=exit
    [ "$status" -gt 128 ] && kill -l "$status" >/dev/null 2>&1 && failed_how=signal
    [ -n "$interrupted" ] || [ $timed_out = yes ] || report "$status"
}

# run_watched: print one line in place of the launcher's messages
run_watched() {
    local watcher diverter=
    watch_launcher
    exec 3> >(watch)
    watcher=$!
    exec 4>&2
    # srun says everything there; with --verbose, watch shows it again
    [ "$kind" = ompi4 ] || { [ $verbose = yes ] && [ "$kind" != slurm ]; } || { exec 4> >(divert); diverter=$!; }
    start_keeper
    start 2>&4 4>&-
    wait_for_job
    end_keeper
    if [ -n "$diverter" ]; then
        printf '\001oshrun-end\n' >&4
        exec 4>&-
        wait "$diverter"
    fi
    [ $timed_out = no ] || interrupted=XCPU # nobody has failed
    echo "oshrun-exit $status $interrupted" >&3
    [ $timed_out = no ] || interrupted=''
    exec 3>&-
    wait "$watcher"
    status=$?
}

run() {
    local sig status
    for sig in INT TERM HUP USR1 USR2; do
        # shellcheck disable=SC2064
        trap "on_signal $sig" $sig
    done
    trap on_failure ALRM
    trap on_timeout XCPU
    guard
    [ $verbose = no ] || print_command >&2
    if [ "$kind" = none ]; then
        run_direct
    elif [ "$kind" = hydra ]; then
        start_keeper 3>/dev/null
        start
        wait_for_job
        end_keeper
    else
        run_watched
    fi
    [ -n "$reader" ] && kill "$reader" 2>/dev/null
    [ $timed_out = no ] || { say "the job was ended after $time_limit s (--timeout)"; status=124; }
    [ -n "$interrupted" ] && status=$((128 + $(kill -l "$interrupted")))
    exit "$status"
}

parse_options "$@"
split_program
read_map_by
check_options
read_hostfile
count_hosts
find_program
find_launcher
forward_environment
build_command
if [ $dry_run = yes ]; then print_command; else run; fi
