/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the cores that no PE has are divided among the PEs' threads, on machines that hwloc makes up.
 */
#define _GNU_SOURCE
#include "gpu/thread_cores.h"

#include "bootstrap/binding.h"
#include "unit.h"

#include <string.h>

enum { PES_MAX = 64 };

static struct shmemi_machine machine;
static struct shmemi_thread_cores chosen[PES_MAX];

/* All PEs choose. bound has a list for each, separated by blanks. */
static int choose(const char *allowed, const char *bound)
{
    static cpu_set_t sets[PES_MAX];
    cpu_set_t all;
    char text[1024], *rest = text, *word;
    int n = 0;
    snprintf(text, sizeof text, "%s", bound);
    while ((word = strsep(&rest, " ")))
        CHECK(n < PES_MAX && shmemi_cpus_from_list(word, &sets[n++]));
    CHECK(shmemi_cpus_from_list(allowed, &all));
    for (int me = 0; me < n; me++) {
        const struct shmemi_thread_question question = {&machine, sets, &all, n, me};
        shmemi_thread_cores_choose(&question, &chosen[me]);
        if (chosen[me].place == SHMEMI_THREADS_APART || chosen[me].place == SHMEMI_THREADS_CLOSE)
            CHECK(shmemi_thread_cores_may_be_free(&question));
    }
    return n;
}

static bool is(int pe, enum shmemi_threads_place place, const char *list)
{
    char text[256];
    bool is_so = chosen[pe].place == place && !strcmp(shmemi_cpus_list(&chosen[pe].cpus, text, sizeof text), list);
    if (!is_so)
        fprintf(stderr, "# PE %d: place %d, %s\n", pe, (int)chosen[pe].place, text);
    return is_so;
}

static bool frees(int pe, const char *list)
{
    char text[256];
    return !strcmp(shmemi_cpus_list(&chosen[pe].free, text, sizeof text), list);
}

/* No processor is in two PEs' sets, nor in a PE's binding. */
static void check_apart(int n, const char *bound)
{
    cpu_set_t taken, both;
    CHECK(shmemi_cpus_from_list(bound, &taken));
    for (int pe = 0; pe < n; pe++) {
        CHECK(chosen[pe].place == SHMEMI_THREADS_APART && CPU_COUNT(&chosen[pe].cpus) > 0);
        CPU_AND(&both, &taken, &chosen[pe].cpus);
        CHECK(!CPU_COUNT(&both));
        CPU_OR(&taken, &taken, &chosen[pe].cpus);
    }
}

static void check_two_cores(void)
{
    CHECK(shmemi_machine_read(&machine, "core:2 pu:1") && machine.n_cores == 2);
    choose("0-1", "0");
    CHECK(is(0, SHMEMI_THREADS_APART, "1") && frees(0, "1"));
    choose("0", "0"); /* confined */
    CHECK(is(0, SHMEMI_THREADS_ON_PE, "0"));
    choose("0-1", "0 1");
    CHECK(is(0, SHMEMI_THREADS_ON_PE, "0") && is(1, SHMEMI_THREADS_ON_PE, "1"));
    choose("0-1", "0 0");
    CHECK(is(0, SHMEMI_THREADS_CLOSE, "1") && is(1, SHMEMI_THREADS_CLOSE, "1"));
    choose("0-1", "0-1");
    CHECK(is(0, SHMEMI_THREADS_ROOM, "0-1"));
    choose("0-1", "0-1 0-1");
    CHECK(is(0, SHMEMI_THREADS_ON_PE, "0-1"));
}

/* Two sockets of 8 cores, two processors each: 0-15 and 16-31. */
static void check_sockets(void)
{
    CHECK(shmemi_machine_read(&machine, "package:2 numa:1 core:8 pu:2") && machine.n_cores == 16);
    choose("0-31", "0-1 16-17");
    CHECK(is(0, SHMEMI_THREADS_APART, "2-15") && is(1, SHMEMI_THREADS_APART, "18-31"));
    CHECK(frees(0, "2-15,18-31"));
    choose("0-31", "0-1 2-3"); /* nobody has the second socket */
    check_apart(2, "0-3");
    CHECK(CPU_COUNT(&chosen[0].cpus) == 14 && CPU_COUNT(&chosen[1].cpus) == 14);
    choose("0-31", "0-15 16-31"); /* bound to sockets: there is room */
    CHECK(is(0, SHMEMI_THREADS_ROOM, "0-15") && is(1, SHMEMI_THREADS_ROOM, "16-31"));
    choose("0-31", "0 2"); /* one processor of a core: the other one is no free core */
    check_apart(2, "0-3");
    choose("0-15", "0-1 2-3"); /* confined to a socket */
    check_apart(2, "0-3");
    CHECK(CPU_COUNT(&chosen[0].free) == 12 && !CPU_ISSET(16, &chosen[0].free));
    choose("0-31", "0-1 2-15"); /* one of two has room of its own */
    CHECK(is(0, SHMEMI_THREADS_APART, "16-31") && is(1, SHMEMI_THREADS_ROOM, "2-15"));
}

static void check_many(void)
{
    char bound[512] = "0";
    int n = 1;
    CHECK(shmemi_machine_read(&machine, "package:2 numa:1 core:16 pu:1") && machine.n_cores == 32);
    for (; n < 8; n++)
        snprintf(bound + strlen(bound), sizeof bound - strlen(bound), " %d", n);
    CHECK(choose("0-31", bound) == 8); /* 24 are free: three each */
    check_apart(8, "0-7");
    cpu_set_t near, both;
    CHECK(shmemi_cpus_from_list("8-15", &near));
    for (int pe = 0; pe < 8; pe++) {
        CPU_AND(&both, &near, &chosen[pe].cpus);
        CHECK(CPU_COUNT(&chosen[pe].cpus) == 3 && CPU_COUNT(&both) == 1);
    }
    for (; n < 20; n++)
        snprintf(bound + strlen(bound), sizeof bound - strlen(bound), " %d", n);
    CHECK(choose("0-31", bound) == 20); /* 12 are free: shared, two at most on a core */
    int n_on[CPU_SETSIZE] = {0};
    for (int pe = 0; pe < 20; pe++) {
        CHECK(CPU_COUNT(&chosen[pe].cpus) == 1);
        for (int cpu = 0; cpu < 32; cpu++)
            n_on[cpu] += CPU_ISSET(cpu, &chosen[pe].cpus) != 0;
    }
    for (int cpu = 0; cpu < 32; cpu++)
        CHECK(cpu < 20 ? !n_on[cpu] : n_on[cpu] == 1 || n_on[cpu] == 2);
    for (; n < 32; n++)
        snprintf(bound + strlen(bound), sizeof bound - strlen(bound), " %d", n);
    choose("0-31", bound);
    CHECK(is(31, SHMEMI_THREADS_ON_PE, "31"));
}

/* What hwloc cannot tell: each processor is a core, and none is free. */
static void check_unknown(void)
{
    cpu_set_t bound[2], all;
    CHECK(shmemi_cpus_from_list("0-7", &all) && shmemi_cpus_from_list("0", &bound[0]));
    struct shmemi_thread_question question = {NULL, bound, &all, 1, 0};
    shmemi_thread_cores_choose(&question, &chosen[0]);
    CHECK(is(0, SHMEMI_THREADS_ON_PE, "0"));
    bound[0] = all;
    CHECK(!shmemi_thread_cores_may_be_free(&question));
    shmemi_thread_cores_choose(&question, &chosen[0]);
    CHECK(is(0, SHMEMI_THREADS_ROOM, "0-7"));
    CPU_ZERO(&bound[1]); /* a PE whose binding is not known */
    question.n_pes = 2;
    shmemi_thread_cores_choose(&question, &chosen[0]);
    CHECK(is(0, SHMEMI_THREADS_ROOM, "0-7"));
}

int main(void)
{
    check_two_cores();
    check_sockets();
    check_many();
    check_unknown();
    return 0;
}
