/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of workers, and the order in which the parts of transport are opened and closed.
 */
#include "transport/drivers/table.h"

#include "bootstrap/job.h"
#include "transport/direct/list.h"
#include "transport/prepared.h"
#include "transport/progress.h"
#include "transport/service.h"
#include "transport/staged/owner.h"
#include "transport/staged/slots.h"
#include "transport/ucx/ucx.h"

/* Run in this order; the cheapest come first. */
static const struct shmemi_worker *const workers[] = {
    &shmemi_worker_ring,  &shmemi_worker_arrivals,        &shmemi_worker_slots,
    &shmemi_worker_lists, &shmemi_worker_network_service, &shmemi_worker_network,
};

/* The last N_NETWORK_WORKERS are for jobs of several nodes only. */
enum { N_WORKERS = sizeof workers / sizeof workers[0], N_NETWORK_WORKERS = 2 };

int shmemi_transport_prepare(void)
{
    const bool has_network = shmemi_job.n_nodes > 1;
    shmemi_prepared_open(has_network ? &shmemi_ucx_registrar : NULL);
    return has_network ? shmemi_ucx_open() : 0;
}

int shmemi_transport_start(const struct shmemi_resolver *resolver)
{
    shmemi_slots_open();
    shmemi_arrivals_open(resolver);
    shmemi_progress_use(workers, shmemi_job.n_nodes > 1 ? N_WORKERS : N_WORKERS - N_NETWORK_WORKERS);
    return shmemi_job.n_pes > 1 ? shmemi_service_start() : 0;
}

void shmemi_transport_stop(void)
{
    shmemi_service_stop();
    shmemi_progress_use(workers, 0);
    shmemi_ring_close();
}

void shmemi_transport_close(void)
{
    shmemi_ucx_close();
}
