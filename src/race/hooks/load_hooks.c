/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the compiler calls before each load and store of a program that is compiled with -fsanitize=thread. The names and
 * types are the compiler's. Most accesses are to memory that is not watched, or are known already: these return after a
 * few instructions.
 */
#include "race/private.h"
#include "race/shadow.h"

#include <string.h>

#define HOOK __attribute__((visibility("default")))
#define CALLER ((uintptr_t)__builtin_return_address(0))

void __tsan_init(void);
void __tsan_func_entry(void *caller);
void __tsan_func_exit(void);
void __tsan_ignore_thread_begin(void);
void __tsan_ignore_thread_end(void);
void __tsan_read_range(void *address, unsigned long size);
void __tsan_write_range(void *address, unsigned long size);
void __tsan_vptr_update(void **address, void *value);
void __tsan_vptr_read(void **address);
void *__tsan_memcpy(void *to, const void *from, size_t size);
void *__tsan_memmove(void *to, const void *from, size_t size);
void *__tsan_memset(void *to, int value, size_t size);

/* Whether a cell has the same access, or a stronger one, of this thread at this time. */
static inline bool has(const struct race_cell *cell, uint64_t wanted, uint8_t bytes, bool is_write)
{
    const uint64_t key = atomic_load_explicit(&cell->key, memory_order_relaxed);
    return key >> 16 == wanted && (race_key_bytes(key) & bytes) == bytes && !(key & RACE_ATOMIC) &&
           (!is_write || (key & RACE_WRITE));
}

static inline __attribute__((always_inline)) void touch(void *pointer, size_t size, bool is_write, uintptr_t pc)
{
    const uintptr_t address = (uintptr_t)pointer;
    struct race_word *word;
    size_t offset;
    if ((offset = address - race.window_base) < race.window_size)
        word = race.window + offset / RACE_WORD;
    else if ((offset = address - race.static_base) < race.static_size)
        word = race.static_words + offset / RACE_WORD;
    else if (race.has_peers || (race.watches_private && race.has_threads))
        word = NULL;
    else if (!race.watches_private || !(word = race_private_word(address, false)))
        return;
    const struct race_thread *thread = race_here;
    const unsigned first = address % RACE_WORD;
    if (word && thread && first + size <= RACE_WORD) {
        const uint64_t wanted = (uint64_t)thread->now << 16 | thread->component;
        const uint8_t bytes = (uint8_t)(((1u << size) - 1) << first);
        if (has(&word->cell[0], wanted, bytes, is_write) || has(&word->cell[1], wanted, bytes, is_write))
            return;
        const uint64_t key = race_key(thread->now, thread->component, bytes, is_write ? RACE_WRITE : 0);
        if (size < RACE_WORD && !thread->inside && race_extend(word, key, pc & RACE_PC_MASK))
            return;
    }
    race_touch(address, size, is_write ? RACE_WRITE : 0, pc);
}

#define HOOKS_OF(SIZE)                                                                                                 \
    void __tsan_read##SIZE(void *address);                                                                             \
    void __tsan_write##SIZE(void *address);                                                                            \
    void __tsan_unaligned_read##SIZE(void *address);                                                                   \
    void __tsan_unaligned_write##SIZE(void *address);                                                                  \
    void __tsan_volatile_read##SIZE(void *address);                                                                    \
    void __tsan_volatile_write##SIZE(void *address);                                                                   \
    void __tsan_read_write##SIZE(void *address);                                                                       \
    HOOK void __tsan_read##SIZE(void *address)                                                                         \
    {                                                                                                                  \
        touch(address, SIZE, false, CALLER);                                                                           \
    }                                                                                                                  \
    HOOK void __tsan_write##SIZE(void *address)                                                                        \
    {                                                                                                                  \
        touch(address, SIZE, true, CALLER);                                                                            \
    }                                                                                                                  \
    HOOK void __tsan_unaligned_read##SIZE(void *address)                                                               \
    {                                                                                                                  \
        touch(address, SIZE, false, CALLER);                                                                           \
    }                                                                                                                  \
    HOOK void __tsan_unaligned_write##SIZE(void *address)                                                              \
    {                                                                                                                  \
        touch(address, SIZE, true, CALLER);                                                                            \
    }                                                                                                                  \
    HOOK void __tsan_volatile_read##SIZE(void *address)                                                                \
    {                                                                                                                  \
        touch(address, SIZE, false, CALLER);                                                                           \
    }                                                                                                                  \
    HOOK void __tsan_volatile_write##SIZE(void *address)                                                               \
    {                                                                                                                  \
        touch(address, SIZE, true, CALLER);                                                                            \
    }                                                                                                                  \
    HOOK void __tsan_read_write##SIZE(void *address)                                                                   \
    {                                                                                                                  \
        touch(address, SIZE, true, CALLER);                                                                            \
    }

HOOKS_OF(1)
HOOKS_OF(2)
HOOKS_OF(4)
HOOKS_OF(8)
HOOKS_OF(16)

HOOK void __tsan_init(void)
{
}

HOOK void __tsan_func_entry(void *caller)
{
    (void)caller;
}

HOOK void __tsan_func_exit(void)
{
}

HOOK void __tsan_ignore_thread_begin(void)
{
}

HOOK void __tsan_ignore_thread_end(void)
{
}

HOOK void __tsan_read_range(void *address, unsigned long size)
{
    race_touch((uintptr_t)address, size, 0, CALLER);
}

HOOK void __tsan_write_range(void *address, unsigned long size)
{
    race_touch((uintptr_t)address, size, RACE_WRITE, CALLER);
}

HOOK void __tsan_vptr_update(void **address, void *value)
{
    if (*address != value)
        touch(address, sizeof *address, true, CALLER);
}

HOOK void __tsan_vptr_read(void **address)
{
    touch(address, sizeof *address, false, CALLER);
}

static void touch_two(void *to, const void *from, size_t size, uintptr_t pc)
{
    race_touch((uintptr_t)from, size, 0, pc);
    race_touch((uintptr_t)to, size, RACE_WRITE, pc);
}

HOOK void *__tsan_memcpy(void *to, const void *from, size_t size)
{
    touch_two(to, from, size, CALLER);
    return memcpy(to, from, size);
}

HOOK void *__tsan_memmove(void *to, const void *from, size_t size)
{
    touch_two(to, from, size, CALLER);
    return memmove(to, from, size);
}

HOOK void *__tsan_memset(void *to, int value, size_t size)
{
    race_touch((uintptr_t)to, size, RACE_WRITE, CALLER);
    return memset(to, value, size);
}
