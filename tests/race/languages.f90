! SPDX-License-Identifier: BSD-3-Clause
!
! A Fortran program with a race if its argument is racy, and without one otherwise.
program languages
    use mapshmem
    implicit none
    integer, save :: cells(8) = 0
    integer :: source(8) = 3
    character(len=8) :: choice

    call get_command_argument(1, choice)
    call shmem_init()
    call shmem_barrier_all()
    if (shmem_my_pe() == 0) then
        call shmem_put(cells, source, 8, 1) ! racy
    end if
    if (choice /= 'racy') call shmem_barrier_all()
    if (shmem_my_pe() == 1) then
        if (cells(5) > 3) print *, cells(5) ! racy
    end if
    call shmem_finalize()
end program languages
