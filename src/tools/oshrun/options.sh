#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# oshrun: start the PEs of an OpenSHMEM program through a launcher that speaks PMIx, or through MPICH's.
#
# The launcher does the work; this script finds it, writes its command line, and reports in one line how a job failed.
# The source is in five files of src/tools/oshrun/, which make puts together:
#   options.sh    the command line, the program and the environment
#   launchers.sh  which launcher, and its command line
#   failures.sh   how a job failed, from the launcher's messages
#   keeper.sh     ends a launcher that hangs, and what it leaves
#   run.sh        runs the command, passes signals on, and ends as the job ended

set -u

readonly VERSION='@PACKAGE_VERSION@'
readonly ME=oshrun

usage() {
    cat <<'END'
Usage: oshrun [options] PROGRAM [ARGUMENTS...] [-- LAUNCHER OPTIONS...]
       oshrun [options] -- [LAUNCHER OPTIONS...] PROGRAM [ARGUMENTS...]

Starts PROGRAM as the PEs of one OpenSHMEM job.

  -n N, -np N, --np N   number of PEs (default: as many as the launcher has slots)
  -N N, -ppn N, --npernode N   PEs on each host
  -H LIST, --host LIST, --hosts LIST   hosts, with the number of PEs on each: A:2,B:2 (A alone: 1)
  --hostfile FILE, --machinefile FILE  the same from a file: lines such as "A", "A:2" or "A slots=2"
  -x VAR[=VALUE]        give the PEs an environment variable (any number of times)
  --bind TYPE, --bind-to TYPE   bind each PE to: core, hwthread, numa, socket, none (default: core if there is one for
                        each PE)
  --map-by TYPE         place PEs one after the other by: slot, node, core, hwthread, numa, socket; ppr:N:node is -N N
  -l, --tag-output      begin each line that a PE writes with its number
  --timeout SECONDS     end the job after this time, with status 124
  --wdir DIR            the PEs' working directory
  --launcher NAME       mpirun, prterun, srun, mpiexec or the path of one; none: start a single PE without a launcher
  -v, --verbose         show all messages of the launcher
  -q, --quiet           say nothing about a job that failed; Hydra still does
  --dry-run             print the command and stop
  -V, --version
  -h, --help

In the first form the last "--" ends the program's arguments: a program with "--" among its own arguments needs one
more behind them. In the second form everything after the first "--" goes to the launcher unchanged.

Launchers are tried in this order: srun with PMIx in an allocation of Slurm (SLURM_JOB_ID is set), mpirun of Open MPI,
prterun of PRRTE, srun elsewhere, mpiexec of MPICH. --launcher or the variable MAPSHMEM_LAUNCHER chooses another one: a
program that also uses MPICH needs --launcher=mpiexec.mpich. What the launcher cannot do is refused.

Variables whose names begin with SHMEM_, SMA_, MAPSHMEM_, UCX_, POCL_, OCL_ or CUDA_ or end in SAN_OPTIONS are forwarded
to all hosts. The exit status is that of the first PE that failed (128 + N for signal N), 127 if the program is not
found, 2 for a wrong command line.
END
}

die() { # die STATUS TEXT...
    local status=$1; shift
    echo "$ME: $*" >&2
    exit "$status"
}

# say TEXT...: about a job that has failed
say() { [ $quiet = yes ] || echo "$ME: $*" >&2; }

# ---- command line ----------------------------------------------------------------------------------------------

unset npes
hosts='' bind='' launcher=${MAPSHMEM_LAUNCHER:-} dry_run=no verbose=no verbatim=no
hostfile='' per_node='' map_by='' tag=no time_limit='' wdir='' quiet=no
forwarded=()     # VAR or VAR=VALUE of -x, then the variables that are always forwarded
assigned=()      # the VAR=VALUE among them
program=()       # program and arguments; in the second form launcher options before them
launcher_args=() # what follows the last "--"

# need_value COUNT OPTION: COUNT words are left, OPTION among them
need_value() { [ "$1" -gt 1 ] || die 2 "$2 needs a value (see oshrun --help)"; }

parse_options() {
    while [ $# -gt 0 ]; do
        [[ $1 == --[a-z]*=* ]] && set -- "${1%%=*}" "${1#*=}" "${@:2}"
        [[ $1 =~ ^-([nN])([0-9]+)$ ]] && set -- "-${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" "${@:2}"
        [[ $1 =~ ^-(hosts?|hostfile|machinefile|npernode|bind-to|map-by|tag-output|timeout|wdir)$ ]] &&
            set -- "-$1" "${@:2}" # as mpirun and mpiexec have them
        case $1 in
            -n | -np | --np) need_value $# "$1"; npes=$2; shift ;;
            -N | -ppn | --ppn | --npernode) need_value $# "$1"; per_node=$2; shift ;;
            -H | --hosts | --host) need_value $# "$1"; hosts=$2; shift ;;
            --hostfile | --machinefile) need_value $# "$1"; hostfile=$2; shift ;;
            -x) need_value $# "$1"; forwarded+=("$2"); shift ;;
            --bind | --bind-to) need_value $# "$1"; bind=$2; shift ;;
            --map-by) need_value $# "$1"; map_by=$2; shift ;;
            -l | --tag-output) tag=yes ;;
            --timeout) need_value $# "$1"; time_limit=$2; shift ;;
            --wdir) need_value $# "$1"; wdir=$2; shift ;;
            --oversubscribe | --allow-run-as-root) ;; # it always is
            --launcher) need_value $# "$1"; launcher=$2; shift ;;
            -v | --verbose) verbose=yes ;;
            -q | --quiet) quiet=yes ;;
            --dry-run) dry_run=yes ;;
            -V | --version) echo "oshrun (MapSHMEM) $VERSION"; exit 0 ;;
            -h | --help) usage; exit 0 ;;
            --) verbatim=yes; shift; break ;;
            -*) die 2 "unknown option '$1' (see oshrun --help; the launcher's own options go after '--')" ;;
            *) break ;;
        esac
        shift
    done
    program=("$@")
}

# split_program: in the first form, move what follows the last "--" from program to launcher_args.
split_program() {
    local i
    [ $verbatim = yes ] && return
    for ((i = ${#program[@]} - 1; i > 0; i--)); do
        if [ "${program[i]}" = -- ]; then
            launcher_args=("${program[@]:i+1}")
            program=("${program[@]:0:i}")
            return
        fi
    done
}

check_options() {
    [[ ${npes-1} =~ ^[1-9][0-9]{0,6}$ ]] || die 2 "'$npes' is not a number of PEs: give 1 or more"
    [[ ${per_node:-1} =~ ^[1-9][0-9]{0,6}$ ]] || die 2 "-N $per_node: must be a number of PEs, 1 or more"
    [[ ${time_limit:-1} =~ ^[1-9][0-9]{0,8}$ ]] || die 2 "--timeout $time_limit: must be a number of seconds, 1 or more"
    [[ $bind =~ ^(|core|hwthread|numa|socket|none)$ ]] ||
        die 2 "--bind $bind: must be core, hwthread, numa, socket or none"
    [[ $map_by =~ ^(|slot|node|core|hwthread|numa|socket)$ ]] ||
        die 2 "--map-by $map_by: must be slot, node, core, hwthread, numa, socket or ppr:N:node"
    [ -z "$hosts" ] || [ -z "$hostfile" ] || die 2 "--hosts and --hostfile: give one of them"
    [[ -z $hosts || $hosts =~ ^[^,:\ ]+(:[1-9][0-9]*)?(,[^,:\ ]+(:[1-9][0-9]*)?)*$ ]] ||
        die 2 "--hosts $hosts: must be a list such as node0:2,node1:2"
    [ ${#program[@]} -gt 0 ] || die 2 "no program given (see oshrun --help)"
}

# read_map_by: ppr:N:node is another name of -N N
read_map_by() {
    [[ $map_by =~ ^ppr:([1-9][0-9]*):node$ ]] || return
    [ -z "$per_node" ] || die 2 "-N $per_node and --map-by $map_by: give one of them"
    per_node=${BASH_REMATCH[1]} map_by=''
}

# read_hostfile: sets hosts
read_hostfile() {
    local name rest
    [ -n "$hostfile" ] || return
    [[ -r $hostfile && ! -d $hostfile ]] || die 2 "--hostfile $hostfile: cannot be read"
    while read -r name rest; do
        [[ " $rest" =~ [[:space:]]slots[[:space:]]*=[[:space:]]*([1-9][0-9]*) ]] && name+=:${BASH_REMATCH[1]}
        hosts+=${name:+${hosts:+,}$name}
    done < <(sed 's/#.*//' "$hostfile")
    [ -n "$hosts" ] || die 2 "--hostfile $hostfile: there is no host in it"
}

# count_hosts: a host that is named several times gets the sum, or with -N that number; without -n there are as many PEs
# as the hosts then have.
count_hosts() {
    local word name sum=0
    local -a words names=()
    local -A slots_of=()
    [ -n "$hosts" ] || return
    IFS=, read -r -a words <<<"$hosts"
    hosts=''
    for word in "${words[@]}"; do
        name=${word%:*}
        [ -n "${slots_of[$name]:-}" ] || names+=("$name")
        [ "$name" != "$word" ] || word+=:1
        slots_of[$name]=${per_node:-$((${slots_of[$name]:-0} + ${word##*:}))}
    done
    for name in "${names[@]}"; do
        hosts+=${hosts:+,}$name:${slots_of[$name]}
        sum=$((sum + slots_of[$name]))
    done
    [ -z "$per_node" ] || [ "${npes:-1}" -le $sum ] ||
        die 2 "-N $per_node leaves room for $sum PEs on ${#names[@]} hosts, but -n asks for $npes"
    npes=${npes:-$sum}
    per_node=''
}

# find_program: make the program's path absolute, so that hosts with another PATH or directory find it.
find_program() {
    local name=${program[0]} path
    [[ $verbatim = yes && $name == -* ]] && return # it comes after the launcher's options
    if [[ $name == */* ]]; then
        path=$name
    else
        path=$(type -P -- "$name") || {
            [ -x "./$name" ] && die 127 "program '$name' is not in PATH: did you mean ./$name?"
            die 127 "program '$name' not found in PATH"
        }
    fi
    [ -e "$path" ] || die 127 "program '$name' not found"
    [ ! -d "$path" ] || die 126 "'$name' is a directory, not a program"
    [ -x "$path" ] || die 126 "program '$name' is not executable"
    [[ $path == /* ]] || path=$PWD/${path#./}
    program[0]=$path
}

# forward_environment: complete the list of variables for the PEs. VAR=VALUE is set in this process, too.
forward_environment() {
    local word name
    local -A seen=()
    local -a wanted=("${forwarded[@]}")
    forwarded=()
    for word in "${wanted[@]}"; do
        name=${word%%=*}
        [[ $name =~ ^[A-Za-z_][A-Za-z0-9_]*$ ]] || die 2 "-x $word: '$name' is not the name of a variable"
        if [ "$name" != "$word" ]; then
            export "${word?}"
            assigned+=("$word")
        elif [ -z "${!name+set}" ]; then
            echo "$ME: -x $name: not set, so it is not forwarded" >&2
            continue
        fi
        seen[$name]=1
        forwarded+=("$word")
    done
    while read -r name; do
        [ -n "${seen[$name]:-}" ] || forwarded+=("$name")
    done < <(compgen -e | grep -E '^((SHMEM|SMA|MAPSHMEM|UCX|POCL|OCL|CUDA)_|[A-Z]+SAN_OPTIONS$)')
}

