// SPDX-License-Identifier: BSD-3-Clause
//
// Runs litmus tests: every program with every pair of objects and of issuers that this machine has, or some of them, as
// litmus.test and bench/gpu-check do. A pair of issuers is one that writes and one that reads, or, where the steps of one
// program are shared out, one that writes and another that tells of it. What is promised is between two of them; so of the
// three that a program may have, every two occur together, with every form, but not every three.
//
//   --tries N   of each pair of objects and issuers (10000)   --cases N   only so many, chosen at random
//   --seconds N at most so long for all (60)                  --seed N    which ones, and their order
//   --only TEXT programs, objects and issuers whose line contains it       --verbose   a line for each case
#include "litmus.h"

#include "../api/check.h"

#include <csignal>
#include <ctime>
#include <map>
#include <string>
#include <unistd.h>
#include <vector>

struct options {
    long tries, cases, seconds;
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

// The two issuers whose order a case tries.
static std::string issuers_of(const litmus_case &c)
{
    return std::string(c.first->name) + (c.second == c.first ? std::string(", read by ") + c.reader->name
                                                             : std::string(", told by ") + c.second->name);
}
static std::string pair_of(const litmus_case &c)
{
    return std::string(c.x->name) + " " + c.y->name + " " + issuers_of(c);
}

static void hang(int)
{
    if (write(STDERR_FILENO, present, strlen(present)) < 0)
        _exit(3);
    _exit(2);
}

// What this machine has, and what it has not, by name.
static void say_what_is_tried(const litmus_object *objects, int n_objects, const litmus_issuer **issuers, int n_issuers)
{
    if (shmem_my_pe())
        return;
    printf("objects:");
    for (int i = 0; i < n_objects; i++)
        printf(" %s", objects[i].name);
    printf("; issuers:");
    for (int i = 0; i < n_issuers; i++)
        printf(" %s", issuers[i]->name);
    printf("%s%s\n", litmus_stream() ? "" : "; skipped: cuda, stream (no CUDA device)",
           litmus_queue() ? "" : "; skipped: opencl, queue (no OpenCL device)");
}

static std::vector<litmus_case> cases_of(const options &o)
{
    static litmus_object objects[8];
    const litmus_issuer *issuers[8];
    const int n_objects = litmus_objects(objects, 8), n_issuers = litmus_issuers(issuers, 8);
    std::vector<litmus_case> cases;
    say_what_is_tried(objects, n_objects, issuers, n_issuers);
    for (int p = 0; p < litmus_n_programs; p++)
        for (int xy = 0; xy < n_objects * n_objects; xy++)
            for (int by = 0; by < n_issuers * n_issuers * n_issuers; by++) {
                const int first = by % n_issuers, second = by / n_issuers % n_issuers,
                          reader = by / n_issuers / n_issuers;
                if (first != second && reader != (first + second) % n_issuers)
                    continue; // a Latin square: each two of the three are together once
                const litmus_case c = {&litmus_programs[p], &objects[xy % n_objects], &objects[xy / n_objects],
                                       issuers[first],      issuers[second],          issuers[reader]};
                if (litmus_applies(c) && (!o.only || text_of(c).find(o.only) != std::string::npos))
                    cases.push_back(c);
            }
    return cases;
}

// Short batches, of a length that differs: that is when PEs are at the same place.
static int batch_size(const litmus_case &c, unsigned *state)
{
    int most = LITMUS_X_BYTES / static_cast<int>(c.program->nbytes);
    for (const litmus_issuer *issuer : {c.first, c.second, c.reader})
        most = issuer->batch < most ? issuer->batch : most;
    return 1 + static_cast<int>(next(state, static_cast<unsigned>(most)));
}

static sums run(const litmus_case &c, long tries, double seconds, unsigned *state)
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
        const int more = sum.tries < tries && now() - begin < seconds;
        for (int pe = 0; pe < shmem_n_pes() && me == 0; pe++)
            shmem_int_p(&go_on, more, pe);
        shmem_barrier_all();
    } while (go_on);
    sum.forbidden = litmus_is_forbidden(c) ? sum.hits : 0;
    return sum;
}

static sums run_one(const litmus_case &c, const options &o, long tries, double seconds, unsigned *state)
{
    const std::string text = text_of(c);
    snprintf(present, sizeof present, "PE %d does not go on: %.200s\n", shmem_my_pe(), text.c_str());
    alarm(static_cast<unsigned>(60 + seconds));
    const sums sum = run(c, tries, seconds, state);
    if (shmem_my_pe() == 0 && (sum.forbidden || o.is_verbose))
        printf("%s%s: %ld of %ld\n", sum.forbidden ? "FORBIDDEN: " : "", text.c_str(), sum.hits, sum.tries);
    fflush(stdout);
    return sum;
}

static void add(sums *all, const sums &sum)
{
    all->cases += sum.cases, all->tries += sum.tries, all->hits += sum.hits, all->forbidden += sum.forbidden;
}

// Pairs of issuers: over how many pairs of objects, and how often the one with the fewest tries was tried.
static void report_pairs(const std::vector<litmus_case> &cases, std::map<std::string, sums> &by_pair)
{
    std::map<std::string, std::map<std::string, sums *>> by_issuers;
    for (const litmus_case &c : cases)
        by_issuers[issuers_of(c)][pair_of(c)] = &by_pair[pair_of(c)];
    printf("%-42s %8s %10s %10s %10s\n", "issuers", "objects", "tries", "least", "forbidden");
    for (const auto &row : by_issuers) {
        sums all = {0, 0, 0, 0};
        long least = -1;
        for (const auto &pair : row.second) {
            add(&all, *pair.second);
            least = least < 0 || pair.second->tries < least ? pair.second->tries : least;
        }
        printf("%-42s %8zu %10ld %10ld %10ld\n", row.first.c_str(), row.second.size(), all.tries, least, all.forbidden);
    }
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
    return forbidden;
}

static options parse(int argc, char **argv)
{
    options o = {10000, 0, 60, 1, nullptr, false};
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
            *(name == "--tries"     ? &o.tries
              : name == "--cases"   ? &o.cases
              : name == "--seconds" ? &o.seconds
                                    : nullptr) = strtol(value, nullptr, 10);
        i++;
    }
    return o;
}

// The chosen cases, in random order; each has its share of its pair's tries, and of the time that is left.
static long run_all(std::vector<litmus_case> &cases, const options &o)
{
    unsigned state = o.seed * 2654435761u + 1;
    std::vector<sums> by_program(static_cast<size_t>(litmus_n_programs));
    std::map<std::string, sums> by_pair;
    std::map<std::string, long> sharing;
    for (size_t i = 0; i < cases.size(); i++)
        std::swap(cases[i], cases[i + next(&state, static_cast<unsigned>(cases.size() - i))]);
    if (o.cases && static_cast<size_t>(o.cases) < cases.size())
        cases.resize(static_cast<size_t>(o.cases));
    for (const litmus_case &c : cases)
        sharing[pair_of(c)]++;
    const double end = now() + static_cast<double>(o.seconds);
    for (size_t i = 0; i < cases.size(); i++) {
        const std::string pair = pair_of(cases[i]);
        const long tries = (o.tries + sharing[pair] - 1) / sharing[pair];
        const double left = (end - now()) / static_cast<double>(cases.size() - i);
        const sums sum = run_one(cases[i], o, tries, left, &state);
        add(&by_program[static_cast<size_t>(cases[i].program - litmus_programs)], sum);
        add(&by_pair[pair], sum);
    }
    if (shmem_my_pe())
        return 0;
    const long forbidden = report(by_program);
    report_pairs(cases, by_pair);
    puts(forbidden ? "forbidden outcomes were seen" : "ok");
    return forbidden;
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
    std::vector<litmus_case> cases = cases_of(o);
    const long forbidden = run_all(cases, o);
    shmem_barrier_all();
    shmem_finalize();
    return forbidden != 0;
}
