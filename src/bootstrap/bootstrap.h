/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bootstrap: the services of the launcher before PEs can talk to each other. What a unique id says, if the program gives
 * one; else PMIx if the launcher has it; else MPI if the program has initialised it; else the launcher's PMI-1; else the
 * variables of torchrun; without a launcher, a job of one PE. Functions return 0 or -errno and log any error, with the
 * phase and advice.
 */
#ifndef SHMEMI_BOOTSTRAP_H
#define SHMEMI_BOOTSTRAP_H

#include <stdbool.h>
#include <stddef.h>

struct shmemi_bootstrap {
    const char *name;
    /* -ENODEV: this kind of launcher has not started the process; try the next bootstrap. -EHOSTUNREACH, not logged:
     * it may have, but does not answer; try the next, but do not run alone. */
    int (*open)(int *pe_p, int *n_pes_p);
    void (*close)(void);
    /* Node number of every PE, nodes numbered by their lowest PE. node_of has n_pes entries. */
    int (*nodes)(int *node_of);
    /* The name of a node's host, after nodes. */
    const char *(*host_name)(int node);
    /* What the launcher has bound this PE to, as a text for shmemi_cpus_from_list; NULL: not known. May be NULL itself. */
    const char *(*binding)(void);
    /* Publish bytes under a key, for all PEs to get after the next fence. Each start has keys of its own. */
    int (*put)(const char *key, const void *value, size_t size);
    int (*fence)(void);
    /* Fetch what pe published; at most *size_p bytes, set to their number. */
    int (*get)(int pe, const char *key, void *value, size_t *size_p);
    void (*abort)(int status);
};

/* The bootstrap in use; NULL before open. */
extern const struct shmemi_bootstrap *shmemi_bootstrap;

/* Open the bootstrap of the unique id that the program has given, or the one that SHMEM_BOOTSTRAP names, or the first that
 * is available. Logs an error when a launcher says
 * that the job has several PEs and no bootstrap confirms it. */
int shmemi_bootstrap_open(int *pe_p, int *n_pes_p);
void shmemi_bootstrap_close(void);

/* The number of processes that a variable of the launcher gives, and its name; 0 when none gives more than 1. */
int shmemi_launcher_size(const char **variable_p);
/* Whether the launcher gave this process a connection to it that speaks PMI-1. */
bool shmemi_launcher_has_pmi(void);

/* End the job with a status, as far as the launcher does it, and in any case this process. */
_Noreturn void shmemi_bootstrap_abort(int status);
/* Let this process end after so many seconds, from now on, whatever it is then doing. */
void shmemi_end_within(unsigned seconds, int status);

/* End this process so that the launcher ends the others, when the connection to the launcher is closed already: by a
 * signal, because Hydra ignores the exit status of a process that has finalised MPI. */
_Noreturn void shmemi_bootstrap_fail_alone(int status);

extern const struct shmemi_bootstrap shmemi_bootstrap_pmix;
extern const struct shmemi_bootstrap shmemi_bootstrap_mpi;
extern const struct shmemi_bootstrap shmemi_bootstrap_pmi;
extern const struct shmemi_bootstrap shmemi_bootstrap_torchrun;
extern const struct shmemi_bootstrap shmemi_bootstrap_single;
extern const struct shmemi_bootstrap shmemi_bootstrap_unique_id;

/* ---- allgather.c: keys and nodes for a bootstrap that can do nothing but gather bytes ------------------- */

/* What a PE publishes has at most this many bytes, far more than any does: a larger size from outside is refused before
 * memory is taken. */
enum { SHMEMI_PUBLISHED_MAX = 16 << 20 };

/* The bytes of all PEs, one PE's after the other; those of a PE begin at its offset. */
struct shmemi_gathered {
    unsigned char *bytes; /* from malloc */
    size_t *offsets;      /* n_pes + 1 of them, filled by the gather function */
};

/* Collective: hand in this PE's bytes, fill all->offsets, and set all->bytes to memory from malloc. */
typedef int (*shmemi_gather_func_t)(const void *mine, size_t size, struct shmemi_gathered *all);

/* Collective: find out which PEs share a node. */
int shmemi_gather_open(int pe, int n_pes, shmemi_gather_func_t gather);
void shmemi_gather_close(void);

/* Members of struct shmemi_bootstrap. */
int shmemi_gather_nodes(int *node_of);
const char *shmemi_gather_host_name(int node);
int shmemi_gather_put(const char *key, const void *value, size_t size);
int shmemi_gather_fence(void);
int shmemi_gather_get(int pe, const char *key, void *value, size_t *size_p);
#define SHMEMI_GATHER_MEMBERS                                                                                          \
    .nodes = shmemi_gather_nodes, .host_name = shmemi_gather_host_name, .put = shmemi_gather_put,                      \
    .fence = shmemi_gather_fence, .get = shmemi_gather_get

#endif
