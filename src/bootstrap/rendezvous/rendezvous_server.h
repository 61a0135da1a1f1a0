/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the server share: its state, which only its thread uses.
 */
#ifndef SHMEMI_RENDEZVOUS_SERVER_H
#define SHMEMI_RENDEZVOUS_SERVER_H

#include "bootstrap/rendezvous/rendezvous.h"
#include "bootstrap/rendezvous/visitor.h"

#include <poll.h>
#include <sys/types.h>

struct shmemi_rendezvous_server {
    struct shmemi_rendezvous_server *next; /* of this process */
    pid_t process;
    struct shmemi_key key;
    int listener; /* -1: all have come, or the job ends */
    struct shmemi_visitor **visitors;
    struct pollfd *polls; /* one for each visitor, and for the listener behind them */
    int n, room;
    bool is_full; /* no further visitor fits */

    int n_pes;                       /* as the first member says; 0 before */
    struct shmemi_visitor **members; /* by PE; NULL: has not come, or its connection has ended */
    int n_members, n_contributions, n_left;
    int last_left; /* one that has left */

    struct shmemi_parcel *farewell; /* the last that all get: BYE, or why the job ends */
    bool host_has_farewell;
    uint64_t end; /* when the server ends at the latest, by shmemi_clock */
};

/* Take care of what a visitor has sent, which is whole. -errno: drop the visitor. */
int shmemi_server_hear(struct shmemi_rendezvous_server *server, struct shmemi_visitor *visitor);
/* A member's connection has ended. */
void shmemi_server_lose(struct shmemi_rendezvous_server *server, struct shmemi_visitor *visitor);
/* After a farewell: the host gets it when the others have it, since its process may then end. True when all have. */
bool shmemi_server_is_over(struct shmemi_rendezvous_server *server);

#endif
