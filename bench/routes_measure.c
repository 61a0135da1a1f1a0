/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a line of gpu_routes is measured: ours and its peer in blocks that take turns, and the median of each.
 */
#include "routes.h"
#include "tests/osu/shmem_flavour.h"

#include <math.h>
#include <stdlib.h>

enum { BLOCKS = 15, BLOCKS_OF_SLOW = 9, QUICK_BLOCKS = 3, BLOCK_US = 40000, SLOW_US = 100000 };

static int told_rounds; /* symmetric: by PE 0 to PE 1 */

/* How often a line's operation is done. */
struct effort {
    long rounds; /* in a block */
    int blocks;
};

static long most_rounds(const struct routes_line *line)
{
    static const struct {
        size_t most;
        long rounds;
    } table[] = {{64 << 10, 50}, {1 << 20, 20}, {4 << 20, 10}, {64 << 20, 4}};
    if (line->operations > 1)
        return 2;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (line->size <= table[i].most)
            return table[i].rounds;
    }
    return 1;
}

/* Both PEs: microseconds of `count` operations, on PE 0. */
static double once(struct routes *routes, const struct routes_way *way, size_t size, long count)
{
    if (way->timed)
        return way->timed(routes, size, count);
    shmem_barrier_all();
    if (routes->session.me != 0)
        return 0;
    double start = now_us();
    way->act(routes, size, count);
    return now_us() - start;
}

/* Both PEs: few repetitions of what is slow. PE 0 knows how long the slower way takes. */
static struct effort choose_effort(const struct routes *routes, const struct routes_line *line, double us)
{
    long rounds = most_rounds(line);
    if (routes->session.me == 0) {
        while (rounds > 1 && us * (double)rounds > BLOCK_US)
            rounds /= 2;
        shmem_int_p(&told_rounds, us > SLOW_US ? 0 : (int)rounds, 1);
        told_rounds = us > SLOW_US ? 0 : (int)rounds;
    }
    shmem_barrier_all();
    struct effort effort = {.rounds = told_rounds ? told_rounds : 1, .blocks = told_rounds ? BLOCKS : BLOCKS_OF_SLOW};
    shmem_barrier_all(); /* before the next line uses told_rounds */
    return routes->quick ? (struct effort){1, QUICK_BLOCKS} : effort;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, by_value);
    return values[(n - 1) / 2];
}

static double in_unit(const struct routes_line *line, double us)
{
    double each = us / (double)line->operations;
    return line->unit == UNIT_GB_S ? (double)line->size / each * 1e-3 : each;
}

static bool is_right(struct routes *routes, const struct routes_line *line)
{
    if (!line->check || line->size > ROUTES_CHECKED)
        return true;
    line->check->prepare(routes, line->size);
    once(routes, line->ours, line->size, 1);
    shmem_barrier_all();
    return line->check->right(routes, line->size);
}

static bool has_peer(const struct routes *routes, const struct routes_line *line)
{
    return line->peer && line->peer->possible(routes, line->size);
}

struct routes_result routes_measure(struct routes *routes, const struct routes_line *line)
{
    double ours[BLOCKS], peer[BLOCKS];
    bool compared = has_peer(routes, line);
    struct routes_result result = {.peer = NAN, .right = is_right(routes, line)};

    if (line->unit == UNIT_PERCENT) {
        result.ours = once(routes, line->ours, line->size, 1);
        return result;
    }
    double ours_us = once(routes, line->ours, line->size, 1);
    double peer_us = compared ? once(routes, line->peer, line->size, 1) : 0;
    struct effort effort = choose_effort(routes, line, ours_us > peer_us ? ours_us : peer_us);
    int n = effort.blocks;
    for (int block = -1; block < n; block++) { /* the first is a warm-up */
        int at = block < 0 ? 0 : block;
        ours[at] = once(routes, line->ours, line->size, effort.rounds) / (double)effort.rounds;
        peer[at] = compared ? once(routes, line->peer, line->size, effort.rounds) / (double)effort.rounds : NAN;
    }
    shmem_barrier_all();
    result.ours = in_unit(line, median(ours, n));
    result.peer = compared ? in_unit(line, median(peer, n)) : NAN;
    return result;
}
