// SPDX-License-Identifier: BSD-3-Clause
//
// Kernels that end without a quiet, played by this thread: a barrier, a quiet and shmem_free complete what they have put.
// Each PE is a node, so a thread of the library carries it out.
#include <shmemx_device.h>

#include "check.h"

enum { N_ROWS = 200, ROW_BYTES = 16384, ROUNDS = 6 };

static char *rows;
static shmemx_device_view_t view;

static char value_of(int pe, int round)
{
    return static_cast<char>(10 * round + pe + 1);
}

static void put_all(int pe, const char *source)
{
    for (int i = 0; i < N_ROWS; i++)
        shmemx_device_putmem(shmemx_device_thread_t(), view, rows + i * static_cast<long>(ROW_BYTES), source, ROW_BYTES,
                             pe);
}

static void expect_all(int pe, int round)
{
    for (long i = 0; i < static_cast<long>(N_ROWS) * ROW_BYTES; i++)
        CHECK_THAT(rows[i] == value_of(pe, round), "round %d: byte %ld is %d, not %d", round, i, rows[i],
                   value_of(pe, round));
}

int main()
{
    setenv("SHMEM_NODE_SIZE", "1", 1);
    shmem_init();
    const int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, previous = (me + n - 1) % n;
    static char source[ROW_BYTES];
    static long told;
    rows = static_cast<char *>(shmem_calloc(N_ROWS, ROW_BYTES));
    CHECK(!shmemx_device_view(rows, &view));
    CHECK(n == 1 || view.ring->n_entries); // there is a thread that carries it out
    for (int round = 1; round <= ROUNDS; round++) {
        memset(source, value_of(me, round), sizeof source);
        put_all(next, source);
        if (round % 2) {
            shmem_barrier_all();
        } else {
            shmem_quiet();
            shmem_long_p(&told, round, next);
            shmem_long_wait_until(&told, SHMEM_CMP_EQ, round);
        }
        expect_all(previous, round);
        shmem_barrier_all();
    }
    // What has been handed over before the object ends does not come later, into one that takes its place.
    put_all(next, source);
    shmem_free(rows);
    rows = static_cast<char *>(shmem_malloc(static_cast<size_t>(N_ROWS) * ROW_BYTES));
    memset(rows, value_of(me, 0), static_cast<size_t>(N_ROWS) * ROW_BYTES);
    shmem_barrier_all();
    expect_all(me, 0);
    shmem_free(rows);
    shmem_finalize();
    if (me == 0)
        puts("ok");
}
