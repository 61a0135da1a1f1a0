/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hello: every PE says who it is, and adds itself to a counter in the memory of PE 0.
 *
 *     oshcc -o hello hello.c
 *     oshrun -n 4 ./hello
 */
#include <shmem.h>
#include <stdio.h>

static int count; /* static data are symmetric: each PE has one, and the others reach it */

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), wrong = 0;
    printf("Hello from PE %d of %d\n", me, n);
    shmem_int_atomic_inc(&count, 0); /* the one of PE 0 */
    shmem_barrier_all();             /* all additions have arrived */
    if (me == 0) {
        wrong = count != n;
        printf("%d of %d PEs have been counted: %s\n", count, n, wrong ? "WRONG" : "verified");
    }
    shmem_finalize();
    return wrong;
}
