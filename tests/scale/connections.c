/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every kind of operation from each PE to every other, by two threads, so that with a small SHMEM_CONNECTIONS connections
 * are closed and made again all the time. Argument: rounds.
 */
#include "shmem.h"
#include "shmemx.h"
#include "support/device.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORDS = 4096, PES_MAX = 64 };

static struct {
    uint64_t *rows;    /* a row of WORDS for each PE, which that PE writes */
    uint64_t *numbers; /* a word for each PE */
    uint64_t *sums, *signals, *counter;
    uint64_t *mapped; /* NULL: there is no device */
    int rounds, n_pes, me;
} test;

static void require(int condition, const char *what, int pe, uint64_t round)
{
    if (condition)
        return;
    fprintf(stderr, "PE %d, round %llu with PE %d: %s\n", test.me, (unsigned long long)round, pe, what);
    shmem_global_exit(1);
}

/* Long and short puts and gets, a signal, atomic operations: what is known of this PE's own writes is checked. */
static void talk_to(int pe, uint64_t round)
{
    static uint64_t source[WORDS], found[WORDS];
    const uint64_t value = round * 1000 + (uint64_t)test.me;
    uint64_t *row = test.rows + (size_t)test.me * WORDS;
    for (int i = 0; i < WORDS; i++)
        source[i] = value + (uint64_t)i;
    shmem_put64_nbi(row, source, WORDS, pe);
    shmem_uint64_p(&test.numbers[test.me], value, pe);
    shmem_uint64_atomic_add(&test.sums[pe], 1, pe);
    shmem_putmem_signal_nbi(&test.numbers[test.n_pes + test.me], &value, 8, &test.signals[test.me], 1, SHMEM_SIGNAL_ADD,
                            pe);
    if (test.mapped)
        shmem_uint64_p(&test.mapped[test.me], value, pe);
    shmem_quiet();
    shmem_get64(found, row, WORDS, pe);
    require(found[0] == value && found[WORDS - 1] == value + WORDS - 1, "a long get", pe, round);
    require(shmem_uint64_g(&test.numbers[test.me], pe) == value, "a short get", pe, round);
    require(!test.mapped || shmem_uint64_g(&test.mapped[test.me], pe) == value, "mapped memory", pe, round);
}

static void *count_up(void *unused)
{
    (void)unused;
    for (int i = 0; i < test.rounds * test.n_pes; i++)
        shmem_uint64_atomic_fetch_inc(test.counter, (test.me + i * 3) % test.n_pes);
    return NULL;
}

static long written_kib(void)
{
    char line[128];
    long kib = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "RssAnon: %ld", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib;
}

static void run_rounds(void)
{
    long half = 0;
    pthread_t counting;
    pthread_create(&counting, NULL, count_up, NULL);
    for (int round = 1; round <= test.rounds; round++) {
        for (int i = 1; i <= test.n_pes; i++)
            talk_to((test.me + i * (round % 2 ? 1 : test.n_pes - 1)) % test.n_pes, (uint64_t)round);
        if (round == test.rounds / 2)
            half = written_kib();
    }
    pthread_join(counting, NULL);
    if (test.me == 0)
        printf("memory %ld %ld KiB\n", half, written_kib());
}

static void check_end(void)
{
    const uint64_t rounds = (uint64_t)test.rounds, n = (uint64_t)test.n_pes;
    shmem_barrier_all();
    require(test.sums[test.me] == rounds * n, "atomic additions", test.me, rounds);
    require(*test.counter == rounds * n, "atomic increments of threads", test.me, rounds);
    for (int pe = 0; pe < test.n_pes; pe++) {
        require(test.signals[pe] == rounds, "signals", pe, rounds);
        require(test.numbers[test.n_pes + pe] == rounds * 1000 + (uint64_t)pe, "what came with a signal", pe, rounds);
        require(test.rows[(size_t)pe * WORDS + 1] == rounds * 1000 + (uint64_t)pe + 1, "a long put", pe, rounds);
    }
    for (int i = 0; i < test.n_pes; i++)
        test.rows[i] = (uint64_t)(test.me * 100 + i);
    uint64_t *all = shmem_malloc(PES_MAX * 8);
    shmem_uint64_alltoall(SHMEM_TEAM_WORLD, all, test.rows, 1);
    for (int i = 0; i < test.n_pes; i++)
        require(all[i] == (uint64_t)(i * 100 + test.me), "alltoall", i, 0);
    shmem_free(all);
}

int main(int argc, char **argv)
{
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    test.rounds = argc > 1 ? atoi(argv[1]) : 10;
    test.n_pes = shmem_n_pes();
    test.me = shmem_my_pe();
    require(test.n_pes <= PES_MAX, "too many PEs", 0, 0);
    test.rows = shmem_calloc((size_t)test.n_pes * WORDS, 8);
    test.numbers = shmem_calloc(2 * PES_MAX, 8);
    test.sums = shmem_calloc(PES_MAX, 8);
    test.signals = shmem_calloc(PES_MAX, 8);
    test.counter = shmem_calloc(1, 8);
    const struct device_ops *ops = device_find("opencl");
    struct device *dev = ops->open(0, NULL);
    struct buffer *buffer = dev ? device_alloc(dev, PES_MAX * 8) : NULL;
    test.mapped = buffer ? shmmap(buffer, PES_MAX * 8, OSHM_MEMTYPE_OPENCL) : NULL;
    shmem_barrier_all();
    run_rounds();
    check_end();
    if (test.me == 0)
        puts("ok");
    shmem_finalize();
    return 0;
}
