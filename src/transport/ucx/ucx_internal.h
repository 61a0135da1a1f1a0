/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the ucx files share.
 *
 *   ucx.c         context, workers, counting operations under way
 *   endpoint.c    endpoints: connections to other PEs, and lost ones
 *   messages.c    what UCX would write itself
 *   limit.c       the limit on open endpoints
 *   ucx_progress.c  progress of the workers
 *   registered.c  this PE's memory that is registered with UCX: regions, staging slots, what the program has prepared
 *   key.c         remote keys: hand out those of this PE's regions, fetch a peer's at the first access
 *   ucx_rma.c     the driver "ucx": put and get, which gdr shares, fence, quiet
 *   store.c       its small puts where UCX would emulate them
 *   ucx_amo.c     its atomic operations
 *   bounce.c      its transfers from and to GPU memory, through staging slots
 *   gdr.c         the driver "gdr": GPU memory by one-sided operations
 *   transports.c  the transports of an endpoint; transports_none.c for a UCX that cannot name them
 *   request.c     the link, the origin's end: requests as active messages
 *   arrival.c     the link, the owner's end
 *   pulse.c       keepalives between hosts
 *
 * A worker is used by one thread at a time, under its lock. Callbacks run inside progress, hence with that lock held:
 * data that they share with the issuing functions needs no other protection. Lock order: service before initiator.
 */
#ifndef SHMEMI_UCX_INTERNAL_H
#define SHMEMI_UCX_INTERNAL_H

#include "base/copy_bytes.h"
#include "base/likely.h"
#include "base/log.h"
#include "base/tuning.h"
#include "bootstrap/job.h"
#include "transport/driver.h"
#include "transport/request.h"
#include "transport/staged/owner.h"
#include "transport/ucx/ucx.h"
#include "transport/unused.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>

/* Active messages. Requests, key requests, pulses and stores go to a service worker, answers to an initiator worker. */
enum {
    SHMEMI_UCX_AM_KEY_REQUEST = 1,
    SHMEMI_UCX_AM_KEY_ANSWER,
    SHMEMI_UCX_AM_REQUEST,
    SHMEMI_UCX_AM_ANSWER,
    SHMEMI_UCX_AM_PULSE,
    SHMEMI_UCX_AM_PULSE_ANSWER,
    SHMEMI_UCX_AM_STORE,
    SHMEMI_UCX_AM_STORED,
};

/* Operations of a batch that may be under way before the issuer waits for older ones. */
enum { SHMEMI_UCX_IN_FLIGHT_MAX = 512 };

struct shmemi_ucx {
    atomic_bool is_open, is_closing;
    ucp_context_h context;
    ucp_worker_h service;
    ucp_worker_h initiator;
    pthread_mutex_t service_lock; /* recursive: settle is called with and without it */
    pthread_mutex_t initiator_lock;
    struct shmemi_count operations; /* those that only a flush completes */
    struct shmemi_count fences;     /* settled: a flush has followed */
    atomic_bool stores_lag;         /* UCX's operations may overtake those of store.c */
    bool service_has_piece;         /* a piece of a transfer has come in this turn; under the worker's lock */
    bool initiator_has_piece;
    bool chooses_rendezvous; /* the user has not set UCX_RNDV_THRESH */
};

extern struct shmemi_ucx shmemi_ucx;

/* A peer's copy of a region: view->data. Allocated by attach, filled in by the first operation. */
struct shmemi_ucx_target {
    atomic_bool ready;      /* the rest is valid: stored by a release, behind which an acquire reads the rest */
    atomic_bool by_request; /* gdr: not reached after all; relaxed, as is_native: an answer and nothing behind it */
    bool is_gdr;            /* the driver is gdr, not ucx */
    bool stores;            /* UCX would emulate puts: small ones are messages of our own (store.c) */
    uint32_t region;
    int pe;
    size_t size;
    atomic_bool is_native; /* gdr: known to be reached by RDMA */
    ucp_ep_h endpoint;
    ucp_rkey_h key;
    uint64_t address;
    struct shmemi_ucx_target *next; /* in the list of ready targets */
    struct shmemi_ucx_target **link;
};

/* ---- ucx.c ------------------------------------------------------------------------------------------------------- */

int shmemi_ucx_errno(ucs_status_t status);
/* The -errno of an error of UCX, logged; `what` names the operation that failed. Ends the job if a connection is lost. */
int shmemi_ucx_report(ucs_status_t status, const char *what);
/* Does UCX support memory of this type? */
bool shmemi_ucx_supports(ucs_memory_type_t type);
int shmemi_ucx_set_handler(ucp_worker_h worker, unsigned id, ucp_am_recv_callback_t handler);

/* Parameters of an operation on host memory; the caller adds the callback for its end. */
ucp_request_param_t shmemi_ucx_param(void *user_data);
/* Those of a message, whose callback is on_sent. */
ucp_request_param_t shmemi_ucx_message_param(void *user_data, ucp_send_nbx_callback_t on_sent, unsigned flags);
/* Those of an operation that is counted in a batch. */
void shmemi_ucx_batch_param(struct shmemi_ucx_batch *batch, ucp_request_param_t *param_p);
/* Add the request that a ucp_*_nbx function returned to the batch; initiator lock held. 0, or -errno, logged. */
int shmemi_ucx_batch_add(struct shmemi_ucx_batch *batch, ucs_status_ptr_t request, const char *what);
void shmemi_ucx_batch_done(struct shmemi_ucx_batch *batch, ucs_status_t status);
/* What is completed is read first: if it equals what is issued, everything was complete at that moment. */
static inline bool shmemi_ucx_batch_is_complete(const struct shmemi_ucx_batch *batch)
{
    const uint64_t completed = atomic_load_explicit(&batch->completed, memory_order_acquire);
    return completed == atomic_load_explicit(&batch->issued, memory_order_relaxed);
}
/* Wait, making progress, until this many operations are completed. 0 or the batch's first error. */
int shmemi_ucx_batch_wait(struct shmemi_ucx_batch *batch, uint64_t completed);
int shmemi_ucx_batch_wait_all(struct shmemi_ucx_batch *batch);
/* Wait for older operations when too many are under way. */
void shmemi_ucx_batch_limit(struct shmemi_ucx_batch *batch);
/* The body of a wait loop. The caller holds no lock. */
void shmemi_ucx_turn(unsigned *spins);

/* ---- endpoint.c -------------------------------------------------------------------------------------------------- */

/* The endpoint from the initiator worker to the service worker of a PE, made on demand. */
int shmemi_ucx_endpoint(int pe, ucp_ep_h *endpoint_p);
/* shmemi_ucx_endpoint with the initiator lock taken: the endpoint is open as long as the lock is held. Not locked after an
 * error. */
int shmemi_ucx_endpoint_locked(int pe, ucp_ep_h *endpoint_p);
/* The endpoint if there is one; and: let there be none any more. With the initiator lock held. */
ucp_ep_h shmemi_ucx_endpoint_made(int pe);
ucp_ep_h shmemi_ucx_endpoint_take(int pe);
bool shmemi_ucx_peer_is_lost(int pe);
/* The lowest PE to which the connection is lost; -1: none is. */
int shmemi_ucx_first_lost(void);
/* An operation needs a PE to which the connection is lost: leave it to the launcher for some seconds to end the job,
 * then end it and name the PE. end_if_lost does so after an operation has failed, if any connection is lost. */
_Noreturn void shmemi_ucx_end_lost(int pe) __attribute__((cold));
void shmemi_ucx_end_if_lost(ucs_status_t status) __attribute__((cold));

int shmemi_ucx_endpoints_open(void);
/* Publish the address of the service worker through the bootstrap. */
int shmemi_ucx_publish_address(void);
/* Start to close all endpoints; they are closed when the batch is complete. */
void shmemi_ucx_endpoints_close(struct shmemi_ucx_batch *batch);
void shmemi_ucx_endpoints_free(void);

/* ---- limit.c: SHMEM_CONNECTIONS ---------------------------------------------------------------------------------- */

extern bool shmemi_ucx_is_limited; /* endpoints may be closed between two operations */

void shmemi_ucx_limit_open(void);
void shmemi_ucx_limit_close(void);
/* Close endpoints until there is room for one more, as far as possible. The caller holds no lock of UCX. */
void shmemi_ucx_make_room(void);
/* An endpoint is about to be made (-ENOMEM: it cannot be noted), has been made, or used; with the initiator lock held. */
int shmemi_ucx_endpoint_expected(void);
void shmemi_ucx_endpoint_added(int pe);
void shmemi_ucx_endpoint_used(int pe);

/* Open a target's connection again if it has been closed. With the initiator lock held, which is released meanwhile. */
int shmemi_ucx_reopen(const struct shmemi_ucx_target *target);
static inline int shmemi_ucx_ensure_open(const struct shmemi_ucx_target *target)
{
    return shmemi_likely(!shmemi_ucx_is_limited) ? 0 : shmemi_ucx_reopen(target);
}

/* Lock the initiator, with the target's connection open. Not locked after an error. */
static inline int shmemi_ucx_lock(const struct shmemi_ucx_target *target)
{
    pthread_mutex_lock(&shmemi_ucx.initiator_lock);
    int rc = shmemi_ucx_ensure_open(target);
    if (shmemi_unlikely(rc))
        pthread_mutex_unlock(&shmemi_ucx.initiator_lock);
    return rc;
}

/* ---- pulse.c ----------------------------------------------------------------------------------------------------- */

int shmemi_ucx_pulse_open(void);
bool shmemi_ucx_pulse_goes_to(int pe);

/* ---- messages.c -------------------------------------------------------------------------------------------------- */

/* From open to close UCX's messages are lines of this library's log. Idempotent. */
void shmemi_ucx_messages_open(void);
void shmemi_ucx_messages_close(void);

/* ---- ucx_progress.c ---------------------------------------------------------------------------------------------- */

/* Progress of this PE's own operations (any thread), and of other PEs' requests (under the service lock, or when the
 * service thread has stopped). Return the number of events handled; 0 if another thread has the UCX worker's lock. */
unsigned shmemi_ucx_progress(void);
unsigned shmemi_ucx_service_progress(void);

/* ---- registered.c ------------------------------------------------------------------------------------------------ */

/* A region of this PE that other nodes may reach. */
struct shmemi_ucx_exposure {
    struct shmemi_ucx_exposure *next;
    uint32_t region;
    void *address;
    size_t size;
    ucp_mem_h memory;
    void *key; /* packed */
    size_t key_size;
};

/* Exposes host memory, which the driver "ucx" reaches. */
extern const struct shmemi_exposing shmemi_ucx_exposing;
/* Expose memory of a type; undone by hide or shmemi_ucx_close. Logs nothing; on failure *cause_p is UCX's message. */
int shmemi_ucx_expose_typed(uint32_t region, void *address, size_t size, ucs_memory_type_t type, const char **cause_p);
void shmemi_ucx_hide(uint32_t region);
/* With the service lock held: an exposed region, NULL: it is none; and where these bytes of the heap or static data are. */
const struct shmemi_ucx_exposure *shmemi_ucx_exposure_of(uint32_t region);
char *shmemi_ucx_exposed(uint32_t region, uint64_t offset, size_t nbytes);
/* Tell UCX that an operation's data is in a staging slot of this PE; the first call registers the slots. Any thread. */
void shmemi_ucx_name_staging(ucp_request_param_t *param);
void shmemi_ucx_prepare_staging(void); /* registers the slots, once */
void shmemi_ucx_registered_close(void);

/* ---- key.c ------------------------------------------------------------------------------------------------------- */

int shmemi_ucx_key_open(void);
/* Destroy keys; the workers still exist. */
void shmemi_ucx_key_close(void);
/* Answer those who have asked for the key of a region before it was exposed. With the service lock held. */
void shmemi_ucx_key_answer_kept(const struct shmemi_ucx_exposure *exposure);
/* Fetch the peer's key. Any thread; returns when the target is ready. -ENOTSUP, not logged: the peer does not expose
 * its copy of a mapped object. */
int shmemi_ucx_target_open(const struct shmemi_view *view);
void shmemi_ucx_target_close(struct shmemi_ucx_target *target);
/* Take the keys of all targets of a PE, which then have to be opened again before they are used; with the initiator lock
 * held. */
struct shmemi_ucx_keys *shmemi_ucx_keys_take(int pe);
struct shmemi_ucx_keys *shmemi_ucx_keys_with(struct shmemi_ucx_keys *others, ucp_rkey_h key); /* limit.c */
/* Is a key of this PE being fetched? With the initiator lock held. */
bool shmemi_ucx_key_awaits(int pe);

static inline int shmemi_ucx_target_of(const struct shmemi_view *view, const struct shmemi_ucx_target **target_p)
{
    struct shmemi_ucx_target *target = view->data;
    *target_p = target;
    if (shmemi_likely(atomic_load_explicit(&target->ready, memory_order_acquire)))
        return 0;
    return shmemi_ucx_target_open(view);
}

/* ---- ucx_rma.c --------------------------------------------------------------------------------------------------- */

/* Fill in the view of a PE of another node, with a target as its data; -ENOTSUP for PEs of this node. */
int shmemi_ucx_attach_view(struct shmemi_view *view, bool is_gdr);
void shmemi_ucx_detach_view(struct shmemi_view *view);

/* Transfers of the drivers "ucx" and "gdr". */
int shmemi_ucx_transfer(const struct shmemi_transfer *transfer);

/* Wait for the batch. Returns rc if that is an error, else the batch's first error. */
int shmemi_ucx_finish(int rc, struct shmemi_ucx_batch *batch);
/* Called after an operation has been started that may still be under way. */
void shmemi_ucx_note_pending(struct shmemi_context *context);

/* Free the buffers of small gets. */
void shmemi_ucx_landings_close(void);

/* Complete the one-sided operations of all contexts that were posted before the call. */
int shmemi_ucx_flush(void);

/* ---- store.c ----------------------------------------------------------------------------------------------------- */

enum { SHMEMI_UCX_STORE_MAX = SHMEMI_WHOLE_WORDS_MAX };

/* Put up to SHMEMI_UCX_STORE_MAX bytes of host memory; complete locally on return, and at the peer when the batch is. It
 * keeps its order with UCX's operations on the same peer as if it were one of them. signal, unless NULL: a word of the
 * peer's heap or static data that is set, or added to, after the bytes. */
int shmemi_ucx_store(const struct shmemi_ucx_target *target, size_t offset, const void *source, size_t nbytes,
                     const struct shmemi_word_update *signal, struct shmemi_ucx_batch *batch);
/* How many puts there have been, of all contexts; and whether those of a batch among the first so many are answered. They
 * are answered in any order, so the counters of a batch to which other threads add do not tell. */
uint64_t shmemi_ucx_stores_issued(void);
bool shmemi_ucx_stores_are_answered(const struct shmemi_ucx_batch *batch, uint64_t issued);
/* Does one wait for an answer of this PE? And: fail those to it. With the initiator lock held. */
bool shmemi_ucx_stores_await(int pe);
void shmemi_ucx_stores_peer_lost(int pe);
int shmemi_ucx_store_open(void);
void shmemi_ucx_store_close(void); /* after the workers */

/* ---- ucx_amo.c --------------------------------------------------------------------------------------------------- */

int shmemi_ucx_amo(struct shmemi_context *context, const struct shmemi_word_update *update, void *fetch_p,
                   bool is_blocking);
/* Free the records of atomic operations. */
void shmemi_ucx_words_close(void);

/* ---- transports.c ------------------------------------------------------------------------------------------------ */

enum shmemi_ucx_rdma {
    SHMEMI_UCX_NO_RDMA,
    SHMEMI_UCX_MAPPED,   /* no RDMA, but the peer's memory may be mapped here */
    SHMEMI_UCX_ONE_COPY, /* the same, and the kernel copies to and from the peer's memory */
    SHMEMI_UCX_RDMA,
    SHMEMI_UCX_RDMA_UNKNOWN,
};

/* What the name of a transport says (endpoint.c), together with what others have said before. */
enum shmemi_ucx_rdma shmemi_ucx_with_transport(enum shmemi_ucx_rdma before, const char *name);
/* Are operations on the peer's memory messages, which its CPU carries out? */
static inline bool shmemi_ucx_emulates(enum shmemi_ucx_rdma rdma)
{
    return rdma == SHMEMI_UCX_NO_RDMA || rdma == SHMEMI_UCX_MAPPED || rdma == SHMEMI_UCX_ONE_COPY;
}

/* Does the endpoint reach its peer's memory by RDMA? With the initiator lock held. */
enum shmemi_ucx_rdma shmemi_ucx_is_rdma(ucp_ep_h endpoint);

/* ---- bounce.c ---------------------------------------------------------------------------------------------------- */

/* A transfer with memory that UCX does not reach, blocking or not: it is complete on return, at the peer at quiet. The
 * target of its view is ready. */
int shmemi_ucx_bounce(const struct shmemi_transfer *transfer, const struct shmemi_ucx_target *target);

/* ---- request.c, arrival.c ----------------------------------------------------------------------------------------- */

/* The payloads that a worker receives by rendezvous at a time. They share the bandwidth, so with few at a time the first
 * ones arrive earlier, and are copied to their destination while others travel. */
struct shmemi_ucx_receiving {
    unsigned count;
    size_t bytes;
};

static inline bool shmemi_ucx_may_receive(const struct shmemi_ucx_receiving *receiving, size_t size)
{
    return receiving->count < SHMEMI_UCX_RECEIVING_MIN || receiving->bytes + size <= SHMEMI_UCX_RECEIVING_BYTES;
}

/* Copy the header of a message, which begins with the job key. False: it is none of this job, and the message has no
 * effect and gets no answer. */
static inline bool shmemi_ucx_read_header(void *copy, size_t size, const void *header, size_t length)
{
    if (length == size)
        memcpy(copy, header, size);
    if (length == size && shmemi_key_equals(copy, &shmemi_job.key))
        return true;
    shmemi_ignore_foreign("over the network");
    return false;
}

/* The header of an answer; the data of a GET or AMO follows. */
struct shmemi_ucx_answer {
    struct shmemi_key job_key;
    uint32_t owner;
    int32_t status; /* 0 or -errno */
    uint16_t slot;  /* of the origin */
};

/* Bytes that travel beside the request. */
static inline size_t shmemi_ucx_request_payload(const struct shmemi_request *request)
{
    const bool has_payload = shmemi_request_is_put(request->type) && !shmemi_is_slotless(request->slot);
    return has_payload ? shmemi_request_payload_size(request) : 0;
}

int shmemi_ucx_request_open(void);
void shmemi_ucx_request_close(void);
int shmemi_ucx_arrival_open(void);
void shmemi_ucx_arrival_close(void);

/* Hand requests that have arrived to shmemi_arrival_accept, up to the first long ones; service lock held, outside of UCX's
 * callbacks. */
unsigned shmemi_ucx_request_deliver(void);
/* Are there requests that could be handed over, but have not been? Any thread. */
bool shmemi_ucx_request_is_left(void);
/* gdr.c: do the settings and the kernel's modules allow the driver gdr to be used? */
bool shmemi_gdr_is_wanted(void);
/* The target of a view of the driver gdr. -ENOTSUP: the operation must be sent as a request. */
int shmemi_gdr_target_of(const struct shmemi_view *view, const struct shmemi_ucx_target **target_p);

/* Does a request wait for an answer of this PE? And: fail those that do. With the initiator lock held. */
bool shmemi_ucx_request_awaits(int pe);
void shmemi_ucx_request_peer_lost(int pe);

#endif
