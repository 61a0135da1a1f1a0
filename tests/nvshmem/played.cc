// SPDX-License-Identifier: BSD-3-Clause
//
// Device calls with NVSHMEM's names without a GPU: threads of each PE play the block of a kernel, and the program does what
// libnvshmem_host does for kernels. The slab is MapSHMEM's heap, and static data take the place of a registered buffer.
#include <shmemx_device.h>

#define NVSHMEMI_NO_CUDA_TYPES 1
#define NVSHMEMI_PLAYED 1
#include <mapshmem_nvshmem/unit_state.h>

static struct nvshmemi_mapshmem_state nvshmemi_mapshmem_state;

#include <mapshmem_nvshmem/kernel_calls.h>

#define CHECK_FOR_RMA_TYPES NVSHMEMI_FOR_RMA_TYPES
#define CHECK_FOR_COLLECT_TYPES NVSHMEMI_FOR_RMA_TYPES
#define CHECK_FOR_SIZES NVSHMEMI_FOR_SIZES
#define CHECK_FOR_AMO_TYPES NVSHMEMI_FOR_AMO_TYPES
#define CHECK_FOR_EXTENDED_AMO_TYPES NVSHMEMI_FOR_EXTENDED_AMO_TYPES
#define CHECK_FOR_BITWISE_AMO_TYPES NVSHMEMI_FOR_BITWISE_AMO_TYPES
#define CHECK_FOR_WAIT_TYPES NVSHMEMI_FOR_WAIT_TYPES
#define CHECK_FOR_REDUCTIONS(X)                                                                                        \
    NVSHMEMI_FOR_REDUCE_TYPES(X, sum, CHECK_SUM, )                                                                     \
    NVSHMEMI_FOR_REDUCE_TYPES(X, prod, CHECK_PROD, )                                                                   \
    NVSHMEMI_FOR_REDUCE_TYPES(X, min, CHECK_MIN, )                                                                     \
    NVSHMEMI_FOR_REDUCE_TYPES(X, max, CHECK_MAX, )                                                                     \
    NVSHMEMI_FOR_BITWISE_REDUCE_TYPES(X, and, CHECK_AND, )                                                             \
    NVSHMEMI_FOR_BITWISE_REDUCE_TYPES(X, or, CHECK_OR, )                                                               \
    NVSHMEMI_FOR_BITWISE_REDUCE_TYPES(X, xor, CHECK_XOR, )
#include "kernel_collective_checks.h"

#include "../api/check.h"

enum { THREADS = 3, ROW_TEAM = 4, TEAMS = 5, SLOT_BYTES = 1024 };

static shmemx_device_team_t teams[TEAMS];
static check_memory elsewhere; // symmetric, not in the heap

static void words_of_all_types(const check_run &run)
{
    check_queries(run);
    check_signals(run);
#define CALL(TYPENAME, ...) check_transfers_##TYPENAME(run);
    NVSHMEMI_FOR_RMA_TYPES(CALL, )
    NVSHMEMI_FOR_SIZES(CALL, )
    check_transfers_mem(run);
#undef CALL
#define CALL(TYPENAME, ...) check_atomics_##TYPENAME(run);
    NVSHMEMI_FOR_AMO_TYPES(CALL, )
#undef CALL
#define CALL(TYPENAME, ...) check_values_##TYPENAME(run);
    NVSHMEMI_FOR_EXTENDED_AMO_TYPES(CALL, )
#undef CALL
#define CALL(TYPENAME, ...) check_bits_##TYPENAME(run);
    NVSHMEMI_FOR_BITWISE_AMO_TYPES(CALL, )
#undef CALL
#define CALL(TYPENAME, ...) check_waits_##TYPENAME(run);
    NVSHMEMI_FOR_WAIT_TYPES(CALL, )
#undef CALL
}

static void collectives_of_all_types(const check_run &run, unsigned n)
{
    check_barriers(run);
    check_collects_mem(run, n);
#define CALL(TYPENAME, ...) check_collects_##TYPENAME(run, n);
    NVSHMEMI_FOR_RMA_TYPES(CALL, )
#undef CALL
#define CALL(TYPENAME, TYPE, OP, ...) check_##OP##_##TYPENAME(run, n);
    CHECK_FOR_REDUCTIONS(CALL)
#undef CALL
}

static void play(const check_run &run)
{
    shmemx_device_host_launch(1, THREADS, [&] {
        const unsigned counts[] = {1, 16, SLOT_BYTES / 8, CHECK_COUNT};
        words_of_all_types(run);
        for (unsigned n : counts)
            collectives_of_all_types(run, n);
    });
    CHECK_THAT(!*run.failed, "the check in line %d of kernel_checks.h or kernel_collective_checks.h has failed",
               *run.failed);
    shmem_barrier_all();
}

// Memory that is in no object: this PE's kernels use it as it is, whatever the call.
static void use_own_memory()
{
    enum { N = 40 };
    const int me = nvshmem_my_pe();
    static uint64_t source[N], dest[N], signal;
    for (unsigned i = 0; i < N; i++)
        source[i] = 100 + i;
    shmemx_device_host_launch(1, THREADS, [&] {
        const bool is_first = is_thread();
        nvshmemx_uint64_put_block(dest, source, 10, me);
        nvshmemx_uint64_get_block(dest + 10, source + 10, 5, me);
        if (is_first) {
            nvshmem_uint64_p(&dest[15], nvshmem_uint64_g(&source[15], me), me);
            nvshmem_uint64_iput(dest + 16, source + 16, 2, 2, 2, me);
            nvshmem_uint64_iget(dest + 17, source + 17, 2, 2, 2, me);
            nvshmem_uint64_atomic_add(&dest[20], 120, me);
            nvshmemx_signal_op(&dest[21], 121, NVSHMEM_SIGNAL_SET, me);
            nvshmem_fence();
        }
        nvshmemx_uint64_put_signal_block(dest + 22, source + 22, N - 22, &signal, 1, NVSHMEM_SIGNAL_ADD, me);
        nvshmem_signal_wait_until(&signal, NVSHMEM_CMP_EQ, 1);
        nvshmem_uint64_wait_until_all(dest, 1, NULL, NVSHMEM_CMP_EQ, 100);
        nvshmem_quiet();
    });
    for (unsigned i = 0; i < N; i++)
        CHECK_THAT(dest[i] == source[i], "word %u is %lu", i, static_cast<unsigned long>(dest[i]));
    memset(dest, 0, sizeof dest);
    signal = 0;
}

static void add_team(int number, shmem_team_t team, void *work, size_t nbytes)
{
    CHECK(!shmemx_device_team_view(team, work, nbytes, &teams[number]));
}

int main(int argc, char **)
{
    shmem_init();
    const int me = shmem_my_pe(), n_pes = shmem_n_pes();
    const size_t work_bytes = (SHMEMX_DEVICE_WORK_BYTES(n_pes, SLOT_BYTES) + 63) / 64 * 64;
    check_memory *own = static_cast<check_memory *>(shmem_calloc(1, sizeof *own));
    char *work = static_cast<char *>(shmem_align(64, 2 * work_bytes));
    memset(work, 0, 2 * work_bytes);
    shmem_team_t row, column;
    shmem_team_split_2d(SHMEM_TEAM_WORLD, (n_pes + 1) / 2, nullptr, 0, &row, nullptr, 0, &column);
    add_team(NVSHMEM_TEAM_WORLD, SHMEM_TEAM_WORLD, work, work_bytes);
    add_team(ROW_TEAM, row, work + work_bytes, work_bytes);
    static shmemx_device_view_t objects[2];
    CHECK(!shmemx_device_view(own, &nvshmemi_mapshmem_state.slab) && !shmemx_device_view(&elsewhere, &objects[0]));
    objects[1] = objects[0]; // as units.c makes it
    objects[1].own = nullptr;
    objects[1].size = ~0ull;
    objects[1].waits = nullptr;
    objects[1].first_pe = me;
    objects[1].n_near = 1;
    objects[1].near[0] = 0;
    nvshmemi_mapshmem_state.objects = objects;
    nvshmemi_mapshmem_state.n_objects = 1;
    nvshmemi_mapshmem_state.teams = teams;
    nvshmemi_mapshmem_state.n_teams = TEAMS;
    check_run run = {own, static_cast<unsigned char *>(malloc(sizeof own->collected)), NVSHMEM_TEAM_WORLD,
                     static_cast<int *>(calloc(1, sizeof(int)))};
    shmem_barrier_all();
    use_own_memory();
    if (argc > 1) // ends the job
        nvshmem_int_p(static_cast<int *>(malloc(sizeof(int))), 1, (me + 1) % n_pes);
    play(run);
    run.team = ROW_TEAM;
    run.own = &elsewhere;
    play(run);
    free(run.failed);
    free(run.local);
    shmem_finalize();
    if (me == 0)
        puts("ok");
}
