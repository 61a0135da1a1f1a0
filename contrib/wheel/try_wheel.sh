#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# try_wheel.sh - what scripts/wheel does in a fresh Debian or Ubuntu: it installs the wheel that lies beside it, uses it and
# removes it. There is nothing but the system's Python at first, and no package of ours, of UCX, PMIx or an MPI at any time.
#
# Usage: contrib/wheel/try_wheel.sh NAME     (of the system, for the lines that tell)

set -u
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
system=$1
work=/var/tmp/wheel
mkdir -p $work
cd $work || exit
export POCL_MAX_PTHREAD_COUNT=1

# judge NAME COMMAND...: what the command prints is shown when it fails; status 77: it cannot be tried here
judge() {
    local begin=$SECONDS status
    ("${@:2}") >$work/log 2>&1 </dev/null
    status=$?
    case $status in
        0) echo "PASS: wheel: $system: $1 ($((SECONDS - begin)) s)" ;;
        77) echo "SKIP: wheel: $system: $1: $(tail -n 1 $work/log)" ;;
        *)
            tail -n 60 $work/log
            echo "FAIL: wheel: $system: $1"
            ;;
    esac
    return $status
}

install() { apt-get -qq install -y --no-install-recommends "$@"; }

get_python() { apt-get -qq update && install python3 python3-venv; }

# verified N COMMAND...: the examples say so themselves, N times; the library and the launcher have nothing to say
verified() {
    "${@:2}" >printed 2>said
    echo "status $?" >>printed
    cat printed said
    [ "$(tail -n 1 printed)" = 'status 0' ] && [ "$(grep -c ': verified$' printed)" = "$1" ] && [ ! -s said ]
}

# The three commands of doc/install.md.
first_put() {
    # shellcheck source=/dev/null
    python3 -m venv env && . env/bin/activate &&
        pip install "$here"/mapshmem-*.whl &&
        verified 2 oshrun -n 2 python3 "$here/first.py"
}

# Everything that the loader looks for is there; what an extra package brings is not in question.
nothing_is_missing() {
    local file
    find env/bin/osh* env/lib/libmapshmem* env/lib/mapshmem env/lib/python3*/site-packages/mapshmem -type f |
        while read -r file; do
            ldd "$file" 2>/dev/null | grep 'not found' | sed "s|^|$file: |"
        done | tee missing
    [ ! -s missing ]
}

# With the wheel's UCX, between PEs that take each other for PEs of other hosts.
put_over_ucx() { verified 2 env SHMEM_NODE_SIZE=1 oshrun -n 2 python3 "$here/first.py"; }

tools_answer() {
    oshinfo && oshtypes --help && oshtrace --help && oshcopy --help && oshrun --version && oshcc --showme:version
}

# The library opens the system's libOpenCL; PyOpenCL's wheel has one of its own. Both find the system's drivers.
map_buffer() {
    install ocl-icd-libopencl1 pocl-opencl-icd
    pip install -q pyopencl || { echo "PyPI has no PyOpenCL for this Python"; return 77; }
    verified 2 oshrun -n 2 python3 "$here/first_opencl.py"
}

with_mpi4py() {
    pip install -q mpi4py || { echo "PyPI has no mpi4py for this Python"; return 77; }
    oshrun -n 2 python3 "$here/mpi.py"
}

get_compiler() { install gcc g++ libc6-dev pkg-config; }

says_hello() { verified 1 oshrun -n 2 ./hello; }
compile_c() { oshcc -Wall -Werror -o hello "$here/hello.c" && says_hello; }
compile_cxx() { oshc++ -Wall -Werror -o hello -x c++ "$here/hello.c" && says_hello; }

compile_with_pkg_config() {
    local words
    read -r -a words <<<"$(PKG_CONFIG_PATH=env/lib/pkgconfig pkg-config --cflags --libs mapshmem)"
    gcc -o hello "$here/hello.c" "${words[@]}" && says_hello
}

# pip removes what it installed; folders of the environment may remain.
remove() {
    local left
    pip uninstall -q -y mapshmem
    left=$(find env -iname '*mapshmem*' -o -name 'osh*' -o -name 'shmem*')
    echo "$left"
    [ -z "$left" ]
}

judge "the system's Python" get_python || exit
judge "three commands: environment, pip install, put" first_put || exit
# shellcheck source=/dev/null
. env/bin/activate
judge "all libraries are found" nothing_is_missing
judge "a put through UCX" put_over_ucx
judge "the tools answer" tools_answer
judge "mpi4py in the same program" with_mpi4py
judge "a mapped buffer of PyOpenCL" map_buffer
judge "a compiler" get_compiler && {
    judge "oshcc compiles" compile_c
    judge "oshc++ compiles" compile_cxx
    judge "pkg-config" compile_with_pkg_config
}
judge "pip uninstall" remove
echo "try_wheel.sh: end"
