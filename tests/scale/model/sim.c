/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Simulated time: coroutines, events in the order of their times, and cores that PEs and helping threads share.
 *
 * A coroutine runs until it uses time; events and coroutines thus take effect in the order of simulated time.
 */
#define _GNU_SOURCE
#include "events.h"
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { STACK_BYTES = 256 << 10 };

/* What waits for a core: a PE, or a helping thread's work. Those that have used least of the cores come first, as Linux
 * has it: whoever sleeps much need not wait long. */
struct turn {
    struct pe *pe; /* NULL: help */
    double used;
    uint64_t order; /* among those that have used as much */
    double seconds;
    void (*act)(void *, uint64_t);
    void *object;
    uint64_t value;
    int machine;
};

struct machine {
    int free_cores;
    double used_least;   /* by the last one that got a core: sleep is no credit beyond that */
    struct turn **queue; /* a heap: all who wait for a core, the next one first */
    size_t n, room;
    uint64_t order;
};

/* A PE's helping thread. After each piece of work it looks for more some times, with short sleeps between. */
struct helper {
    int looks;
    bool looks_on;
    double used;
};

struct coroutine {
    struct pe pe;
    ucontext_t context;
    void *stack;
    struct turn turn;
    struct helper helper;
    double used;           /* of the cores */
    uint64_t wait;         /* number of its present wait, so that an old timer has no effect; 0: does not wait */
    const void *waits_for; /* the word for which it spins */
    struct coroutine *next_waiting, **link;
};

enum { BUCKETS = 1 << 14 };

int sim_n_pes, sim_per_node;
uint64_t sim_messages;

static struct {
    double now;
    uint64_t wait, random;
    struct coroutine *all, *current;
    struct machine *machines;
    struct coroutine *waiting[BUCKETS]; /* those that spin, by the word */
    int n_machines, running;
    ucontext_t loop;
    void (*body)(struct pe *);
} sim;

double sim_now(void)
{
    return sim.now;
}

struct pe *sim_me(void)
{
    return &sim.current->pe;
}

struct pe *sim_pe(int number)
{
    return &sim.all[number].pe;
}

/* ---- Coroutines -------------------------------------------------------------------------------------------------- */

static void resume(void *object, uint64_t value)
{
    (void)value;
    sim.current = object;
    library_switch(&sim.current->pe);
    swapcontext(&sim.loop, &sim.current->context);
}

static void to_loop(void)
{
    swapcontext(&sim.current->context, &sim.loop);
}

static void until(double time)
{
    sim_at(time, resume, sim.current, 0);
    to_loop();
}

/* ---- Cores ------------------------------------------------------------------------------------------------------- */

static void help_ends(void *object, uint64_t value);

static void begin_turn(struct machine *machine, struct turn *turn)
{
    machine->free_cores--;
    if (turn->pe) {
        turn->pe->has_core = true;
        sim_at(sim.now, resume, &sim.all[turn->pe->number], 0);
    } else {
        sim_at(sim.now + turn->seconds, help_ends, turn, 0);
    }
}

static bool goes_first(const struct turn *a, const struct turn *b)
{
    return a->used < b->used || (a->used == b->used && a->order < b->order);
}

static struct turn *take_turn(struct machine *machine)
{
    struct turn **queue = machine->queue, *first = queue[0], *last = queue[--machine->n];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < machine->n; at = child) {
        if (child + 1 < machine->n && goes_first(queue[child + 1], queue[child]))
            child++;
        if (!goes_first(queue[child], last))
            break;
        queue[at] = queue[child];
    }
    queue[at] = last;
    return first;
}

static void give_core(struct machine *machine)
{
    machine->free_cores++;
    if (!machine->n)
        return;
    struct turn *turn = take_turn(machine);
    if (turn->used > machine->used_least)
        machine->used_least = turn->used;
    begin_turn(machine, turn);
}

static void queue_turn(struct machine *machine, struct turn *turn)
{
    if (turn->used < machine->used_least - model.slice)
        turn->used = machine->used_least - model.slice;
    turn->order = machine->order++;
    if (machine->n == machine->room) {
        machine->room = machine->room ? 2 * machine->room : 64;
        machine->queue = realloc(machine->queue, machine->room * sizeof(struct turn *));
    }
    size_t at = machine->n++;
    for (; at > 0 && goes_first(turn, machine->queue[(at - 1) / 2]); at = (at - 1) / 2)
        machine->queue[at] = machine->queue[(at - 1) / 2];
    machine->queue[at] = turn;
}

/* ---- Helping threads: transport/service.c in simulated time ------------------------------------------------------- */

enum { CROWD = 8, LOOKS = 200, LOOKS_IN_A_CROWD = 4 };

/* Threads of the job on a machine, for each core: as in bootstrap/job.c, nodes that share a machine count double. */
static double busy_per_core(void)
{
    const double per_machine = model.nodes_per_machine * sim_per_node;
    const bool is_played = model.nodes_per_machine > 1 && sim_n_pes > sim_per_node;
    return (is_played ? 2 : 1) * (per_machine < sim_n_pes ? per_machine : sim_n_pes) / model.cores;
}

static void work_as_helper(int pe, double seconds, void (*act)(void *, uint64_t), void *object, uint64_t value)
{
    struct machine *machine = &sim.machines[sim.all[pe].pe.machine];
    struct helper *helper = &sim.all[pe].helper;
    struct turn *turn = malloc(sizeof *turn);
    helper->used += seconds;
    *turn = (struct turn){.used = helper->used,
                          .seconds = seconds,
                          .act = act,
                          .object = object,
                          .value = value,
                          .machine = sim.all[pe].pe.machine};
    if (machine->free_cores > 0)
        begin_turn(machine, turn);
    else
        queue_turn(machine, turn);
}

/* CPU for one look of this PE or its helping thread. */
static double turn_of(const struct pe *pe)
{
    return model.turn + (pe->is_connected ? model.look : 0);
}

static void look_again(void *object, uint64_t value);

static void looked(void *object, uint64_t value)
{
    struct coroutine *of = object;
    (void)value;
    of->helper.looks_on = --of->helper.looks > 0;
    if (of->helper.looks_on)
        sim_at(sim.now + model.slack, look_again, of, 0);
}

static void look_again(void *object, uint64_t value)
{
    struct coroutine *of = object;
    (void)value;
    work_as_helper(of->pe.number, model.wake + turn_of(&of->pe), looked, of, 0);
}

static void help_ends(void *object, uint64_t value)
{
    struct turn *turn = object;
    (void)value;
    turn->act(turn->object, turn->value);
    give_core(&sim.machines[turn->machine]);
    free(turn);
}

void sim_help(int pe, double seconds, void (*act)(void *, uint64_t), void *object, uint64_t value)
{
    struct helper *helper = &sim.all[pe].helper;
    if (sim.all[pe].wait) { /* it looks for such work while it spins */
        sim_at(sim.now + seconds, act, object, value);
        return;
    }
    work_as_helper(pe, seconds + model.wake, act, object, value);
    if (busy_per_core() <= 1)
        return; /* who has cores enough takes nothing from others by looking */
    helper->looks = busy_per_core() > CROWD ? LOOKS_IN_A_CROWD : LOOKS;
    if (!helper->looks_on)
        sim_at(sim.now + model.slack, look_again, &sim.all[pe], 0);
    helper->looks_on = true;
}

static struct machine *my_machine(void)
{
    return &sim.machines[sim.current->pe.machine];
}

static void release_core(void)
{
    if (!sim.current->pe.has_core)
        return;
    sim.current->pe.has_core = false;
    give_core(my_machine());
}

static void acquire_core(void)
{
    struct coroutine *me = sim.current;
    struct machine *machine = my_machine();
    if (me->pe.has_core)
        return;
    if (machine->free_cores > 0) {
        machine->free_cores--;
        me->pe.has_core = true;
        return;
    }
    me->turn = (struct turn){.pe = &me->pe, .used = me->used};
    queue_turn(machine, &me->turn);
    to_loop();
}

void sim_cpu(double seconds)
{
    acquire_core();
    sim.current->used += seconds;
    while (seconds > 0) {
        double step = seconds < model.slice ? seconds : model.slice;
        until(sim.now + step);
        seconds -= step;
        if (seconds > 0 && my_machine()->n) {
            release_core();
            acquire_core();
        }
    }
}

void sim_sleep(double seconds)
{
    release_core();
    until(sim.now + seconds);
    acquire_core();
}

/* ---- Waiting: transport/progress.c and base/thread/cores.c in simulated time --------------------------------------------- */

enum { NAPS_PER_STEP = 4 };
static const double NAP = 20e-6, NAP_MOST = 5e-3, FOR_EVER = 1e9;

static struct coroutine **bucket_of(const void *word)
{
    return &sim.waiting[((uintptr_t)word >> 3) * 0x9e3779b97f4a7c15u >> 50];
}

static void stop_waiting(struct coroutine *coroutine)
{
    coroutine->wait = 0;
    *coroutine->link = coroutine->next_waiting;
    if (coroutine->next_waiting)
        coroutine->next_waiting->link = coroutine->link;
}

static void timer_ends(void *object, uint64_t wait)
{
    struct coroutine *coroutine = object;
    if (coroutine->wait != wait)
        return;
    stop_waiting(coroutine);
    resume(coroutine, 0);
}

/* On its core, until the word changes or the time is over. */
static void spin(double seconds)
{
    struct coroutine *me = sim.current, **bucket = bucket_of(me->pe.watched);
    me->waits_for = me->pe.watched;
    me->wait = ++sim.wait;
    me->next_waiting = *bucket;
    me->link = bucket;
    if (*bucket)
        (*bucket)->link = &me->next_waiting;
    *bucket = me;
    if (seconds < FOR_EVER)
        sim_at(sim.now + seconds, timer_ends, me, me->wait);
    to_loop();
}

/* The kernel ends a sleep at any time within the slack, together with other timers. The same in each run. */
static double some_slack(void)
{
    sim.random = sim.random * 6364136223846793005u + 1442695040888963407u;
    return model.slack * (double)(sim.random >> 40) / (double)(1 << 24);
}

static void nap(unsigned turns, unsigned before)
{
    const int per_core = (int)busy_per_core();
    double least = per_core <= CROWD ? NAP : (per_core - CROWD) * NAP;
    double time = least + (turns - before) / NAPS_PER_STEP * NAP;
    sim_sleep((time < NAP_MOST ? time : NAP_MOST) + some_slack());
    sim_cpu(model.wake + turn_of(sim_me()));
}

void sim_wait_turn(unsigned *spins)
{
    const double per_core = busy_per_core();
    const unsigned most_spins = per_core > 1 ? 16 : 4000;
    const unsigned yields = per_core > CROWD ? 4 : per_core > 1 ? 64 : 0;
    acquire_core();
    if (per_core <= 1) {
        spin(FOR_EVER); /* nobody else needs the core */
        sim_cpu(turn_of(sim_me()) / 2);
    } else if (*spins < most_spins) {
        const double begin = sim.now;
        *spins = most_spins;
        spin(most_spins * turn_of(sim_me()));
        sim.current->used += sim.now - begin;
    } else if (++*spins < most_spins + yields) {
        sim_sleep(some_slack());
        sim_cpu(model.wake + turn_of(sim_me()));
    } else {
        nap(*spins, most_spins + yields);
    }
}

void sim_store(void *word, uint64_t value)
{
    struct coroutine *next;
    *(uint64_t *)word = value;
    for (struct coroutine *waiting = *bucket_of(word); waiting; waiting = next) {
        next = waiting->next_waiting;
        if (waiting->waits_for != word)
            continue;
        stop_waiting(waiting);
        sim_at(sim.now, resume, waiting, 0);
    }
}

/* ---- A run ------------------------------------------------------------------------------------------------------- */

static void run_body(void)
{
    acquire_core();
    sim.body(&sim.current->pe);
    release_core();
    sim.running--;
    to_loop();
}

static void make_coroutine(int number)
{
    struct coroutine *made = &sim.all[number];
    made->pe = (struct pe){.number = number, .node = number / sim_per_node};
    made->pe.machine = made->pe.node / (int)model.nodes_per_machine;
    made->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    getcontext(&made->context);
    made->context.uc_stack = (stack_t){.ss_sp = made->stack, .ss_size = STACK_BYTES};
    makecontext(&made->context, run_body, 0);
    sim_at(0, resume, made, 0);
}

static void open_machines(void)
{
    sim.n_machines = (int)((sim_n_pes - 1) / sim_per_node / model.nodes_per_machine) + 1;
    sim.machines = calloc((size_t)sim.n_machines, sizeof *sim.machines);
    for (int i = 0; i < sim.n_machines; i++)
        sim.machines[i].free_cores = (int)model.cores;
}

static void close_all(void)
{
    for (int i = 0; i < sim_n_pes; i++)
        munmap(sim.all[i].stack, STACK_BYTES);
    for (int i = 0; i < sim.n_machines; i++)
        free(sim.machines[i].queue);
    free(sim.all);
    free(sim.machines);
    sim_forget_events();
    memset(&sim, 0, sizeof sim);
}

double sim_run(int n_pes, int per_node, void (*body)(struct pe *pe))
{
    sim_n_pes = n_pes;
    sim_per_node = per_node;
    sim_messages = 0;
    sim.body = body;
    sim.running = n_pes;
    sim.all = calloc((size_t)n_pes, sizeof *sim.all);
    open_machines();
    for (int i = 0; i < n_pes; i++)
        make_coroutine(i);
    network_open();
    library_open(n_pes, per_node);
    while (sim_has_events() && sim.running > 0) {
        struct event event = sim_next_event();
        sim.now = event.time;
        event.act(event.object, event.value);
    }
    if (sim.running) {
        fprintf(stderr, "model: %d PEs wait for ever\n", sim.running);
        exit(1);
    }
    double seconds = sim.now;
    library_close();
    network_close();
    close_all();
    return seconds;
}
