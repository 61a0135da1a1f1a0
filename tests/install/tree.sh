# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# For the tests of the installed tree: installs this build and hands out a copy at another place, so that whatever finds
# its parts by the prefix of configure fails.

# moved_tree DIRECTORY: the tree, below a name with a blank; sets tree. Two tests may ask at once.
moved_tree() {
    local build=$PWD/tests/install parts=(.libs src/fortran cmake contrib oshcc oshrun mapshmem.pc)
    mkdir -p "$build"
    exec 8>"$build/tree.lock"
    flock 8
    if [ ! -e "$build/tree.stamp" ] ||
        [ -n "$(find "${parts[@]}" -type f -newer "$build/tree.stamp" -print -quit)" ]; then
        rm -rf "$build/tree"
        env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make install DESTDIR="$build/tree" V=0 >"$build/tree.log" 2>&1 ||
            { tail -n 20 "$build/tree.log" >"$tap_output"; not_ok 'make install'; finish; exit; }
        touch "$build/tree.stamp"
    fi
    tree=$1
    cp -a "$build/tree$(sed -n 's/^prefix = //p' Makefile)" "$tree"
    flock -u 8
    exec 8>&-
    unset MAPSHMEM_INCLUDEDIR MAPSHMEM_LIBDIR MAPSHMEM_MODULEDIR MAPSHMEM_CC MAPSHMEM_CXX MAPSHMEM_FC
    PATH=$tree/bin:$PATH
    lib=$(cd "$tree" && find . -name 'libmapshmem.so.0' ! -path '*/nvshmem/*' -printf '%h\n' | sed 's,^\./,,')
    lib=$tree/$lib
}

# uses_tree PROGRAM...: whether each finds all its libraries, and libmapshmem in the tree, if it has that
uses_tree() {
    local program bad=0
    for program; do
        ldd "$program" | awk -v tree="$tree/" -v program="${program##*/}" '
            /not found/ || ($1 ~ /^libmapshmem/ && index($0, tree) == 0) { print program ": " $0; bad = 1 }
            END { exit bad }' || bad=1
    done >"$tap_output"
    return $bad
}

# Programs in C, C++ and Fortran that put a word to the next PE; each prints "PE N has M".
write_programs() {
    cat >"$1/ring.c" <<'END'
#include <shmem.h>
#include <stdio.h>
int main(void)
{
    static int word = -1;
    shmem_init();
    shmem_int_p(&word, shmem_my_pe(), (shmem_my_pe() + 1) % shmem_n_pes());
    shmem_barrier_all();
    printf("PE %d has %d\n", shmem_my_pe(), word);
    shmem_finalize();
    return 0;
}
END
    sed 's/shmem_int_p/shmem_p/' "$1/ring.c" >"$1/ring++.cpp"
    cat >"$1/ring90.f90" <<'END'
program ring
    use mapshmem
    implicit none
    integer, save :: word(1) = -1
    integer :: mine(1)
    call shmem_init()
    mine = shmem_my_pe()
    call shmem_put(word, mine, 1, mod(shmem_my_pe() + 1, shmem_n_pes()))
    call shmem_barrier_all()
    print '(a, i0, a, i0)', 'PE ', shmem_my_pe(), ' has ', word(1)
    call shmem_finalize()
end program
END
}

# ran NAME PROGRAM: two PEs, each with the number of the other
ran() {
    run 60 oshrun -n 2 "$2"
    if [ "$status" = 0 ] && [ "$(grep -c -e '^PE 0 has 1$' -e '^PE 1 has 0$' "$tap_output")" = 2 ]; then
        ok "$1"
    else
        not_ok "$1" "status $status"
    fi
}
