/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Start without a launcher: the PEs of a job meet at a server, a thread of one process, and keep their connections to it
 * until all have finalised. What a launcher does otherwise the server does: it gathers what the PEs publish, tells who is
 * missing, and ends the job when a connection breaks. It is a star: made for some hundreds of PEs.
 *
 * Who does not know the key is refused (rendezvous_wire.h), whatever he sends or does not send; the server stops
 * listening as soon as all PEs have come.
 */
#ifndef SHMEMI_RENDEZVOUS_H
#define SHMEMI_RENDEZVOUS_H

#include "bootstrap/rendezvous/venue.h"
#include "bootstrap/rendezvous/rendezvous_wire.h"

/* Start a server for one job, behind a descriptor that listens, which becomes the server's. 0 or -errno, logged. */
int shmemi_rendezvous_serve(int listener, const struct shmemi_key *key);

/* Does a server with this key run in this process? Any thread. */
bool shmemi_rendezvous_is_here(const struct shmemi_key *key);

/* The proof of an entry or, where that is NULL, of a challenge; the nonces are of the greeting and of the challenge, the port
 * is the server's, or 0: it has a name instead. */
struct shmemi_key shmemi_rendezvous_proof(const struct shmemi_key *key, const struct shmemi_key nonce[2], uint16_t port,
                                          const struct shmemi_entry *entry);

enum { SHMEMI_VENUES_MAX = 64 };

/* What a PE needs to come to its job. */
struct shmemi_ticket {
    struct shmemi_key key;
    int pe, n_pes;
    bool is_host;    /* this process has the server */
    bool is_patient; /* the server may come later: try for as long as shmem_init may take */
    int n_venues;
    struct shmemi_venue venues[SHMEMI_VENUES_MAX]; /* the server is at one of them */
};

/* Enter the job; then members of struct shmemi_bootstrap. 0 or -errno, logged. */
int shmemi_rendezvous_join(const struct shmemi_ticket *ticket);
void shmemi_rendezvous_close(void);
void shmemi_rendezvous_abort(int status);
#define SHMEMI_RENDEZVOUS_MEMBERS                                                                                      \
    .close = shmemi_rendezvous_close, SHMEMI_GATHER_MEMBERS, .abort = shmemi_rendezvous_abort

#endif
