/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Combines arrays by a device kernel: this PE's memory, and memory of its peers that this process has opened in the
 * same context. Each element is read and written in place, over NVLink or PCIe, by one launch.
 */
#include "gpu/device/kernels/kernel_lists.h"
#include "gpu/device/streams/program_streams.h"
#include "gpu/device/timing.h"

enum { THREADS = 256, BLOCKS_MAX = 1024 };

static enum shmemi_kernel kernel_of(enum shmemi_kind kind)
{
    return (enum shmemi_kernel)(SHMEMI_KERNEL_combine_I8 + ((int)kind - SHMEMI_KIND_I8));
}

/* The alignment that an element needs: a complex number needs that of its parts. */
static size_t alignment_of(enum shmemi_kind kind, size_t size)
{
    return kind == SHMEMI_KIND_C32 || kind == SHMEMI_KIND_C64 ? size / 2 : size;
}

/* The common context of all arrays; NULL when they have none, so that no kernel reaches them all. */
static struct shmemi_gpu_context *context_of(const struct shmemi_combination *combination)
{
    struct shmemi_gpu_context *context = combination->dest[0].object;
    for (int i = 0; i < combination->n_sources && context; i++)
        if (combination->source[i].memory != shmemi_gpu.memory || combination->source[i].object != context)
            context = NULL;
    for (int i = 0; i < combination->n_dests && context; i++)
        if (combination->dest[i].memory != shmemi_gpu.memory || combination->dest[i].object != context)
            context = NULL;
    return context;
}

/* Bits in which addresses differ from that of the first source. */
static uintptr_t differing_bits(const struct shmemi_combination *combination)
{
    const uintptr_t first = combination->source[0].address;
    uintptr_t bits = 0;
    for (int i = 0; i < combination->n_sources; i++)
        bits |= combination->source[i].address ^ first;
    for (int i = 0; i < combination->n_dests; i++)
        bits |= combination->dest[i].address ^ first;
    return bits;
}

static bool is_aligned(const struct shmemi_combination *combination)
{
    const uintptr_t mask = alignment_of(combination->kind, combination->size) - 1;
    return !((differing_bits(combination) | combination->source[0].address) & mask);
}

/* Split into single elements up to the first 16-byte boundary, whole 16-byte packs, and the rest. No packs if the
 * arrays differ in alignment modulo 16, or if elements straddle such boundaries. */
static void split(const struct shmemi_combination *combination, struct shmemi_combine_list *list)
{
    const size_t size = combination->size, in_pack = SHMEMI_PACK_BYTES / size;
    const size_t before = -combination->source[0].address % SHMEMI_PACK_BYTES;
    list->head = list->nelems;
    if (differing_bits(combination) % SHMEMI_PACK_BYTES || before % size || before / size > list->nelems)
        return;
    list->head = before / size;
    list->packs = (list->nelems - list->head) / in_pack;
}

static void fill_list(const struct shmemi_combination *combination, struct shmemi_combine_list *list)
{
    *list = (struct shmemi_combine_list){0};
    list->nelems = combination->nelems;
    list->op = combination->op;
    list->form = combination->form;
    list->n_sources = (uint32_t)combination->n_sources;
    list->n_dests = (uint32_t)combination->n_dests;
    for (int i = 0; i < combination->n_sources; i++)
        list->source[i] = combination->source[i].address;
    for (int i = 0; i < combination->n_dests; i++)
        list->dest[i] = combination->dest[i].address;
    split(combination, list);
}

static unsigned blocks_for(const struct shmemi_combine_list *list)
{
    uint64_t items = list->packs ? list->packs : list->nelems, blocks = (items + THREADS - 1) / THREADS;
    return blocks < BLOCKS_MAX ? (unsigned)blocks : BLOCKS_MAX;
}

int shmemi_gpu_combine_in(struct shmemi_gpu_context *context, void *stream,
                          const struct shmemi_combination *combination)
{
    struct shmemi_combine_list list;
    void *arguments[] = {&list};
    fill_list(combination, &list);
    const unsigned blocks = blocks_for(&list), most = shmemi_gpu_blocks_for(combination->nelems * combination->size);
    return shmemi_gpu_launch_early(context, kernel_of(combination->kind), blocks < most ? blocks : most, THREADS,
                                   stream, arguments);
}

static int launch(struct shmemi_gpu_context *context, const struct shmemi_combination *combination)
{
    struct shmemi_combine_list list;
    void *arguments[] = {&list};
    void *stream;
    int rc = shmemi_gpu_stream(context, &stream);
    if (rc)
        return rc;
    fill_list(combination, &list);
    struct shmemi_gpu_timing *timing = shmemi_gpu_time(context, stream);
    rc = shmemi_gpu_launch(context, kernel_of(combination->kind), blocks_for(&list), THREADS, stream, arguments);
    shmemi_gpu_timing_end(timing, rc, "combination", 0);
    return rc ? rc : GPU_CALL(stream_synchronize, stream);
}

int shmemi_gpu_combine(const struct shmemi_combination *combination)
{
    struct shmemi_gpu_context *context = context_of(combination);
    bool pushed;
    if (!context || combination->kind == SHMEMI_KIND_F80 || !is_aligned(combination))
        return -ENOTSUP;
    if (!combination->nelems)
        return 0;
    int rc = shmemi_gpu_enter(context, &pushed);
    if (rc)
        return rc;
    rc = launch(context, combination);
    shmemi_gpu_leave(pushed);
    return rc;
}
