/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs a fuzz target without a fuzzer: on the files that are named, or on those of its corpus and then on as many
 * generated inputs as FUZZ_INPUTS says, the same ones each time.
 */
#include "fuzz.h"

#include <dirent.h>
#include <limits.h>
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

static void replay_file(const char *name)
{
    static uint8_t bytes[1 << 20];
    FILE *file = fopen(name, "rb");
    if (!file) {
        perror(name);
        exit(2);
    }
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    replay_bytes(bytes, size);
}

/* The corpus of the program replay_TARGET is tests/fuzz/corpus/TARGET; make's tests have the sources' folder in
 * srcdir. */
static void replay_corpus(const char *program)
{
    char folder[PATH_MAX], name[PATH_MAX + 300];
    const char *top = getenv("srcdir"), *target = strrchr(program, '_');
    snprintf(folder, sizeof folder, "%s/tests/fuzz/corpus/%s", top ? top : ".", target ? target + 1 : "");
    DIR *corpus = opendir(folder);
    if (!corpus) {
        perror(folder);
        exit(2);
    }
    for (struct dirent *entry; (entry = readdir(corpus));) {
        snprintf(name, sizeof name, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.')
            replay_file(name);
    }
    closedir(corpus);
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
