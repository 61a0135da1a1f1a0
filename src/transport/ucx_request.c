/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Link "ucx": requests (request.h) as active messages to the owner's service worker, answers as active messages back to
 * the origin's initiator worker.
 *
 *      origin                                             owner
 *      REQUEST {struct shmemi_request} + payload of PUT -->  receive slot or UCX's buffer -> shmemi_service_accept
 *      slot's memory, shmemi_request_settle             <--  ANSWER {slot, status} + data of GET or AMO
 *
 * What comes in small is taken as UCX delivers it; what UCX sends by rendezvous, and the answer of a GET, needs one of
 * the receive slots of the staging area and waits in a queue while none is free. Requests may overtake each other.
 */
#include "transport/request.h"

#include "base/log.h"
#include "transport/job.h"
#include "transport/request_check.h"
#include "transport/service.h"
#include "transport/ucx_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Eager payloads from this size on are worth a receive slot, which is page-locked for the GPU. */
enum { SLOT_THRESHOLD = 4 << 10 };

struct answer {
    uint64_t job_key;
    uint32_t owner;
    int32_t status; /* 0 or -errno */
    uint16_t slot;  /* of the origin */
};

struct list {
    struct incoming *first, **end;
};

/* A request at its owner. */
struct incoming {
    struct shmemi_arrival arrival;
    struct incoming *next;
    ucp_ep_h reply;
    size_t size;        /* of the payload or of the answer's data */
    void *rendezvous;   /* UCX's descriptor of data to be received into a slot */
    void *kept;         /* UCX's buffer that holds the payload */
    void *copied;       /* our copy of the payload */
    unsigned slot;      /* receive slot, SHMEMI_SLOT_NONE */
    uint64_t old_value; /* answer of an AMO */
    int refusal;        /* -errno: do not accept, answer so */
    struct answer answer;
};

/* All under the service lock. */
static struct {
    struct incoming *unused;
    struct list ready;   /* to be accepted or refused */
    struct list waiting; /* for a receive slot */
    unsigned *free_slots, n_free_slots;
    bool has_slots;
} owner;

/* What this PE expects for one of its slots. */
struct expectation {
    bool waiting;
    uint8_t type;
    uint32_t pe;
    size_t size;
};

/* A request on its way. */
struct outgoing {
    struct outgoing *next;
    struct shmemi_request request;
};

/* All under the initiator lock, but for the counter. */
static struct {
    struct expectation *slot; /* shmemi_staging.slots entries */
    uint32_t *slotless;       /* requests without slot, by PE and set: not yet answered */
    struct outgoing *unused;
    struct shmemi_ucx_batch sends;
    atomic_uint unanswered;
} origin;

/* ---- Owner: receiving -------------------------------------------------------------------------------------------- */

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

static void make_slots(void)
{
    owner.free_slots = malloc(shmemi_staging.slots * sizeof *owner.free_slots);
    if (!owner.free_slots)
        shmemi_fatal("out of memory for %u receive slots", shmemi_staging.slots);
    for (unsigned i = 0; i < shmemi_staging.slots; i++)
        owner.free_slots[i] = shmemi_staging.slots + i;
    owner.n_free_slots = shmemi_staging.slots;
    owner.has_slots = true;
}

static bool take_slot(struct incoming *incoming)
{
    if (!owner.has_slots)
        make_slots();
    if (!owner.n_free_slots)
        return false;
    incoming->slot = owner.free_slots[--owner.n_free_slots];
    return true;
}

/* Give back what the request holds of memory: after the answer is sent, or at once when its data is not needed. */
static void release_payload(struct incoming *incoming)
{
    if (incoming->slot != SHMEMI_SLOT_NONE)
        owner.free_slots[owner.n_free_slots++] = incoming->slot;
    if (incoming->kept)
        ucp_am_data_release(shmemi_ucx.service, incoming->kept);
    free(incoming->copied);
    incoming->slot = SHMEMI_SLOT_NONE;
    incoming->kept = incoming->copied = NULL;
}

static void release(struct incoming *incoming)
{
    release_payload(incoming);
    incoming->next = owner.unused;
    owner.unused = incoming;
}

static void settle(struct shmemi_arrival *arrival, int status);

static struct incoming *take_incoming(const struct shmemi_request *request, ucp_ep_h reply)
{
    struct incoming *incoming = owner.unused;
    if (incoming)
        owner.unused = incoming->next;
    else if (!(incoming = malloc(sizeof *incoming)))
        shmemi_fatal("out of memory for a request of PE %u", request->origin);
    *incoming = (struct incoming){
        .arrival = {.request = *request, .settle = settle, .link = incoming},
        .reply = reply,
        .slot = SHMEMI_SLOT_NONE,
    };
    return incoming;
}

static size_t expected_payload(const struct shmemi_request *request)
{
    bool has_payload = shmemi_request_is_put(request->type) && !shmemi_is_slotless(request->slot);
    return has_payload ? shmemi_request_payload_size(request) : 0;
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
    if (size >= SLOT_THRESHOLD && !owner.waiting.first && take_slot(incoming)) {
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
    incoming->size = request->type == SHMEMI_REQUEST_AMO ? request->u.amo.size : shmemi_request_payload_size(request);
    if (expected_payload(request)) {
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
    bool fits_word = request->u.amo.size == sizeof(uint32_t) || request->u.amo.size == sizeof(uint64_t);
    return !shmemi_request_check(request) && length == expected_payload(request) &&
           (request->type != SHMEMI_REQUEST_AMO || fits_word);
}

/* Inside progress of the service worker: only queues; shmemi_ucx_request_deliver does the rest. */
static ucs_status_t on_request(void *user_data, const void *header, size_t header_length, void *data, size_t length,
                               const ucp_am_recv_param_t *param)
{
    (void)user_data;
    struct shmemi_request request;
    if (header_length != sizeof request || !(param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP)) {
        shmemi_error("dropped a damaged request from the network");
        return UCS_OK;
    }
    memcpy(&request, header, sizeof request);
    if (request.job_key != shmemi_job.key || request.origin >= (uint32_t)shmemi_job.n_pes) {
        shmemi_error("dropped a request from the network that comes from another job");
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

/* ---- Owner: handing over ----------------------------------------------------------------------------------------- */

static void finish_receive(struct incoming *incoming, ucs_status_t status)
{
    if (status != UCS_OK) {
        shmemi_error("the data of a request of PE %u did not arrive: %s", incoming->arrival.request.origin,
                     ucs_status_string(status));
        incoming->refusal = shmemi_ucx_errno(status);
    }
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
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE,
        .cb.recv_am = on_received,
        .user_data = incoming,
        .memory_type = UCS_MEMORY_TYPE_HOST,
    };
    ucs_status_ptr_t request = ucp_am_recv_data_nbx(shmemi_ucx.service, incoming->rendezvous,
                                                    incoming->arrival.payload, incoming->size, &param);
    if (!request || UCS_PTR_IS_ERR(request))
        finish_receive(incoming, UCS_PTR_STATUS(request));
}

static void serve_waiting(void)
{
    while (owner.waiting.first && take_slot(owner.waiting.first)) {
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
    serve_waiting();
    while (owner.ready.first) {
        struct incoming *incoming = remove_first(&owner.ready);
        if (incoming->refusal)
            settle(&incoming->arrival, incoming->refusal);
        else
            shmemi_service_accept(&incoming->arrival);
        delivered++;
        serve_waiting();
    }
    return delivered;
}

/* ---- Owner: answering -------------------------------------------------------------------------------------------- */

static void on_answered(void *request, ucs_status_t status, void *user_data)
{
    struct incoming *incoming = user_data;
    if (status != UCS_OK)
        shmemi_debug("an answer to PE %u was not sent: %s", incoming->arrival.request.origin,
                     ucs_status_string(status));
    ucp_request_free(request);
    release(incoming);
}

/* Sends the header {slot, status} and, when a GET or AMO has succeeded, the data. */
static void send_answer(struct incoming *incoming, int status)
{
    const struct shmemi_request *request = &incoming->arrival.request;
    bool has_data = !status && !shmemi_request_is_put(request->type) && !shmemi_is_slotless(request->slot);
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE,
        .cb.send = on_answered,
        .user_data = incoming,
        .memory_type = UCS_MEMORY_TYPE_HOST,
    };
    memset(&incoming->answer, 0, sizeof incoming->answer);
    incoming->answer.job_key = shmemi_job.key;
    incoming->answer.owner = (uint32_t)shmemi_job.pe;
    incoming->answer.status = status;
    incoming->answer.slot = request->slot;
    ucs_status_ptr_t sent = ucp_am_send_nbx(incoming->reply, SHMEMI_UCX_AM_ANSWER, &incoming->answer,
                                            sizeof incoming->answer, has_data ? incoming->arrival.payload : NULL,
                                            has_data ? incoming->size : 0, &param);
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

/* ---- Origin: sending --------------------------------------------------------------------------------------------- */

static void settle_own(uint16_t slot, bool is_failed)
{
    enum shmemi_slot_state state = SHMEMI_SLOT_FREE;
    if (!shmemi_is_slotless(slot)) {
        origin.slot[slot].waiting = false;
        if (!shmemi_request_is_put(origin.slot[slot].type))
            state = SHMEMI_SLOT_DONE;
    }
    atomic_fetch_sub_explicit(&origin.unanswered, 1, memory_order_relaxed);
    shmemi_request_settle(slot, is_failed ? SHMEMI_SLOT_FAILED : state);
}

static uint32_t *slotless(uint32_t pe, uint16_t slot)
{
    return &origin.slotless[pe * SHMEMI_SLOTLESS_SETS + shmemi_slotless_set(slot)];
}

/* Note that an answer has to come; undone by settle_own or expect_nothing. */
static void expect(uint32_t pe, const struct shmemi_request *request)
{
    atomic_fetch_add_explicit(&origin.unanswered, 1, memory_order_relaxed);
    if (shmemi_is_slotless(request->slot)) {
        ++*slotless(pe, request->slot);
        return;
    }
    bool has_answer = !shmemi_request_is_put(request->type);
    bool is_word = request->type == SHMEMI_REQUEST_AMO;
    origin.slot[request->slot] = (struct expectation){
        .waiting = true,
        .type = request->type,
        .pe = pe,
        .size = !has_answer ? 0 : is_word ? request->u.amo.size : shmemi_request_payload_size(request),
    };
}

/* Is this the answer of a request that waits? Then it does not any more. */
static bool is_expected(uint16_t slot, uint32_t pe)
{
    if (pe >= (uint32_t)shmemi_job.n_pes)
        return false;
    if (shmemi_is_slotless(slot)) {
        bool found = *slotless(pe, slot);
        *slotless(pe, slot) -= found;
        return found;
    }
    return origin.slot && slot < shmemi_staging.slots && origin.slot[slot].waiting && origin.slot[slot].pe == pe;
}

/* The request was not sent: its slot stays the caller's. */
static void expect_nothing(uint32_t pe, const struct shmemi_request *request)
{
    atomic_fetch_sub_explicit(&origin.unanswered, 1, memory_order_relaxed);
    if (shmemi_is_slotless(request->slot))
        --*slotless(pe, request->slot);
    else
        origin.slot[request->slot].waiting = false;
}

static void free_outgoing(struct outgoing *outgoing)
{
    outgoing->next = origin.unused;
    origin.unused = outgoing;
}

static struct outgoing *take_outgoing(void)
{
    struct outgoing *outgoing = origin.unused;
    if (outgoing)
        origin.unused = outgoing->next;
    else if (!(outgoing = malloc(sizeof *outgoing)))
        shmemi_fatal("out of memory for a request");
    return outgoing;
}

/* A request that could not be sent is settled by shmemi_ucx_request_peer_lost. */
static void on_sent(void *request, ucs_status_t status, void *user_data)
{
    ucp_request_free(request);
    free_outgoing(user_data);
    shmemi_ucx_batch_done(&origin.sends, status);
}

static ucs_status_ptr_t start_send(ucp_ep_h endpoint, struct outgoing *outgoing)
{
    const struct shmemi_request *request = &outgoing->request;
    size_t size = expected_payload(request);
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS |
                        UCP_OP_ATTR_FIELD_MEMORY_TYPE,
        .flags = UCP_AM_SEND_FLAG_REPLY,
        .cb.send = on_sent,
        .user_data = outgoing,
        .memory_type = UCS_MEMORY_TYPE_HOST,
    };
    return ucp_am_send_nbx(endpoint, SHMEMI_UCX_AM_REQUEST, request, sizeof *request,
                           size ? shmemi_staging_slot(request->slot) : NULL, size, &param);
}

/* With the initiator lock held. */
static int send_locked(int pe, ucp_ep_h endpoint, const struct shmemi_request *request)
{
    if (!origin.slot && !(origin.slot = calloc(shmemi_staging.slots, sizeof *origin.slot)))
        shmemi_fatal("out of memory for %u slots", shmemi_staging.slots);
    struct outgoing *outgoing = take_outgoing();
    outgoing->request = *request;
    expect((uint32_t)pe, request);
    ucs_status_ptr_t sent = start_send(endpoint, outgoing);
    if (!sent || UCS_PTR_IS_ERR(sent))
        free_outgoing(outgoing);
    int rc = shmemi_ucx_batch_add(&origin.sends, sent, "sending a request");
    if (rc)
        expect_nothing((uint32_t)pe, request);
    return rc;
}

/* A fence orders requests after one-sided operations too, which the network does not: they are completed first. */
static int keep_order(const struct shmemi_request *request)
{
    bool is_ordered = request->type != SHMEMI_REQUEST_GET;
    if (!is_ordered || shmemi_count_is_settled(&shmemi_ucx.fences, shmemi_count_issued(&shmemi_ucx.fences)))
        return 0;
    return shmemi_ucx_flush();
}

static int ucx_send(int pe, const struct shmemi_request *request)
{
    ucp_ep_h endpoint;
    int rc = keep_order(request);
    rc = rc ? rc : shmemi_ucx_endpoint(pe, &endpoint);
    if (rc)
        return rc;
    if (shmemi_ucx_peer_is_lost(pe)) {
        shmemi_error("lost the connection to PE %d; has it ended?", pe);
        return -ECONNRESET;
    }
    shmemi_ucx_batch_limit(&origin.sends);
    pthread_mutex_lock(&shmemi_ucx.initiator_lock);
    rc = send_locked(pe, endpoint, request);
    pthread_mutex_unlock(&shmemi_ucx.initiator_lock);
    shmemi_service_notice();
    return rc;
}

const struct shmemi_link shmemi_link_ucx = {.send = ucx_send};

/* ---- Origin: answers --------------------------------------------------------------------------------------------- */

static void on_data(void *request, ucs_status_t status, size_t length, void *user_data)
{
    (void)length;
    ucp_request_free(request);
    settle_own((uint16_t)(uintptr_t)user_data, status != UCS_OK);
}

static ucs_status_t receive_data(uint16_t slot, void *descriptor)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE,
        .cb.recv_am = on_data,
        .user_data = (void *)(uintptr_t)slot,
        .memory_type = UCS_MEMORY_TYPE_HOST,
    };
    origin.slot[slot].waiting = false; /* the answer has come; on_data settles */
    ucs_status_ptr_t request = ucp_am_recv_data_nbx(shmemi_ucx.initiator, descriptor, shmemi_staging_slot(slot),
                                                    origin.slot[slot].size, &param);
    if (!request || UCS_PTR_IS_ERR(request))
        settle_own(slot, UCS_PTR_IS_ERR(request));
    return UCS_INPROGRESS;
}

/* Inside progress of the initiator worker. */
static ucs_status_t on_answer(void *user_data, const void *header, size_t header_length, void *data, size_t length,
                              const ucp_am_recv_param_t *param)
{
    (void)user_data;
    struct answer answer = {0};
    if (header_length == sizeof answer)
        memcpy(&answer, header, sizeof answer);
    if (answer.job_key != shmemi_job.key || !is_expected(answer.slot, answer.owner)) {
        shmemi_error("dropped an answer from the network that nobody waits for");
        return UCS_OK;
    }
    size_t size = shmemi_is_slotless(answer.slot) || answer.status ? 0 : origin.slot[answer.slot].size;
    if (length != size) {
        shmemi_error("PE %u answered a request for %zu bytes with %zu", answer.owner, size, length);
        settle_own(answer.slot, true);
        return UCS_OK;
    }
    if (length && param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV)
        return receive_data(answer.slot, data);
    if (length)
        memcpy(shmemi_staging_slot(answer.slot), data, length);
    settle_own(answer.slot, answer.status != 0);
    return UCS_OK;
}

void shmemi_ucx_request_peer_lost(int pe)
{
    for (unsigned slot = 0; origin.slot && slot < shmemi_staging.slots; slot++)
        if (origin.slot[slot].waiting && origin.slot[slot].pe == (uint32_t)pe)
            settle_own((uint16_t)slot, true);
    for (uint16_t set = 0; set < SHMEMI_SLOTLESS_SETS; set++)
        for (uint32_t *count = slotless((uint32_t)pe, SHMEMI_SLOT_NONE + set); *count; --*count)
            settle_own(SHMEMI_SLOT_NONE + set, true);
}

unsigned shmemi_ucx_request_pending(void)
{
    return atomic_load_explicit(&origin.unanswered, memory_order_relaxed);
}

/* ---- Open and close ---------------------------------------------------------------------------------------------- */

int shmemi_ucx_request_open(void)
{
    owner.ready.end = &owner.ready.first;
    owner.waiting.end = &owner.waiting.first;
    origin.slotless = calloc((size_t)shmemi_job.n_pes * SHMEMI_SLOTLESS_SETS, sizeof *origin.slotless);
    if (!origin.slotless) {
        shmemi_error("out of memory for the requests to %d PEs", shmemi_job.n_pes);
        return -ENOMEM;
    }
    int rc = shmemi_ucx_set_handler(shmemi_ucx.service, SHMEMI_UCX_AM_REQUEST, on_request);
    return rc ? rc : shmemi_ucx_set_handler(shmemi_ucx.initiator, SHMEMI_UCX_AM_ANSWER, on_answer);
}

void shmemi_ucx_request_close(void)
{
    while (owner.unused) {
        struct incoming *incoming = owner.unused;
        owner.unused = incoming->next;
        free(incoming);
    }
    while (origin.unused) {
        struct outgoing *outgoing = origin.unused;
        origin.unused = outgoing->next;
        free(outgoing);
    }
    free(owner.free_slots);
    owner.free_slots = NULL;
    owner.has_slots = false;
    free(origin.slot);
    free(origin.slotless);
    origin.slot = NULL;
    origin.slotless = NULL;
    atomic_store(&origin.unanswered, 0);
}
