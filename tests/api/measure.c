/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program for tests/api/measure.test, which checks statistics, traces and the watchdog from outside. Chosen by name:
 *   work           a known number of operations of each kind, each PE to the next one
 *   late WHERE     PE 1 comes two and a half seconds later than the others: to barrier, wait, lock, collective, malloc,
 *                  map, team
 *   die            an error that ends the job after some work
 *   exit           PE 1 calls shmem_global_exit after some work
 *   kill           PE 1 kills itself after some work
 */
#include "check.h"

#include <shmemx.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

enum { LATE_US = 2500000 };

static long words[8], fetched, lock_word;
static uint64_t signal_word;
static char area[4096];

static void work(void)
{
    const int me = shmem_my_pe(), next = (me + 1) % shmem_n_pes();
    char mine[4096] = {0};
    double value = 1;
    char *heap = shmem_malloc(sizeof mine);           /* barrier */
    long *counter = shmem_calloc(8, sizeof *counter); /* barrier */
    short *small = shmem_malloc(64 * sizeof *small);  /* barrier */
    for (int i = 0; i < 10; i++)
        shmem_putmem(heap, mine, 100, next);
    for (int i = 0; i < 5; i++)
        shmem_getmem(mine, heap, 200, next);
    for (int i = 0; i < 3; i++)
        shmem_putmem_nbi(heap, mine, 1000, next);
    for (int i = 0; i < 4; i++)
        shmem_getmem_nbi(mine, heap, 2000, next);
    shmem_quiet(); /* quiet */
    for (int i = 0; i < 6; i++)
        shmem_long_p(&counter[1], 7, next);
    (void)shmem_long_g(&counter[1], next);
    shmem_short_iput(small, (short *)mine, 2, 3, 16, next);
    shmem_short_iget((short *)mine, small, 3, 2, 8, next);
    for (int i = 0; i < 9; i++)
        shmem_long_atomic_add(&counter[0], 1, next);
    shmem_long_atomic_fetch_add_nbi(&fetched, &counter[0], 1, next);
    shmem_signal_add(&signal_word, 3, next);
    shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 3);
    shmem_putmem(area, mine, 4096, next);
    shmemx_put_deep(heap, sizeof mine, &value, shmemx_type_find("double"), 1, next); /* a put of 136 bytes */
    shmem_quiet();                                                                   /* quiet */
    shmemx_get_deep(&value, heap, shmemx_type_find("double"), 1, next);              /* a get */
    shmem_set_lock(&lock_word);
    shmem_clear_lock(&lock_word);
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, words, words + 4, 4);
    shmem_barrier_all(); /* barrier */
    shmem_sync_all();    /* barrier */
}

static void come_late(const char *where)
{
    const int me = shmem_my_pe(), late = 1 % shmem_n_pes();
    bool is_late = me == late;
    if (!strcmp(where, "lock") && is_late)
        shmem_set_lock(&lock_word);
    shmem_barrier_all();
    if (is_late)
        usleep(LATE_US);
    if (!strcmp(where, "barrier"))
        shmem_barrier_all();
    if (!strcmp(where, "collective"))
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, words, words + 4, 4);
    if (!strcmp(where, "malloc"))
        shmem_malloc(8);
    if (!strcmp(where, "map"))
        shmmap(NULL, 8, OSHM_MEMTYPE_CUDA);
    if (!strcmp(where, "team"))
        shmem_team_sync(SHMEM_TEAM_WORLD);
    if (!strcmp(where, "wait") && is_late)
        shmem_long_p(&words[2], 77, 0);
    if (!strcmp(where, "wait") && me == 0)
        shmem_long_wait_until(&words[2], SHMEM_CMP_GE, 77);
    if (!strcmp(where, "lock") && !is_late)
        shmem_set_lock(&lock_word);
    if (!strcmp(where, "lock"))
        shmem_clear_lock(&lock_word);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "work";
    shmem_init();
    const int me = shmem_my_pe();
    if (!strcmp(what, "late"))
        come_late(argc > 2 ? argv[2] : "barrier");
    else
        work();
    if (!strcmp(what, "die"))
        shmem_putmem(area, area, 8, 1000);
    if (!strcmp(what, "exit") && me == 1 % shmem_n_pes())
        shmem_global_exit(3);
    if (!strcmp(what, "kill") && me == 1 % shmem_n_pes()) {
        usleep(300000); /* the others wait and write their reports */
        raise(SIGKILL);
    }
    if (!strcmp(what, "exit") || !strcmp(what, "kill"))
        shmem_barrier_all();
    shmem_finalize();
    return 0;
}
