/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Link "ucx", the owner's end (request.c describes the messages): receives requests and sends the answers.
 *
 * A small payload stays in UCX's buffer. A payload that UCX sends by rendezvous, and the answer of a GET, need one of
 * the receive slots of the staging area; their requests wait in a queue while none is free.
 */
#include "transport/request.h"

#include "base/log.h"
#include "base/tuning.h"
#include "bootstrap/job.h"
#include "transport/staged/owner.h"
#include "transport/ucx/ucx_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct list {
    struct incoming *first, **end;
};

/* A request that has arrived at its owner. */
struct incoming {
    struct shmemi_arrival arrival; /* first, since unused ones are linked by it */
    struct incoming *next;
    ucp_ep_h reply;
    size_t size;        /* of the payload or of the answer's data */
    void *rendezvous;   /* UCX's descriptor of data to be received into a slot */
    void *kept;         /* UCX's buffer that holds the payload */
    void *copied;       /* our copy of the payload */
    unsigned slot;      /* receive slot, or SHMEMI_SLOT_NONE */
    uint64_t old_value; /* answer of an AMO */
    int refusal;        /* -errno: answer with this instead of accepting it */
    struct shmemi_ucx_answer answer;
};

/* All under the service lock. */
static struct {
    struct shmemi_unused *unused;
    struct list ready;    /* to be accepted or refused */
    struct list waiting;  /* for a receive slot */
    uint64_t taken_slots; /* bits, from the first receive slot on */
    atomic_bool is_left;  /* ready is not empty, although there was room; atomic: other threads read it */
    struct shmemi_ucx_receiving receiving;
} owner;

/* ---- Receiving --------------------------------------------------------------------------------------------------- */

static void append(struct list *list, struct incoming *incoming)
{
    incoming->next = NULL;
    *list->end = incoming;
    list->end = &incoming->next;
}

static struct incoming *remove_first(struct list *list)
{
    struct incoming *incoming = list->first;
    list->first = incoming->next;
    if (!list->first)
        list->end = &list->first;
    return incoming;
}

static bool take_slot(struct incoming *incoming)
{
    unsigned slot = 0;
    while (slot < shmemi_staging.slots && owner.taken_slots >> slot & 1)
        slot++;
    if (slot == shmemi_staging.slots)
        return false;
    owner.taken_slots |= UINT64_C(1) << slot;
    incoming->slot = shmemi_staging.slots + slot;
    return true;
}

/* Give back the memory that the request holds: after its answer has been sent, or at once when its data is not
 * needed. */
static void release_payload(struct incoming *incoming)
{
    if (incoming->slot != SHMEMI_SLOT_NONE)
        owner.taken_slots &= ~(UINT64_C(1) << (incoming->slot - shmemi_staging.slots));
    if (incoming->kept)
        ucp_am_data_release(shmemi_ucx.service, incoming->kept);
    free(incoming->copied);
    incoming->slot = SHMEMI_SLOT_NONE;
    incoming->kept = incoming->copied = NULL;
}

static void release(struct incoming *incoming)
{
    release_payload(incoming);
    shmemi_unused_give(&owner.unused, incoming);
}

static void settle(struct shmemi_arrival *arrival, int status);

static struct incoming *take_incoming(const struct shmemi_request *request, ucp_ep_h reply)
{
    struct incoming *incoming = shmemi_unused_take(&owner.unused, sizeof *incoming, "a request");
    *incoming = (struct incoming){
        .arrival = {.request = *request, .settle = settle, .link = incoming},
        .reply = reply,
        .slot = SHMEMI_SLOT_NONE,
    };
    return incoming;
}

static ucs_status_t take_rendezvous(struct incoming *incoming, void *descriptor)
{
    incoming->rendezvous = descriptor;
    append(&owner.waiting, incoming);
    return UCS_INPROGRESS;
}

static ucs_status_t take_eager(struct incoming *incoming, void *data, size_t size, uint64_t attributes)
{
    append(&owner.ready, incoming);
    shmemi_ucx.service_has_piece |= size >= SHMEMI_UCX_SLOT_LEAST;
    if (size >= SHMEMI_UCX_SLOT_LEAST && !owner.waiting.first && take_slot(incoming)) {
        incoming->arrival.payload = memcpy(shmemi_staging_slot(incoming->slot), data, size);
        return UCS_OK;
    }
    if (attributes & UCP_AM_RECV_ATTR_FLAG_DATA) {
        incoming->arrival.payload = incoming->kept = data;
        return UCS_INPROGRESS;
    }
    incoming->copied = malloc(size);
    if (!incoming->copied)
        shmemi_fatal("out of memory for %zu bytes of a request", size);
    incoming->arrival.payload = memcpy(incoming->copied, data, size);
    return UCS_OK;
}

static ucs_status_t take_request(struct incoming *incoming, void *data, const ucp_am_recv_param_t *param)
{
    struct shmemi_request *request = &incoming->arrival.request;
    incoming->size = shmemi_request_payload_size(request);
    if (shmemi_ucx_request_payload(request)) {
        bool is_rendezvous = param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV;
        return is_rendezvous ? take_rendezvous(incoming, data)
                             : take_eager(incoming, data, incoming->size, param->recv_attr);
    }
    if (request->type == SHMEMI_REQUEST_GET) {
        append(&owner.waiting, incoming);
        return UCS_OK;
    }
    bool is_put = shmemi_request_is_put(request->type);
    incoming->arrival.payload = is_put ? (void *)request->u.data : (void *)&incoming->old_value;
    append(&owner.ready, incoming);
    return UCS_OK;
}

static bool is_valid(const struct shmemi_request *request, size_t length)
{
    const size_t size = request->u.amo.size; /* of an AMO, whose answer is as long as its payload would be */
    bool fits_word =
        (size == sizeof(uint32_t) || size == sizeof(uint64_t)) && shmemi_request_payload_size(request) == size;
    return !shmemi_request_check(request) && length == shmemi_ucx_request_payload(request) &&
           (request->type != SHMEMI_REQUEST_AMO || fits_word);
}

/* Called by UCX while the service worker is progressed, so it only queues; shmemi_ucx_request_deliver does the rest. */
static ucs_status_t on_request(void *user_data, const void *header, size_t header_length, void *data, size_t length,
                               const ucp_am_recv_param_t *param)
{
    (void)user_data;
    struct shmemi_request request;
    if (!shmemi_ucx_read_header(&request, sizeof request, header, header_length))
        return UCS_OK;
    if (request.origin >= (uint32_t)shmemi_job.n_pes || !(param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP)) {
        shmemi_error("dropped a damaged request from the network");
        return UCS_OK;
    }
    struct incoming *incoming = take_incoming(&request, param->reply_ep);
    if (is_valid(&request, length))
        return take_request(incoming, data, param);
    shmemi_error("refused a damaged request of PE %u (type %u, %u rows of %llu bytes, %zu bytes of data)",
                 request.origin, request.type, request.rows, (unsigned long long)request.width, length);
    incoming->refusal = -EINVAL;
    append(&owner.ready, incoming);
    return UCS_OK;
}

/* ---- Handing over ------------------------------------------------------------------------------------------------ */

static void finish_receive(struct incoming *incoming, ucs_status_t status)
{
    if (status != UCS_OK) {
        shmemi_error("the data of a request of PE %u did not arrive: %s", incoming->arrival.request.origin,
                     ucs_status_string(status));
        incoming->refusal = shmemi_ucx_errno(status);
    }
    owner.receiving.count--;
    owner.receiving.bytes -= incoming->size;
    shmemi_ucx.service_has_piece = true;
    append(&owner.ready, incoming);
}

static void on_received(void *request, ucs_status_t status, size_t length, void *user_data)
{
    (void)length;
    ucp_request_free(request);
    finish_receive(user_data, status);
}

static void start_receive(struct incoming *incoming)
{
    owner.receiving.count++;
    owner.receiving.bytes += incoming->size;
    ucp_request_param_t param = shmemi_ucx_param(incoming);
    param.cb.recv_am = on_received;
    shmemi_ucx_name_staging(&param);
    ucs_status_ptr_t request = ucp_am_recv_data_nbx(shmemi_ucx.service, incoming->rendezvous, incoming->arrival.payload,
                                                    incoming->size, &param);
    if (!request || UCS_PTR_IS_ERR(request))
        finish_receive(incoming, UCS_PTR_STATUS(request));
}

/* May the payload be received now, beside those that are being received? */
static bool may_be_served(const struct incoming *incoming)
{
    return !incoming->rendezvous || shmemi_ucx_may_receive(&owner.receiving, incoming->size);
}

static void serve_waiting(void)
{
    while (owner.waiting.first && may_be_served(owner.waiting.first) && take_slot(owner.waiting.first)) {
        struct incoming *incoming = remove_first(&owner.waiting);
        incoming->arrival.payload = shmemi_staging_slot(incoming->slot);
        if (incoming->rendezvous)
            start_receive(incoming);
        else
            append(&owner.ready, incoming);
    }
}

unsigned shmemi_ucx_request_deliver(void)
{
    unsigned delivered = 0;
    size_t bytes = 0;
    serve_waiting();
    while (owner.ready.first && bytes < SHMEMI_UCX_DELIVER_MOST && shmemi_arrivals_have_room()) {
        struct incoming *incoming = remove_first(&owner.ready);
        bytes += incoming->size;
        incoming->arrival.is_followed =
            owner.ready.first || owner.waiting.first || shmemi_request_is_followed(&incoming->arrival.request);
        if (incoming->refusal)
            settle(&incoming->arrival, incoming->refusal);
        else
            shmemi_arrival_accept(&incoming->arrival);
        delivered++;
        serve_waiting();
    }
    atomic_store_explicit(&owner.is_left, owner.ready.first && shmemi_arrivals_have_room(), memory_order_relaxed);
    return delivered;
}

bool shmemi_ucx_request_is_left(void)
{
    return atomic_load_explicit(&owner.is_left, memory_order_relaxed);
}

/* ---- Answering --------------------------------------------------------------------------------------------------- */

static void on_answered(void *request, ucs_status_t status, void *user_data)
{
    struct incoming *incoming = user_data;
    if (status != UCS_OK)
        shmemi_debug("an answer to PE %u was not sent: %s", incoming->arrival.request.origin,
                     ucs_status_string(status));
    ucp_request_free(request);
    release(incoming);
}

static bool is_eager(const struct shmemi_request *request, size_t size)
{
    return request->type == SHMEMI_REQUEST_GET && request->u.get.is_eager && size <= SHMEMI_UCX_EAGER_ANSWER;
}

/* Sends the header {slot, status} and, when a GET or AMO has succeeded, the data. */
static void send_answer(struct incoming *incoming, int status)
{
    const struct shmemi_request *request = &incoming->arrival.request;
    bool has_data = !status && !shmemi_request_is_put(request->type) && !shmemi_is_slotless(request->slot);
    ucp_request_param_t param = shmemi_ucx_message_param(
        incoming, on_answered, has_data && is_eager(request, incoming->size) ? UCP_AM_SEND_FLAG_EAGER : 0);
    memset(&incoming->answer, 0, sizeof incoming->answer);
    incoming->answer.job_key = shmemi_job.key;
    incoming->answer.owner = (uint32_t)shmemi_job.pe;
    incoming->answer.status = status;
    incoming->answer.slot = request->slot;
    if (has_data && incoming->slot != SHMEMI_SLOT_NONE)
        shmemi_ucx_name_staging(&param);
    ucs_status_ptr_t sent =
        ucp_am_send_nbx(incoming->reply, SHMEMI_UCX_AM_ANSWER, &incoming->answer, sizeof incoming->answer,
                        has_data ? incoming->arrival.payload : NULL, has_data ? incoming->size : 0, &param);
    if (UCS_PTR_IS_ERR(sent))
        shmemi_debug("an answer to PE %u was not sent: %s", request->origin, ucs_status_string(UCS_PTR_STATUS(sent)));
    if (!sent || UCS_PTR_IS_ERR(sent))
        release(incoming);
}

static void settle(struct shmemi_arrival *arrival, int status)
{
    struct incoming *incoming = arrival->link;
    pthread_mutex_lock(&shmemi_ucx.service_lock);
    if (shmemi_request_is_put(arrival->request.type))
        release_payload(incoming);
    send_answer(incoming, status);
    pthread_mutex_unlock(&shmemi_ucx.service_lock);
}

/* ---- Open and close ---------------------------------------------------------------------------------------------- */

int shmemi_ucx_arrival_open(void)
{
    owner.ready.end = &owner.ready.first;
    owner.waiting.end = &owner.waiting.first;
    return shmemi_ucx_set_handler(shmemi_ucx.service, SHMEMI_UCX_AM_REQUEST, on_request);
}

void shmemi_ucx_arrival_close(void)
{
    shmemi_unused_free(&owner.unused);
    owner.taken_slots = 0;
    owner.receiving = (struct shmemi_ucx_receiving){0};
}
