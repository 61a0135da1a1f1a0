/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Small puts over networks without RDMA. UCX emulates puts there: the owner's UCX copies the bytes with memcpy, which may
 * store a word twice (base/copy_bytes.h). So small puts are messages of our own, and the owner copies their bytes itself.
 * The signal of a small put with signal is in the same message.
 *
 *      origin (initiator worker)                     owner (service worker)
 *      STORE {region, offset, bytes, record}    -->  copies the bytes, at once, then updates the signal
 *      counts the record's batch as completed   <--  STORED {record, status}
 *
 * The messages take the endpoint's lane for active messages, as UCX's emulated puts and atomic operations do, and like
 * these they are carried out as they come. So they need no fence against each other. That does not hold where UCX may
 * also store through mapped memory of the peer, at once (UCX_TLS with shared memory): there a fence waits for the
 * answers (shmemi_ucx.stores_lag).
 */
#include "base/log.h"
#include "base/sanitizer.h"
#include "bootstrap/job.h"
#include "transport/ucx/ucx_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What follows the bytes of a put with signal. */
enum update { NO_SIGNAL, SET_SIGNAL, ADD_SIGNAL };

/* The header of a message, which has no data beside it. */
struct store {
    struct shmemi_key job_key;
    uint64_t offset;
    uint64_t signal_offset, signal_value;
    uint32_t signal_region;
    uint32_t update; /* enum update */
    uint32_t origin, region;
    uint32_t record; /* number of the origin's record */
    uint32_t nbytes;
    char bytes[SHMEMI_UCX_STORE_MAX];
};

struct stored {
    struct shmemi_key job_key;
    uint32_t owner;
    uint32_t record;
    int32_t status; /* 0 or -errno */
};

/* A put that has not been answered, or whose message UCX still reads. */
struct record {
    struct record *next; /* in the list of unused ones */
    struct shmemi_ucx_batch *batch;
    uint64_t serial; /* number of the put */
    int pe;
    bool is_unsent, is_unanswered;
    struct store store;
};

/* An answer on its way. */
struct outgoing_store {
    struct shmemi_unused unused;
    struct stored stored;
};

enum { BLOCK = 64, BLOCKS_MAX = 64 }; /* records are made in blocks; their number is the limit of those under way */

/* Under the initiator lock. */
static struct {
    struct record *block[BLOCKS_MAX], *unused;
    uint32_t n_blocks;
    _Atomic uint64_t issued; /* puts so far; others may read it; relaxed: a number alone */
} origin;

static struct shmemi_unused *unused_answers; /* under the service lock */

/* ---- The origin's end -------------------------------------------------------------------------------------------- */

static struct record *record_of(uint32_t number)
{
    return number < origin.n_blocks * BLOCK ? &origin.block[number / BLOCK][number % BLOCK] : NULL;
}

static void make_block(void)
{
    struct record *block = calloc(BLOCK, sizeof *block);
    if (!block)
        shmemi_fatal("out of memory for puts under way");
    for (uint32_t i = 0; i < BLOCK; i++) {
        block[i].store.record = origin.n_blocks * BLOCK + i;
        block[i].next = origin.unused;
        origin.unused = &block[i];
    }
    origin.block[origin.n_blocks++] = block;
}

/* Locks the initiator, and takes a record; while too many are under way, it waits for answers. */
static struct record *lock_and_take(void)
{
    unsigned spins = 0;
    pthread_mutex_lock(&shmemi_ucx.initiator_lock);
    while (!origin.unused && origin.n_blocks == BLOCKS_MAX) {
        pthread_mutex_unlock(&shmemi_ucx.initiator_lock);
        shmemi_ucx_turn(&spins);
        pthread_mutex_lock(&shmemi_ucx.initiator_lock);
    }
    if (!origin.unused)
        make_block();
    struct record *record = origin.unused;
    origin.unused = record->next;
    return record;
}

static void release_if_done(struct record *record)
{
    if (record->is_unsent || record->is_unanswered)
        return;
    record->next = origin.unused;
    origin.unused = record;
}

static void finish(struct record *record, ucs_status_t status)
{
    if (!record->is_unanswered)
        return;
    record->is_unanswered = false;
    shmemi_ucx_batch_done(record->batch, status);
}

static void on_sent(void *request, ucs_status_t status, void *user_data)
{
    struct record *record = user_data;
    ucp_request_free(request);
    record->is_unsent = false;
    if (status != UCS_OK)
        finish(record, status);
    release_if_done(record);
}

/* With the initiator lock held. */
static ucs_status_t send_store(const struct shmemi_ucx_target *target, struct record *record)
{
    const ucp_request_param_t param =
        shmemi_ucx_message_param(record, on_sent, UCP_AM_SEND_FLAG_REPLY | UCP_AM_SEND_FLAG_EAGER);
    record->is_unsent = record->is_unanswered = true;
    record->serial = atomic_fetch_add_explicit(&origin.issued, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&record->batch->issued, 1, memory_order_relaxed);
    ucs_status_ptr_t sent = ucp_am_send_nbx(target->endpoint, SHMEMI_UCX_AM_STORE, &record->store,
                                            offsetof(struct store, bytes) + record->store.nbytes, NULL, 0, &param);
    if (sent && !UCS_PTR_IS_ERR(sent))
        return UCS_OK;
    record->is_unsent = false;
    if (!sent)
        return UCS_OK;
    finish(record, UCS_PTR_STATUS(sent));
    release_if_done(record);
    return UCS_PTR_STATUS(sent);
}

static void add_signal(struct store *store, const struct shmemi_word_update *signal)
{
    store->update = NO_SIGNAL;
    if (!signal)
        return;
    store->update = signal->amo.op == SHMEMI_AMO_SET ? SET_SIGNAL : ADD_SIGNAL;
    store->signal_region = signal->view->region;
    store->signal_offset = signal->offset;
    store->signal_value = signal->amo.operand;
}

int shmemi_ucx_store(const struct shmemi_ucx_target *target, size_t offset, const void *source, size_t nbytes,
                     const struct shmemi_word_update *signal, struct shmemi_ucx_batch *batch)
{
    if (shmemi_ucx_peer_is_lost(target->pe))
        shmemi_ucx_end_lost(target->pe);
    shmemi_ucx_batch_limit(batch);
    struct record *record = lock_and_take();
    struct store *store = &record->store;
    record->batch = batch;
    record->pe = target->pe;
    store->job_key = shmemi_job.key;
    store->offset = offset;
    store->origin = (uint32_t)shmemi_job.pe;
    store->region = target->region;
    store->nbytes = (uint32_t)nbytes;
    add_signal(store, signal);
    memcpy(store->bytes, source, nbytes);
    int rc = shmemi_ucx_ensure_open(target);
    ucs_status_t status = rc ? UCS_OK : send_store(target, record);
    if (rc)
        release_if_done(record);
    pthread_mutex_unlock(&shmemi_ucx.initiator_lock);
    return shmemi_likely(status == UCS_OK) ? rc : shmemi_ucx_report(status, "a put");
}

uint64_t shmemi_ucx_stores_issued(void)
{
    return atomic_load_explicit(&origin.issued, memory_order_relaxed);
}

bool shmemi_ucx_stores_are_answered(const struct shmemi_ucx_batch *batch, uint64_t issued)
{
    bool is_any_left = false;
    pthread_mutex_lock(&shmemi_ucx.initiator_lock);
    for (uint32_t number = 0; number < origin.n_blocks * BLOCK && !is_any_left; number++) {
        const struct record *record = record_of(number);
        is_any_left = record->is_unanswered && record->batch == batch && record->serial < issued;
    }
    pthread_mutex_unlock(&shmemi_ucx.initiator_lock);
    return !is_any_left;
}

/* Inside progress of the initiator worker. */
static ucs_status_t on_stored(void *user_data, const void *header, size_t header_length, void *data, size_t length,
                              const ucp_am_recv_param_t *param)
{
    (void)user_data, (void)data, (void)length, (void)param;
    struct stored stored;
    if (!shmemi_ucx_read_header(&stored, sizeof stored, header, header_length))
        return UCS_OK;
    struct record *record = record_of(stored.record);
    if (!record || !record->is_unanswered || record->pe != (int)stored.owner) {
        shmemi_error("dropped an answer to a put from the network that nobody waits for");
        return UCS_OK;
    }
    finish(record, stored.status ? UCS_ERR_INVALID_ADDR : UCS_OK);
    release_if_done(record);
    return UCS_OK;
}

bool shmemi_ucx_stores_await(int pe)
{
    bool awaits = false;
    for (uint32_t number = 0; number < origin.n_blocks * BLOCK && !awaits; number++) {
        const struct record *record = record_of(number);
        awaits = record->pe == pe && (record->is_unanswered || record->is_unsent);
    }
    return awaits;
}

void shmemi_ucx_stores_peer_lost(int pe)
{
    for (uint32_t number = 0; number < origin.n_blocks * BLOCK; number++) {
        struct record *record = record_of(number);
        if (!record->is_unanswered || record->pe != pe)
            continue;
        finish(record, UCS_ERR_CONNECTION_RESET);
        release_if_done(record);
    }
}

/* ---- The owner's end --------------------------------------------------------------------------------------------- */

static void on_answered(void *request, ucs_status_t status, void *user_data)
{
    (void)status;
    ucp_request_free(request);
    shmemi_unused_give(&unused_answers, user_data);
}

static void answer(const struct store *store, int status, ucp_ep_h reply)
{
    struct outgoing_store *outgoing = shmemi_unused_take(&unused_answers, sizeof *outgoing, "an answer to a put");
    outgoing->stored = (struct stored){
        .job_key = shmemi_job.key, .owner = (uint32_t)shmemi_job.pe, .record = store->record, .status = status};
    const ucp_request_param_t param = shmemi_ucx_message_param(outgoing, on_answered, UCP_AM_SEND_FLAG_EAGER);
    ucs_status_ptr_t sent =
        ucp_am_send_nbx(reply, SHMEMI_UCX_AM_STORED, &outgoing->stored, sizeof outgoing->stored, NULL, 0, &param);
    if (UCS_PTR_IS_ERR(sent))
        shmemi_debug("an answer to PE %u was not sent: %s", store->origin, ucs_status_string(UCS_PTR_STATUS(sent)));
    if (!sent || UCS_PTR_IS_ERR(sent))
        shmemi_unused_give(&unused_answers, outgoing);
}

/* The memory that a message names; NULL, logged, when this PE does not have it. */
static char *find(const struct store *store, uint32_t region, uint64_t offset, size_t nbytes)
{
    char *memory = shmemi_ucx_exposed(region, offset, nbytes);
    if (!memory)
        shmemi_error("PE %u wrote %zu bytes at offset %llu of region %u, which this PE does not have", store->origin,
                     nbytes, (unsigned long long)offset, region);
    return memory;
}

/* Signals are updated as the node's PEs do it, by the CPU. */
static int update_signal(const struct store *store, uint64_t address)
{
    const struct shmemi_place place = shmemi_place_host((void *)(uintptr_t)address);
    const struct shmemi_amo amo = {
        .op = store->update == SET_SIGNAL ? SHMEMI_AMO_SET : SHMEMI_AMO_ADD,
        .size = sizeof store->signal_value,
        .operand = store->signal_value,
    };
    uint64_t old;
    return shmemi_memory_host.amo(&place, &amo, &old);
}

/* What came before, through UCX, must be visible before these bytes are. */
static int carry_out(const struct store *store, const char *bytes)
{
    char *dest = find(store, store->region, store->offset, store->nbytes), *signal = NULL;
    if (dest && store->update)
        signal = find(store, store->signal_region, store->signal_offset, sizeof store->signal_value);
    if (!dest || (store->update && (!signal || (uintptr_t)signal % sizeof store->signal_value)))
        return -EINVAL;
    atomic_thread_fence(memory_order_release);
    shmemi_access_for_peer_begin();
    shmemi_copy_bytes(dest, bytes, store->nbytes);
    int rc = signal ? update_signal(store, (uintptr_t)signal) : 0;
    shmemi_access_for_peer_end();
    return rc;
}

/* Inside progress of the service worker. */
static ucs_status_t on_store(void *user_data, const void *header, size_t header_length, void *data, size_t length,
                             const ucp_am_recv_param_t *param)
{
    (void)user_data, (void)data;
    struct store store;
    const size_t fixed = offsetof(struct store, bytes);
    if (!shmemi_ucx_read_header(&store, fixed, header, header_length < fixed ? header_length : fixed))
        return UCS_OK;
    if (store.origin >= (uint32_t)shmemi_job.n_pes || length || store.nbytes > SHMEMI_UCX_STORE_MAX ||
        store.update > ADD_SIGNAL || header_length != fixed + store.nbytes ||
        !(param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP)) {
        shmemi_error("dropped a damaged put from the network");
        return UCS_OK;
    }
    answer(&store, carry_out(&store, (const char *)header + fixed), param->reply_ep);
    return UCS_OK;
}

/* ---- Open and close ---------------------------------------------------------------------------------------------- */

int shmemi_ucx_store_open(void)
{
    atomic_store(&shmemi_ucx.stores_lag, false);
    int rc = shmemi_ucx_set_handler(shmemi_ucx.service, SHMEMI_UCX_AM_STORE, on_store);
    return rc ? rc : shmemi_ucx_set_handler(shmemi_ucx.initiator, SHMEMI_UCX_AM_STORED, on_stored);
}

void shmemi_ucx_store_close(void)
{
    shmemi_unused_free(&unused_answers);
    while (origin.n_blocks)
        free(origin.block[--origin.n_blocks]);
    origin.unused = NULL;
}
