/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Link "ucx", the origin's end: requests (request.h) as active messages to the owner's service worker, answers as
 * active messages back to the origin's initiator worker.
 *
 *      origin                                             owner (transport/ucx/arrival.c)
 *      REQUEST {struct shmemi_request} + payload of PUT -->  receive slot or UCX's buffer -> shmemi_arrival_accept
 *      slot's memory, shmemi_request_settle             <--  ANSWER {slot, status} + data of GET or AMO
 *
 * Both ends of a rendezvous are staging slots, which are registered with UCX once, so there is no copy besides the
 * network's own. Requests may overtake each other.
 *
 * Credits. An origin may have as many requests with a payload under way as it has slots, and UNANSWERED_MAX without;
 * this bounds the memory that owners need for it. Long payloads (SHMEMI_UCX_EAGER_PAYLOAD over tcp, elsewhere
 * UCX_RNDV_THRESH) stay with the origin until they get a receive slot; these are given in the order of arrival, so no
 * origin waits for ever.
 */
#include "transport/request.h"

#include "base/holdings.h"
#include "base/log.h"
#include "bootstrap/job.h"
#include "transport/node.h"
#include "transport/staged/owner.h"
#include "transport/service.h"
#include "transport/ucx/ucx_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Requests without a slot that a PE may have under way. */
enum { UNANSWERED_MAX = 1024 };

/* The answer that this PE expects for one of its slots. */
struct expectation {
    bool waiting;
    uint8_t type;
    uint32_t pe;
    size_t size;
    void *descriptor;         /* UCX's handle of an answer whose data has not been received yet */
    struct expectation *next; /* in the list of such answers */
};

/* How payloads go to a PE and come from it. UCX has chosen its transports when the first answer comes. By RDMA, or where
 * the kernel copies from one process to another, an announced payload takes one copy, a message at least two. */
enum { UNKNOWN, ANNOUNCED, AT_ONCE };

/* A request on its way. */
struct outgoing_request {
    struct shmemi_unused unused;
    struct shmemi_request request;
};

/* Protected by the initiator lock, except the atomic `unanswered`, and `payloads`, which other threads may read. */
static struct {
    struct expectation slot[SHMEMI_STAGING_SLOTS_MAX];
    uint32_t *slotless; /* unanswered requests without a slot, by PE and set */
    uint8_t *payloads;  /* how they go, by PE */
    struct shmemi_unused *unused;
    struct shmemi_ucx_batch sends;
    struct expectation *first, **end; /* answers to be received, in the order of arrival */
    struct shmemi_ucx_receiving receiving;
    atomic_uint unanswered; /* relaxed: nothing is read behind it */
} origin;

/* ---- Sending ----------------------------------------------------------------------------------------------------- */

/* state: DONE or a failure. What is done of a put is free. */
static void settle_own(uint16_t slot, enum shmemi_slot_state state)
{
    if (!shmemi_is_slotless(slot)) {
        origin.slot[slot].waiting = false;
        if (state == SHMEMI_SLOT_DONE && shmemi_request_is_put(origin.slot[slot].type))
            state = SHMEMI_SLOT_FREE;
    }
    atomic_fetch_sub_explicit(&origin.unanswered, 1, memory_order_relaxed);
    shmemi_request_settle(slot, state);
}

static uint32_t *slotless(uint32_t pe, uint16_t slot)
{
    return &origin.slotless[pe * SHMEMI_SLOTLESS_SETS + shmemi_slotless_set(slot)];
}

/* Note that an answer is expected; undone by settle_own or expect_nothing. */
static void expect(uint32_t pe, const struct shmemi_request *request)
{
    atomic_fetch_add_explicit(&origin.unanswered, 1, memory_order_relaxed);
    if (shmemi_is_slotless(request->slot)) {
        ++*slotless(pe, request->slot);
        return;
    }
    origin.slot[request->slot] = (struct expectation){
        .waiting = true,
        .type = request->type,
        .pe = pe,
        .size = shmemi_request_is_put(request->type) ? 0 : shmemi_request_payload_size(request),
    };
}

/* Is this answer expected? For a request without a slot, this also decrements the number of answers expected. */
static bool is_expected(uint16_t slot, uint32_t pe)
{
    if (pe >= (uint32_t)shmemi_job.n_pes)
        return false;
    if (shmemi_is_slotless(slot)) {
        bool found = *slotless(pe, slot);
        *slotless(pe, slot) -= found;
        return found;
    }
    return slot < shmemi_staging.slots && origin.slot[slot].waiting && origin.slot[slot].pe == pe;
}

/* Undo expect: the request was not sent, and its slot remains the caller's. */
static void expect_nothing(uint32_t pe, const struct shmemi_request *request)
{
    atomic_fetch_sub_explicit(&origin.unanswered, 1, memory_order_relaxed);
    if (shmemi_is_slotless(request->slot))
        --*slotless(pe, request->slot);
    else
        origin.slot[request->slot].waiting = false;
}

/* A request that could not be sent is settled by shmemi_ucx_request_peer_lost. */
static void on_sent(void *request, ucs_status_t status, void *user_data)
{
    ucp_request_free(request);
    shmemi_unused_give(&origin.unused, user_data);
    shmemi_ucx_batch_done(&origin.sends, status);
}

static ucs_status_ptr_t start_send(int pe, ucp_ep_h endpoint, struct outgoing_request *outgoing)
{
    struct shmemi_request *request = &outgoing->request;
    size_t size = shmemi_ucx_request_payload(request);
    bool is_eager = origin.payloads[pe] == AT_ONCE;
    ucp_request_param_t param = shmemi_ucx_message_param(outgoing, on_sent, UCP_AM_SEND_FLAG_REPLY);
    if (is_eager && size && size <= SHMEMI_UCX_EAGER_PAYLOAD)
        param.flags |= UCP_AM_SEND_FLAG_EAGER;
    if (request->type == SHMEMI_REQUEST_GET)
        request->u.get.is_eager = is_eager;
    if (size)
        shmemi_ucx_name_staging(&param);
    return ucp_am_send_nbx(endpoint, SHMEMI_UCX_AM_REQUEST, request, sizeof *request,
                           size ? shmemi_staging_slot(request->slot) : NULL, size, &param);
}

/* With the initiator lock held. */
static int send_locked(int pe, ucp_ep_h endpoint, const struct shmemi_request *request)
{
    struct outgoing_request *outgoing = shmemi_unused_take(&origin.unused, sizeof *outgoing, "a request");
    outgoing->request = *request;
    expect((uint32_t)pe, request);
    ucs_status_ptr_t sent = start_send(pe, endpoint, outgoing);
    if (!sent || UCS_PTR_IS_ERR(sent))
        shmemi_unused_give(&origin.unused, outgoing);
    int rc = shmemi_ucx_batch_add(&origin.sends, sent, "sending a request");
    if (rc)
        expect_nothing((uint32_t)pe, request);
    return rc;
}

/* After a fence, a request must not overtake earlier one-sided operations. The network does not ensure that, so they
 * are completed first. */
static int keep_order(const struct shmemi_request *request)
{
    bool is_ordered = request->type != SHMEMI_REQUEST_GET;
    if (!is_ordered || shmemi_count_is_settled(&shmemi_ucx.fences, shmemi_count_issued(&shmemi_ucx.fences)))
        return 0;
    return shmemi_ucx_flush();
}

static void await_credit(void)
{
    unsigned spins = 0;
    while (shmemi_ucx_request_pending() > UNANSWERED_MAX)
        shmemi_ucx_turn(&spins);
}

static int ucx_send(const struct shmemi_view *view, const struct shmemi_request *request)
{
    ucp_ep_h endpoint;
    const int pe = view->pe;
    int rc = keep_order(request);
    if (rc)
        return rc;
    if (shmemi_ucx_peer_is_lost(pe))
        shmemi_ucx_end_lost(pe);
    shmemi_ucx_batch_limit(&origin.sends);
    if (shmemi_is_slotless(request->slot))
        await_credit();
    rc = shmemi_ucx_endpoint_locked(pe, &endpoint);
    if (rc)
        return rc;
    rc = send_locked(pe, endpoint, request);
    pthread_mutex_unlock(&shmemi_ucx.initiator_lock);
    shmemi_service_notice();
    return rc;
}

/* Where there is no RDMA, UCX's atomic operations are messages to the owner, too. */
static bool ucx_owner_adds(const struct shmemi_view *word)
{
    const struct shmemi_ucx_target *target;
    return word->driver->has_target && !shmemi_ucx_target_of(word, &target) && target->stores;
}

static size_t ucx_longest_put(int pe)
{
    return __atomic_load_n(&origin.payloads[pe], __ATOMIC_RELAXED) == AT_ONCE ? SHMEMI_UCX_EAGER_PAYLOAD : SIZE_MAX;
}

const struct shmemi_link shmemi_link_ucx = {
    .owner_adds = ucx_owner_adds, .send = ucx_send, .longest_put = ucx_longest_put};

/* ---- Answers ----------------------------------------------------------------------------------------------------- */

static void receive_next(void);

static uint16_t slot_of(const struct expectation *expectation)
{
    return (uint16_t)(expectation - origin.slot);
}

static void finish_data(struct expectation *expectation, ucs_status_t status)
{
    if (status != UCS_OK)
        shmemi_error("the data of an answer of PE %u did not arrive: %s", expectation->pe, ucs_status_string(status));
    origin.receiving.count--;
    origin.receiving.bytes -= expectation->size;
    shmemi_ucx.initiator_has_piece = true;
    settle_own(slot_of(expectation), status == UCS_OK ? SHMEMI_SLOT_DONE : SHMEMI_SLOT_FAILED_HERE);
}

static void on_data(void *request, ucs_status_t status, size_t length, void *user_data)
{
    (void)length;
    ucp_request_free(request);
    finish_data(user_data, status);
    receive_next();
}

static void start_data(struct expectation *expectation)
{
    ucp_request_param_t param = shmemi_ucx_param(expectation);
    param.cb.recv_am = on_data;
    origin.receiving.count++;
    origin.receiving.bytes += expectation->size;
    shmemi_ucx_name_staging(&param);
    ucs_status_ptr_t request =
        ucp_am_recv_data_nbx(shmemi_ucx.initiator, expectation->descriptor, shmemi_staging_slot(slot_of(expectation)),
                             expectation->size, &param);
    if (!request || UCS_PTR_IS_ERR(request))
        finish_data(expectation, UCS_PTR_STATUS(request));
}

static void receive_next(void)
{
    struct expectation *expectation;
    while ((expectation = origin.first) && shmemi_ucx_may_receive(&origin.receiving, expectation->size)) {
        origin.first = expectation->next;
        if (!origin.first)
            origin.end = &origin.first;
        start_data(expectation);
    }
}

static ucs_status_t receive_data(struct expectation *expectation, void *descriptor)
{
    expectation->waiting = false; /* the answer has come; finish_data settles the slot */
    expectation->descriptor = descriptor;
    expectation->next = NULL;
    *origin.end = expectation;
    origin.end = &expectation->next;
    receive_next();
    return UCS_INPROGRESS;
}

/* Drop the answers of a lost PE that are still to be received. */
static void refuse_data_of(uint32_t pe)
{
    struct expectation **link = &origin.first, *expectation;
    while ((expectation = *link)) {
        if (expectation->pe != pe) {
            link = &expectation->next;
            continue;
        }
        *link = expectation->next;
        ucp_am_data_release(shmemi_ucx.initiator, expectation->descriptor);
        settle_own(slot_of(expectation), SHMEMI_SLOT_FAILED_HERE);
    }
    origin.end = link;
}

static void choose_payloads(uint32_t pe)
{
    ucp_ep_h endpoint = origin.payloads[pe] == UNKNOWN ? shmemi_ucx_endpoint_made((int)pe) : NULL;
    if (!endpoint)
        return;
    enum shmemi_ucx_rdma rdma = shmemi_ucx_is_rdma(endpoint);
    bool is_message = rdma == SHMEMI_UCX_NO_RDMA || rdma == SHMEMI_UCX_MAPPED;
    const uint8_t way = is_message && shmemi_ucx.chooses_rendezvous ? AT_ONCE : ANNOUNCED;
    __atomic_store_n(&origin.payloads[pe], way, __ATOMIC_RELAXED);
}

/* Inside progress of the initiator worker. */
static ucs_status_t on_answer(void *user_data, const void *header, size_t header_length, void *data, size_t length,
                              const ucp_am_recv_param_t *param)
{
    (void)user_data;
    struct shmemi_ucx_answer answer;
    if (!shmemi_ucx_read_header(&answer, sizeof answer, header, header_length))
        return UCS_OK;
    if (!is_expected(answer.slot, answer.owner)) {
        shmemi_error("dropped an answer from the network that nobody waits for");
        return UCS_OK;
    }
    choose_payloads(answer.owner);
    size_t size = shmemi_is_slotless(answer.slot) || answer.status ? 0 : origin.slot[answer.slot].size;
    if (length != size) {
        shmemi_error("PE %u answered a request for %zu bytes with %zu", answer.owner, size, length);
        settle_own(answer.slot, SHMEMI_SLOT_FAILED_HERE);
        return UCS_OK;
    }
    if (length && param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV)
        return receive_data(&origin.slot[answer.slot], data);
    if (length)
        memcpy(shmemi_staging_slot(answer.slot), data, length);
    shmemi_ucx.initiator_has_piece |= length > 0;
    settle_own(answer.slot, answer.status ? SHMEMI_SLOT_FAILED : SHMEMI_SLOT_DONE);
    return UCS_OK;
}

void shmemi_ucx_request_peer_lost(int pe)
{
    refuse_data_of((uint32_t)pe);
    for (unsigned slot = 0; slot < shmemi_staging.slots; slot++)
        if (origin.slot[slot].waiting && origin.slot[slot].pe == (uint32_t)pe)
            settle_own((uint16_t)slot, SHMEMI_SLOT_FAILED_HERE);
    for (uint16_t set = 0; set < SHMEMI_SLOTLESS_SETS; set++)
        for (uint32_t *count = slotless((uint32_t)pe, SHMEMI_SLOT_NONE + set); *count; --*count)
            settle_own(SHMEMI_SLOT_NONE + set, SHMEMI_SLOT_FAILED_HERE);
}

bool shmemi_ucx_request_awaits(int pe)
{
    bool awaits = false;
    for (const struct expectation *expectation = origin.first; expectation; expectation = expectation->next)
        awaits = awaits || expectation->pe == (uint32_t)pe;
    for (unsigned slot = 0; slot < shmemi_staging.slots; slot++)
        awaits = awaits || (origin.slot[slot].waiting && origin.slot[slot].pe == (uint32_t)pe);
    for (uint16_t set = 0; set < SHMEMI_SLOTLESS_SETS; set++)
        awaits = awaits || *slotless((uint32_t)pe, SHMEMI_SLOT_NONE + set);
    return awaits;
}

unsigned shmemi_ucx_request_pending(void)
{
    return atomic_load_explicit(&origin.unanswered, memory_order_relaxed);
}

/* ---- Open and close ---------------------------------------------------------------------------------------------- */

static ptrdiff_t table_bytes(void)
{
    const size_t of_pe = SHMEMI_SLOTLESS_SETS * sizeof *origin.slotless + sizeof *origin.payloads;
    return (ptrdiff_t)shmemi_job.n_pes * (ptrdiff_t)of_pe;
}

int shmemi_ucx_request_open(void)
{
    origin.first = NULL;
    origin.end = &origin.first;
    origin.receiving = (struct shmemi_ucx_receiving){0};
    origin.slotless = calloc((size_t)shmemi_job.n_pes * SHMEMI_SLOTLESS_SETS, sizeof *origin.slotless);
    origin.payloads = calloc((size_t)shmemi_job.n_pes, sizeof *origin.payloads);
    if (!origin.slotless || !origin.payloads) {
        shmemi_error("out of memory for the requests to %d PEs", shmemi_job.n_pes);
        return -ENOMEM;
    }
    shmemi_hold(SHMEMI_PART_COUNTERS, table_bytes());
    int rc = shmemi_ucx_arrival_open();
    return rc ? rc : shmemi_ucx_set_handler(shmemi_ucx.initiator, SHMEMI_UCX_AM_ANSWER, on_answer);
}

void shmemi_ucx_request_close(void)
{
    shmemi_ucx_arrival_close();
    shmemi_unused_free(&origin.unused);
    shmemi_ucx_registered_close();
    if (origin.slotless && origin.payloads)
        shmemi_hold(SHMEMI_PART_COUNTERS, -table_bytes());
    memset(origin.slot, 0, sizeof origin.slot);
    free(origin.slotless);
    free(origin.payloads);
    origin.slotless = NULL;
    origin.payloads = NULL;
    atomic_store(&origin.unanswered, 0);
}
