/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of workers, and the order in which the parts of transport are opened and closed.
 */
#include "transport/drivers/table.h"

#include "bootstrap/job.h"
#include "transport/collect/held.h"
#include "transport/prepared.h"
#include "transport/progress.h"
#include "transport/service.h"
#include "transport/staged/owner.h"
#include "transport/staged/parts.h"
#include "transport/staged/slots.h"
#include "transport/threads.h"
#include "transport/ucx/ucx.h"

#include <stddef.h>

/* Run in this order; the cheapest come first. */
static const struct shmemi_worker *const workers[] = {
    &shmemi_worker_ring,  &shmemi_worker_arrivals,        &shmemi_worker_slots,
    &shmemi_worker_held,  &shmemi_worker_network_service, &shmemi_worker_network,
    &shmemi_worker_pulse,
};

enum { N_WORKERS = sizeof workers / sizeof workers[0] };

/* Let waiting threads run those workers that have something to do in this job. */
static void use_workers(void)
{
    static const struct shmemi_worker *used[N_WORKERS];
    unsigned n = 0;
    for (int i = 0; i < N_WORKERS; i++)
        if (shmemi_job.n_nodes > 1 || !workers[i]->is_for_network)
            used[n++] = workers[i];
    shmemi_progress_use(used, n);
}

int shmemi_transport_prepare(void)
{
    const bool has_network = shmemi_job.n_nodes > 1;
    shmemi_ucx_leave_signals();
    shmemi_prepared_open(has_network ? &shmemi_ucx_registrar : NULL);
    return has_network ? shmemi_ucx_open() : 0;
}

void shmemi_transport_prepare_gpu(const struct shmemi_memory *memory)
{
    if (shmemi_job.n_nodes > 1)
        shmemi_ucx_prepare_gpu(memory);
}

void shmemi_transport_excuse(void)
{
    if (shmemi_job.n_pes > 1)
        shmemi_ucx_publish_no_address();
}

int shmemi_transport_start(const struct shmemi_resolver *resolver)
{
    shmemi_slots_open();
    shmemi_arrivals_open(resolver);
    use_workers();
    shmemi_threads_place();
    return shmemi_service_start();
}

void shmemi_transport_watch(void)
{
    shmemi_ucx_pulse_start();
}

void shmemi_transport_settle(void)
{
    if (shmemi_job.n_nodes > 1)
        shmemi_ucx_pulse_settle();
}

void shmemi_transport_stop(void)
{
    shmemi_ucx_pulse_stop();
    shmemi_service_stop();
    shmemi_progress_use(NULL, 0);
    shmemi_ring_close();
    shmemi_parts_close();
}

void shmemi_transport_close(void)
{
    shmemi_ucx_close();
}
