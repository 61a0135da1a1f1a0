/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The job: the number of this PE, and which PEs share its node. Filled in once by shmemi_job_open, read everywhere.
 */
#ifndef SHMEMI_JOB_H
#define SHMEMI_JOB_H

#include "bootstrap/binding.h"
#include "bootstrap/job_key.h"

#include <stddef.h>
#include <stdint.h>

struct shmemi_job {
    int pe;
    int n_pes;
    int node; /* number of this PE's node */
    int n_nodes;
    int node_rank; /* number of this PE among those of its node */
    int node_n_pes;
    int node_first;            /* lowest PE of this node */
    unsigned node_consecutive; /* node_n_pes if the PEs of this node have consecutive numbers, or 0 */
    const int *node_pes;       /* PE numbers of this node, ascending: node_pes[node_rank] == pe */
    const int *leaders;        /* lowest PE of each node, by node number */
    const int *node_of;        /* node number of each PE */
    const int *host_of;        /* number of each PE's host, which SHMEM_NODE_SIZE does not split */
    int host_rank;             /* number of this PE among those of its host */
    int host_n_pes;
    int machine_rank; /* the same for the machine, of which several hosts may be made (MAPSHMEM_MACHINE) */
    int machine_n_pes;
    struct shmemi_binding binding;
    struct shmemi_key key; /* known to the PEs of this job only: messages carry it */
    unsigned generation;   /* how many times this process has initialised */
};

extern struct shmemi_job shmemi_job;

/* open gets the number of this PE from the bootstrap; form_nodes, after the settings were read, finds out which PEs
 * form its node (SHMEM_NODE_SIZE). Two steps, because errors in the settings are reported with the PE's number. */
int shmemi_job_open(void);
int shmemi_job_form_nodes(void);
void shmemi_job_close(void);

/* What the PEs tell each other through the launcher. Before its fence the lowest PE of each node publishes the number of
 * the socket that hands out the node's memory and the name of its machine, and PE 0 the job's key; a PE that cannot
 * start publishes 0, whichever it is. After the fence each PE learns the key, and the number that the lowest PE of its
 * node has published; a PE whose machine has a name, also which of the other nodes are on it. */
int shmemi_job_publish(uint64_t socket, bool has_failed);
int shmemi_job_learn(uint64_t *socket_p);

/* What a PE of this host, on another node, is bound to. 0 or -errno. */
int shmemi_job_binding_of(int pe, cpu_set_t *cpus);

/* The name of the host on which a PE runs. */
const char *shmemi_job_host_name(int pe);

/* Write the PEs of the host of a PE as "PE 3" or "PEs 4 to 7". */
void shmemi_job_list_host(int pe, char *text, size_t size);

/* Position of a PE among those of this node, or -1 when it is on another node. */
int shmemi_job_node_rank_of(int pe);

/* Make the PEs that node_pes lists quick to find, for shmemi_job_node_rank_of: part of form_nodes. -ENOMEM. */
int shmemi_job_index_node(void);

/* Numbers of the regions that every job has; mapped objects follow. The same on every PE. */
enum {
    SHMEMI_REGION_HEAP = 0,
    SHMEMI_REGION_STATIC = 1,
    SHMEMI_REGION_FIRST_MAPPED = 2,
    SHMEMI_REGION_NONE = INT32_MAX, /* of what is not, or no longer, known to the lookup */
};

#endif
