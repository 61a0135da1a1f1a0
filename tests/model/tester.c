/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs random programs, one after the other (tester.h says what they are):
 *
 *     model [--seed N] [--programs N] [--seconds N] [--repeat N] [--keep LIST] [--print [--dry]] [--progress FILE] [--threads 0|1]
 *
 * The programs have the seeds N, N + 1, ...; each is run --repeat times. --keep leaves out the steps that are not in the
 * list (1,4-7), and the contexts, whose numbers follow those of the steps. --print prints the programs, and with --dry does
 * not run them. The number of the
 * one that runs is in FILE. MODEL_DEVICE=none and MODEL_KERNELS=none leave these out. scripts/model starts it in random configurations.
 */
#include "mapped.h"
#include "random_program.h"

#include "support/util.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

struct tester_job job;

extern const struct step_family transfers, atomics, collectives, deep_copies, kernels, lock_steps, messages, occasions,
    queued_steps, wait_sets;
const struct step_family *const families[] = {&transfers,    &atomics,    &collectives, &deep_copies,
                                              &kernels,      &lock_steps, &messages,    &occasions,
                                              &queued_steps, &wait_sets,  NULL};

struct tester_arguments {
    uint64_t seed, programs;
    double seconds;
    int repeat, progress;
    const char *keep;
    bool print, dry, threads;
};

static void usage(void)
{
    fprintf(stderr, "usage: model [--seed N] [--programs N] [--seconds N] [--repeat N] [--keep LIST] [--print] "
                    "[--progress FILE] [--threads 0|1]\n");
    exit(2);
}

static uint64_t number_of(const char *text)
{
    char *end;
    const unsigned long long number = strtoull(text, &end, 10);
    if (end == text || *end)
        usage();
    return number;
}

static void read_option(struct tester_arguments *arguments, int option)
{
    switch (option) {
    case 's':
        arguments->seed = number_of(optarg);
        break;
    case 'p':
        arguments->programs = number_of(optarg);
        break;
    case 't':
        arguments->seconds = (double)number_of(optarg);
        break;
    case 'r':
        arguments->repeat = (int)number_of(optarg);
        break;
    case 'k':
        arguments->keep = optarg;
        break;
    case 'v':
        arguments->print = true;
        break;
    case 'd':
        arguments->dry = true;
        break;
    case 'm':
        arguments->threads = number_of(optarg) != 0;
        break;
    case 'f':
        if ((arguments->progress = open(optarg, O_WRONLY | O_CREAT, 0600)) >= 0)
            break;
        fprintf(stderr, "model: cannot write %s\n", optarg);
        exit(2);
    default:
        usage();
    }
}

static struct tester_arguments read_arguments(int argc, char **argv)
{
    static const struct option options[] = {
        {"seed", required_argument, NULL, 's'},    {"programs", required_argument, NULL, 'p'},
        {"seconds", required_argument, NULL, 't'}, {"repeat", required_argument, NULL, 'r'},
        {"keep", required_argument, NULL, 'k'},    {"print", no_argument, NULL, 'v'},
        {"dry", no_argument, NULL, 'd'},           {"progress", required_argument, NULL, 'f'},
        {"threads", required_argument, NULL, 'm'}, {NULL, 0, NULL, 0}};
    struct tester_arguments arguments = {.seed = 1, .programs = 1, .repeat = 1, .progress = -1, .threads = true};
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;)
        read_option(&arguments, option);
    if (optind != argc)
        usage();
    return arguments;
}

/* 1,4-7: these stay; or none. */
static void keep(const char *list)
{
    memset(program.is_kept, false, sizeof program.is_kept);
    for (const char *at = strcmp(list, "none") ? list : ""; *at;) {
        char *end;
        const unsigned long first = strtoul(at, &end, 10), last = *end == '-' ? strtoul(end + 1, &end, 10) : first;
        if (end == at || last < first || last >= sizeof program.is_kept || (*end && *end != ','))
            usage();
        memset(program.is_kept + first, true, (last - first + 1) * sizeof program.is_kept[0]);
        at = *end ? end + 1 : end;
    }
}

void wrong(int step, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    flockfile(stderr);
    fprintf(stderr, "model: WRONG: program %llu, PE %d: %s\n", (unsigned long long)program.seed, job.me, text);
    if (step >= 0)
        step_print(&program.steps[step], stderr);
    funlockfile(stderr);
    shmem_global_exit(1);
    abort();
}

void *model_malloc(size_t nbytes)
{
    void *memory = malloc(nbytes ? nbytes : 1);
    if (!memory)
        wrong(-1, "no memory for %zu bytes", nbytes);
    return memory;
}

/* ---- The job --------------------------------------------------------------------------------------------------------- */

static void job_begin(bool threads)
{
    static int first, firsts[PES_MAX], can, all_can;
    int provided;
    if (shmem_init_thread(threads ? SHMEM_THREAD_MULTIPLE : SHMEM_THREAD_SINGLE, &provided) != 0)
        exit(1);
    job.me = shmem_my_pe();
    job.n = shmem_n_pes();
    if (job.n > PES_MAX) {
        fprintf(stderr, "model: at most %d PEs\n", PES_MAX);
        shmem_global_exit(2);
    }
    job.has_threads = threads;
    job.has_device = mapped_open();
    first = shmem_team_translate_pe(SHMEM_TEAM_SHARED, 0, SHMEM_TEAM_WORLD);
    can = kernels_open() && !(getenv("MODEL_KERNELS") && !strcmp(getenv("MODEL_KERNELS"), "none"));
    shmem_barrier_all();
    shmem_int_min_reduce(SHMEM_TEAM_WORLD, &all_can, &can, 1);
    job.has_kernels = all_can;
    shmem_int_fcollect(SHMEM_TEAM_WORLD, firsts, &first, 1);
    memcpy(job.node, firsts, sizeof firsts);
    shmem_barrier_all();
}

static void job_end(void)
{
    mapped_close();
    shmem_finalize();
}

/* PE 0's clock decides for all. */
static bool goes_on(double end)
{
    static int own, everybody;
    own = now() < end;
    shmem_sync_all();
    shmem_int_broadcast(SHMEM_TEAM_WORLD, &everybody, &own, 1, 0);
    return everybody;
}

static void run_one(const struct tester_arguments *arguments, uint64_t seed)
{
    for (int i = 0; i < arguments->repeat; i++) {
        program_draw(seed);
        if (arguments->keep)
            keep(arguments->keep);
        if (arguments->print && i == 0 && job.me == 0)
            program_print(stdout);
        fflush(stdout);
        if (arguments->progress >= 0 && job.me == 0)
            dprintf(arguments->progress, "%llu\n", (unsigned long long)seed);
        if (arguments->dry)
            continue;
        program_run();
        if (program.ends_job) {
            job_end();
            job_begin(arguments->threads);
        }
    }
}

int main(int argc, char **argv)
{
    const struct tester_arguments arguments = read_arguments(argc, argv);
    uint64_t done = 0;
    const double end = now() + (arguments.seconds > 0 ? arguments.seconds : 1e9);
    job_begin(arguments.threads);
    for (; done < arguments.programs && goes_on(end); done++)
        run_one(&arguments, arguments.seed + done);
    shmem_barrier_all();
    if (job.me == 0)
        printf("model: %llu programs\n", (unsigned long long)done);
    fflush(stdout);
    job_end();
    return 0;
}
