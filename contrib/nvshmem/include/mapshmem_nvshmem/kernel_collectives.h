/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collective operations with NVSHMEM's names in kernels. Included by kernel_calls.h.
 *
 * A dest in the slab is at the same place on all members, so data go straight there. Any other dest is served by the work
 * area of the team. All members come to the same choice, since a dest lies in the same object on each of them.
 */
#ifndef MAPSHMEM_NVSHMEM_KERNEL_COLLECTIVES_H
#define MAPSHMEM_NVSHMEM_KERNEL_COLLECTIVES_H

namespace nvshmemi_kernel
{

template <class GROUP> SHMEMI_DEVICE_TEMPLATE int barrier(const GROUP group, nvshmem_team_t team)
{
    shmemx_device_barrier(group, team_of(team));
    return 0;
}

template <class GROUP> SHMEMI_DEVICE_TEMPLATE int sync(const GROUP group, nvshmem_team_t team)
{
    shmemx_device_sync(group, team_of(team));
    return 0;
}

template <class GROUP>
SHMEMI_DEVICE_TEMPLATE int broadcast(const GROUP group, nvshmem_team_t team, void *dest, const void *source,
                                     size_t nbytes, int root)
{
    const shmemx_device_team_t &t = team_in_memory(team);
    char *to = static_cast<char *>(dest);
    const char *from = static_cast<const char *>(source);
    if (is_in_slab(dest))
        shmemx_device_broadcast(group, t, nvshmemi_mapshmem_state.slab, to, from, nbytes, root);
    else
        shmemx_device_broadcast(group, t, to, from, nbytes, root);
    return 0;
}

template <class GROUP>
SHMEMI_DEVICE_TEMPLATE int fcollect(const GROUP group, nvshmem_team_t team, void *dest, const void *source,
                                    size_t nbytes)
{
    const shmemx_device_team_t &t = team_in_memory(team);
    char *to = static_cast<char *>(dest);
    const char *from = static_cast<const char *>(source);
    if (is_in_slab(dest))
        shmemx_device_fcollect(group, t, nvshmemi_mapshmem_state.slab, to, from, nbytes);
    else
        shmemx_device_fcollect(group, t, to, from, nbytes);
    return 0;
}

template <class GROUP>
SHMEMI_DEVICE_TEMPLATE int alltoall(const GROUP group, nvshmem_team_t team, void *dest, const void *source,
                                    size_t nbytes)
{
    const shmemx_device_team_t &t = team_in_memory(team);
    char *to = static_cast<char *>(dest);
    const char *from = static_cast<const char *>(source);
    if (is_in_slab(dest))
        shmemx_device_alltoall(group, t, nvshmemi_mapshmem_state.slab, to, from, nbytes);
    else
        shmemx_device_alltoall(group, t, to, from, nbytes);
    return 0;
}

template <class OP, class GROUP, class T>
SHMEMI_DEVICE_TEMPLATE int reduce(const GROUP group, nvshmem_team_t team, T *dest, const T *source, size_t nelems)
{
    shmemi_device::reduce_directly<OP>(group, team_in_memory(team), nvshmemi_mapshmem_state.slab, dest, source, nelems,
                                       is_in_slab(dest));
    return 0;
}

template <class OP, class GROUP, class T>
SHMEMI_DEVICE_TEMPLATE int reducescatter(const GROUP group, nvshmem_team_t team, T *dest, const T *source,
                                         size_t nelems)
{
    shmemi_device::reduce<OP>(group, team_in_memory(team), dest, source, nelems, nelems);
    return 0;
}

} // namespace nvshmemi_kernel

#define NVSHMEMI_COLLECT(SPACE, PREFIX, GROUP, ENDING, NAME, T, SIZE)                                                  \
    SPACE int PREFIX##NAME##broadcast##ENDING(nvshmem_team_t team, T *dest, const T *source, size_t nelems, int root)  \
    {                                                                                                                  \
        return nvshmemi_kernel::broadcast(nvshmemi_kernel::GROUP(), team, dest, source, nelems * (SIZE), root);        \
    }                                                                                                                  \
    SPACE int PREFIX##NAME##fcollect##ENDING(nvshmem_team_t team, T *dest, const T *source, size_t nelems)             \
    {                                                                                                                  \
        return nvshmemi_kernel::fcollect(nvshmemi_kernel::GROUP(), team, dest, source, nelems * (SIZE));               \
    }                                                                                                                  \
    SPACE int PREFIX##NAME##alltoall##ENDING(nvshmem_team_t team, T *dest, const T *source, size_t nelems)             \
    {                                                                                                                  \
        return nvshmemi_kernel::alltoall(nvshmemi_kernel::GROUP(), team, dest, source, nelems * (SIZE));               \
    }

#define NVSHMEMI_REDUCE(SPACE, PREFIX, GROUP, ENDING, TYPENAME, TYPE, OP)                                              \
    SPACE int PREFIX##TYPENAME##_##OP##_reduce##ENDING(nvshmem_team_t team, TYPE *dest, const TYPE *source,            \
                                                       size_t nreduce)                                                 \
    {                                                                                                                  \
        return nvshmemi_kernel::reduce<shmemi_device::OP##_of>(nvshmemi_kernel::GROUP(), team, dest, source, nreduce); \
    }                                                                                                                  \
    SPACE int PREFIX##TYPENAME##_##OP##_reducescatter##ENDING(nvshmem_team_t team, TYPE *dest, const TYPE *source,     \
                                                              size_t nreduce)                                          \
    {                                                                                                                  \
        return nvshmemi_kernel::reducescatter<shmemi_device::OP##_of>(nvshmemi_kernel::GROUP(), team, dest, source,    \
                                                                      nreduce);                                        \
    }

/* ---- Of a thread: what hosts have, too ------------------------------------------------------------------------------ */

#if defined(NVSHMEMI_FOR_KERNELS)
extern "C" {

NVSHMEMI_KERNEL_SHARED int nvshmem_barrier(nvshmem_team_t team)
{
    return nvshmemi_kernel::barrier(nvshmemi_kernel::thread(), team);
}
NVSHMEMI_KERNEL_SHARED void nvshmem_barrier_all(void)
{
    nvshmemi_kernel::barrier(nvshmemi_kernel::thread(), NVSHMEM_TEAM_WORLD);
}
NVSHMEMI_KERNEL_SHARED int nvshmem_team_sync(nvshmem_team_t team)
{
    return nvshmemi_kernel::sync(nvshmemi_kernel::thread(), team);
}
NVSHMEMI_KERNEL_SHARED void nvshmem_sync_all(void)
{
    nvshmemi_kernel::sync(nvshmemi_kernel::thread(), NVSHMEM_TEAM_WORLD);
}

NVSHMEMI_KERNEL_SHARED int nvshmem_broadcastmem(nvshmem_team_t team, void *dest, const void *source, size_t nbytes,
                                                int root)
{
    return nvshmemi_kernel::broadcast(nvshmemi_kernel::thread(), team, dest, source, nbytes, root);
}
NVSHMEMI_KERNEL_SHARED int nvshmem_fcollectmem(nvshmem_team_t team, void *dest, const void *source, size_t nbytes)
{
    return nvshmemi_kernel::fcollect(nvshmemi_kernel::thread(), team, dest, source, nbytes);
}
NVSHMEMI_KERNEL_SHARED int nvshmem_alltoallmem(nvshmem_team_t team, void *dest, const void *source, size_t nbytes)
{
    return nvshmemi_kernel::alltoall(nvshmemi_kernel::thread(), team, dest, source, nbytes);
}

#define NVSHMEMI_DEFINE(TYPENAME, TYPE, ...)                                                                           \
    NVSHMEMI_COLLECT(NVSHMEMI_KERNEL_SHARED, nvshmem_, thread, , TYPENAME##_, TYPE, sizeof(TYPE))
NVSHMEMI_FOR_RMA_TYPES(NVSHMEMI_DEFINE, )
#undef NVSHMEMI_DEFINE

#define NVSHMEMI_DEFINE(TYPENAME, TYPE, OP, ...)                                                                       \
    NVSHMEMI_REDUCE(NVSHMEMI_KERNEL_SHARED, nvshmem_, thread, , TYPENAME, TYPE, OP)
NVSHMEMI_FOR_REDUCTIONS(NVSHMEMI_DEFINE, )
#undef NVSHMEMI_DEFINE

} // extern "C"
#endif

/* ---- Of a warp or block --------------------------------------------------------------------------------------------- */

#define NVSHMEMI_DEFINE_FOR(GROUP)                                                                                     \
    NVSHMEMI_KERNEL int nvshmemx_barrier_##GROUP(nvshmem_team_t team)                                                  \
    {                                                                                                                  \
        return nvshmemi_kernel::barrier(nvshmemi_kernel::GROUP(), team);                                               \
    }                                                                                                                  \
    NVSHMEMI_KERNEL void nvshmemx_barrier_all_##GROUP()                                                                \
    {                                                                                                                  \
        nvshmemi_kernel::barrier(nvshmemi_kernel::GROUP(), NVSHMEM_TEAM_WORLD);                                        \
    }                                                                                                                  \
    NVSHMEMI_KERNEL int nvshmemx_team_sync_##GROUP(nvshmem_team_t team)                                                \
    {                                                                                                                  \
        return nvshmemi_kernel::sync(nvshmemi_kernel::GROUP(), team);                                                  \
    }                                                                                                                  \
    NVSHMEMI_KERNEL void nvshmemx_sync_all_##GROUP()                                                                   \
    {                                                                                                                  \
        nvshmemi_kernel::sync(nvshmemi_kernel::GROUP(), NVSHMEM_TEAM_WORLD);                                           \
    }                                                                                                                  \
    NVSHMEMI_KERNEL int nvshmemx_broadcastmem_##GROUP(nvshmem_team_t team, void *dest, const void *source,             \
                                                      size_t nbytes, int root)                                         \
    {                                                                                                                  \
        return nvshmemi_kernel::broadcast(nvshmemi_kernel::GROUP(), team, dest, source, nbytes, root);                 \
    }                                                                                                                  \
    NVSHMEMI_KERNEL int nvshmemx_fcollectmem_##GROUP(nvshmem_team_t team, void *dest, const void *source,              \
                                                     size_t nbytes)                                                    \
    {                                                                                                                  \
        return nvshmemi_kernel::fcollect(nvshmemi_kernel::GROUP(), team, dest, source, nbytes);                        \
    }                                                                                                                  \
    NVSHMEMI_KERNEL int nvshmemx_alltoallmem_##GROUP(nvshmem_team_t team, void *dest, const void *source,              \
                                                     size_t nbytes)                                                    \
    {                                                                                                                  \
        return nvshmemi_kernel::alltoall(nvshmemi_kernel::GROUP(), team, dest, source, nbytes);                        \
    }
NVSHMEMI_DEFINE_FOR(warp)
NVSHMEMI_DEFINE_FOR(block)
#undef NVSHMEMI_DEFINE_FOR

#define NVSHMEMI_DEFINE(TYPENAME, TYPE, ...)                                                                           \
    NVSHMEMI_COLLECT(NVSHMEMI_KERNEL, nvshmemx_, warp, _warp, TYPENAME##_, TYPE, sizeof(TYPE))                         \
    NVSHMEMI_COLLECT(NVSHMEMI_KERNEL, nvshmemx_, block, _block, TYPENAME##_, TYPE, sizeof(TYPE))
NVSHMEMI_FOR_RMA_TYPES(NVSHMEMI_DEFINE, )
#undef NVSHMEMI_DEFINE

#define NVSHMEMI_DEFINE(TYPENAME, TYPE, OP, ...)                                                                       \
    NVSHMEMI_REDUCE(NVSHMEMI_KERNEL, nvshmemx_, warp, _warp, TYPENAME, TYPE, OP)                                       \
    NVSHMEMI_REDUCE(NVSHMEMI_KERNEL, nvshmemx_, block, _block, TYPENAME, TYPE, OP)
NVSHMEMI_FOR_REDUCTIONS(NVSHMEMI_DEFINE, )
#undef NVSHMEMI_DEFINE

#undef NVSHMEMI_COLLECT
#undef NVSHMEMI_REDUCE

#endif
