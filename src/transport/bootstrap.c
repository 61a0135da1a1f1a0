/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Choice of the bootstrap, and the check that launcher and bootstrap agree about the size of the job.
 */
#include "transport/bootstrap.h"

#include "base/log.h"

#include <errno.h>
#include <stdlib.h>

const struct shmemi_bootstrap *shmemi_bootstrap;

static const struct shmemi_bootstrap *const table[] = {
    &shmemi_bootstrap_pmix,
    &shmemi_bootstrap_single,
};

/* Variables in which launchers give the number of processes. */
static const char *const size_variables[] = {
    "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "MPI_LOCALNRANKS", "FLUX_JOB_SIZE", "PALS_SIZE",
};

static int check_launcher_size(int n_pes)
{
    if (n_pes > 1)
        return 0;
    for (size_t i = 0; i < sizeof size_variables / sizeof size_variables[0]; i++) {
        const char *text = getenv(size_variables[i]);
        if (!text || atoi(text) <= 1)
            continue;
        shmemi_error("the launcher started %s processes (%s), but this one finds itself alone: the launcher offers no "
                     "PMIx; start the program with 'oshrun -n %s' or 'srun --mpi=pmix'",
                     text, size_variables[i], text);
        return -EPROTO;
    }
    return 0;
}

static void abort_job(int status)
{
    shmemi_bootstrap->abort(status);
    _Exit(status);
}

int shmemi_bootstrap_open(int *pe_p, int *n_pes_p)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        int rc = table[i]->open(pe_p, n_pes_p);
        if (rc == -ENODEV)
            continue;
        if (rc)
            return rc;
        rc = check_launcher_size(*n_pes_p);
        if (rc)
            return rc;
        shmemi_bootstrap = table[i];
        shmemi_log_set_pe(*pe_p);
        shmemi_log_abort = abort_job;
        return 0;
    }
    return -ENODEV;
}

void shmemi_bootstrap_close(void)
{
    if (shmemi_bootstrap)
        shmemi_bootstrap->close();
    shmemi_bootstrap = NULL;
    shmemi_log_abort = NULL;
}
