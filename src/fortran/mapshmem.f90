! SPDX-License-Identifier: BSD-3-Clause
!
! Fortran interface of MapSHMEM: "use mapshmem". Needs Fortran 2018 (assumed type and rank, which came with TS 29113).
!
! Names, arguments and their order are those of C, and of the Fortran interface that OpenSHMEM 1.4 had. Rules:
! - A C function with a result is a function; a truth value is LOGICAL. For locks and pSync see
!   sync.f90.in and active_set.f90.in. shmem_signal_set and _add of C are shmem_set_signal and shmem_add_signal.
! - Numbers of PEs, elements and bytes are default integers. Those of elements and bytes may be INTEGER(8) instead, if
!   all of one call are. Signals are INTEGER(8).
! - The context is the last argument, optional: call shmem_put(dest, source, n, pe, ctx=my_context).
! - Generic names check type and kind: shmem_put and the like take INTEGER(1,2,4,8), REAL(4,8), COMPLEX(4,8), default
!   LOGICAL and CHARACTER (counted in characters). SHMEM_PUT4, 8, 16 (bytes), 32, 64, 128 (bits) and PUTMEM take any
!   type.
! - Arrays of any rank and scalars are passed by address; an array element stands for what follows it in memory.
!   Arguments are used in place. A section with gaps ends the program with a message; only the local argument of
!   a blocking transfer may be one, the compiler then passes a packed copy.
! - Symmetric objects are variables with SAVE, of modules and of COMMON, results of shmem_allocate, and, through
!   c_f_pointer, results of shmem_malloc and shmmap. Only transfers may access the target of a pointer from shmmap.
! - Variables that other PEs or a nonblocking transfer change should have the attribute TARGET, ASYNCHRONOUS or
!   VOLATILE. (The arguments here have TARGET, so that gfortran knows that their address is kept.)
! - Deep copy takes objects, images, types and spaces as type(c_ptr); streams, queues and events are type(c_ptr), too.
! - Not provided: SHPALLOC, SHPDEALLC and SHPCLMOVE of 1.4, which need Cray pointers, and reductions of REAL(16).

module mapshmem
    use mapshmem_types
    use mapshmem_setup
    use mapshmem_memory
    use mapshmem_teams
    use mapshmem_rma
    use mapshmem_amo
    use mapshmem_sync
    use mapshmem_collectives
    use mapshmem_active_set
    use mapshmem_map
    use mapshmem_stream
    use mapshmem_deep
    implicit none
    public
end module
