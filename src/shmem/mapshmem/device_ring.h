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

/* A ticket whose entry is free. What others have read of the agent's progress is asked first: it is nearer. */
SHMEMI_DEVICE word take_ticket(shmemi_device_ring *ring)
{
    const word ticket = fetch_add(&ring->tail, static_cast<word>(1));
    word freed = load_acquire(&ring->seen_freed);
    while (static_cast<long long>(ticket - freed) >= static_cast<long long>(ring->n_entries)) {
        relax_far();
        freed = load_acquire(ring->freed);
        store_release(&ring->seen_freed, freed);
    }
    return ticket;
}

/* The entry's members are set; so is the slot, by threads that have met this one since. */
SHMEMI_DEVICE void send_entry(shmemi_device_entry *entry, word ticket)
{
    store_release(&entry->sequence, ticket + 1);
}

SHMEMI_DEVICE void wait_done(const shmemi_device_ring *ring, word ticket)
{
    while (static_cast<long long>(load_acquire(ring->done) - ticket) <= 0)
        relax_far();
}

/* Wait until everything is complete that kernels of this PE have sent. */
SHMEMI_DEVICE_RARE void drain(shmemi_device_ring *ring)
{
    const word tail = load_relaxed(&ring->tail);
    if (tail)
        wait_done(ring, tail - 1);
}

/* The slot has been read. */
SHMEMI_DEVICE void give_entry(shmemi_device_ring *ring, word ticket)
{
    store_release(&entry_of(ring, ticket)->sequence, static_cast<word>(0));
}

SHMEMI_DEVICE shmemi_device_ring *need_ring(const shmemx_device_view_t &view, int pe)
{
    if (!view.ring || static_cast<unsigned>(pe) >= static_cast<unsigned>(view.n_pes))
        give_up("there is no such PE, or no way to it");
    return view.ring;
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

SHMEMI_DEVICE void send(const shmemi_device_ring *ring, word ticket, const request &r)
{
    shmemi_device_entry *entry = entry_of(ring, ticket);
    entry->what = r.what;
    entry->pe = r.pe;
    entry->region = r.region;
    entry->signal_region = r.signal_region;
    entry->offset = r.offset;
    entry->local = r.local;
    entry->nbytes = r.nbytes;
    entry->value = r.value;
    entry->extra = r.extra;
    send_entry(entry, ticket);
}

/* By one thread: an operation without bytes in a slot. Returns its ticket. */
SHMEMI_DEVICE_RARE word send_alone(shmemi_device_ring *ring, const request &r)
{
    const word ticket = take_ticket(ring);
    send(ring, ticket, r);
    return ticket;
}

/* By one thread: the word that comes back. */
SHMEMI_DEVICE_RARE word send_and_fetch(shmemi_device_ring *ring, request r)
{
    r.what |= SHMEMI_DEVICE_REPLY;
    const word ticket = send_alone(ring, r);
    wait_done(ring, ticket);
    const word reply = load_relaxed(reinterpret_cast<const word *>(slot_of(ring, ticket)));
    give_entry(ring, ticket);
    return reply;
}

/* By a group: bytes that fit into a slot are copied there; others are left where they are, which takes until the
 * operation is done if it must be complete on this side. The signal, if there is one, is part of the request. */
template <class GROUP>
SHMEMI_DEVICE_RARE void far_put(const GROUP &group, const shmemx_device_view_t &view, request r, const char *source,
                                bool is_blocking)
{
    shmemi_device_ring *ring = need_ring(view, r.pe);
    const bool fits = r.nbytes <= ring->slot_bytes;
    group.sync(); /* the agent stops at a ticket that is not sent: nobody here may still wait for one behind it */
    const word ticket = group.share(group.rank() == 0 ? take_ticket(ring) : 0);
    if (fits)
        copy<plain_loads>(group, slot_of(ring, ticket), source, r.nbytes);
    group.sync();
    if (group.rank() == 0) {
        r.local = fits ? 0 : reinterpret_cast<word>(source);
        send(ring, ticket, r);
        if (!fits && is_blocking)
            wait_done(ring, ticket);
    }
    if (is_blocking)
        group.sync();
}

/* By a group: little comes by the slot; more is written to dest by the agent. */
template <class GROUP>
SHMEMI_DEVICE_RARE void far_get(const GROUP &group, const shmemx_device_view_t &view, request r, char *dest,
                                bool is_blocking)
{
    shmemi_device_ring *ring = need_ring(view, r.pe);
    const bool fits = r.nbytes <= ring->slot_bytes;
    word ticket = 0;
    if (group.rank() == 0) {
        r.what |= fits ? static_cast<unsigned>(SHMEMI_DEVICE_REPLY) : 0u;
        r.local = fits ? 0 : reinterpret_cast<word>(dest);
        ticket = send_alone(ring, r);
        if (fits || is_blocking)
            wait_done(ring, ticket);
    }
    ticket = group.share(ticket);
    if (fits) {
        copy<fresh_loads>(group, dest, slot_of(ring, ticket), r.nbytes);
        group.sync();
        if (group.rank() == 0)
            give_entry(ring, ticket);
    }
    if (is_blocking)
        group.sync();
}

} // namespace shmemi_device

#endif
