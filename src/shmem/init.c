/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Setup, exit and query [9.1].
 */
#include "base/settings.h"
#include "shmem/internal.h"
#include "shmmap/symmetric.h"
#include "transport/bootstrap.h"
#include "transport/node.h"
#include "transport/service.h"
#include "transport/ucx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"

SHMEMI_EXPORT struct shmemi_team shmemi_team_world = {.my_pe = -1, .n_pes = -1};
struct shmemi_context shmemi_default_context;

static unsigned init_depth; /* initialisations not yet finalised */

bool shmemi_is_initialized(void)
{
    return init_depth > 0;
}

void shmemi_give_up(void)
{
    if (shmemi_log_abort)
        shmemi_log_abort(1);
    _exit(1);
}

static void introduce(void)
{
    if (shmemi_job.pe)
        return;
    if (shmemi_settings.version)
        fprintf(stderr, "%s\n", PACKAGE_STRING);
    if (!shmemi_settings.info)
        return;
    fprintf(stderr, "%s, settings:\n", PACKAGE_STRING);
    shmemi_settings_print(stderr);
}

/* What this PE can do before it meets the others. */
static int prepare(void)
{
    int rc = shmemi_settings_read();
    if (!rc)
        introduce();
    if (!rc)
        rc = shmemi_job_form_nodes();
    if (!rc)
        rc = shmemi_node_bind(shmemi_symmetric_heap_bytes());
    if (!rc && shmemi_job.n_nodes > 1)
        rc = shmemi_ucx_open();
    return rc;
}

/* A PE whose preparation failed still comes to the fence, where the others wait, before it ends the job: launchers do
 * not bear an abort in the middle of a fence. The cause is mostly the same on all PEs: PE 0 tells it, and the others
 * only if it does not. */
static int prepare_and_meet(void)
{
    shmemi_log_hold(shmemi_job.pe > 0);
    int rc = prepare();
    int met = shmemi_job.n_pes > 1 ? shmemi_bootstrap->fence() : 0;
    if (!rc && !met) {
        shmemi_log_hold(false);
        return 0;
    }
    if (shmemi_job.pe > 0) {
        sleep(2);
        shmemi_log_release();
    }
    return rc ? rc : met;
}

static int open_library(void)
{
    int rc = shmemi_job_open();
    if (!rc)
        rc = prepare_and_meet();
    if (!rc)
        rc = shmemi_node_join();
    if (!rc)
        rc = shmemi_service_start();
    if (!rc)
        rc = shmemi_symmetric_open();
    return rc;
}

SHMEMI_API(void, init, (void))
{
    if (init_depth++)
        return;
    if (open_library())
        shmemi_give_up();
    shmemi_team_world = (struct shmemi_team){shmemi_job.pe, shmemi_job.n_pes};
    shmemi_default_context = (struct shmemi_context){0};
    shmemi_sync_world();
    shmemi_debug("PE %d of %d, node %d of %d, PE %d of %d on it", shmemi_job.pe, shmemi_job.n_pes, shmemi_job.node,
                 shmemi_job.n_nodes, shmemi_job.node_rank, shmemi_job.node_n_pes);
}

static void close_library(void)
{
    shmemi_service_stop();
    shmemi_map_close();
    shmemi_symmetric_close();
    shmemi_node_leave();
    shmemi_job_close();
    shmemi_job.n_pes = 0;
    shmemi_team_world = (struct shmemi_team){-1, -1};
}

SHMEMI_API(void, finalize, (void))
{
    if (!init_depth)
        return;
    shmemi_barrier_world();
    if (--init_depth == 0)
        close_library();
}

SHMEMI_API(void, query_initialized, (int *initialized))
{
    *initialized = shmemi_is_initialized();
}

SHMEMI_API(void, global_exit, (int status))
{
    fflush(NULL);
    if (shmemi_bootstrap)
        shmemi_bootstrap->abort(status);
    _exit(status);
}

static void require_init(const char *routine)
{
    if (!shmemi_is_initialized())
        shmemi_fatal("%s: called before shmem_init or after shmem_finalize", routine);
}

SHMEMI_API(int, my_pe, (void))
{
    require_init("shmem_my_pe");
    return shmemi_job.pe;
}

SHMEMI_API(int, n_pes, (void))
{
    require_init("shmem_n_pes");
    return shmemi_job.n_pes;
}

SHMEMI_API(int, team_my_pe, (shmem_team_t team))
{
    return team == SHMEM_TEAM_INVALID ? -1 : team->my_pe;
}

SHMEMI_API(int, team_n_pes, (shmem_team_t team))
{
    return team == SHMEM_TEAM_INVALID ? -1 : team->n_pes;
}

SHMEMI_API(int, pe_accessible, (int pe))
{
    require_init("shmem_pe_accessible");
    return (unsigned)pe < (unsigned)shmemi_job.n_pes;
}

SHMEMI_API(int, addr_accessible, (const void *addr, int pe))
{
    require_init("shmem_addr_accessible");
    return (unsigned)pe < (unsigned)shmemi_job.n_pes && shmemi_region_of(addr);
}

/* An address that this PE (or, of GPU memory, a kernel) can load from and store to. */
SHMEMI_API(void *, ptr, (const void *dest, int pe))
{
    require_init("shmem_ptr");
    const struct shmemi_region *region = shmemi_region_of(dest);
    if (!region || (unsigned)pe >= (unsigned)shmemi_job.n_pes)
        return NULL;
    const struct shmemi_view *view = &region->view[pe];
    bool has_address = view->place.memory == &shmemi_memory_host || view->place.memory->owns;
    if (!view->driver->is_direct || !has_address)
        return NULL;
    return (void *)(view->place.address + (size_t)((const char *)dest - region->base));
}

SHMEMI_API(void, info_get_version, (int *major, int *minor))
{
    *major = SHMEM_MAJOR_VERSION;
    *minor = SHMEM_MINOR_VERSION;
}

SHMEMI_API(void, info_get_name, (char *name))
{
    strcpy(name, SHMEM_VENDOR_STRING);
}

static const char *place_name(const struct shmemi_region *region)
{
    return region->id == SHMEMI_REGION_HEAP     ? "the symmetric heap"
           : region->id == SHMEMI_REGION_STATIC ? "static data"
                                                : "a mapped object";
}

void shmemi_refuse_target(const char *routine, const void *address, size_t nbytes, int pe)
{
    require_init(routine);
    if ((unsigned)pe >= (unsigned)shmemi_job.n_pes)
        shmemi_fatal("%s: PE %d is out of range, the job has PEs 0 to %d", routine, pe, shmemi_job.n_pes - 1);
    const struct shmemi_region *region = shmemi_region_of(address);
    if (!region)
        shmemi_fatal("%s: %p is not a symmetric address: it lies neither in the symmetric heap nor in static data nor "
                     "in a mapped object",
                     routine, address);
    shmemi_fatal("%s: %p + %zu bytes ends past %s at %p (%zu bytes)", routine, address, nbytes, place_name(region),
                 (void *)region->base, region->size);
}
