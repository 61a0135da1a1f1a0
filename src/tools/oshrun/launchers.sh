# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Part of oshrun: finds the launcher and writes its command line.

# launcher_kind COMMAND: prints ompi4, ompi5, prrte, slurm, hydra (MPICH, with PMI) or, if it has no PMIx, refused
launcher_kind() {
    local kind=refused
    case ${1##*/} in
        prterun*) kind=prrte ;;
        srun*) "$1" --mpi=list 2>&1 </dev/null | grep -q pmix && kind=slurm ;;
        *)  case $("$1" --version 2>&1 </dev/null) in
                *"(Open MPI) "[1-3].*) ;;
                *"(Open MPI) 4."*) kind=ompi4 ;;
                *"(Open MPI) "*) kind=ompi5 ;;
                *[Pp][Rr][Rr][Tt][Ee]*) kind=prrte ;;
                *HYDRA* | *[Hh]ydra*) kind=hydra ;;
            esac ;;
    esac
    echo $kind
}

# find_launcher: sets launcher (a command) and kind. Hydra is the last choice: it does not report which PE failed.
find_launcher() {
    local name refused='' hydra='' asked=$launcher
    local -a names=(mpirun mpirun.openmpi orterun prterun srun mpiexec mpiexec.hydra)
    [ -z "${SLURM_JOB_ID:-}" ] || names=(srun "${names[@]}") # in an allocation, Slurm's own
    kind=''
    if [ "$launcher" = none ]; then
        kind=none
        return
    elif [ -n "$launcher" ]; then
        type -P -- "$launcher" >/dev/null || die 127 "launcher '$launcher' not found"
        names=("$launcher")
    fi
    for name in "${names[@]}"; do
        type -P -- "$name" >/dev/null || continue
        kind=$(launcher_kind "$name")
        case $kind in
            refused) refused+="${refused:+, }$name" ;;
            hydra) hydra=${hydra:-$name} ;;
            *) launcher=$name; return ;;
        esac
    done
    if [ -n "$hydra" ]; then
        launcher=$hydra
        kind=hydra
        return
    fi
    if [ -n "$refused" ] && { [ -n "$asked" ] || [ "${npes:-}" != 1 ]; }; then
        die 1 "$refused has no PMIx, through which MapSHMEM starts: install Open MPI 4 or later (openmpi-bin) or PRRTE"
    fi
    [ "${npes:-1}" = 1 ] || die 127 "no launcher found for $npes PEs: install Open MPI (openmpi-bin), PRRTE or Slurm"
    kind=none
}

# launcher_path: prints the launcher, with its full path if it is outside the system's directories: Open MPI then finds
# its own parts on the other hosts, too.
launcher_path() {
    local path
    path=$(type -P -- "$launcher")
    case ${path%/*} in
        /bin | /usr/bin | /usr/local/bin) echo "$launcher" ;;
        /*) echo "$path" ;;
        *) echo "$PWD/${path#./}" ;;
    esac
}

# given PATTERN...: whether one of the user's launcher options matches
given() {
    local pattern word
    local -a words=("${launcher_args[@]}")
    [ $verbatim = yes ] && words=("${program[@]}")
    for word in "${words[@]}"; do
        for pattern in "$@"; do
            # shellcheck disable=SC2053
            [[ $word == $pattern ]] && return 0
        done
    done
    return 1
}

# local_job: whether all PEs will run on this host
local_job() {
    [ -z "$hosts${SLURM_JOB_ID:-}${PBS_NODEFILE:-}${LSB_HOSTS:-}${PE_HOSTFILE:-}${COBALT_NODEFILE:-}" ] &&
        ! given '-host*' '--host*' '-H' '-machinefile' '--machinefile'
}

# usable_cores: prints the number of cores to which PEs may be bound. 0 when something that the launcher does not see,
# such as taskset, confines this process: binding would then break out of it.
usable_cores() {
    local allowed cpuset
    allowed=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
    cpuset=$(cat /sys/fs/cgroup/cpuset.cpus.effective 2>/dev/null || cat /sys/fs/cgroup/cpuset/cpuset.cpus 2>/dev/null)
    if [ "$(nproc)" != "$(getconf _NPROCESSORS_ONLN)" ] && [ "$allowed" != "$cpuset" ]; then
        echo 0
    else
        lscpu -b -p=CPU,CORE,SOCKET 2>/dev/null | awk -F, -v list="$allowed" '
            BEGIN { n = split(list, r, ","); for (i = 1; i <= n; i++) { m = split(r[i], e, "-");
                    for (c = e[1] + 0; c <= e[m] + 0; c++) ok[c] = 1 } }
            !/^#/ && ($1 in ok) && !(($2, $3) in seen) { seen[$2, $3] = 1; cores++ }
            END { print cores + 0 }'
    fi
}

# pes_per_host: prints the largest number of PEs that a host will get
pes_per_host() {
    local word slots=1 max=0 n=0
    local -a list
    IFS=, read -r -a list <<<"$hosts"
    for word in "${list[@]}"; do
        slots=1
        [[ $word == *:* ]] && slots=${word##*:}
        n=$((n + slots))
        [ "$slots" -gt "$max" ] && max=$slots
    done
    if [ -z "$hosts" ]; then
        echo "$npes"
    elif [ "${npes:-0}" -gt $n ]; then
        echo $(((npes + ${#list[@]} - 1) / ${#list[@]} + max))
    else
        echo "$max"
    fi
}

# binding: prints what to bind PEs to, or nothing to leave that to the launcher
binding() {
    local to=$bind
    if [ -z "$bind$hosts" ] && ! { [ -n "${npes:-}" ] && local_job; }; then return; fi
    [ -n "$bind" ] || if [ "$(pes_per_host)" -le "$(usable_cores)" ]; then to=core; else to=none; fi
    [ "$to" = none ] || to+=:if-supported
    echo "$to"
}

# keepalive: prints settings by which the daemons of the launcher notice a lost host or network some seconds before the
# PEs do (SHMEM_PEER_TIMEOUT), and end what is left on both sides. With its own they take 8 minutes.
keepalive() {
    local seconds=${SHMEM_PEER_TIMEOUT:-15} option=--prtemca
    [[ $seconds =~ ^[1-9][0-9]{0,4}$ ]] || return
    [ "$kind" != ompi4 ] || option=--mca
    echo "$option oob_tcp_keepalive_time $((seconds / 3 + 1)) $option oob_tcp_keepalive_intvl $((seconds / 8 + 1))" \
        "$option oob_tcp_keepalive_probes 3"
}

# users_sigkill_timeout: prints the seconds that the user wants the launcher to leave between the signals by which it
# ends PEs (SIGCONT, SIGTERM, SIGKILL), or nothing
users_sigkill_timeout() {
    local i
    local -a words=("${launcher_args[@]}")
    [ $verbatim = yes ] && words=("${program[@]}")
    for ((i = 1; i < ${#words[@]}; i++)); do
        [ "${words[i - 1]}" != odls_base_sigkill_timeout ] || { echo "${words[i]}"; return; }
    done
    echo "${OMPI_MCA_odls_base_sigkill_timeout:-${PRTE_MCA_odls_base_sigkill_timeout:-}}"
}

# no_delay: prints settings by which daemons end their PEs without pauses between the signals. By itself each daemon takes
# two seconds, and those on other hosts begin when the one that tells them has done: an end could not be told from a hang.
no_delay() {
    local option=--prtemca
    [ -z "$(users_sigkill_timeout)" ] || return
    [ "$kind" != ompi4 ] || option=--mca
    echo "$option odls_base_sigkill_timeout 0"
}

# placement: adds how PEs are placed, for mpirun of Open MPI 4 and 5 and prterun. All may put more PEs on a host than it
# has cores.
placement() {
    local by=$map_by
    [ -z "$per_node" ] || by=ppr:$per_node:node
    if given '*oversubscribe*' '*OVERSUBSCRIBE*'; then
        [ -z "$by" ] || command+=(--map-by "$by")
    elif [ "$kind" = ompi4 ]; then
        command+=(--oversubscribe ${by:+--map-by "$by"})
    elif ! given '-map-by' '--map-by*'; then
        command+=(--map-by "${by/#socket/package}:OVERSUBSCRIBE")
    fi
}

# openmpi_command: mpirun of Open MPI 4 and 5, prterun. prterun finds its parts on other hosts only when it is told.
openmpi_command() {
    local word to
    command=("$(launcher_path)")
    [[ $kind != prrte || ${command[0]} != /*/bin/* ]] || given '--prefix' || command+=(--prefix "${command[0]%/bin/*}")
    [ "$(id -u)" = 0 ] && command+=(--allow-run-as-root)
    [ -n "${npes:-}" ] && command+=(-np "$npes")
    [ -n "$hosts" ] && command+=(--host "$hosts")
    placement
    if ! given '-bind-to*' '--bind-to*' '-cpu-*' '--cpu-*' '-rf' '--rankfile'; then
        to=$(binding)
        [ "$kind" = ompi4 ] || to=${to/#socket/package}
        [ -z "$to" ] || command+=(--bind-to "$to")
    fi
    [ $tag = no ] || if [ "$kind" = ompi4 ]; then command+=(--tag-output); else command+=(--output tag); fi
    [ -z "$wdir" ] || command+=(--wdir "$wdir")
    # shellcheck disable=SC2207
    local_job || command+=($(keepalive) $(no_delay))
    for word in "${forwarded[@]}"; do
        # given with its value, because some builds of mpirun change the variable while they look for OpenCL devices
        [[ $word != OCL_ICD_* || $word == *=* ]] || word+="=${!word}"
        command+=(-x "$word")
    done
}

# slurm_places: prints the host of each PE, in order. More PEs than the hosts have go round again.
slurm_places() {
    local word i places=()
    local -a words
    IFS=, read -r -a words <<<"$hosts"
    if [ "$map_by" = node ]; then
        places=("${words[@]%:*}")
    else
        for word in "${words[@]}"; do
            for ((i = 0; i < ${word##*:}; i++)); do places+=("${word%:*}"); done
        done
    fi
    for ((i = 0; i < npes; i++)); do echo "${places[i % ${#places[@]}]}"; done | paste -sd,
}

# slurm_distribution: sets distribution, srun's word for --map-by
slurm_distribution() {
    case $map_by in
        '') distribution='' ;;
        slot | core) distribution=block ;;
        node) distribution=cyclic ;;
        socket) distribution=block:cyclic ;;
        *) die 2 "srun cannot place PEs by $map_by: --map-by takes slot, core, socket or node there" ;;
    esac
}

slurm_command() {
    local distribution to=${bind%s}
    slurm_distribution
    command=(srun --mpi=pmix --kill-on-bad-exit=1)
    [ "$launcher" = srun ] || command[0]=$(launcher_path)
    [ -z "${SLURM_STEP_ID:-}" ] || given '--overlap' || command+=(--overlap) # inside a step, which has all processors
    [ -n "${npes:-}" ] && command+=(--ntasks "$npes")
    if [ -n "$hosts" ]; then
        command+=(--nodelist "$(slurm_places)" --distribution arbitrary)
    elif [ -n "$distribution" ]; then
        command+=(--distribution "$distribution")
    fi
    [ -z "$per_node" ] || command+=(--ntasks-per-node "$per_node")
    to=${to/#numa/ldom} to=${to/#hwthread/thread}
    [ -z "$to" ] || command+=("--cpu-bind=$([ "$to" = none ] && echo none || echo "${to}s")")
    [ $tag = no ] || command+=(--label)
    [ -z "$wdir" ] || command+=(--chdir "$wdir")
    given '--overcommit' '-O' || command+=(--overcommit) # srun forwards the environment itself
}

# hydra_placement: adds how PEs are placed. Hydra maps by parts of a host only what it binds.
hydra_placement() {
    case $map_by in
        '' | slot) [ -z "$per_node" ] || command+=(-ppn "$per_node") ;;
        node) command+=(-ppn 1) ;;
        *)
            [ "$bind" != none ] || die 2 "mpiexec of MPICH places PEs by $map_by only if it binds them: omit --bind none"
            command+=(-map-by "$map_by") ;;
    esac
}

# hydra_command: mpiexec of MPICH, which forwards the environment itself
hydra_command() {
    local to named=$hosts
    command=("$(launcher_path)")
    [ -n "${npes:-}" ] && command+=(-n "$npes")
    # shellcheck disable=SC2001
    [ "$map_by" != node ] || named=$(sed 's/:[0-9]*//g' <<<"$hosts") # -ppn counts only where hosts have no numbers
    [ -n "$hosts" ] && command+=(-hosts "$named")
    if ! given '-bind-to*' '--bind-to*' '-map-by*' '--map-by*'; then
        to=$(binding)
        [[ ! $map_by =~ ^(core|hwthread|numa|socket)$ ]] || [ -n "$bind" ] || to=$map_by
        [ -z "$to" ] || command+=(-bind-to "${to%:*}")
        tell_binding "${to%:*}"
        hydra_placement
    fi
    [ $tag = no ] || command+=(-prepend-rank)
    [ -z "$wdir" ] || command+=(-wdir "$wdir")
}

# tell_binding TYPE: Hydra does not tell a PE that it has bound it. The PE must not take what a program such as taskset
# does for it.
tell_binding() {
    unset MAPSHMEM_BOUND_TO
    case ${program[0]##*/} in
        taskset | numactl | hwloc-bind | chrt | sh | bash) ;;
        *) [ "$1" != core ] || export MAPSHMEM_BOUND_TO=core ;;
    esac
}

# direct_command: one PE, no launcher
direct_command() {
    [ "${npes:-1}" = 1 ] || die 2 "$npes PEs need a launcher: omit --launcher=none"
    [ ${#launcher_args[@]} -eq 0 ] || die 2 "there is no launcher to take the options after '--'"
    [ "$hosts$map_by$tag" = no ] || die 2 "hosts, --map-by and --tag-output need a launcher"
    [ -z "$wdir" ] || cd -- "$wdir" || exit 2
    command=()
}

build_command() {
    case $kind in
        slurm) slurm_command ;;
        hydra) hydra_command ;;
        none) direct_command ;;
        *) openmpi_command ;;
    esac
    options_end=${#command[@]} # where watch_launcher adds its own
    command+=("${launcher_args[@]}" "${program[@]}")
}

print_command() {
    local word plain='^[A-Za-z0-9_./=,:+@%-]+$' line=''
    local -a words=("${command[@]}")
    # the other launchers get the values of -x as options
    [[ $kind =~ ^(slurm|hydra|none)$ ]] && words=("${assigned[@]}" "${words[@]}")
    for word in "${words[@]}"; do
        [[ $word =~ $plain ]] || word=$(printf '%q' "$word")
        line+=" $word"
    done
    echo "${line# }"
}

