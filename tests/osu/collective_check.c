/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks the results of a collective. Contents are made and compared in host memory, wherever the buffers are.
 */
#include "collective.h"
#include "gather.h"
#include "shmem_flavour.h"

#include <string.h>

enum { ROUNDS = 3, BARRIER_ROUNDS = 100, UNTOUCHED = 0xa5 };

static long neighbours_round; /* symmetric: what the PE before this one has put */

/* Byte i of the block that PE `from` sends to PE `to` in a round; what goes to all alike has `to` 0. */
static unsigned char block_byte(int round, int from, int to, size_t i)
{
    return (unsigned char)(i + (i >> 8) * 7 + (unsigned)from * 31 + (unsigned)to * 57 + (unsigned)round * 101 + 1);
}

static void fill_blocks(const struct collective_run *run, size_t size, int round)
{
    for (size_t at = 0; at < collective_source_bytes(run, size); at++)
        run->filled[at] = block_byte(round, run->session->me, (int)(at / size), at % size);
}

static bool blocks_are_right(const struct collective_run *run, size_t size, int round)
{
    int to = run->test->source_of_each ? run->session->me : 0;
    bool right = true;
    for (size_t at = 0; at < collective_dest_bytes(run, size); at++)
        right &= run->seen[at] == block_byte(round, (int)(at / size), to, at % size);
    return right;
}

static bool all_untouched(const unsigned char *bytes, size_t size)
{
    bool right = true;
    for (size_t i = 0; i < size; i++)
        right &= bytes[i] == UNTOUCHED;
    return right;
}

static void prepare(const struct collective_run *run, size_t size, int round)
{
    const struct osu_memory *source = &run->source, *dest = &run->dest;
    size_t dest_bytes = collective_dest_bytes(run, size) + OSU_GUARD;
    memset(run->seen, UNTOUCHED, dest_bytes);
    plain_write(dest->device, dest->object, 0, run->seen, dest_bytes);
    if (run->test->fill)
        run->test->fill(run->session, run->filled, size);
    else
        fill_blocks(run, size, round);
    plain_write(source->device, source->object, 0, run->filled, collective_source_bytes(run, size));
}

static bool result_is_right(const struct collective_run *run, size_t size, int round)
{
    size_t dest_bytes = collective_dest_bytes(run, size);
    plain_read(run->dest.device, run->seen, run->dest.object, 0, dest_bytes + OSU_GUARD);
    if (!collective_has_result(run))
        return all_untouched(run->seen, dest_bytes + OSU_GUARD);
    bool right =
        run->test->check ? run->test->check(run->session, run->seen, size) : blocks_are_right(run, size, round);
    return right && all_untouched(run->seen + dest_bytes, OSU_GUARD);
}

static bool source_is_as_it_was(const struct collective_run *run, size_t size)
{
    size_t source_bytes = collective_source_bytes(run, size);
    plain_read(run->source.device, run->seen, run->source.object, 0, source_bytes);
    return !memcmp(run->seen, run->filled, source_bytes);
}

bool collective_validate(const struct collective_run *run, size_t size, collective_way_t way)
{
    bool right = true;
    for (int round = 0; round < ROUNDS; round++) {
        prepare(run, size, round);
        shmem_barrier_all();
        way(run, size);
        right &= result_is_right(run, size, round);
        right &= source_is_as_it_was(run, size);
        shmem_barrier_all();
    }
    return osu_gather(!right).sum == 0;
}

/* After a barrier a PE sees what its neighbour put to it before the barrier. */
bool collective_validate_barrier(const struct collective_run *run)
{
    volatile long *word = &neighbours_round;
    int neighbour = (run->session->me + 1) % run->session->n_pes;
    bool right = true;
    for (long round = 1; round <= BARRIER_ROUNDS; round++) {
        shmem_long_put(&neighbours_round, &round, 1, neighbour);
        run->routine(NULL, NULL, 0);
        right &= *word == round;
        run->routine(NULL, NULL, 0);
    }
    return osu_gather(!right).sum == 0;
}
