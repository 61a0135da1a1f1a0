/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Strided put and get in kernels (shmemx_device.h, which says what they mean).
 */
#ifndef MAPSHMEM_DEVICE_STRIDED_H
#define MAPSHMEM_DEVICE_STRIDED_H

namespace shmemi_device
{

/* Element i of the dest is i * dst elements from its begin, that of the source i * sst. */
struct element_steps {
    long dst, sst;
    unsigned long nelems;
};

template <class LOADS, class GROUP, class T>
SHMEMI_DEVICE_TEMPLATE void copy_strided(const GROUP &group, T *dest, const T *source, const element_steps &s)
{
    typedef typename unit_of<sizeof(T)>::type unit;
    SHMEMI_DEVICE_AS_IT_IS
    for (unsigned long i = group.rank(); i < s.nelems; i += group.size())
        copy_unit<unit, LOADS>(reinterpret_cast<char *>(dest + static_cast<long>(i) * s.dst),
                               reinterpret_cast<const char *>(source + static_cast<long>(i) * s.sst));
}

/* Elements of which the agent takes part in the transfer, one by one. */
template <class GROUP, class T>
SHMEMI_DEVICE_RARE void put_far_strided(const GROUP group, const shmemx_device_view_t &view, T *dest, const T *source,
                                        const element_steps s, int pe)
{
    SHMEMI_DEVICE_AS_IT_IS
    for (unsigned long i = group.rank(); i < s.nelems; i += group.size())
        put_elements(shmemx_device_thread_t(), view, dest + static_cast<long>(i) * s.dst,
                     source + static_cast<long>(i) * s.sst, 1, pe, true);
}

template <class GROUP, class T>
SHMEMI_DEVICE_RARE void get_far_strided(const GROUP group, const shmemx_device_view_t &view, T *dest, const T *source,
                                        const element_steps s, int pe)
{
    SHMEMI_DEVICE_AS_IT_IS
    for (unsigned long i = group.rank(); i < s.nelems; i += group.size())
        get_elements(shmemx_device_thread_t(), view, dest + static_cast<long>(i) * s.dst,
                     source + static_cast<long>(i) * s.sst, 1, pe, true);
}

} // namespace shmemi_device

template <class GROUP, class T>
SHMEMI_DEVICE_TEMPLATE void shmemx_device_iput(GROUP group, const shmemx_device_view_t &view, T *dest, const T *source,
                                               long dst, long sst, unsigned long nelems, int pe)
{
    using namespace shmemi_device;
    const element_steps s = {dst, sst, nelems};
    char *there = direct(view, dest, pe, SHMEMI_DEVICE_STORES);
    if (there)
        copy_strided<plain_loads>(group, reinterpret_cast<T *>(there), source, s);
    else
        put_far_strided(group, view, dest, source, s, pe);
    group.sync();
}

template <class GROUP, class T>
SHMEMI_DEVICE_TEMPLATE void shmemx_device_iget(GROUP group, const shmemx_device_view_t &view, T *dest, const T *source,
                                               long dst, long sst, unsigned long nelems, int pe)
{
    using namespace shmemi_device;
    const element_steps s = {dst, sst, nelems};
    const char *there = direct(view, source, pe, SHMEMI_DEVICE_STORES);
    if (there)
        copy_strided<fresh_loads>(group, dest, reinterpret_cast<const T *>(there), s);
    else
        get_far_strided(group, view, dest, source, s, pe);
    group.sync();
}

#endif
