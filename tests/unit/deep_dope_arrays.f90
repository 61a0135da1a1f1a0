! SPDX-License-Identifier: BSD-3-Clause
!
! Arrays of a Fortran compiler for deep_dope_fortran.c, which has a description of the type holder in C.

module deep_dope_arrays
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: compiler_version
    implicit none

    type :: inner
        real(8) :: x = 0
        integer(4), allocatable :: v(:)
    end type

    type :: holder
        real(8), allocatable :: vector(:)
        integer(2), allocatable :: cube(:, :, :)
        complex(4), pointer :: plane(:, :) => null()
        type(inner), allocatable :: objects(:)
        character(len=5), allocatable :: words(:)
        character(len=:), allocatable :: lines(:)
        real(4), allocatable :: many(:, :, :, :, :, :, :, :, :, :, :, :, :, :, :)
        real(8), allocatable :: scalar
        type(inner), pointer :: box => null()
        real(8), pointer :: part(:) => null()
    end type

    type(holder), target, save :: kept
    complex(4), target, save :: matrix(6, 4)
    real(8), target, save :: row(100)
    type(inner), target, save :: single, several(4)

    interface
        subroutine take_vector(a) bind(C)
            import c_double
            real(c_double) :: a(:)
        end subroutine
        subroutine take_allocatable(a) bind(C)
            import c_int
            integer(c_int), allocatable :: a(:, :)
        end subroutine
        subroutine take_pointer(a) bind(C)
            import c_double
            real(c_double), pointer :: a(:)
        end subroutine
    end interface

contains

    integer(c_int) function is_gfortran() bind(C)
        is_gfortran = merge(1, 0, index(compiler_version(), 'GCC') > 0)
    end function

    function empty_holder() result(address) bind(C)
        type(c_ptr) :: address
        address = c_loc(kept)
    end function

    subroutine fill_holder() bind(C)
        allocate (kept%vector(-3:7))
        allocate (kept%cube(2, 0:4, 3))
        kept%plane => matrix
        allocate (kept%objects(3))
        allocate (kept%objects(2)%v(9))
        allocate (kept%words(4))
        allocate (character(len=7) :: kept%lines(6))
        allocate (kept%many(2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3))
        allocate (kept%scalar)
        kept%box => single
        kept%part => row(11:30)
    end subroutine

    subroutine point_to_gaps() bind(C)
        kept%plane => matrix(1:6:2, :)
        kept%part => row(30:11:-1)
    end subroutine

    subroutine point_to_components() bind(C)
        kept%part => several%x
        kept%plane => matrix(2:2, :)
    end subroutine

    subroutine point_to_little() bind(C)
        kept%part => row(5:5)
        kept%plane => matrix(:, 2:3)
        deallocate (kept%vector)
        allocate (kept%vector(5:-5))
        kept%objects = kept%objects(2:3) ! reallocated
        kept%words = ['seven', 'eight'] ! also reallocated
    end subroutine

    subroutine pass_arrays() bind(C)
        integer(4), allocatable :: a(:, :)
        real(8), pointer :: p(:)
        call take_vector(row)
        call take_vector(row(1:99:2))
        call take_allocatable(a)
        allocate (a(-1:3, 4))
        call take_allocatable(a)
        p => null()
        call take_pointer(p)
        p => row(3:12)
        call take_pointer(p)
        p => several%x
        call take_pointer(p)
    end subroutine
end module
