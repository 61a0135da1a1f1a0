/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rate and latency of atomic operations of 32 and 64 bits. As in the published program: the first half of the PEs works
 * on the words of their partners in the second half, one word per operation; the operations keep the names that they
 * had before OpenSHMEM 1.4. Unlike there, the clock is stopped after a quiet, so that operations that fetch nothing are
 * complete too.
 */
#include "gather.h"
#include "osu_report.h"
#include "session.h"
#include "shmem_flavour.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOP = 500, MOST_GLOBAL = 1 << 17, BEFORE = 3, OPERAND = 5 };

static long long global_words[MOST_GLOBAL];

static const struct osu_static_area area = {(char *)global_words, sizeof global_words};

static const struct osu_program program = {
    .name = "osu_oshm_atomics",
    .title = "OSU OpenSHMEM Atomic Operation Rate Test",
    .summary = "Rate and latency of atomic operations between pairs of PEs.",
    .columns = OSU_SHOW_MILLIONS | OSU_SHOW_LATENCY,
    .full_columns = OSU_SHOW_ITERATIONS,
    .selects = true,
    .placement = OSU_HOST_MEMORY,
    .iterations = LOOP,
    .warmup = LOOP,
};

/* ---- Operations ------------------------------------------------------------------------------------------------ */

/* One operation of one type. Words hold BEFORE at first. */
struct operation {
    const char *name;
    /* The operation on count words of a PE, each once; returns the sum of what was fetched. */
    long long (*repeat)(void *words, long count, int pe);
    void (*set_words)(void *words, long count, long long value);
    bool (*words_are)(const void *words, long count, long long value);
    bool fetches;
    long long after; /* what a word must hold then */
};

/* clang-format off */
#define DEFINE_FETCHING(NAME, TYPE, OPERATION, ROUTINE, ...)                                                           \
    static long long NAME##_##OPERATION(void *words, long count, int pe)                                               \
    {                                                                                                                  \
        TYPE sum = 0, *word = words;                                                                                   \
        for (long i = 0; i < count; i++)                                                                               \
            sum += shmem_##NAME##_atomic_##ROUTINE(word + i, __VA_ARGS__);                                             \
        return sum;                                                                                                    \
    }

#define DEFINE_POSTING(NAME, TYPE, OPERATION, ROUTINE, ...)                                                            \
    static long long NAME##_##OPERATION(void *words, long count, int pe)                                               \
    {                                                                                                                  \
        TYPE *word = words;                                                                                            \
        for (long i = 0; i < count; i++)                                                                               \
            shmem_##NAME##_atomic_##ROUTINE(word + i, __VA_ARGS__);                                                    \
        return 0;                                                                                                      \
    }

#define DEFINE_WORDS(NAME, TYPE)                                                                                       \
    static void NAME##_set_words(void *words, long count, long long value)                                             \
    {                                                                                                                  \
        TYPE *word = words;                                                                                            \
        for (long i = 0; i < count; i++)                                                                               \
            word[i] = (TYPE)value;                                                                                     \
    }                                                                                                                  \
    static bool NAME##_words_are(const void *words, long count, long long value)                                       \
    {                                                                                                                  \
        const TYPE *word = words;                                                                                      \
        bool same = true;                                                                                              \
        for (long i = 0; i < count; i++)                                                                               \
            same &= word[i] == (TYPE)value;                                                                            \
        return same;                                                                                                   \
    }

#define DEFINE_TYPE(NAME, TYPE)                                                                                        \
    DEFINE_WORDS(NAME, TYPE)                                                                                           \
    DEFINE_FETCHING(NAME, TYPE, fadd, fetch_add, OPERAND, pe)                                                          \
    DEFINE_FETCHING(NAME, TYPE, finc, fetch_inc, pe)                                                                   \
    DEFINE_POSTING(NAME, TYPE, add, add, OPERAND, pe)                                                                  \
    DEFINE_POSTING(NAME, TYPE, inc, inc, pe)                                                                           \
    DEFINE_FETCHING(NAME, TYPE, cswap, compare_swap, BEFORE, OPERAND, pe)                                              \
    DEFINE_FETCHING(NAME, TYPE, swap, swap, OPERAND, pe)                                                               \
    DEFINE_POSTING(NAME, TYPE, set, set, OPERAND, pe)                                                                  \
    DEFINE_FETCHING(NAME, TYPE, fetch, fetch, pe)

#define OPERATION(NAME, OPERATION, FETCHES, AFTER)                                                                     \
    {"shmem_" #NAME "_" #OPERATION, NAME##_##OPERATION, NAME##_set_words, NAME##_words_are, FETCHES, AFTER}

#define OPERATIONS(NAME)                                                                                               \
    OPERATION(NAME, fadd, true, BEFORE + OPERAND),                                                                     \
    OPERATION(NAME, finc, true, BEFORE + 1),                                                                           \
    OPERATION(NAME, add, false, BEFORE + OPERAND),                                                                     \
    OPERATION(NAME, inc, false, BEFORE + 1),                                                                           \
    OPERATION(NAME, cswap, true, OPERAND),                                                                             \
    OPERATION(NAME, swap, true, OPERAND),                                                                              \
    OPERATION(NAME, set, false, OPERAND),                                                                              \
    OPERATION(NAME, fetch, true, BEFORE)
/* clang-format on */

DEFINE_TYPE(int, int)
DEFINE_TYPE(longlong, long long)

static const struct operation operations[] = {OPERATIONS(int), OPERATIONS(longlong)};

enum { N_OPERATIONS = sizeof operations / sizeof operations[0] };

/* ---- Measurement ----------------------------------------------------------------------------------------------- */

struct atomics_run {
    const struct osu_session *session;
    void *words; /* symmetric */
    int pairs;
};

static bool is_origin(const struct atomics_run *run)
{
    return run->session->me < run->pairs;
}

static bool is_target(const struct atomics_run *run)
{
    return run->session->me >= run->pairs && run->session->me < 2 * run->pairs;
}

static void prepare(const struct atomics_run *run, const struct operation *operation)
{
    operation->set_words(run->words, run->session->options.iterations, BEFORE);
    shmem_barrier_all();
}

/* Microseconds per operation; 0 on a PE that is no origin. */
static double measure(const struct atomics_run *run, const struct operation *operation)
{
    const struct osu_options *options = &run->session->options;
    long warmup = options->warmup < options->iterations ? options->warmup : options->iterations;
    int partner = run->session->me + run->pairs;
    if (!is_origin(run))
        return 0;
    operation->repeat(run->words, warmup, partner);
    shmem_quiet();
    double start = osu_time();
    operation->repeat(run->words, options->iterations, partner);
    shmem_quiet();
    return (osu_time() - start) / (double)options->iterations;
}

/* The result is on PE 0. */
static bool validate(const struct atomics_run *run, const struct operation *operation)
{
    long count = run->session->options.iterations;
    bool right = true;
    prepare(run, operation);
    if (is_origin(run)) {
        long long fetched = operation->repeat(run->words, count, run->session->me + run->pairs);
        right = fetched == (operation->fetches ? count * BEFORE : 0);
    }
    shmem_barrier_all();
    right &= operation->words_are(run->words, count, is_target(run) ? operation->after : BEFORE);
    return osu_gather(!right).sum == 0;
}

/* Returns whether the operation was right; PE 0 knows. */
static bool run_operation(const struct atomics_run *run, const struct operation *operation, unsigned columns)
{
    const struct osu_session *session = run->session;
    struct osu_row row = {
        .operation = operation->name, .iterations = (double)session->options.iterations, .valid = 1};
    prepare(run, operation);
    double latency = measure(run, operation);
    row.latency = osu_gather(latency).sum / run->pairs;
    row.millions = osu_gather(latency > 0 ? 1 / latency : 0).sum;
    if (session->options.validate)
        row.valid = validate(run, operation);
    if (session->me == 0)
        osu_report_row(&row, columns);
    return row.valid > 0;
}

static int run_operations(const struct atomics_run *run)
{
    unsigned columns = osu_report_columns(run->session);
    const char *only = run->session->options.operation;
    int measured = 0;
    bool right = true;
    if (run->session->me == 0)
        osu_report_atomics(run->session, osu_route(run->words, run->pairs), columns);
    for (int i = 0; i < N_OPERATIONS; i++) {
        if (only && strcmp(only, operations[i].name))
            continue;
        right &= run_operation(run, &operations[i], columns);
        measured++;
    }
    if (!measured && run->session->me == 0)
        fprintf(stderr, "%s: no operation is called %s\n", program.name, only);
    return right && measured ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    struct osu_session session;
    struct osu_memory memory;
    int status;
    if (!osu_session_start(&session, &program, argc, argv, &status))
        return status;
    size_t size = (size_t)session.options.iterations * sizeof(long long);
    if (osu_memory_create(&session, &memory, &device_host, area, size, true))
        return osu_session_end(EXIT_FAILURE);
    status = run_operations(&(struct atomics_run){&session, memory.address, session.n_pes / 2});
    osu_memory_destroy(&memory);
    return osu_session_end(status);
}
