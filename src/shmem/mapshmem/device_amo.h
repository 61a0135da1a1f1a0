/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Atomic operations in kernels (shmemx_device.h, which says what they mean).
 */
#ifndef MAPSHMEM_DEVICE_AMO_H
#define MAPSHMEM_DEVICE_AMO_H

namespace shmemi_device
{

template <class T> struct amo_unit { /* words of 32 and 64 bits */
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "atomic operations are for words of 32 and 64 bits");
    typedef typename unit_of<sizeof(T)>::type type;
};

template <class T, class... OTHERS> struct is_one_of {
    enum { VALUE = 0 };
};
template <class T, class... OTHERS> struct is_one_of<T, T, OTHERS...> {
    enum { VALUE = 1 };
};
template <class T, class FIRST, class... OTHERS> struct is_one_of<T, FIRST, OTHERS...> : is_one_of<T, OTHERS...> {
};

/* Types whose bits are their value, as a binary number: only these can be added and combined as such. */
template <class T> struct is_integer {
    enum {
        VALUE = __is_enum(T) || is_one_of<T, int, unsigned, long, unsigned long, long long, unsigned long long>::VALUE
    };
};

/* Each operation on a word that this thread reaches, and whether it is for integers only. Real numbers have an add of their
 * own, below. */
#define SHMEMI_DEVICE_APPLY(NAME, INTEGERS, CALL, SEND)                                                                \
    struct NAME {                                                                                                      \
        enum { IS_FOR_INTEGERS = INTEGERS };                                                                           \
        template <class UNIT> static SHMEMI_DEVICE_MEMBER UNIT fetch(UNIT *p, UNIT value, UNIT expected)               \
        {                                                                                                              \
            (void)value;                                                                                               \
            (void)expected;                                                                                            \
            return CALL;                                                                                               \
        }                                                                                                              \
        template <class UNIT> static SHMEMI_DEVICE_MEMBER void send(UNIT *p, UNIT value)                               \
        {                                                                                                              \
            SEND;                                                                                                      \
        }                                                                                                              \
    };
SHMEMI_DEVICE_APPLY(do_fetch, 0, load_relaxed(p), (void)(p + value))
SHMEMI_DEVICE_APPLY(do_set, 0, fetch_swap(p, value), store_relaxed(p, value))
SHMEMI_DEVICE_APPLY(do_compare_swap, 0, fetch_compare_swap(p, expected, value), (void)(p + value))
SHMEMI_DEVICE_APPLY(do_add, 1, fetch_add(p, value), send_add(p, value))
SHMEMI_DEVICE_APPLY(do_and, 1, fetch_and(p, value), send_and(p, value))
SHMEMI_DEVICE_APPLY(do_or, 1, fetch_or(p, value), send_or(p, value))
SHMEMI_DEVICE_APPLY(do_xor, 1, fetch_xor(p, value), send_xor(p, value))
#undef SHMEMI_DEVICE_APPLY

template <class OP, class T> struct amo_unit_of : amo_unit<T> {
    static_assert(
        !OP::IS_FOR_INTEGERS || is_integer<T>::VALUE,
        "atomic add is for integers, float and double; inc, and, or and xor are for integers; others take fetch, "
        "set, swap and compare_swap");
};

SHMEMI_DEVICE request amo_request(const shmemx_device_view_t &view, const void *dest, unsigned op, word size,
                                  word value, word expected, int pe)
{
    request r = request_to(SHMEMI_DEVICE_AMO | op << SHMEMI_DEVICE_AMO_SHIFT, view, dest, size, pe);
    r.value = value;
    r.extra = expected;
    return r;
}

template <class OP, class T>
SHMEMI_DEVICE_TEMPLATE T fetching(const shmemx_device_view_t &view, const T *dest, unsigned op, T value, T expected,
                                  int pe)
{
    typedef typename amo_unit_of<OP, T>::type unit;
    unit *there = reinterpret_cast<unit *>(direct(view, dest, pe, SHMEMI_DEVICE_ATOMICS));
    if (there)
        return bits_of<T>(OP::fetch(there, bits_of<unit>(value), bits_of<unit>(expected)));
    const request r = amo_request(view, dest, op, sizeof(T), bits_of<unit>(value), bits_of<unit>(expected), pe);
    return bits_of<T>(static_cast<unit>(send_and_fetch(ring_to(view, pe), r)));
}

template <class OP, class T>
SHMEMI_DEVICE_TEMPLATE void sending(const shmemx_device_view_t &view, T *dest, unsigned op, T value, int pe)
{
    typedef typename amo_unit_of<OP, T>::type unit;
    unit *there = reinterpret_cast<unit *>(direct(view, dest, pe, SHMEMI_DEVICE_ATOMICS));
    if (there)
        OP::send(there, bits_of<unit>(value));
    else
        send_alone(ring_to(view, pe), amo_request(view, dest, op, sizeof(T), bits_of<unit>(value), 0, pe));
}

/* Adds a real number, as a loop of compare and swap: the agent knows words, not what they mean. */
template <class T> SHMEMI_DEVICE_RARE T add_by_agent(const shmemx_device_view_t &view, T *dest, T value, int pe)
{
    typedef typename amo_unit<T>::type unit;
    T seen = fetching<do_fetch, T>(view, dest, SHMEMI_DEVICE_AMO_FETCH, 0, 0, pe);
    for (;;) {
        const T old = fetching<do_compare_swap, T>(view, dest, SHMEMI_DEVICE_AMO_COMPARE_SWAP, seen + value, seen, pe);
        if (bits_of<unit>(old) == bits_of<unit>(seen))
            return old;
        seen = old;
    }
}

template <class T> SHMEMI_DEVICE_TEMPLATE T fetching_sum(const shmemx_device_view_t &view, T *dest, T value, int pe)
{
    T *there = reinterpret_cast<T *>(direct(view, dest, pe, SHMEMI_DEVICE_ATOMICS));
    return there ? fetch_add(there, value) : add_by_agent(view, dest, value, pe);
}

template <class T> SHMEMI_DEVICE_TEMPLATE void sending_sum(const shmemx_device_view_t &view, T *dest, T value, int pe)
{
    T *there = reinterpret_cast<T *>(direct(view, dest, pe, SHMEMI_DEVICE_ATOMICS));
    if (there)
        send_add(there, value);
    else
        add_by_agent(view, dest, value, pe);
}

template <class T> struct same { /* of an argument that does not decide the type */
    typedef T type;
};

} // namespace shmemi_device

/* clang-format off */
#define SHMEMI_DEVICE_FETCH(NAME, PARAMETERS, OP, NUMBER, VALUE, EXPECTED)                                             \
    template <class T> SHMEMI_DEVICE_TEMPLATE T shmemx_device_atomic_##NAME PARAMETERS                                 \
    { return shmemi_device::fetching<shmemi_device::OP, T>(view, dest, SHMEMI_DEVICE_AMO_##NUMBER,                     \
                                                           static_cast<T>(VALUE), static_cast<T>(EXPECTED), pe); }
#define SHMEMI_DEVICE_SEND(NAME, PARAMETERS, OP, NUMBER, VALUE)                                                        \
    template <class T> SHMEMI_DEVICE_TEMPLATE void shmemx_device_atomic_##NAME PARAMETERS                              \
    { shmemi_device::sending<shmemi_device::OP, T>(view, dest, SHMEMI_DEVICE_AMO_##NUMBER, static_cast<T>(VALUE), pe); }
#define SHMEMI_DEVICE_VALUE(TYPE) typename shmemi_device::same<TYPE>::type value
#define SHMEMI_DEVICE_REAL(TYPE)                                                                                       \
    SHMEMI_DEVICE TYPE shmemx_device_atomic_fetch_add(const shmemx_device_view_t &view, TYPE *dest, TYPE value, int pe) \
    { return shmemi_device::fetching_sum(view, dest, value, pe); }                                                     \
    SHMEMI_DEVICE void shmemx_device_atomic_add(const shmemx_device_view_t &view, TYPE *dest, TYPE value, int pe)      \
    { shmemi_device::sending_sum(view, dest, value, pe); }
#define SHMEMI_DEVICE_BOTH(NAME, NUMBER)                                                                               \
    SHMEMI_DEVICE_FETCH(fetch_##NAME, (const shmemx_device_view_t &view, T *dest, SHMEMI_DEVICE_VALUE(T), int pe),     \
                        do_##NAME, NUMBER, value, 0)                                                                   \
    SHMEMI_DEVICE_SEND(NAME, (const shmemx_device_view_t &view, T *dest, SHMEMI_DEVICE_VALUE(T), int pe),              \
                       do_##NAME, NUMBER, value)

SHMEMI_DEVICE_FETCH(fetch, (const shmemx_device_view_t &view, const T *dest, int pe), do_fetch, FETCH, 0, 0)
SHMEMI_DEVICE_SEND(set, (const shmemx_device_view_t &view, T *dest, SHMEMI_DEVICE_VALUE(T), int pe), do_set, SET, value)
SHMEMI_DEVICE_FETCH(swap, (const shmemx_device_view_t &view, T *dest, SHMEMI_DEVICE_VALUE(T), int pe),
                    do_set, SWAP, value, 0)
SHMEMI_DEVICE_FETCH(compare_swap, (const shmemx_device_view_t &view, T *dest,
                                   typename shmemi_device::same<T>::type cond, SHMEMI_DEVICE_VALUE(T), int pe),
                    do_compare_swap, COMPARE_SWAP, value, cond)
SHMEMI_DEVICE_FETCH(fetch_inc, (const shmemx_device_view_t &view, T *dest, int pe), do_add, ADD, 1, 0)
SHMEMI_DEVICE_SEND(inc, (const shmemx_device_view_t &view, T *dest, int pe), do_add, ADD, 1)
SHMEMI_DEVICE_BOTH(add, ADD)
SHMEMI_DEVICE_REAL(float)
SHMEMI_DEVICE_REAL(double)
SHMEMI_DEVICE_BOTH(and, AND)
SHMEMI_DEVICE_BOTH(or, OR)
SHMEMI_DEVICE_BOTH(xor, XOR)
/* clang-format on */

#undef SHMEMI_DEVICE_FETCH
#undef SHMEMI_DEVICE_SEND
#undef SHMEMI_DEVICE_BOTH
#undef SHMEMI_DEVICE_REAL
#undef SHMEMI_DEVICE_VALUE

#endif
