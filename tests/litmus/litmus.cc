// SPDX-License-Identifier: BSD-3-Clause
//
// Runs litmus tests: every program with every pair of objects and all issuers that this machine has, or some of them, as
// litmus.test and bench/gpu-check do.
//
//   --tries N   of each case (1000)             --cases N   only so many, chosen at random
//   --ms N      at most so long for each (20)   --seed N    which ones
//   --only TEXT programs, objects and issuers whose line contains it           --verbose   a line for each case
#include "litmus.h"

#include "../api/check.h"

#include <csignal>
#include <ctime>
#include <string>
#include <unistd.h>
#include <vector>

struct options {
    long tries, cases, ms;
    unsigned seed;
    const char *only;
    bool is_verbose;
};

struct sums {
    long cases, tries, hits, forbidden;
};

static char present[256]; // for the signal handler
static int go_on;         // symmetric: what PE 0 has decided

static double now()
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

static unsigned next(unsigned *state, unsigned n)
{
    *state = *state * 1664525u + 1013904223u;
    return static_cast<unsigned>(static_cast<unsigned long long>(*state >> 8) * n >> 24);
}

static std::string text_of(const litmus_case &c)
{
    std::string text =
        std::string(c.program->name) + "; x: " + c.x->name + ", y: " + c.y->name + "; by " + c.first->name;
    if (c.second != c.first)
        text += std::string(" and ") + c.second->name;
    return text + ", read by " + c.reader->name;
}

static void hang(int)
{
    if (write(STDERR_FILENO, present, strlen(present)) < 0)
        _exit(3);
    _exit(2);
}

static std::vector<litmus_case> cases_of(const options &o)
{
    static litmus_object objects[8];
    const litmus_issuer *issuers[8];
    const int n_objects = litmus_objects(objects, 8), n_issuers = litmus_issuers(issuers, 8);
    std::vector<litmus_case> cases;
    for (int p = 0; p < litmus_n_programs; p++)
        for (int xy = 0; xy < n_objects * n_objects; xy++)
            for (int by = 0; by < n_issuers * n_issuers * n_issuers; by++) {
                const litmus_case c = {&litmus_programs[p],
                                       &objects[xy % n_objects],
                                       &objects[xy / n_objects],
                                       issuers[by % n_issuers],
                                       issuers[by / n_issuers % n_issuers],
                                       issuers[by / n_issuers / n_issuers]};
                if (litmus_applies(c) && (!o.only || text_of(c).find(o.only) != std::string::npos))
                    cases.push_back(c);
            }
    return cases;
}

// Short batches: that is when PEs are at the same place.
static int batch_size(const litmus_case &c, unsigned *state)
{
    const bool slow = c.first->completes_by_itself || c.reader->completes_by_itself;
    const size_t room = LITMUS_X_BYTES / c.program->nbytes, most = slow ? 32 : 256;
    return 1 + static_cast<int>(next(state, static_cast<unsigned>(room < most ? room : most)));
}

static sums run(const litmus_case &c, const options &o, unsigned *state)
{
    static uint64_t value;
    const double begin = now();
    const int me = shmem_my_pe();
    sums sum = {1, 0, 0, 0};
    do {
        const int n = batch_size(c, state);
        value += 2;
        sum.hits += c.program->batch(c, n, value);
        sum.tries += n;
        const int more = sum.tries < o.tries && (now() - begin) * 1000 < static_cast<double>(o.ms);
        for (int pe = 0; pe < shmem_n_pes() && me == 0; pe++)
            shmem_int_p(&go_on, more, pe);
        shmem_barrier_all();
    } while (go_on);
    sum.forbidden = litmus_is_forbidden(c) ? sum.hits : 0;
    return sum;
}

static sums run_one(const litmus_case &c, const options &o, unsigned *state)
{
    const std::string text = text_of(c);
    snprintf(present, sizeof present, "PE %d does not go on: %.200s\n", shmem_my_pe(), text.c_str());
    alarm(static_cast<unsigned>(60 + o.ms / 1000));
    const sums sum = run(c, o, state);
    if (shmem_my_pe() == 0 && (sum.forbidden || o.is_verbose))
        printf("%s%s: %ld of %ld\n", sum.forbidden ? "FORBIDDEN: " : "", text.c_str(), sum.hits, sum.tries);
    fflush(stdout);
    return sum;
}

static long report(const std::vector<sums> &by_program)
{
    long forbidden = 0;
    printf("%-42s %8s %10s %10s %10s\n", "program", "cases", "tries", "outcome", "forbidden");
    for (int p = 0; p < litmus_n_programs; p++) {
        const sums &s = by_program[static_cast<size_t>(p)];
        forbidden += s.forbidden;
        if (s.cases)
            printf("%-42s %8ld %10ld %10ld %10ld\n", litmus_programs[p].name, s.cases, s.tries, s.hits, s.forbidden);
    }
    puts(forbidden ? "forbidden outcomes were seen" : "ok");
    return forbidden;
}

static options parse(int argc, char **argv)
{
    options o = {1000, 0, 20, 1, nullptr, false};
    for (int i = 1; i < argc; i++) {
        const std::string name = argv[i];
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (name == "--verbose") {
            o.is_verbose = true;
            continue;
        }
        if (name == "--only")
            o.only = value;
        else if (name == "--seed")
            o.seed = static_cast<unsigned>(strtoul(value, nullptr, 10));
        else
            *(name == "--tries"   ? &o.tries
              : name == "--cases" ? &o.cases
              : name == "--ms"    ? &o.ms
                                  : nullptr) = strtol(value, nullptr, 10);
        i++;
    }
    return o;
}

int main(int argc, char **argv)
{
    int provided;
    const options o = parse(argc, argv);
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    if (shmem_n_pes() < 2) {
        puts("ok: one PE");
        shmem_finalize();
        return 0;
    }
    signal(SIGALRM, hang);
    unsigned state = o.seed * 2654435761u + 1;
    std::vector<litmus_case> cases = cases_of(o);
    std::vector<sums> by_program(static_cast<size_t>(litmus_n_programs));
    const size_t n =
        o.cases && static_cast<size_t>(o.cases) < cases.size() ? static_cast<size_t>(o.cases) : cases.size();
    for (size_t i = 0; i < n; i++) {
        std::swap(cases[i], cases[i + next(&state, static_cast<unsigned>(cases.size() - i))]);
        const sums sum = run_one(cases[i], o, &state);
        sums &all = by_program[static_cast<size_t>(cases[i].program - litmus_programs)];
        all.cases += sum.cases, all.tries += sum.tries, all.hits += sum.hits, all.forbidden += sum.forbidden;
    }
    const long forbidden = shmem_my_pe() == 0 ? report(by_program) : 0;
    shmem_barrier_all();
    shmem_finalize();
    return forbidden != 0;
}
