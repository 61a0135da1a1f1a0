/* SPDX-License-Identifier: BSD-3-Clause
 *
 * UCX's endpoints: this PE's connections to others, made when a PE is first addressed, and what becomes of a job that
 * has lost one.
 *
 * Endpoints have no peer error handling (UCX 1.22 emulates no atomics with it), but an error handler, which UCX calls
 * over tcp as well: when a PE dies, operations to it end with an error instead of hanging.
 */
#include "transport/ucx/ucx_internal.h"

#include "base/clock.h"
#include "base/holdings.h"
#include "base/log.h"
#include "base/thread/patience.h"
#include "bootstrap/bootstrap.h"
#include "bootstrap/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    ADDRESS_MAX = 64 << 10, /* bytes of a worker's address: some 100 with one network device */
    LAUNCHER_SECONDS = 5,   /* in which a launcher ends the job after a PE has died */
};

/* Endpoints by PE. */
static struct {
    _Atomic(ucp_ep_h) *of_pe;
    atomic_bool *lost;            /* the connection broke */
    pthread_mutex_t connect_lock; /* endpoints are made one at a time */
} endpoints = {.connect_lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- A lost peer ------------------------------------------------------------------------------------------------- */

bool shmemi_ucx_peer_is_lost(int pe)
{
    return atomic_load(&endpoints.lost[pe]);
}

int shmemi_ucx_first_lost(void)
{
    for (int pe = 0; endpoints.lost && pe < shmemi_job.n_pes; pe++)
        if (shmemi_ucx_peer_is_lost(pe))
            return pe;
    return -1;
}

/* A PE that has been killed is known to the launcher, which ends the job and says so. This PE must not be the first to
 * end, or it would be blamed. UCX is progressed, because it may have failed an operation before it calls on_peer_error. */
static void wait_for_launcher(void)
{
    const uint64_t end = shmemi_clock() + LAUNCHER_SECONDS * UINT64_C(1000000000);
    for (unsigned turn = 1; shmemi_clock() < end; turn++) {
        shmemi_ucx_progress();
        shmemi_rest(SHMEMI_UCX_PEER_LOST, turn);
    }
}

/* One line, although several threads may see the loss. */
static _Noreturn void end_job(int pe)
{
    static atomic_flag is_ending = ATOMIC_FLAG_INIT;
    while (atomic_flag_test_and_set(&is_ending))
        pause();
    shmemi_fatal("lost the connection to PE %d on %s; has it ended?", pe, shmemi_job_host_name(pe));
}

_Noreturn void shmemi_ucx_end_lost(int pe)
{
    wait_for_launcher();
    end_job(pe);
}

void shmemi_ucx_end_if_lost(ucs_status_t status)
{
    if (status == UCS_OK || !atomic_load(&shmemi_ucx.is_open) || atomic_load(&shmemi_ucx.is_closing))
        return;
    wait_for_launcher();
    int pe = shmemi_ucx_first_lost();
    if (pe >= 0)
        end_job(pe);
}

/* Called by UCX, while the initiator worker is progressed, when a peer no longer answers. That is no error if the peer
 * has ended normally, so the job goes on until an operation fails. */
static void on_peer_error(void *user_data, ucp_ep_h endpoint, ucs_status_t status)
{
    (void)endpoint;
    int pe = (int)(intptr_t)user_data;
    if (atomic_load(&shmemi_ucx.is_closing))
        return;
    shmemi_debug("connection to PE %d ended: %s", pe, ucs_status_string(status));
    atomic_store(&endpoints.lost[pe], true);
    shmemi_ucx_stores_peer_lost(pe);
    if (!shmemi_ucx_request_awaits(pe))
        return;
    wait_for_launcher(); /* as long as the requests have not failed, no thread that waits for one ends the job */
    shmemi_ucx_request_peer_lost(pe);
    end_job(pe);
}

/* ---- Transports -------------------------------------------------------------------------------------------------- */

static bool is_one_of(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

/* Transports whose adapter reads and writes the peer's memory itself are rc_verbs, rc_mlx5, dc_mlx5 and the like. */
enum shmemi_ucx_rdma shmemi_ucx_with_transport(enum shmemi_ucx_rdma before, const char *name)
{
    static const char *const mapping[] = {"posix", "sysv"}, *const copying[] = {"xpmem", "cma", "knem"};
    if (before == SHMEMI_UCX_RDMA || !strncmp(name, "rc_", 3) || !strncmp(name, "dc_", 3))
        return SHMEMI_UCX_RDMA;
    if (before == SHMEMI_UCX_ONE_COPY || is_one_of(copying, sizeof copying / sizeof copying[0], name))
        return SHMEMI_UCX_ONE_COPY;
    return is_one_of(mapping, sizeof mapping / sizeof mapping[0], name) ? SHMEMI_UCX_MAPPED : before;
}

/* ---- Connecting -------------------------------------------------------------------------------------------------- */

static const char address_key[] = "mapshmem-ucx";

static int make_endpoint(int pe, const void *address, ucp_ep_h *endpoint_p)
{
    ucs_status_t status = UCS_ERR_NO_MEMORY;
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .address = address,
        .err_handler = {.cb = on_peer_error, .arg = (void *)(intptr_t)pe},
    };
    pthread_mutex_lock(&shmemi_ucx.initiator_lock);
    if (!shmemi_ucx_endpoint_expected())
        status = ucp_ep_create(shmemi_ucx.initiator, &params, endpoint_p);
    if (status == UCS_OK)
        shmemi_ucx_endpoint_added(pe);
    pthread_mutex_unlock(&shmemi_ucx.initiator_lock);
    if (status == UCS_OK)
        return 0;
    wait_for_launcher(); /* the PE may have died */
    shmemi_error("cannot reach PE %d over the network: %s; check UCX_NET_DEVICES and UCX_TLS", pe,
                 ucs_status_string(status));
    return shmemi_ucx_errno(status);
}

/* What a PE publishes that cannot start. It says why, and ends the job. */
static const char no_address[1];

static int report_without_address(int pe)
{
    wait_for_launcher();
    shmemi_error("PE %d could not start", pe);
    return -ECONNREFUSED;
}

void shmemi_ucx_publish_no_address(void)
{
    shmemi_bootstrap->put(address_key, no_address, sizeof no_address);
}

/* Fetch the address and connect. With the connect lock held. */
static int connect_to(int pe, ucp_ep_h *endpoint_p)
{
    size_t size = ADDRESS_MAX;
    void *address = malloc(size);
    if (!address) {
        shmemi_error("out of memory for the connection to PE %d", pe);
        return -ENOMEM;
    }
    shmemi_ucx_make_room();
    int rc = shmemi_bootstrap->get(pe, address_key, address, &size);
    if (!rc && size == sizeof no_address)
        rc = report_without_address(pe);
    else if (!rc)
        rc = make_endpoint(pe, address, endpoint_p);
    free(address);
    if (!rc)
        atomic_store_explicit(&endpoints.of_pe[pe], *endpoint_p, memory_order_release);
    return rc;
}

static int connect_once(int pe, ucp_ep_h *endpoint_p)
{
    int rc = 0;
    pthread_mutex_lock(&endpoints.connect_lock);
    *endpoint_p = atomic_load_explicit(&endpoints.of_pe[pe], memory_order_acquire);
    if (!*endpoint_p)
        rc = connect_to(pe, endpoint_p);
    pthread_mutex_unlock(&endpoints.connect_lock);
    return rc;
}

int shmemi_ucx_endpoint(int pe, ucp_ep_h *endpoint_p)
{
    *endpoint_p = atomic_load_explicit(&endpoints.of_pe[pe], memory_order_acquire);
    return *endpoint_p ? 0 : connect_once(pe, endpoint_p);
}

int shmemi_ucx_endpoint_locked(int pe, ucp_ep_h *endpoint_p)
{
    int rc;
    while (!(rc = shmemi_ucx_endpoint(pe, endpoint_p))) {
        pthread_mutex_lock(&shmemi_ucx.initiator_lock);
        if (shmemi_likely(shmemi_ucx_endpoint_made(pe) == *endpoint_p))
            break;
        pthread_mutex_unlock(&shmemi_ucx.initiator_lock);
    }
    if (!rc)
        shmemi_ucx_endpoint_used(pe);
    return rc;
}

ucp_ep_h shmemi_ucx_endpoint_made(int pe)
{
    return atomic_load_explicit(&endpoints.of_pe[pe], memory_order_acquire);
}

ucp_ep_h shmemi_ucx_endpoint_take(int pe)
{
    return atomic_exchange(&endpoints.of_pe[pe], NULL);
}

/* ---- Open and close ---------------------------------------------------------------------------------------------- */

int shmemi_ucx_publish_address(void)
{
    ucp_address_t *address;
    size_t size;
    ucs_status_t status = ucp_worker_get_address(shmemi_ucx.service, &address, &size);
    if (status != UCS_OK)
        return shmemi_ucx_report(status, "getting this PE's address");
    int rc = -E2BIG;
    if (size <= ADDRESS_MAX)
        rc = shmemi_bootstrap->put(address_key, address, size);
    else
        shmemi_error("this PE's network address has %zu bytes, %d is the limit; choose fewer devices with "
                     "UCX_NET_DEVICES",
                     size, ADDRESS_MAX);
    ucp_worker_release_address(shmemi_ucx.service, address);
    return rc;
}

static ptrdiff_t table_bytes(void)
{
    return (ptrdiff_t)shmemi_job.n_pes * (ptrdiff_t)(sizeof *endpoints.of_pe + sizeof *endpoints.lost);
}

int shmemi_ucx_endpoints_open(void)
{
    size_t n_pes = (size_t)shmemi_job.n_pes;
    endpoints.of_pe = calloc(n_pes, sizeof *endpoints.of_pe);
    endpoints.lost = calloc(n_pes, sizeof *endpoints.lost);
    atomic_store(&shmemi_ucx.is_closing, false);
    shmemi_ucx_limit_open();
    shmemi_hold(SHMEMI_PART_ENDPOINTS, table_bytes());
    if (endpoints.of_pe && endpoints.lost)
        return 0;
    shmemi_error("out of memory for the endpoints of %zu PEs", n_pes);
    return -ENOMEM;
}

static void close_endpoint(int pe, struct shmemi_ucx_batch *batch)
{
    ucp_ep_h endpoint = atomic_load(&endpoints.of_pe[pe]);
    if (!endpoint)
        return;
    atomic_store(&endpoints.of_pe[pe], NULL);
    if (shmemi_ucx_peer_is_lost(pe))
        return; /* a lost peer answers no flush: the endpoint is destroyed with its worker */
    ucp_request_param_t param;
    shmemi_ucx_batch_param(batch, &param);
    pthread_mutex_lock(&shmemi_ucx.initiator_lock);
    ucs_status_ptr_t request = ucp_ep_close_nbx(endpoint, &param);
    if (!UCS_PTR_IS_ERR(request)) /* an error means that the peer has closed it first */
        shmemi_ucx_batch_add(batch, request, "closing an endpoint");
    pthread_mutex_unlock(&shmemi_ucx.initiator_lock);
}

void shmemi_ucx_endpoints_close(struct shmemi_ucx_batch *batch)
{
    for (int pe = 0; pe < shmemi_job.n_pes; pe++)
        close_endpoint(pe, batch);
}

void shmemi_ucx_endpoints_free(void)
{
    shmemi_ucx_limit_close();
    if (endpoints.of_pe)
        shmemi_hold(SHMEMI_PART_ENDPOINTS, -table_bytes());
    free(endpoints.of_pe);
    free(endpoints.lost);
    endpoints.of_pe = NULL;
    endpoints.lost = NULL;
}
