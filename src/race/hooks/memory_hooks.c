/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Functions of the C library that copy, set and compare memory: compilers leave them to the sanitizer's runtime. Only
 * calls of the program itself are looked at.
 */
#include "race/hooks/sync_objects.h"

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
