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
    elif [ "$kind" = slurm ]; then
        export MAPSHMEM_TELL_END=1
    else
        export PMIX_OUTPUT_STDERR_FD=3
        extra=(--prtemca state_base_verbose 1)
    fi
    command=("${command[@]:0:options_end}" "${extra[@]}" "${command[@]:options_end}")
}

# What failed first, as far as the launcher has reported it: a PE, or a host. failed_status is empty if the launcher
# did not tell it.
failed_pe='' failed_how='' failed_node='' failed_status='' lost_node='' told=no
hung=no    # the launcher had to be ended
ending=no  # srun has begun to end the job
left_pe='' # that has left PMIx without a word, as Slurm's server says
ended=()   # by PE: it has ended, and not because the launcher ended it
node_of=() # by PE
notes=()
# what UCX writes before it aborts its process
ucx_assertion='^([0-9]+: )?\[[^] ]+:[0-9]+ *:[^]]*\] +[a-z0-9_]+\.[a-z]+:[0-9]+ +(Assertion|Fatal:)'

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
    elif [[ $text == *'You were supposed to get help about: '*'prun:'* ]]; then
        return # a PRRTE that does not find its own texts; what they say is in the lines that watch_launcher has asked for
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
        [ $verbose$quiet != nono ] || printf '%s\n%s%s\n' "$dashes" "$1" "$dashes" >&2
        told=yes
    fi
}

# signal_of TEXT: prints the number of the signal that srun describes so
signal_of() {
    local n text=${1%% (core dumped)}
    [[ $text != 'Out Of Memory'* ]] || text=Killed
    for n in {1..15}; do [[ $(signal_text "$n") != "$text"* ]] || { echo "$n"; return; }; done
}

# may_be_aftermath: the PE that failed first, as far as told, has aborted in UCX. It may only have answered, over a connection
# that it had not finished, a PE that failed before (uct_tcp_ep_connect asserts then), of which the other node tells later.
may_be_aftermath() { [[ $failed_how == signal && $failed_status == 134 && ${#notes[@]} -gt 0 ]]; }

# read_slurm LINE: a message of srun. It tells of each PE that ends with an error; after it has begun to end the job, those
# that are killed are its own doing. A PE that calls shmem_global_exit is in none of its messages: that PE's own line is
# read by divert, which the library writes where MAPSHMEM_TELL_END is set.
read_slurm() {
    local how node pe task='^srun: error: ([^ :]+): tasks? ([0-9]+)[-,0-9]*: (.*)$'
    [[ $1 =~ 'Job step aborted'|'STEP '.*' CANCELLED'|': Terminating ' ]] && ending=yes
    [[ $1 =~ 'Error handler invoked: '.*':'([0-9]+)']' ]] && left_pe=${left_pe:-${BASH_REMATCH[1]}}
    [[ $1 =~ $task ]] || return
    node=${BASH_REMATCH[1]} pe=${BASH_REMATCH[2]} how=${BASH_REMATCH[3]}
    [[ $node == *[[,]* ]] || node_of[pe]=$node
    [ -z "$failed_how" ] || may_be_aftermath || return
    if [[ $how =~ ^'Exited with exit code '([0-9]+) ]]; then
        failed_how='' failed_status=${BASH_REMATCH[1]}
        fail "$pe" exit
    elif [[ ( $ending == no && -z $failed_how ) || ! $how =~ ^(Killed|Terminated${failed_how:+|Aborted}) ]]; then
        failed_how='' failed_status=$(signal_of "$how")
        [ -z "$failed_status" ] || failed_status=$((128 + failed_status))
        fail "$pe" signal
    fi
}

# read_abort PE STATUS NODE: the line of a PE that has ended the job
read_abort() {
    node_of[$1]=$3
    [ -z "$failed_how" ] || may_be_aftermath || return
    failed_how='' failed_status=$2
    fail "$1" abort
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
        say "${launcher##*/} was killed by signal $signal ($(signal_text $signal)); the job was ended"
    else
        [ $quiet = yes ] || [ ${#notes[@]} = 0 ] || printf '%s\n' "${notes[@]}" >&2
        say "${launcher##*/} failed with status $1"
    fi
}

# tell_assertions: what UCX wrote of the PE that has failed
tell_assertions() {
    [ $quiet = yes ] || ! may_be_aftermath || printf '%s\n' "${notes[@]}" >&2
}

# report STATUS: print the one line about a job that has ended; the result is the exit status of oshrun.
report() {
    local status=$1 who node=$failed_node
    [ "$status" -ne 0 ] || return 0
    if [ -n "$lost_node" ]; then # the PEs that have failed before missed those of that node
        say "lost the connection to $lost_node$(pes_of "$lost_node"); the job was ended"
        return 1
    fi
    if [ -z "$failed_how" ] && [ -n "$left_pe" ]; then failed_pe=$left_pe failed_how=unfinished failed_status=1; fi
    who="PE $failed_pe"
    case $failed_how in
        '') report_no_pe "$status"; return "$status" ;;
        missing) say "$node has no program '$failed_pe'; the job was ended"; return 127 ;;
    esac
    [ $hung = yes ] || failed_status=${failed_status:-$status}
    status=${failed_status:-$([ "$failed_how" = signal ] && echo 137 || echo 1)}
    node=${node_of[failed_pe]:-}
    [ -z "$node" ] && [ "$kind" != slurm ] && local_job && node=$(hostname)
    [ -n "$node" ] && who+=" on $node"
    tell_assertions
    say "$who $(failure_text "$status")$(what_became_of_job)"
    return "$status"
}

# watch: read the launcher's messages from stdin up to the line "oshrun-exit STATUS SIGNAL", the last, which this script
# writes; the result is the exit status of oshrun.
watch() {
    local line box='' dashes='' status signal
    trap '' INT TERM HUP QUIT USR1 USR2
    while IFS= read -r line; do
        [[ $verbose == no || $line == oshrun-* || $line == $'\001'* || $line == *'] ACTIVATE '* ]] || printf '%s\n' "$line" >&2
        if [[ $line == oshrun-exit* ]]; then
            read -r _ status signal <<<"$line"
            if [ -n "$signal" ]; then
                [ $hung = no ] || say "${launcher##*/} hung and was ended"
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
        elif [[ $line =~ ^$'\001oshrun-abort '([0-9]+)' '([0-9]+)' '(.*)$ ]]; then
            read_abort "${BASH_REMATCH[@]:1}"
        elif [[ $line =~ $ucx_assertion ]]; then
            [ ${#notes[@]} -ge 20 ] || notes+=("$line")
        elif [[ $kind == slurm ]]; then
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
    local begins='^(([0-9]+: )?(s|\[[^ ]*:[0-9]|'$'\001'')|-)' # perhaps a message, which always has an end
    local ours='^(prterun|mpirun|mpiexec|orterun) (noticed|detected|has exited|was unable)'
    local slurm='^([0-9]+: )?(srun: error: .* task|srun: (Job step aborted|Terminating|Force Terminated|forcing job|'
    slurm+='launch/slurm|job [0-9]+ (queued|has been))|slurmstepd[^ ]*: error: (\*\*\*| *mpi/pmix)|'$'\001''oshrun-abort )'
    trap '' INT TERM HUP QUIT USR1 USR2
    while :; do
        IFS= read -r -n 1 ${held:+-t 0.2} char
        rc=$? rest='' end=$'\n'
        [ $rc -ne 0 ] || [ -z "$char" ] || IFS= read -r -t 0.05 rest || end=''
        line=$char$rest
        if [[ -z $end && $fresh == yes && $line =~ $begins ]]; then # perhaps this process had to wait for a core
            end=$'\n'
            IFS= read -r -t 2 rest || end=''
            line+=$rest
        fi
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
        elif [[ $fresh == yes && $end && ( $line =~ $slurm || $line =~ $ucx_assertion ) ]]; then
            [[ ! $line =~ ^[0-9]+:\ ($'\001'.*)$ ]] || line=${BASH_REMATCH[1]} # the label of srun --label
            printf '%s\n' "$line" >&3
        else
            printf '%s%s' "$line" "$end" >&2
        fi
        if [ -n "$end" ]; then fresh=yes; else fresh=no; fi
    done
}

