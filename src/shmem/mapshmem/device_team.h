/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collective operations of a team in kernels (shmemx_device.h, which says what they mean).
 *
 * A work area: the number of the last operation; a flag for each member; and twice a slot for each member's data. A
 * member announces that it begins operation k by setting its flag on all others to k, after its data for operation k.
 * Operations use the two sets of slots in turn. Whoever has begun k-1 has finished k-2, so slots may be written for k
 * once all flags are at least k-1.
 */
#ifndef MAPSHMEM_DEVICE_TEAM_H
#define MAPSHMEM_DEVICE_TEAM_H

namespace shmemi_device
{

enum { area_head = 128, area_flag = 64 };

SHMEMI_DEVICE word *flag_of(const shmemx_device_team_t &team, int member)
{
    return reinterpret_cast<word *>(team.area + area_head + static_cast<word>(member) * area_flag);
}

SHMEMI_DEVICE char *data_of(const shmemx_device_team_t &team, word number, int member)
{
    const word n = static_cast<word>(team.n_pes);
    const word place = number % 2 * n + static_cast<word>(member);
    return team.area + area_head + n * area_flag + place * team.slot;
}

SHMEMI_DEVICE int world_pe(const shmemx_device_team_t &team, int member)
{
    return team.world ? team.world[member] : team.start + member * team.stride;
}

/* The number of the operation that the group begins, and has met for; after what it has sent, if that is asked for. */
template <class GROUP>
SHMEMI_DEVICE_TEMPLATE word next_number(const GROUP &group, const shmemx_device_team_t &team, bool completes)
{
    word *last = reinterpret_cast<word *>(team.area);
    word number = 0;
    if (group.rank() == 0) {
        const bool waits = completes && is_behind(team.work.ring);
        number = load_relaxed(last) + 1;
        store_relaxed(last, number);
        if (waits)
            drain(team.work.ring);
    }
    return group.share(number);
}

/* Tells all members that this one has come to an operation. The group has put everything, and synchronised. */
template <class GROUP>
SHMEMI_DEVICE_TEMPLATE void announce(const GROUP &group, const shmemx_device_team_t &team, word number)
{
    SHMEMI_DEVICE_AS_IT_IS
    for (int m = static_cast<int>(group.rank()); m < team.n_pes; m += static_cast<int>(group.size()))
        if (m != team.pe)
            signal(team.work, flag_of(team, team.pe), number, false, world_pe(team, m));
}

template <class GROUP>
SHMEMI_DEVICE_TEMPLATE void await(const GROUP &group, const shmemx_device_team_t &team, word number)
{
    SHMEMI_DEVICE_AS_IT_IS
    for (int m = static_cast<int>(group.rank()); m < team.n_pes; m += static_cast<int>(group.size()))
        if (m != team.pe)
            wait_for(team.work, flag_of(team, m), SHMEM_CMP_GE, number, world_pe(team, m));
    group.sync();
}

/* completes: what the group has put, whatever it was for, is in place before anybody goes on. */
template <class GROUP>
SHMEMI_DEVICE_TEMPLATE void sync(const GROUP &group, const shmemx_device_team_t &team, bool completes)
{
    group.sync();
    const word number = next_number(group, team, completes);
    announce(group, team, number);
    await(group, team, number);
}

/* Data of a collective operation that every member sends to every other: member m gets nbytes from source + m * stride on,
 * less what would be behind source + total. */
struct member_data {
    const char *source;
    word stride, nbytes, total;
    SHMEMI_DEVICE_MEMBER word bytes_for(int member) const
    {
        const word begin = static_cast<word>(member) * stride;
        const word left = begin < total ? total - begin : 0;
        return left < nbytes ? left : nbytes;
    }
};

/* It is kept in memory while other data are copied: registers are few, 64 for each thread of a block of 1024. */
struct kept_data {
    const char *SHMEMI_DEVICE_KEPT source;
    SHMEMI_DEVICE_KEPT word stride, nbytes, total;
    explicit SHMEMI_DEVICE_MEMBER kept_data(const member_data &data)
        : source(data.source), stride(data.stride), nbytes(data.nbytes), total(data.total)
    {
    }
    SHMEMI_DEVICE_MEMBER member_data get() const
    {
        return member_data{source, stride, nbytes, total};
    }
};

/* A nonblocking put by the agent. */
template <class GROUP>
SHMEMI_DEVICE_RARE void put_apart_by_agent(const GROUP group, const shmemx_device_view_t &view, char *dest,
                                           const char *source, word nbytes, int pe)
{
    shmemi_device_ring *ring = ring_to(view, pe);
    need(ring);
    if (needs_slots(ring, source, nbytes)) {
        put_by_slots(group, ring, pe, view.region, static_cast<word>(dest - view.own), static_cast<unsigned>(nbytes),
                     source);
        return;
    }
    const bool fits = nbytes <= ring->slot_bytes;
    const word ticket = begin_entry(group, ring);
    if (group.rank() == 0) {
        request r = request_to(SHMEMI_DEVICE_PUT, view, dest, nbytes, pe);
        r.local = fits ? 0 : reinterpret_cast<word>(source);
        write_entry(entry_of(ring, ticket), r);
    }
    if (fits)
        copy_apart(group, slot_of(ring, ticket), source, nbytes);
    group.sync();
    if (group.rank() == 0)
        send_entry(entry_of(ring, ticket), ticket);
}

/* A nonblocking put. */
template <class GROUP>
SHMEMI_DEVICE_TEMPLATE void put_apart(const GROUP &group, const shmemx_device_view_t &view, char *dest,
                                      const char *source, word nbytes, int pe)
{
    char *there = direct(view, dest, pe, SHMEMI_DEVICE_STORES);
    if (there)
        copy_apart(group, there, source, nbytes);
    else
        put_apart_by_agent(group, view, dest, source, nbytes, pe);
}

/* Put a piece into this member's slot on all others. */
template <class GROUP>
SHMEMI_DEVICE_TEMPLATE void spread(const GROUP &group, const shmemx_device_team_t &team, word number,
                                   const member_data &data)
{
    const kept_data kept(data);
    await(group, team, number - 1);
    SHMEMI_DEVICE_AS_IT_IS
    for (int i = 1; i < team.n_pes; i++) {
        const int m = (team.pe + i) % team.n_pes;
        const member_data now = kept.get();
        put_apart(group, team.work, data_of(team, number, team.pe), now.source + static_cast<word>(m) * now.stride,
                  now.bytes_for(m), world_pe(team, m));
    }
    group.sync();
}

/* The agent reads a piece that its slots do not hold where it is: as long as it does nobody writes there. */
template <class GROUP>
SHMEMI_DEVICE_TEMPLATE void end_spread(const GROUP &group, const shmemx_device_team_t &team, word nbytes)
{
    if (team.work.n_near || nbytes <= team.work.ring->slot_bytes)
        return;
    if (group.rank() == 0)
        drain(team.work.ring);
    group.sync();
}

template <class GROUP>
SHMEMI_DEVICE_TEMPLATE void broadcast_piece(const GROUP &group, const shmemx_device_team_t &team, char *dest,
                                            const char *source, word nbytes, int root)
{
    const word number = next_number(group, team, false);
    if (team.pe == root)
        spread(group, team, number, member_data{source, 0, nbytes, nbytes});
    announce(group, team, number);
    if (team.pe != root) {
        if (group.rank() == 0)
            wait_for(team.work, flag_of(team, root), SHMEM_CMP_GE, number, world_pe(team, root));
        group.sync();
        copy_apart(group, dest, data_of(team, number, root), nbytes);
    } else {
        if (dest != source)
            copy_apart(group, dest, source, nbytes);
        end_spread(group, team, nbytes);
    }
    group.sync();
}

/* Elements that fit into a slot. */
template <class T> SHMEMI_DEVICE_TEMPLATE unsigned long piece_of(const shmemx_device_team_t &team)
{
    if (team.slot < sizeof(T))
        give_up("the work area of the team has no room for data");
    return team.slot / sizeof(T);
}

/* ---- Straight into the other members' dest ------------------------------------------------------------------------ */

/* By the whole group, before the member announces that its data are there: what the agent does is not ordered before a
 * signal to another object, and it reads from source. */
template <class GROUP> SHMEMI_DEVICE_TEMPLATE void end_puts(const GROUP &group, const shmemx_device_view_t &view)
{
    group.sync();
    if (view.n_near)
        return;
    if (group.rank() == 0 && is_behind(view.ring))
        drain(view.ring);
    group.sync();
}

/* Sends all others their part, to the place of dest. */
template <class GROUP>
SHMEMI_DEVICE_TEMPLATE void put_to_all(const GROUP &group, const shmemx_device_team_t &team,
                                       const shmemx_device_view_t &view, char *dest, const member_data &data)
{
    const kept_data kept(data);
    SHMEMI_DEVICE_AS_IT_IS
    for (int i = 1; i < team.n_pes; i++) {
        const int m = (team.pe + i) % team.n_pes;
        const member_data now = kept.get();
        put_apart(group, view, dest, now.source + static_cast<word>(m) * now.stride, now.bytes_for(m),
                  world_pe(team, m));
    }
    end_puts(group, view);
}

template <class GROUP>
SHMEMI_DEVICE_TEMPLATE void broadcast_directly(const GROUP &group, const shmemx_device_team_t &team,
                                               const shmemx_device_view_t &view, char *dest, const member_data &data,
                                               int root)
{
    group.sync();
    const word number = next_number(group, team, false);
    if (team.pe == root) {
        if (dest != data.source)
            copy_apart(group, dest, data.source, data.nbytes);
        put_to_all(group, team, view, dest, data);
    }
    announce(group, team, number);
    if (team.pe != root && group.rank() == 0)
        wait_for(team.work, flag_of(team, root), SHMEM_CMP_GE, number, world_pe(team, root));
    group.sync();
}

} // namespace shmemi_device

template <class GROUP> SHMEMI_DEVICE_TEMPLATE void shmemx_device_sync(GROUP group, const shmemx_device_team_t &team)
{
    shmemi_device::sync(group, team, false);
}

template <class GROUP> SHMEMI_DEVICE_TEMPLATE void shmemx_device_barrier(GROUP group, const shmemx_device_team_t &team)
{
    shmemi_device::sync(group, team, true); /* what members announce follows all that they have put by themselves */
}

template <class GROUP, class T>
SHMEMI_DEVICE_TEMPLATE void shmemx_device_broadcast(GROUP group, const shmemx_device_team_t &team, T *dest,
                                                    const T *source, unsigned long nelems, int root)
{
    const unsigned long piece = shmemi_device::piece_of<T>(team);
    group.sync();
    SHMEMI_DEVICE_AS_IT_IS
    for (unsigned long i = 0; i < nelems; i += piece)
        shmemi_device::broadcast_piece(group, team, reinterpret_cast<char *>(dest + i),
                                       reinterpret_cast<const char *>(source + i),
                                       (nelems - i < piece ? nelems - i : piece) * sizeof(T), root);
}

template <class GROUP, class T>
SHMEMI_DEVICE_TEMPLATE void shmemx_device_broadcast(GROUP group, const shmemx_device_team_t &team,
                                                    const shmemx_device_view_t &view, T *dest, const T *source,
                                                    unsigned long nelems, int root)
{
    const shmemi_device::word nbytes = nelems * sizeof(T);
    shmemi_device::broadcast_directly(
        group, team, view, reinterpret_cast<char *>(dest),
        shmemi_device::member_data{reinterpret_cast<const char *>(source), 0, nbytes, nbytes}, root);
}

#endif
