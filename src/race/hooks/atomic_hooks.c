/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Atomic operations of the language in a program that is compiled with -fsanitize=thread. They order threads as their
 * memory order says, and are accesses to symmetric memory like the atomic operations of a PE on itself.
 */
#include "race/clocks.h"
#include "race/shadow.h"
#include "race/hooks/sync_objects.h"

#define HOOK __attribute__((visibility("default")))
#define CALLER ((uintptr_t)__builtin_return_address(0))

typedef uint8_t a8;
typedef uint16_t a16;
typedef uint32_t a32;
typedef uint64_t a64;

static bool acquires(int order)
{
    return order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE;
}

static bool releases(int order)
{
    return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

static void touch(const void *pointer, size_t size, uint8_t flags, uintptr_t pc)
{
    struct race_place place;
    struct race_thread *thread = race_this_thread();
    if (thread && (flags & RACE_WRITE) && race_locate_mapped(&place, (uintptr_t)pointer))
        race_keep(thread);
    race_touch((uintptr_t)pointer, size, flags | RACE_ATOMIC, pc);
}

/* Before a write that releases, and after a read that acquires. */
static void before(const void *pointer, int order)
{
    if (releases(order))
        race_sync_release((uintptr_t)pointer);
}

static void after(const void *pointer, size_t size, int order)
{
    struct race_place place;
    struct race_thread *thread = acquires(order) ? race_this_thread() : NULL;
    if (!thread)
        return;
    race_sync_acquire((uintptr_t)pointer);
    if (race_locate_mapped(&place, (uintptr_t)pointer))
        race_see(thread, place.word, place.first, size, place.pe);
}

#define ATOMIC_HOOKS(BITS)                                                                                             \
    a##BITS __tsan_atomic##BITS##_load(const a##BITS *a, int order);                                                   \
    void __tsan_atomic##BITS##_store(a##BITS *a, a##BITS value, int order);                                            \
    int __tsan_atomic##BITS##_compare_exchange_strong(a##BITS *a, a##BITS *expected, a##BITS value, int order,         \
                                                      int failure);                                                    \
    int __tsan_atomic##BITS##_compare_exchange_weak(a##BITS *a, a##BITS *expected, a##BITS value, int order,           \
                                                    int failure);                                                      \
    a##BITS __tsan_atomic##BITS##_compare_exchange_val(a##BITS *a, a##BITS expected, a##BITS value, int order,         \
                                                       int failure);                                                   \
    HOOK a##BITS __tsan_atomic##BITS##_load(const a##BITS *a, int order)                                               \
    {                                                                                                                  \
        touch(a, sizeof *a, 0, CALLER);                                                                                \
        const a##BITS value = __atomic_load_n(a, __ATOMIC_SEQ_CST);                                                    \
        after(a, sizeof *a, order);                                                                                    \
        return value;                                                                                                  \
    }                                                                                                                  \
    HOOK void __tsan_atomic##BITS##_store(a##BITS *a, a##BITS value, int order)                                        \
    {                                                                                                                  \
        before(a, order);                                                                                              \
        touch(a, sizeof *a, RACE_WRITE, CALLER);                                                                       \
        __atomic_store_n(a, value, __ATOMIC_SEQ_CST);                                                                  \
    }                                                                                                                  \
    HOOK int __tsan_atomic##BITS##_compare_exchange_strong(a##BITS *a, a##BITS *expected, a##BITS value, int order,    \
                                                           int failure)                                                \
    {                                                                                                                  \
        (void)failure;                                                                                                 \
        before(a, order);                                                                                              \
        touch(a, sizeof *a, RACE_WRITE, CALLER);                                                                       \
        const int done = __atomic_compare_exchange_n(a, expected, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);       \
        after(a, sizeof *a, order);                                                                                    \
        return done;                                                                                                   \
    }                                                                                                                  \
    HOOK int __tsan_atomic##BITS##_compare_exchange_weak(a##BITS *a, a##BITS *expected, a##BITS value, int order,      \
                                                         int failure)                                                  \
    {                                                                                                                  \
        return __tsan_atomic##BITS##_compare_exchange_strong(a, expected, value, order, failure);                      \
    }                                                                                                                  \
    HOOK a##BITS __tsan_atomic##BITS##_compare_exchange_val(a##BITS *a, a##BITS expected, a##BITS value, int order,    \
                                                            int failure)                                               \
    {                                                                                                                  \
        (void)__tsan_atomic##BITS##_compare_exchange_strong(a, &expected, value, order, failure);                      \
        return expected;                                                                                               \
    }                                                                                                                  \
    UPDATE_HOOK(BITS, exchange, exchange_n)                                                                            \
    UPDATE_HOOK(BITS, fetch_add, fetch_add)                                                                            \
    UPDATE_HOOK(BITS, fetch_sub, fetch_sub)                                                                            \
    UPDATE_HOOK(BITS, fetch_and, fetch_and)                                                                            \
    UPDATE_HOOK(BITS, fetch_or, fetch_or)                                                                              \
    UPDATE_HOOK(BITS, fetch_xor, fetch_xor)                                                                            \
    UPDATE_HOOK(BITS, fetch_nand, fetch_nand)

#define UPDATE_HOOK(BITS, NAME, BUILTIN)                                                                               \
    a##BITS __tsan_atomic##BITS##_##NAME(a##BITS *a, a##BITS value, int order);                                        \
    HOOK a##BITS __tsan_atomic##BITS##_##NAME(a##BITS *a, a##BITS value, int order)                                    \
    {                                                                                                                  \
        before(a, order);                                                                                              \
        touch(a, sizeof *a, RACE_WRITE, CALLER);                                                                       \
        const a##BITS old = __atomic_##BUILTIN(a, value, __ATOMIC_SEQ_CST);                                            \
        after(a, sizeof *a, order);                                                                                    \
        return old;                                                                                                    \
    }

ATOMIC_HOOKS(8)
ATOMIC_HOOKS(16)
ATOMIC_HOOKS(32)
ATOMIC_HOOKS(64)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_signal_fence(int order);

/* A fence makes the relaxed operations beside it order: which ones is not known, so all of them through one object. */
HOOK void __tsan_atomic_thread_fence(int order)
{
    static const char all;
    if (releases(order))
        race_sync_release((uintptr_t)&all);
    if (acquires(order))
        race_sync_acquire((uintptr_t)&all);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

HOOK void __tsan_atomic_signal_fence(int order)
{
    (void)order;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
