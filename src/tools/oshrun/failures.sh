# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Part of oshrun: how a job failed, as far as the launcher's messages tell. They are kept apart from what the program
# writes: Open MPI sends its messages to the descriptor in OPAL_OUTPUT_STDERR_FD (PRRTE: PMIX_OUTPUT_STDERR_FD), which
# leaves the program's output untouched. PRRTE and srun write some to stderr as well: only there a filter takes them out
# of the stream. Hydra, the launcher of MPICH, reports failures itself.

# watch_launcher: make the launcher report on descriptor 3 which PE changed its state, because its own summary does not
# name a PE that failed before all had started. These settings must not reach the program, which may use MPI itself.
watch_launcher() {
    local -a extra=()
    if [ "$kind" = ompi4 ]; then
        export OPAL_OUTPUT_STDERR_FD=3
        extra=(--mca state_base_verbose 1 -x OPAL_OUTPUT_STDERR_FD=2 -x OMPI_MCA_state_base_verbose=0)
        [ $verbose = yes ] || extra+=(--mca rmaps_base_verbose 5 -x OMPI_MCA_rmaps_base_verbose=0)
    elif [ "$kind" != slurm ]; then
        export PMIX_OUTPUT_STDERR_FD=3
        extra=(--prtemca state_base_verbose 1)
    fi
    command=("${command[@]:0:options_end}" "${extra[@]}" "${command[@]:options_end}")
}

# What failed first, as far as the launcher has reported it: a PE, or a host. failed_status is empty if the launcher
# did not tell it.
failed_pe='' failed_how='' failed_node='' failed_status='' lost_node='' told=no
hung=no    # the launcher had to be ended
ended=()   # by PE: it has ended, and not because the launcher ended it
node_of=() # by PE
notes=()

# goes_on: whether the user's launcher options let the other PEs go on after a failure
goes_on() { given '*recover*' '*continuous*' '*abort*non*zero*' '-K0' '--kill-on-bad-exit=0'; }

# fail PE HOW: note the first failure; the launcher has to end the job now
fail() {
    [ -z "$failed_how" ] || return
    failed_pe=$1 failed_how=$2
    goes_on || kill -s ALRM $$
}

# oom_kills: how many processes the kernel of this machine has killed for want of memory, in control groups or altogether
oom_kills() {
    local name n
    while read -r name n; do [ "$name" != oom_kill ] || echo "$n"; done 2>/dev/null </proc/vmstat
}
oom_kills_before=$(oom_kills)

signal_text() {
    case $1 in
        9) [ "$(oom_kills)" = "$oom_kills_before" ] || { echo 'Killed: out of memory?'; return; } ;;
    esac
    case $1 in
        1) echo Hangup ;; 2) echo Interrupt ;; 3) echo Quit ;; 4) echo 'Illegal instruction' ;; 6) echo Aborted ;;
        7) echo 'Bus error' ;; 8) echo 'Floating point exception' ;; 9) echo Killed ;; 11) echo 'Segmentation fault' ;;
        13) echo 'Broken pipe' ;; 14) echo 'Alarm clock' ;; 15) echo Terminated ;; *) echo "SIG$(kill -l "$1")" ;;
    esac
}

# read_state LINE: a line that watch_launcher asked for
read_state() {
    local pe
    if [[ $1 =~ 'assigning rank '([0-9]+)' to node '(.*)$ ]]; then
        node_of[BASH_REMATCH[1]]=${BASH_REMATCH[2]}
    elif [[ $1 =~ 'ACTIVATE PROC ['[^\ ]*[,@]([1-9][0-9]*)\]?,([0-9]+)'] STATE '(.*)' AT ' ]]; then
        pe=${BASH_REMATCH[2]}
        [[ ${BASH_REMATCH[3]} == EXITED* || ( ${BASH_REMATCH[3]} == NORMALLY* && -z $failed_how ) ]] && ended[pe]=1
        case ${BASH_REMATCH[3]} in
            'ABORTED BY SIGNAL'*) fail "$pe" signal ;;
            'EXITED WITH NON-ZERO'*) fail "$pe" exit ;;
            'CALLED ABORT'*) fail "$pe" abort ;;
            'TERMINATED WITHOUT SYNC'*) fail "$pe" unfinished ;;
        esac
    elif [[ $1 == *[Ww]arning* || $1 == *ERROR* || $1 == *[Ee]rror* ]]; then
        [ ${#notes[@]} -lt 20 ] && notes+=("$1")
    fi
}

# read_box TEXT: a message that the launcher put between two lines of dashes
read_box() {
    local text=${1//[[:space:]]/ }
    local rank_box='process rank ([0-9]+) with PID [0-9]+ on +node ([^ ]+) (exited on|exiting improperly|calling)'
    if [[ $text == *'Primary job '*' terminated normally'* ]]; then
        return
    elif [[ $text =~ $rank_box ]]; then
        node_of[BASH_REMATCH[1]]=${BASH_REMATCH[2]}
        case ${BASH_REMATCH[3]} in
            exited*)
                fail "${BASH_REMATCH[1]}" signal
                [[ $failed_pe == "${BASH_REMATCH[1]}" && $text =~ 'exited on signal '([0-9]+) ]] &&
                    failed_status=$((128 + BASH_REMATCH[1])) ;;
            exiting*) fail "${BASH_REMATCH[1]}" unfinished ;;
            calling) fail "${BASH_REMATCH[1]}" abort ;;
        esac
    elif [[ $text =~ 'exited with non-zero status'.*'Process name: ['[^\ ]*,([0-9]+)\].*'Exit code: '\ *([0-9]+) ]]; then
        fail "${BASH_REMATCH[1]}" exit
        [ "$failed_pe" != "${BASH_REMATCH[1]}" ] || failed_status=${BASH_REMATCH[2]}
    elif [[ $text =~ 'lost communication with a remote daemon'.*'Remote daemon: '[^\ ]+' on node '([^ ]+) ]]; then
        lost_node=${lost_node:-${BASH_REMATCH[1]}}
        fail '' host
    elif [[ $text =~ 'unable to launch the specified application'.*'Executable: '([^ ]+).*'Node: '([^ ]+) ]]; then
        failed_node=${BASH_REMATCH[2]} failed_how=missing failed_pe=${BASH_REMATCH[1]}
    else
        [ $verbose = yes ] || printf '%s\n%s%s\n' "$dashes" "$1" "$dashes" >&2
        told=yes
    fi
}

# read_slurm LINE: a message of srun
read_slurm() {
    [[ $1 =~ ^'srun: error: '([^ :]+)': task '([0-9]+)': '(.*)$ ]] || return
    node_of[BASH_REMATCH[2]]=${BASH_REMATCH[1]}
    case ${BASH_REMATCH[3]} in
        'Exited with exit code'*) fail "${BASH_REMATCH[2]}" exit ;;
        *) fail "${BASH_REMATCH[2]}" signal ;;
    esac
}

# pes_of NODE: prints the PEs that run there, as far as the launcher has told
pes_of() {
    local pe pes=''
    for pe in "${!node_of[@]}"; do [ "${node_of[pe]}" != "$1" ] || pes+=", $pe"; done
    [ -z "$pes" ] || echo " (PE ${pes#, })"
}

# failure_text STATUS: the line about the PE that failed, as far as its name
failure_text() {
    local signal=$(($1 % 128))
    case $failed_how in
        signal) [ -n "$failed_status" ] && echo "was killed by signal $signal ($(signal_text $signal))" ||
            echo 'was killed by a signal' ;;
        abort) [ -n "$failed_status" ] && echo "ended the job with status $1" || echo 'ended the job' ;;
        unfinished) echo 'exited without shmem_finalize' ;;
        *) [ -n "$failed_status" ] && echo "exited with status $1" || echo 'exited with an error' ;;
    esac
}

# what_became_of_job: the rest of the line. PEs that have all ended by themselves were not ended by the launcher.
what_became_of_job() {
    [ $hung = no ] || { echo "; the job was ended, and ${launcher##*/}, which hung"; return; }
    [ "$failed_how" != abort ] || return
    [[ ${#ended[@]} -gt 0 && ${#ended[@]} -ge ${npes:-${#node_of[@]}} ]] || echo '; the job was ended'
}

# report_no_pe STATUS: the job failed, and the launcher has named no PE
report_no_pe() {
    local signal=$(($1 % 128))
    [ $told = no ] || return
    if [ "$1" -gt 128 ] && kill -l $signal >/dev/null 2>&1; then
        echo "$ME: ${launcher##*/} was killed by signal $signal ($(signal_text $signal)); the job was ended" >&2
    else
        printf '%s\n' "${notes[@]}" "$ME: ${launcher##*/} failed with status $1" >&2
    fi
}

# report STATUS: print the one line about a job that has ended; the result is the exit status of oshrun.
report() {
    local status=$1 who="PE $failed_pe" node=$failed_node
    [ "$status" -ne 0 ] || return 0
    if [ -n "$lost_node" ]; then # the PEs that have failed before missed those of that node
        echo "$ME: lost the connection to $lost_node$(pes_of "$lost_node"); the job was ended" >&2
        return 1
    fi
    case $failed_how in
        '') report_no_pe "$status"; return "$status" ;;
        missing) echo "$ME: $node has no program '$failed_pe'; the job was ended" >&2; return 127 ;;
    esac
    [ $hung = yes ] || failed_status=${failed_status:-$status}
    status=${failed_status:-$([ "$failed_how" = signal ] && echo 137 || echo 1)}
    node=${node_of[failed_pe]:-}
    [ -z "$node" ] && local_job && node=$(hostname)
    [ -n "$node" ] && who+=" on $node"
    echo "$ME: $who $(failure_text "$status")$(what_became_of_job)" >&2
    return "$status"
}

# watch: read the launcher's messages from stdin up to the line "oshrun-exit STATUS SIGNAL", the last, which this script
# writes; the result is the exit status of oshrun.
watch() {
    local line box='' dashes='' status signal
    trap '' INT TERM HUP QUIT USR1 USR2
    while IFS= read -r line; do
        [[ $verbose == no || $line == oshrun-* || $line == *'] ACTIVATE '* ]] || printf '%s\n' "$line" >&2
        if [[ $line == oshrun-exit* ]]; then
            read -r _ status signal <<<"$line"
            if [ -n "$signal" ]; then
                [ $hung = no ] || echo "$ME: ${launcher##*/} hung and was ended" >&2
                return "$status"
            fi
            report "$status"
            return
        elif [ "$line" = oshrun-hung ]; then
            hung=yes
        elif [[ $line =~ ^-{60,}$ ]]; then
            if [ -n "$dashes" ]; then read_box "$box"; box='' dashes=''; else dashes=$line; fi
        elif [ -n "$dashes" ]; then
            box+=$line$'\n'
        elif [[ $line == srun:* ]]; then
            read_slurm "$line"
        else
            read_state "$line"
        fi
    done
}

# divert: pass the program's stderr on as it comes, and move the launcher's messages in it to descriptor 3. Only a line
# of dashes is held back, until the next line shows whose it is. Ends at a mark that this script writes.
divert() {
    local LC_ALL=C char rest line end rc held='' box=no fresh=yes mark=$'\001oshrun-end'
    local ours='^(prterun|mpirun|mpiexec|orterun) (noticed|detected|has exited|was unable)'
    local slurm='^(srun: error: .* task|srun: (Job step aborted|Terminating|launch/slurm)|slurmstepd: error: \*\*\*)'
    trap '' INT TERM HUP QUIT USR1 USR2
    while :; do
        IFS= read -r -n 1 ${held:+-t 0.2} char
        rc=$? rest='' end=$'\n'
        [ $rc -ne 0 ] || [ -z "$char" ] || IFS= read -r -t 0.05 rest || end=''
        line=$char$rest
        if [ -n "$held" ]; then
            [[ $rc == 0 && $line =~ $ours ]] && box=yes
            if [ $box = yes ]; then printf '%s\n' "$held" >&3; else printf '%s\n' "$held" >&2; fi
            held=''
        fi
        [ $rc -gt 128 ] && continue # no second line came: the dashes are the program's
        if [ $rc -ne 0 ] || [[ $end && $line == *"$mark" ]]; then
            printf '%s' "${line%"$mark"}" >&2
            return
        elif [ $box = yes ]; then
            printf '%s\n' "$line" >&3
            [[ $line =~ ^-{60,}$ ]] && box=no
        elif [[ $fresh == yes && $end && $line =~ ^-{60,}$ ]]; then
            held=$line
        elif [[ $fresh == yes && $end && $line =~ $slurm ]]; then
            printf '%s\n' "$line" >&3
        else
            printf '%s%s' "$line" "$end" >&2
        fi
        if [ -n "$end" ]; then fresh=yes; else fresh=no; fi
    done
}

