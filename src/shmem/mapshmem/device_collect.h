/* SPDX-License-Identifier: BSD-3-Clause
 *
 * fcollect and alltoall of a team in kernels (shmemx_device.h, which says what they mean): by the work area that
 * device_team.h describes, or straight into dest.
 */
#ifndef MAPSHMEM_DEVICE_COLLECT_H
#define MAPSHMEM_DEVICE_COLLECT_H

namespace shmemi_device
{

/* A piece of each member's block. In dest the blocks are `block` bytes apart. */
template <class GROUP>
SHMEMI_DEVICE_TEMPLATE void exchange_piece(const GROUP &group, const shmemx_device_team_t &team, char *dest, word block,
                                           const member_data &data)
{
    const word number = next_number(group, team, false);
    spread(group, team, number, data);
    announce(group, team, number);
    await(group, team, number);
    SHMEMI_DEVICE_AS_IT_IS
    for (int m = 0; m < team.n_pes; m++) {
        char *to = dest + static_cast<word>(m) * block;
        const char *from = m == team.pe ? data.source + static_cast<word>(m) * data.stride : data_of(team, number, m);
        if (to != from)
            copy_apart(group, to, from, data.nbytes);
    }
    end_spread(group, team, data.nbytes);
    group.sync();
}

/* Each member has a block of nbytes for every other, or with stride 0 the same one for all. */
template <class GROUP>
SHMEMI_DEVICE_TEMPLATE void exchange(const GROUP &group, const shmemx_device_team_t &team, char *dest,
                                     const char *source, word stride, word nbytes)
{
    const member_data all = {source, stride, nbytes, 0};
    char *to = dest;
    word at = 0;
    group.sync();
    SHMEMI_DEVICE_AS_IT_IS
    while (at < all.nbytes) {
        const word piece = piece_of<char>(team), left = all.nbytes - at, n = left < piece ? left : piece;
        exchange_piece(group, team, to + at, all.nbytes,
                       member_data{all.source + at, all.stride, n, static_cast<word>(team.n_pes - 1) * all.stride + n});
        at += n;
    }
}

template <class GROUP>
SHMEMI_DEVICE_TEMPLATE void exchange_directly(const GROUP &group, const shmemx_device_team_t &team,
                                              const shmemx_device_view_t &view, char *dest, const member_data &data)
{
    const word me = static_cast<word>(team.pe);
    char *mine = dest + me * data.nbytes;
    const char *own = data.source + me * data.stride;
    group.sync();
    const word number = next_number(group, team, false);
    if (mine != own)
        copy_apart(group, mine, own, data.nbytes);
    put_to_all(group, team, view, mine, data);
    announce(group, team, number);
    await(group, team, number);
}

} // namespace shmemi_device

/* clang-format off */
#define SHMEMI_DEVICE_EXCHANGE(NAME, STRIDE)                                                                           \
    template <class GROUP, class T>                                                                                    \
    SHMEMI_DEVICE_TEMPLATE void shmemx_device_##NAME(GROUP group, const shmemx_device_team_t &team, T *dest,           \
                                                     const T *source, unsigned long nelems)                            \
    { const shmemi_device::word nbytes = nelems * sizeof(T);                                                           \
      shmemi_device::exchange(group, team, reinterpret_cast<char *>(dest), reinterpret_cast<const char *>(source),     \
                              STRIDE, nbytes); }                                                                       \
    template <class GROUP, class T>                                                                                    \
    SHMEMI_DEVICE_TEMPLATE void shmemx_device_##NAME(GROUP group, const shmemx_device_team_t &team,                    \
                                                     const shmemx_device_view_t &view, T *dest, const T *source,       \
                                                     unsigned long nelems)                                             \
    { const shmemi_device::word nbytes = nelems * sizeof(T), all = nbytes * static_cast<unsigned>(team.n_pes);         \
      shmemi_device::exchange_directly(group, team, view, reinterpret_cast<char *>(dest),                              \
          shmemi_device::member_data{reinterpret_cast<const char *>(source), STRIDE, nbytes, STRIDE ? all : nbytes}); }

SHMEMI_DEVICE_EXCHANGE(fcollect, 0)
SHMEMI_DEVICE_EXCHANGE(alltoall, nbytes)
#undef SHMEMI_DEVICE_EXCHANGE
/* clang-format on */

#endif
