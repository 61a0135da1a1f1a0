/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Views of a region in jobs of up to a million PEs: PEs of this node and of others, consecutive or dealt out in turns,
 * found by several threads at once; and what a region takes, which depends on the PEs addressed, not on the job.
 */
#include "shmmap/views.h"

#include "base/holdings.h"
#include "transport/request.h"
#include "unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ON_NODE = 4, THREADS = 4, LARGE = 1000000 };

static struct shmemi_region region;

/* Nodes of ON_NODE PEs, of which this is the second: consecutive numbers, or dealt out in turns. */
static int of_node(int n_pes, bool in_turns, int rank)
{
    const int n_nodes = n_pes / ON_NODE;
    return in_turns ? rank * n_nodes + 1 : ON_NODE + rank;
}

static void form_job(int n_pes, bool in_turns)
{
    static int node_pes[ON_NODE];
    for (int rank = 0; rank < ON_NODE; rank++)
        node_pes[rank] = of_node(n_pes, in_turns, rank);
    shmemi_job.n_pes = n_pes;
    shmemi_job.n_nodes = n_pes / ON_NODE;
    shmemi_job.node_n_pes = ON_NODE;
    shmemi_job.node_pes = node_pes;
    shmemi_job.node_rank = 0;
    shmemi_job.pe = node_pes[0];
    CHECK(!shmemi_job_index_node());
}

static void open_region(void)
{
    static char copy[64];
    region = (struct shmemi_region){.id = 7, .base = copy, .size = sizeof copy, .place = shmemi_place_host(copy)};
    CHECK(!shmemi_views_open(&region));
    for (int rank = 0; rank < ON_NODE; rank++)
        region.near[rank] = shmemi_view_of_copy(&region, shmemi_job.node_pes[rank]);
}

/* Near views are those of the array, far ones carry the number of their PE and stay where they are. */
static void check_found(int n_pes, bool in_turns)
{
    form_job(n_pes, in_turns);
    open_region();
    for (int rank = 0; rank < ON_NODE; rank++) {
        CHECK(shmemi_job_node_rank_of(shmemi_job.node_pes[rank]) == rank);
        CHECK(shmemi_region_view(&region, shmemi_job.node_pes[rank]) == &region.near[rank]);
        CHECK(shmemi_region_near_view(&region, shmemi_job.node_pes[rank]) == &region.near[rank]);
    }
    struct shmemi_view **first = calloc((size_t)n_pes, sizeof *first);
    CHECK(first);
    for (int again = 0; again < 2; again++)
        for (int pe = 0; pe < n_pes; pe++) {
            struct shmemi_view *view = shmemi_region_view(&region, pe);
            CHECK(view->pe == pe && view->region == 7 && view->size == region.size);
            CHECK(!again || view == first[pe]);
            first[pe] = view;
            if (shmemi_job_node_rank_of(pe) < 0)
                CHECK(!shmemi_region_near_view(&region, pe) && view->driver && view->link == &shmemi_link_ucx);
        }
    CHECK(!shmemi_region_near_view(&region, -1) && !shmemi_region_near_view(&region, n_pes));
    free(first);
    shmemi_views_close(&region);
    shmemi_views_close(&region);
}

static void check_owner_bases(void)
{
    form_job(16, false);
    open_region();
    for (int pe = 0; pe < 16; pe++)
        CHECK(shmemi_region_view(&region, pe)->owner_base == SHMEMI_OWNER_BASE_UNKNOWN);
    for (int pe = 0; pe < 16; pe++)
        shmemi_region_view(&region, pe)->owner_base = (uint64_t)pe;
    for (int pe = 0; pe < 16; pe++)
        CHECK(shmemi_region_view(&region, pe)->owner_base == (uint64_t)pe);
    shmemi_views_close(&region);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

enum { ASKED = 3000 };

static pthread_barrier_t together;
static struct shmemi_view *found[THREADS][ASKED];

/* Each thread asks for the same PEs, which lie far apart, in an order of its own. */
static void *ask(void *argument)
{
    const int thread = (int)(intptr_t)argument;
    pthread_barrier_wait(&together);
    for (int i = 0; i < ASKED; i++) {
        int which = (i * (2 * thread + 1) + thread * 97) % ASKED; /* 1, 3, 5, 7: 3 divides 3000, so some ask twice */
        found[thread][which] = shmemi_region_view(&region, 100 + which * 331);
    }
    return NULL;
}

static void check_threads(void)
{
    pthread_t thread[THREADS];
    form_job(LARGE, false);
    open_region();
    CHECK(!pthread_barrier_init(&together, NULL, THREADS));
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&thread[i], NULL, ask, (void *)(intptr_t)i));
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_join(thread[i], NULL));
    for (int which = 0; which < ASKED; which++)
        for (int i = 0; i < THREADS; i++) {
            struct shmemi_view *view = shmemi_region_view(&region, 100 + which * 331);
            CHECK(view->pe == 100 + which * 331 && (!found[i][which] || found[i][which] == view));
        }
    shmemi_views_close(&region);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

/* Bytes that a region takes once n_addressed PEs were addressed. */
static size_t taken(int n_pes, int n_addressed)
{
    form_job(n_pes, false);
    open_region();
    for (int i = 0; i < n_addressed; i++)
        shmemi_region_view(&region, n_pes - 1 - i * (n_pes / 64));
    size_t bytes = (size_t)shmemi_held[SHMEMI_PART_VIEWS];
    shmemi_views_close(&region);
    CHECK(!shmemi_held[SHMEMI_PART_VIEWS]);
    return bytes;
}

static void check_memory(void)
{
    enum { MANY = 16, BYTES_FOR_A_VIEW = 256 };
    CHECK(taken(LARGE, 0) == taken(1024, 0));
    CHECK(taken(LARGE, MANY) == taken(1024, MANY));
    CHECK(taken(LARGE, MANY) > taken(LARGE, 0));
    CHECK(taken(LARGE, MANY) - taken(LARGE, 0) < (size_t)MANY * BYTES_FOR_A_VIEW);
}

int main(void)
{
    check_found(16, false);
    check_found(16, true);
    check_found(5000, false);
    check_found(5000, true);
    check_owner_bases();
    check_threads();
    check_memory();
    return 0;
}
