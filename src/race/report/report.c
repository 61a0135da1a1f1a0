/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reports of races: each pair of places once in a job, on stderr and, if asked for, as lines of JSON.
 */
#include "race/report/objects.h"
#include "race/shadow.h"
#include "race/report/suppress.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One of the two accesses, as it is told. */
struct side {
    int pe, thread; /* the number of the thread or stream in the PE */
    uint64_t key, place;
    enum race_kind kind;
    const char *what; /* thread or stream */
    const char *routine;
    char where[512];
};

static uintptr_t pc_of(const struct side *side)
{
    return side->place & RACE_PC_MASK;
}

static int thread_number(const struct race_component *thread)
{
    int number = 1;
    const unsigned n = atomic_load(&race_area->n_components), slot = race_area->component[thread->owner].slot;
    for (unsigned i = 0; i < n; i++) {
        const struct race_component *other = &race_area->component[i];
        number += other->kind == RACE_THREAD && other->owner == i && other->target == thread->target &&
                  other->is_stream == thread->is_stream && other->slot < slot;
    }
    return number;
}

static struct side side_of(uint64_t key, uint64_t place)
{
    const struct race_component *component = &race_area->component[(uint16_t)(key >> 16)];
    const struct race_component *thread = &race_area->component[component->thread];
    const uint16_t routine = (uint16_t)(place >> RACE_ROUTINE_SHIFT);
    return (struct side){.pe = thread->target,
                         .thread = thread_number(thread),
                         .key = key,
                         .place = place,
                         .kind = component->kind,
                         .what = thread->is_stream ? "stream" : "thread",
                         .routine = routine ? race_area->routine[routine] : NULL};
}

/* The same for both orders of the two, and wherever the program lies in the memory of a PE. */
static uint64_t pair_of(const struct side *sides)
{
    uint64_t pair = 0;
    for (int i = 0; i < 2; i++) {
        const uint64_t at = pc_of(&sides[i]) - race_area->pe[sides[i].pe].program;
        pair += (at ^ (sides[i].place >> RACE_ROUTINE_SHIFT << 40)) * 0x9e3779b97f4a7c15u;
    }
    return pair ? pair : 1;
}

/* Whether this pair is new. */
static bool note_pair(uint64_t pair)
{
    race_lock_take(&race_area->reports_lock);
    size_t i = (pair >> 32) % RACE_REPORTS, tries = 0;
    while (race_area->reported[i] && race_area->reported[i] != pair && tries++ < RACE_REPORTS)
        i = (i + 1) % RACE_REPORTS;
    const bool is_new = !race_area->reported[i];
    if (is_new)
        race_area->reported[i] = pair;
    race_lock_give(&race_area->reports_lock);
    return is_new;
}

static const char *verb(const struct side *side)
{
    const bool writes = side->key & RACE_WRITE;
    if (side->key & RACE_ATOMIC)
        return writes ? "atomic write" : "atomic read";
    return writes ? "write" : "read";
}

/* What would have ordered the two. */
static const char *advice(const struct race_found *found, const struct side *a, const struct side *b)
{
    if (found->is_note)
        return "a barrier lies between them, but it completes the default context only: call shmem_ctx_quiet on the "
               "other context before it";
    const bool both_atomic = (a->key & b->key) & RACE_ATOMIC, one_atomic = (a->key | b->key) & RACE_ATOMIC;
    if (both_atomic)
        return "they are atomic with each other only with one type and in one domain (contexts of SHMEM_TEAM_WORLD's "
               "teams, or of SHMEM_TEAM_SHARED's)";
    if (*a->what == 's' || *b->what == 's')
        return "what a stream or queue does comes after what was in it before; threads wait for it by clFinish, "
               "cudaStreamSynchronize or an event, other streams by an event; what it puts has arrived after "
               "shmemx_quiet_on_stream or _on_queue, or with a signal of the same stream";
    if (a->kind == RACE_LOCAL || b->kind == RACE_LOCAL)
        return "an operation without a wait (nbi) is complete, at both ends, after shmem_quiet on its context; other "
               "PEs must hear of that by a barrier, signal or lock";
    if (a->pe == b->pe)
        return "puts to one PE are in order with a shmem_fence between them, with gets, loads and stores after "
               "shmem_quiet; those of several threads only if the threads are in order as well";
    if (one_atomic)
        return "use atomic operations on both sides (a wait, test or shmem_signal_fetch to read), or order them by a "
               "barrier, signal or lock";
    return "order them: shmem_quiet and then a barrier, signal or lock; or shmem_put_signal and a wait for the signal";
}

static size_t write_text(char *text, size_t size, const struct race_found *found, const struct side *sides,
                         const char *object)
{
    int n = snprintf(text, size, "MapSHMEM race%s: %u bytes from %s\n", found->is_note ? ", note" : "", found->n_bytes,
                     object);
    for (int i = 0; i < 2; i++)
        n += snprintf(text + n, size - (size_t)n, "    PE %d, %s %d: %s by %s in %s\n", sides[i].pe, sides[i].what,
                      sides[i].thread, verb(&sides[i]), sides[i].routine ? sides[i].routine : "the program",
                      sides[i].where);
    n += snprintf(text + n, size - (size_t)n, "    nothing orders them: %s\n", advice(found, &sides[0], &sides[1]));
    return (size_t)n;
}

static void append_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++)
        if ((unsigned char)*text < ' ')
            fprintf(out, "\\u%04x", (unsigned char)*text);
        else
            fprintf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    fputc('"', out);
}

/* A line with an object for each race. */
static void write_json(FILE *out, const struct race_found *found, const struct side *sides, const char *object)
{
    fprintf(out, "{\"kind\": \"%s\", \"bytes\": %u, \"object\": ", found->is_note ? "note" : "race", found->n_bytes);
    append_string(out, object);
    fprintf(out, ", \"accesses\": [");
    for (int i = 0; i < 2; i++) {
        fprintf(out, "%s{\"pe\": %d, \"%s\": %d, \"access\": \"%s\", \"routine\": \"%s\", \"where\": ", i ? ", " : "",
                sides[i].pe, sides[i].what, sides[i].thread, verb(&sides[i]), sides[i].routine ? sides[i].routine : "");
        append_string(out, sides[i].where);
        fputc('}', out);
    }
    fprintf(out, "], \"advice\": ");
    append_string(out, advice(found, &sides[0], &sides[1]));
    fprintf(out, "}\n");
}

/* In one piece, since all PEs write to it. */
static void append_json(const char *path, const struct race_found *found, const struct side *sides, const char *object)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return;
    write_json(out, found, sides, object);
    fclose(out);
    const int descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (descriptor < 0 || write(descriptor, text, size) != (ssize_t)size)
        fprintf(stderr, "MapSHMEM race, PE %d: cannot write to %s (MAPSHMEM_RACE_JSON)\n", race.pe, path);
    if (descriptor >= 0)
        close(descriptor);
    free(text);
}

static void tell(const struct race_found *found, const struct side *sides)
{
    char text[4096], object[1024];
    const char *json = getenv("MAPSHMEM_RACE_JSON");
    race_describe_object(object, sizeof object, found->word, found->first);
    if (race_is_suppressed(
            (const char *const[]){sides[0].where, sides[1].where, object, sides[0].routine, sides[1].routine}))
        return;
    if (!found->is_note)
        atomic_fetch_add(&race_area->n_reports, 1);
    const size_t size = write_text(text, sizeof text, found, sides, object);
    (void)!write(STDERR_FILENO, text, size);
    if (json && *json)
        append_json(json, found, sides, object);
}

void race_report(const struct race_found *found)
{
    const struct race_access *access = &found->access;
    struct side sides[2] = {
        side_of(race_key(access->when, access->component, 0, access->flags),
                (uint64_t)access->routine << RACE_ROUTINE_SHIFT | access->pc),
        side_of(found->key, found->place),
    };
    if (atomic_load(&race_area->has_given_up) || !note_pair(pair_of(sides)))
        return;
    race_here->inside++;
    for (int i = 0; i < 2; i++)
        race_describe_place(sides[i].where, sizeof sides[i].where, sides[i].pe, pc_of(&sides[i]));
    tell(found, sides);
    race_here->inside--;
}

void race_give_up(const char *cause)
{
    if (race_area && !atomic_exchange(&race_area->has_given_up, 1))
        fprintf(stderr, "MapSHMEM race, PE %d: %s: no races are looked for from here on\n", race.pe, cause);
}

void race_report_end(void)
{
    const unsigned n = atomic_load(&race_area->n_reports), n_lost = atomic_load(&race_area->n_lost);
    if (race.pe == 0 && n)
        fprintf(stderr, "MapSHMEM race: %u data race%s found\n", n, n == 1 ? "" : "s");
    if (race.pe == 0 && n_lost)
        fprintf(stderr,
                "MapSHMEM race: %u accesses were not kept for want of room; races with them were not looked for\n",
                n_lost);
}
