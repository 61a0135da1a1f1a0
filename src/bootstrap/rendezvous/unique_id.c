/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Unique ids: their 128 bytes, and the bootstrap that they give.
 */
#include "bootstrap/rendezvous/unique_id.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/settings.h"
#include "bootstrap/bootstrap.h"
#include "bootstrap/rendezvous/kept_sockets.h"
#include "bootstrap/rendezvous/rendezvous.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { ADDRESSES_MAX = 6, ADDRESS_BYTES = 16 };

/* Its last byte is the version of the structure. */
static const uint32_t magic = 0x53484d01;

/* What the bytes are. Numbers are in the order of the machine, which all PEs share. */
struct unique_id {
    uint32_t magic;
    uint16_t port;
    uint8_t n_addresses;
    uint8_t padding;
    struct shmemi_key key;
    struct {
        uint8_t is_ipv6, bytes[ADDRESS_BYTES];
    } address[ADDRESSES_MAX];
    uint8_t unused[2];
};

static_assert(sizeof(struct unique_id) == SHMEMI_UNIQUE_ID_BYTES, "as the program has room for");

static struct {
    bool is_used;
    struct shmemi_ticket ticket;
} start;

/* ---- Making one -------------------------------------------------------------------------------------------------- */

/* At one address, if the user wants so; else at all that the machine has. IPv6 may be switched off. */
static int listen_at(const struct shmemi_venue *first, bool is_only)
{
    const struct shmemi_venue all = shmemi_venue_everywhere(AF_INET6), ipv4 = shmemi_venue_everywhere(AF_INET);
    int fd = shmemi_venue_listen(is_only ? first : &all);
    if (fd < 0 && !is_only)
        fd = shmemi_venue_listen(&ipv4);
    if (fd < 0) {
        errno = -fd;
        shmemi_error("cannot listen for PEs: %m%s", shmemi_remedy(-fd));
    }
    return fd;
}

static void add_address(struct unique_id *id, const struct shmemi_venue *venue)
{
    const bool is_ipv6 = venue->address.any.sa_family == AF_INET6;
    id->address[id->n_addresses].is_ipv6 = is_ipv6;
    memcpy(id->address[id->n_addresses++].bytes, shmemi_venue_bytes(venue), is_ipv6 ? 16 : 4);
}

int shmemi_unique_id_make(unsigned char bytes[SHMEMI_UNIQUE_ID_BYTES])
{
    struct unique_id id = {.magic = magic};
    struct shmemi_venue venues[ADDRESSES_MAX];
    if (!shmemi_settings.map_window) /* nothing has read the settings yet */
        shmemi_settings_preview();
    const bool is_only = *shmemi_settings.rendezvous_interface;
    int n = shmemi_venue_list_own(venues, is_only ? 1 : ADDRESSES_MAX), rc = n < 0 ? n : shmemi_key_make(&id.key);
    if (rc)
        return rc;
    int listener = listen_at(&venues[0], is_only);
    if (listener < 0)
        return listener;
    id.port = shmemi_venue_port(listener);
    for (int i = 0; i < n; i++)
        add_address(&id, &venues[i]);
    rc = shmemi_rendezvous_serve(listener, &id.key);
    if (rc)
        return rc;
    memcpy(bytes, &id, sizeof id);
    return 0;
}

/* ---- Using one --------------------------------------------------------------------------------------------------- */

const char *shmemi_unique_id_fault(const unsigned char bytes[SHMEMI_UNIQUE_ID_BYTES])
{
    struct unique_id id;
    memcpy(&id, bytes, sizeof id);
    if ((id.magic ^ magic) >> 8)
        return "it is not what shmemx_get_uniqueid has given";
    if (id.magic != magic)
        return "another version of MapSHMEM has made it";
    bool is_sound = id.port && id.n_addresses && id.n_addresses <= ADDRESSES_MAX;
    for (int i = 0; is_sound && i < id.n_addresses; i++)
        is_sound = id.address[i].is_ipv6 <= 1;
    return is_sound ? NULL : "it has been changed on its way";
}

void shmemi_unique_id_use(const unsigned char bytes[SHMEMI_UNIQUE_ID_BYTES], int pe, int n_pes)
{
    struct unique_id id;
    memcpy(&id, bytes, sizeof id);
    start.is_used = true;
    start.ticket = (struct shmemi_ticket){
        .key = id.key,
        .pe = pe,
        .n_pes = n_pes,
        .is_host = shmemi_rendezvous_is_here(&id.key),
        .n_venues = id.n_addresses,
    };
    for (int i = 0; i < id.n_addresses; i++)
        start.ticket.venues[i] =
            shmemi_venue_at(id.address[i].is_ipv6 ? AF_INET6 : AF_INET, id.address[i].bytes, id.port);
}

bool shmemi_unique_id_is_used(void)
{
    return start.is_used;
}

static int unique_id_open(int *pe_p, int *n_pes_p)
{
    start.is_used = false;
    shmemi_log_set_pe(start.ticket.pe);
    int rc = shmemi_rendezvous_join(&start.ticket);
    *pe_p = start.ticket.pe;
    *n_pes_p = start.ticket.n_pes;
    return rc;
}

const struct shmemi_bootstrap shmemi_bootstrap_unique_id = {
    .name = "unique id",
    .open = unique_id_open,
    SHMEMI_RENDEZVOUS_MEMBERS,
};
