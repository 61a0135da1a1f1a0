/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A large job, played: the PEs of its first node are real processes with the library's real code, and UCX with real
 * endpoints and keys; all other PEs are played by these processes themselves.
 *
 * The bootstrap gives a PE its own network address as that of each PE of another node. So a message to any of them comes
 * back, and all copies of a symmetric object on other nodes are this PE's own: what it puts there arrives in its own
 * memory, at the same offset. Where leaders of nodes wait for each other in a ring or a dissemination, each writes the
 * same words into the memory of the next as it expects from the one before, so they find what they wait for. Reductions
 * between nodes complete only if the number of nodes is a power of two, and their results mean nothing.
 */
#ifndef PLAYED_H
#define PLAYED_H

/* The job: n_pes PEs in nodes of per_node PEs each, the last one may have fewer. Call it before shmem_init; it forks
 * per_node - 1 processes and returns in all of them. */
void played_job(int n_pes, int per_node);

/* The endpoints that this process has made so far, and the operations that it has given to UCX. */
int played_endpoints(void);
long played_operations(void);

#endif
