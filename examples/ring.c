/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ring: a number travels round all PEs. Each waits until it has come, adds 1, and puts it into the memory of the next
 * PE, together with a signal: whoever sees the signal sees the number.
 *
 *     oshcc -o ring ring.c
 *     oshrun -n 4 ./ring
 */
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>

static long number;
static uint64_t arrived; /* the signal; both are symmetric, as all static data are */

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), wrong = 0;
    if (me > 0) shmem_signal_wait_until(&arrived, SHMEM_CMP_EQ, 1);
    long next = number + 1;
    shmem_long_put_signal(&number, &next, 1, &arrived, 1, SHMEM_SIGNAL_SET, (me + 1) % n);
    if (me == 0) {
        shmem_signal_wait_until(&arrived, SHMEM_CMP_EQ, 1);
        wrong = number != n;
        printf("the number has come to %ld after %d PEs: %s\n", number, n, wrong ? "WRONG" : "verified");
    }
    shmem_finalize();
    return wrong;
}
