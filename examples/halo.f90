! SPDX-License-Identifier: BSD-3-Clause
!
! halo: a circle of cells is cut into parts, one for each PE. In each step a PE puts its outermost cells into the halos of
! its neighbours, with signals, waits for theirs, and computes. The two columns of field take turns: while a neighbour
! puts into one for the next step, this PE may still read the other.
!
!     oshfort -o halo_fortran halo.f90
!     oshrun -n 4 ./halo_fortran
program halo
    use mapshmem
    implicit none
    integer, parameter :: cells = 1000, steps = 100
    integer, save, target :: field(0:cells + 1, 0:1)             ! symmetric: variables with SAVE
    integer(8), save, target :: from_left = 0, from_right = 0    ! the step whose cell has come from either side
    integer :: me, n, left, right, i, s, now
    integer(8) :: turn, seen
    integer, allocatable :: whole(:)
    logical :: wrong

    call shmem_init()
    me = shmem_my_pe()
    n = shmem_n_pes()
    left = mod(me + n - 1, n)
    right = mod(me + 1, n)
    field(1:cells, 0) = [(mod(me * cells + i, 7), i = 1, cells)]
    do s = 1, steps
        now = mod(s - 1, 2)
        turn = s
        call shmem_put_signal(field(cells + 1, now), field(1, now), 1, from_right, turn, SHMEM_SIGNAL_SET, left)
        call shmem_put_signal(field(0, now), field(cells, now), 1, from_left, turn, SHMEM_SIGNAL_SET, right)
        seen = shmem_signal_wait_until(from_left, SHMEM_CMP_GE, turn)
        seen = shmem_signal_wait_until(from_right, SHMEM_CMP_GE, turn)
        field(1:cells, 1 - now) = mod(field(0:cells - 1, now) + field(1:cells, now) + field(2:cells + 1, now), 1000)
    end do

    ! the same for the whole circle, by this PE alone
    whole = [(mod(i, 7), i = 1, n * cells)]
    do s = 1, steps
        whole = mod(cshift(whole, -1) + whole + cshift(whole, 1), 1000)
    end do
    wrong = any(whole(me * cells + 1:(me + 1) * cells) /= field(1:cells, mod(steps, 2)))
    print '(3(a, i0), 2a)', "PE ", me, ": ", cells, " cells after ", steps, " steps: ", &
        merge("WRONG   ", "verified", wrong)
    call shmem_finalize()
    if (wrong) error stop 1
end program
