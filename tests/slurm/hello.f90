! SPDX-License-Identifier: BSD-3-Clause
!
! Each PE puts its number into the next one and prints what it has got.
program hello
    use mapshmem
    use, intrinsic :: iso_fortran_env, only: int64
    implicit none
    integer(int64), save :: got
    integer :: me, n

    call shmem_init()
    me = shmem_my_pe()
    n = shmem_n_pes()
    got = -1
    call shmem_barrier_all()
    call shmem_p(got, int(me, int64), mod(me + 1, n))
    call shmem_barrier_all()
    print '(a,i0,a,i0,a,i0)', 'PE ', me, ' of ', n, ' has ', got
    call shmem_finalize()
end program hello
