/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The server of a rendezvous: who may enter, what members say, and how the job ends.
 */
#include "bootstrap/rendezvous/rendezvous_server.h"

#include "base/clock.h"
#include "base/limits.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { FAREWELL_SECONDS = 5 };

struct shmemi_key shmemi_rendezvous_proof(const struct shmemi_key *key, const struct shmemi_key nonce[2], uint16_t port,
                                          const struct shmemi_entry *entry)
{
    struct {
        struct shmemi_key nonce[2];
        uint32_t port, is_entry, pe, n_pes, is_host;
        uint32_t padding; /* 0, as all of it is hashed */
    } proven = {.nonce = {nonce[0], nonce[1]}, .port = port, .is_entry = entry != NULL};
    if (entry) {
        proven.pe = entry->pe;
        proven.n_pes = entry->n_pes;
        proven.is_host = entry->is_host;
    }
    return shmemi_keyed_hash(key, &proven, sizeof proven);
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

/* All get it but the host, which gets it last. From now on nobody enters, and what members say counts no more. */
static void say_farewell(struct shmemi_rendezvous_server *server, struct shmemi_parcel *parcel)
{
    server->farewell = parcel;
    server->end = shmemi_clock() + FAREWELL_SECONDS * UINT64_C(1000000000);
    for (int pe = 0; parcel && pe < server->n_pes; pe++)
        if (server->members[pe] && !server->members[pe]->is_host)
            shmemi_visitor_send(server->members[pe], parcel);
}

static struct shmemi_parcel *end_parcel(const struct shmemi_end_of_job *end)
{
    struct shmemi_parcel *parcel = shmemi_parcel_frame(SHMEMI_FRAME_END, sizeof *end);
    if (parcel)
        memcpy(shmemi_parcel_body(parcel), end, sizeof *end);
    return parcel;
}

/* The lowest PE that is there, and has not itself ended the job. */
static int teller_of(const struct shmemi_rendezvous_server *server, const struct shmemi_end_of_job *end)
{
    for (int pe = 0; pe < server->n_pes; pe++)
        if (server->members[pe] && (pe != end->pe || end->reason != SHMEMI_END_STATUS))
            return pe;
    return -1;
}

/* Without memory for the message all connections end, which ends the job, too. */
static void end_job(struct shmemi_rendezvous_server *server, struct shmemi_end_of_job end)
{
    end.teller = teller_of(server, &end);
    if (!server->end)
        say_farewell(server, end_parcel(&end));
}

bool shmemi_server_is_over(struct shmemi_rendezvous_server *server)
{
    struct shmemi_visitor *host = NULL;
    bool all_have_it = true;
    for (int pe = 0; pe < server->n_pes; pe++) {
        struct shmemi_visitor *member = server->members[pe];
        if (member && member->is_host)
            host = member;
        else if (member)
            all_have_it = all_have_it && !member->n_queued;
    }
    const bool is_late = shmemi_clock() > server->end;
    if (host && !server->host_has_farewell && (all_have_it || is_late) && server->farewell) {
        server->host_has_farewell = true;
        shmemi_visitor_send(host, server->farewell);
    }
    return is_late || (all_have_it && (!host || !host->n_queued));
}

void shmemi_server_lose(struct shmemi_rendezvous_server *server, struct shmemi_visitor *visitor)
{
    const struct shmemi_end_of_job end = {.reason = SHMEMI_END_LOST, .pe = visitor->pe};
    if (visitor->pe < 0)
        return;
    server->members[visitor->pe] = NULL;
    if (!visitor->has_left)
        end_job(server, end);
}

/* ---- Entering ---------------------------------------------------------------------------------------------------- */

static int challenge(const struct shmemi_rendezvous_server *server, struct shmemi_visitor *visitor)
{
    const struct shmemi_greeting *greeting = &visitor->head.greeting;
    struct shmemi_challenge answer;
    if (greeting->magic != SHMEMI_GREETING_MAGIC)
        return -EPROTO;
    visitor->nonce[0] = greeting->nonce;
    if (getrandom(&visitor->nonce[1], sizeof visitor->nonce[1], 0) != (ssize_t)sizeof visitor->nonce[1])
        return -EIO;
    answer.nonce = visitor->nonce[1];
    answer.proof = shmemi_rendezvous_proof(&server->key, visitor->nonce, shmemi_venue_port(visitor->fd), NULL);
    visitor->stage = SHMEMI_VISITOR_CHALLENGED;
    /* So little always fits into a connection on which nothing was sent before. */
    return send(visitor->fd, &answer, sizeof answer, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof answer ? 0 : -EIO;
}

static bool is_proven(const struct shmemi_rendezvous_server *server, const struct shmemi_visitor *visitor)
{
    const struct shmemi_entry *entry = &visitor->head.entry;
    const struct shmemi_key proof =
        shmemi_rendezvous_proof(&server->key, visitor->nonce, shmemi_venue_port(visitor->fd), entry);
    return shmemi_key_equals(&proof, &entry->proof) && entry->n_pes > 0 && entry->n_pes <= INT_MAX &&
           entry->pe < entry->n_pes;
}

/* What speaks against an entry; 0: nothing. */
static uint32_t objection_to(struct shmemi_rendezvous_server *server, const struct shmemi_entry *entry)
{
    if (!server->n_pes) {
        server->members = calloc(entry->n_pes, sizeof(struct shmemi_visitor *));
        server->n_pes = server->members ? (int)entry->n_pes : 0;
        shmemi_descriptors_reserve((size_t)server->n_pes);
    }
    if (!server->n_pes)
        return SHMEMI_END_NO_MEMORY;
    if ((int)entry->n_pes != server->n_pes)
        return SHMEMI_END_N_PES;
    return server->members[entry->pe] || server->n_members == server->n_pes ? SHMEMI_END_TWICE : 0;
}

/* One process of the job that was started wrongly makes the job impossible: all learn it at once. */
static int admit(struct shmemi_rendezvous_server *server, struct shmemi_visitor *visitor)
{
    const struct shmemi_entry entry = visitor->head.entry;
    if (!is_proven(server, visitor))
        return -EACCES;
    const struct shmemi_end_of_job end = {.reason = objection_to(server, &entry),
                                          .pe = (int32_t)entry.pe,
                                          .value = (int32_t)entry.n_pes,
                                          .other = server->n_pes};
    struct shmemi_parcel *parcel = end.reason ? end_parcel(&end) : shmemi_parcel_frame(SHMEMI_FRAME_WELCOME, 0);
    int rc = parcel ? shmemi_visitor_send(visitor, parcel) : -ENOMEM;
    shmemi_parcel_drop(parcel);
    if (end.reason)
        end_job(server, end);
    if (rc || end.reason)
        return rc ? rc : -EINVAL;
    visitor->stage = SHMEMI_VISITOR_MEMBER;
    visitor->pe = (int)entry.pe;
    visitor->is_host = entry.is_host;
    server->members[entry.pe] = visitor;
    server->n_members++;
    return 0;
}

/* ---- What members say -------------------------------------------------------------------------------------------- */

static int host_of(const struct shmemi_rendezvous_server *server)
{
    for (int pe = 0; pe < server->n_pes; pe++)
        if (server->members[pe] && server->members[pe]->is_host)
            return pe;
    return -1;
}

/* NULL: no memory, or more than a frame may have. */
static struct shmemi_parcel *gathered_parcel(const struct shmemi_rendezvous_server *server)
{
    const struct shmemi_gathered_head head = {host_of(server), (uint32_t)server->n_pes};
    size_t size = sizeof head + (size_t)server->n_pes * sizeof(uint32_t);
    for (int pe = 0; pe < server->n_pes; pe++)
        size += server->members[pe]->contribution_size;
    struct shmemi_parcel *parcel = size <= INT_MAX ? shmemi_parcel_frame(SHMEMI_FRAME_GATHERED, size) : NULL;
    if (!parcel)
        return NULL;
    unsigned char *sizes = shmemi_parcel_body(parcel) + sizeof head;
    unsigned char *bytes = sizes + (size_t)server->n_pes * sizeof(uint32_t);
    memcpy(shmemi_parcel_body(parcel), &head, sizeof head);
    for (int pe = 0; pe < server->n_pes; pe++) {
        const struct shmemi_visitor *member = server->members[pe];
        const uint32_t n = (uint32_t)member->contribution_size;
        memcpy(sizes + (size_t)pe * sizeof n, &n, sizeof n);
        memcpy(bytes, member->contribution, n);
        bytes += n;
    }
    return parcel;
}

/* All have come and contributed. A connection that ends meanwhile is noticed when it is read. */
static void finish_round(struct shmemi_rendezvous_server *server)
{
    const struct shmemi_end_of_job no_memory = {.reason = SHMEMI_END_NO_MEMORY, .pe = host_of(server)};
    struct shmemi_parcel *parcel = gathered_parcel(server);
    if (!parcel)
        end_job(server, no_memory);
    server->n_contributions = 0;
    for (int pe = 0; parcel && pe < server->n_pes; pe++) {
        struct shmemi_visitor *member = server->members[pe];
        free(member->contribution);
        member->contribution = NULL;
        member->has_contributed = false;
        shmemi_visitor_send(member, parcel);
    }
    shmemi_parcel_drop(parcel);
}

/* Others start, and would wait for a PE that has left. */
static int end_without(struct shmemi_rendezvous_server *server, int pe)
{
    const struct shmemi_end_of_job end = {.reason = SHMEMI_END_LEFT, .pe = pe};
    end_job(server, end);
    return 0;
}

static int take_contribution(struct shmemi_rendezvous_server *server, struct shmemi_visitor *member)
{
    if (member->has_contributed || member->has_left)
        return -EPROTO;
    if (server->n_left)
        return end_without(server, server->last_left);
    member->has_contributed = true;
    member->contribution = member->body;
    member->contribution_size = member->head.frame.size;
    member->body = NULL;
    if (++server->n_contributions == server->n_pes)
        finish_round(server);
    return 0;
}

/* Who has come: to the rendezvous, or, if all have, to the round that is under way. */
static int tell_present(const struct shmemi_rendezvous_server *server, struct shmemi_visitor *member)
{
    struct shmemi_parcel *parcel = shmemi_parcel_frame(SHMEMI_FRAME_PRESENT, (size_t)server->n_pes);
    if (!parcel)
        return -ENOMEM;
    for (int pe = 0; pe < server->n_pes; pe++) {
        const struct shmemi_visitor *other = server->members[pe];
        shmemi_parcel_body(parcel)[pe] = other && (server->n_members < server->n_pes || other->has_contributed);
    }
    int rc = shmemi_visitor_send(member, parcel);
    shmemi_parcel_drop(parcel);
    return rc;
}

static int take_leave(struct shmemi_rendezvous_server *server, struct shmemi_visitor *member)
{
    if (member->has_left)
        return -EPROTO;
    if (server->n_members < server->n_pes || server->n_contributions)
        return end_without(server, member->pe);
    member->has_left = true;
    server->last_left = member->pe;
    if (++server->n_left == server->n_pes && !server->end)
        say_farewell(server, shmemi_parcel_frame(SHMEMI_FRAME_BYE, 0));
    return 0;
}

static int take_end(struct shmemi_rendezvous_server *server, const struct shmemi_visitor *member)
{
    struct shmemi_end_of_job end;
    if (member->head.frame.size != sizeof end)
        return -EPROTO;
    memcpy(&end, member->body, sizeof end);
    end.reason = SHMEMI_END_STATUS;
    end.pe = member->pe;
    end_job(server, end);
    return 0;
}

static int hear_member(struct shmemi_rendezvous_server *server, struct shmemi_visitor *member)
{
    switch (member->head.frame.kind) {
    case SHMEMI_FRAME_GATHER:
        return take_contribution(server, member);
    case SHMEMI_FRAME_ASK:
        return tell_present(server, member);
    case SHMEMI_FRAME_LEAVE:
        return take_leave(server, member);
    case SHMEMI_FRAME_END:
        return take_end(server, member);
    default:
        return -EPROTO;
    }
}

int shmemi_server_hear(struct shmemi_rendezvous_server *server, struct shmemi_visitor *visitor)
{
    if (visitor->stage == SHMEMI_VISITOR_NEW)
        return challenge(server, visitor);
    if (visitor->stage == SHMEMI_VISITOR_CHALLENGED)
        return admit(server, visitor);
    return server->end ? 0 : hear_member(server, visitor);
}
