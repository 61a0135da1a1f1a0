/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A mixture of experts: tokens, choices and weights, what must come out of a layer, and the time that one takes.
 */
#include "moe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TOKENS, SIZE, BLOCKS, LAYERS, N_OPTIONS };
static int options[N_OPTIONS] = {256, 512, 64, 100};
static const char *const names[N_OPTIONS] = {"--tokens", "--size", "--blocks", "--layers"};

static int say_usage(FILE *stream, int status)
{
    fprintf(stream,
            "usage: oshrun -n 2 %s [--tokens N] [--size N] [--blocks N] [--layers N] [--help] [--version]\n"
            "Tokens of SIZE elements (512, a multiple of 4), as many of each PE (256), go to experts on all PEs and "
            "back, in\n"
            "one kernel for each layer, of up to 64 blocks; LAYERS (100) are timed, and the result is verified.\n",
            moe_name);
    return status;
}

static int take_number(int option, const char *text)
{
    char *end;
    const long value = strtol(text, &end, 10);
    options[option] = (int)value;
    return !*end && value >= 1 && value <= 65536;
}

/* Returns the exit status, or -1 if the program is to run. */
static int read_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        int option = 0;
        if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help"))
            return say_usage(stdout, 0);
        if (!strcmp(argv[i], "--version"))
            return printf("%s %d.%d.%d\n", SHMEM_VENDOR_STRING, MAPSHMEM_NUMVERSION / 10000,
                          MAPSHMEM_NUMVERSION / 100 % 100, MAPSHMEM_NUMVERSION % 100) < 0;
        while (option < N_OPTIONS && strcmp(argv[i], names[option]))
            option++;
        if (option == N_OPTIONS || i + 1 == argc || !take_number(option, argv[i + 1]))
            return say_usage(stderr, 2);
    }
    return options[SIZE] % 4 ? say_usage(stderr, 2) : -1;
}

/* ---- what goes in and comes out: small numbers, so that nothing is rounded ----------------------------------------- */

static float token_element(int pe, int token, int i, int round)
{
    return (float)((pe + 7 * token + 3 * i + round) % 16);
}

/* In every second round all tokens go to the first expert. */
static int expert_of(int pe, int choice, int round, int n_experts)
{
    const unsigned mixed = ((unsigned)pe * 40503u + (unsigned)choice * 2654435761u + (unsigned)round * 97u) >> 7;
    return round % 2 ? 0 : (int)(mixed % (unsigned)n_experts);
}

static float weight_of(int k)
{
    return 1.f / (float)(1 << k % 4);
}

static float result_element(int token, int i, int round)
{
    const int me = shmem_my_pe(), n_experts = MOE_EXPERTS * shmem_n_pes();
    float sum = 0;
    for (int k = 0; k < MOE_TOP; k++) {
        const float expert = (float)expert_of(me, token * MOE_TOP + k, round, n_experts);
        sum += weight_of(k) * (token_element(me, token, i, round) * (expert + 1) + expert);
    }
    return sum;
}

/* Host copies are filled and go to the GPU. */
static void fill(const struct moe_layer *l, int round)
{
    const int me = shmem_my_pe(), n_choices = l->tokens * MOE_TOP, n_pes = shmem_n_pes();
    float *x = malloc(sizeof *x * (size_t)l->tokens * (size_t)l->size),
          *weight = malloc(sizeof *weight * (size_t)n_choices);
    int *expert = calloc((size_t)(2 * n_choices + n_pes), sizeof *expert), *slot = expert + n_choices,
        *counts = slot + n_choices;
    for (int token = 0; token < l->tokens; token++)
        for (int i = 0; i < l->size; i++)
            x[(size_t)token * (size_t)l->size + (size_t)i] = token_element(me, token, i, round);
    for (int choice = 0; choice < n_choices; choice++) {
        expert[choice] = expert_of(me, choice, round, MOE_EXPERTS * n_pes);
        slot[choice] = counts[expert[choice] / MOE_EXPERTS]++;
        weight[choice] = weight_of(choice % MOE_TOP);
    }
    moe_copy((void *)l->x, x, sizeof *x * (size_t)l->tokens * (size_t)l->size);
    moe_copy((void *)l->expert, expert, sizeof *expert * (size_t)(2 * n_choices + n_pes));
    moe_copy((void *)l->weight, weight, sizeof *weight * (size_t)n_choices);
    free(x);
    free(weight);
    free(expert);
}

static int is_right(const struct moe_layer *l, int round)
{
    const size_t nbytes = sizeof(float) * (size_t)l->tokens * (size_t)l->size;
    float *y = malloc(nbytes);
    int n_wrong = 0;
    moe_copy(y, l->y, nbytes);
    for (int token = 0; token < l->tokens; token++)
        for (int i = 0; i < l->size; i++)
            n_wrong += y[(size_t)token * (size_t)l->size + (size_t)i] != result_element(token, i, round);
    if (n_wrong)
        fprintf(stderr, "PE %d: %d elements are WRONG in round %d\n", shmem_my_pe(), n_wrong, round);
    free(y);
    return !n_wrong;
}

/* ---- the job -------------------------------------------------------------------------------------------------------- */

static struct moe_layer make_layer(shmemx_device_view_t *view)
{
    const size_t n_pes = (size_t)shmem_n_pes(), n_choices = (size_t)(options[TOKENS] * MOE_TOP),
                 size = (size_t)options[SIZE];
    const size_t n_words = (n_pes + n_pes * n_choices + 2) / 2 * 2; /* rows begin where units of 16 bytes do */
    struct moe_layer l = {.tokens = options[TOKENS], .size = options[SIZE]};
    l.expected = moe_symmetric(n_words * 8 + (n_pes + 1) * n_choices * size * sizeof(float), view);
    l.filled = l.expected + n_pes;
    l.returned = l.filled + n_pes * n_choices;
    l.rows = (float *)(l.expected + n_words);
    l.results = l.rows + n_pes * n_choices * size;
    l.x = moe_memory((size_t)options[TOKENS] * size * sizeof(float));
    l.y = moe_memory((size_t)options[TOKENS] * size * sizeof(float));
    l.weight = moe_memory(n_choices * sizeof(float));
    l.expert = moe_memory((2 * n_choices + n_pes) * sizeof(int));
    l.slot = l.expert + n_choices;
    l.counts = l.slot + n_choices;
    return l;
}

static void end_layer(struct moe_layer *l)
{
    moe_free((void *)l->x);
    moe_free(l->y);
    moe_free((void *)l->weight);
    moe_free((void *)l->expert);
    moe_end(l->expected);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Seconds of so many layers. */
static double run(const struct moe_layer *l, const shmemx_device_view_t *view, int n_blocks, int n_layers)
{
    static unsigned long number = 1;
    shmem_barrier_all();
    const double begin = now();
    moe_run(l, view, n_blocks, number, n_layers);
    moe_finish();
    number += (unsigned long)n_layers;
    return now() - begin;
}

/* As many blocks on all PEs as the one with the fewest can run. */
static int agreed_blocks(int wanted)
{
    static int blocks;
    const int possible = moe_blocks();
    blocks = possible < wanted ? possible : wanted;
    shmem_int_min_reduce(SHMEM_TEAM_WORLD, &blocks, &blocks, 1);
    if (blocks < 1)
        shmem_global_exit(1);
    return blocks;
}

int main(int argc, char **argv)
{
    int status = read_options(argc, argv);
    if (status >= 0)
        return status;
    shmem_init();
    if (moe_open())
        shmem_global_exit(77);
    shmemx_device_view_t view;
    struct moe_layer layer = make_layer(&view);
    const int n_blocks = agreed_blocks(options[BLOCKS]);
    status = 0;
    for (int round = 0; round < 4; round++) { /* the last two of more layers than one */
        fill(&layer, round);
        const int n_layers = round < 2 ? 1 : options[LAYERS];
        const double seconds = run(&layer, &view, n_blocks, n_layers) / n_layers;
        status |= !is_right(&layer, round);
        if (shmem_my_pe() == 0 && !status && round >= 2)
            printf("%d PEs, %d tokens of %d bytes, %d experts each%s, %d blocks: %.1f us a layer: verified\n",
                   shmem_n_pes(), options[TOKENS], 4 * options[SIZE], MOE_TOP, round == 2 ? "" : ", all on PE 0",
                   n_blocks, seconds * 1e6);
    }
    shmem_barrier_all();
    end_layer(&layer);
    shmem_finalize();
    return status;
}
