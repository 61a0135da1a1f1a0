/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Divides the cores that no PE has among the PEs' threads.
 */
#define _GNU_SOURCE
#include "gpu/thread_cores.h"

#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

struct shmemi_thread_cores shmemi_thread_cores = {.place = SHMEMI_THREADS_UNKNOWN};

/* ---- The machine ------------------------------------------------------------------------------------------------- */

static void number(short *numbers, hwloc_const_cpuset_t cpus, int value)
{
    for (int cpu = hwloc_bitmap_first(cpus); cpu >= 0 && cpu < CPU_SETSIZE; cpu = hwloc_bitmap_next(cpus, cpu))
        numbers[cpu] = (short)value;
}

static void number_cores(hwloc_topology_t topology, struct shmemi_machine *machine)
{
    const bool has_cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0;
    const hwloc_obj_type_t type = has_cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    for (hwloc_obj_t core = NULL; (core = hwloc_get_next_obj_by_type(topology, type, core));)
        number(machine->core, core->cpuset, machine->n_cores++);
}

static void number_domains(hwloc_topology_t topology, struct shmemi_machine *machine)
{
    for (hwloc_obj_t node = NULL; (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node));)
        number(machine->domain, node->cpuset, (int)node->logical_index);
}

bool shmemi_machine_read(struct shmemi_machine *machine, const char *synthetic)
{
    hwloc_topology_t topology;
    memset(machine->core, -1, sizeof machine->core);
    memset(machine->domain, 0, sizeof machine->domain);
    machine->n_cores = 0;
    if (hwloc_topology_init(&topology))
        return false;
    hwloc_topology_set_cache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE); /* reading them takes long */
    bool is_read = (!synthetic || !hwloc_topology_set_synthetic(topology, synthetic)) && !hwloc_topology_load(topology);
    if (is_read) {
        number_cores(topology, machine);
        number_domains(topology, machine);
    }
    hwloc_topology_destroy(topology);
    return is_read && machine->n_cores > 0;
}

/* ---- The choice -------------------------------------------------------------------------------------------------- */

/* A core that no PE has. */
struct free_core {
    int number, domain;
    int load; /* PEs that have taken it */
    bool is_mine;
};

static bool intersect(const cpu_set_t *a, const cpu_set_t *b)
{
    cpu_set_t both;
    CPU_AND(&both, a, b);
    return CPU_COUNT(&both);
}

/* In how many cores processors of a set lie. */
static int cores_of(const struct shmemi_machine *machine, const cpu_set_t *cpus)
{
    int n = 0;
    cpu_set_t seen; /* cores */
    CPU_ZERO(&seen);
    if (!machine)
        return CPU_COUNT(cpus);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, cpus) && machine->core[cpu] >= 0 && !CPU_ISSET(machine->core[cpu], &seen)) {
            CPU_SET(machine->core[cpu], &seen);
            n++;
        }
    return n;
}

/* A binding with two cores for each PE in it leaves enough to the threads, and is near what the PE uses. */
static bool has_room(const struct shmemi_thread_question *question, int pe)
{
    int n = 0;
    for (int other = 0; other < question->n_pes; other++)
        n += intersect(&question->bound[pe], &question->bound[other]);
    return cores_of(question->machine, &question->bound[pe]) >= 2 * n;
}

static void all_bound(const struct shmemi_thread_question *question, cpu_set_t *cpus)
{
    CPU_ZERO(cpus);
    for (int pe = 0; pe < question->n_pes; pe++)
        CPU_OR(cpus, cpus, &question->bound[pe]);
}

/* The cores with processors that are allowed, and none that a PE has. */
static int list_free(const struct shmemi_thread_question *question, struct free_core *list)
{
    const struct shmemi_machine *machine = question->machine;
    cpu_set_t busy, done; /* cores */
    cpu_set_t bound;
    int n = 0;
    CPU_ZERO(&busy);
    CPU_ZERO(&done);
    all_bound(question, &bound);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &bound) && machine->core[cpu] >= 0)
            CPU_SET(machine->core[cpu], &busy);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        const int core = machine->core[cpu];
        if (core < 0 || !CPU_ISSET(cpu, question->allowed) || CPU_ISSET(core, &busy) || CPU_ISSET(core, &done))
            continue;
        CPU_SET(core, &done);
        list[n++] = (struct free_core){.number = core, .domain = machine->domain[cpu]};
    }
    return n;
}

static int domain_of(const struct shmemi_thread_question *question, int pe)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &question->bound[pe]))
            return question->machine->domain[cpu];
    return -1;
}

/* The core that the fewest have taken; NULL if it has to be in a domain and an untaken one, and there is none. */
static struct free_core *find_core(struct free_core *list, int n, int domain)
{
    struct free_core *best = NULL;
    for (int i = 0; i < n; i++)
        if ((domain < 0 || (list[i].domain == domain && !list[i].load)) && (!best || list[i].load < best->load))
            best = &list[i];
    return best;
}

/* A core for each of the PEs that need one: first for those that find one in their domain. */
static void deal_round(const struct shmemi_thread_question *question, struct free_core *list, int n, const int *needers,
                       int n_needers)
{
    bool *is_served = calloc((size_t)n_needers, sizeof *is_served);
    for (int near = 1; is_served && near >= 0; near--)
        for (int i = 0; i < n_needers; i++) {
            struct free_core *core =
                is_served[i] ? NULL : find_core(list, n, near ? domain_of(question, needers[i]) : -1);
            if (!core)
                continue;
            core->load++;
            core->is_mine |= needers[i] == question->me;
            is_served[i] = true;
        }
    free(is_served);
}

static void deal(const struct shmemi_thread_question *question, struct free_core *list, int n)
{
    int n_needers = 0, *needers = malloc((size_t)question->n_pes * sizeof *needers);
    for (int pe = 0; needers && pe < question->n_pes; pe++)
        if (!has_room(question, pe))
            needers[n_needers++] = pe;
    const int rounds = n_needers && n_needers < n ? n / n_needers : 1;
    for (int round = 0; round < rounds && n_needers; round++)
        deal_round(question, list, n, needers, n_needers);
    free(needers);
}

static void add_core(const struct shmemi_thread_question *question, int core, cpu_set_t *cpus)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (question->machine->core[cpu] == core && CPU_ISSET(cpu, question->allowed))
            CPU_SET(cpu, cpus);
}

/* Fills in what was chosen; false if no core is free. */
static bool choose_free(const struct shmemi_thread_question *question, struct shmemi_thread_cores *chosen)
{
    struct free_core *list = malloc((size_t)question->machine->n_cores * sizeof *list);
    const int n = list ? list_free(question, list) : 0;
    deal(question, list, n);
    chosen->place = SHMEMI_THREADS_APART;
    for (int i = 0; i < n; i++) {
        add_core(question, list[i].number, &chosen->free);
        if (!list[i].is_mine)
            continue;
        add_core(question, list[i].number, &chosen->cpus);
        if (list[i].load > 1)
            chosen->place = SHMEMI_THREADS_CLOSE;
    }
    free(list);
    return CPU_COUNT(&chosen->cpus);
}

void shmemi_thread_cores_choose(const struct shmemi_thread_question *question, struct shmemi_thread_cores *chosen)
{
    *chosen = (struct shmemi_thread_cores){.place = SHMEMI_THREADS_ON_PE};
    const bool room = has_room(question, question->me);
    if (!room && question->machine && choose_free(question, chosen))
        return;
    chosen->place = room ? SHMEMI_THREADS_ROOM : SHMEMI_THREADS_ON_PE;
    chosen->cpus = question->bound[question->me];
}

bool shmemi_thread_cores_may_be_free(const struct shmemi_thread_question *question)
{
    cpu_set_t bound, both;
    all_bound(question, &bound);
    CPU_AND(&both, question->allowed, &bound);
    return !CPU_EQUAL(&both, question->allowed);
}

/* ---- This process ------------------------------------------------------------------------------------------------ */

void shmemi_thread_cores_enter(void)
{
    if (shmemi_thread_cores.place != SHMEMI_THREADS_UNKNOWN)
        (void)!sched_setaffinity(0, sizeof shmemi_thread_cores.cpus, &shmemi_thread_cores.cpus);
}

bool shmemi_threads_are_apart(void)
{
    return shmemi_thread_cores.place == SHMEMI_THREADS_APART || shmemi_thread_cores.place == SHMEMI_THREADS_CLOSE;
}

bool shmemi_threads_are_guests(void)
{
    return shmemi_thread_cores.place == SHMEMI_THREADS_ON_PE;
}

const char *shmemi_threads_place_name(enum shmemi_threads_place place)
{
    static const char *const names[] = {
        "the PE's own, which have room",
        "cores of their own",
        "cores that no PE has, shared with other PEs' threads",
        "the PE's own: no other core may be used",
        "the PE's own: nothing is known of others",
    };
    return names[place];
}
