/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of a PE's end of a rendezvous share.
 */
#ifndef SHMEMI_RENDEZVOUS_CLIENT_H
#define SHMEMI_RENDEZVOUS_CLIENT_H

#include "bootstrap/rendezvous/rendezvous.h"

/* Find the server among the places of a ticket, and be let in. The descriptor, which blocks, or -errno, logged. */
int shmemi_rendezvous_enter(const struct shmemi_ticket *ticket);
/* Log why the job ends. */
void shmemi_rendezvous_tell_end(const struct shmemi_end_of_job *end);

#endif
