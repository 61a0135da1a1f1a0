#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# compare.sh - compare Stencil2D with the same program over MPI and over NVSHMEM, on this machine, in one table.
#
# Usage: apps/stencil2d/peers/compare.sh [--build DIR] [--out DIR] [--pes N] [--device cuda|opencl] [--rounds N]
#                                        [--limit S] [--no-nvshmem] [-- options of stencil2d]
#
#   --build DIR     MapSHMEM's build directory (.)
#   --out DIR       gets compare.csv and the output of each run (./compare.out)
#   --pes N         number of PEs (2)
#   --device KIND   of memory (cuda)
#   --rounds N      run all programs N times, taking turns; the table has medians (3)
#   --limit S       seconds for everything (120)
#   --no-nvshmem    do not look for NVSHMEM
#
# Each variant is first verified with a small matrix of the same precision; one that fails is listed with the reason.
# Without options of stencil2d: -s 4096x4096 --iterations 1000. NVSHMEM's program is built here, with NVSHMEM
# (NVSHMEM_HOME, or the Python package nvidia-nvshmem). MPI is given GPU memory if it supports it, as Open MPI with a
# UCX that was built for CUDA does; `make stencil2d_mpi` builds its program. The exit status is 1 if a program of
# MapSHMEM fails.

set -u

peers=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
source=$(cd -- "$peers/../../.." && pwd)
build=. out=compare.out pes=2 device=cuda rounds=3 limit=120 nvshmem=yes nvshmem_home=''

die() { echo "compare.sh: $*" >&2; exit 1; }

while [ $# -gt 0 ] && [ "$1" != -- ]; do
    case $1 in
        --build | --out | --pes | --device | --rounds | --limit) [ $# -gt 1 ] || die "$1 needs a value" ;;
    esac
    case $1 in
        --build) build=$2; shift ;;
        --out) out=$2; shift ;;
        --pes) pes=$2; shift ;;
        --device) device=$2; shift ;;
        --rounds) rounds=$2; shift ;;
        --limit) limit=$2; shift ;;
        --no-nvshmem) nvshmem=no ;;
        -h | --help) sed -n '/^# Usage/,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
        *) die "unknown option '$1' (see --help)" ;;
    esac
    shift
done
[ "${1:-}" != -- ] || shift
if [ $# -gt 0 ]; then problem=("$@"); else problem=(-s 4096x4096 --iterations 1000); fi
for number in "$pes" "$rounds" "$limit"; do
    [[ $number =~ ^[1-9][0-9]*$ ]] || die "'$number' is no number"
done
[ -x "$build/stencil2d" ] || die "no stencil2d in $build: give --build DIR"
build=$(cd -- "$build" && pwd)
if ! mkdir -p "$out" || ! out=$(cd -- "$out" && pwd); then die "cannot write $out"; fi
rm -f "$out"/*.log "$out"/*.csv "$out"/nvshmem.id*
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
patience=60 # seconds for one run
verified=(--verify --size 300x331 --iterations 20 --warmup 2)
case " ${problem[*]} " in *" -p dp "*) verified+=(-p dp) ;; esac
ucx=$(ldd "$build/.libs/libmapshmem.so" 2>/dev/null | awk '$1 ~ /^libucp/ { sub("/[^/]*$", "", $3); print $3 }')

# shorter A B: the smaller number; seconds_left: never 0
shorter() { echo $(($1 < $2 ? $1 : $2)); }
seconds_left() { echo $((limit - SECONDS < 1 ? 1 : limit - SECONDS)); }

# ---- The programs ------------------------------------------------------------------------------------------------

ours() {
    timeout -k 5 "$(shorter "$patience" "$(seconds_left)")" \
        "$build/oshrun" -n "$pes" "$build/stencil2d" -d "$device" --csv "$@"
}

mpi() {
    timeout -k 5 "$(shorter "$patience" "$(seconds_left)")" mpirun --oversubscribe --bind-to none -np "$pes" \
        "$build/stencil2d_mpi" -d "$device" --csv "$@"
}

# Open MPI leaves UCX out on machines without InfiniBand, unless it is told
mpi_with_ucx() {
    LD_LIBRARY_PATH=${ucx:+$ucx:}${LD_LIBRARY_PATH:-} OMPI_MCA_pml=${OMPI_MCA_pml:-ucx} \
        OMPI_MCA_pml_ucx_tls=${OMPI_MCA_pml_ucx_tls:-any} OMPI_MCA_pml_ucx_devices=${OMPI_MCA_pml_ucx_devices:-any} \
        mpi "$@"
}

# all processes; one that fails leaves the others waiting. NVLink multicast is of no use here and not everywhere allowed
nvshmem() {
    local rank pids=() status=0
    rm -f "$out"/nvshmem.id*
    for ((rank = 0; rank < pes; rank++)); do
        env NVSHMEM_DISABLE_NVLS=1 NVSHMEM_REMOTE_TRANSPORT=none NVSHMEM_SYMMETRIC_SIZE=8G \
            LD_LIBRARY_PATH="$nvshmem_home/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
            timeout -k 5 "$(shorter "$patience" "$(seconds_left)")" \
            "$out/stencil2d_nvshmem" "$rank" "$pes" "$out/nvshmem.id" --csv "$@" </dev/null &
        pids+=($!)
    done
    for rank in "${pids[@]}"; do
        wait -n && continue
        status=1
        kill "${pids[@]}" 2>/dev/null
    done
    return $status
}

# call VARIANT ARGUMENTS...
call() {
    case $1 in
        mapped) ours --variant mapped "${@:2}" ;;
        mapped-queue) ours --variant mapped --sync queue "${@:2}" ;;
        naive) ours --variant naive "${@:2}" ;;
        overlapped) ours --variant overlapped "${@:2}" ;;
        mpi-staged) mpi --variant naive "${@:2}" ;;
        mpi-cuda-aware) mpi_with_ucx --variant mapped "${@:2}" ;;
        mpi-cuda-aware-overlapped) mpi_with_ucx --variant overlapped "${@:2}" ;;
        nvshmem) nvshmem --variant mapped "${@:2}" ;;
        nvshmem-overlapped) nvshmem --variant overlapped "${@:2}" ;;
    esac
}

# the folder with include and lib
find_nvshmem() {
    local dir
    for dir in "${NVSHMEM_HOME:-}" "$(python3 -c 'import importlib.util as u
print(list(u.find_spec("nvidia.nvshmem").submodule_search_locations)[0])' 2>/dev/null)" /usr/local/nvshmem; do
        if [ -n "$dir" ] && [ -e "$dir/include/nvshmem_host.h" ]; then nvshmem_home=$dir; return; fi
    done
    return 1
}

build_nvshmem() {
    local cuda library name objects=()
    cuda=$(dirname -- "$(dirname -- "$(readlink -f -- "$(type -P nvcc || echo /usr/local/cuda/bin/nvcc)")")")
    library=$(find "$nvshmem_home/lib" -name 'libnvshmem_host.so*' | sort | head -n 1)
    [ -n "$library" ] || return
    for name in grid halo_mapped halo_overlapped kernels options picture_none real report rounds run tiles verify peers/peer \
        peers/stencil2d_nvshmem; do
        objects+=("$out/${name##*/}.o")
        "${CC:-gcc}" -std=gnu11 -O2 -ffp-contract=off -I"$source/src/shmem" -I"$source" \
            -I"$source/apps/stencil2d" -I"$build/apps/stencil2d" -isystem "$cuda/include" -c -o "$out/${name##*/}.o" \
            "$source/apps/stencil2d/$name.c" || return
    done
    "${CXX:-g++}" -std=c++17 -O2 -isystem "$nvshmem_home/include" -isystem "$cuda/include" -o "$out/stencil2d_nvshmem" \
        "$peers/nvshmem_calls.cc" "${objects[@]}" "$build/.libs/libsupport.a" "$library" -L"$build/.libs" -lmapshmem -L"$cuda/lib64" -lcudart \
        -ldl -lm -Wl,-rpath,"$nvshmem_home/lib" -Wl,-rpath,"$build/.libs" -Wl,-rpath,"$cuda/lib64"
}

# ---- What there is -----------------------------------------------------------------------------------------------

declare -A absent # reasons, by variant
variants=(overlapped mapped mapped-queue naive mpi-staged)

choose_variants() {
    if [ "$device" = cuda ]; then
        variants+=(mpi-cuda-aware mpi-cuda-aware-overlapped nvshmem nvshmem-overlapped)
    fi
    if [ ! -x "$build/stencil2d_mpi" ]; then
        for variant in mpi-staged mpi-cuda-aware mpi-cuda-aware-overlapped; do
            absent[$variant]="no $build/stencil2d_mpi: make stencil2d_mpi"
        done
    fi
    if [ "$nvshmem" = no ]; then
        absent[nvshmem]="--no-nvshmem"
    elif ! find_nvshmem; then
        absent[nvshmem]="NVSHMEM is not there"
    elif [ "$device" = cuda ] && ! build_nvshmem >"$out/nvshmem-build.log" 2>&1; then
        absent[nvshmem]="its program does not build: $out/nvshmem-build.log"
    fi
    [ -z "${absent[nvshmem]:-}" ] || absent[nvshmem-overlapped]=${absent[nvshmem]}
}

# reason FILE: the last line that no launcher wrote
reason() { grep -Ev '^(oshrun:|\[|-+$|$)' "$1" | tail -n 1; }

# verify VARIANT: its failure is the reason for which it is absent
verify() {
    local patience=20 log=$out/$1-verify.log
    if ! call "$1" "${verified[@]}" >"$log" 2>&1 </dev/null; then
        absent[$1]="failed: $(reason "$log")"
    elif ! grep -q ',exact\b' "$log"; then
        absent[$1]="not verified: $(reason "$log")"
    fi
}

# ---- Runs and table ----------------------------------------------------------------------------------------------

# keep ROUND VARIANT LOG: its rows, with a header of compare.csv's own
keep() {
    [ -s "$out/compare.csv" ] || echo "round,program,$(grep '^variant,' "$3" | head -n 1)" >"$out/compare.csv"
    grep ",$device," "$3" | sed "s/^/$1,$2,/" >>"$out/compare.csv"
}

one_round() {
    local variant log
    for variant in "${variants[@]}"; do
        [ -z "${absent[$variant]:-}" ] || continue
        log=$out/$variant-$1.log
        if call "$variant" "${problem[@]}" >"$log" 2>&1 </dev/null; then
            keep "$1" "$variant" "$log"
        else
            absent[$variant]="failed: $(reason "$log")"
        fi
    done
}

table() {
    python3 - "$out/compare.csv" <<'END'
import csv, statistics, sys

# What the program says in words is no figure.
def seconds(text):
    return float('nan') if ' ' in text else float(text)

rows = {}
for row in csv.DictReader(open(sys.argv[1])):
    key = row['precision'], row['program'], row['rows'], row['cols'], row['grid']
    rows.setdefault(key, []).append([1e6 * seconds(row[name]) / int(row['iterations'])
                                     for name in ('seconds', 'kernel_seconds', 'comm_seconds', 'kernel_alone_seconds')])
columns = 'program', '', 'matrix', 'grid', 'us/iteration', 'kernel', 'communication', 'kernel alone'
print('%-26s %-3s %-12s %-5s %12s %9s %13s %12s' % columns)
for (precision, program, height, width, grid), times in rows.items():
    medians = [statistics.median(column) for column in zip(*times)]
    start = program, precision, height + 'x' + width, grid
    print('%-26s %-3s %-12s %-5s %12.2f %9.2f %13.2f %12.2f' % (*start, *medians))
END
}

choose_variants
for variant in "${variants[@]}"; do
    [ -n "${absent[$variant]:-}" ] || verify "$variant"
done
for ((round = 1; round <= rounds; round++)); do
    one_round "$round"
done
[ ! -s "$out/compare.csv" ] || table
status=0
for variant in "${variants[@]}"; do
    [ -n "${absent[$variant]:-}" ] || continue
    echo "$variant: ${absent[$variant]}"
    case $variant in overlapped | mapped* | naive) status=1 ;; esac
done
exit $status
