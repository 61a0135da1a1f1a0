! SPDX-License-Identifier: BSD-3-Clause
!
! A nonblocking put of a section with gaps must end the program: the packed copy would be gone before the transfer ends.

program gaps
    use checks
    implicit none
    integer, save, target :: matrix(4, 4) = 0, row(4) = 0
    call start()
    call shmem_put_nbi(row, matrix(2, :), 4, next)
    call shmem_finalize()
end program
