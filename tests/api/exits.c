/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ways to start and to end, chosen by name; startup.test checks them from outside.
 *   forgotten WHO        PEs end without shmem_finalize: all, or PE 1 alone a second before the others, or PE 1 while
 *                        the others wait for it in a barrier, for a signal, in a reduction; or while all others but
 *                        one, which is away for 14 s and then sets the signal, wait for it
 *   start_pes            never finalises: the end of the program does that, and completes pending operations
 *   global STATUS WHERE  PE 1 calls shmem_global_exit(STATUS) while the others are in WHERE: barrier, sync, wait,
 *                        compute, mixed; PE 1 leaves a text without a newline in its output
 *   every BASE           all PEs call shmem_global_exit(BASE + PE)
 *   before STATUS        PE 1 calls shmem_global_exit between shmem_finalize and the end
 *   heap BYTES           print the size of the heap; fail when BYTES cannot be allocated
 *   level                print nothing if shmem_init_thread returns nonzero, and end with status 3
 */
#include "check.h"

#include <shmemx.h>
#include <unistd.h>

static long word;
static unsigned char block[1 << 16], source[1 << 16];

static int implicit_end(void)
{
    start_pes(3);
    start_pes(0);
    const int me = _my_pe(), n = _num_pes();
    check_fill(source, sizeof source, (unsigned)me);
    shmem_putmem_nbi(block, source, sizeof source, (me + 1) % n);
    shmem_putmem_signal_nbi(block, source, sizeof source, (uint64_t *)&word, 9, SHMEM_SIGNAL_SET, (me + 1) % n);
    /* the last operations have to arrive, too, although only the end of the program waits for them */
    shmem_signal_wait_until((uint64_t *)&word, SHMEM_CMP_GE, 9);
    check_bytes("put with signal", block, sizeof block, (unsigned)((me + n - 1) % n));
    if (me == 0)
        usleep(300000); /* the end is collective: the others must not take the library away from this PE */
    shmem_long_p(&word, 10, (me + 1) % n);
    printf("PE %d of %d ends\n", me, n);
    return 0;
}

/* What the other PEs do when PE 1 has gone. */
static void go_on_without(const char *who, int me, int n)
{
    static long one = 1, sum;
    if (!strcmp(who, "one"))
        sleep(1);
    else if (!strcmp(who, "awaited"))
        shmem_barrier_all();
    else if (!strcmp(who, "reduction"))
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &one, 1);
    else if (!strcmp(who, "busy") && me == 0) {
        sleep(14);
        for (int pe = 1; pe < n; pe++)
            shmem_long_p(&word, 7, pe);
    } else
        shmem_long_wait_until(&word, SHMEM_CMP_EQ, 7);
}

/* An operation that is pending at the end is completed there, as shmem_finalize would. */
static int forgotten(const char *who)
{
    const int me = shmem_my_pe(), n = shmem_n_pes(), is_one = me == 1 % n;
    if (!strcmp(who, "all"))
        shmem_long_put_nbi(&word, &(long){me}, 1, (me + 1) % n);
    shmem_barrier_all();
    if (!strcmp(who, "all") || is_one)
        exit(0);
    go_on_without(who, me, n);
    shmem_finalize();
    return 0;
}

static void stay_in(const char *where)
{
    if (!strcmp(where, "barrier"))
        shmem_barrier_all();
    else if (!strcmp(where, "sync"))
        shmem_team_sync(SHMEM_TEAM_WORLD);
    else if (!strcmp(where, "wait"))
        shmem_long_wait_until(&word, SHMEM_CMP_EQ, 1);
    else
        for (volatile unsigned long turns = 0;; turns++)
            ;
    pause();
}

static int global(int status, const char *where)
{
    static const char *const places[] = {"barrier", "sync", "compute", "wait"};
    shmem_barrier_all();
    if (shmem_my_pe() != 1 % shmem_n_pes())
        stay_in(strcmp(where, "mixed") ? where : places[shmem_my_pe() % 4]);
    usleep(100000); /* time for the others to reach their place */
    printf("last words");
    shmem_global_exit(status);
}

static int print_heap(size_t nbytes)
{
    shmemx_heap_info_t info;
    shmemx_heap_info(&info);
    void *all = shmem_malloc(nbytes);
    if (shmem_my_pe() == 0)
        printf("heap %zu\n", info.size);
    if (nbytes && !all)
        fprintf(stderr, "PE %d: no %zu bytes in a heap of %zu\n", shmem_my_pe(), nbytes, info.size);
    memset(all ? all : &word, 1, all ? nbytes : sizeof word);
    shmem_free(all);
    shmem_finalize();
    return nbytes && !all;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "", *first = argc > 2 ? argv[2] : "0", *second = argc > 3 ? argv[3] : "";
    int provided;
    if (!strcmp(name, "start_pes"))
        return implicit_end();
    if (shmem_init_thread(SHMEM_THREAD_SINGLE, &provided))
        return 3;
    if (!strcmp(name, "forgotten"))
        return forgotten(first);
    if (!strcmp(name, "global"))
        return global(atoi(first), second);
    if (!strcmp(name, "every"))
        shmem_global_exit(atoi(first) + shmem_my_pe());
    if (!strcmp(name, "heap"))
        return print_heap(strtoull(first, NULL, 10));
    const int me = shmem_my_pe();
    shmem_finalize();
    if (!strcmp(name, "before") && me == 1)
        shmem_global_exit(atoi(first));
    sleep(!strcmp(name, "before") ? 20 : 0);
    return 0;
}
