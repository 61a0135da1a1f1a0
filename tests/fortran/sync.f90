! SPDX-License-Identifier: BSD-3-Clause
!
! Waiting, testing, signals, order and completion, locks.

program sync
    use, intrinsic :: iso_c_binding
    use checks
    implicit none

    call start()
    call check_waits()
    call check_several()
    call check_several_with_values()
    call check_signals()
    call check_order()
    call check_locks()
    call finish()

contains

    subroutine check_waits()
        integer(c_int32_t), save, target :: flag4 = 0
        integer(c_int64_t), save, target :: flag8 = 0
        call expect(.not. shmem_test(flag4, SHMEM_CMP_NE, 0), "test before")
        call shmem_barrier_all()
        call shmem_p(flag4, 5, next)
        call shmem_wait(flag4, 0)
        call shmem_wait_until(flag4, SHMEM_CMP_EQ, 5)
        call shmem_int4_wait(flag4, 0)
        call shmem_int4_wait_until(flag4, SHMEM_CMP_GE, 5)
        call expect(shmem_test(flag4, SHMEM_CMP_GT, 4), "test after")
        call shmem_p(flag8, -3_c_int64_t, next)
        call shmem_int8_wait(flag8, 0_c_int64_t)
        call shmem_int8_wait_until(flag8, SHMEM_CMP_LT, 0_c_int64_t)
        call expect(flag8 == -3 .and. flag4 == 5, "what was waited for")
        call expect(shmem_test(flag8, SHMEM_CMP_LE, -3_c_int64_t), "test of an INTEGER(8)")
        call shmem_barrier_all()
    end subroutine

    ! Flags 2 and 4 are set; status excludes 2.
    subroutine check_several()
        integer(c_int32_t), save, target :: flags(5) = 0
        integer(c_int) :: status(5)
        integer :: indices(5)
        status = [0, 1, 0, 0, 0]
        call expect(shmem_test_any(flags, 5, SHMEM_CMP_NE, 0) == 0, "test_any of none")
        call expect(shmem_test_some(flags, 5, indices, SHMEM_CMP_NE, 0) == 0, "test_some of none")
        call shmem_barrier_all()
        call shmem_p(flags(2), 1, next)
        call shmem_p(flags(4), 1, next)
        call shmem_wait_until_all(flags, 5, SHMEM_CMP_EQ, 1, status=[1, 0, 1, 0, 1])
        call expect(flags(2) == 1 .and. flags(4) == 1, "wait_until_all")
        call expect(.not. shmem_test_all(flags, 5, SHMEM_CMP_EQ, 1), "test_all of some")
        call expect(shmem_test_all(flags(2:4:1), 3, SHMEM_CMP_EQ, 1, status=[0, 1, 0]), "test_all with status")
        call expect(shmem_wait_until_any(flags, 5, SHMEM_CMP_EQ, 1, status) == 4, "wait_until_any")
        call expect(shmem_test_any(flags, 5, SHMEM_CMP_EQ, 1, status) == 4, "test_any")
        indices = -1
        call expect(shmem_wait_until_some(flags, 5, indices, SHMEM_CMP_EQ, 1) == 2, "wait_until_some")
        call expect(all(indices(:2) == [2, 4]) .and. indices(3) == -1, "indices of wait_until_some")
        call expect(shmem_test_some(flags, 5, indices, SHMEM_CMP_EQ, 1, status) == 1 .and. indices(1) == 4, "test_some")
        call shmem_barrier_all()
    end subroutine

    subroutine check_several_with_values()
        integer(c_int64_t), save, target :: flags(3) = 0
        integer(c_int64_t) :: indices(3)
        integer(c_int64_t), parameter :: wanted(3) = [10, 20, 30]
        call shmem_barrier_all()
        call shmem_put(flags, wanted, 2, next)
        call expect(shmem_wait_until_any_vector(flags(2:), 2_c_int64_t, SHMEM_CMP_EQ, wanted(2:)) == 1, &
            "wait_until_any_vector")
        call shmem_wait_until_all_vector(flags, 2, SHMEM_CMP_EQ, wanted)
        call expect(.not. shmem_test_all_vector(flags, 3, SHMEM_CMP_EQ, wanted), "test_all_vector of some")
        call expect(shmem_test_all_vector(flags, 2, SHMEM_CMP_EQ, wanted), "test_all_vector")
        call expect(shmem_test_any_vector(flags(3), 1, SHMEM_CMP_EQ, wanted(3:)) == 0, "test_any_vector of none")
        call expect(shmem_wait_until_some_vector(flags, 3_c_int64_t, indices, SHMEM_CMP_EQ, wanted) == 2, &
            "wait_until_some_vector")
        call expect(all(indices(:2) == [1, 2]), "indices of wait_until_some_vector")
        call expect(shmem_test_some_vector(flags, 3_c_int64_t, indices, SHMEM_CMP_NE, wanted) == 1, "test_some_vector")
        call expect(indices(1) == 3, "indices of test_some_vector")
        call shmem_barrier_all()
    end subroutine

    subroutine check_signals()
        integer(c_int64_t), save, target :: signal = 0
        character(len=6), save, target :: text = "------"
        call expect(shmem_signal_fetch(signal) == 0, "signal_fetch before")
        call shmem_barrier_all()
        call shmem_set_signal(signal, 4_c_int64_t, next)
        call expect(shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 4_c_int64_t) == 4, &
            "signal_wait_until after set_signal")
        call shmem_barrier_all()
        call shmem_add_signal(signal, 3_c_int64_t, next)
        call expect(shmem_signal_wait_until(signal, SHMEM_CMP_GT, 4_c_int64_t) == 7, &
            "signal_wait_until after add_signal")
        call shmem_barrier_all()
        call shmem_putmem_signal(text, "abc", 3, signal, 1_c_int64_t, SHMEM_SIGNAL_ADD, next)
        call expect(shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 8_c_int64_t) == 8, "signal of putmem_signal")
        call expect(text == "abc---", "putmem_signal")
        call expect(shmem_signal_fetch(signal) == 8, "signal_fetch after")
        call shmem_barrier_all()
    end subroutine

    ! The flag is put after the fence: a PE that sees it sees the data.
    subroutine check_order()
        integer, save, target :: values(1000) = 0, flag = 0
        integer :: k
        values = 0
        call shmem_barrier_all()
        call put_values(values, flag)
        call shmem_wait_until(flag, SHMEM_CMP_EQ, 1)
        call expect(all(values == [(previous + k, k = 1, size(values))]), "data before the flag")
        call shmem_pe_quiet([next, previous], 2)
        call shmem_barrier_all()
    end subroutine

    subroutine put_values(values, flag)
        integer, target, intent(inout) :: values(:), flag
        integer, target :: source(size(values))
        integer :: k
        source = [(me + k, k = 1, size(values))]
        call shmem_put_nbi(values, source, size(values), next)
        call shmem_fence()
        call shmem_p(flag, 1, next)
        call shmem_quiet()
    end subroutine

    ! All PEs increment the same variable of PE 0, one at a time.
    subroutine check_locks()
        integer(c_long), save, target :: lock = 0
        integer, save, target :: counter = 0
        integer, parameter :: rounds = 20
        integer :: k
        do k = 1, rounds
            if (mod(k, 2) == 0) then
                call shmem_set_lock(lock)
            else
                do while (shmem_test_lock(lock) /= 0)
                end do
            end if
            call shmem_p(counter, shmem_g(counter, 0) + 1, 0)
            call shmem_quiet()
            call shmem_clear_lock(lock)
        end do
        call shmem_barrier_all()
        if (me == 0) call expect(counter == rounds * npes, "locks")
    end subroutine

end program
