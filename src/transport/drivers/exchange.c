/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Barrier, agreement and exchange of records for the runtime (exchange.h): inside the node by the node segment, between
 * the nodes by words and records that their leaders write into each other's heaps.
 */
#include "transport/drivers/exchange.h"

#include "bootstrap/job.h"
#include "instrument/measure.h"
#include "transport/node.h"
#include "transport/drivers/presence.h"
#include "transport/drivers/table.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

enum { ROUNDS_MAX = 32 };

/* What leaders write into each other's heaps. A word holds the number of the exchange that its writer has reached in
 * that round; it only grows. Records alternate between two sets: a leader that starts exchange k + 2 has seen all the
 * others start k + 1, hence finish k. */
struct workspace {
    _Atomic uint64_t reached[2][ROUNDS_MAX]; /* barrier, agree */
    struct shmemi_verdict record[2][ROUNDS_MAX];
};

static_assert(sizeof(struct workspace) <= SHMEMI_STREAM_WORDS_OFFSET, "the workspace must fit");
static_assert(sizeof(struct shmemi_verdict) <= SHMEMI_RECORD_BYTES, "a verdict must fit into a record");
static_assert(SHMEMI_PRESENCE_OFFSET + sizeof(uint64_t) <= SHMEMI_EXCHANGE_BYTES, "the word must fit");

enum { BARRIER, AGREE };

static struct {
    const struct shmemi_view *(*view_of)(int pe);
    struct workspace *workspace;
    uint64_t number[2]; /* of barriers and agreements so far */
    struct shmemi_context context;
} exchange;

void shmemi_exchange_open(const struct shmemi_view *(*view_of)(int pe), void *workspace)
{
    exchange.view_of = view_of;
    exchange.workspace = workspace;
    exchange.number[BARRIER] = exchange.number[AGREE] = 0;
    memset(&exchange.context, 0, sizeof exchange.context);
}

void shmemi_exchange_close(void)
{
    exchange.view_of = NULL;
    exchange.workspace = NULL;
}

const struct shmemi_view *shmemi_exchange_view(int pe)
{
    return exchange.view_of(pe);
}

/* Tell another leader that this one has reached a round. */
static int announce(int node, int kind, int round, uint64_t number)
{
    const struct shmemi_word_update set = {
        .view = exchange.view_of(shmemi_job.leaders[node]),
        .offset = (size_t)((char *)&exchange.workspace->reached[kind][round] - (char *)exchange.workspace),
        .amo = {.op = SHMEMI_AMO_SET, .size = 8, .operand = number},
    };
    return shmemi_issue_amo(&exchange.context, &set, NULL, true);
}

struct leader_wait {
    struct shmemi_call call;
    int pe;
};

static void describe_leader(const struct shmemi_call *call, char *text, size_t size)
{
    const int pe = ((const struct leader_wait *)call)->pe;
    shmemi_append(text, size, "for PE %d, the first of its node, or for one that it waits for", pe);
    shmemi_name_process(pe);
}

/* The leader that announces this round to this one. */
static int teller(int round)
{
    const int n = shmemi_job.n_nodes, distance = (1 << round) % n;
    return shmemi_job.leaders[(shmemi_job.node + n - distance) % n];
}

static bool has_come(int kind, int round, uint64_t number)
{
    return atomic_load_explicit(&exchange.workspace->reached[kind][round], memory_order_acquire) >= number;
}

static void await(int kind, int round, uint64_t number)
{
    unsigned spins = 0;
    struct shmemi_lookout lookout = {0};
    struct leader_wait wait = {{.activity = SHMEMI_AT_DETAIL, .describe = describe_leader}, teller(round)};
    shmemi_call_begin(&wait.call);
    while (!has_come(kind, round, number))
        if (shmemi_progress(&spins) && shmemi_has_ended(&lookout, exchange.view_of(wait.pe)) &&
            !has_come(kind, round, number))
            shmemi_end_missing_in_call(wait.pe);
    shmemi_call_end(&wait.call);
}

static int leaders_barrier(void)
{
    const int n = shmemi_job.n_nodes;
    uint64_t number = ++exchange.number[BARRIER];
    for (int round = 0, distance = 1; distance < n; round++, distance *= 2) {
        int rc = announce((shmemi_job.node + distance) % n, BARRIER, round, number);
        if (rc)
            return rc;
        await(BARRIER, round, number);
    }
    return shmemi_drivers_quiet(&exchange.context);
}

static int barrier(void)
{
    int rc = 0;
    shmemi_node_barrier();
    if (shmemi_job.n_nodes == 1)
        return 0;
    if (shmemi_job.node_rank == 0)
        rc = leaders_barrier();
    shmemi_node_barrier();
    return rc;
}

int shmemi_exchange_barrier(void)
{
    struct shmemi_call call = {.activity = SHMEMI_AT_RUNTIME};
    shmemi_span_begin(&call);
    int rc = barrier();
    shmemi_span_end(&call);
    return rc;
}

static void combine(struct shmemi_verdict *into, const struct shmemi_verdict *other)
{
    if (other->pe < into->pe) {
        into->pe = other->pe;
        into->reason = other->reason;
        memcpy(into->cause, other->cause, sizeof into->cause);
    }
    if (other->least < into->least)
        into->least = other->least;
    if (other->most > into->most)
        into->most = other->most;
    into->common &= other->common;
}

static int send_verdict(int node, int set, int round, const struct shmemi_verdict *verdict)
{
    int rc = shmemi_issue(&(struct shmemi_transfer){
        .context = &exchange.context,
        .view = exchange.view_of(shmemi_job.leaders[node]),
        .offset = (size_t)((char *)&exchange.workspace->record[set][round] - (char *)exchange.workspace),
        .mine = shmemi_place_host(verdict),
        .shape = shmemi_shape_linear(sizeof *verdict),
        .is_put = true,
        .is_blocking = true,
    });
    return rc ? rc : shmemi_drivers_fence(&exchange.context);
}

static int leaders_agree(struct shmemi_verdict *verdict)
{
    const int n = shmemi_job.n_nodes;
    uint64_t number = ++exchange.number[AGREE];
    int set = (int)(number % 2);
    for (int round = 0, distance = 1; distance < n; round++, distance *= 2) {
        int to = (shmemi_job.node + distance) % n;
        int rc = send_verdict(to, set, round, verdict);
        if (!rc)
            rc = announce(to, AGREE, round, number);
        if (rc)
            return rc;
        await(AGREE, round, number);
        combine(verdict, &exchange.workspace->record[set][round]);
    }
    return shmemi_drivers_quiet(&exchange.context);
}

static int agree(struct shmemi_verdict *verdict)
{
    int rc = 0;
    shmemi_exchange_publish(verdict, sizeof *verdict);
    if (shmemi_job.node_rank == 0) {
        for (int i = 1; i < shmemi_job.node_n_pes; i++)
            combine(verdict, shmemi_exchange_record(i));
        if (shmemi_job.n_nodes > 1)
            rc = leaders_agree(verdict);
        memcpy(shmemi_node.header->record, verdict, sizeof *verdict);
    }
    shmemi_node_barrier();
    memcpy(verdict, shmemi_node.header->record, sizeof *verdict);
    shmemi_exchange_conclude();
    return rc;
}

int shmemi_exchange_agree(struct shmemi_verdict *verdict)
{
    struct shmemi_call call = {.activity = SHMEMI_AT_RUNTIME};
    shmemi_span_begin(&call);
    int rc = agree(verdict);
    shmemi_span_end(&call);
    return rc;
}

void shmemi_exchange_publish(const void *record, size_t size)
{
    memcpy(shmemi_node_record(shmemi_job.node_rank), record, size);
    shmemi_node_barrier();
}

const void *shmemi_exchange_record(int node_rank)
{
    return shmemi_node_record(node_rank);
}

void shmemi_exchange_conclude(void)
{
    shmemi_node_barrier();
}
