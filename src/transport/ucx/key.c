/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Remote keys of UCX. A PE exposes its copy of a region by registering it and packing a key (registered.c). Another PE asks
 * for the key with a message when it first accesses that copy, so PEs that never communicate exchange nothing.
 *
 *      origin                                   owner
 *      KEY_REQUEST {region, token}   ------->   looks the region up
 *      unpacks the key               <-------   KEY_ANSWER {token, status, address, size} + packed key
 */
#include "base/holdings.h"
#include "base/log.h"
#include "bootstrap/job.h"
#include "transport/ucx/ucx_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* UCX unpacks a key without being told its length. What it may find in one are at most 64 parts of at most 256 bytes
 * and a little more, so a damaged key does not lead it out of an array of this size. */
enum { KEY_SIZE_MAX = 64 * 256 + 512 };

struct key_request {
    struct shmemi_key job_key;
    uint64_t token; /* identifies the fetch; the answer repeats it */
    uint32_t origin;
    uint32_t region;
};

struct key_answer {
    struct shmemi_key job_key;
    uint64_t token;
    uint64_t address;
    uint64_t size;
    int32_t status; /* 0 or -errno */
    uint32_t key_size;
};

/* The fetch under way: one at a time. */
static struct {
    pthread_mutex_t lock;    /* held by the fetching thread; the rest is under the initiator lock */
    atomic_bool is_complete; /* the answer has arrived */
    bool is_waiting;
    int pe; /* whose key it is, until that is unpacked; -1: nobody's */
    uint64_t token;
    struct key_answer answer;
    unsigned char key[KEY_SIZE_MAX];
} fetch = {.lock = PTHREAD_MUTEX_INITIALIZER, .pe = -1};

static struct shmemi_ucx_target *ready_targets; /* under the initiator lock */

/* ---- Owner ------------------------------------------------------------------------------------------------------- */

/* An answer on its way: the header has to stay until it is sent, and the key too, even if the region is hidden. */
struct outgoing_key {
    struct key_answer answer;
    unsigned char key[];
};

static void on_answer_sent(void *request, ucs_status_t status, void *user_data)
{
    (void)status;
    ucp_request_free(request);
    free(user_data);
}

static void answer_key(const struct key_request *request, const struct shmemi_ucx_exposure *exposure, ucp_ep_h reply)
{
    size_t key_size = exposure ? exposure->key_size : 0;
    struct outgoing_key *outgoing = malloc(sizeof *outgoing + key_size);
    if (!outgoing)
        shmemi_fatal("out of memory for an answer to PE %u", request->origin);
    outgoing->answer = (struct key_answer){
        .job_key = shmemi_job.key,
        .token = request->token,
        .address = exposure ? (uintptr_t)exposure->address : 0,
        .size = exposure ? exposure->size : 0,
        .status = exposure ? 0 : -ENOTSUP,
        .key_size = (uint32_t)key_size,
    };
    if (exposure)
        memcpy(outgoing->key, exposure->key, key_size);
    const ucp_request_param_t param = shmemi_ucx_message_param(outgoing, on_answer_sent, UCP_AM_SEND_FLAG_EAGER);
    ucs_status_ptr_t sent = ucp_am_send_nbx(reply, SHMEMI_UCX_AM_KEY_ANSWER, &outgoing->answer, sizeof outgoing->answer,
                                            outgoing->key, key_size, &param);
    if (UCS_PTR_IS_ERR(sent))
        shmemi_error("cannot send a key to PE %u: %s", request->origin, ucs_status_string(UCS_PTR_STATUS(sent)));
    if (!sent || UCS_PTR_IS_ERR(sent))
        free(outgoing);
}

/* PEs start at different times, so a request may come before this one has exposed its heap and static data. It is kept
 * until then, under the service lock. */
static struct early {
    struct early *next;
    struct key_request request;
    ucp_ep_h reply;
} * early;

static void keep(const struct key_request *request, ucp_ep_h reply)
{
    struct early *kept = malloc(sizeof *kept);
    if (!kept)
        shmemi_fatal("out of memory for an answer to PE %u", request->origin);
    shmemi_debug("PE %u asks for the key of region %u early", request->origin, request->region);
    *kept = (struct early){early, *request, reply};
    early = kept;
}

void shmemi_ucx_key_answer_kept(const struct shmemi_ucx_exposure *exposure)
{
    for (struct early **link = &early, *kept; (kept = *link);) {
        if (kept->request.region != exposure->region) {
            link = &kept->next;
            continue;
        }
        *link = kept->next;
        answer_key(&kept->request, exposure, kept->reply);
        free(kept);
    }
}

/* Inside progress of the service worker. */
static ucs_status_t on_key_request(void *user_data, const void *header, size_t header_length, void *data, size_t length,
                                   const ucp_am_recv_param_t *param)
{
    (void)user_data, (void)data;
    struct key_request request;
    if (!shmemi_ucx_read_header(&request, sizeof request, header, header_length))
        return UCS_OK;
    if (length || request.origin >= (uint32_t)shmemi_job.n_pes ||
        !(param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP)) {
        shmemi_error("dropped a damaged request for a key");
        return UCS_OK;
    }
    const struct shmemi_ucx_exposure *exposure = shmemi_ucx_exposure_of(request.region);
    if (!exposure && request.region < SHMEMI_REGION_FIRST_MAPPED)
        keep(&request, param->reply_ep);
    else
        answer_key(&request, exposure, param->reply_ep);
    return UCS_OK;
}

/* ---- Origin ------------------------------------------------------------------------------------------------------ */

static bool is_awaited(const struct key_answer *answer, size_t length, const ucp_am_recv_param_t *param)
{
    return fetch.is_waiting && answer->token == fetch.token && answer->key_size == length &&
           length <= sizeof fetch.key && !(param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV);
}

/* Inside progress of the initiator worker. */
static ucs_status_t on_key_answer(void *user_data, const void *header, size_t header_length, void *data, size_t length,
                                  const ucp_am_recv_param_t *param)
{
    (void)user_data;
    struct key_answer answer;
    if (!shmemi_ucx_read_header(&answer, sizeof answer, header, header_length))
        return UCS_OK;
    if (!is_awaited(&answer, length, param)) {
        shmemi_error("dropped an answer with a key that nobody asked for");
        return UCS_OK;
    }
    fetch.answer = answer;
    memcpy(fetch.key, data, length);
    memset(fetch.key + length, 0, sizeof fetch.key - length);
    fetch.is_waiting = false;
    atomic_store_explicit(&fetch.is_complete, true, memory_order_release);
    return UCS_OK;
}

static int ask(const struct shmemi_view *view, ucp_ep_h *endpoint_p, struct key_request *request,
               struct shmemi_ucx_batch *batch)
{
    ucp_request_param_t param;
    shmemi_ucx_batch_param(batch, &param);
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_AM_SEND_FLAG_REPLY | UCP_AM_SEND_FLAG_EAGER;
    int rc = shmemi_ucx_endpoint_locked(view->pe, endpoint_p);
    if (rc)
        return rc;
    *request = (struct key_request){
        .job_key = shmemi_job.key,
        .token = ++fetch.token,
        .origin = (uint32_t)shmemi_job.pe,
        .region = view->region,
    };
    fetch.is_waiting = true;
    fetch.pe = view->pe;
    atomic_store(&fetch.is_complete, false);
    ucs_status_ptr_t sent =
        ucp_am_send_nbx(*endpoint_p, SHMEMI_UCX_AM_KEY_REQUEST, request, sizeof *request, NULL, 0, &param);
    rc = shmemi_ucx_batch_add(batch, sent, "asking for a key");
    pthread_mutex_unlock(&shmemi_ucx.initiator_lock);
    return rc;
}

static int await(const struct shmemi_view *view)
{
    unsigned spins = 0;
    while (!atomic_load_explicit(&fetch.is_complete, memory_order_acquire)) {
        if (shmemi_ucx_peer_is_lost(view->pe))
            shmemi_ucx_end_lost(view->pe);
        shmemi_ucx_turn(&spins);
    }
    if (fetch.answer.status == -ENOTSUP)
        return -ENOTSUP;
    if (fetch.answer.status) {
        shmemi_error("PE %d does not let this PE reach its region %u", view->pe, view->region);
        return fetch.answer.status;
    }
    if (fetch.answer.size == view->size)
        return 0;
    shmemi_error("region %u has %zu bytes here and %llu on PE %d", view->region, view->size,
                 (unsigned long long)fetch.answer.size, view->pe);
    return -EINVAL;
}

/* How puts reach the peer: by an adapter that stores words whole, or by UCX's messages, which do not. With the initiator
 * lock held. */
static void choose_stores(struct shmemi_ucx_target *target)
{
    enum shmemi_ucx_rdma rdma = shmemi_ucx_is_rdma(target->endpoint);
    target->stores = !target->is_gdr && shmemi_ucx_emulates(rdma);
    shmemi_debug("small puts to region %u of PE %d are %s", target->region, target->pe,
                 target->stores ? "messages, since there is no RDMA" : "left to UCX");
    if (target->stores && rdma != SHMEMI_UCX_NO_RDMA)
        atomic_store_explicit(&shmemi_ucx.stores_lag, true, memory_order_relaxed);
}

static int unpack(const struct shmemi_view *view, ucp_ep_h endpoint)
{
    struct shmemi_ucx_target *target = view->data;
    pthread_mutex_lock(&shmemi_ucx.initiator_lock);
    ucs_status_t status = ucp_ep_rkey_unpack(endpoint, fetch.key, &target->key);
    if (status == UCS_OK) {
        target->endpoint = endpoint;
        target->address = fetch.answer.address;
        choose_stores(target);
        target->next = ready_targets;
        target->link = &ready_targets;
        if (target->next)
            target->next->link = &target->next;
        ready_targets = target;
        atomic_store_explicit(&target->ready, true, memory_order_release);
    }
    pthread_mutex_unlock(&shmemi_ucx.initiator_lock);
    if (status != UCS_OK)
        shmemi_error("cannot use the key of PE %d for region %u: %s", view->pe, view->region,
                     ucs_status_string(status));
    return shmemi_ucx_errno(status);
}

static void fetch_is_over(void)
{
    pthread_mutex_lock(&shmemi_ucx.initiator_lock);
    fetch.pe = -1;
    pthread_mutex_unlock(&shmemi_ucx.initiator_lock);
}

bool shmemi_ucx_key_awaits(int pe)
{
    return fetch.pe == pe;
}

/* With the fetch lock held. */
static int fetch_key(const struct shmemi_view *view)
{
    ucp_ep_h endpoint;
    struct key_request request;
    struct shmemi_ucx_batch batch = {0};
    int rc = ask(view, &endpoint, &request, &batch);
    if (!rc)
        rc = await(view);
    int sent = shmemi_ucx_batch_wait_all(&batch);
    if (!rc)
        rc = sent;
    if (!rc)
        rc = unpack(view, endpoint);
    fetch_is_over();
    return rc;
}

int shmemi_ucx_target_open(const struct shmemi_view *view)
{
    struct shmemi_ucx_target *target = view->data;
    unsigned spins = 0;
    int rc = 0;
    while (pthread_mutex_trylock(&fetch.lock))
        shmemi_ucx_turn(&spins);
    if (!atomic_load_explicit(&target->ready, memory_order_acquire))
        rc = fetch_key(view);
    pthread_mutex_unlock(&fetch.lock);
    return rc;
}

/* With the initiator lock held. */
static void unlink_target(struct shmemi_ucx_target *target)
{
    atomic_store(&target->ready, false);
    *target->link = target->next;
    if (target->next)
        target->next->link = target->link;
}

static void forget(struct shmemi_ucx_target *target)
{
    unlink_target(target);
    ucp_rkey_destroy(target->key);
}

struct shmemi_ucx_keys *shmemi_ucx_keys_take(int pe)
{
    struct shmemi_ucx_keys *keys = NULL;
    for (struct shmemi_ucx_target *target = ready_targets, *next; target; target = next) {
        next = target->next;
        if (target->pe != pe)
            continue;
        unlink_target(target);
        keys = shmemi_ucx_keys_with(keys, target->key);
    }
    return keys;
}

void shmemi_ucx_target_close(struct shmemi_ucx_target *target)
{
    pthread_mutex_lock(&shmemi_ucx.initiator_lock);
    if (atomic_load(&target->ready))
        forget(target);
    pthread_mutex_unlock(&shmemi_ucx.initiator_lock);
    shmemi_hold(SHMEMI_PART_KEYS, -(ptrdiff_t)sizeof *target);
    free(target);
}

/* ---- Open and close ---------------------------------------------------------------------------------------------- */

int shmemi_ucx_key_open(void)
{
    int rc = shmemi_ucx_set_handler(shmemi_ucx.service, SHMEMI_UCX_AM_KEY_REQUEST, on_key_request);
    return rc ? rc : shmemi_ucx_set_handler(shmemi_ucx.initiator, SHMEMI_UCX_AM_KEY_ANSWER, on_key_answer);
}

void shmemi_ucx_key_close(void)
{
    pthread_mutex_lock(&shmemi_ucx.initiator_lock);
    while (ready_targets)
        forget(ready_targets);
    pthread_mutex_unlock(&shmemi_ucx.initiator_lock);
    for (struct early *next; early; early = next) {
        next = early->next;
        free(early);
    }
}
