/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waiting and testing in kernels (shmemx_device.h, which says what they mean). Words are in this PE's own copy.
 */
#ifndef MAPSHMEM_DEVICE_WAIT_H
#define MAPSHMEM_DEVICE_WAIT_H

namespace shmemi_device
{

template <class T> struct wait_unit {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8, "waits are for words of 16, 32 and 64 bits");
    typedef typename unit_of<sizeof(T)>::type type;
};

template <class T> SHMEMI_DEVICE_TEMPLATE T look(const T *ivar)
{
    typedef typename wait_unit<T>::type unit;
    return bits_of<T>(load_acquire(reinterpret_cast<const unit *>(ivar)));
}

template <class T> SHMEMI_DEVICE_TEMPLATE bool holds(T value, int cmp, T other)
{
    switch (cmp) {
    case SHMEM_CMP_EQ:
        return value == other;
    case SHMEM_CMP_NE:
        return value != other;
    case SHMEM_CMP_GT:
        return value > other;
    case SHMEM_CMP_GE:
        return value >= other;
    case SHMEM_CMP_LT:
        return value < other;
    default:
        return value <= other;
    }
}

/* ---- What the watchdog is told ----------------------------------------------------------------------------------- */

SHMEMI_DEVICE shmemi_device_wait *place_of_wait(shmemi_device_wait *waits)
{
    return &waits[block_number() % static_cast<unsigned>(SHMEMI_DEVICE_WAITS)];
}

/* Words of an object that are waited for. */
struct words_at {
    unsigned region;
    word offset;
    unsigned size, n_words; /* bytes of a word */
};

/* Called now and then in a wait. Returns the time at which the wait was first seen; after a second, writes what it waits
 * for where the watchdog reads it. */
SHMEMI_DEVICE_RARE word tell_wait(shmemi_device_wait *waits, word began, words_at where, int cmp, word value, word seen,
                                  int from)
{
    const word second = 1000000000, now = clock_ns();
    if (!began || now - began < second)
        return began ? began : now;
    shmemi_device_wait *wait = place_of_wait(waits);
    store_relaxed(&wait->now, now);
    store_relaxed(&wait->offset, where.offset);
    store_relaxed(&wait->value, value);
    store_relaxed(&wait->seen, seen);
    store_relaxed(&wait->region, where.region);
    store_relaxed(&wait->size, where.size);
    store_relaxed(&wait->n_words, where.n_words);
    store_relaxed(&wait->block, block_number());
    store_relaxed(reinterpret_cast<half *>(&wait->cmp), static_cast<half>(cmp));
    store_relaxed(reinterpret_cast<half *>(&wait->from), static_cast<half>(from));
    store_release(&wait->since, began);
    return began;
}

/* The wait has ended; another block may have taken the place. */
SHMEMI_DEVICE_RARE void end_wait(shmemi_device_wait *waits, word began)
{
    shmemi_device_wait *wait = place_of_wait(waits);
    if (load_relaxed(&wait->since) == began)
        store_relaxed(&wait->since, static_cast<word>(0));
}

template <class T>
SHMEMI_DEVICE_TEMPLATE word tell_words(const shmemx_device_view_t &view, word began, const T *ivars,
                                       unsigned long n_words, int cmp, T value, T seen)
{
    typedef typename wait_unit<T>::type unit;
    const word offset = static_cast<word>(reinterpret_cast<const char *>(ivars) - view.own);
    const words_at where = {view.region, offset, sizeof(T), static_cast<unsigned>(n_words)};
    return tell_wait(view.waits, began, where, cmp, bits_of<unit>(value), bits_of<unit>(seen), -1);
}

/* ---- One word ---------------------------------------------------------------------------------------------------- */

/* Look so many times, unless it holds earlier. */
template <class T> SHMEMI_DEVICE_TEMPLATE bool look_for(patience &waiting, const T *ivar, int cmp, T value, T *seen_p)
{
    unsigned turns = turns_between_looks;
    T seen = look(ivar);
    SHMEMI_DEVICE_AS_IT_IS
    while (!holds(seen, cmp, value) && --turns) {
        waiting.relax();
        seen = look(ivar);
    }
    *seen_p = seen;
    return turns != 0;
}

/* The rest of a wait that has lasted for a while: it is told to the watchdog, if there is one. */
template <class T>
SHMEMI_DEVICE_RARE T wait_long(shmemi_device_wait *waits, unsigned region, word offset, const T *ivar, int cmp, T value,
                               int from)
{
    typedef typename wait_unit<T>::type unit;
    T seen;
    word began = 0;
    patience waiting;
    while (!look_for(waiting, ivar, cmp, value, &seen))
        if (waits)
            began = tell_wait(waits, began, {region, offset, sizeof(T), 1}, cmp, bits_of<unit>(value),
                              bits_of<unit>(seen), from);
    if (began)
        end_wait(waits, began);
    return seen;
}

/* Returns what was seen in the end. At first there is nothing else in the loop: that is seen soonest. from: the PE that writes the word, for the watchdog; -1: not known. */
template <class T>
SHMEMI_DEVICE_TEMPLATE T wait_for(const shmemx_device_view_t &view, const T *ivar, int cmp, T value, int from)
{
    patience waiting;
    SHMEMI_DEVICE_AS_IT_IS
    for (unsigned turns = turns_between_looks; turns; turns--) {
        const T seen = look(ivar);
        if (holds(seen, cmp, value))
            return seen;
        waiting.relax();
    }
    const word offset = static_cast<word>(reinterpret_cast<const char *>(ivar) - view.own);
    return wait_long(view.waits, view.region, offset, ivar, cmp, value, from);
}

/* ---- Sets of words ----------------------------------------------------------------------------------------------- */

/* The values that words are compared with: the same for all, or one for each. */
template <class T> struct one_value {
    T value;
    SHMEMI_DEVICE_MEMBER T at(unsigned long) const
    {
        return value;
    }
};
template <class T> struct many_values {
    const T *values;
    SHMEMI_DEVICE_MEMBER T at(unsigned long i) const
    {
        return values[i];
    }
};

SHMEMI_DEVICE bool counts(const int *status, unsigned long i)
{
    return !status || !status[i];
}

template <class GROUP, class T, class VALUES>
SHMEMI_DEVICE_TEMPLATE void wait_all(const GROUP &group, const shmemx_device_view_t &view, const T *ivars,
                                     unsigned long nelems, const int *status, int cmp, VALUES values)
{
    for (unsigned long i = group.rank(); i < nelems; i += group.size())
        if (counts(status, i))
            wait_for(view, &ivars[i], cmp, values.at(i), -1);
    group.sync();
}

/* The first word that holds; nelems: none does. *n_counted: words that are not left out. */
template <class T, class VALUES>
SHMEMI_DEVICE_TEMPLATE unsigned long find_one(const T *ivars, unsigned long nelems, const int *status, int cmp,
                                              VALUES values, unsigned long *n_counted)
{
    *n_counted = 0;
    for (unsigned long i = 0; i < nelems; i++) {
        if (!counts(status, i))
            continue;
        ++*n_counted;
        if (holds(look(&ivars[i]), cmp, values.at(i)))
            return i;
    }
    return nelems;
}

template <class T, class VALUES>
SHMEMI_DEVICE_TEMPLATE unsigned long find_some(const T *ivars, unsigned long nelems, unsigned long *indices,
                                               const int *status, int cmp, VALUES values, unsigned long *n_counted)
{
    unsigned long n = 0;
    *n_counted = 0;
    for (unsigned long i = 0; i < nelems; i++) {
        if (!counts(status, i))
            continue;
        ++*n_counted;
        if (holds(look(&ivars[i]), cmp, values.at(i)))
            indices[n++] = i;
    }
    return n;
}

template <class T, class VALUES>
SHMEMI_DEVICE_TEMPLATE unsigned long wait_any(const shmemx_device_view_t &view, const T *ivars, unsigned long nelems,
                                              const int *status, int cmp, VALUES values)
{
    unsigned long n_counted, found = find_one(ivars, nelems, status, cmp, values, &n_counted);
    word began = 0;
    patience waiting;
    for (unsigned turns = 1; found == nelems && n_counted; turns++) {
        waiting.relax();
        if (view.waits && turns % turns_between_looks == 0)
            began = tell_words(view, began, ivars, nelems, cmp, values.at(0), look(ivars));
        found = find_one(ivars, nelems, status, cmp, values, &n_counted);
    }
    if (began)
        end_wait(view.waits, began);
    return found == nelems ? ~0ul : found;
}

template <class T, class VALUES>
SHMEMI_DEVICE_TEMPLATE unsigned long wait_some(const shmemx_device_view_t &view, const T *ivars, unsigned long nelems,
                                               unsigned long *indices, const int *status, int cmp, VALUES values)
{
    unsigned long n_counted, n = find_some(ivars, nelems, indices, status, cmp, values, &n_counted);
    word began = 0;
    patience waiting;
    for (unsigned turns = 1; !n && n_counted; turns++) {
        waiting.relax();
        if (view.waits && turns % turns_between_looks == 0)
            began = tell_words(view, began, ivars, nelems, cmp, values.at(0), look(ivars));
        n = find_some(ivars, nelems, indices, status, cmp, values, &n_counted);
    }
    if (began)
        end_wait(view.waits, began);
    return n;
}

template <class T, class VALUES>
SHMEMI_DEVICE_TEMPLATE int test_all(const T *ivars, unsigned long nelems, const int *status, int cmp, VALUES values)
{
    for (unsigned long i = 0; i < nelems; i++)
        if (counts(status, i) && !holds(look(&ivars[i]), cmp, values.at(i)))
            return 0;
    return 1;
}

} // namespace shmemi_device

template <class GROUP, class T>
SHMEMI_DEVICE_TEMPLATE void shmemx_device_wait_until(GROUP group, const shmemx_device_view_t &view, const T *ivar,
                                                     int cmp, typename shmemi_device::same<T>::type cmp_value)
{
    if (group.rank() == 0)
        shmemi_device::wait_for(view, ivar, cmp, cmp_value, -1);
    group.sync();
}

template <class GROUP, class WORD>
SHMEMI_DEVICE_TEMPLATE WORD shmemx_device_signal_wait_until(GROUP group, const shmemx_device_view_t &view,
                                                            const WORD *sig_addr, int cmp,
                                                            typename shmemi_device::same<WORD>::type cmp_value)
{
    shmemi_device::word seen = 0;
    group.ready();
    if (group.rank() == 0)
        seen = static_cast<shmemi_device::word>(shmemi_device::wait_for(view, sig_addr, cmp, cmp_value, -1));
    return static_cast<WORD>(group.share(seen));
}

template <class WORD>
SHMEMI_DEVICE_TEMPLATE WORD shmemx_device_signal_fetch(const shmemx_device_view_t &view, const WORD *sig_addr)
{
    (void)view;
    return shmemi_device::look(sig_addr);
}

template <class T>
SHMEMI_DEVICE_TEMPLATE int shmemx_device_test(const shmemx_device_view_t &view, const T *ivar, int cmp,
                                              typename shmemi_device::same<T>::type cmp_value)
{
    (void)view;
    return shmemi_device::holds(shmemi_device::look(ivar), cmp, cmp_value);
}

/* clang-format off */
#define SHMEMI_DEVICE_VECTORS(SUFFIX, VALUE, VALUES)                                                                   \
    template <class GROUP, class T>                                                                                    \
    SHMEMI_DEVICE_TEMPLATE void shmemx_device_wait_until_all##SUFFIX(                                                  \
        GROUP group, const shmemx_device_view_t &view, const T *ivars, unsigned long nelems, const int *status,        \
        int cmp, VALUE)                                                                                                \
    { shmemi_device::wait_all(group, view, ivars, nelems, status, cmp, VALUES); }                                      \
    template <class T>                                                                                                 \
    SHMEMI_DEVICE_TEMPLATE unsigned long shmemx_device_wait_until_any##SUFFIX(                                         \
        const shmemx_device_view_t &view, const T *ivars, unsigned long nelems, const int *status, int cmp, VALUE)     \
    { return shmemi_device::wait_any(view, ivars, nelems, status, cmp, VALUES); }                                      \
    template <class T>                                                                                                 \
    SHMEMI_DEVICE_TEMPLATE unsigned long shmemx_device_wait_until_some##SUFFIX(                                        \
        const shmemx_device_view_t &view, const T *ivars, unsigned long nelems, unsigned long *indices,                \
        const int *status, int cmp, VALUE)                                                                             \
    { return shmemi_device::wait_some(view, ivars, nelems, indices, status, cmp, VALUES); }                            \
    template <class T>                                                                                                 \
    SHMEMI_DEVICE_TEMPLATE int shmemx_device_test_all##SUFFIX(                                                         \
        const shmemx_device_view_t &view, const T *ivars, unsigned long nelems, const int *status, int cmp, VALUE)     \
    { (void)view; return shmemi_device::test_all(ivars, nelems, status, cmp, VALUES); }                                \
    template <class T>                                                                                                 \
    SHMEMI_DEVICE_TEMPLATE unsigned long shmemx_device_test_any##SUFFIX(                                               \
        const shmemx_device_view_t &view, const T *ivars, unsigned long nelems, const int *status, int cmp, VALUE)     \
    { unsigned long n_counted, found = shmemi_device::find_one(ivars, nelems, status, cmp, VALUES, &n_counted);        \
      (void)view; return found == nelems ? ~0ul : found; }                                                             \
    template <class T>                                                                                                 \
    SHMEMI_DEVICE_TEMPLATE unsigned long shmemx_device_test_some##SUFFIX(                                              \
        const shmemx_device_view_t &view, const T *ivars, unsigned long nelems, unsigned long *indices,                \
        const int *status, int cmp, VALUE)                                                                             \
    { unsigned long n_counted;                                                                                         \
      (void)view; return shmemi_device::find_some(ivars, nelems, indices, status, cmp, VALUES, &n_counted); }

SHMEMI_DEVICE_VECTORS(, typename shmemi_device::same<T>::type cmp_value, shmemi_device::one_value<T>{cmp_value})
SHMEMI_DEVICE_VECTORS(_vector, const T *cmp_values, shmemi_device::many_values<T>{cmp_values})
#undef SHMEMI_DEVICE_VECTORS
/* clang-format on */

#endif
