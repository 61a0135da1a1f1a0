! SPDX-License-Identifier: BSD-3-Clause
!
! What the Fortran tests share: expectations, and an exit status that says whether all were met.

module checks
    use, intrinsic :: iso_fortran_env, only: error_unit
    use mapshmem
    implicit none
    integer :: me, npes, next, previous
    integer, private :: failures = 0

contains

    subroutine start()
        call shmem_init()
        me = shmem_my_pe()
        npes = shmem_n_pes()
        next = mod(me + 1, npes)
        previous = mod(me + npes - 1, npes)
    end subroutine

    subroutine expect(condition, what)
        logical, intent(in) :: condition
        character(len=*), intent(in) :: what
        if (condition) return
        failures = failures + 1
        write (error_unit, '("PE ", i0, ": wrong: ", a)') me, what
    end subroutine

    subroutine finish()
        if (failures > 0) call shmem_global_exit(1)
        call shmem_finalize()
    end subroutine

end module
