/* SPDX-License-Identifier: BSD-3-Clause
 *
 * This PE's side of a transfer: private memory of every kind with guards around it, or a symmetric object of its own.
 */
#include "tester.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { SKEWS = 64, STACK_MAX = 16 << 10, SLOT_BYTES = 4096, SLOT = SLOT_BYTES + 2 * GUARD + SKEWS };

static unsigned char places[STEPS_MAX][SLOT] __attribute__((aligned(64)));
static unsigned char *scratch;
static size_t scratch_bytes;

static bool draw_object(struct random_numbers *numbers, struct local_side *local, int pe, size_t align, int mode)
{
    local->kind = IN_OBJECT;
    local->object = (int)below(numbers, (size_t)program.n_objects);
    return claim_anywhere(numbers, local->object, &pe, 1, &local->shape, align, mode, &local->offset);
}

bool local_draw(struct random_numbers *numbers, struct local_side *local, int pe, size_t align, bool may_be_stack,
                int mode)
{
    const size_t extent = shape_extent(&local->shape);
    local->kind = (enum local_kind)below(numbers, N_LOCAL_KINDS);
    local->skew = one_in(numbers, 2) ? 0 : below(numbers, SKEWS / align) * align;
    if (local->kind == IN_OBJECT)
        return draw_object(numbers, local, pe, align, mode);
    if ((local->kind == ON_STACK && (!may_be_stack || extent > STACK_MAX)) ||
        (local->kind == IN_PRIVATE_STATIC && extent > SLOT_BYTES))
        local->kind = IN_MALLOC;
    return true;
}

size_t local_bytes(const struct local_side *local)
{
    return 2 * GUARD + local->skew + shape_extent(&local->shape);
}

static unsigned char *from_mmap(size_t nbytes)
{
    void *memory = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        wrong(-1, "mmap of %zu bytes failed", nbytes);
    return memory;
}

unsigned char *local_open(const struct local_side *local, uint64_t key, unsigned char *memory)
{
    const size_t nbytes = local_bytes(local);
    if (local->kind == IN_OBJECT)
        return NULL;
    if (local->kind == IN_MALLOC)
        memory = model_malloc(nbytes);
    else if (local->kind == IN_MMAP)
        memory = from_mmap(nbytes);
    else if (local->kind == IN_PRIVATE_STATIC)
        memory = places[local->slot];
    pattern_fill(memory, nbytes, key);
    return memory;
}

void *local_address(const struct local_side *local, unsigned char *memory)
{
    if (local->kind == IN_OBJECT)
        return address_of(local->object, local->offset);
    return memory + GUARD + local->skew;
}

void local_close(const struct local_side *local, unsigned char *memory)
{
    if (local->kind == IN_OBJECT)
        return;
    memset(memory, 0x5a, local_bytes(local));
    if (local->kind == IN_MALLOC)
        free(memory);
    else if (local->kind == IN_MMAP)
        munmap(memory, local_bytes(local));
}

static unsigned char *pattern(const struct local_side *local, uint64_t key)
{
    const size_t nbytes = local_bytes(local);
    if (nbytes > scratch_bytes) {
        free(scratch);
        scratch_bytes = 2 * nbytes;
        scratch = model_malloc(scratch_bytes);
    }
    pattern_fill(scratch, nbytes, key);
    return scratch;
}

const unsigned char *local_model(const struct local_side *local, int pe, uint64_t key)
{
    if (local->kind == IN_OBJECT)
        return model_at(local->object, pe, local->offset);
    return pattern(local, key) + GUARD + local->skew;
}

/* Not the scratch memory: other threads may check at the same time. */
void local_check(const struct local_side *local, const unsigned char *memory, uint64_t key, const unsigned char *came,
                 const struct byte_shape *from, int step)
{
    const size_t nbytes = local_bytes(local), begin = GUARD + local->skew;
    if (local->kind == IN_OBJECT)
        return;
    unsigned char *expected = model_malloc(nbytes);
    pattern_fill(expected, nbytes, key);
    if (came)
        shape_copy(expected + begin, &local->shape, came, from);
    for (size_t i = 0; memcmp(memory, expected, nbytes) != 0 && i < nbytes; i++)
        if (memory[i] != expected[i])
            wrong(step, "private memory on this side (%s, %zu bytes): byte %td is %#x instead of %#x",
                  local_text(local), shape_extent(&local->shape), (ptrdiff_t)(i - begin), memory[i], expected[i]);
    free(expected);
}

const char *local_text(const struct local_side *local)
{
    static const char *const kinds[] = {"stack", "malloc", "private static data", "mmap"};
    static _Thread_local char texts[2][80];
    static _Thread_local int turn;
    char *text = texts[turn++ % 2];
    if (local->kind == IN_OBJECT)
        snprintf(text, sizeof texts[0], "own %s + %zu", object_text(local->object), local->offset);
    else
        snprintf(text, sizeof texts[0], "%s + %zu", kinds[local->kind], local->skew);
    return text;
}
