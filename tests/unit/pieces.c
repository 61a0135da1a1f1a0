/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sizes of pieces: by a model of the stages of a transfer, no other number of pieces is much faster, whatever the kinds of
 * memory and the link cost within the range that has been measured.
 */
#include "transport/staged/pieces.h"

#include "base/settings.h"
#include "base/tuning.h"
#include "transport/request.h"
#include "unit.h"

enum { CHUNK = 4 << 20, PAGE = 4096 };

struct stage {
    double per_piece, per_byte; /* nanoseconds */
};
static const struct stage engine = {2700, 0.018}, slow_engine = {2000, 0.04}, cpu = {200, 0.1};
static const struct stage ring = {1000, 0}, tcp = {4000, 0.15}, shared_memory = {2000, 0.08};

static double time_of(const struct stage *stages, size_t nbytes, size_t piece)
{
    double once = 0, slowest = 0;
    const size_t bytes = piece < nbytes ? piece : nbytes;
    for (int i = 0; i < 3; i++) {
        double time = stages[i].per_piece + stages[i].per_byte * (double)bytes;
        once += time;
        slowest = time > slowest ? time : slowest;
    }
    return once + slowest * (double)((nbytes + piece - 1) / piece - 1);
}

static double least_time(const struct stage *stages, size_t nbytes, size_t most)
{
    double least = time_of(stages, nbytes, most);
    for (size_t piece = PAGE; piece <= most; piece += PAGE) {
        double time = time_of(stages, nbytes, piece);
        least = time < least ? time : least;
    }
    return least;
}

/* The thread that receives a piece also starts its copy to the destination; inside a node, each copies and requests. */
static void check_kind(const struct shmemi_memory *memory, struct stage copy, struct stage link, bool in_node)
{
    const struct shmemi_link its_link = {.in_node = in_node};
    const struct shmemi_view view = {.link = &its_link, .place.memory = memory};
    struct stage stages[] = {copy, link, copy};
    if (in_node) {
        stages[0].per_piece = stages[2].per_piece += link.per_piece;
        stages[1] = (struct stage){0};
    } else {
        stages[1].per_piece += copy.per_piece;
    }
    for (size_t nbytes = SHMEMI_PIECE_LONG; nbytes <= (size_t)1 << 30; nbytes = nbytes * 3 / 2) {
        size_t piece = shmemi_piece_choose(&view, memory, nbytes);
        CHECK(piece % PAGE == 0 && piece <= (in_node ? (size_t)CHUNK : SHMEMI_PIECE_NETWORK_MOST));
        CHECK(time_of(stages, nbytes, piece) <=
              1.15 * least_time(stages, nbytes, in_node ? CHUNK : SHMEMI_PIECE_NETWORK_MOST));
    }
}

/* A short transfer is not cut; a longer one has larger pieces, which fit a slot. */
static void check_tendencies(void)
{
    const struct shmemi_link link = {.in_node = true};
    const struct shmemi_view view = {.link = &link, .place.memory = &shmemi_memory_host};
    size_t medium = shmemi_piece_choose(&view, &shmemi_memory_host, 4 << 20);
    CHECK(shmemi_piece_choose(&view, &shmemi_memory_host, 8192) >= 8192);
    CHECK(medium < 4 << 20 && medium < shmemi_piece_choose(&view, &shmemi_memory_host, 64 << 20));
    CHECK(shmemi_piece_choose_bounce(4 << 20) > medium);
    shmemi_staging.chunk = PAGE;
    CHECK(shmemi_piece_choose(&view, &shmemi_memory_host, 1 << 20) == PAGE);
    shmemi_settings.staging_piece = 1 << 20;
    CHECK(shmemi_piece_choose(&view, &shmemi_memory_host, 1 << 20) == PAGE);
    shmemi_settings.staging_piece = 0;
    shmemi_staging.chunk = CHUNK;
}

static size_t longest;

static size_t longest_put(int pe)
{
    return pe == 3 ? longest : 0;
}

/* A put is cut where the link could not send it at once. What is as short as that stays whole. */
static void check_put(void)
{
    static const struct shmemi_link link = {.in_node = true, .longest_put = longest_put};
    const struct shmemi_view view = {.link = &link, .pe = 3};
    shmemi_staging.chunk = 1 << 20;
    longest = SIZE_MAX;
    CHECK(shmemi_piece_choose_put(&view, &shmemi_memory_host, 20000) == 1 << 20);
    longest = 16384;
    CHECK(shmemi_piece_choose_put(&view, &shmemi_memory_host, 20000) == 16384);
    CHECK(shmemi_piece_choose_put(&view, &shmemi_memory_host, 16384) >= 16384);
}

int main(void)
{
    struct shmemi_memory cuda = shmemi_memory_host;
    cuda.type = SHMEMI_MEMTYPE_CUDA;
    shmemi_staging.chunk = CHUNK;
    check_kind(&cuda, engine, ring, true);
    check_kind(&cuda, slow_engine, ring, true);
    check_kind(&cuda, engine, tcp, false);
    check_kind(&cuda, engine, shared_memory, false);
    check_kind(&shmemi_memory_host, cpu, ring, true);
    check_kind(&shmemi_memory_host, cpu, tcp, false);
    check_tendencies();
    check_put();
    return 0;
}
