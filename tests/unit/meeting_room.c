/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Do the kernels of all members of a meeting find room on a GPU that they share? The real plan of the launches, for all
 * numbers of members, kinds of meetings, and sizes around the limits; and a GPU that is played: blocks take threads and
 * registers of multiprocessors, a kernel's after all those of the kernels that came before; a block of a meeting waits
 * until all members have begun the block of its number; and a kernel that may begin early takes its room as soon as the
 * one before lets it. Members launch one meeting after the other, and each takes all the room that it gets before the
 * next one launches.
 */
#include "gpu/device/streams/meeting_streams.h"
#include "gpu/device/gpu_copies.h"
#include "gpu/device/kernels/kernel_lists.h"
#include "gpu/device/streams/program_streams.h"

static int launch_here(struct shmemi_gpu_context *context, enum shmemi_kernel kernel, unsigned blocks, unsigned threads,
                       void *stream, void **arguments);
static int combine_here(struct shmemi_gpu_context *context, void *stream, const struct shmemi_combination *combination);
static int rows_here(const struct shmemi_place *dest, const struct shmemi_place *source,
                     const struct shmemi_shape *shape, void *stream);
static int sharers_here(int type, int device);
#define shmemi_gpu_launch_early launch_here
#define shmemi_gpu_combine_in combine_here
#define shmemi_gpu_rows_enqueue rows_here
#define shmemi_memory_sharers_of sharers_here
#include "gpu/device/streams/meet.c"

#include "unit.h"

#include <string.h>

enum {
    MEMBERS = SHMEMI_MEETING_MEMBERS,
    MEETINGS = 4,
    GRIDS = 16 + 2 * MEMBERS,
    BLOCKS = 1024,
    SMS = 132,
    SM_REGISTERS = 65536
};

struct grid {
    unsigned blocks, threads, registers;
    bool waits, holds_next, is_early;
};

static struct {
    struct grid grid[GRIDS];
    unsigned n, launched, head;          /* the grids before `head` have ended */
    unsigned begun[GRIDS], ended[GRIDS]; /* blocks */
    unsigned char at[GRIDS][BLOCKS];     /* multiprocessors */
    bool is_over[GRIDS][BLOCKS];
    unsigned turn[GRIDS]; /* in which it asks for room; 0: it has not asked yet */
} members[MEMBERS];

static struct {
    unsigned multiprocessors, threads; /* of one */
    unsigned threads_left[SMS], registers_left[SMS];
    unsigned last_turn;
    bool ignores_holds;
} gpu;

static struct shmemi_gpu_context context;
static int n_members, me;

/* ---- The plan ---------------------------------------------------------------------------------------------------- */

static int sharers_here(int type, int device)
{
    (void)type, (void)device;
    return n_members;
}

static void add(const struct grid *grid)
{
    CHECK(members[me].n < GRIDS && grid->blocks && grid->blocks <= BLOCKS && grid->threads <= SHMEMI_MEETING_THREADS);
    members[me].grid[members[me].n++] = *grid;
}

/* Registers as nvcc 13.0 reports them for compute capability 9, of the kernel of each sort that has most. */
static int launch_here(struct shmemi_gpu_context *where, enum shmemi_kernel kernel, unsigned blocks, unsigned threads,
                       void *stream, void **arguments)
{
    const bool waits = kernel >= SHMEMI_KERNEL_meet;
    const struct shmemi_meet_run *run = waits ? *arguments : NULL;
    const struct grid grid = {.blocks = blocks,
                              .threads = threads,
                              .registers = waits                             ? 72
                                           : kernel == SHMEMI_KERNEL_collect ? 52
                                                                             : 32,
                              .waits = waits,
                              .holds_next = run && run->holds_next,
                              .is_early = true};
    CHECK(where == &context && !stream);
    add(&grid);
    return 0;
}

static int combine_here(struct shmemi_gpu_context *where, void *stream, const struct shmemi_combination *combination)
{
    const struct grid grid = {.blocks = shmemi_gpu_blocks_for(combination->nelems * combination->size),
                              .threads = 256,
                              .registers = 34,
                              .is_early = true};
    CHECK(where == &context && !stream);
    add(&grid);
    return 0;
}

static int rows_here(const struct shmemi_place *dest, const struct shmemi_place *source,
                     const struct shmemi_shape *shape, void *stream)
{
    const struct grid grid = {.blocks = 512, .threads = 256, .registers = 32};
    (void)dest, (void)source, (void)shape, (void)stream;
    add(&grid);
    return 0;
}

/* A meeting of all members, each with work for all of them; through the areas if there is room. */
static void enqueue(enum shmemi_meeting_kind what, size_t nbytes, bool has_rows)
{
    const struct shmemi_place here = {.memory = shmemi_gpu.memory, .object = &context};
    struct shmemi_place arrays[MEMBERS];
    struct shmemi_extra_streams extras;
    const struct shmemi_stream stream = {.object = &context};
    struct shmemi_meeting meeting = {.what = what, .n = n_members, .me = me, .nbytes = nbytes, .number = 1};
    const bool is_small = nbytes <= shmemi_meeting_units(0, n_members) * SHMEMI_UNIT_BYTES;
    for (int i = 0; i < n_members; i++)
        meeting.area[i] = meeting.source[i] = meeting.dest[i] = arrays[i] = here;
    meeting.n_copies = n_members;
    meeting.count = n_members;
    meeting.combines = what == SHMEMI_MEET_COMBINE;
    if (what == SHMEMI_MEET_EXCHANGE && !is_small)
        meeting.what = SHMEMI_MEET_COPY;
    else if (what == SHMEMI_MEET_COMBINE && is_small)
        meeting.what = SHMEMI_MEET_EXCHANGE;
    if (has_rows)
        meeting.shape = (struct shmemi_shape){.width = 1, .rows = nbytes, .dest_pitch = 2, .source_pitch = 2};
    meeting.combination = (struct shmemi_combination){.kind = SHMEMI_KIND_U64,
                                                      .size = 8,
                                                      .nelems = (nbytes + 7) / 8,
                                                      .source = arrays,
                                                      .dest = arrays,
                                                      .n_sources = n_members,
                                                      .n_dests = n_members};
    CHECK(!meet(&stream, &meeting, &extras));
}

/* ---- The GPU ----------------------------------------------------------------------------------------------------- */

/* On the multiprocessor with most threads left. */
static bool begin_block(int member, unsigned g)
{
    const struct grid *grid = &members[member].grid[g];
    unsigned best = 0;
    for (unsigned i = 1; i < gpu.multiprocessors; i++)
        if (gpu.threads_left[i] > gpu.threads_left[best])
            best = i;
    if (gpu.threads_left[best] < grid->threads || gpu.registers_left[best] < grid->threads * grid->registers)
        return false;
    gpu.threads_left[best] -= grid->threads;
    gpu.registers_left[best] -= grid->threads * grid->registers;
    members[member].at[g][members[member].begun[g]++] = (unsigned char)best;
    return true;
}

/* Do all blocks of the grids have room that have asked for it before? */
static bool is_its_turn(unsigned turn)
{
    for (int i = 0; i < n_members; i++)
        for (unsigned g = members[i].head; g < members[i].launched; g++)
            if (members[i].turn[g] && members[i].turn[g] < turn && members[i].begun[g] < members[i].grid[g].blocks)
                return false;
    return true;
}

static bool begin_blocks(int member, unsigned g)
{
    bool any = false;
    if (!members[member].turn[g])
        members[member].turn[g] = ++gpu.last_turn;
    if (!is_its_turn(members[member].turn[g]))
        return false;
    while (g < members[member].launched && members[member].begun[g] < members[member].grid[g].blocks &&
           begin_block(member, g))
        any = true;
    return any;
}

static bool may_end(int member, unsigned g, unsigned block)
{
    for (int i = 0; i < n_members && members[member].grid[g].waits; i++)
        if (members[i].begun[g] <= block)
            return false;
    return true;
}

static bool end_blocks(int member, unsigned g)
{
    const struct grid *grid = &members[member].grid[g];
    bool any = false;
    for (unsigned block = 0; block < members[member].begun[g]; block++) {
        const unsigned at = members[member].at[g][block];
        if (members[member].is_over[g][block] || !may_end(member, g, block))
            continue;
        members[member].is_over[g][block] = any = true;
        members[member].ended[g]++;
        gpu.threads_left[at] += grid->threads;
        gpu.registers_left[at] += grid->threads * grid->registers;
    }
    return any;
}

static bool go_on(int member)
{
    const unsigned head = members[member].head;
    if (head == members[member].launched)
        return false;
    const struct grid *grid = &members[member].grid[head];
    bool any = begin_blocks(member, head);
    const bool lets_next = members[member].begun[head] == grid->blocks && (gpu.ignores_holds || !grid->holds_next);
    if (lets_next && head + 1 < members[member].launched && grid[1].is_early)
        any |= begin_blocks(member, head + 1);
    any |= end_blocks(member, head);
    members[member].head += members[member].ended[head] == grid->blocks;
    return any;
}

static void settle(void)
{
    for (bool any = true; any;) {
        any = false;
        for (int i = 0; i < n_members; i++)
            any |= go_on(i);
    }
}

/* True if all kernels of all members end. ends: the grids of a member up to each meeting. */
static bool runs_to_the_end(const unsigned ends[MEETINGS])
{
    for (unsigned i = 0; i < gpu.multiprocessors; i++) {
        gpu.threads_left[i] = gpu.threads;
        gpu.registers_left[i] = SM_REGISTERS;
    }
    for (int meeting = 0; meeting < MEETINGS; meeting++)
        for (int i = 0; i < n_members; i++) {
            members[i].launched = ends[meeting];
            settle();
        }
    for (int i = 0; i < n_members; i++)
        if (members[i].head < members[i].n)
            return false;
    return true;
}

/* A small meeting, the one in question twice, and a small one again. */
static bool runs(enum shmemi_meeting_kind what, size_t nbytes, bool has_rows)
{
    unsigned ends[MEETINGS];
    memset(members, 0, sizeof members);
    context.streams.has_kernels = true;
    context.streams.multiprocessors = gpu.multiprocessors;
    for (me = 0; me < n_members; me++) {
        for (int i = 0; i < MEETINGS; i++) {
            const bool is_small = i == 0 || i == MEETINGS - 1;
            enqueue(is_small ? SHMEMI_MEET_EXCHANGE : what, is_small ? 8 : nbytes, !is_small && has_rows);
            ends[i] = members[me].n;
        }
        CHECK(members[me].n == members[0].n);
        for (unsigned i = 0; i < members[me].n; i++)
            CHECK(members[me].grid[i].blocks == members[0].grid[i].blocks);
    }
    return runs_to_the_end(ends);
}

/* ---- Cases ------------------------------------------------------------------------------------------------------- */

static void set_gpu(unsigned multiprocessors, unsigned threads)
{
    gpu.multiprocessors = multiprocessors;
    gpu.threads = threads;
}

static void check_size(size_t nbytes)
{
    static const enum shmemi_meeting_kind kinds[] = {SHMEMI_MEET_EXCHANGE, SHMEMI_MEET_COMBINE, SHMEMI_MEET_COLLECT};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!runs(kinds[i], nbytes, false)) {
            fprintf(stderr, "%d members, %zu bytes, kind %d, %u multiprocessors: no room\n", n_members, nbytes,
                    (int)kinds[i], gpu.multiprocessors);
            CHECK(!"the kernels of all members end");
        }
}

static void check_members(void)
{
    const size_t area = shmemi_meeting_units(0, n_members) * SHMEMI_UNIT_BYTES;
    const size_t limits[] = {16, 512, 8192, SHMEMI_MEET_HALVES, area, 1 << 20, 8 << 20, SHMEMI_GPU_MEET_BY_KERNEL};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        check_size(limits[i] - 1);
        check_size(limits[i]);
        if (limits[i] < SHMEMI_GPU_MEET_BY_KERNEL)
            check_size(limits[i] + 1);
    }
    CHECK(runs(SHMEMI_MEET_COPY, 100000, true));
}

/* The GPU that is played has to see the fault: grids that begin early, of two of three members, fill it. */
static void check_that_holds_matter(void)
{
    set_gpu(SMS, 2048);
    gpu.ignores_holds = true;
    n_members = 2;
    CHECK(runs(SHMEMI_MEET_EXCHANGE, 5 << 20, false));
    n_members = 3;
    CHECK(!runs(SHMEMI_MEET_EXCHANGE, 5 << 20, false));
    gpu.ignores_holds = false;
    CHECK(runs(SHMEMI_MEET_EXCHANGE, 5 << 20, false));
}

int main(void)
{
    static const struct shmemi_memory memory = {.type = SHMEMI_MEMTYPE_CUDA};
    shmemi_gpu.memory = &memory;
    shmemi_settings.stream_blocks = 512; /* the default */
    check_that_holds_matter();
    for (n_members = 2; n_members <= MEMBERS; n_members++) {
        set_gpu(SMS, 2048);
        check_members();
        set_gpu(30, 1536);
        check_members();
    }
    return 0;
}
