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

/* Every member gets a piece from every other, nelems elements of which the first is at source + member * stride. */
template <class OP, class GROUP, class T>
SHMEMI_DEVICE_TEMPLATE void reduce_piece(const GROUP &group, const shmemx_device_team_t &team, T *dest, const T *source,
                                         unsigned long stride, unsigned long nelems)
{
    const word nbytes = nelems * sizeof(T), apart = stride * sizeof(T);
    const word number = next_number(group, team, false);
    spread(group, team, number,
           outgoing{reinterpret_cast<const char *>(source), apart, nbytes,
                    static_cast<word>(team.n_pes - 1) * apart + nbytes});
    announce(group, team, number);
    await(group, team, number);
    end_spread(group, team, nbytes);
    combine_slots<OP>(group, team, number, dest, source + static_cast<unsigned long>(team.pe) * stride, nelems);
}

template <class OP, class GROUP, class T>
SHMEMI_DEVICE_TEMPLATE void reduce(const GROUP &group, const shmemx_device_team_t &team, T *dest, const T *source,
                                   unsigned long stride, unsigned long nelems)
{
    const unsigned long piece = piece_of<T>(team);
    group.sync();
    SHMEMI_DEVICE_AS_IT_IS
    for (unsigned long i = 0; i < nelems; i += piece)
        reduce_piece<OP>(group, team, dest + i, source + i, stride, nelems - i < piece ? nelems - i : piece);
}

/* Each member combines a slice, of at most a slot, and puts the result straight into dest of all others. */
template <class OP, class GROUP, class T>
SHMEMI_DEVICE_TEMPLATE void reduce_slices(const GROUP &group, const shmemx_device_team_t &team,
                                          const shmemx_device_view_t &view, T *dest, const T *source,
                                          unsigned long share, unsigned long nelems)
{
    const word begin = static_cast<word>(team.pe) * share, nbytes = share * sizeof(T);
    const outgoing slices = {reinterpret_cast<const char *>(source), nbytes, nbytes, nelems * sizeof(T)};
    const word mine = slices.bytes_for(team.pe);
    word number = next_number(group, team, false);
    spread(group, team, number, slices);
    announce(group, team, number);
    await(group, team, number);
    end_spread(group, team, nbytes);
    combine_slots<OP>(group, team, number, dest + begin, source + begin, mine / sizeof(T));
    number = next_number(group, team, false);
    put_to_all(group, team, view, reinterpret_cast<char *>(dest + begin),
               outgoing{reinterpret_cast<const char *>(dest + begin), 0, mine, mine});
    announce(group, team, number);
    await(group, team, number);
}

/* Slices take two steps and send each byte about twice, whole pieces take one and send it to all others: that is no less
 * than twice from three members on. Slices begin where units of 16 bytes do. is_symmetric: dest is in the view's object. */
template <class OP, class GROUP, class T>
SHMEMI_DEVICE_TEMPLATE void reduce_directly(const GROUP &group, const shmemx_device_team_t &team,
                                            const shmemx_device_view_t &view, T *dest, const T *source,
                                            unsigned long nelems, bool is_symmetric)
{
    const unsigned long piece = piece_of<T>(team), n = static_cast<unsigned>(team.n_pes);
    const unsigned long unit = (sizeof(quad) + sizeof(T) - 1) / sizeof(T);
    if (!is_symmetric || n < 3 || nelems <= piece) {
        reduce<OP>(group, team, dest, source, 0, nelems);
        return;
    }
    group.sync();
    SHMEMI_DEVICE_AS_IT_IS
    for (unsigned long i = 0; i < nelems; i += n * piece) {
        const unsigned long here = nelems - i < n * piece ? nelems - i : n * piece;
        const unsigned long share = ((here + n - 1) / n + unit - 1) / unit * unit;
        reduce_slices<OP>(group, team, view, dest + i, source + i, share < piece ? share : piece, here);
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
