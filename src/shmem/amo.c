/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Atomic memory operations [9.7] and signals [9.8].
 */
#include "shmem/internal.h"

#include <string.h>

const struct shmemi_view *shmemi_reach_word(const char *routine, const void *address, size_t nbytes, int pe,
                                            size_t *offset_p)
{
    const struct shmemi_view *view = shmemi_reach(routine, address, nbytes, pe, offset_p);
    if (view->place.memory != &shmemi_memory_host)
        shmemi_fatal("%s: %p is mapped %s memory, on which atomic operations and signals are not supported", routine,
                     address, shmemi_memory_type_name(view->place.memory->type));
    if ((uintptr_t)address % nbytes)
        shmemi_fatal("%s: %p is not aligned to its %zu bytes", routine, address, nbytes);
    return view;
}

void shmemi_amo(struct shmemi_context *context, const char *routine, void *dest, const struct shmemi_amo *amo,
                void *fetch_p, int pe)
{
    size_t offset;
    const struct shmemi_view *view = shmemi_reach_word(routine, dest, amo->size, pe, &offset);
    if (view->driver->amo(context, view, offset, amo, fetch_p))
        shmemi_give_up();
}

static void update_signal(struct shmemi_context *context, const char *routine, struct shmemi_signal signal, int pe)
{
    if (signal.op != SHMEM_SIGNAL_SET && signal.op != SHMEM_SIGNAL_ADD)
        shmemi_fatal("%s: %d is neither SHMEM_SIGNAL_SET nor SHMEM_SIGNAL_ADD", routine, signal.op);
    struct shmemi_amo amo = {
        .op = signal.op == SHMEM_SIGNAL_SET ? SHMEMI_AMO_SET : SHMEMI_AMO_ADD,
        .size = sizeof signal.value,
        .operand = signal.value,
    };
    shmemi_amo(context, routine, signal.address, &amo, NULL, pe);
}

/* The payload and the signal may take different routes: the fence makes the payload arrive first. */
void shmemi_put_signal(struct shmemi_context *context, const char *routine, void *dest, const void *source,
                       size_t nbytes, struct shmemi_signal signal, int pe)
{
    shmemi_put(context, routine, dest, source, nbytes, pe);
    shmemi_fence(context);
    update_signal(context, routine, signal, pe);
}

#define CONTEXT (&shmemi_default_context)

SHMEMI_API(void, signal_set, (uint64_t *sig_addr, uint64_t signal, int pe))
{
    update_signal(CONTEXT, "shmem_signal_set", (struct shmemi_signal){sig_addr, signal, SHMEM_SIGNAL_SET}, pe);
}

SHMEMI_API(void, signal_add, (uint64_t *sig_addr, uint64_t signal, int pe))
{
    update_signal(CONTEXT, "shmem_signal_add", (struct shmemi_signal){sig_addr, signal, SHMEM_SIGNAL_ADD}, pe);
}

SHMEMI_API(uint64_t, signal_fetch, (const uint64_t *sig_addr))
{
    shmemi_check_local_word("shmem_signal_fetch", sig_addr);
    return __atomic_load_n(sig_addr, __ATOMIC_ACQUIRE);
}

/* clang-format off */
#define AMO(OP, TYPE, ...) (&(struct shmemi_amo){.op = SHMEMI_AMO_##OP, .size = sizeof(TYPE), __VA_ARGS__})
#define OPERAND(value) .operand = (uint64_t)(value)

#define DEFINE_FETCHING(NAME, TYPE, params, target, OP, ...)                                                           \
    SHMEMI_API(TYPE, NAME, params)                                                                                     \
    { TYPE old; shmemi_amo(CONTEXT, "shmem_" #NAME, target, AMO(OP, TYPE, __VA_ARGS__), &old, pe); return old; }

#define DEFINE_POSTING(NAME, TYPE, params, OP, ...)                                                                    \
    SHMEMI_API(void, NAME, params)                                                                                     \
    { shmemi_amo(CONTEXT, "shmem_" #NAME, dest, AMO(OP, TYPE, __VA_ARGS__), NULL, pe); }

#define DEFINE_TYPE(NAME, TYPE, ...)                                                                                   \
    DEFINE_FETCHING(NAME##_atomic_fetch, TYPE, (const TYPE *source, int pe), (TYPE *)source, FETCH, .operand = 0)      \
    DEFINE_FETCHING(NAME##_atomic_swap, TYPE, (TYPE *dest, TYPE value, int pe), dest, SWAP, OPERAND(value))            \
    DEFINE_FETCHING(NAME##_atomic_fetch_add, TYPE, (TYPE *dest, TYPE value, int pe), dest, ADD, OPERAND(value))        \
    DEFINE_FETCHING(NAME##_atomic_fetch_inc, TYPE, (TYPE *dest, int pe), dest, ADD, .operand = 1)                      \
    DEFINE_FETCHING(NAME##_atomic_compare_swap, TYPE, (TYPE *dest, TYPE cond, TYPE value, int pe), dest, COMPARE_SWAP, \
                    OPERAND(value), .compare = (uint64_t)cond)                                                         \
    DEFINE_POSTING(NAME##_atomic_set, TYPE, (TYPE *dest, TYPE value, int pe), SET, OPERAND(value))                     \
    DEFINE_POSTING(NAME##_atomic_add, TYPE, (TYPE *dest, TYPE value, int pe), ADD, OPERAND(value))                     \
    DEFINE_POSTING(NAME##_atomic_inc, TYPE, (TYPE *dest, int pe), ADD, .operand = 1)
/* clang-format on */

SHMEMI_FOR_AMO_TYPES(DEFINE_TYPE, )
