! SPDX-License-Identifier: BSD-3-Clause
!
! What the modules of the Fortran binding share and programs do not see.

module mapshmem_internal
    use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_pointer, c_int, c_loc, c_ptr, c_size_t
    use, intrinsic :: iso_fortran_env, only: error_unit
    use mapshmem_types, only: shmem_ctx_default, shmem_ctx_t
    implicit none
    public

    interface
        subroutine c_global_exit(status) bind(C, name="shmem_global_exit")
            import :: c_int
            integer(c_int), value :: status
        end subroutine

        function c_my_pe() result(pe) bind(C, name="shmem_my_pe")
            import :: c_int
            integer(c_int) :: pe
        end function

        function c_strlen(text) result(length) bind(C, name="strlen")
            import :: c_ptr, c_size_t
            type(c_ptr), value :: text
            integer(c_size_t) :: length
        end function
    end interface

contains

    ! Where an argument lies. The C library transfers consecutive elements, so a section with gaps is refused: a copy
    ! would not be symmetric, or would be gone before a nonblocking transfer ends. what: routine and argument.
    function address(object, what) result(location)
        type(*), dimension(..), target, intent(in) :: object
        character(len=*), intent(in) :: what
        type(c_ptr) :: location
        if (.not. is_contiguous(object)) call refuse_gaps(what)
        location = c_loc(object)
    end function

    subroutine refuse_gaps(what)
        character(len=*), intent(in) :: what
        write (error_unit, '("PE ", i0, ": ", a, " is an array section with gaps: ", a)') c_my_pe(), what, &
            "pass an array whose elements lie side by side, or use shmem_iput or shmem_iget with strides"
        flush (error_unit)
        call c_global_exit(1_c_int)
    end subroutine

    ! The context of a call: the default one unless the caller names another.
    function context(ctx)
        type(shmem_ctx_t), intent(in), optional :: ctx
        type(shmem_ctx_t) :: context
        context = shmem_ctx_default
        if (present(ctx)) context = ctx
    end function

    logical function c_true(flag)
        integer(c_int), intent(in) :: flag
        c_true = flag /= 0
    end function

    ! A string of C; empty for a null pointer.
    function text_at(where) result(text)
        type(c_ptr), intent(in) :: where
        character(len=:), allocatable :: text
        character(kind=c_char), pointer :: letters(:)
        integer :: i
        text = ""
        if (.not. c_associated(where)) return
        call c_f_pointer(where, letters, [c_strlen(where)])
        do i = 1, size(letters)
            text = text // letters(i)
        end do
    end function

end module
