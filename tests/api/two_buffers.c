/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives in a row, without a barrier between them, that alternate two dests (and two pSyncs): a PE that is quick
 * must not write into a dest that a slow one still reads. Some PEs sleep after each call, check what has come and
 * overwrite it.
 */
#include "check.h"

#include <unistd.h>

enum { CALLS = 12, NELEMS_MOST = 20000, SLOW_US = 2000 };

static long syncs[2][SHMEM_SYNC_SIZE];
static int *dests[2], *source;

enum kind { BROADCAST, ACTIVE_SET, ROOTS, FCOLLECT, ALLTOALL, MIXED, KINDS };
static const char *const names[KINDS] = {"broadcast", "broadcast32", "broadcast from changing roots",
                                         "fcollect",  "alltoall",    "broadcast, fcollect, alltoall in turns"};

/* What member `from` sends to member `to` in a call. */
static int value_of(int call, int from, int to)
{
    return call * 10000 + from * 100 + to;
}

static void check_block(const char *name, int call, const int *block, size_t nelems, int expected)
{
    for (size_t i = 0; i < nelems; i++)
        CHECK_THAT(block[i] == expected, "%s of %zu elements, call %d: element %zu is %d, not %d", name, nelems, call,
                   i, block[i], expected);
}

static void fill(int *block, size_t nelems, int value)
{
    for (size_t i = 0; i < nelems; i++)
        block[i] = value;
}

static void broadcast(enum kind kind, int call, size_t nelems)
{
    const int me = shmem_my_pe(), n = shmem_n_pes(), root = kind == ROOTS ? call / 3 % n : 0;
    int *dest = dests[call % 2];
    if (me == root)
        fill(source, nelems, value_of(call, root, 0));
    if (kind == ACTIVE_SET)
        shmem_broadcast32(dest, source, nelems, root, 0, 0, n, syncs[call % 2]);
    else
        shmem_int_broadcast(SHMEM_TEAM_WORLD, dest, source, nelems, root);
    if (me == root)
        return;
    usleep(SLOW_US);
    check_block(names[kind], call, dest, nelems, value_of(call, root, 0));
    fill(dest, nelems, -1);
}

/* With blocks of all members; a different one is slow in each call. */
static void exchange(enum kind kind, int call, size_t nelems)
{
    const int me = shmem_my_pe(), n = shmem_n_pes();
    const size_t each = nelems / (size_t)n;
    int *dest = dests[call % 2];
    for (int to = 0; to < n; to++)
        fill(source + (size_t)to * each, each, value_of(call, me, kind == FCOLLECT ? 0 : to));
    if (kind == FCOLLECT)
        shmem_int_fcollect(SHMEM_TEAM_WORLD, dest, source, each);
    else
        shmem_int_alltoall(SHMEM_TEAM_WORLD, dest, source, each);
    if (call % n == me)
        usleep(SLOW_US);
    for (int from = 0; from < n; from++)
        check_block(names[kind], call, dest + (size_t)from * each, each,
                    value_of(call, from, kind == FCOLLECT ? 0 : me));
    fill(dest, nelems, -1);
}

static void call_one(enum kind kind, int call, size_t nelems)
{
    static const enum kind in_turns[] = {BROADCAST, FCOLLECT, ROOTS, BROADCAST, ALLTOALL, ROOTS, ROOTS};
    if (kind == MIXED)
        kind = in_turns[(size_t)call % (sizeof in_turns / sizeof in_turns[0])];
    if (kind == FCOLLECT || kind == ALLTOALL)
        exchange(kind, call, nelems);
    else
        broadcast(kind, call, nelems);
}

int main(void)
{
    static const size_t nelems[] = {8, 600, 4096, NELEMS_MOST};
    shmem_init();
    for (int i = 0; i < 2; i++)
        dests[i] = check_shmem_malloc(NELEMS_MOST * sizeof(int));
    source = check_shmem_malloc(NELEMS_MOST * sizeof(int));
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t i = 0; i < sizeof nelems / sizeof nelems[0]; i++) {
            shmem_barrier_all();
            for (int call = 0; call < CALLS; call++)
                call_one((enum kind)kind, call, nelems[i]);
        }
    return check_end();
}
