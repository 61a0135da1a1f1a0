/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The program of doc/troubleshooting.md's commands: every PE counts on the next one. Under a watchdog the last PE is late,
 * so that there is something to see.
 */
#include <shmem.h>
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
    static long count;
    const char *watchdog = getenv("SHMEM_WATCHDOG");
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    if (watchdog && me == n - 1)
        sleep((unsigned)atoi(watchdog) + 2);
    shmem_long_atomic_inc(&count, (me + 1) % n);
    shmem_barrier_all();
    int wrong = count != 1;
    shmem_finalize();
    return wrong;
}
