/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Static data of the executable: .data and .bss belong to it; code, constants, stack, heap and libraries do not.
 */
#include "shmmap/symmetric.h"

#include "unit.h"

#include <stdbool.h>
#include <stdint.h>

static int initialized = 5, zeroed;
static const int constant = 7;
static char large[3 << 20];
static _Thread_local int of_thread;
static const char *const relocated = "a pointer that the loader fills in and makes read-only";
int exported_word;

static char *base;
static size_t size;

static bool holds(const void *address)
{
    return (uintptr_t)address - (uintptr_t)base < size;
}

/* All of it can be read and written, including a sanitizer's zones between variables. */
__attribute__((no_sanitize("address"))) static void touch_all(void)
{
    for (volatile char *byte = base; byte < base + size; byte += 512)
        *byte = *byte;
}

int main(void)
{
    int on_stack = 0;
    void *private = malloc(100);
    shmemi_static_data_find(&base, &size);
    CHECK(size > sizeof large && size < 64 << 20);
    CHECK(holds(&initialized) && holds(&zeroed) && holds(&exported_word));
    CHECK(holds(large) && holds(large + sizeof large - 1));
    CHECK(!holds(&constant) && !holds((void *)(uintptr_t)main) && !holds(relocated));
    CHECK(!holds(&on_stack) && !holds(private) && !holds(&of_thread) && !holds(stdout));
    touch_all();
    char *again;
    size_t size_again;
    shmemi_static_data_find(&again, &size_again);
    CHECK(again == base && size_again == size);
    CHECK(initialized == 5 && zeroed == 0);
    free(private);
    return 0;
}
