! SPDX-License-Identifier: BSD-3-Clause
!
! Set-up, exit, queries, threads [OpenSHMEM 1.6, 9.1 and 9.2]. A truth value of C is a LOGICAL, a string a CHARACTER.

module mapshmem_setup
    use, intrinsic :: iso_c_binding
    use mapshmem_internal, only: address, c_true
    use mapshmem_types, only: SHMEM_MAX_NAME_LEN
    implicit none
    private
    public :: shmem_init, shmem_init_thread, shmem_query_initialized, shmem_query_thread
    public :: shmem_finalize, shmem_global_exit, start_pes, shmem_my_pe, shmem_n_pes
    public :: shmem_info_get_version, shmem_info_get_name, shmem_pcontrol
    public :: shmem_pe_accessible, shmem_addr_accessible, shmem_ptr

    interface
        subroutine shmem_init() bind(C, name="shmem_init")
        end subroutine

        function shmem_init_thread(requested, provided) result(status) bind(C, name="shmem_init_thread")
            import
            integer(c_int), value :: requested
            integer(c_int), intent(inout) :: provided
            integer(c_int) :: status
        end function

        subroutine shmem_query_thread(provided) bind(C, name="shmem_query_thread")
            import
            integer(c_int), intent(inout) :: provided
        end subroutine

        subroutine c_query_initialized(initialized) bind(C, name="shmem_query_initialized")
            import
            integer(c_int), intent(inout) :: initialized
        end subroutine

        subroutine start_pes(npes) bind(C, name="start_pes")
            import
            integer(c_int), value :: npes
        end subroutine

        subroutine shmem_finalize() bind(C, name="shmem_finalize")
        end subroutine

        subroutine shmem_global_exit(status) bind(C, name="shmem_global_exit")
            import
            integer(c_int), value :: status
        end subroutine

        function shmem_my_pe() result(pe) bind(C, name="shmem_my_pe")
            import
            integer(c_int) :: pe
        end function

        function shmem_n_pes() result(npes) bind(C, name="shmem_n_pes")
            import
            integer(c_int) :: npes
        end function

        subroutine shmem_info_get_version(major, minor) bind(C, name="shmem_info_get_version")
            import
            integer(c_int), intent(inout) :: major, minor
        end subroutine

        subroutine c_info_get_name(name) bind(C, name="shmem_info_get_name")
            import
            character(kind=c_char), intent(inout) :: name(*)
        end subroutine

        subroutine shmem_pcontrol(level) bind(C, name="shmemi_fortran_pcontrol")
            import
            integer(c_int), value :: level
        end subroutine

        function c_pe_accessible(pe) result(accessible) bind(C, name="shmem_pe_accessible")
            import
            integer(c_int), value :: pe
            integer(c_int) :: accessible
        end function

        function c_addr_accessible(addr, pe) result(accessible) bind(C, name="shmem_addr_accessible")
            import
            type(c_ptr), value :: addr
            integer(c_int), value :: pe
            integer(c_int) :: accessible
        end function

        function c_ptr_of(dest, pe) result(local) bind(C, name="shmem_ptr")
            import
            type(c_ptr), value :: dest
            integer(c_int), value :: pe
            type(c_ptr) :: local
        end function
    end interface

contains

    subroutine shmem_query_initialized(initialized)
        logical, intent(out) :: initialized
        integer(c_int) :: flag
        flag = 0
        call c_query_initialized(flag)
        initialized = c_true(flag)
    end subroutine

    ! The name is padded with blanks; a variable that is too short receives its beginning.
    subroutine shmem_info_get_name(name)
        character(len=*), intent(out) :: name
        character(kind=c_char) :: text(SHMEM_MAX_NAME_LEN)
        integer :: i
        text = c_null_char
        call c_info_get_name(text)
        name = ""
        do i = 1, min(len(name), size(text))
            if (text(i) == c_null_char) exit
            name(i:i) = text(i)
        end do
    end subroutine

    logical function shmem_pe_accessible(pe)
        integer, intent(in) :: pe
        shmem_pe_accessible = c_true(c_pe_accessible(pe))
    end function

    logical function shmem_addr_accessible(addr, pe)
        type(*), dimension(..), target, intent(in) :: addr
        integer, intent(in) :: pe
        shmem_addr_accessible = c_true(c_addr_accessible(c_loc(addr), pe))
    end function

    ! The address of another PE's dest for load and store, to be passed to c_f_pointer; null if there is none.
    function shmem_ptr(dest, pe) result(local)
        type(*), dimension(..), target, intent(in) :: dest
        integer, intent(in) :: pe
        type(c_ptr) :: local
        local = c_ptr_of(address(dest, "shmem_ptr: dest"), pe)
    end function

end module
