/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies by the threads of a group (shmemx_device.h), in units of 16 bytes where both sides allow it. Aligned words of 2,
 * 4 and 8 bytes are single stores, so that nobody sees a part of one.
 */
#ifndef MAPSHMEM_DEVICE_COPY_H
#define MAPSHMEM_DEVICE_COPY_H

namespace shmemi_device
{

struct plain_loads { /* of memory that the group itself may read as it likes */
    template <class UNIT> static SHMEMI_DEVICE_MEMBER UNIT load(const char *p)
    {
        return load_plain<UNIT>(p);
    }
};
struct fresh_loads { /* of memory that another PE has written */
    template <class UNIT> static SHMEMI_DEVICE_MEMBER UNIT load(const char *p)
    {
        return fresh<UNIT>::load(p);
    }
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

/* Each thread loads several units before it stores the first: loads take long. */
template <class UNIT, class LOADS, class GROUP>
SHMEMI_DEVICE_TEMPLATE void copy_units(const GROUP &group, char *dest, const char *source, word nbytes)
{
    const word step = static_cast<word>(group.size()) * sizeof(UNIT);
    word at = group.rank() * sizeof(UNIT);
    SHMEMI_DEVICE_AS_IT_IS
    for (; at + 3 * step < nbytes; at += 4 * step) {
        const UNIT first = LOADS::template load<UNIT>(source + at);
        const UNIT second = LOADS::template load<UNIT>(source + at + step);
        const UNIT third = LOADS::template load<UNIT>(source + at + 2 * step);
        const UNIT fourth = LOADS::template load<UNIT>(source + at + 3 * step);
        store_plain<UNIT>(dest + at, first);
        store_plain<UNIT>(dest + at + step, second);
        store_plain<UNIT>(dest + at + 2 * step, third);
        store_plain<UNIT>(dest + at + 3 * step, fourth);
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

/* For collective operations, which copy at several places: the code is there once, and its registers are no matter of the
 * kernel that calls them. */
template <class GROUP>
SHMEMI_DEVICE_RARE void copy_apart(const GROUP group, char *dest, const char *source, word nbytes)
{
    copy<plain_loads>(group, dest, source, nbytes);
}

} // namespace shmemi_device

#endif
