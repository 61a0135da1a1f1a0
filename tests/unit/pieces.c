/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sizes of pieces: by the model of the stages, no other number of pieces is noticeably faster.
 */
#include "transport/staged/pieces.h"

#include "transport/request.h"
#include "unit.h"

enum { MOST = 4 << 20, PAGE = 4096 };

static const struct shmemi_stage one_node[] = {{2700, 0.018}, {1000, 0}, {2700, 0.018}};
static const struct shmemi_stage network[] = {{2700, 0.018}, {20000, 0.15}, {2700, 0.018}};
static const struct shmemi_stage slow_calls[] = {{100000, 0.02}, {1000, 0}, {100000, 0.02}};

static void check_size(const struct shmemi_stage *stages, size_t nbytes)
{
    size_t piece = shmemi_piece_size(stages, 3, nbytes, MOST);
    double best = shmemi_pieces_time(stages, 3, nbytes, piece), least = best;
    CHECK(piece > 0 && piece <= MOST);
    CHECK(piece % PAGE == 0);
    for (size_t other = PAGE; other <= MOST; other += PAGE) {
        double time = shmemi_pieces_time(stages, 3, nbytes, other);
        least = time < least ? time : least;
    }
    CHECK(best <= 1.05 * least);
}

static void check_sizes(const struct shmemi_stage *stages)
{
    for (size_t nbytes = 1; nbytes <= (size_t)1 << 30; nbytes = nbytes * 2 + 1)
        check_size(stages, nbytes);
    check_size(stages, (size_t)1 << 30);
}

/* A short transfer is not cut; a longer one has larger pieces; expensive calls make pieces larger. */
static void check_tendencies(void)
{
    CHECK(shmemi_piece_size(one_node, 3, 8192, MOST) >= 8192);
    size_t medium = shmemi_piece_size(one_node, 3, 4 << 20, MOST);
    size_t longer = shmemi_piece_size(one_node, 3, 64 << 20, MOST);
    CHECK(medium < 4 << 20);
    CHECK(medium < longer);
    CHECK(shmemi_piece_size(one_node, 3, (size_t)1 << 30, MOST) == MOST);
    CHECK(shmemi_piece_size(slow_calls, 3, 4 << 20, MOST) > medium);
}

static void check_small_slots(void)
{
    CHECK(shmemi_piece_size(one_node, 3, 1 << 20, PAGE) == PAGE);
    CHECK(shmemi_piece_size(one_node, 3, 64 << 20, 64 << 10) == 64 << 10);
}

/* The time of one piece is that of all stages; of many, that of the slowest stage. */
static void check_time(void)
{
    const struct shmemi_stage stages[] = {{10, 1}, {20, 2}};
    CHECK(shmemi_pieces_time(stages, 2, 100, 100) == 30 + 300);
    CHECK(shmemi_pieces_time(stages, 2, 100, 50) == 30 + 150 + 120);
    CHECK(shmemi_pieces_time(stages, 2, 101, 50) == 30 + 150 + 240);
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
    check_put();
    check_time();
    check_sizes(one_node);
    check_sizes(network);
    check_sizes(slow_calls);
    check_tendencies();
    check_small_slots();
    return 0;
}
