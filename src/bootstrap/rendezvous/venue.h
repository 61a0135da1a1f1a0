/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where PEs meet: addresses at which a server listens, over TCP, or by a name of this machine on which the kernel tells
 * whose process is at the other end.
 */
#ifndef SHMEMI_VENUE_H
#define SHMEMI_VENUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/* sockaddr_un is the longest. */
union shmemi_address {
    struct sockaddr any;
    struct sockaddr_un local;
    struct sockaddr_storage room;
};

struct shmemi_venue {
    union shmemi_address address;
    socklen_t length;
};

/* A place at an IPv4 or IPv6 address, of 4 or 16 bytes. */
struct shmemi_venue shmemi_venue_at(int family, const void *bytes, uint16_t port);
/* A place with a name in this machine's (network namespace's) list of names. */
struct shmemi_venue shmemi_venue_named(uint64_t name, unsigned number);

/* The 4 or 16 bytes of its address. */
const void *shmemi_venue_bytes(const struct shmemi_venue *venue);
/* "10.0.0.7 port 4711", or what a name is called. */
const char *shmemi_venue_text(const struct shmemi_venue *venue, char *text, size_t size);

/* The addresses of this machine by which others may reach it: of the interface that SHMEM_RENDEZVOUS_INTERFACE names, or of
 * all that are up; the loopback only when there is nothing else, or when it is named. Their number, at most `most`, or
 * -errno, logged. The ports are 0. */
int shmemi_venue_list_own(struct shmemi_venue *venues, int most);
/* All addresses of this machine, for a server. */
struct shmemi_venue shmemi_venue_everywhere(int family);

/* Listen. The descriptor, or -errno, not logged. */
int shmemi_venue_listen(const struct shmemi_venue *venue);
/* The port of a descriptor's own end, and of a venue; 0: there is none. */
uint16_t shmemi_venue_port(int fd);
uint16_t shmemi_venue_port_of(const struct shmemi_venue *venue);
void shmemi_venue_set_port(struct shmemi_venue *venue, uint16_t port);

/* Connect within so many milliseconds. The descriptor, which does not block, or -errno, not logged; -EPERM: whoever listens
 * there is another user's. */
int shmemi_venue_connect(const struct shmemi_venue *venue, int milliseconds);
/* Let a connection end when the other host has vanished, in about the time of SHMEM_PEER_TIMEOUT. */
void shmemi_venue_watch(int fd);
/* May whoever is at the other end of a connection be of this job? Over TCP nothing is known. */
bool shmemi_venue_may_trust(int fd);

#endif
