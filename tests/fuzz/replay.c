/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs a fuzz target without a fuzzer: on the files that are named, or on the inputs of its pack (tests/fuzz/pack.py)
 * and then on as many generated ones as FUZZ_INPUTS says, the same ones each time.
 */
#include "fuzz.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#ifndef FUZZ_INPUTS
#define FUZZ_INPUTS 20000
#endif

static uint64_t random_state = 1;

static uint64_t random_word(void)
{
    uint64_t word = random_state += UINT64_C(0x9e3779b97f4a7c15);
    word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
    return word ^ word >> 31;
}

static void replay_bytes(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = fuzz_memory(size);
    memcpy(copy, bytes, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static uint8_t stored[1 << 20]; /* the input of a file or of a pack that is being read */

static void replay_file(const char *name)
{
    FILE *file = fopen(name, "rb");
    if (!file) {
        perror(name);
        exit(2);
    }
    size_t size = fread(stored, 1, sizeof stored, file);
    fclose(file);
    replay_bytes(stored, size);
}

/* Append the bytes that a line of a pack has in hexadecimal. Returns the new size. */
static size_t read_digits(const char *line, size_t size)
{
    unsigned byte;
    int n = 0;
    for (; size < sizeof stored && sscanf(line, "%2x%n", &byte, &n) == 1 && n == 2; line += n)
        stored[size++] = (uint8_t)byte;
    if (*line != '\n') {
        fprintf(stderr, "no bytes in hexadecimal: %s", line);
        exit(2);
    }
    return size;
}

/* Returns how many inputs the pack has. */
static size_t replay_pack(FILE *pack)
{
    char line[256];
    size_t n = 0, size = 0;
    while (fgets(line, sizeof line, pack)) {
        bool begins = !strncmp(line, "input", 5);
        if (begins && n++)
            replay_bytes(stored, size);
        if (begins)
            size = 0;
        else if (line[0] != '#')
            size = read_digits(line, size);
    }
    if (n)
        replay_bytes(stored, size);
    return n;
}

/* The inputs of the program replay_TARGET are in tests/fuzz/corpus/TARGET.pack; make's tests have the sources' folder in
 * srcdir. */
static void replay_corpus(const char *program)
{
    char name[PATH_MAX];
    const char *top = getenv("srcdir"), *target = strrchr(program, '_');
    snprintf(name, sizeof name, "%s/tests/fuzz/corpus/%s.pack", top ? top : ".", target ? target + 1 : "");
    FILE *pack = fopen(name, "r");
    size_t n = pack ? replay_pack(pack) : 0;
    if (!n) {
        fprintf(stderr, "%s: there are no inputs\n", name);
        exit(2);
    }
    printf("%zu inputs of the pack\n", n);
    fclose(pack);
}

/* Any bytes, or mostly small ones, or a variation of the previous input, which may have led further. */
static size_t make_input(uint8_t *bytes, size_t size_before)
{
    enum { MOST = 600 };
    uint64_t kind = random_word() % 3;
    size_t size = kind == 2 && size_before ? size_before : random_word() % MOST;
    if (kind == 2) {
        for (size_t n = 1 + random_word() % 4; size && n; n--)
            bytes[random_word() % size] = (uint8_t)random_word();
        return size;
    }
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(kind || random_word() % 8 == 0 ? random_word() : random_word() % 16);
    return size;
}

int main(int argc, char **argv)
{
    const char *wanted = getenv("FUZZ_INPUTS");
    size_t n = wanted ? strtoul(wanted, NULL, 10) : FUZZ_INPUTS, size = 0;
    static uint8_t bytes[1024];
    for (int i = 1; i < argc; i++)
        replay_file(argv[i]);
    if (argc == 1)
        replay_corpus(argv[0]);
    for (size_t i = 0; argc == 1 && i < n; i++) {
        size = make_input(bytes, size);
        replay_bytes(bytes, size);
    }
    return 0;
}
