/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Events in the order of their times, and of those of the same time in the order in which they were made (sim_at).
 */
#ifndef MODEL_EVENTS_H
#define MODEL_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

struct event {
    double time;
    uint64_t order; /* among those of the same time */
    void (*act)(void *, uint64_t);
    void *object;
    uint64_t value;
};

bool sim_has_events(void);
struct event sim_next_event(void); /* there is one */
void sim_forget_events(void);      /* at the end of a run */

#endif
