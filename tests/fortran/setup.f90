! SPDX-License-Identifier: BSD-3-Clause
!
! Set-up, queries, memory management, routes.

program setup
    use, intrinsic :: iso_c_binding
    use checks
    implicit none
    logical :: initialized
    integer :: major, minor, provided

    call shmem_query_initialized(initialized)
    call expect(.not. initialized, "initialized before shmem_init")
    call start()
    call shmem_query_initialized(initialized)
    call expect(initialized, "not initialized after shmem_init")
    call check_names()
    call check_threads()
    call check_reach()
    call check_memory()
    call check_arrays()
    call check_heap_info()
    call finish()

contains

    subroutine check_names()
        character(len=SHMEM_MAX_NAME_LEN) :: name
        character(len=3) :: beginning
        call shmem_info_get_version(major, minor)
        call expect(major == SHMEM_MAJOR_VERSION .and. minor == SHMEM_MINOR_VERSION, "version")
        call shmem_info_get_name(name)
        call expect(index(name, "MapSHMEM") > 0, "name " // trim(name))
        call expect(verify(name, " ", back=.true.) == len_trim(name) .and. index(name, c_null_char) == 0, &
            "end of the name")
        call shmem_info_get_name(beginning)
        call expect(beginning == name(:3), "beginning of the name")
    end subroutine

    subroutine check_threads()
        provided = -1
        call shmem_query_thread(provided)
        call expect(provided >= SHMEM_THREAD_SINGLE .and. provided <= SHMEM_THREAD_MULTIPLE, "thread level")
        call shmem_pcontrol(1)
    end subroutine

    subroutine check_reach()
        integer, save, target :: static(3)
        integer, target :: local(3)
        integer, pointer :: there(:)
        type(c_ptr) :: address
        integer :: k
        static = [(10 * me + k, k = 1, 3)]
        local = 0
        call expect(shmem_pe_accessible(next), "pe_accessible")
        call expect(.not. shmem_pe_accessible(npes), "pe_accessible of a PE that is not there")
        call expect(shmem_addr_accessible(static, next), "addr_accessible of static data")
        call expect(.not. shmem_addr_accessible(local, next), "addr_accessible of a local variable")
        call expect(shmemx_route(static, me) == "shm", "route to static data: " // shmemx_route(static, me))
        call expect(shmemx_route(local, me) == "", "route to a local variable: " // shmemx_route(local, me))
        address = shmem_ptr(static(2), me)
        call expect(c_associated(address, c_loc(static(2))), "shmem_ptr to this PE")
        call shmem_allocate(there, [3])
        there = static
        call shmem_barrier_all()
        call check_pointer(there)
        call shmem_barrier_all()
        call shmem_deallocate(there)
    end subroutine

    ! On one node the heap of the other PEs can be read.
    subroutine check_pointer(heap)
        integer, pointer, intent(in) :: heap(:)
        integer, pointer :: there(:)
        type(c_ptr) :: address
        address = shmem_ptr(heap, next)
        if (.not. c_associated(address)) return
        call c_f_pointer(address, there, [3])
        call expect(all(there == [10 * next + 1, 10 * next + 2, 10 * next + 3]), "shmem_ptr")
    end subroutine

    subroutine check_memory()
        type(c_ptr) :: memory, larger, aligned
        integer(c_int64_t), pointer :: words(:)
        memory = shmem_malloc(80)
        call expect(c_associated(memory), "shmem_malloc")
        call c_f_pointer(memory, words, [10])
        words = 7
        larger = shmem_realloc(memory, 8000_c_int64_t)
        call c_f_pointer(larger, words, [10])
        call expect(all(words == 7), "shmem_realloc")
        aligned = shmem_align(4096, 100)
        call expect(mod(transfer(aligned, 0_c_intptr_t), 4096_c_intptr_t) == 0, "shmem_align")
        call shmem_free(aligned)
        call shmem_free(larger)
        memory = shmem_calloc(10, 8)
        call c_f_pointer(memory, words, [10])
        call expect(all(words == 0), "shmem_calloc")
        call shmem_free(memory)
        memory = shmem_malloc_with_hints(80, ior(SHMEM_MALLOC_ATOMICS_REMOTE, SHMEM_MALLOC_SIGNAL_REMOTE))
        call expect(c_associated(memory), "shmem_malloc_with_hints")
        call shmem_free(memory)
    end subroutine

    subroutine check_arrays()
        integer(c_int8_t), pointer :: bytes(:)
        real(c_double), pointer :: matrix(:, :)
        complex(c_float_complex), pointer :: cube(:, :, :)
        logical, pointer :: none(:)
        call shmem_allocate(bytes, [5_c_int64_t])
        call shmem_allocate(matrix, [3, 4])
        call shmem_allocate(cube, [2, 3, 4])
        call expect(all(shape(matrix) == [3, 4]) .and. all(shape(cube) == [2, 3, 4]) .and. size(bytes) == 5, "shapes")
        bytes = 1
        cube = (1.0, 2.0)
        matrix = 3
        call expect(all(bytes == 1) .and. nint(sum(matrix)) == 36 .and. nint(aimag(sum(cube))) == 48, "contents")
        call shmem_deallocate(matrix)
        call shmem_deallocate(cube)
        call shmem_deallocate(bytes)
        call shmem_allocate(none, [0])
        call expect(.not. associated(none), "an array without elements")
        call shmem_deallocate(none)
    end subroutine

    subroutine check_heap_info()
        type(shmemx_heap_info_t) :: before, after
        real(c_float), pointer :: array(:)
        real(c_float), pointer :: huge_one(:, :)
        call shmemx_heap_info(before)
        call shmem_allocate(array, [1000])
        call shmemx_heap_info(after)
        call expect(after%used >= before%used + 4000, "heap_info")
        call shmem_deallocate(array)
        call shmemx_heap_info(after)
        call expect(after%used == before%used .and. after%size >= after%used, "heap_info after shmem_deallocate")
        call shmem_allocate(huge_one, [huge(1_c_int64_t), 2_c_int64_t])
        call expect(.not. associated(huge_one), "an array larger than memory")
    end subroutine

end program
