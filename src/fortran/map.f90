! SPDX-License-Identifier: BSD-3-Clause
!
! The extensions of shmemx.h: mapping of GPU memory, routes, prepared memory, boxes, state of the heap.

module mapshmem_map
    use, intrinsic :: iso_c_binding
    use mapshmem_internal, only: address, context, text_at
    use mapshmem_types, only: shmem_ctx_t, shmemx_box_t, shmemx_heap_info_t
    implicit none
    private
    public :: shmmap, shmumap, shmemx_strerror, shmemx_route, shmemx_my_device, shmemx_heap_info, &
        shmemx_kernels_may_wait
    public :: shmemx_prepare, shmemx_release, shmemx_prepared
    public :: shmemx_put_box, shmemx_get_box, shmemx_put_box_nbi, shmemx_get_box_nbi

    ! size: in bytes
    interface shmmap
        module procedure shmmap_int32, shmmap_int64
    end interface

    ! nbytes: default or INTEGER(8)
    interface shmemx_prepare
        module procedure prepare_int32, prepare_int64
    end interface

    interface shmemx_prepared
        module procedure prepared_int32, prepared_int64
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

        function c_prepare(where, nbytes) result(status) bind(C, name="shmemx_prepare")
            import
            type(c_ptr), value :: where
            integer(c_size_t), value :: nbytes
            integer(c_int) :: status
        end function

        function c_release(where) result(status) bind(C, name="shmemx_release")
            import
            type(c_ptr), value :: where
            integer(c_int) :: status
        end function

        function c_prepared(where, nbytes) result(state) bind(C, name="shmemx_prepared")
            import
            type(c_ptr), value :: where
            integer(c_size_t), value :: nbytes
            integer(c_int) :: state
        end function

        subroutine c_put_box(ctx, dest, source, box, pe) bind(C, name="shmemx_ctx_put_box")
            import
            type(shmem_ctx_t), value :: ctx
            type(c_ptr), value :: dest, source
            type(shmemx_box_t), intent(in) :: box
            integer(c_int), value :: pe
        end subroutine

        subroutine c_get_box(ctx, dest, source, box, pe) bind(C, name="shmemx_ctx_get_box")
            import
            type(shmem_ctx_t), value :: ctx
            type(c_ptr), value :: dest, source
            type(shmemx_box_t), intent(in) :: box
            integer(c_int), value :: pe
        end subroutine

        subroutine c_put_box_nbi(ctx, dest, source, box, pe) bind(C, name="shmemx_ctx_put_box_nbi")
            import
            type(shmem_ctx_t), value :: ctx
            type(c_ptr), value :: dest, source
            type(shmemx_box_t), intent(in) :: box
            integer(c_int), value :: pe
        end subroutine

        subroutine c_get_box_nbi(ctx, dest, source, box, pe) bind(C, name="shmemx_ctx_get_box_nbi")
            import
            type(shmem_ctx_t), value :: ctx
            type(c_ptr), value :: dest, source
            type(shmemx_box_t), intent(in) :: box
            integer(c_int), value :: pe
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

    function prepare_int32(object, nbytes) result(status)
        type(*), dimension(..), target, intent(in) :: object
        integer(c_int32_t), intent(in) :: nbytes
        integer :: status
        status = c_prepare(address(object, "shmemx_prepare: object"), int(nbytes, c_size_t))
    end function

    function prepare_int64(object, nbytes) result(status)
        type(*), dimension(..), target, intent(in) :: object
        integer(c_int64_t), intent(in) :: nbytes
        integer :: status
        status = c_prepare(address(object, "shmemx_prepare: object"), int(nbytes, c_size_t))
    end function

    function shmemx_release(object) result(status)
        type(*), dimension(..), target, intent(in) :: object
        integer :: status
        status = c_release(c_loc(object))
    end function

    function prepared_int32(object, nbytes) result(state)
        type(*), dimension(..), target, intent(in) :: object
        integer(c_int32_t), intent(in) :: nbytes
        integer :: state
        state = c_prepared(c_loc(object), int(nbytes, c_size_t))
    end function

    function prepared_int64(object, nbytes) result(state)
        type(*), dimension(..), target, intent(in) :: object
        integer(c_int64_t), intent(in) :: nbytes
        integer :: state
        state = c_prepared(c_loc(object), int(nbytes, c_size_t))
    end function

    ! dest and source: the first element of the box on its side; pitches and width are bytes.
    subroutine shmemx_put_box(dest, source, box, pe, ctx)
        type(*), dimension(..), target, intent(inout) :: dest
        type(*), dimension(..), target, intent(in) :: source
        type(shmemx_box_t), intent(in) :: box
        integer, intent(in) :: pe
        type(shmem_ctx_t), intent(in), optional :: ctx
        call c_put_box(context(ctx), c_loc(dest), c_loc(source), box, pe)
    end subroutine

    subroutine shmemx_get_box(dest, source, box, pe, ctx)
        type(*), dimension(..), target, intent(inout) :: dest
        type(*), dimension(..), target, intent(in) :: source
        type(shmemx_box_t), intent(in) :: box
        integer, intent(in) :: pe
        type(shmem_ctx_t), intent(in), optional :: ctx
        call c_get_box(context(ctx), c_loc(dest), c_loc(source), box, pe)
    end subroutine

    subroutine shmemx_put_box_nbi(dest, source, box, pe, ctx)
        type(*), dimension(..), target, intent(inout) :: dest
        type(*), dimension(..), target, intent(in) :: source
        type(shmemx_box_t), intent(in) :: box
        integer, intent(in) :: pe
        type(shmem_ctx_t), intent(in), optional :: ctx
        call c_put_box_nbi(context(ctx), c_loc(dest), c_loc(source), box, pe)
    end subroutine

    subroutine shmemx_get_box_nbi(dest, source, box, pe, ctx)
        type(*), dimension(..), target, intent(inout) :: dest
        type(*), dimension(..), target, intent(in) :: source
        type(shmemx_box_t), intent(in) :: box
        integer, intent(in) :: pe
        type(shmem_ctx_t), intent(in), optional :: ctx
        call c_get_box_nbi(context(ctx), c_loc(dest), c_loc(source), box, pe)
    end subroutine

end module
