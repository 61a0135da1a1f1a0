! SPDX-License-Identifier: BSD-3-Clause
!
! first: each PE puts a row into the next one, and all of them sum up.
!
!     oshfort -o first_fortran first.f90
!     oshrun -n 2 ./first_fortran
program first
    use mapshmem
    implicit none
    integer, parameter :: n = 8
    integer, save, target :: row(n), mine, total         ! symmetric: variables with SAVE
    real, pointer :: field(:, :)
    integer :: me, npes, i
    logical :: wrong
    call shmem_init()
    me = shmem_my_pe()
    npes = shmem_n_pes()
    call shmem_allocate(field, [n, 2])                   ! symmetric: memory of the heap
    field(:, 1) = [(1000 * me + i, i = 1, n)]
    call shmem_put(field(:, 2), field(:, 1), n, mod(me + 1, npes))
    call shmem_barrier_all()
    row = nint(field(:, 2))
    mine = sum(row)
    if (shmem_sum_reduce(SHMEM_TEAM_WORLD, total, mine, 1) /= 0) call shmem_global_exit(1)
    wrong = any(row /= [(1000 * mod(me + npes - 1, npes) + i, i = 1, n)]) .or. total /= npes * (36 + 4000 * (npes - 1))
    print '(5(a, i0), 2a)', "PE ", me, " of ", npes, ": my row holds ", row(1), " to ", row(n), ", the sum is ", total, &
        ": ", merge("WRONG   ", "verified", wrong)
    call shmem_deallocate(field)
    call shmem_finalize()
    if (wrong) error stop 1
end program
