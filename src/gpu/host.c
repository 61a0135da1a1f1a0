/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host kind of memory: copies and atomic operations by the CPU, complete on return.
 */
#include "gpu/memory.h"

#include "base/copy_bytes.h"

static int host_device_count(void)
{
    return 0;
}

/* ---- Addresses --------------------------------------------------------------------------------------------------- */

/* An address that no other kind owns is host memory. */
static enum shmemi_claim host_claim(const void *address)
{
    (void)address;
    return SHMEMI_CLAIM_OWN;
}

static void host_adopt(struct shmemi_place *place)
{
    (void)place;
}

static void host_make_current(const struct shmemi_place *place)
{
    (void)place;
}

static const struct shmemi_addresses host_addresses = {
    .claim = host_claim,
    .adopt = host_adopt,
    .make_current = host_make_current,
};

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

/* If width is a constant, each row becomes a load and a store. */
static inline __attribute__((always_inline)) void copy_rows(char *dest, const char *source, size_t width,
                                                            const struct shmemi_shape *shape)
{
    for (size_t row = 0; row < shape->rows; row++) {
        shmemi_copy_bytes(dest, source, width);
        dest += shape->dest_pitch;
        source += shape->source_pitch;
    }
}

static void copy_plane(char *dest, const char *source, const struct shmemi_shape *shape)
{
    switch (shape->width) {
    case 1:
        copy_rows(dest, source, 1, shape);
        break;
    case 2:
        copy_rows(dest, source, 2, shape);
        break;
    case 4:
        copy_rows(dest, source, 4, shape);
        break;
    case 8:
        copy_rows(dest, source, 8, shape);
        break;
    case 16:
        copy_rows(dest, source, 16, shape);
        break;
    default:
        copy_rows(dest, source, shape->width, shape);
    }
}

static void copy_rect(char *dest, const char *source, const struct shmemi_shape *shape)
{
    if (!shape->layer) {
        copy_plane(dest, source, shape);
        return;
    }
    const struct shmemi_shape layer = shmemi_shape_some(shape, 1);
    for (size_t i = 0; i < shmemi_shape_layers(shape); i++)
        copy_plane(dest + i * shmemi_shape_dest_layer(shape), source + i * shmemi_shape_source_layer(shape), &layer);
}

static int host_copy(const struct shmemi_place *dest, const struct shmemi_place *source,
                     const struct shmemi_shape *shape)
{
    void *to = (void *)dest->address;
    const void *from = (const void *)source->address;
    if (shmemi_shape_is_dense(shape))
        shmemi_copy_bytes(to, from, shape->width * shape->rows); /* source and dest may be the same object */
    else if (shape->width)
        copy_rect(to, from, shape);
    return 0;
}

static int host_copy_start(const struct shmemi_place *dest, const struct shmemi_place *source,
                           const struct shmemi_shape *shape, struct shmemi_event *event_p)
{
    *event_p = (struct shmemi_event){.memory = &shmemi_memory_host};
    return host_copy(dest, source, shape);
}

static int host_event(struct shmemi_event *event)
{
    (void)event;
    return 0;
}

/* ---- Atomic operations ------------------------------------------------------------------------------------------- */

static uint64_t apply_4(uint32_t *word, const struct shmemi_amo *amo)
{
    uint32_t operand = (uint32_t)amo->operand, compare = (uint32_t)amo->compare;
    switch (amo->op) {
    case SHMEMI_AMO_FETCH:
        return __atomic_load_n(word, __ATOMIC_SEQ_CST);
    case SHMEMI_AMO_SET:
        __atomic_store_n(word, operand, __ATOMIC_SEQ_CST);
        return 0;
    case SHMEMI_AMO_ADD:
        return __atomic_fetch_add(word, operand, __ATOMIC_SEQ_CST);
    case SHMEMI_AMO_AND:
        return __atomic_fetch_and(word, operand, __ATOMIC_SEQ_CST);
    case SHMEMI_AMO_OR:
        return __atomic_fetch_or(word, operand, __ATOMIC_SEQ_CST);
    case SHMEMI_AMO_XOR:
        return __atomic_fetch_xor(word, operand, __ATOMIC_SEQ_CST);
    case SHMEMI_AMO_SWAP:
        return __atomic_exchange_n(word, operand, __ATOMIC_SEQ_CST);
    case SHMEMI_AMO_COMPARE_SWAP:
        __atomic_compare_exchange_n(word, &compare, operand, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        return compare;
    }
    return 0;
}

static uint64_t apply_8(uint64_t *word, const struct shmemi_amo *amo)
{
    uint64_t operand = amo->operand, compare = amo->compare;
    switch (amo->op) {
    case SHMEMI_AMO_FETCH:
        return __atomic_load_n(word, __ATOMIC_SEQ_CST);
    case SHMEMI_AMO_SET:
        __atomic_store_n(word, operand, __ATOMIC_SEQ_CST);
        return 0;
    case SHMEMI_AMO_ADD:
        return __atomic_fetch_add(word, operand, __ATOMIC_SEQ_CST);
    case SHMEMI_AMO_AND:
        return __atomic_fetch_and(word, operand, __ATOMIC_SEQ_CST);
    case SHMEMI_AMO_OR:
        return __atomic_fetch_or(word, operand, __ATOMIC_SEQ_CST);
    case SHMEMI_AMO_XOR:
        return __atomic_fetch_xor(word, operand, __ATOMIC_SEQ_CST);
    case SHMEMI_AMO_SWAP:
        return __atomic_exchange_n(word, operand, __ATOMIC_SEQ_CST);
    case SHMEMI_AMO_COMPARE_SWAP:
        __atomic_compare_exchange_n(word, &compare, operand, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        return compare;
    }
    return 0;
}

uint64_t shmemi_amo_apply(void *word, const struct shmemi_amo *amo)
{
    return amo->size == 4 ? apply_4(word, amo) : apply_8(word, amo);
}

static int host_amo(const struct shmemi_place *word, const struct shmemi_amo *amo, uint64_t *old_p)
{
    *old_p = shmemi_amo_apply((void *)word->address, amo);
    return 0;
}

/* ---- The kind ---------------------------------------------------------------------------------------------------- */

/* No sharing and no pinning: the node segment shares host memory, and the GPU kinds page-lock it. */
const struct shmemi_memory shmemi_memory_host = {
    .name = "host",
    .title = "host",
    .device_count = host_device_count,
    .copy = host_copy,
    .copy_start = host_copy_start,
    .event_test = host_event,
    .event_wait = host_event,
    .amo = host_amo,
    .addresses = &host_addresses,
};
