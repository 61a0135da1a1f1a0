/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program as benchmarks were written for OpenSHMEM 1.0 to 1.2, with the names and habits of that time: start_pes, PEs
 * by _my_pe and _num_pes, shmalloc, static data as buffers, active sets with pSync and pWrk in static data, and no
 * shmem_finalize. published.test builds it from object files, as their makefiles do.
 *
 *   published NUMBER    every PE ends with this status before it has done anything
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <shmem.h>

#define LARGEST (1 << 20)
#define ELEMENTS 256

static char global_source[LARGEST], global_dest[LARGEST];
static long barrier_sync[_SHMEM_BARRIER_SYNC_SIZE], broadcast_sync[_SHMEM_BCAST_SYNC_SIZE];
static long collect_sync[_SHMEM_COLLECT_SYNC_SIZE], reduce_sync[_SHMEM_REDUCE_SYNC_SIZE];
static float work[ELEMENTS / 2 + 1 + _SHMEM_REDUCE_MIN_WRKDATA_SIZE]; /* at least the larger of the two */
static float sums[ELEMENTS], values[ELEMENTS];
static int32_t words[ELEMENTS], all_words[64 * ELEMENTS];
static long long counter;
static int small_counter;

static void expect(int condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "PE %d: %s: wrong\n", _my_pe(), what);
    exit(1);
}

static void fill_sync(long *sync, int count)
{
    for (int i = 0; i < count; i++)
        sync[i] = _SHMEM_SYNC_VALUE;
}

static void transfer(char *source, char *dest, const char *where)
{
    int next = (_my_pe() + 1) % _num_pes(), previous = (_my_pe() + _num_pes() - 1) % _num_pes();
    memset(source, 'a' + _my_pe(), LARGEST);
    memset(dest, 0, LARGEST);
    shmem_barrier_all();
    shmem_putmem(dest, source, LARGEST, next);
    shmem_quiet();
    shmem_barrier_all();
    expect(dest[0] == 'a' + previous && dest[LARGEST - 1] == 'a' + previous, where);
    shmem_barrier_all();
    shmem_getmem(dest, source, LARGEST, next);
    expect(dest[0] == 'a' + next && dest[LARGEST - 1] == 'a' + next, where);
    shmem_barrier_all();
}

static void atomics(void)
{
    int n = _num_pes();
    shmem_longlong_inc(&counter, 0);
    shmem_longlong_add(&counter, 2, 0);
    shmem_longlong_finc(&counter, 0);
    shmem_longlong_fadd(&counter, 3, 0);
    shmem_int_inc(&small_counter, 0);
    shmem_int_finc(&small_counter, 0);
    shmem_barrier_all();
    expect(_my_pe() != 0 || (counter == 7 * n && small_counter == 2 * n), "atomics");
    shmem_barrier_all();
    if (_my_pe() == n - 1) {
        expect(shmem_longlong_cswap(&counter, 7 * n, 5, 0) == 7 * n, "longlong_cswap");
        expect(shmem_longlong_swap(&counter, 6, 0) == 5, "longlong_swap");
        expect(shmem_int_cswap(&small_counter, 0, 1, 0) == 2 * n, "int_cswap");
    }
    shmem_barrier_all();
}

static void collectives(void)
{
    int me = _my_pe(), n = _num_pes();
    for (int i = 0; i < ELEMENTS; i++) {
        words[i] = 1000 * me + i;
        values[i] = (float)(me + i);
    }
    shmem_barrier_all();
    shmem_broadcast32(all_words, words, ELEMENTS, 0, 0, 0, n, broadcast_sync);
    expect(me == 0 || all_words[ELEMENTS - 1] == ELEMENTS - 1, "broadcast32");
    shmem_barrier(0, 0, n, barrier_sync);
    shmem_fcollect32(all_words, words, ELEMENTS, 0, 0, n, collect_sync);
    expect(all_words[n * ELEMENTS - 1] == 1000 * (n - 1) + ELEMENTS - 1, "fcollect32");
    shmem_barrier(0, 0, n, barrier_sync);
    shmem_float_sum_to_all(sums, values, ELEMENTS, 0, 0, n, work, reduce_sync);
    expect(sums[1] == (float)(n * (n - 1) / 2 + n), "float_sum_to_all");
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    start_pes(0);
    if (argc > 1)
        return atoi(argv[1]);
    fill_sync(barrier_sync, _SHMEM_BARRIER_SYNC_SIZE);
    fill_sync(broadcast_sync, _SHMEM_BCAST_SYNC_SIZE);
    fill_sync(collect_sync, _SHMEM_COLLECT_SYNC_SIZE);
    fill_sync(reduce_sync, _SHMEM_REDUCE_SYNC_SIZE);
    shmem_barrier_all();
    char *source = shmalloc(LARGEST), *dest = shmemalign(64, LARGEST);
    expect(source && dest, "shmalloc");
    transfer(source, dest, "a buffer of shmalloc");
    transfer(global_source, global_dest, "static data");
    atomics();
    collectives();
    shfree(dest);
    shfree(source);
    printf("PE %d of %d is done\n", _my_pe(), _num_pes());
    return 0;
}
