/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Components for the data of put_signal: one for each signal of a lane at a PE.
 */
#include "race/clocks.h"

/* The signals that this PE has sent; where the table is full, two of a lane and PE share a component. */
static struct signal_sent {
    uint64_t signal;
    const struct race_lane *lane;
    int pe;
    uint16_t component;
} sent[2048];
static race_lock sent_lock;

uint16_t race_signalled_component(const struct race_lane *lane, int pe, uint64_t signal)
{
    const size_t n = sizeof sent / sizeof sent[0];
    size_t i = (signal ^ (signal >> 9) ^ (size_t)lane->base * 31 ^ (size_t)pe * 7) % n, first = i;
    race_lock_take(&sent_lock);
    while (sent[i].lane && !(sent[i].signal == signal && sent[i].lane == lane && sent[i].pe == pe))
        if ((i = (i + 1) % n) == first)
            race_fatal("more than %zu signals for --race", n);
    struct signal_sent *entry = &sent[i];
    if (!entry->lane) {
        *entry = (struct signal_sent){signal, lane, pe, (uint16_t)race_take_components(1)};
        race_area->component[entry->component] = (struct race_component){.kind = RACE_SIGNALLED,
                                                                         .thread = lane->thread,
                                                                         .lane = (uint16_t)(lane - race_area->lane),
                                                                         .target = (uint16_t)pe};
    }
    race_lock_give(&sent_lock);
    return entry->component;
}
