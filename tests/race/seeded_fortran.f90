! SPDX-License-Identifier: BSD-3-Clause
!
! As seeded.c, in Fortran.
program seeded
    use mapshmem
    implicit none
    character(len=16) :: choice, variant
    logical :: is_racy
    integer :: me, n_pes, right, total
    integer, save :: field(0:9) = 0, counter = 0, results(4) = 0

    call get_command_argument(1, choice)
    call get_command_argument(2, variant)
    is_racy = variant == 'racy'
    if (choice == '') then
        print '(a)', 'halo_rows', 'shared_counter'
        stop
    end if
    call shmem_init()
    me = shmem_my_pe()
    n_pes = shmem_n_pes()
    right = mod(me + 1, n_pes)
    total = 0
    call shmem_barrier_all()
    if (choice == 'halo_rows') call halo_rows()
    if (choice == 'shared_counter') call shared_counter()
    call shmem_barrier_all()
    if (total < 0) print *, total
    call shmem_finalize()
contains
    ! Each PE hands its last cell on; the mistake: the neighbour reads it without a barrier.
    subroutine halo_rows()
        integer :: step
        do step = 1, 3
            field(8) = step
            call shmem_put(field(0:0), field(8:8), 1, right) ! halo_rows
            if (.not. is_racy) call shmem_barrier_all()
            total = total + field(0) ! halo_rows
            call shmem_barrier_all()
        end do
    end subroutine halo_rows

    ! PE 0 looks at what the others count; the mistake: by a plain load.
    subroutine shared_counter()
        if (me > 0) call shmem_atomic_inc(counter, 0) ! shared_counter
        if (me == 0 .and. .not. is_racy) total = shmem_atomic_fetch(counter, 0)
        if (me == 0 .and. is_racy) then
            total = total + counter ! shared_counter
        end if
        results(1) = total
    end subroutine shared_counter
end program seeded
