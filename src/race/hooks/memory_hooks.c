/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Functions of the C library that copy, set, compare and free memory: compilers leave them to the sanitizer's runtime.
 * Only calls of the program itself are looked at.
 */
#include "race/hooks/sync_objects.h"
#include "race/private.h"
#include "race/shadow.h"

#include <malloc.h>
#include <string.h>

#define WRAPPER __attribute__((visibility("default")))
#define CALLER ((uintptr_t)__builtin_return_address(0))

static inline bool is_program(uintptr_t pc)
{
    return race_here && pc - race.program_base < race.program_size;
}

static void touch_two(const void *to, uint8_t flags, const void *from, size_t size, uintptr_t pc)
{
    race_touch((uintptr_t)from, size, 0, pc);
    race_touch((uintptr_t)to, size, flags, pc);
}

#define COPIES(NAME, ...)                                                                                              \
    WRAPPER void *NAME(void *to, const void *from, size_t size COPY_BOUND(__VA_ARGS__));                               \
    WRAPPER void *NAME(void *to, const void *from, size_t size COPY_BOUND(__VA_ARGS__))                                \
    {                                                                                                                  \
        static void *(*next)(void *, const void *, size_t COPY_BOUND(__VA_ARGS__));                                    \
        next = next ? next : race_next(#NAME);                                                                         \
        if (is_program(CALLER))                                                                                        \
            touch_two(to, RACE_WRITE, from, size, CALLER);                                                             \
        return next(to, from, size COPY_PASSED(__VA_ARGS__));                                                          \
    }
#define COPY_BOUND(...) __VA_OPT__(, size_t __VA_ARGS__)
#define COPY_PASSED(...) __VA_OPT__(, __VA_ARGS__)

COPIES(memcpy, )
COPIES(memmove, )
COPIES(__memcpy_chk, room)
COPIES(__memmove_chk, room)

WRAPPER void *memset(void *to, int value, size_t size)
{
    static void *(*next)(void *, int, size_t);
    next = next ? next : race_next("memset");
    if (is_program(CALLER))
        race_touch((uintptr_t)to, size, RACE_WRITE, CALLER);
    return next(to, value, size);
}

WRAPPER int memcmp(const void *a, const void *b, size_t size)
{
    static int (*next)(const void *, const void *, size_t);
    next = next ? next : race_next("memcmp");
    if (is_program(CALLER))
        touch_two(a, 0, b, size, CALLER);
    return next(a, b, size);
}

/* ---- memory that is given back, which may serve another thread ---------------------------------------------------- */

extern void __libc_free(void *block);

/* That is like a write: what is under way may not use it any more. */
static void touch_all(uintptr_t block, size_t size, uintptr_t pc)
{
    struct race_thread *thread = race_this_thread();
    if (!thread)
        return;
    thread->inside++;
    thread->used = thread->now;
    const struct race_access access = {.known = thread->time,
                                       .component = thread->component,
                                       .pe = (uint16_t)race.pe,
                                       .when = thread->now,
                                       .flags = RACE_WRITE,
                                       .pc = pc & RACE_PC_MASK};
    race_private_check(block, size, &access, false);
    thread->inside--;
}

static void give_back(void *block, uintptr_t pc)
{
    if (block && race.watches_private) {
        const size_t size = malloc_usable_size(block);
        if (is_program(pc))
            touch_all((uintptr_t)block, size, pc);
        race_private_clear((uintptr_t)block, size);
    }
    __libc_free(block);
}

WRAPPER void free(void *block)
{
    give_back(block, CALLER);
}

/* The operators delete and delete[] of C++, without and with a size. */
#define DELETES(NAME)                                                                                                  \
    void NAME(void *block);                                                                                            \
    void NAME##m(void *block, size_t size);                                                                            \
    WRAPPER void NAME(void *block)                                                                                     \
    {                                                                                                                  \
        give_back(block, CALLER);                                                                                      \
    }                                                                                                                  \
    WRAPPER void NAME##m(void *block, size_t size)                                                                     \
    {                                                                                                                  \
        (void)size;                                                                                                    \
        give_back(block, CALLER);                                                                                      \
    }
DELETES(_ZdlPv)
DELETES(_ZdaPv)
