/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What variables of the environment tell of the launcher. Needs nothing else of this folder.
 */
#include "bootstrap/bootstrap.h"

#include <stdlib.h>

/* Variables in which launchers give the number of processes. */
static const char *const size_variables[] = {
    "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "MPI_LOCALNRANKS", "FLUX_JOB_SIZE", "PALS_SIZE",
};

int shmemi_launcher_size(const char **variable_p)
{
    for (size_t i = 0; i < sizeof size_variables / sizeof size_variables[0]; i++) {
        const char *text = getenv(size_variables[i]);
        if (!text || atoi(text) <= 1)
            continue;
        *variable_p = size_variables[i];
        return atoi(text);
    }
    return 0;
}

bool shmemi_launcher_has_pmi(void)
{
    return getenv("PMI_FD") && getenv("PMI_RANK") && getenv("PMI_SIZE");
}
