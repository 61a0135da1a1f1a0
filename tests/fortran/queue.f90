! SPDX-License-Identifier: BSD-3-Clause
!
! Operations on an OpenCL queue, whose handle comes from queue_device.c. Status 77 where there is no OpenCL device.

program queue
    use checks
    use, intrinsic :: iso_c_binding
    implicit none
    interface
        integer(c_int) function open_device(queue, buffer, nbytes) bind(C)
            import
            type(c_ptr), intent(out) :: queue, buffer
            integer(c_size_t), value :: nbytes
        end function
        subroutine finish_event(event) bind(C)
            import
            type(c_ptr), value :: event
        end subroutine
        subroutine finish_queue(queue) bind(C)
            import
            type(c_ptr), value :: queue
        end subroutine
    end interface
    integer, parameter :: n = 1000
    integer(8), save, target :: signal = 0
    integer, target :: here(n)
    integer, pointer :: there(:)
    type(c_ptr) :: commands, buffer, mapped, event
    integer :: i

    call start()
    if (open_device(commands, buffer, int(4 * n, c_size_t)) /= 0) call shmem_global_exit(77)
    mapped = shmmap(buffer, 4 * n, OSHM_MEMTYPE_OPENCL)
    call expect(c_associated(mapped), "shmmap: " // shmemx_strerror())
    call c_f_pointer(mapped, there, [n])
    here = [(1000 * me + i, i = 1, n)]
    call shmemx_putmem_on_queue(there, here, 4 * n, next, commands, event=event)
    call shmemx_quiet_on_queue(commands, events=[event])
    call finish_event(event)
    call shmemx_barrier_all_on_queue(commands)
    call finish_queue(commands)
    call look_for(previous, "putmem")

    here = -here
    call shmemx_putmem_signal_on_queue(there, here, 4_8 * n, signal, 3_8, SHMEM_SIGNAL_SET, next, commands)
    call shmemx_signal_wait_until_on_queue(signal, SHMEM_CMP_GE, 3_8, commands)
    call shmemx_getmem_on_queue(here, there, 4 * n, me, commands)
    call shmemx_sync_all_on_queue(commands)
    call finish_queue(commands)
    call expect(here(n) == -(1000 * previous + n), "putmem_signal and getmem")
    call shmemx_signal_op_on_queue(signal, 4_8, SHMEM_SIGNAL_ADD, next, commands)
    call shmemx_quiet_on_queue(commands)
    call finish_queue(commands)
    call expect(shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 7_8) == 7, "signal_op")
    call shmumap(mapped)
    call finish()

contains

    subroutine look_for(pe, what)
        integer, intent(in) :: pe
        character(len=*), intent(in) :: what
        integer, target :: found(n)
        call shmem_get(found, there, n, me)
        call expect(all(found == [(1000 * pe + i, i = 1, n)]), what)
        call shmem_barrier_all()
    end subroutine
end program
