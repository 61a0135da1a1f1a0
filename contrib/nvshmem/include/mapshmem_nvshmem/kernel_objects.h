/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the symmetric objects and the teams of NVSHMEM's names are, in kernels; queries. Included by kernel_calls.h.
 */
#ifndef MAPSHMEM_NVSHMEM_KERNEL_OBJECTS_H
#define MAPSHMEM_NVSHMEM_KERNEL_OBJECTS_H

namespace nvshmemi_kernel
{

using shmemi_device::word;

/* Of an address that lies in no object the subtraction is large. */
SHMEMI_DEVICE bool holds(const shmemx_device_view_t &view, const void *symmetric)
{
    return static_cast<word>(static_cast<const char *>(symmetric) - view.own) < view.size;
}

SHMEMI_DEVICE bool is_in_slab(const void *symmetric)
{
    return holds(nvshmemi_mapshmem_state.slab, symmetric);
}

/* Among the registered buffers; 0: none has this address. */
SHMEMI_DEVICE_RARE const shmemx_device_view_t *find_object(const void *symmetric)
{
    const shmemx_device_view_t *objects = nvshmemi_mapshmem_state.objects;
    unsigned first = 0, behind = nvshmemi_mapshmem_state.n_objects;
    while (first < behind) {
        const unsigned middle = (first + behind) / 2;
        if (holds(objects[middle], symmetric))
            return &objects[middle];
        if (static_cast<const char *>(symmetric) < objects[middle].own)
            behind = middle;
        else
            first = middle + 1;
    }
    return 0;
}

/* A wrong argument of a call: the host is told, and the kernel ends. */
SHMEMI_DEVICE_RARE void complain(unsigned call, word address, int pe, const char *cause)
{
    nvshmemi_mapshmem_complaint *complaint = nvshmemi_mapshmem_state.complaint;
    if (complaint && shmemi_device::fetch_swap(&complaint->is_taken, 1u) == 0) {
        complaint->address = address;
        complaint->pe = pe;
        shmemi_device::store_release(&complaint->call, call);
    }
    while (complaint && shmemi_device::load_acquire(&complaint->call) == NVSHMEMI_CALL_NONE)
        ;
    shmemi_device::give_up(cause);
}

/* The object that an address of a PE lies in. Memory that is in none is this PE's own, which its kernels use as it is. */
SHMEMI_DEVICE const shmemx_device_view_t &object_of(const void *symmetric, int pe, unsigned call)
{
    const struct nvshmemi_mapshmem_state &state = nvshmemi_mapshmem_state;
    const shmemx_device_view_t *view = is_in_slab(symmetric) ? &state.slab : find_object(symmetric);
    if (view)
        return *view;
    if (pe != state.slab.pe || !state.objects)
        complain(call, reinterpret_cast<word>(symmetric), pe, "a kernel gave an address that is not symmetric");
    return state.objects[state.n_objects];
}

SHMEMI_DEVICE_RARE char *direct_elsewhere(const void *symmetric, int pe, unsigned need, unsigned call)
{
    return shmemi_device::direct(object_of(symmetric, pe, call), symmetric, pe, need);
}

/* The address of a PE's copy, for one who may do there what `need` says; 0: the agent must do it. The view of the slab is read
 * as constants; the rest is code that programs have once. */
SHMEMI_DEVICE char *direct_at(const void *symmetric, int pe, unsigned need, unsigned call)
{
    return is_in_slab(symmetric) ? shmemi_device::direct(nvshmemi_mapshmem_state.slab, symmetric, pe, need)
                                 : direct_elsewhere(symmetric, pe, need, call);
}

/* ---- Teams ------------------------------------------------------------------------------------------------------- */

SHMEMI_DEVICE bool is_team(nvshmem_team_t team)
{
    return static_cast<unsigned>(team) < nvshmemi_mapshmem_state.n_teams && nvshmemi_mapshmem_state.teams[team].n_pes;
}

/* For calls that move data: members are read when they are needed, which takes few registers. */
SHMEMI_DEVICE const shmemx_device_team_t &team_in_memory(nvshmem_team_t team)
{
    if (!is_team(team))
        complain(NVSHMEMI_CALL_TEAM, static_cast<word>(team), nvshmemi_mapshmem_state.slab.pe,
                 "a kernel gave what is no team of this PE");
    return nvshmemi_mapshmem_state.teams[team];
}

/* For barriers: members are read once, and the view of the work area, which lies in the slab, as constants. */
SHMEMI_DEVICE shmemx_device_team_t team_of(nvshmem_team_t team)
{
    const shmemx_device_team_t &from = team_in_memory(team);
    shmemx_device_team_t to;
    to.work = nvshmemi_mapshmem_state.slab;
    to.area = from.area;
    to.world = from.world;
    to.start = from.start;
    to.stride = from.stride;
    to.pe = from.pe;
    to.n_pes = from.n_pes;
    to.slot = from.slot;
    to.reserved = 0;
    return to;
}

/* The number in a team of a PE of the world; -1: it is no member. */
SHMEMI_DEVICE int member_of(const shmemx_device_team_t &team, int world_pe)
{
    for (int m = 0; m < team.n_pes; m++)
        if (shmemi_device::world_pe(team, m) == world_pe)
            return m;
    return -1;
}

} // namespace nvshmemi_kernel

/* ---- Queries ----------------------------------------------------------------------------------------------------- */

#if defined(NVSHMEMI_FOR_KERNELS)
extern "C" {

NVSHMEMI_KERNEL_SHARED int nvshmem_my_pe(void)
{
    return nvshmemi_mapshmem_state.slab.pe;
}

NVSHMEMI_KERNEL_SHARED int nvshmem_n_pes(void)
{
    return nvshmemi_mapshmem_state.slab.n_pes;
}

NVSHMEMI_KERNEL_SHARED int nvshmem_team_my_pe(nvshmem_team_t team)
{
    return nvshmemi_kernel::is_team(team) ? nvshmemi_mapshmem_state.teams[team].pe : -1;
}

NVSHMEMI_KERNEL_SHARED int nvshmem_team_n_pes(nvshmem_team_t team)
{
    return nvshmemi_kernel::is_team(team) ? nvshmemi_mapshmem_state.teams[team].n_pes : -1;
}

NVSHMEMI_KERNEL_SHARED int nvshmem_team_translate_pe(nvshmem_team_t src_team, int src_pe, nvshmem_team_t dest_team)
{
    using namespace nvshmemi_kernel;
    if (!is_team(src_team) || !is_team(dest_team) || src_pe < 0 ||
        src_pe >= nvshmemi_mapshmem_state.teams[src_team].n_pes)
        return -1;
    return member_of(nvshmemi_mapshmem_state.teams[dest_team],
                     shmemi_device::world_pe(nvshmemi_mapshmem_state.teams[src_team], src_pe));
}

NVSHMEMI_KERNEL_SHARED void *nvshmem_ptr(const void *ptr, int pe)
{
    using namespace nvshmemi_kernel;
    if (static_cast<unsigned>(pe) >= static_cast<unsigned>(nvshmemi_mapshmem_state.slab.n_pes))
        return 0;
    if (is_in_slab(ptr))
        return shmemi_device::direct(nvshmemi_mapshmem_state.slab, ptr, pe, SHMEMI_DEVICE_STORES);
    const shmemx_device_view_t *view = find_object(ptr);
    return view ? shmemi_device::direct(*view, ptr, pe, SHMEMI_DEVICE_STORES) : 0;
}

NVSHMEMI_KERNEL_SHARED void nvshmem_info_get_version(int *major, int *minor)
{
    *major = NVSHMEM_MAJOR_VERSION;
    *minor = NVSHMEM_MINOR_VERSION;
}

NVSHMEMI_KERNEL_SHARED void nvshmem_info_get_name(char *name)
{
    const char text[] = NVSHMEM_VENDOR_STRING;
    for (unsigned i = 0; i < sizeof text; i++)
        name[i] = text[i];
}

NVSHMEMI_KERNEL_SHARED void nvshmemx_vendor_get_version_info(int *major, int *minor, int *patch)
{
    *major = NVSHMEM_VENDOR_MAJOR_VERSION;
    *minor = NVSHMEM_VENDOR_MINOR_VERSION;
    *patch = NVSHMEM_VENDOR_PATCH_VERSION;
}

} // extern "C"
#endif

#endif
