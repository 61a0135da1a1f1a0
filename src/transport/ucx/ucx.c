/* SPDX-License-Identifier: BSD-3-Clause
 *
 * UCX: context, its two workers, and counting operations under way.
 */
#include "transport/ucx/ucx.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/thread/cores.h"
#include "base/thread/patience.h"
#include "bootstrap/bootstrap.h"
#include "bootstrap/job.h"
#include "transport/ucx/ucx_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucs/config/global_opts.h>

enum { CLOSE_SECONDS = 5 }; /* without any progress */

struct shmemi_ucx shmemi_ucx = {.initiator_lock = PTHREAD_MUTEX_INITIALIZER};

int shmemi_ucx_errno(ucs_status_t status)
{
    switch (status) {
    case UCS_OK:
        return 0;
    case UCS_ERR_NO_MEMORY:
        return -ENOMEM;
    case UCS_ERR_INVALID_PARAM:
        return -EINVAL;
    case UCS_ERR_UNSUPPORTED:
        return -ENOTSUP;
    case UCS_ERR_UNREACHABLE:
        return -EHOSTUNREACH;
    case UCS_ERR_CONNECTION_RESET:
    case UCS_ERR_ENDPOINT_TIMEOUT:
    case UCS_ERR_NOT_CONNECTED:
        return -ECONNRESET;
    case UCS_ERR_CANCELED:
        return -ECANCELED;
    default:
        return -EIO;
    }
}

int shmemi_ucx_report(ucs_status_t status, const char *what)
{
    shmemi_ucx_end_if_lost(status);
    if (status != UCS_OK)
        shmemi_error("network (UCX): %s: %s", what, ucs_status_string(status));
    return shmemi_ucx_errno(status);
}

/* ---- Batches ----------------------------------------------------------------------------------------------------- */

/* Whoever waits for the batch reports the failure, because UCX tells which PE is lost only after this. */
static void note_failure(struct shmemi_ucx_batch *batch, ucs_status_t status)
{
    if (!atomic_load_explicit(&batch->status, memory_order_relaxed) && !atomic_load(&shmemi_ucx.is_closing))
        atomic_store_explicit(&batch->status, status, memory_order_relaxed);
}

/* The counter is raised last: a waiting thread may free the batch as soon as it sees the new value. */
void shmemi_ucx_batch_done(struct shmemi_ucx_batch *batch, ucs_status_t status)
{
    if (status != UCS_OK)
        note_failure(batch, status);
    atomic_fetch_add_explicit(&batch->completed, 1, memory_order_release);
}

static void on_completion(void *request, ucs_status_t status, void *user_data)
{
    ucp_request_free(request);
    shmemi_ucx_batch_done(user_data, status);
}

ucp_request_param_t shmemi_ucx_param(void *user_data)
{
    return (ucp_request_param_t){
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE,
        .user_data = user_data,
        .memory_type = UCS_MEMORY_TYPE_HOST,
    };
}

ucp_request_param_t shmemi_ucx_message_param(void *user_data, ucp_send_nbx_callback_t on_sent, unsigned flags)
{
    ucp_request_param_t param = shmemi_ucx_param(user_data);
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = flags;
    param.cb.send = on_sent;
    return param;
}

void shmemi_ucx_batch_param(struct shmemi_ucx_batch *batch, ucp_request_param_t *param_p)
{
    *param_p = shmemi_ucx_param(batch);
    param_p->cb.send = on_completion;
}

int shmemi_ucx_batch_add(struct shmemi_ucx_batch *batch, ucs_status_ptr_t request, const char *what)
{
    if (!request)
        return 0;
    if (UCS_PTR_IS_ERR(request))
        return shmemi_ucx_report(UCS_PTR_STATUS(request), what);
    atomic_fetch_add_explicit(&batch->issued, 1, memory_order_relaxed);
    return 0;
}

void shmemi_ucx_turn(unsigned *spins)
{
    if (shmemi_ucx_progress())
        *spins = 0;
    else
        shmemi_progress(spins);
}

static void await_completed(struct shmemi_ucx_batch *batch, uint64_t completed)
{
    unsigned spins = 0;
    while (atomic_load_explicit(&batch->completed, memory_order_acquire) < completed)
        shmemi_ucx_turn(&spins);
}

int shmemi_ucx_batch_wait(struct shmemi_ucx_batch *batch, uint64_t completed)
{
    await_completed(batch, completed);
    ucs_status_t status = (ucs_status_t)atomic_load_explicit(&batch->status, memory_order_relaxed);
    return shmemi_likely(status == UCS_OK) ? 0 : shmemi_ucx_report(status, "a transfer");
}

int shmemi_ucx_batch_wait_all(struct shmemi_ucx_batch *batch)
{
    return shmemi_ucx_batch_wait(batch, atomic_load_explicit(&batch->issued, memory_order_relaxed));
}

void shmemi_ucx_batch_limit(struct shmemi_ucx_batch *batch)
{
    uint64_t issued = atomic_load_explicit(&batch->issued, memory_order_relaxed);
    if (issued - atomic_load_explicit(&batch->completed, memory_order_relaxed) > SHMEMI_UCX_IN_FLIGHT_MAX)
        await_completed(batch, issued - SHMEMI_UCX_IN_FLIGHT_MAX / 2);
}

/* ---- Open -------------------------------------------------------------------------------------------------------- */

/* Settings of UCX that differ from its defaults, unless the user has set them. The variables are in the environment
 * only while UCX is opened, so that other users of UCX in this process do not see them.
 * TCP_PUT_ENABLE: with UCX's own put over tcp a put is locally complete only when the target has made progress.
 * TCP_*_SEG_SIZE: larger segments double the bandwidth of the messages that are used instead. A message of one segment
 * is received where we find it, one of several is copied together first: with its header, SHMEMI_UCX_EAGER_PAYLOAD fits.
 * RNDV_THRESH: longer messages wait at their origin for a staging slot and reach it without further copies. Where they
 * would be messages nevertheless, request.c and arrival.c send larger ones at once.
 * TLS: no shared memory, which this library uses itself. Between nodes that are one machine (SHMEM_NODE_SIZE,
 * containers) UCX would use it, but there its messages can overtake those that wait for room, and a flush does not wait
 * for these (seen with 1.13, 1.15 and 1.22: an atomic operation arrives after the barrier; ucx_amo.c guards those of users
 * who set UCX_TLS). No GPU memory either, unless gdr may need it: UCX would otherwise use the GPU's driver for host
 * memory too (to page-lock it, for one), and the driver waits for streams that wait for this very transfer.
 * ATOMIC_MODE: the PEs of a node use the CPU's atomic operations on the same words; a network adapter's would not be
 * atomic with those. */
enum { DEFAULT_TLS, DEFAULT_RNDV_THRESH };
static const char TLS_WITHOUT_CUDA[] = "^shm,cuda";
static struct {
    const char *name, *value;
    bool is_ours;
} defaults[] = {
    [DEFAULT_TLS] = {"UCX_TLS", "^shm", false}, [DEFAULT_RNDV_THRESH] = {"UCX_RNDV_THRESH", "32k", false},
    {"UCX_TCP_PUT_ENABLE", "n", false},         {"UCX_TCP_TX_SEG_SIZE", "260k", false},
    {"UCX_TCP_RX_SEG_SIZE", "520k", false},     {"UCX_ATOMIC_MODE", "cpu", false},
};
enum { N_DEFAULTS = sizeof defaults / sizeof defaults[0] };

/* UCX warns about variables that it does not use, such as tcp's when there is no tcp. It must not warn about these. */
static void set_defaults(void)
{
    ucs_global_opts_set_value("WARN_UNUSED_ENV_VARS", "n");
    for (int i = 0; i < N_DEFAULTS; i++) {
        defaults[i].is_ours = !getenv(defaults[i].name);
        if (defaults[i].is_ours)
            setenv(defaults[i].name, defaults[i].value, 0);
    }
    shmemi_ucx.chooses_rendezvous = defaults[DEFAULT_RNDV_THRESH].is_ours;
}

static void unset_defaults(void)
{
    for (int i = 0; i < N_DEFAULTS; i++)
        if (defaults[i].is_ours)
            unsetenv(defaults[i].name);
}

static int init_context(void)
{
    ucp_config_t *config;
    ucs_status_t status = ucp_config_read(NULL, NULL, &config);
    if (status != UCS_OK)
        return shmemi_ucx_report(status, "reading the UCX_ settings");
    ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS |
                      UCP_PARAM_FIELD_ESTIMATED_NUM_PPN | UCP_PARAM_FIELD_NAME,
        .features = UCP_FEATURE_RMA | UCP_FEATURE_AMO32 | UCP_FEATURE_AMO64 | UCP_FEATURE_AM | UCP_FEATURE_WAKEUP,
        .mt_workers_shared = 1,
        .estimated_num_eps = (size_t)shmemi_job.n_pes,
        .estimated_num_ppn = (size_t)shmemi_job.node_n_pes,
        .name = "mapshmem",
    };
    status = ucp_init(&params, config, &shmemi_ucx.context);
    ucp_config_release(config);
    return shmemi_ucx_report(status, "starting (check UCX_TLS and UCX_NET_DEVICES)");
}

bool shmemi_ucx_supports(ucs_memory_type_t type)
{
    ucp_context_attr_t attributes = {.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES};
    return ucp_context_query(shmemi_ucx.context, &attributes) == UCS_OK && attributes.memory_types >> type & 1;
}

/* UCX is made to ignore GPU memory only if it supports it: otherwise it would warn that there is nothing to ignore. */
static int open_context(void)
{
    int rc = init_context();
    if (rc || !defaults[DEFAULT_TLS].is_ours || shmemi_gdr_is_wanted() || !shmemi_ucx_supports(UCS_MEMORY_TYPE_CUDA))
        return rc;
    ucp_cleanup(shmemi_ucx.context);
    setenv(defaults[DEFAULT_TLS].name, TLS_WITHOUT_CUDA, 1);
    return init_context();
}

static int open_worker(ucp_worker_h *worker_p)
{
    ucp_worker_params_t params = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SERIALIZED,
    };
    return shmemi_ucx_report(ucp_worker_create(shmemi_ucx.context, &params, worker_p), "creating a worker");
}

static int open_workers(void)
{
    set_defaults();
    shmemi_ucx_messages_open();
    int rc = open_context();
    if (!rc)
        rc = open_worker(&shmemi_ucx.service);
    if (!rc)
        rc = open_worker(&shmemi_ucx.initiator);
    unset_defaults();
    return rc;
}

int shmemi_ucx_set_handler(ucp_worker_h worker, unsigned id, ucp_am_recv_callback_t handler)
{
    ucp_am_handler_param_t param = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB,
        .id = id,
        .cb = handler,
    };
    return shmemi_ucx_report(ucp_worker_set_am_recv_handler(worker, &param), "setting a message handler");
}

static void init_locks(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&shmemi_ucx.service_lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

/* UCX ends the process when a worker is destroyed while one of its endpoints is still being closed. */
static void abandon(void)
{
    shmemi_ucx.initiator = shmemi_ucx.service = NULL;
    shmemi_ucx.context = NULL;
    shmemi_ucx_endpoints_free();
}

static void destroy(void)
{
    if (shmemi_ucx.initiator)
        ucp_worker_destroy(shmemi_ucx.initiator);
    if (shmemi_ucx.service)
        ucp_worker_destroy(shmemi_ucx.service);
    if (shmemi_ucx.context)
        ucp_cleanup(shmemi_ucx.context);
    abandon();
}

int shmemi_ucx_open(void)
{
    int rc = shmemi_ucx_endpoints_open();
    if (!rc)
        rc = open_workers();
    if (!rc)
        rc = shmemi_ucx_key_open();
    if (!rc)
        rc = shmemi_ucx_request_open();
    if (!rc)
        rc = shmemi_ucx_pulse_open();
    if (!rc)
        rc = shmemi_ucx_store_open();
    if (!rc)
        rc = shmemi_ucx_publish_address();
    if (rc) {
        shmemi_ucx_request_close();
        destroy();
        shmemi_ucx_messages_close();
        return rc;
    }
    init_locks();
    atomic_store(&shmemi_ucx.is_open, true);
    return 0;
}

/* ---- Close ------------------------------------------------------------------------------------------------------- */

/* Wait for a batch as long as some of it completes from time to time, but not for ever: a peer may have died. Both
 * workers are progressed, since the peers are closing their endpoints at the same time. */
static void wait_for(struct shmemi_ucx_batch *batch)
{
    uint64_t seen = atomic_load(&batch->completed);
    double deadline = shmemi_seconds() + CLOSE_SECONDS;
    unsigned idle = 0;
    while (!shmemi_ucx_batch_is_complete(batch) && shmemi_seconds() < deadline) {
        if (shmemi_ucx_progress() || shmemi_ucx_service_progress())
            idle = 0;
        else
            shmemi_rest(SHMEMI_UCX_CLOSING, ++idle);
        if (atomic_load(&batch->completed) == seen)
            continue;
        seen = atomic_load(&batch->completed);
        deadline = shmemi_seconds() + CLOSE_SECONDS;
    }
}

static void flush(struct shmemi_ucx_batch *batch)
{
    ucp_request_param_t param;
    shmemi_ucx_batch_param(batch, &param);
    pthread_mutex_lock(&shmemi_ucx.initiator_lock);
    shmemi_ucx_batch_add(batch, ucp_worker_flush_nbx(shmemi_ucx.initiator, &param), "flushing at the end");
    pthread_mutex_unlock(&shmemi_ucx.initiator_lock);
}

/* Only the leaders' last messages (shmemi_leaders_sync_last) can be under way still, and their receivers may be gone.
 * UCX reports those as errors of this worker's flush and of the flush in every close; messages.c leaves them out. */
void shmemi_ucx_close(void)
{
    /* static: a callback may come after the deadline */
    static struct shmemi_ucx_batch flushes, closes;
    if (!atomic_load(&shmemi_ucx.is_open))
        return;
    atomic_store(&shmemi_ucx.is_closing, true);
    if (shmemi_ucx_first_lost() < 0)
        flush(&flushes);
    wait_for(&flushes);
    shmemi_ucx_key_close();
    shmemi_ucx_endpoints_close(&closes);
    wait_for(&closes);
    atomic_store(&shmemi_ucx.is_open, false);
    shmemi_ucx_words_close();
    shmemi_ucx_landings_close();
    shmemi_ucx_request_close();
    if (shmemi_ucx_batch_is_complete(&closes))
        destroy();
    else
        abandon();
    shmemi_ucx_store_close();
    shmemi_ucx_messages_close();
    pthread_mutex_destroy(&shmemi_ucx.service_lock);
}
