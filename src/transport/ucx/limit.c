/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The limit on open endpoints (SHMEM_CONNECTIONS): before one more is made, the least recently used one is closed, if
 * nothing is under way on it that an answer would end. Everything else is flushed first.
 *
 * Who uses an endpoint locks the initiator and then makes sure that it is still open; who closes one takes it away from
 * all under that lock, and then flushes it. It is made again when it is next needed.
 */
#include "transport/ucx/ucx_internal.h"

#include "base/holdings.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/thread/cores.h"
#include "bootstrap/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Under the initiator lock, except `is_limited`, which is set at the start. */
static struct {
    int *pe; /* those that have an endpoint, in any order */
    size_t n, room;
    uint64_t *used; /* by PE: when last */
    uint64_t clock;
    unsigned long closed;
} open;

bool shmemi_ucx_is_limited;

static ptrdiff_t table_bytes(void)
{
    return (ptrdiff_t)shmemi_job.n_pes * (ptrdiff_t)sizeof *open.used;
}

void shmemi_ucx_limit_open(void)
{
    const size_t others = (size_t)(shmemi_job.n_pes - shmemi_job.node_n_pes), limit = shmemi_settings.connections;
    shmemi_ucx_is_limited = limit && limit < others;
    if (!shmemi_ucx_is_limited)
        return;
    open.used = calloc((size_t)shmemi_job.n_pes, sizeof *open.used);
    if (!open.used)
        shmemi_fatal("out of memory for the connections to %d PEs", shmemi_job.n_pes);
    shmemi_hold(SHMEMI_PART_ENDPOINTS, table_bytes());
}

void shmemi_ucx_limit_close(void)
{
    if (open.closed)
        shmemi_debug("SHMEM_CONNECTIONS=%zu: %lu connections were closed to make others", shmemi_settings.connections,
                     open.closed);
    if (open.used)
        shmemi_hold(SHMEMI_PART_ENDPOINTS, -table_bytes());
    free(open.pe);
    free(open.used);
    memset(&open, 0, sizeof open);
    shmemi_ucx_is_limited = false;
}

void shmemi_ucx_endpoint_used(int pe)
{
    if (shmemi_ucx_is_limited)
        open.used[pe] = ++open.clock;
}

int shmemi_ucx_endpoint_expected(void)
{
    if (!shmemi_ucx_is_limited || open.n < open.room)
        return 0;
    const size_t room = open.room ? 2 * open.room : 16;
    int *pes = realloc(open.pe, room * sizeof *pes);
    if (!pes)
        return -ENOMEM;
    open.pe = pes;
    open.room = room;
    return 0;
}

void shmemi_ucx_endpoint_added(int pe)
{
    if (!shmemi_ucx_is_limited)
        return;
    open.pe[open.n++] = pe;
    shmemi_ucx_endpoint_used(pe);
}

/* ---- Keys of endpoints that are closed: apart from their targets, since these may be freed meanwhile -------------- */

struct shmemi_ucx_keys {
    struct shmemi_ucx_keys *next;
    ucp_rkey_h key;
};

struct shmemi_ucx_keys *shmemi_ucx_keys_with(struct shmemi_ucx_keys *others, ucp_rkey_h key)
{
    struct shmemi_ucx_keys *keys = malloc(sizeof *keys);
    if (!keys)
        shmemi_fatal("out of memory for the keys of a connection that is closed");
    *keys = (struct shmemi_ucx_keys){others, key};
    return keys;
}

static void free_keys(struct shmemi_ucx_keys *keys)
{
    pthread_mutex_lock(&shmemi_ucx.initiator_lock);
    for (struct shmemi_ucx_keys *next; keys; keys = next) {
        next = keys->next;
        ucp_rkey_destroy(keys->key);
        free(keys);
    }
    pthread_mutex_unlock(&shmemi_ucx.initiator_lock);
}

/* ---- Closing ------------------------------------------------------------------------------------------------------ */

static bool is_needed(int pe)
{
    return shmemi_ucx_peer_is_lost(pe) || shmemi_ucx_request_awaits(pe) || shmemi_ucx_stores_await(pe) ||
           shmemi_ucx_key_awaits(pe) || shmemi_ucx_pulse_goes_to(pe);
}

/* The index of the one that may be closed; -1: none. */
static ptrdiff_t least_recently_used(void)
{
    ptrdiff_t found = -1;
    for (size_t i = 0; i < open.n; i++)
        if ((found < 0 || open.used[open.pe[i]] < open.used[open.pe[found]]) && !is_needed(open.pe[i]))
            found = (ptrdiff_t)i;
    return found;
}

/* Take an endpoint away from all who might use it. Returns false if none may be closed. */
static bool take_one(ucp_ep_h *endpoint_p, struct shmemi_ucx_keys **keys_p)
{
    bool found = false;
    pthread_mutex_lock(&shmemi_ucx.initiator_lock);
    const ptrdiff_t i = open.n >= shmemi_settings.connections ? least_recently_used() : -1;
    if (i >= 0) {
        const int pe = open.pe[i];
        open.pe[i] = open.pe[--open.n];
        *endpoint_p = shmemi_ucx_endpoint_take(pe);
        *keys_p = shmemi_ucx_keys_take(pe);
        open.closed++;
        found = true;
    }
    pthread_mutex_unlock(&shmemi_ucx.initiator_lock);
    return found;
}

/* Only UCX's workers are progressed: other parts might need an endpoint, and the lock for making them is held. */
static void await(struct shmemi_ucx_batch *batch)
{
    while (!shmemi_ucx_batch_is_complete(batch))
        if (!shmemi_ucx_progress() && !shmemi_ucx_service_progress())
            shmemi_yield();
}

enum closing_state { FLUSH, CLOSE };

static void finish(ucp_ep_h endpoint, enum closing_state ending)
{
    struct shmemi_ucx_batch batch = {0};
    ucp_request_param_t param;
    shmemi_ucx_batch_param(&batch, &param);
    pthread_mutex_lock(&shmemi_ucx.initiator_lock);
    ucs_status_ptr_t request =
        ending == FLUSH ? ucp_ep_flush_nbx(endpoint, &param) : ucp_ep_close_nbx(endpoint, &param);
    if (!UCS_PTR_IS_ERR(request)) /* the peer is lost: whoever needs it next says so */
        shmemi_ucx_batch_add(&batch, request, "closing a connection");
    pthread_mutex_unlock(&shmemi_ucx.initiator_lock);
    await(&batch);
}

void shmemi_ucx_make_room(void)
{
    ucp_ep_h endpoint;
    struct shmemi_ucx_keys *keys;
    while (shmemi_ucx_is_limited && take_one(&endpoint, &keys)) {
        finish(endpoint, FLUSH);
        free_keys(keys);
        finish(endpoint, CLOSE);
    }
}

int shmemi_ucx_reopen(const struct shmemi_ucx_target *target)
{
    int rc = 0;
    while (!rc && !atomic_load_explicit(&target->ready, memory_order_acquire)) {
        struct shmemi_view view = {
            .pe = target->pe, .region = target->region, .size = target->size, .data = (void *)(uintptr_t)target};
        pthread_mutex_unlock(&shmemi_ucx.initiator_lock);
        rc = shmemi_ucx_target_open(&view);
        pthread_mutex_lock(&shmemi_ucx.initiator_lock);
    }
    shmemi_ucx_endpoint_used(target->pe);
    return rc;
}
