/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Addresses, listening and connecting.
 */
#define _GNU_SOURCE
#include "bootstrap/rendezvous/venue.h"

#include "base/log.h"
#include "base/settings.h"
#include "base/system/own_peer.h"
#include "bootstrap/rendezvous/kept_sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct shmemi_venue shmemi_venue_at(int family, const void *bytes, uint16_t port)
{
    struct shmemi_venue venue = {.length = 0};
    if (family == AF_INET) {
        struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
        memcpy(&in.sin_addr, bytes, sizeof in.sin_addr);
        memcpy(&venue.address, &in, venue.length = sizeof in);
    } else {
        struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
        memcpy(&in6.sin6_addr, bytes, sizeof in6.sin6_addr);
        memcpy(&venue.address, &in6, venue.length = sizeof in6);
    }
    return venue;
}

struct shmemi_venue shmemi_venue_named(uint64_t name, unsigned number)
{
    struct shmemi_venue venue = {.address.local.sun_family = AF_UNIX};
    char *path = venue.address.local.sun_path;
    int length = snprintf(path + 1, sizeof venue.address.local.sun_path - 1, "mapshmem-start-%016llx-%u",
                          (unsigned long long)name, number);
    venue.length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    return venue;
}

struct shmemi_venue shmemi_venue_everywhere(int family)
{
    static const unsigned char any[16];
    return shmemi_venue_at(family, any, 0);
}

static uint16_t *port_of(union shmemi_address *address)
{
    return address->any.sa_family == AF_INET    ? &((struct sockaddr_in *)address)->sin_port
           : address->any.sa_family == AF_INET6 ? &((struct sockaddr_in6 *)address)->sin6_port
                                                : NULL;
}

void shmemi_venue_set_port(struct shmemi_venue *venue, uint16_t port)
{
    *port_of(&venue->address) = htons(port);
}

uint16_t shmemi_venue_port_of(const struct shmemi_venue *venue)
{
    struct shmemi_venue copy = *venue;
    const uint16_t *port = port_of(&copy.address);
    return port ? ntohs(*port) : 0;
}

uint16_t shmemi_venue_port(int fd)
{
    struct shmemi_venue venue = {.address.any.sa_family = AF_UNSPEC, .length = sizeof venue.address};
    return getsockname(fd, &venue.address.any, &venue.length) ? 0 : shmemi_venue_port_of(&venue);
}

static const void *bytes_of(const struct sockaddr *address)
{
    return address->sa_family == AF_INET ? (const void *)&((const struct sockaddr_in *)(const void *)address)->sin_addr
           : address->sa_family == AF_INET6
               ? (const void *)&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr
               : NULL;
}

const void *shmemi_venue_bytes(const struct shmemi_venue *venue)
{
    return bytes_of(&venue->address.any);
}

const char *shmemi_venue_text(const struct shmemi_venue *venue, char *text, size_t size)
{
    char host[INET6_ADDRSTRLEN] = "";
    const void *bytes = shmemi_venue_bytes(venue);
    if (bytes && inet_ntop(venue->address.any.sa_family, bytes, host, sizeof host))
        snprintf(text, size, "%s port %u", host, shmemi_venue_port_of(venue));
    else
        snprintf(text, size, "the socket @%s", venue->address.local.sun_path + 1);
    return text;
}

/* ---- This machine's addresses ------------------------------------------------------------------------------------ */

/* Addresses that are valid on one link only would need its number, which is another one on each host. */
static const void *usable_bytes(const struct sockaddr *address)
{
    const void *bytes = address ? bytes_of(address) : NULL;
    return bytes && address->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL((const struct in6_addr *)bytes) ? NULL
                                                                                                            : bytes;
}

static bool is_wanted(const struct ifaddrs *interface, const char *name, bool takes_loopback)
{
    if (*name)
        return !strcmp(interface->ifa_name, name);
    return interface->ifa_flags & IFF_UP && !(interface->ifa_flags & IFF_LOOPBACK) == !takes_loopback;
}

/* Add the addresses of a family. The number of places. */
static int add_own(const struct ifaddrs *list, int family, bool takes_loopback, struct shmemi_venue *venues, int n,
                   int most)
{
    for (; list && n < most; list = list->ifa_next) {
        const void *bytes = usable_bytes(list->ifa_addr);
        if (bytes && list->ifa_addr->sa_family == family &&
            is_wanted(list, shmemi_settings.rendezvous_interface, takes_loopback))
            venues[n++] = shmemi_venue_at(family, bytes, 0);
    }
    return n;
}

int shmemi_venue_list_own(struct shmemi_venue *venues, int most)
{
    struct ifaddrs *list = NULL;
    int n = 0;
    if (getifaddrs(&list)) {
        int rc = -errno;
        shmemi_error("cannot list the addresses of this machine: %m");
        return rc;
    }
    for (int takes_loopback = 0; !n && takes_loopback < 2; takes_loopback++) {
        n = add_own(list, AF_INET, takes_loopback, venues, n, most);
        n = add_own(list, AF_INET6, takes_loopback, venues, n, most);
    }
    freeifaddrs(list);
    if (n)
        return n;
    shmemi_error("there is no address at which PEs could meet%s%s; 'ip address' lists what there is",
                 *shmemi_settings.rendezvous_interface ? ": SHMEM_RENDEZVOUS_INTERFACE=" : "",
                 shmemi_settings.rendezvous_interface);
    return -EADDRNOTAVAIL;
}

/* ---- Connections ------------------------------------------------------------------------------------------------- */

bool shmemi_venue_may_trust(int fd)
{
    int family = 0;
    socklen_t size = sizeof family;
    return !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size) && (family != AF_UNIX || shmemi_peer_is_own(fd));
}

/* An IPv6 socket that listens everywhere takes IPv4 as well. */
int shmemi_venue_listen(const struct shmemi_venue *venue)
{
    enum { BACKLOG = 4096 };
    const int on = 1, off = 0;
    int fd = shmemi_kept_socket(venue->address.any.sa_family);
    if (fd < 0)
        return fd;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (!bind(fd, &venue->address.any, venue->length) && !listen(fd, BACKLOG))
        return fd;
    int rc = -errno;
    shmemi_kept_close(fd);
    return rc;
}

static int finish_connect(int fd, int milliseconds)
{
    struct pollfd output = {.fd = fd, .events = POLLOUT};
    int error = 0;
    socklen_t size = sizeof error;
    int n = TEMP_FAILURE_RETRY(poll(&output, 1, milliseconds));
    if (n <= 0)
        return n ? -errno : -ETIMEDOUT;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) ? -errno : -error;
}

int shmemi_venue_connect(const struct shmemi_venue *venue, int milliseconds)
{
    const int on = 1;
    int fd = shmemi_kept_socket(venue->address.any.sa_family);
    if (fd < 0)
        return fd;
    int rc = connect(fd, &venue->address.any, venue->length) ? -errno : 0;
    if (rc == -EINPROGRESS)
        rc = finish_connect(fd, milliseconds);
    if (!rc && !shmemi_venue_may_trust(fd))
        rc = -EPERM;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (!rc)
        return fd;
    shmemi_kept_close(fd);
    return rc;
}

void shmemi_venue_watch(int fd)
{
    enum { PROBES = 3 };
    const int on = 1, probes = PROBES, seconds = (int)shmemi_settings.peer_timeout;
    const int interval = seconds / (PROBES + 1) > 0 ? seconds / (PROBES + 1) : 1;
    const unsigned unanswered = (unsigned)seconds * 1000;
    if (!seconds)
        return;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &interval, sizeof interval);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered, sizeof unanswered);
}
