#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# gpu_routes.sh - compare every route of GPU memory with the raw calls and with NVSHMEM, on this machine, in one table.
#
# Usage: bench/gpu_routes.sh [--prefix DIR] [--out DIR] [--device cuda|opencl] [--quick] [--limit S] [--no-nvshmem]
#
#   --prefix DIR    where MapSHMEM is installed, or its build directory (what is in PATH)
#   --out DIR       gets gpu_routes.csv, gpu_routes.svg and the output of each run (./gpu_routes.out)
#   --device KIND   of memory (cuda)
#   --quick         few repetitions and small sizes, to see that it works
#   --limit S       seconds for everything (300)
#   --no-nvshmem    do not look for NVSHMEM
#
# A route is a setting of the job, so the program gpu_routes runs once per route. All figures of a line are from the
# same run. NVSHMEM is used through a program of its own, where nvcc and NVSHMEM's headers are found (NVSHMEM_HOME, or
# the Python package nvidia-nvshmem).

set -u

source=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
prefix='' out=gpu_routes.out device=cuda limit=300 nvshmem=yes quick=()

die() { echo "gpu_routes.sh: $*" >&2; exit 1; }

while [ $# -gt 0 ]; do
    case $1 in
        --prefix | --out | --device | --limit) [ $# -gt 1 ] || die "$1 needs a value" ;;
    esac
    case $1 in
        --prefix) prefix=$2; shift ;;
        --out) out=$2; shift ;;
        --device) device=$2; shift ;;
        --limit) limit=$2; shift ;;
        --quick) quick=(--quick) ;;
        --no-nvshmem) nvshmem=no ;;
        -h | --help) sed -n '/^# Usage/,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
        *) die "unknown option '$1' (see --help)" ;;
    esac
    shift
done
if [ -n "$prefix" ]; then
    if [ -d "$prefix/bin" ]; then PATH=$prefix/bin:$PATH; else PATH=$prefix:$PATH; fi
fi
for name in oshrun oshinfo gpu_routes; do
    command -v "$name" >/dev/null || die "no $name in the PATH: give --prefix DIR"
done
if ! mkdir -p "$out" || ! out=$(cd -- "$out" && pwd); then die "cannot write $out"; fi
rm -f "$out"/gpu_routes.csv "$out"/lines.csv "$out"/nvshmem.csv "$out"/nvshmem.id* "$out"/*.log
export SHMEM_SYMMETRIC_SIZE=${SHMEM_SYMMETRIC_SIZE:-512m}
: >"$out/lines.csv"

seconds_left() { echo $((limit - SECONDS < 1 ? 1 : limit - SECONDS)); }

# shorter A B: the smaller number
shorter() { echo $(($1 < $2 ? $1 : $2)); }

# size N: N MiB, or as much as a quick run takes
size() { if [ ${#quick[@]} -gt 0 ]; then echo 4M; else echo "${1}M"; fi; }

# setting NAME: whether this version has it; route NAME: whether it can be forced
settings=$(oshinfo --settings)
setting() { grep -q "^ *$1 " <<<"$settings"; }
route() { grep -qE "^ *SHMEM_GPU_ROUTE .*[[|]$1[]|]" <<<"$settings"; }

# reason NAME: the last line of a log that is not the launcher's
reason() { grep -v '^oshrun:' "$out/$1.log" | tail -n 1; }

# routes NAME MIB SETTINGS... -- GROUPS...: one run of the program
routes() {
    local name=$1 mib=$2 status
    local -a settings=()
    shift 2
    while [ "$1" != -- ]; do settings+=("$1"); shift; done
    shift
    # shellcheck disable=SC2086 # none or one word
    env "${settings[@]}" timeout -k 5 "$(shorter 100 "$(seconds_left)")" oshrun -n 2 \
        gpu_routes -d "$device" -m "$(size "$mib")" --csv "$out/lines.csv" ${quick[@]+"${quick[@]}"} "$@" \
        >"$out/$name.log" 2>&1 </dev/null
    status=$?
    [ $status -eq 0 ] || failed+=("$name (${settings[*]:-no settings}): status $status: $(reason "$name")")
    return $status
}

# ---- NVSHMEM -----------------------------------------------------------------------------------------------------

measure_nvshmem() {
    local built
    : >"$out/nvshmem.csv"
    if [ $nvshmem = no ] || [ "$device" != cuda ]; then return; fi
    if ! awk -F, '$5 == 2 { two = 1 } END { exit !two }' "$out/lines.csv"; then
        echo "# NVSHMEM: not measured, its PEs need a GPU each"
        return
    fi
    if ! built=$("$source/nvshmem.sh" build "$out" 2>"$out/nvshmem.log") ||
        ! "$source/nvshmem.sh" run "$out" $((1 << 30)) "$(shorter 40 "$(seconds_left)")" >"$out/nvshmem.csv" \
            2>>"$out/nvshmem.log"; then
        echo "# NVSHMEM: $(tail -n 1 "$out/nvshmem.log"), see nvshmem.log"
        return
    fi
    echo "# NVSHMEM: ${built//$'\n'/, }"
}

# ---- the table ---------------------------------------------------------------------------------------------------

describe() {
    local commit
    commit='a tarball' # which may lie in somebody else's repository
    [ ! -e "$source/../.git" ] || commit=$(git -C "$source" rev-parse --short HEAD)
    echo "# $(date +%F), $(oshinfo --version | head -n 1), $commit, $(uname -r), $(nproc) cores," \
        "load $(cut -d' ' -f1-3 /proc/loadavg)"
    nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | sed 's/^/# GPU: /'
}

# join: gpu_routes.csv is lines.csv with NVSHMEM's figure, which stands beside the routes that it competes with
join_peers() {
    awk -F, -v OFS=, '
        FNR == 1 { file++ }
        FILENAME ~ /nvshmem\.csv$/ { nvshmem[$1 "," $2] = $3; next }
        FNR == 1 { print $0, "nvshmem"; next }
        {
            value = ""
            key = $2 "," $6
            if ($1 ~ /^(direct|small|strided|atomics|streams|sizes)$/ && $3 ~ /^(cuda-ipc|shared)$/ && key in nvshmem)
                value = $7 == "GB/s" ? sprintf("%.5g", $6 / nvshmem[key] / 1000) : nvshmem[key]
            if ($13 == 1 && value != "" && $14 == "yes" && $8 + 0 >= value + 0) $14 = "no: NVSHMEM"
            print $0, value
        }' "$out/nvshmem.csv" "$out/lines.csv" >"$out/gpu_routes.csv"
}

print_table() {
    awk -F, '
        function figure(text) {
            if (text == "") return "-"
            if (text + 0 < 1 && text + 0 > -1 && text + 0 != 0) return sprintf("%.4f", text)
            return sprintf(text + 0 < 1000 ? "%.2f" : "%.0f", text)
        }
        BEGIN {
            printf "%-26s %10s %-11s %-5s %9s %9s %9s %-12s %7s  %-22s %s\n", "# what", "size", "route", "unit", "ours",
                "NVSHMEM", "peer", "which", "ratio", "goal", "met"
        }
        FNR > 1 && $1 != "sizes" {
            if ($5 == 1 && !($3 in shared)) { shared[$3]; list = list " " $3 }
            printf "%-26s %10s %-11s %-5s %9s %9s %9s %-12s %7s  %-22s %s\n", $2, $6, $3, $7, figure($8), figure($15),
                figure($9), $9 == "" ? "-" : $10, figure($11), $12, $14
        }
        END { if (list) print "# Both PEs on one device:" list }' "$out/gpu_routes.csv"
}

failed=()
describe
routes auto 1024 -- direct small atomics streams idle sizes
[ $? -ne 77 ] || { echo "$(reason auto): skipped"; exit 77; }
routes strided 128 -- strided
measure_nvshmem
# shellcheck disable=SC2046 # none or one word
routes pageable 256 $(setting SHMEM_COPY_THREADS && echo SHMEM_COPY_THREADS=8) -- pageable
if [ "$device" = cuda ] && route shadow; then routes shadow 256 SHMEM_GPU_ROUTE=shadow -- shadow sizes; fi
routes staged 256 SHMEM_GPU_ROUTE=staged -- staged sizes
routes nodes 64 SHMEM_NODE_SIZE=1 -- nodes idle sizes
routes naive 64 SHMEM_GPU_ROUTE=naive -- sizes
join_peers
print_table
for line in ${failed[@]+"${failed[@]}"}; do echo "# failed: $line"; done
if [ -x "$source/plot-routes" ]; then
    "$source/plot-routes" "$out/gpu_routes.csv" "$out/gpu_routes.svg"
fi
[ ${#failed[@]} -eq 0 ]
