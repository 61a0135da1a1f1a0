/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What kernels do not do themselves (shmemx_device.h): they write it into the ring that device_types.h describes.
 */
#ifndef MAPSHMEM_DEVICE_RING_H
#define MAPSHMEM_DEVICE_RING_H

namespace shmemi_device
{

SHMEMI_DEVICE shmemi_device_entry *entry_of(const shmemi_device_ring *ring, word ticket)
{
    return &ring->entries[ticket & (ring->n_entries - 1)];
}

SHMEMI_DEVICE char *slot_of(const shmemi_device_ring *ring, word ticket)
{
    return ring->slots + (ticket & (ring->n_entries - 1)) * ring->slot_bytes;
}

/* The agent raises a word in memory of the host, where reads follow each other, a microsecond each, and whatever else the
 * GPU does there comes behind them: so one thread looks there at a time, most often the one that waits for the next step,
 * and the others see what it has seen. Returns how many steps are left.
 *
 * Nothing here may become a branch: while threads of a warp waited in a loop with branches inside, another one of the warp
 * never came to send the entry before theirs. */
SHMEMI_DEVICE long long look_far(shmemi_device_far_word *far, const word *at, word until, long long left)
{
    enum { ns_per_step = 64, ns_of_look_most = 100000 };
    const word now = clock_ns(), last = load_relaxed(&far->last_look);
    const bool is_due = static_cast<long long>(now - last) >= left * ns_per_step;
    const bool looks = replace_near(&far->last_look, is_due ? last : ~last, now + ns_of_look_most) && is_due;
    const word seen = load_acquire(looks ? at : &far->seen);
    fence_near();
    if (looks)
        store_after_fence(&far->seen, seen);
    const word end = clock_ns();
    if (looks)
        store_relaxed(&far->last_look, end);
    return static_cast<long long>(until - seen);
}

SHMEMI_DEVICE void await_far(shmemi_device_far_word *far, word until)
{
    const word *at = load_plain<const word *>(reinterpret_cast<const char *>(&far->at));
    long long left = static_cast<long long>(until - load_acquire(&far->seen));
    patience waiting;
    SHMEMI_DEVICE_AS_IT_IS
    while (left > 0) {
        waiting.relax();
        left = look_far(far, at, until, left);
    }
}

/* Wait until the entry of a ticket, and so those of all before it, are free. */
SHMEMI_DEVICE void wait_free(shmemi_device_ring *ring, word ticket)
{
    await_far(&ring->freed, ticket + 1 - ring->n_entries);
}

/* Takes n tickets for threads of a warp that are here together, waits until their entries are free, and returns the first.
 * They wait together: if one waited while another had not written its own entry, the agent would stop at that. */
SHMEMI_DEVICE word take_tickets(shmemi_device_ring *ring, const companions &here, unsigned n)
{
    word first = 0;
    if (here.rank() == 0) {
        first = fetch_add(&ring->tail, static_cast<word>(n));
        wait_free(ring, first + n - 1);
    }
    return here.share(first);
}

SHMEMI_DEVICE word take_ticket(shmemi_device_ring *ring)
{
    const companions here;
    return take_tickets(ring, here, here.size()) + here.rank();
}

/* The entry's members are set; so is the slot, by threads that have met this one since. */
SHMEMI_DEVICE void send_entry(shmemi_device_entry *entry, word ticket)
{
    store_release(&entry->sequence, ticket + 1);
}

/* Threads of a warp that begin this wait together may end it at different times. A version in which they waited for each
 * other at its end hung in random programs; the cause is not known (bench/log/kernels.md). */
SHMEMI_DEVICE void wait_done(shmemi_device_ring *ring, word ticket)
{
    await_far(&ring->done, ticket + 1);
}

/* Is anything under way, as far as is known here, that kernels of this PE have sent? Two words of this GPU's memory, which
 * are there by the end of a fence that follows. */
SHMEMI_DEVICE bool is_behind(const shmemi_device_ring *ring)
{
    const word sent = load_before_fence(&ring->tail);
    return static_cast<long long>(sent - load_before_fence(&ring->done.seen)) > 0;
}

/* Wait until everything is complete that kernels of this PE have sent, whatever object it is for. */
SHMEMI_DEVICE_RARE void drain(shmemi_device_ring *ring)
{
    await_far(&ring->done, load_relaxed(&ring->tail));
    fence_system();
}

/* A fence of the thread: what it has stored or seen is in place before anything that it does after. If it looks, what kernels
 * of this PE have handed to the agent is in place, too. */
SHMEMI_DEVICE void complete(shmemi_device_ring *ring, bool looks)
{
    const bool waits = looks && is_behind(ring);
    fence_system();
    if (waits)
        drain(ring);
}

/* The slot has been read. */
SHMEMI_DEVICE void give_entry(shmemi_device_ring *ring, word ticket)
{
    store_release(&entry_of(ring, ticket)->sequence, static_cast<word>(0));
}

SHMEMI_DEVICE shmemi_device_ring *ring_to(const shmemx_device_view_t &view, int pe)
{
    return static_cast<unsigned>(pe) < static_cast<unsigned>(view.n_pes) ? view.ring : 0;
}

SHMEMI_DEVICE void need(const shmemi_device_ring *ring)
{
    if (!ring)
        give_up("there is no such PE, or no way to it");
}

struct request { /* of an entry; what it needs beside the members below is 0 */
    unsigned what;
    int pe;
    unsigned region, signal_region;
    word offset, local, nbytes, value, extra;
};

SHMEMI_DEVICE request request_to(unsigned what, const shmemx_device_view_t &view, const void *symmetric, word nbytes,
                                 int pe)
{
    request r;
    r.what = what;
    r.pe = pe;
    r.region = r.signal_region = view.region;
    r.offset = static_cast<word>(static_cast<const char *>(symmetric) - view.own);
    r.nbytes = nbytes;
    r.local = r.value = r.extra = 0;
    return r;
}

/* The entry is written in units of 16 bytes, the first without its sequence: the way to it is long. */
SHMEMI_DEVICE void write_entry(shmemi_device_entry *entry, const request &r)
{
    char *at = reinterpret_cast<char *>(entry);
    store_plain<word>(at + 8, r.what | static_cast<word>(static_cast<unsigned>(r.pe)) << 32);
    store_plain<quad>(at + 16, quad{r.region | static_cast<word>(r.signal_region) << 32, r.offset});
    store_plain<quad>(at + 32, quad{r.local, r.nbytes});
    store_plain<quad>(at + 48, quad{r.value, r.extra});
}

SHMEMI_DEVICE void send(const shmemi_device_ring *ring, word ticket, const request &r)
{
    shmemi_device_entry *entry = entry_of(ring, ticket);
    write_entry(entry, r);
    send_entry(entry, ticket);
}

/* Calls that are not inlined get a request as single values: a kernel that makes them only now and then needs no memory
 * of its own (a stack) for it. */
#define SHMEMI_DEVICE_REQUEST                                                                                          \
    unsigned what, int pe, unsigned region, unsigned signal_region, word offset, word nbytes, word value, word extra
#define SHMEMI_DEVICE_VALUES(r) r.what, r.pe, r.region, r.signal_region, r.offset, r.nbytes, r.value, r.extra

SHMEMI_DEVICE request request_of(SHMEMI_DEVICE_REQUEST)
{
    request r;
    r.what = what;
    r.pe = pe;
    r.region = region;
    r.signal_region = signal_region;
    r.offset = offset;
    r.local = 0;
    r.nbytes = nbytes;
    r.value = value;
    r.extra = extra;
    return r;
}

/* By one thread: an operation without bytes in a slot. Returns its ticket. */
SHMEMI_DEVICE word send_one(shmemi_device_ring *ring, const request &r)
{
    need(ring);
    const word ticket = take_ticket(ring);
    send(ring, ticket, r);
    return ticket;
}

SHMEMI_DEVICE_RARE void send_values(shmemi_device_ring *ring, SHMEMI_DEVICE_REQUEST)
{
    send_one(ring, request_of(what, pe, region, signal_region, offset, nbytes, value, extra));
}
SHMEMI_DEVICE void send_alone(shmemi_device_ring *ring, const request &r)
{
    send_values(ring, SHMEMI_DEVICE_VALUES(r));
}

SHMEMI_DEVICE void store_word(char *at, word value, word nbytes)
{
    if (nbytes == 8)
        store_plain<word>(at, value);
    else if (nbytes == 4)
        store_plain<half>(at, static_cast<half>(value));
    else if (nbytes == 2)
        store_plain<unsigned short>(at, static_cast<unsigned short>(value));
    else
        store_plain<unsigned char>(at, static_cast<unsigned char>(value));
}

/* How words that threads of a warp put at the same time travel: by one entry if they are alike, which takes few writes over
 * the long way to the ring. */
enum { words_apart, words_in_list, words_side_by_side };

SHMEMI_DEVICE unsigned way_of_words(const companions &here, int pe, unsigned region, word offset, word nbytes)
{
    const word object = static_cast<word>(static_cast<unsigned>(pe)) << 32 | region;
    if (here.size() < 2 || !here.agree(object) || !here.agree(nbytes))
        return words_apart;
    return here.agree(offset - here.rank() * nbytes) ? words_side_by_side : words_in_list;
}

/* Stores this thread's word in the slot that the words of a warp share. */
SHMEMI_DEVICE void store_in_slot(char *slot, unsigned rank, unsigned way, word offset, word nbytes, word value)
{
    if (way == words_in_list)
        store_plain<quad>(slot + rank * sizeof(shmemi_device_listed), quad{offset, value});
    else
        store_word(slot + rank * nbytes, value, nbytes);
}

/* Hands the words of those threads of a warp that are here together to the agent. */
SHMEMI_DEVICE_RARE void send_word_values(shmemi_device_ring *ring, int pe, unsigned region, word offset, word nbytes,
                                         word value)
{
    const companions here;
    need(ring);
    const unsigned way = way_of_words(here, pe, region, offset, nbytes);
    const bool is_one = way != words_apart;
    unsigned what = SHMEMI_DEVICE_PUT;
    word extra = 0, size = nbytes, ticket = take_tickets(ring, here, is_one ? 1 : here.size());
    if (way == words_apart) {
        what |= SHMEMI_DEVICE_INLINE;
        ticket += here.rank();
    } else {
        store_in_slot(slot_of(ring, ticket), here.rank(), way, offset, nbytes, value);
        what |= way == words_in_list ? static_cast<unsigned>(SHMEMI_DEVICE_LIST) : 0u;
        extra = way == words_in_list ? here.size() : 0;
        size = way == words_in_list ? nbytes : here.size() * nbytes;
    }
    here.sync();
    if (!is_one || here.rank() == 0)
        send(ring, ticket, request_of(what, pe, region, region, offset, size, value, extra));
}
SHMEMI_DEVICE void send_word(shmemi_device_ring *ring, const request &r)
{
    send_word_values(ring, r.pe, r.region, r.offset, r.nbytes, r.value);
}

/* An operation by one thread, which waits for the word that the agent sends back. */
SHMEMI_DEVICE_RARE word fetch_values(shmemi_device_ring *ring, SHMEMI_DEVICE_REQUEST)
{
    what |= SHMEMI_DEVICE_REPLY;
    const word ticket = send_one(ring, request_of(what, pe, region, signal_region, offset, nbytes, value, extra));
    wait_done(ring, ticket);
    const word reply = load_relaxed(reinterpret_cast<const word *>(slot_of(ring, ticket)));
    give_entry(ring, ticket);
    return reply;
}
SHMEMI_DEVICE word send_and_fetch(shmemi_device_ring *ring, const request &r)
{
    return fetch_values(ring, SHMEMI_DEVICE_VALUES(r));
}

template <class GROUP> SHMEMI_DEVICE_TEMPLATE word begin_entry(const GROUP &group, shmemi_device_ring *ring)
{
    group.sync(); /* the agent stops at a ticket that is not sent: nobody here may still wait for one behind it */
    return group.share(group.rank() == 0 ? take_ticket(ring) : 0);
}

/* A put by a group. Bytes that fit into a slot are copied there. The agent reads others where they are; a blocking put then
 * waits until the agent is done. A signal is part of the request. */
template <class GROUP>
SHMEMI_DEVICE_RARE void far_put_values(const GROUP group, shmemi_device_ring *ring, SHMEMI_DEVICE_REQUEST,
                                       const char *source, bool is_blocking)
{
    need(ring);
    const bool fits = nbytes <= ring->slot_bytes;
    const word ticket = begin_entry(group, ring);
    if (group.rank() == 0) { /* at once: no register holds the request while the bytes are copied */
        request r = request_of(what, pe, region, signal_region, offset, nbytes, value, extra);
        r.local = fits ? 0 : reinterpret_cast<word>(source);
        write_entry(entry_of(ring, ticket), r);
    }
    if (fits)
        copy<plain_loads>(group, slot_of(ring, ticket), source, nbytes);
    group.sync();
    if (group.rank() == 0) {
        send_entry(entry_of(ring, ticket), ticket);
        if (!fits && is_blocking)
            wait_done(ring, ticket);
    }
    if (is_blocking)
        group.sync();
}

/* Into a slot, in words, from wherever: of the source, which is near, single bytes are read. Those behind the last one in
 * its word are 0. */
template <class GROUP>
SHMEMI_DEVICE_TEMPLATE void fill_slot(const GROUP &group, char *slot, const char *source, unsigned nbytes)
{
    const unsigned step = sizeof(word);
    SHMEMI_DEVICE_AS_IT_IS
    for (unsigned at = group.rank() * step; at < nbytes; at += group.size() * step) {
        word value = 0;
        SHMEMI_DEVICE_AS_IT_IS
        for (unsigned k = 0; k < step && at + k < nbytes; k++)
            value |= static_cast<word>(load_plain<unsigned char>(source + at + k)) << 8 * k;
        store_plain<word>(slot + at, value);
    }
}

/* A put by a group of more than a slot holds, in pieces of a slot each. It takes few registers, so that calls which never come
 * here need no more for it. */
template <class GROUP>
SHMEMI_DEVICE_RARE void put_by_slots(const GROUP group, shmemi_device_ring *ring, int pe, unsigned region, word offset,
                                     unsigned nbytes, const char *source)
{
    SHMEMI_DEVICE_AS_IT_IS
    while (nbytes) {
        const unsigned n = nbytes < ring->slot_bytes ? nbytes : ring->slot_bytes;
        const word ticket = begin_entry(group, ring);
        fill_slot(group, slot_of(ring, ticket), source, n);
        group.sync();
        if (group.rank() == 0)
            send(ring, ticket, request_of(SHMEMI_DEVICE_PUT, pe, region, region, offset, n, 0, 0));
        offset += n, source += n, nbytes -= n;
    }
}

/* Must these bytes go through slots, however many they are? */
SHMEMI_DEVICE bool needs_slots(const shmemi_device_ring *ring, const void *local, word nbytes)
{
    return ring && nbytes > ring->slot_bytes && !host_reaches(local);
}

template <class GROUP>
SHMEMI_DEVICE_TEMPLATE void far_put(const GROUP &group, shmemi_device_ring *ring, const request &r, const char *source,
                                    bool is_blocking)
{
    if (!needs_slots(ring, source, r.nbytes)) {
        far_put_values(group, ring, SHMEMI_DEVICE_VALUES(r), source, is_blocking);
        return;
    }
    put_by_slots(group, ring, r.pe, r.region, r.offset, static_cast<unsigned>(r.nbytes), source);
    if (r.what != SHMEMI_DEVICE_PUT && group.rank() == 0) /* an entry of its own, since it follows them all */
        send_values(ring, r.what, r.pe, r.region, r.signal_region, r.offset, 0, r.value, r.extra);
}

/* A get by a group, in pieces of a slot each, one after the other. */
template <class GROUP>
SHMEMI_DEVICE_RARE void get_by_slots(const GROUP group, shmemi_device_ring *ring, int pe, unsigned region, word offset,
                                     word nbytes, char *dest)
{
    const unsigned what = static_cast<unsigned>(SHMEMI_DEVICE_GET) | SHMEMI_DEVICE_REPLY;
    SHMEMI_DEVICE_AS_IT_IS
    while (nbytes) {
        const word n = nbytes < ring->slot_bytes ? nbytes : ring->slot_bytes;
        word ticket = 0;
        group.ready();
        if (group.rank() == 0) {
            ticket = send_one(ring, request_of(what, pe, region, region, offset, n, 0, 0));
            wait_done(ring, ticket);
        }
        ticket = group.share(ticket);
        copy_apart<fewer_fresh_loads>(group, dest, slot_of(ring, ticket), n);
        group.sync();
        if (group.rank() == 0)
            give_entry(ring, ticket);
        offset += n, dest += n, nbytes -= n;
    }
}

/* A get by one thread, for which the agent writes to dest. */
SHMEMI_DEVICE_RARE void get_by_agent(shmemi_device_ring *ring, int pe, unsigned region, word offset, word nbytes,
                                     char *dest, bool is_blocking)
{
    request r = request_of(SHMEMI_DEVICE_GET, pe, region, region, offset, nbytes, 0, 0);
    r.local = reinterpret_cast<word>(dest);
    const word ticket = send_one(ring, r);
    if (is_blocking)
        wait_done(ring, ticket);
}

/* A get by a group: by slots if it is short, or if the agent cannot write to dest. */
template <class GROUP>
SHMEMI_DEVICE_TEMPLATE void far_get(const GROUP &group, shmemi_device_ring *ring, const request &r, char *dest,
                                    bool is_blocking)
{
    need(ring);
    if (r.nbytes <= ring->slot_bytes || !host_reaches(dest))
        get_by_slots(group, ring, r.pe, r.region, r.offset, r.nbytes, dest);
    else if (group.rank() == 0)
        get_by_agent(ring, r.pe, r.region, r.offset, r.nbytes, dest, is_blocking);
    if (is_blocking)
        group.sync();
}

#undef SHMEMI_DEVICE_REQUEST
#undef SHMEMI_DEVICE_VALUES

} // namespace shmemi_device

#endif
