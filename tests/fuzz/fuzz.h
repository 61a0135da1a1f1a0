/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the fuzz targets share. A target is a libFuzzer target (scripts/fuzz); replay.c runs it without a fuzzer.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __has_feature /* clang */
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A condition that must hold for every input; the fuzzer detects the abort. */
#define ALWAYS(_condition)                                                                                             \
    do {                                                                                                               \
        if (!(_condition))                                                                                             \
            abort();                                                                                                   \
    } while (0)

/* The rest of the input; zeros follow its end. */
struct fuzz_input {
    const uint8_t *data;
    size_t size;
};

static inline uint8_t fuzz_byte(struct fuzz_input *input)
{
    if (!input->size)
        return 0;
    input->size--;
    return *input->data++;
}

/* A number below n. */
static inline size_t fuzz_below(struct fuzz_input *input, size_t n)
{
    size_t value = fuzz_byte(input);
    if (n > 256)
        value = value << 8 | fuzz_byte(input);
    return value % n;
}

static inline uint64_t fuzz_word(struct fuzz_input *input)
{
    uint64_t word = 0;
    for (int i = 0; i < 8; i++)
        word |= (uint64_t)fuzz_byte(input) << 8 * i;
    return word;
}

/* Most often a small number, and now and then any. */
static inline uint64_t fuzz_number(struct fuzz_input *input)
{
    uint8_t byte = fuzz_byte(input);
    return byte < 250 ? byte % 16 : byte < 253 ? -(uint64_t)fuzz_byte(input) : fuzz_word(input);
}

/* Heap memory of exactly this size, so that sanitizers detect accesses past its end. */
static inline void *fuzz_memory(size_t size)
{
    void *memory = malloc(size ? size : 1);
    ALWAYS(memory);
    return memory;
}

/* Sanitizers detect accesses to this memory, too. */
static inline void fuzz_forbid(void *memory, size_t size)
{
    ASAN_POISON_MEMORY_REGION(memory, size);
}

#endif
