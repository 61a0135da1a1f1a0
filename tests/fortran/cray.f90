! SPDX-License-Identifier: BSD-3-Clause
!
! The module of Cray's library: addresses by value, with only the names that a program lists, and together with objects.

module neighbours
    use, intrinsic :: iso_c_binding, only: c_associated, c_double, c_f_pointer, c_int64_t, c_loc, c_ptr, c_size_t, c_sizeof
    use checks, only: expect, me, next, npes, previous
    use shmem, only: shmem_calloc, shmem_malloc, shmem_free, shmem_putmem_signal_nbi, shmem_signal_wait_until, &
        shmem_uint64_atomic_set, shmem_barrier_all, SHMEM_SIGNAL_SET, SHMEM_CMP_GE
    implicit none
    private
    public :: exchange_with_neighbours

contains

    ! Rounds in which each PE puts to the next one as soon as that has said that it has read what came before.
    subroutine exchange_with_neighbours()
        integer(c_size_t), parameter :: n = 100
        type(c_ptr) :: buffer, signals
        real(c_double), pointer :: halves(:, :)
        integer(c_int64_t), pointer :: arrived(:)
        integer(c_int64_t) :: round, seen
        real(c_double) :: one
        buffer = shmem_malloc(2 * n * c_sizeof(one))
        signals = shmem_calloc(2_c_size_t, c_sizeof(round))
        call expect(c_associated(buffer) .and. c_associated(signals), "allocation")
        call c_f_pointer(buffer, halves, [100, 2])
        call c_f_pointer(signals, arrived, [2])
        call shmem_barrier_all()
        do round = 1, 50
            seen = shmem_signal_wait_until(c_loc(arrived(2)), SHMEM_CMP_GE, round - 1_8)
            halves(:, 1) = real(100 * me + round, c_double)
            call shmem_putmem_signal_nbi(c_loc(halves(1, 2)), c_loc(halves(1, 1)), n * c_sizeof(one), &
                c_loc(arrived(1)), round, SHMEM_SIGNAL_SET, next)
            seen = shmem_signal_wait_until(c_loc(arrived(1)), SHMEM_CMP_GE, round)
            call expect(seen == round, "the signal's value")
            call expect(all(nint(halves(:, 2)) == 100 * previous + int(round)), "what the previous PE has put")
            call shmem_uint64_atomic_set(c_loc(arrived(2)), round, previous)
        end do
        call shmem_barrier_all()
        call shmem_free(signals)
        call shmem_free(buffer)
    end subroutine

end module

program cray
    use, intrinsic :: iso_c_binding
    use checks, only: expect, finish, me, next, npes, previous, start
    use neighbours
    use shmem
    implicit none
    integer(c_int), save, target :: ints(8) = 0
    real(c_double), save, target :: doubles(8) = 0
    integer(c_int64_t), save, target :: counter = 0

    call start()
    call exchange_with_neighbours()
    call check_transfers()
    call check_objects()
    call check_words()
    call check_queries()
    call finish()

contains

    subroutine check_transfers()
        integer(c_int), target :: mine(8), came(8)
        mine = me + 1
        came = -1
        call shmem_int_put(c_loc(ints(3)), c_loc(mine), 4_c_size_t, next)
        call shmem_int_p(c_loc(ints(8)), 77, next)
        call shmem_barrier_all()
        call expect(all(ints == [0, 0, previous + 1, previous + 1, previous + 1, previous + 1, 0, 77]), "int_put, int_p")
        call shmem_barrier_all()
        call shmem_put64(c_loc(ints(1)), c_loc(mine), 1_c_size_t, next)
        call shmem_iput16(c_loc(ints(7)), c_loc(mine), 2_c_ptrdiff_t, 2_c_ptrdiff_t, 1_c_size_t, next)
        call shmem_quiet()
        call shmem_getmem(c_loc(came), c_loc(ints), 8_c_size_t, next)
        call expect(all(came == [me + 1, me + 1, -1, -1, -1, -1, -1, -1]), "put64 counts bits, getmem bytes")
        call shmem_get8(c_loc(came(4)), c_loc(ints(7)), 2_c_size_t, next)
        call expect(came(4) == ior(iand(-1, not(65535)), me + 1), "iput16 and get8 count bits")
        call expect(shmem_int_g(c_loc(ints(8)), next) == 77, "int_g")
        call shmem_barrier_all()
    end subroutine

    ! Names that have a form for objects in mapshmem, too.
    subroutine check_objects()
        real(c_double), target :: mine(8)
        mine = me + 0.5d0
        call shmem_double_put(doubles, mine, 4, next)
        call shmem_double_put(c_loc(doubles(5)), c_loc(mine), 2_c_size_t, next)
        call shmem_put(doubles(7:8), mine, 2, next)
        call shmem_barrier_all()
        call expect(all(nint(2 * doubles) == 2 * previous + 1), "put of objects and to addresses")
        call shmem_barrier_all()
    end subroutine

    subroutine check_words()
        integer(c_int64_t) :: old
        call shmem_int64_atomic_add(c_loc(counter), 5_c_int64_t, 0)
        call shmem_barrier_all()
        call expect(shmem_int64_atomic_fetch(c_loc(counter), 0) == 5 * npes, "int64_atomic_add")
        call shmem_barrier_all()
        if (me == 0) old = shmem_uint64_atomic_compare_swap(c_loc(counter), 5_c_int64_t * npes, 9_c_int64_t, npes - 1)
        call shmem_barrier_all()
        if (me == npes - 1) call expect(shmem_int64_test(c_loc(counter), SHMEM_CMP_EQ, 9_c_int64_t) == merge(1, 0, npes == 1), &
            "compare_swap where the condition holds only on PE 0")
        call shmem_barrier_all()
        call shmem_set_signal(c_loc(counter), 41_c_int64_t, next)
        call shmem_int64_wait_until(c_loc(counter), SHMEM_CMP_EQ, 41_c_int64_t)
        call expect(shmem_signal_fetch(counter) == 41 .and. shmem_signal_fetch(c_loc(counter)) == 41, "signal_fetch")
        call shmem_barrier_all()
    end subroutine

    subroutine check_queries()
        integer(c_int) :: local
        type(c_ptr) :: there
        integer(c_int), pointer :: private_memory
        integer(c_int), save, target :: all_ints(1024) = -1
        call expect(shmem_addr_accessible(c_loc(ints), next) == 1, "addr_accessible")
        allocate (private_memory)
        call expect(shmem_addr_accessible(c_loc(private_memory), next) == 0, "addr_accessible of private memory")
        there = shmem_ptr(c_loc(ints), me)
        call expect(c_associated(there, c_loc(ints)), "ptr of the PE itself")
        ints = me
        call shmem_barrier_all()
        local = shmem_fcollectmem(SHMEM_TEAM_WORLD, c_loc(all_ints), c_loc(ints), 4_c_size_t)
        call expect(local == 0 .and. all_ints(npes) == npes - 1 .and. all_ints(npes + 1) == -1, "fcollectmem")
    end subroutine

end program
