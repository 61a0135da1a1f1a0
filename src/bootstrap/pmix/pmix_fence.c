/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The fence of the PMIx bootstrap, which ends with SHMEM_TIMEOUT and tells who has not come.
 */
#include "bootstrap/pmix/pmix_client.h"

#include "base/log.h"
#include "bootstrap/deadline.h"
#include "bootstrap/job.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* Who has not come. PMIx does not tell who is missing in a fence, so each PE publishes a key once it has entered it:
 * those whose key cannot be read have not come. */
static struct {
    unsigned number; /* of fences */
    char key[32];
    atomic_bool *has_come; /* by PE; for good, because answers may come late */
} fences;

static void publish_presence(void)
{
    pmix_value_t value = {.type = PMIX_UINT32, .data.uint32 = fences.number};
    snprintf(fences.key, sizeof fences.key, "mapshmem-fence-%u", fences.number);
    if (PMIx_Put(PMIX_GLOBAL, fences.key, &value) != PMIX_SUCCESS || PMIx_Commit() != PMIX_SUCCESS)
        shmemi_debug("PMIx does not publish that this PE has come");
}

static void on_presence(pmix_status_t status, pmix_value_t *value, void *data)
{
    (void)value;
    if (status == PMIX_SUCCESS)
        atomic_store((atomic_bool *)data, true);
}

/* Returns false if nothing can be said. */
static bool ask_for_presence(void)
{
    fences.has_come = calloc((size_t)shmemi_pmix.n_pes, sizeof *fences.has_come);
    for (int pe = 0; fences.has_come && pe < shmemi_pmix.n_pes; pe++) {
        pmix_proc_t proc;
        shmemi_pmix_process(&proc, (pmix_rank_t)pe);
        if (pe == (int)shmemi_pmix.self.rank ||
            PMIx_Get_nb(&proc, fences.key, NULL, 0, on_presence, &fences.has_come[pe]))
            atomic_store(&fences.has_come[pe], true);
    }
    shmemi_pmix_pause(1); /* time for the answers */
    return fences.has_come;
}

static bool has_come(int pe)
{
    return atomic_load(&fences.has_come[pe]);
}

/* The fence under way. Static, because the answer may come after the wait. */
static struct {
    sem_t over;
    pmix_status_t status;
} fence;

static void on_fence(pmix_status_t status, void *data)
{
    (void)data;
    fence.status = status;
    sem_post(&fence.over);
}

/* Whether the fence has to hand what was published to all nodes. On one node its server has it all. With several, the
 * servers fetch from each other what a PE needs, when it does; but Slurm's does not find it if that PE has published
 * more since, as MPI and publish_presence do. */
static bool must_collect(void)
{
    return shmemi_job.host_n_pes < shmemi_pmix.n_pes && getenv("SLURM_STEP_ID");
}

/* The time is kept here and not by PMIX_TIMEOUT: servers observe that only until the last PE of their own node has come,
 * so a PE that is alone on its node would wait for ever for one of another. */
static pmix_status_t enter_fence(void)
{
    static pmix_info_t collect; /* static: the library may look at it after the call */
    bool collects = must_collect();
    sem_init(&fence.over, 0, 0);
    PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &collects, PMIX_BOOL);
    pmix_status_t status = PMIx_Fence_nb(NULL, 0, &collect, 1, on_fence, NULL);
    if (status == PMIX_OPERATION_SUCCEEDED)
        return PMIX_SUCCESS;
    if (status != PMIX_SUCCESS)
        return status;
    publish_presence();
    return shmemi_pmix_await(&fence.over, shmemi_init_milliseconds_left()) ? fence.status : PMIX_ERR_TIMEOUT;
}

/* A process that has just finalised MPI leaves PMIx for a moment and comes back. If others were at a fence meanwhile,
 * PMIx reports to all of them that it was a fence of only a part of the job. Then they repeat it. */
static pmix_status_t enter_whole_fence(void)
{
    pmix_status_t status;
    fences.number++;
    while ((status = enter_fence()) == PMIX_ERR_PARTIAL_SUCCESS) {
        if (shmemi_init_is_overdue())
            return PMIX_ERR_TIMEOUT;
        shmemi_pmix_pause(0.01);
    }
    return status;
}

int shmemi_pmix_fence(void)
{
    pmix_status_t status = enter_whole_fence();
    if (status == PMIX_ERR_TIMEOUT) {
        char missing[256] = "";
        if (ask_for_presence())
            shmemi_list_missing(missing, sizeof missing, shmemi_pmix.n_pes, has_come);
        return shmemi_init_is_over(missing);
    }
    return status == PMIX_SUCCESS ? 0 : shmemi_pmix_report("the start-up fence", status);
}
