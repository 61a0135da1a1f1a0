/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is to happen in simulated time: a heap, the next event first.
 */
#include "events.h"

#include "model.h"

#include <stdlib.h>

static struct {
    uint64_t order;
    struct event *heap;
    size_t n, room;
} events;

bool sim_has_events(void)
{
    return events.n > 0;
}

void sim_forget_events(void)
{
    free(events.heap);
    events.heap = NULL;
    events.n = events.room = events.order = 0;
}

static bool is_before(const struct event *a, const struct event *b)
{
    return a->time < b->time || (a->time == b->time && a->order < b->order);
}

void sim_at(double time, void (*act)(void *, uint64_t), void *object, uint64_t value)
{
    if (events.n == events.room) {
        events.room = events.room ? 2 * events.room : 1024;
        events.heap = realloc(events.heap, events.room * sizeof *events.heap);
    }
    struct event event = {time, events.order++, act, object, value};
    size_t at = events.n++;
    for (; at > 0 && is_before(&event, &events.heap[(at - 1) / 2]); at = (at - 1) / 2)
        events.heap[at] = events.heap[(at - 1) / 2];
    events.heap[at] = event;
}

struct event sim_next_event(void)
{
    const struct event first = events.heap[0], last = events.heap[--events.n];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < events.n; at = child) {
        if (child + 1 < events.n && is_before(&events.heap[child + 1], &events.heap[child]))
            child++;
        if (!is_before(&events.heap[child], &last))
            break;
        events.heap[at] = events.heap[child];
    }
    events.heap[at] = last;
    return first;
}
