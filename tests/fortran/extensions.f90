! SPDX-License-Identifier: BSD-3-Clause
!
! Boxes and prepared memory.

program extensions
    use checks
    use, intrinsic :: iso_c_binding
    implicit none
    call start()
    call boxes()
    call prepared()
    call finish()

contains

    ! A face across the first index to the next PE, and back by get.
    subroutine boxes()
        integer, parameter :: nx = 5, ny = 4, nz = 3
        real(8), pointer :: grid(:, :, :)
        real(8), target :: face(ny, nz)
        type(shmemx_box_t) :: box
        integer :: i, j, k
        call shmem_allocate(grid, [nx, ny, nz])
        grid = -1
        do k = 1, nz
            do j = 1, ny
                grid(nx, j, k) = 100 * me + 10 * j + k
            end do
        end do
        box = shmemx_box_t(width=8, rows=ny, layers=nz, dest_row_pitch=8 * nx, dest_layer_pitch=8 * nx * ny, &
            source_row_pitch=8 * nx, source_layer_pitch=8 * nx * ny)
        call shmem_barrier_all()
        call shmemx_put_box(grid(1, 1, 1), grid(nx, 1, 1), box, next)
        call shmemx_put_box_nbi(grid(2, 1, 1), grid(nx, 1, 1), box, next, ctx=SHMEM_CTX_DEFAULT)
        call shmem_barrier_all()
        do i = 1, 2
            call expect(all(grid(i, :, :) == reshape([((100 * previous + 10 * j + k, j = 1, ny), k = 1, nz)], &
                [ny, nz])), "put_box")
        end do
        call expect(all(grid(3:4, :, :) == -1), "beside the box")
        box%dest_row_pitch = 8
        box%dest_layer_pitch = 8 * ny
        face = 0
        call shmemx_get_box(face, grid(nx, 1, 1), box, next)
        call expect(face(ny, nz) == 100 * next + 10 * ny + nz .and. face(1, 1) == 100 * next + 11, "get_box")
        face = 0
        call shmemx_get_box_nbi(face, grid(nx, 1, 1), box, next)
        call shmem_quiet()
        call expect(face(2, 1) == 100 * next + 21, "get_box_nbi")
        call shmem_barrier_all()
        call shmem_deallocate(grid)
    end subroutine

    subroutine prepared()
        integer, parameter :: n = 100000
        real(8), allocatable, target :: private(:)
        allocate (private(n))
        call expect(shmemx_prepared(private, 8 * n) == 0, "not prepared yet")
        call expect(shmemx_prepare(private, 8 * n) == 0, "prepare")
        call expect(iand(shmemx_prepared(private(10), 8_8), SHMEMX_MEMORY_PREPARED) /= 0, "prepared")
        call expect(shmemx_release(private) == 0, "release")
        call expect(iand(shmemx_prepared(private, 8), SHMEMX_MEMORY_PREPARED) == 0, "released")
    end subroutine
end program
