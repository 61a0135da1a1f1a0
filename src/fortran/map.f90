! SPDX-License-Identifier: BSD-3-Clause
!
! The extensions of shmemx.h: mapping of GPU memory, routes, state of the heap.

module mapshmem_map
    use, intrinsic :: iso_c_binding
    use mapshmem_internal, only: text_at
    use mapshmem_types, only: shmemx_heap_info_t
    implicit none
    private
    public :: shmmap, shmumap, shmemx_strerror, shmemx_route, shmemx_my_device, shmemx_heap_info, &
        shmemx_kernels_may_wait

    ! size: in bytes
    interface shmmap
        module procedure shmmap_int32, shmmap_int64
    end interface

    interface
        function c_shmmap(obj, size, type) result(mapped) bind(C, name="shmmap")
            import
            type(c_ptr), value :: obj
            integer(c_size_t), value :: size
            integer(c_int), value :: type
            type(c_ptr) :: mapped
        end function

        subroutine shmumap(mapped) bind(C, name="shmumap")
            import
            type(c_ptr), value :: mapped
        end subroutine

        function c_strerror() result(text) bind(C, name="shmemx_strerror")
            import
            type(c_ptr) :: text
        end function

        function c_route(addr, pe) result(text) bind(C, name="shmemx_route")
            import
            type(c_ptr), value :: addr
            integer(c_int), value :: pe
            type(c_ptr) :: text
        end function

        function shmemx_my_device(type) result(device) bind(C, name="shmemx_my_device")
            import
            integer(c_int), value :: type
            integer(c_int) :: device
        end function

        function shmemx_kernels_may_wait(type) result(may) bind(C, name="shmemx_kernels_may_wait")
            import
            integer(c_int), value :: type
            integer(c_int) :: may
        end function

        subroutine shmemx_heap_info(info) bind(C, name="shmemx_heap_info")
            import
            type(shmemx_heap_info_t), intent(inout) :: info
        end subroutine
    end interface

contains

    ! The result is for c_f_pointer; the pointer is for transfers only, and the program must not access its target.
    function shmmap_int32(obj, size, type) result(mapped)
        type(c_ptr), intent(in) :: obj
        integer(c_int32_t), intent(in) :: size
        integer, intent(in) :: type
        type(c_ptr) :: mapped
        mapped = c_shmmap(obj, int(size, c_size_t), type)
    end function

    function shmmap_int64(obj, size, type) result(mapped)
        type(c_ptr), intent(in) :: obj
        integer(c_int64_t), intent(in) :: size
        integer, intent(in) :: type
        type(c_ptr) :: mapped
        mapped = c_shmmap(obj, int(size, c_size_t), type)
    end function

    function shmemx_strerror() result(text)
        character(len=:), allocatable :: text
        text = text_at(c_strerror())
    end function

    ! Empty when addr is not symmetric.
    function shmemx_route(addr, pe) result(text)
        type(*), dimension(..), target, intent(in) :: addr
        integer, intent(in) :: pe
        character(len=:), allocatable :: text
        text = text_at(c_route(c_loc(addr), pe))
    end function

end module
