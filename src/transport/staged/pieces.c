/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The size of the pieces of a transfer: with a stage that costs c for a piece and others that cost b a byte more than it,
 * a transfer of n bytes takes least in pieces of sqrt(n c / b). tuning.def has c / b for the kinds of memory.
 */
#include "transport/staged/pieces.h"

#include "base/settings.h"
#include "base/tuning.h"
#include "transport/request.h"

#include <math.h>

enum { UNIT = 4096 };

static const size_t ratio_of[SHMEMI_MEMTYPES] = {
    [SHMEMI_MEMTYPE_HOST] = SHMEMI_PIECE_HOST,
#define MEMORY_KIND(type, table, piece) [SHMEMI_MEMTYPE_##type] = piece,
#include "gpu/memory_kinds.def"
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Equal pieces of at most `most` bytes; a short transfer is not cut. */
static size_t choose(size_t nbytes, size_t ratio, size_t most)
{
    if (shmemi_settings.staging_piece)
        return smaller(shmemi_settings.staging_piece, shmemi_staging.chunk);
    if (nbytes < SHMEMI_PIECE_LONG)
        return shmemi_staging.chunk;
    most = smaller(most, shmemi_staging.chunk);
    const size_t best = (size_t)sqrt((double)nbytes * (double)ratio), least_count = (nbytes + most - 1) / most;
    const size_t count = (nbytes + best / 2) / best, n = count > least_count ? count : least_count;
    return smaller(most, ((nbytes + n - 1) / n + UNIT - 1) / UNIT * UNIT);
}

size_t shmemi_piece_choose(const struct shmemi_view *view, const struct shmemi_memory *mine, size_t nbytes)
{
    const struct shmemi_memory *theirs = view->place.memory ? view->place.memory : &shmemi_memory_host;
    const size_t one = ratio_of[mine->type], other = ratio_of[theirs->type];
    return choose(nbytes, one > other ? one : other, view->link->in_node ? SIZE_MAX : SHMEMI_PIECE_NETWORK_MOST);
}

size_t shmemi_piece_choose_put(const struct shmemi_view *view, const struct shmemi_memory *mine, size_t nbytes)
{
    const size_t chosen = shmemi_piece_choose(view, mine, nbytes), longest = view->link->longest_put(view->pe);
    const bool is_good = chosen < longest || nbytes <= longest || nbytes >= SHMEMI_PIECE_ANNOUNCED_LEAST;
    return is_good || shmemi_settings.staging_piece ? chosen : longest;
}

size_t shmemi_piece_choose_bounce(size_t nbytes)
{
    return choose(nbytes, SHMEMI_PIECE_BOUNCE, SIZE_MAX);
}
