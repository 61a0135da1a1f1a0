/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The symmetric heap against a model: random allocations of all kinds and releases. Blocks are aligned, lie in the heap, do
 * not overlap, keep what is in them, and have the same offset on all PEs; what is free again is joined; the heap
 * grows. Usage: heap BYTES, its size at the start.
 */
#include "expect.h"

#include <cstdlib>
#include <vector>

struct block {
    unsigned char *own;
    size_t size;
    unsigned char content;
};

static char *base;
static std::vector<block> blocks;

static bool overlaps(const unsigned char *own, size_t size)
{
    for (const block &other : blocks)
        if (own < other.own + other.size && other.own < own + size)
            return true;
    return false;
}

/* All PEs see the same number. */
static bool agreed(long value)
{
    static long *words = static_cast<long *>(nvshmem_malloc(3 * sizeof(long)));
    words[0] = value;
    nvshmem_long_min_reduce(NVSHMEM_TEAM_WORLD, words + 1, words, 1);
    nvshmem_long_max_reduce(NVSHMEM_TEAM_WORLD, words + 2, words, 1);
    return words[1] == value && words[2] == value;
}

static bool is_filled(const unsigned char *own, size_t size, unsigned char content)
{
    for (size_t i = 0; i < size; i++)
        if (own[i] != content)
            return false;
    return true;
}

static void allocate(size_t size)
{
    static const size_t alignments[] = {1, 8, 512, 4096, 65536};
    size_t alignment = 512;
    void *result;
    const int kind = rand() % 3;
    if (kind == 0)
        result = nvshmem_malloc(size);
    else if (kind == 1)
        result = nvshmem_calloc(size, 1);
    else
        result = nvshmem_align(alignment = alignments[rand() % 5], size);
    unsigned char *own = static_cast<unsigned char *>(result);
    EXPECT(agreed(own ? reinterpret_cast<char *>(own) - base : -1));
    if (!own)
        return;
    EXPECT(reinterpret_cast<uintptr_t>(own) % (alignment > 512 ? alignment : 512) == 0);
    EXPECT(!overlaps(own, size));
    if (kind == 1)
        EXPECT(is_filled(own, size, 0));
    const block made = {own, size, static_cast<unsigned char>(rand())};
    memset(own, made.content, size);
    blocks.push_back(made);
}

static void release(size_t number)
{
    const block &gone = blocks[number];
    EXPECT(is_filled(gone.own, gone.size, gone.content));
    nvshmem_free(gone.own);
    blocks[number] = blocks.back();
    blocks.pop_back();
}

/* A block for which the heap has to grow: other PEs reach it, and its room is used again. */
static void grow(size_t heap)
{
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    const size_t size = heap + (4 << 20);
    unsigned char *grown = static_cast<unsigned char *>(nvshmem_calloc(size, 1));
    EXPECT(agreed(reinterpret_cast<char *>(grown) - base));
    EXPECT(grown && (reinterpret_cast<char *>(grown) < base || reinterpret_cast<char *>(grown) >= base + heap));
    if (!grown)
        return;
    EXPECT(is_filled(grown, size, 0));
    long *last = reinterpret_cast<long *>(grown + size) - 1;
    EXPECT(nvshmem_ptr(last, me) == last);
    nvshmem_barrier_all();
    nvshmem_long_p(last, 5, (me + 1) % n);
    nvshmem_quiet();
    nvshmem_long_atomic_add(last, me + 1, (me + 1) % n);
    nvshmem_barrier_all();
    EXPECT(*last == 5 + (me + n - 1) % n + 1 && nvshmem_long_g(last, (me + 1) % n) == 5 + me + 1);
    nvshmem_free(grown);
    void *again = nvshmem_malloc(size);
    EXPECT(again == grown);
    nvshmem_free(again);
}

int main(int argc, char **argv)
{
    const size_t heap = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    nvshmem_init();
    srand(7); /* the same calls on all PEs */
    base = static_cast<char *>(nvshmem_malloc(1));
    EXPECT(agreed(0) && nvshmem_malloc(0) == NULL && nvshmem_calloc(0, 8) == NULL);
    EXPECT(nvshmem_align(3, 100) == NULL && nvshmem_calloc(SIZE_MAX / 2, 4) == NULL);
    for (int i = 0; i < 1500; i++) {
        if (blocks.empty() || rand() % 100 < 55)
            allocate(1 + static_cast<size_t>(rand()) % (rand() % 20 ? 20000 : heap / 4));
        else
            release(static_cast<size_t>(rand()) % blocks.size());
    }
    while (!blocks.empty())
        release(blocks.size() - 1);
    nvshmem_free(NULL);
    grow(heap);
    EXPECT(nvshmem_malloc(static_cast<size_t>(1) << 40) == NULL);
    void *most = nvshmem_malloc(heap - 4096); /* all but the two small blocks that are left */
    EXPECT(static_cast<char *>(most) > base && static_cast<char *>(most) < base + heap);
    nvshmem_free(most);
    return finish();
}
