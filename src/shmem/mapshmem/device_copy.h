/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies by the threads of a group (shmemx_device.h), in units of 16 bytes where both sides allow it. Aligned words of 2,
 * 4 and 8 bytes are single stores, so that nobody sees a part of one.
 */
#ifndef MAPSHMEM_DEVICE_COPY_H
#define MAPSHMEM_DEVICE_COPY_H

namespace shmemi_device
{

/* at_a_time: units that a thread loads before it stores the first, since loads take long. More take more registers. */
struct plain_loads { /* of memory that the group itself may read as it likes */
    enum { at_a_time = 4 };
    template <class UNIT> static SHMEMI_DEVICE_MEMBER UNIT load(const char *p)
    {
        return load_plain<UNIT>(p);
    }
};
struct fewer_loads : plain_loads { /* where a call has little room for registers */
    enum { at_a_time = 2 };
};
struct fresh_loads { /* of memory that another PE has written */
    enum { at_a_time = 4 };
    template <class UNIT> static SHMEMI_DEVICE_MEMBER UNIT load(const char *p)
    {
        return fresh<UNIT>::load(p);
    }
};

struct fewer_fresh_loads : fresh_loads { /* the way to a slot is long, but what is there is short */
    enum { at_a_time = 2 };
};

template <class UNIT, class LOADS> SHMEMI_DEVICE_TEMPLATE void copy_unit(char *dest, const char *source)
{
    store_plain<UNIT>(dest, LOADS::template load<UNIT>(source));
}

/* At most 15 bytes, one word after the other: dest grows in alignment before the units, and shrinks behind them. */
template <class LOADS> SHMEMI_DEVICE_RARE void copy_edge(char *dest, const char *source, word nbytes, word unit)
{
    SHMEMI_DEVICE_AS_IT_IS
    while (nbytes) {
        const word at = reinterpret_cast<word>(dest);
        if (unit > 8 && at % 8 == 0 && nbytes >= 8) {
            copy_unit<word, LOADS>(dest, source);
            dest += 8, source += 8, nbytes -= 8;
        } else if (unit > 4 && at % 4 == 0 && nbytes >= 4) {
            copy_unit<half, LOADS>(dest, source);
            dest += 4, source += 4, nbytes -= 4;
        } else if (unit > 2 && at % 2 == 0 && nbytes >= 2) {
            copy_unit<unsigned short, LOADS>(dest, source);
            dest += 2, source += 2, nbytes -= 2;
        } else {
            copy_unit<unsigned char, LOADS>(dest, source);
            dest += 1, source += 1, nbytes -= 1;
        }
    }
}

template <class UNIT, class LOADS, class GROUP>
SHMEMI_DEVICE_TEMPLATE void copy_units(const GROUP &group, char *dest, const char *source, word nbytes)
{
    const unsigned n = LOADS::at_a_time;
    const word step = static_cast<word>(group.size()) * sizeof(UNIT);
    word at = group.rank() * sizeof(UNIT);
    SHMEMI_DEVICE_AS_IT_IS
    for (; at + (n - 1) * step < nbytes; at += n * step) {
        UNIT units[n];
        for (unsigned k = 0; k < n; k++)
            units[k] = LOADS::template load<UNIT>(source + at + k * step);
        for (unsigned k = 0; k < n; k++)
            store_plain<UNIT>(dest + at + k * step, units[k]);
    }
    SHMEMI_DEVICE_AS_IT_IS
    for (; at < nbytes; at += step)
        copy_unit<UNIT, LOADS>(dest + at, source + at);
}

template <class UNIT, class LOADS, class GROUP>
SHMEMI_DEVICE_TEMPLATE void copy_with_edges(const GROUP &group, char *dest, const char *source, word nbytes)
{
    const word to_unit = (0 - reinterpret_cast<word>(dest)) % sizeof(UNIT);
    const word head = to_unit < nbytes ? to_unit : nbytes;
    const word body = (nbytes - head) / sizeof(UNIT) * sizeof(UNIT);
    const word tail = nbytes - head - body;
    if (head && group.rank() == 0)
        copy_edge<LOADS>(dest, source, head, sizeof(UNIT));
    copy_units<UNIT, LOADS>(group, dest + head, source + head, body);
    if (tail && group.rank() == group.size() - 1)
        copy_edge<LOADS>(dest + head + body, source + head + body, tail, sizeof(UNIT));
}

/* In the widest unit in which both sides have the same alignment. */
template <class LOADS, class GROUP>
SHMEMI_DEVICE_RARE void copy_any(const GROUP group, char *dest, const char *source, word nbytes)
{
    const word apart = reinterpret_cast<word>(dest) ^ reinterpret_cast<word>(source);
    if (apart % 16 == 0)
        copy_with_edges<quad, LOADS>(group, dest, source, nbytes);
    else if (apart % 8 == 0)
        copy_with_edges<word, LOADS>(group, dest, source, nbytes);
    else if (apart % 4 == 0)
        copy_with_edges<half, LOADS>(group, dest, source, nbytes);
    else if (apart % 2 == 0)
        copy_with_edges<unsigned short, LOADS>(group, dest, source, nbytes);
    else
        copy_with_edges<unsigned char, LOADS>(group, dest, source, nbytes);
}

/* Whole units, and a single word, take the fewest instructions. */
template <class LOADS, class GROUP>
SHMEMI_DEVICE_TEMPLATE void copy(const GROUP &group, char *dest, const char *source, word nbytes)
{
    const word all = reinterpret_cast<word>(dest) | reinterpret_cast<word>(source) | nbytes;
    if (all % sizeof(quad) == 0)
        copy_units<quad, LOADS>(group, dest, source, nbytes);
    else if (nbytes != sizeof(word) || all % sizeof(word))
        copy_any<LOADS>(group, dest, source, nbytes);
    else if (group.rank() == 0)
        copy_unit<word, LOADS>(dest, source);
}

/* Whole units, and single bytes before and behind them, which nobody reads before the operation has ended. */
template <class UNIT, class LOADS, class GROUP>
SHMEMI_DEVICE_TEMPLATE void copy_between_bytes(const GROUP &group, char *dest, const char *source, word nbytes)
{
    const unsigned to_unit = static_cast<unsigned>((0 - reinterpret_cast<word>(dest)) % sizeof(UNIT));
    const unsigned head = to_unit < nbytes ? to_unit : static_cast<unsigned>(nbytes);
    const unsigned tail = static_cast<unsigned>((nbytes - head) % sizeof(UNIT));
    SHMEMI_DEVICE_AS_IT_IS
    for (unsigned at = group.rank(); at < head + tail; at += group.size()) {
        const word place = at < head ? at : nbytes - tail + (at - head);
        copy_unit<unsigned char, LOADS>(dest + place, source + place);
    }
    copy_units<UNIT, LOADS>(group, dest + head, source + head, nbytes - head - tail);
}

/* For collective operations, which copy at several places, and out of slots: the code is there once, and takes few registers. */
template <class LOADS = fewer_loads, class GROUP>
SHMEMI_DEVICE_RARE void copy_apart(const GROUP group, char *dest, const char *source, word nbytes)
{
    const word apart = reinterpret_cast<word>(dest) ^ reinterpret_cast<word>(source);
    if (apart % sizeof(quad) == 0)
        copy_between_bytes<quad, LOADS>(group, dest, source, nbytes);
    else if (apart % sizeof(half) == 0)
        copy_between_bytes<half, LOADS>(group, dest, source, nbytes);
    else
        copy_between_bytes<unsigned char, LOADS>(group, dest, source, nbytes);
}

} // namespace shmemi_device

#endif
