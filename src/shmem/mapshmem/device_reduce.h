/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reductions of a team in kernels (shmemx_device.h, which says what they mean), by the work area that device_team.h
 * describes. All members combine in the same order, or one does for all, so that they get the same result to the last bit.
 */
#ifndef MAPSHMEM_DEVICE_REDUCE_H
#define MAPSHMEM_DEVICE_REDUCE_H

namespace shmemi_device
{

#define SHMEMI_DEVICE_OPERATION(NAME, RESULT)                                                                          \
    struct NAME##_of {                                                                                                 \
        template <class T> static SHMEMI_DEVICE_MEMBER T combine(T a, T b)                                             \
        {                                                                                                              \
            return static_cast<T>(RESULT);                                                                             \
        }                                                                                                              \
    };
SHMEMI_DEVICE_OPERATION(sum, a + b)
SHMEMI_DEVICE_OPERATION(prod, a *b)
SHMEMI_DEVICE_OPERATION(min, b < a ? b : a)
SHMEMI_DEVICE_OPERATION(max, a < b ? b : a)
SHMEMI_DEVICE_OPERATION(and, a &b)
SHMEMI_DEVICE_OPERATION(or, a | b)
SHMEMI_DEVICE_OPERATION(xor, a ^ b)
#undef SHMEMI_DEVICE_OPERATION

/* Combines what the others have sent for an operation with `mine`. */
template <class OP, class GROUP, class T>
SHMEMI_DEVICE_TEMPLATE void combine_slots(const GROUP &group, const shmemx_device_team_t &team, word number, T *dest,
                                          const T *mine, unsigned long nelems)
{
    SHMEMI_DEVICE_AS_IT_IS
    for (unsigned long i = group.rank(); i < nelems; i += group.size()) {
        const T own = mine[i];
        T result = own;
        SHMEMI_DEVICE_AS_IT_IS
        for (int m = 0; m < team.n_pes; m++) {
            const char *from = data_of(team, number, m) + i * sizeof(T);
            const T theirs = m == team.pe ? own : load_plain<T>(from);
            result = m == 0 ? theirs : OP::template combine<T>(result, theirs);
        }
        dest[i] = result;
    }
    group.sync();
}

/* Every member gets its part of the data of all others, as much as a slot holds. */
template <class OP, class GROUP, class T>
SHMEMI_DEVICE_TEMPLATE void reduce_piece(const GROUP &group, const shmemx_device_team_t &team, T *dest,
                                         const member_data &data)
{
    const word number = next_number(group, team, false);
    const kept_data kept(data);
    T *const SHMEMI_DEVICE_KEPT to = dest;
    spread(group, team, number, data);
    announce(group, team, number);
    await(group, team, number);
    const member_data mine = kept.get();
    end_spread(group, team, mine.nbytes);
    combine_slots<OP>(group, team, number, to,
                      reinterpret_cast<const T *>(mine.source + static_cast<word>(team.pe) * mine.stride),
                      mine.bytes_for(team.pe) / sizeof(T));
}

/* Piece by piece; the parts of `source` are `stride` elements apart. */
template <class OP, class GROUP, class T>
SHMEMI_DEVICE_TEMPLATE void reduce(const GROUP &group, const shmemx_device_team_t &team, T *dest, const T *source,
                                   unsigned long stride, unsigned long nelems)
{
    const kept_data all(member_data{reinterpret_cast<const char *>(source), stride * sizeof(T), nelems * sizeof(T), 0});
    T *const SHMEMI_DEVICE_KEPT to = dest;
    SHMEMI_DEVICE_KEPT word at = 0;
    group.sync();
    SHMEMI_DEVICE_AS_IT_IS
    while (at < all.nbytes) {
        const word now = at, piece = piece_of<T>(team) * sizeof(T), left = all.nbytes - now;
        const word n = left < piece ? left : piece, step = all.stride;
        at = now + n;
        reduce_piece<OP>(group, team, to + now / sizeof(T),
                         member_data{all.source + now, step, n, static_cast<word>(team.n_pes - 1) * step + n});
    }
}

/* Each member combines a slice, of at most a slot, and puts the result straight into dest of all others. */
template <class OP, class GROUP, class T>
SHMEMI_DEVICE_TEMPLATE void reduce_slices(const GROUP &group, const shmemx_device_team_t &team,
                                          const shmemx_device_view_t &view, T *dest, const member_data &slices)
{
    T *const SHMEMI_DEVICE_KEPT kept = dest + static_cast<word>(team.pe) * slices.stride / sizeof(T);
    const SHMEMI_DEVICE_KEPT word nbytes_kept = slices.bytes_for(team.pe);
    reduce_piece<OP>(group, team, kept, slices);
    const word number = next_number(group, team, false), nbytes = nbytes_kept;
    T *mine = kept;
    put_to_all(group, team, view, reinterpret_cast<char *>(mine),
               member_data{reinterpret_cast<const char *>(mine), 0, nbytes, nbytes});
    announce(group, team, number);
    await(group, team, number);
}

/* The bytes of a slice: an equal part of what is left, or what a slot holds. Slices begin where units of 16 bytes do. */
template <class T> SHMEMI_DEVICE_TEMPLATE word slice_of(const shmemx_device_team_t &team, word left)
{
    const word piece = piece_of<T>(team) * sizeof(T), n = static_cast<unsigned>(team.n_pes);
    const word unit = (sizeof(quad) + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    const word share = ((left + n - 1) / n + unit - 1) / unit * unit;
    return share < piece ? share : piece;
}

/* Slices take two steps and send each byte about twice, whole pieces take one and send it to all others: that is no less
 * than twice from three members on. is_symmetric: dest is in the view's object. */
template <class OP, class GROUP, class T>
SHMEMI_DEVICE_TEMPLATE void reduce_directly(const GROUP &group, const shmemx_device_team_t &team,
                                            const shmemx_device_view_t &view, T *dest, const T *source,
                                            unsigned long nelems, bool is_symmetric)
{
    const word piece = piece_of<T>(team) * sizeof(T), n = static_cast<unsigned>(team.n_pes);
    if (!is_symmetric || n < 3 || nelems * sizeof(T) <= piece) {
        reduce<OP>(group, team, dest, source, 0, nelems);
        return;
    }
    const kept_data all(member_data{reinterpret_cast<const char *>(source), 0, nelems * sizeof(T), 0});
    T *const SHMEMI_DEVICE_KEPT to = dest;
    SHMEMI_DEVICE_KEPT word at = 0;
    group.sync();
    SHMEMI_DEVICE_AS_IT_IS
    while (at < all.nbytes) {
        const word now = at, left = all.nbytes - now, share = slice_of<T>(team, left);
        const word whole = share * static_cast<unsigned>(team.n_pes), here = left < whole ? left : whole;
        at = now + here;
        reduce_slices<OP>(group, team, view, to + now / sizeof(T), member_data{all.source + now, share, share, here});
    }
}

} // namespace shmemi_device

/* clang-format off */
#define SHMEMI_DEVICE_REDUCE(NAME)                                                                                     \
    template <class GROUP, class T>                                                                                    \
    SHMEMI_DEVICE_TEMPLATE void shmemx_device_##NAME##_reduce(GROUP group, const shmemx_device_team_t &team, T *dest,  \
                                                              const T *source, unsigned long nelems)                   \
    { shmemi_device::reduce<shmemi_device::NAME##_of>(group, team, dest, source, 0, nelems); }                         \
    template <class GROUP, class T>                                                                                    \
    SHMEMI_DEVICE_TEMPLATE void shmemx_device_##NAME##_reduce(GROUP group, const shmemx_device_team_t &team,           \
                                                              const shmemx_device_view_t &view, T *dest,               \
                                                              const T *source, unsigned long nelems)                   \
    { shmemi_device::reduce_directly<shmemi_device::NAME##_of>(group, team, view, dest, source, nelems, true); }             \
    template <class GROUP, class T>                                                                                    \
    SHMEMI_DEVICE_TEMPLATE void shmemx_device_##NAME##_reducescatter(GROUP group, const shmemx_device_team_t &team,    \
                                                                     T *dest, const T *source, unsigned long nelems)   \
    { shmemi_device::reduce<shmemi_device::NAME##_of>(group, team, dest, source, nelems, nelems); }

SHMEMI_DEVICE_REDUCE(sum)
SHMEMI_DEVICE_REDUCE(prod)
SHMEMI_DEVICE_REDUCE(min)
SHMEMI_DEVICE_REDUCE(max)
SHMEMI_DEVICE_REDUCE(and)
SHMEMI_DEVICE_REDUCE(or)
SHMEMI_DEVICE_REDUCE(xor)
#undef SHMEMI_DEVICE_REDUCE
/* clang-format on */

#endif
