/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Put, get, put with signal, signals, fence and quiet in kernels (shmemx_device.h, which says what they mean).
 */
#ifndef MAPSHMEM_DEVICE_RMA_H
#define MAPSHMEM_DEVICE_RMA_H

namespace shmemi_device
{

/* The address of a PE's copy by the table of all PEs of the node; 0: the thread may not do there what `need` says. */
SHMEMI_DEVICE_RARE char *direct_by_table(const shmemx_device_peer_t *peers, unsigned n_peers, unsigned place,
                                         const void *symmetric, unsigned need)
{
    if (place >= n_peers || !(peers[place].can & need))
        return 0;
    return const_cast<char *>(static_cast<const char *>(symmetric)) + peers[place].distance;
}

/* Selects one of eight values. An index would make the compiler copy the kernel's arguments to its stack. */
SHMEMI_DEVICE long long near_distance(const shmemx_device_view_t &view, unsigned place)
{
    const long long *near = view.near;
    const bool odd = place & 1, second = place & 2;
    const long long a = odd ? near[1] : near[0], b = odd ? near[3] : near[2];
    const long long c = odd ? near[5] : near[4], d = odd ? near[7] : near[6];
    return place & 4 ? (second ? d : c) : (second ? b : a);
}

/* Is this a PE whose distance the view itself has? Then the agent serves none. */
SHMEMI_DEVICE bool is_near(const shmemx_device_view_t &view, int pe)
{
    return static_cast<unsigned>(pe - view.first_pe) < static_cast<unsigned>(view.n_near);
}

SHMEMI_DEVICE char *near_address(const shmemx_device_view_t &view, const void *symmetric, int pe)
{
    return const_cast<char *>(static_cast<const char *>(symmetric)) +
           near_distance(view, static_cast<unsigned>(pe - view.first_pe));
}

/* The address of a PE's copy, for one who may do there what `need` says; 0: the agent must do it. */
SHMEMI_DEVICE char *direct(const shmemx_device_view_t &view, const void *symmetric, int pe, unsigned need)
{
    if (is_near(view, pe))
        return near_address(view, symmetric, pe);
    return direct_by_table(view.peers, static_cast<unsigned>(view.n_peers), static_cast<unsigned>(pe - view.first_pe),
                           symmetric, need);
}

template <class GROUP>
SHMEMI_DEVICE_TEMPLATE void put(const GROUP &group, const shmemx_device_view_t &view, void *dest, const void *source,
                                word nbytes, int pe, bool is_blocking)
{
    char *there = direct(view, dest, pe, SHMEMI_DEVICE_STORES);
    const char *from = static_cast<const char *>(source);
    if (!there) {
        far_put(group, ring_to(view, pe), request_to(SHMEMI_DEVICE_PUT, view, dest, nbytes, pe), from, is_blocking);
        return;
    }
    copy<plain_loads>(group, there, from, nbytes);
    if (is_blocking)
        group.sync();
}

template <class GROUP>
SHMEMI_DEVICE_TEMPLATE void get(const GROUP &group, const shmemx_device_view_t &view, void *dest, const void *source,
                                word nbytes, int pe, bool is_blocking)
{
    const char *there = direct(view, source, pe, SHMEMI_DEVICE_STORES);
    char *to = static_cast<char *>(dest);
    if (!there) {
        far_get(group, ring_to(view, pe), request_to(SHMEMI_DEVICE_GET, view, source, nbytes, pe), to, is_blocking);
        return;
    }
    copy<fresh_loads>(group, to, there, nbytes);
    if (is_blocking)
        group.sync();
}

template <class GROUP, class T>
SHMEMI_DEVICE_TEMPLATE void get_elements(const GROUP &group, const shmemx_device_view_t &view, T *dest, const T *source,
                                         unsigned long nelems, int pe, bool is_blocking)
{
    get(group, view, dest, source, nelems * sizeof(T), pe, is_blocking);
}

/* Adds a signal to a request. */
SHMEMI_DEVICE void add_signal(request *r, const shmemx_device_view_t &view, const void *signal, word value, bool adds)
{
    r->what |= adds ? static_cast<unsigned>(SHMEMI_DEVICE_ADD) : static_cast<unsigned>(SHMEMI_DEVICE_SIGNAL);
    r->signal_region = view.region;
    r->extra = static_cast<word>(static_cast<const char *>(signal) - view.own);
    r->value = value;
}

/* Updates a signal that the thread reaches, after all that it has stored or seen before. */
SHMEMI_DEVICE void signal_directly(word *there, word value, bool adds)
{
    if (adds)
        send_add_release(there, value);
    else
        store_release(there, value);
}

/* The address at which a thread can update a signal by itself; 0: it cannot. */
SHMEMI_DEVICE word *direct_signal(const shmemx_device_view_t &view, void *address, bool adds, int pe)
{
    return reinterpret_cast<word *>(direct(view, address, pe, adds ? SHMEMI_DEVICE_ATOMICS : SHMEMI_DEVICE_STORES));
}

/* Lets the agent update a signal, after all that the thread has stored, seen or sent before. */
SHMEMI_DEVICE void signal_by_agent(const shmemx_device_view_t &view, void *address, word value, bool adds, int pe)
{
    request r = request_to(SHMEMI_DEVICE_PUT, view, address, 0, pe);
    add_signal(&r, view, address, value, adds);
    send_alone(ring_to(view, pe), r);
}

/* A signal by one thread, after all that it has stored or seen before, and what it has sent to that PE's copy of the object. */
SHMEMI_DEVICE void signal(const shmemx_device_view_t &view, void *address, word value, bool adds, int pe)
{
    word *there = direct_signal(view, address, adds, pe);
    if (there)
        signal_directly(there, value, adds);
    else
        signal_by_agent(view, address, value, adds, pe);
}

/* By one thread, a signal after all that it has sent to whatever object: before it stores a signal by itself, it waits for
 * the agent, which orders its own operations only. */
SHMEMI_DEVICE void signal_after_all(const shmemx_device_view_t &view, void *address, word value, bool adds, int pe)
{
    word *there = direct_signal(view, address, adds, pe);
    if (!there) {
        signal_by_agent(view, address, value, adds, pe);
        return;
    }
    complete(view.ring, true);
    if (adds)
        send_add(there, value);
    else
        store_after_fence(there, value);
}

/* The bytes of a put with signal, and the update of the word after them. */
struct payload {
    void *dest;
    const char *source;
    word nbytes;
};
struct word_update {
    void *address;
    word value;
    bool adds;
};

/* The agent does both or none of put and signal: it orders the signal behind the data only if it has written both. */
template <class GROUP>
SHMEMI_DEVICE_TEMPLATE void put_signal_by_table(const GROUP &group, const shmemx_device_view_t &view,
                                                const payload &data, const shmemx_device_view_t &signal_view,
                                                const word_update &update, int pe, bool is_blocking)
{
    char *there = direct(view, data.dest, pe, SHMEMI_DEVICE_STORES);
    if (!there) {
        request r = request_to(SHMEMI_DEVICE_PUT, view, data.dest, data.nbytes, pe);
        add_signal(&r, signal_view, update.address, update.value, update.adds);
        far_put(group, ring_to(view, pe), r, data.source, is_blocking);
        return;
    }
    copy_any<plain_loads>(group, there, data.source, data.nbytes);
    group.sync();
    if (group.rank() == 0)
        signal(signal_view, update.address, update.value, update.adds, pe);
}

/* The most common case, in which the view has the addresses of both, takes the fewest instructions. */
template <class GROUP>
SHMEMI_DEVICE_TEMPLATE void put_signal(const GROUP &group, const shmemx_device_view_t &view, const payload &data,
                                       const shmemx_device_view_t &signal_view, const word_update &update, int pe,
                                       bool is_blocking)
{
    if (!is_near(view, pe) || !is_near(signal_view, pe)) {
        put_signal_by_table(group, view, data, signal_view, update, pe, is_blocking);
        return;
    }
    copy<plain_loads>(group, near_address(view, data.dest, pe), data.source, data.nbytes);
    group.sync();
    if (group.rank() == 0)
        signal_directly(reinterpret_cast<word *>(near_address(signal_view, update.address, pe)), update.value,
                        update.adds);
}

/* Everything that the group has put so far, to whatever object, is in place, and seen by whoever sees what it stores next. */
template <class GROUP> SHMEMI_DEVICE_TEMPLATE void fence(const GROUP &group, const shmemx_device_view_t &view)
{
    group.sync();
    complete(view.ring, group.rank() == 0);
    group.sync();
}

/* Everything that the group has put so far, to whatever object, is in place before anything that it does next, loads
 * included. */
template <class GROUP> SHMEMI_DEVICE_TEMPLATE void quiet(const GROUP &group, const shmemx_device_view_t &view)
{
    group.sync();
    const bool waits = group.rank() == 0 && is_behind(view.ring);
    fence_sequential();
    if (waits)
        drain(view.ring);
    group.sync();
}

template <unsigned SIZE> struct unit_of;
template <> struct unit_of<1> {
    typedef unsigned char type;
};
template <> struct unit_of<2> {
    typedef unsigned short type;
};
template <> struct unit_of<4> {
    typedef half type;
};
template <> struct unit_of<8> {
    typedef word type;
};
template <> struct unit_of<16> {
    typedef quad type;
};

/* A value as a number of its size, and back. */
template <class UNIT, class T> SHMEMI_DEVICE_TEMPLATE UNIT bits_of(T value)
{
    union {
        T value;
        UNIT bits;
    } both;
    both.value = value;
    return both.bits;
}

SHMEMI_DEVICE void store_value(word *p, word value)
{
    store_relaxed(p, value);
}
SHMEMI_DEVICE void store_value(half *p, half value)
{
    store_relaxed(p, value);
}
SHMEMI_DEVICE void store_value(unsigned short *p, unsigned short value)
{
    store_relaxed(p, value);
}
template <class UNIT> SHMEMI_DEVICE_TEMPLATE void store_value(UNIT *p, UNIT value)
{
    store_plain<UNIT>(reinterpret_cast<char *>(p), value);
}

/* A single word, by one thread. */
template <class UNIT>
SHMEMI_DEVICE_TEMPLATE void put_word(const shmemx_device_view_t &view, void *dest, UNIT value, int pe)
{
    UNIT *there = reinterpret_cast<UNIT *>(direct(view, dest, pe, SHMEMI_DEVICE_STORES));
    if (there) {
        store_value(there, value);
        return;
    }
    request r = request_to(SHMEMI_DEVICE_PUT, view, dest, sizeof(UNIT), pe);
    r.value = value;
    send_word(ring_to(view, pe), r);
}

template <class GROUP, class T>
SHMEMI_DEVICE_TEMPLATE void put_elements(const GROUP &group, const shmemx_device_view_t &view, T *dest, const T *source,
                                         unsigned long nelems, int pe, bool is_blocking)
{
    put(group, view, dest, source, nelems * sizeof(T), pe, is_blocking);
}

/* A thread's single element, if it can be moved at once: where the compiler knows that it is one, the code for all lengths and
 * alignments, and its registers, are left out. */
template <class T>
SHMEMI_DEVICE_TEMPLATE void put_elements(const shmemx_device_thread_t &thread, const shmemx_device_view_t &view,
                                         T *dest, const T *source, unsigned long nelems, int pe, bool is_blocking)
{
    const bool is_word = sizeof(T) <= sizeof(word) && __alignof__(T) == sizeof(T);
    typedef typename unit_of<is_word ? sizeof(T) : 1>::type unit;
    if (is_word && nelems == 1)
        put_word(view, dest, load_plain<unit>(reinterpret_cast<const char *>(source)), pe);
    else
        put(thread, view, dest, source, nelems * sizeof(T), pe, is_blocking);
}

} // namespace shmemi_device

/* clang-format off */
#define SHMEMI_DEVICE_PUTS(NAME, CALL, IS_BLOCKING)                                                                    \
    template <class GROUP, class T>                                                                                    \
    SHMEMI_DEVICE_TEMPLATE void shmemx_device_##NAME(GROUP group, const shmemx_device_view_t &view, T *dest,           \
                                                     const T *source, unsigned long nelems, int pe)                    \
    { shmemi_device::CALL(group, view, dest, source, nelems, pe, IS_BLOCKING); }
#define SHMEMI_DEVICE_PUTS_OF_BYTES(NAME, CALL, IS_BLOCKING)                                                           \
    template <class GROUP>                                                                                             \
    SHMEMI_DEVICE_TEMPLATE void shmemx_device_##NAME(GROUP group, const shmemx_device_view_t &view, void *dest,        \
                                                     const void *source, unsigned long nbytes, int pe)                 \
    { shmemi_device::CALL(group, view, dest, source, nbytes, pe, IS_BLOCKING); }
#define SHMEMI_DEVICE_PUT_SIGNALS(NAME, IS_BLOCKING)                                                                   \
    template <class GROUP, class T, class WORD>                                                                        \
    SHMEMI_DEVICE_TEMPLATE void shmemx_device_##NAME(GROUP group, const shmemx_device_view_t &view, T *dest,           \
                                                     const T *source, unsigned long nelems,                            \
                                                     const shmemx_device_view_t &signal_view, WORD *sig_addr,          \
                                                     unsigned long long signal, int sig_op, int pe)                    \
    { static_assert(sizeof(WORD) == 8, "a signal has 64 bits");                                                        \
      const shmemi_device::payload data = {dest, reinterpret_cast<const char *>(source), nelems * sizeof(T)};          \
      const shmemi_device::word_update update = {sig_addr, signal, sig_op == SHMEM_SIGNAL_ADD};                        \
      shmemi_device::put_signal(group, view, data, signal_view, update, pe, IS_BLOCKING); }                            \
    template <class GROUP, class T, class WORD>                                                                        \
    SHMEMI_DEVICE_TEMPLATE void shmemx_device_##NAME(GROUP group, const shmemx_device_view_t &view, T *dest,           \
                                                     const T *source, unsigned long nelems, WORD *sig_addr,            \
                                                     unsigned long long signal, int sig_op, int pe)                    \
    { shmemx_device_##NAME(group, view, dest, source, nelems, view, sig_addr, signal, sig_op, pe); }

SHMEMI_DEVICE_PUTS(put, put_elements, true)
SHMEMI_DEVICE_PUTS(put_nbi, put_elements, false)
SHMEMI_DEVICE_PUTS(get, get_elements, true)
SHMEMI_DEVICE_PUTS(get_nbi, get_elements, false)
SHMEMI_DEVICE_PUTS_OF_BYTES(putmem, put, true)
SHMEMI_DEVICE_PUTS_OF_BYTES(putmem_nbi, put, false)
SHMEMI_DEVICE_PUTS_OF_BYTES(getmem, get, true)
SHMEMI_DEVICE_PUTS_OF_BYTES(getmem_nbi, get, false)
SHMEMI_DEVICE_PUT_SIGNALS(put_signal, true)
SHMEMI_DEVICE_PUT_SIGNALS(put_signal_nbi, false)
/* clang-format on */

#undef SHMEMI_DEVICE_PUTS
#undef SHMEMI_DEVICE_PUTS_OF_BYTES
#undef SHMEMI_DEVICE_PUT_SIGNALS

template <class T>
SHMEMI_DEVICE_TEMPLATE void shmemx_device_p(const shmemx_device_view_t &view, T *dest, T value, int pe)
{
    using namespace shmemi_device;
    typedef typename unit_of<sizeof(T)>::type unit;
    put_word(view, dest, bits_of<unit>(value), pe);
}

template <class T> SHMEMI_DEVICE_TEMPLATE T shmemx_device_g(const shmemx_device_view_t &view, const T *source, int pe)
{
    using namespace shmemi_device;
    typedef typename unit_of<sizeof(T)>::type unit;
    const char *there = direct(view, source, pe, SHMEMI_DEVICE_STORES);
    if (there)
        return bits_of<T>(fresh<unit>::load(there));
    request r = request_to(SHMEMI_DEVICE_GET, view, source, sizeof(T), pe);
    return bits_of<T>(static_cast<unit>(send_and_fetch(ring_to(view, pe), r)));
}

template <class WORD>
SHMEMI_DEVICE_TEMPLATE void shmemx_device_signal_op(const shmemx_device_view_t &view, WORD *sig_addr,
                                                    unsigned long long signal, int sig_op, int pe)
{
    static_assert(sizeof(WORD) == 8, "a signal has 64 bits");
    shmemi_device::signal_after_all(view, sig_addr, signal, sig_op == SHMEM_SIGNAL_ADD, pe);
}
template <class WORD>
SHMEMI_DEVICE_TEMPLATE void shmemx_device_signal_set(const shmemx_device_view_t &view, WORD *sig_addr,
                                                     unsigned long long signal, int pe)
{
    shmemx_device_signal_op(view, sig_addr, signal, SHMEM_SIGNAL_SET, pe);
}
template <class WORD>
SHMEMI_DEVICE_TEMPLATE void shmemx_device_signal_add(const shmemx_device_view_t &view, WORD *sig_addr,
                                                     unsigned long long signal, int pe)
{
    shmemx_device_signal_op(view, sig_addr, signal, SHMEM_SIGNAL_ADD, pe);
}

template <class GROUP> SHMEMI_DEVICE_TEMPLATE void shmemx_device_quiet(GROUP group, const shmemx_device_view_t &view)
{
    shmemi_device::quiet(group, view);
}

/* What the threads have put by themselves they have read. The agent reads what its slots do not hold where it is. */
template <class GROUP> SHMEMI_DEVICE_TEMPLATE void shmemx_device_flush(GROUP group, const shmemx_device_view_t &view)
{
    group.sync();
    if (group.rank() == 0 && shmemi_device::is_behind(view.ring))
        shmemi_device::drain(view.ring);
    group.sync();
}

/* Direct stores are ordered by the fence. What the agent does is not ordered with them, so it must be complete. */
template <class GROUP> SHMEMI_DEVICE_TEMPLATE void shmemx_device_fence(GROUP group, const shmemx_device_view_t &view)
{
    shmemi_device::fence(group, view);
}

#endif
