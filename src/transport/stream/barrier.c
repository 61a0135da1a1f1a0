/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Barriers in streams: dissemination over words at the start of every PE's heap, which streams or agents set and wait
 * for; a PE need not know which of the two another one uses. Barriers are numbered in the order in which they are
 * enqueued, which is the same on all PEs. A PE begins a barrier after it has completed the one before, in whichever
 * stream that was: when it has announced itself in all rounds, and its partner has done so in the last one. So words only grow, and a word that holds a number shows that its writer has reached that round of
 * the barrier with that number.
 *
 * A graph may be launched any number of times, so a barrier that is captured has no number. Its words are 0 except
 * between being set by the partner and being taken away by their PE. It has two phases with words of their own: who has
 * passed the first one knows that all PEs have taken away the second one's words of the barrier before, and the other
 * way round. Such barriers match each other only, in the order in which they are executed.
 */
#include "transport/drivers/exchange.h"
#include "bootstrap/job.h"
#include "instrument/watch.h"
#include "transport/op/operation.h"
#include "transport/stream/agent.h"
#include "transport/stream/watched.h"
#include "transport/drivers/issue.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>

enum { ROUNDS_MAX = 32, PHASES = 2, STEPS_OF_ROUND = 3, ROUNDS_OF_GRAPH = SHMEMI_STEPS_MAX / STEPS_OF_ROUND };

struct barrier_words {
    uint64_t reached[ROUNDS_MAX]; /* by round: number of the last barrier in which the partner has reached it */
    uint64_t announced;           /* number of the last barrier in all of whose rounds this PE has announced itself */
    uint64_t come[PHASES][ROUNDS_OF_GRAPH]; /* of captured barriers: 1 when the partner has come, 0 when that is seen */
};

static_assert(SHMEMI_STREAM_WORDS_OFFSET + sizeof(struct barrier_words) <= SHMEMI_WATCHED_OFFSET, "the words must fit");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t n_barriers;  /* enqueued */
static uint64_t last_stream; /* number of the stream of the last one; 0: of the agent, or unknown */

static struct shmemi_stream_signal at_word(int pe, size_t offset, enum shmemi_word_step step, uint64_t value)
{
    return (struct shmemi_stream_signal){
        .view = shmemi_exchange_view(pe),
        .offset = SHMEMI_STREAM_WORDS_OFFSET + offset,
        .step = step,
        .value = value,
    };
}

static size_t reached(int round)
{
    return offsetof(struct barrier_words, reached) + (size_t)round * sizeof(uint64_t);
}

static int partner(int round)
{
    return (int)((shmemi_job.pe + ((int64_t)1 << round)) % shmemi_job.n_pes);
}

/* Whose partner this PE is. */
static int sender(int round)
{
    const int64_t distance = ((int64_t)1 << round) % shmemi_job.n_pes;
    return (int)((shmemi_job.pe + shmemi_job.n_pes - distance) % shmemi_job.n_pes);
}

static bool is_round(int round)
{
    return (int64_t)1 << round < shmemi_job.n_pes;
}

static uint64_t *own_word(size_t offset)
{
    char *heap = shmemi_view_host(shmemi_exchange_view(shmemi_job.pe));
    return (uint64_t *)(heap + SHMEMI_STREAM_WORDS_OFFSET + offset);
}

static bool has_reached(size_t offset, uint64_t number)
{
    return __atomic_load_n(own_word(offset), __ATOMIC_ACQUIRE) >= number;
}

static int last_round(void)
{
    int round = 0;
    while (is_round(round + 1))
        round++;
    return round;
}

/* Words that show, from this number on, that a barrier is completed. */
enum { SIGNS = 2 };
static void signs_of_completion(size_t signs[SIGNS])
{
    signs[0] = offsetof(struct barrier_words, announced);
    signs[1] = reached(last_round());
}

/* ---- By the stream ----------------------------------------------------------------------------------------------- */

static int by_stream(const struct shmemi_stream *stream, uint64_t stream_number, uint64_t number)
{
    struct shmemi_stream_signal steps[2 * ROUNDS_MAX + SIGNS + 1];
    const int me = shmemi_job.pe;
    size_t signs[SIGNS];
    unsigned n = 0;
    if (shmemi_job.n_nodes > 1)
        return -ENOTSUP;
    signs_of_completion(signs);
    for (int i = 0; i < SIGNS && (!stream_number || stream_number != last_stream); i++)
        if (!has_reached(signs[i], number - 1))
            steps[n++] = at_word(me, signs[i], SHMEMI_STEP_UNTIL_GE, number - 1);
    for (int round = 0; is_round(round); round++) {
        steps[n++] = at_word(partner(round), reached(round), SHMEMI_STEP_SET, number);
        if (!is_round(round + 1)) /* before the wait, beside which it takes no time */
            steps[n++] = at_word(me, offsetof(struct barrier_words, announced), SHMEMI_STEP_SET, number);
        steps[n++] = at_word(me, reached(round), SHMEMI_STEP_UNTIL_GE, number);
    }
    return shmemi_stream_steps(stream, steps, n);
}

/* ---- In a graph -------------------------------------------------------------------------------------------------- */

static size_t come(int phase, int round)
{
    return offsetof(struct barrier_words, come) + (size_t)(phase * ROUNDS_OF_GRAPH + round) * sizeof(uint64_t);
}

static int capture_phase(const struct shmemi_stream *stream, int phase)
{
    struct shmemi_stream_signal steps[STEPS_OF_ROUND * ROUNDS_OF_GRAPH];
    const int me = shmemi_job.pe;
    unsigned n = 0;
    if (is_round(ROUNDS_OF_GRAPH))
        return -ENOTSUP;
    for (int round = 0; is_round(round); round++) {
        steps[n++] = at_word(partner(round), come(phase, round), SHMEMI_STEP_SET, 1);
        steps[n++] = at_word(me, come(phase, round), SHMEMI_STEP_UNTIL_EQ, 1);
        steps[n++] = at_word(me, come(phase, round), SHMEMI_STEP_SET, 0);
    }
    return shmemi_stream_steps(stream, steps, n);
}

/* All PEs are in one node, or no stream reaches them all. What the GPU does alone is complete already. */
static int capture(const struct shmemi_stream *stream)
{
    int rc = shmemi_job.n_nodes > 1 ? -ENOTSUP : 0;
    for (int phase = 0; phase < PHASES && !rc && shmemi_job.n_pes > 1; phase++)
        rc = capture_phase(stream, phase);
    return rc == -ENOTSUP ? shmemi_stream_refuse_recording(stream) : rc;
}

/* ---- By the agent ------------------------------------------------------------------------------------------------ */

static int announce(int round, uint64_t number)
{
    const struct shmemi_word_update set = {.view = shmemi_exchange_view(partner(round)),
                                           .offset = SHMEMI_STREAM_WORDS_OFFSET + reached(round),
                                           .amo = {.op = SHMEMI_AMO_SET, .size = sizeof number, .operand = number}};
    return shmemi_op_amo(&shmemi_stream_context, &set, NULL, true);
}

static bool may_begin(uint64_t number)
{
    size_t signs[SIGNS];
    signs_of_completion(signs);
    return has_reached(signs[0], number - 1) && has_reached(signs[1], number - 1);
}

/* work->round is the last round that has been announced, from 1; 0: none. */
static int advance(struct shmemi_stream_work *work)
{
    int rc = work->completes ? shmemi_stream_agent_quiet() : 0;
    if (rc)
        return rc;
    work->completes = false;
    if (!work->round && !may_begin(work->number))
        return -EAGAIN;
    while (!work->round || has_reached(reached(work->round - 1), work->number)) {
        if (!is_round(work->round))
            return 0;
        rc = announce(work->round++, work->number);
        if (rc)
            return rc;
        if (!is_round(work->round))
            __atomic_store_n(own_word(offsetof(struct barrier_words, announced)), work->number, __ATOMIC_RELEASE);
    }
    return -EAGAIN;
}

/* ---- For the watchdog -------------------------------------------------------------------------------------------- */

struct watched_barrier {
    struct shmemi_watched watched;
    uint64_t number;
};

static void describe_rounds(uint64_t number, char *text, size_t size)
{
    int round = 0;
    while (is_round(round) && has_reached(reached(round), number))
        round++;
    if (!is_round(round))
        shmemi_append(text, size, "the others have arrived");
    else if (round == 0)
        shmemi_append(text, size, "for PE %d to come", sender(round));
    else
        shmemi_append(text, size, "for PE %d, or one that it waits for, to come", sender(round));
    if (is_round(round))
        shmemi_name_process(sender(round));
}

static bool describe(const struct shmemi_watched *watched, bool has_come, char *text, size_t size)
{
    const uint64_t number = ((const struct watched_barrier *)watched)->number;
    if (has_come && !may_begin(number))
        shmemi_append(text, size, "for an earlier barrier in another stream");
    else if (has_come)
        describe_rounds(number, text, size);
    return has_come;
}

/* ---- Enqueueing -------------------------------------------------------------------------------------------------- */

int shmemi_stream_barrier(const struct shmemi_stream *of, const char *routine, bool completes)
{
    struct shmemi_stream copy = *of, *stream = &copy;
    int rc = -ENOTSUP;
    if (shmemi_stream_is_recording(stream))
        return capture(stream);
    if (shmemi_job.n_pes == 1)
        return shmemi_stream_quiet(stream);
    const struct shmemi_stream_commands *commands = stream->memory->streams->commands;
    const uint64_t stream_number = commands ? commands->number(stream) : 0;
    pthread_mutex_lock(&lock);
    struct shmemi_stream_work work = {.advance = advance, .number = n_barriers + 1, .completes = completes};
    const struct watched_barrier what = {{routine, describe}, work.number};
    shmemi_watched_begin(stream, &what.watched, sizeof what);
    if (!completes || !shmemi_stream_agent_has_sends())
        rc = by_stream(stream, stream_number, work.number);
    last_stream = rc ? 0 : stream_number;
    if (rc == -ENOTSUP)
        rc = shmemi_stream_agent_post(stream, &work);
    shmemi_watched_end(stream, rc);
    if (!rc)
        n_barriers = work.number;
    pthread_mutex_unlock(&lock);
    return rc;
}

void shmemi_stream_barriers_close(void)
{
    n_barriers = 0;
    last_stream = 0;
}
