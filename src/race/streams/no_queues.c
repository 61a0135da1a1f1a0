/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For builds without OpenCL, in which the library refuses operations on queues.
 */
#include "race/streams/stream_op.h"

void race_queue_turn(struct race_turn *turn, const struct race_call *call, const struct race_work *work,
                     shmemx_queue_t queue, unsigned n_events, const shmemx_event_t *events, shmemx_event_t *event)
{
    (void)call, (void)work;
    *turn = (struct race_turn){NULL, queue, n_events, events, event, event, NULL, NULL, NULL, NULL};
}

void race_queue_turn_ends(struct race_turn *turn)
{
    (void)turn;
}
