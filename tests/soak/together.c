/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What all PEs do together while the threads run: collectives, teams, allocation, locks, mapping, queues. All draw the
 * same numbers. Buffers are used again as soon as a barrier allows it.
 */
#include "tests/patience.h"
#include "soak.h"

enum { TIMES = 8, WORDS = 1024, BLOCKS = 6, BLOCK_MAX = 64 << 10, SCRATCH_MAX = 256 << 10 };

static struct random numbers; /* the same on all PEs */
static uint64_t *source, *dest, *flag;
static uint64_t n_sent; /* through queues */
static unsigned long n_operations;

static struct block {
    unsigned char *memory;
    size_t nbytes;
    unsigned seed;
} blocks[BLOCKS];

static long lock, *guarded;
static long n_locked;

static uint64_t value_of(int pe, size_t i, uint64_t salt)
{
    return salt + (uint64_t)pe * 1000003 + i * 31;
}

static void expect(const char *what, size_t i, uint64_t found, uint64_t expected)
{
    CHECK_THAT(found == expected, "seed %llu, phase %d: %s: word %zu is %llu, expected %llu",
               (unsigned long long)soak.seed, soak.phase, what, i, (unsigned long long)found,
               (unsigned long long)expected);
}

/* ---- Collectives ------------------------------------------------------------------------------------------------- */

static size_t fill(uint64_t salt, size_t blocks_of_n)
{
    size_t n = 1 + random_below(&numbers, (size_t)1 << random_below(&numbers, 11));
    for (size_t i = 0; i < n * blocks_of_n; i++)
        source[i] = value_of(soak.me, i, salt);
    shmem_sync_all();
    return n;
}

static void broadcast(uint64_t salt)
{
    int root = (int)(salt % (uint64_t)soak.n);
    size_t n = fill(salt, 1);
    CHECK(shmem_uint64_broadcast(SHMEM_TEAM_WORLD, dest, source, n, root) == 0);
    for (size_t i = 0; i < n; i++)
        expect("broadcast", i, dest[i], value_of(root, i, salt));
}

static void fcollect(uint64_t salt)
{
    size_t n = fill(salt, 1);
    CHECK(shmem_uint64_fcollect(SHMEM_TEAM_WORLD, dest, source, n) == 0);
    for (size_t i = 0; i < n * (size_t)soak.n; i++)
        expect("fcollect", i, dest[i], value_of((int)(i / n), i % n, salt));
}

static void alltoall(uint64_t salt)
{
    size_t n = fill(salt, (size_t)soak.n);
    CHECK(shmem_uint64_alltoall(SHMEM_TEAM_WORLD, dest, source, n) == 0);
    for (size_t i = 0; i < n * (size_t)soak.n; i++)
        expect("alltoall", i, dest[i], value_of((int)(i / n), (size_t)soak.me * n + i % n, salt));
}

static void sum(shmem_team_t team, int first, int stride, uint64_t salt)
{
    size_t n = fill(salt, 1);
    if (team == SHMEM_TEAM_INVALID)
        return;
    int size = shmem_team_n_pes(team);
    CHECK(shmem_uint64_sum_reduce(team, dest, source, n) == 0);
    for (size_t i = 0; i < n; i++) {
        uint64_t expected = 0;
        for (int pe = 0; pe < size; pe++)
            expected += value_of(first + pe * stride, i, salt);
        expect("sum_reduce", i, dest[i], expected);
    }
}

static void reduce(uint64_t salt)
{
    sum(SHMEM_TEAM_WORLD, 0, 1, salt);
}

static void scan(uint64_t salt)
{
    size_t n = fill(salt, 1);
    CHECK(shmem_uint64_sum_inscan(SHMEM_TEAM_WORLD, dest, source, n) == 0);
    for (size_t i = 0; i < n; i++) {
        uint64_t expected = 0;
        for (int pe = 0; pe <= soak.me; pe++)
            expected += value_of(pe, i, salt);
        expect("sum_inscan", i, dest[i], expected);
    }
}

/* ---- Teams and their contexts ------------------------------------------------------------------------------------ */

static void put_through(shmem_ctx_t ctx, int me, int n, uint64_t salt)
{
    shmem_ctx_uint64_p(ctx, &dest[0], salt + (uint64_t)me, (me + 1) % n);
    shmem_ctx_quiet(ctx);
    shmem_ctx_destroy(ctx);
}

static void team(uint64_t salt)
{
    int stride = 1 + (int)(salt % 2), first = (int)(salt / 2 % (uint64_t)soak.n);
    int size = (soak.n - first + stride - 1) / stride;
    shmem_team_t half = SHMEM_TEAM_INVALID;
    shmem_ctx_t ctx;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, first, stride, size, NULL, 0, &half) == 0);
    sum(half, first, stride, salt);
    if (half == SHMEM_TEAM_INVALID)
        return;
    const int me = shmem_team_my_pe(half);
    shmem_team_sync(half);
    CHECK(shmem_team_create_ctx(half, 0, &ctx) == 0);
    put_through(ctx, me, size, salt);
    shmem_team_sync(half);
    expect("p through a team's context", 0, dest[0], salt + (uint64_t)((me + size - 1) % size));
    shmem_team_destroy(half);
}

/* ---- The heap ---------------------------------------------------------------------------------------------------- */

static void write_block(struct block *block, uint64_t salt)
{
    int next = (soak.me + 1) % soak.n;
    unsigned char *bytes = check_malloc(block->nbytes);
    block->seed = (unsigned)(salt % 1000);
    check_fill(bytes, block->nbytes, block->seed + (unsigned)soak.me);
    shmem_putmem(block->memory, bytes, block->nbytes, next);
    shmem_barrier_all();
    free(bytes);
}

static void check_block(const struct block *block)
{
    int before = (soak.me + soak.n - 1) % soak.n;
    check_bytes("block of the heap", block->memory, block->nbytes, block->seed + (unsigned)before);
}

static void heap(uint64_t salt)
{
    struct block *block = &blocks[salt % BLOCKS];
    size_t nbytes = 1 + random_below(&numbers, BLOCK_MAX);
    if (block->memory) {
        check_block(block);
        shmem_free(block->memory);
        block->memory = NULL;
        return;
    }
    block->nbytes = nbytes;
    block->memory = salt / BLOCKS % 3 == 0 ? shmem_align(4096, nbytes)
                    : salt % 2             ? shmem_calloc(nbytes, 1)
                                           : shmem_malloc(nbytes);
    CHECK_THAT(block->memory, "seed %llu, phase %d: %zu bytes of the heap were refused", (unsigned long long)soak.seed,
               soak.phase, nbytes);
    write_block(block, salt);
}

/* ---- A lock ------------------------------------------------------------------------------------------------------ */

static void locked(uint64_t salt)
{
    if (salt % 2)
        shmem_set_lock(&lock);
    else
        for (unsigned turns = 0; shmem_test_lock(&lock);)
            wait_a_turn(&turns);
    shmem_long_p(guarded, shmem_long_g(guarded, 0) + 1, 0);
    shmem_clear_lock(&lock);
    shmem_barrier_all();
    n_locked++;
    expect("the word that a lock guards", 0, (uint64_t)shmem_long_g(guarded, 0), (uint64_t)(n_locked * soak.n));
    shmem_sync_all();
}

/* ---- Mapped memory and queues: the first half of a buffer to the second half of the next PE's --------------------- */

static void send_in_queue(struct device *device, char *mapped, size_t half)
{
    struct queue *queue = device->ops->gpu.first_queue(device);
    n_sent++;
    device->ops->gpu.put_signal(queue, mapped + half, mapped, half, flag, n_sent, (soak.me + 1) % soak.n);
    device->ops->gpu.signal_wait(queue, flag, n_sent);
    device->ops->gpu.finish(queue);
    shmem_barrier_all();
}

static void map(uint64_t salt)
{
    if (soak.n_areas == 2)
        return;
    struct device *device = soak.areas[2 + salt % (uint64_t)(soak.n_areas - 2)].device;
    size_t half = 8 + random_below(&numbers, SCRATCH_MAX) / 8 * 8;
    bool by_queue = random_below(&numbers, 2);
    struct buffer *object = device_alloc(device, 2 * half);
    unsigned char *bytes = check_malloc(half);
    check_fill(bytes, half, (unsigned)(salt % 1000) + (unsigned)soak.me);
    device_write(device, object, 0, bytes, half);
    char *mapped = shmmap(object, 2 * half, device->ops->memtype);
    CHECK_THAT(mapped, "seed %llu, phase %d: shmmap: %s", (unsigned long long)soak.seed, soak.phase, shmemx_strerror());
    if (by_queue)
        send_in_queue(device, mapped, half);
    else
        shmem_putmem(mapped + half, mapped, half, (soak.me + 1) % soak.n);
    shmem_barrier_all();
    device_read(device, bytes, object, half, half);
    check_bytes("put to mapped memory", bytes, half,
                (unsigned)(salt % 1000) + (unsigned)((soak.me + soak.n - 1) % soak.n));
    shmumap(mapped);
    device_free(device, object);
    free(bytes);
}

/* ------------------------------------------------------------------------------------------------------------------ */

void together_prepare(void)
{
    const size_t nbytes = (size_t)soak.n * WORDS * sizeof *source;
    source = check_shmem_malloc(nbytes);
    dest = check_shmem_malloc(nbytes);
    flag = shmem_calloc(1, sizeof *flag);
    guarded = shmem_calloc(1, sizeof *guarded);
    CHECK(flag && guarded);
}

void together_run(void)
{
    typedef void (*operation_func_t)(uint64_t);
    static const operation_func_t operations[] = {broadcast, fcollect, alltoall, reduce, scan,
                                                  team,      heap,     heap,     locked, map};
    numbers = random_start(soak.seed, soak.phase, 0);
    for (int i = 0; i < TIMES; i++) {
        uint64_t salt = random_next(&numbers) % 1000000;
        shmem_barrier_all(); /* nobody reads dest any more */
        operations[random_below(&numbers, sizeof operations / sizeof operations[0])](salt);
        n_operations++;
    }
}

unsigned long together_operations(void)
{
    return n_operations;
}
