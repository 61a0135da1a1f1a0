/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bootstrap: what the launcher provides before PEs can talk to each other. PMIx under a launcher; without one a job
 * of one PE. Functions return 0 or -errno and have logged any error, with the phase and what to do.
 */
#ifndef SHMEMI_BOOTSTRAP_H
#define SHMEMI_BOOTSTRAP_H

#include <stddef.h>
#include <stdint.h>

struct shmemi_bootstrap {
    const char *name;
    /* -ENODEV: this launcher is not there, ask the next. */
    int (*open)(int *pe_p, int *n_pes_p);
    void (*close)(void);
    /* Node number of every PE, nodes numbered by their lowest PE. node_of has n_pes entries. */
    int (*nodes)(int *node_of);
    /* A text that names this job and no other on the cluster. */
    const char *(*job_name)(void);
    /* Publish bytes under a key, for all PEs to get after the next fence. */
    int (*put)(const char *key, const void *value, size_t size);
    int (*fence)(void);
    /* Fetch what pe published; at most *size_p bytes, set to their number. */
    int (*get)(int pe, const char *key, void *value, size_t *size_p);
    void (*abort)(int status);
};

/* The bootstrap in use; NULL before open. */
extern const struct shmemi_bootstrap *shmemi_bootstrap;

/* Open the first that is there. Stops with a clear line when a launcher says that the job has several PEs and no
 * bootstrap agrees. */
int shmemi_bootstrap_open(int *pe_p, int *n_pes_p);
void shmemi_bootstrap_close(void);

extern const struct shmemi_bootstrap shmemi_bootstrap_pmix;
extern const struct shmemi_bootstrap shmemi_bootstrap_single;

#endif
