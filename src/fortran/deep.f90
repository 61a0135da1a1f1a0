! SPDX-License-Identifier: BSD-3-Clause
!
! Deep copy (shmemx_deep.h): objects with all that their allocatable and pointer components reach. Objects, images and
! symmetric addresses are passed as type(c_ptr), by c_loc; types and spaces are type(c_ptr), too. Descriptions of derived
! types come from oshtypes, whose function registers them; shmemx_type_find then gives the type.

module mapshmem_deep
    use, intrinsic :: iso_c_binding
    implicit none
    private
    public :: shmemx_type_find, shmemx_type_destroy, shmemx_type_hash
    public :: shmemx_put_deep, shmemx_put_deep_nbi, shmemx_put_deep_signal, shmemx_put_deep_signal_nbi
    public :: shmemx_deep_info, shmemx_get_deep, shmemx_get_deep_nbi, shmemx_get_deep_new, shmemx_deep_free
    public :: shmemx_deep_space_create, shmemx_deep_space_destroy
    public :: shmemx_deep_map, shmemx_deep_unmap, shmemx_deep_update, shmemx_deep_release, shmemx_deep_device

    ! As in shmemx_deep.h; handles.c compares them.
    integer(c_size_t), parameter, public :: SHMEMX_DEEP_HEADER = 128
    integer(c_int), parameter, public :: SHMEMX_DEEP_IMAGE = 0, SHMEMX_DEEP_BASE = 1, SHMEMX_DEEP_BASE_PLUS = 2, &
        SHMEMX_DEEP_TCPY = 3, SHMEMX_DEEP_PCPY = 4
    integer(c_int), parameter, public :: SHMEMX_DEEP_COUNTED = 0, SHMEMX_DEEP_STRUCTURED = 1, SHMEMX_DEEP_EXPLICIT = 2
    integer(c_int), parameter, public :: SHMEMX_DEEP_TO = 1, SHMEMX_DEEP_FROM = 2, SHMEMX_DEEP_ALWAYS = 4

    type, bind(C), public :: shmemx_deep_info_t
        integer(c_size_t) :: size = 0, nobjects = 0, nelems = 0
        integer(c_int64_t) :: root = 0
        integer(c_int) :: has_offsets = 0
    end type

    type, bind(C), public :: shmemx_deep_space_attr_t
        integer(c_int) :: memory_type = 0
        type(c_ptr) :: buffer = c_null_ptr
        integer(c_size_t) :: size = 0
        integer(c_int) :: device = -1, technique = SHMEMX_DEEP_IMAGE, lifetime = SHMEMX_DEEP_COUNTED, asynchronous = 0
    end type

    ! capacity and nelems: all default integers, or all INTEGER(8)
    interface shmemx_put_deep
        procedure c_put_deep
        module procedure put_deep
    end interface

    interface shmemx_put_deep_nbi
        procedure c_put_deep_nbi
        module procedure put_deep_nbi
    end interface

    interface shmemx_put_deep_signal
        procedure c_put_deep_signal
        module procedure put_deep_signal
    end interface

    interface shmemx_put_deep_signal_nbi
        procedure c_put_deep_signal_nbi
        module procedure put_deep_signal_nbi
    end interface

    interface shmemx_get_deep
        procedure c_get_deep
        module procedure get_deep
    end interface

    interface shmemx_get_deep_nbi
        procedure c_get_deep_nbi
        module procedure get_deep_nbi
    end interface

    interface
        function c_type_find(name) result(type) bind(C, name="shmemx_type_find")
            import
            character(kind=c_char), intent(in) :: name(*)
            type(c_ptr) :: type
        end function

        function shmemx_type_destroy(type) result(status) bind(C, name="shmemx_type_destroy")
            import
            type(c_ptr), value :: type
            integer(c_int) :: status
        end function

        function shmemx_type_hash(type) result(hash) bind(C, name="shmemx_type_hash")
            import
            type(c_ptr), value :: type
            integer(c_int64_t) :: hash
        end function

        function c_put_deep(dest, capacity, source, type, nelems, pe) result(nbytes) bind(C, name="shmemx_put_deep")
            import
            type(c_ptr), value :: dest, source
            integer(c_size_t), value :: capacity, nelems
            type(c_ptr), value :: type
            integer(c_int), value :: pe
            integer(c_ptrdiff_t) :: nbytes
        end function

        function c_put_deep_nbi(dest, capacity, source, type, nelems, pe) result(nbytes) &
                bind(C, name="shmemx_put_deep_nbi")
            import
            type(c_ptr), value :: dest, source
            integer(c_size_t), value :: capacity, nelems
            type(c_ptr), value :: type
            integer(c_int), value :: pe
            integer(c_ptrdiff_t) :: nbytes
        end function

        function c_put_deep_signal(dest, capacity, source, type, nelems, sig_addr, signal, sig_op, pe) &
                result(nbytes) bind(C, name="shmemx_put_deep_signal")
            import
            type(c_ptr), value :: dest, source
            integer(c_size_t), value :: capacity, nelems
            type(c_ptr), value :: type
            integer(c_int64_t), intent(inout) :: sig_addr
            integer(c_int64_t), value :: signal
            integer(c_int), value :: sig_op, pe
            integer(c_ptrdiff_t) :: nbytes
        end function

        function c_put_deep_signal_nbi(dest, capacity, source, type, nelems, sig_addr, signal, sig_op, pe) &
                result(nbytes) bind(C, name="shmemx_put_deep_signal_nbi")
            import
            type(c_ptr), value :: dest, source
            integer(c_size_t), value :: capacity, nelems
            type(c_ptr), value :: type
            integer(c_int64_t), intent(inout) :: sig_addr
            integer(c_int64_t), value :: signal
            integer(c_int), value :: sig_op, pe
            integer(c_ptrdiff_t) :: nbytes
        end function

        function shmemx_deep_info(image, type, info, pe) result(status) bind(C, name="shmemx_deep_info")
            import
            type(c_ptr), value :: image
            type(c_ptr), value :: type
            type(shmemx_deep_info_t), intent(inout) :: info
            integer(c_int), value :: pe
            integer(c_int) :: status
        end function

        function c_get_deep(dest, image, type, nelems, pe) result(nbytes) bind(C, name="shmemx_get_deep")
            import
            type(c_ptr), value :: dest, image
            type(c_ptr), value :: type
            integer(c_size_t), value :: nelems
            integer(c_int), value :: pe
            integer(c_ptrdiff_t) :: nbytes
        end function

        function c_get_deep_nbi(dest, image, type, nelems, pe) result(nbytes) bind(C, name="shmemx_get_deep_nbi")
            import
            type(c_ptr), value :: dest, image
            type(c_ptr), value :: type
            integer(c_size_t), value :: nelems
            integer(c_int), value :: pe
            integer(c_ptrdiff_t) :: nbytes
        end function

        ! The objects are those of the C library: for c_f_pointer, not for deallocate.
        function shmemx_get_deep_new(image, type, nelems, pe) result(objects) bind(C, name="shmemx_get_deep_new")
            import
            type(c_ptr), value :: image
            type(c_ptr), value :: type
            integer(c_size_t), intent(inout), optional :: nelems
            integer(c_int), value :: pe
            type(c_ptr) :: objects
        end function

        subroutine shmemx_deep_free(objects) bind(C, name="shmemx_deep_free")
            import
            type(c_ptr), value :: objects
        end subroutine

        function shmemx_deep_space_create(attr) result(space) bind(C, name="shmemx_deep_space_create")
            import
            type(shmemx_deep_space_attr_t), intent(in) :: attr
            type(c_ptr) :: space
        end function

        subroutine shmemx_deep_space_destroy(space) bind(C, name="shmemx_deep_space_destroy")
            import
            type(c_ptr), value :: space
        end subroutine

        function c_map(space, source, type, nelems, flags, skip, device) result(status) bind(C, name="shmemx_deep_map")
            import
            type(c_ptr), value :: space
            type(c_ptr), value :: source, skip
            type(c_ptr), value :: type
            integer(c_size_t), value :: nelems
            integer(c_int), value :: flags
            integer(c_int64_t), intent(inout) :: device
            integer(c_int) :: status
        end function

        function shmemx_deep_unmap(space, source, flags) result(status) bind(C, name="shmemx_deep_unmap")
            import
            type(c_ptr), value :: space
            type(c_ptr), value :: source
            integer(c_int), value :: flags
            integer(c_int) :: status
        end function

        function shmemx_deep_update(space, source, flags) result(status) bind(C, name="shmemx_deep_update")
            import
            type(c_ptr), value :: space
            type(c_ptr), value :: source
            integer(c_int), value :: flags
            integer(c_int) :: status
        end function

        function shmemx_deep_release(space, source, flags) result(status) bind(C, name="shmemx_deep_release")
            import
            type(c_ptr), value :: space
            type(c_ptr), value :: source
            integer(c_int), value :: flags
            integer(c_int) :: status
        end function

        function shmemx_deep_device(space, address) result(device) bind(C, name="shmemx_deep_device")
            import
            type(c_ptr), value :: space
            type(c_ptr), value :: address
            integer(c_int64_t) :: device
        end function
    end interface

contains

    ! c_null_ptr when nobody has registered the type.
    function shmemx_type_find(name) result(type)
        character(len=*), intent(in) :: name
        type(c_ptr) :: type
        character(kind=c_char) :: letters(len(name) + 1)
        integer :: i
        do i = 1, len(name)
            letters(i) = name(i:i)
        end do
        letters(len(name) + 1) = c_null_char
        type = c_type_find(letters)
    end function

    function put_deep(dest, capacity, source, type, nelems, pe) result(nbytes)
        type(c_ptr), intent(in) :: dest, source
        integer(c_int32_t), intent(in) :: capacity, nelems
        type(c_ptr), intent(in) :: type
        integer, intent(in) :: pe
        integer(c_ptrdiff_t) :: nbytes
        nbytes = c_put_deep(dest, int(capacity, c_size_t), source, type, int(nelems, c_size_t), pe)
    end function

    function put_deep_nbi(dest, capacity, source, type, nelems, pe) result(nbytes)
        type(c_ptr), intent(in) :: dest, source
        integer(c_int32_t), intent(in) :: capacity, nelems
        type(c_ptr), intent(in) :: type
        integer, intent(in) :: pe
        integer(c_ptrdiff_t) :: nbytes
        nbytes = c_put_deep_nbi(dest, int(capacity, c_size_t), source, type, int(nelems, c_size_t), pe)
    end function

    function put_deep_signal(dest, capacity, source, type, nelems, sig_addr, signal, sig_op, pe) result(nbytes)
        type(c_ptr), intent(in) :: dest, source
        integer(c_int32_t), intent(in) :: capacity, nelems
        type(c_ptr), intent(in) :: type
        integer(c_int64_t), target, intent(inout) :: sig_addr
        integer(c_int64_t), intent(in) :: signal
        integer, intent(in) :: sig_op, pe
        integer(c_ptrdiff_t) :: nbytes
        nbytes = c_put_deep_signal(dest, int(capacity, c_size_t), source, type, int(nelems, c_size_t), sig_addr, &
            signal, sig_op, pe)
    end function

    function put_deep_signal_nbi(dest, capacity, source, type, nelems, sig_addr, signal, sig_op, pe) result(nbytes)
        type(c_ptr), intent(in) :: dest, source
        integer(c_int32_t), intent(in) :: capacity, nelems
        type(c_ptr), intent(in) :: type
        integer(c_int64_t), target, intent(inout) :: sig_addr
        integer(c_int64_t), intent(in) :: signal
        integer, intent(in) :: sig_op, pe
        integer(c_ptrdiff_t) :: nbytes
        nbytes = c_put_deep_signal_nbi(dest, int(capacity, c_size_t), source, type, int(nelems, c_size_t), sig_addr, &
            signal, sig_op, pe)
    end function

    function get_deep(dest, image, type, nelems, pe) result(nbytes)
        type(c_ptr), intent(in) :: dest, image
        type(c_ptr), intent(in) :: type
        integer(c_int32_t), intent(in) :: nelems
        integer, intent(in) :: pe
        integer(c_ptrdiff_t) :: nbytes
        nbytes = c_get_deep(dest, image, type, int(nelems, c_size_t), pe)
    end function

    function get_deep_nbi(dest, image, type, nelems, pe) result(nbytes)
        type(c_ptr), intent(in) :: dest, image
        type(c_ptr), intent(in) :: type
        integer(c_int32_t), intent(in) :: nelems
        integer, intent(in) :: pe
        integer(c_ptrdiff_t) :: nbytes
        nbytes = c_get_deep_nbi(dest, image, type, int(nelems, c_size_t), pe)
    end function

    ! nelems: INTEGER(8). skip: fields "type.field" that are not followed, blanks at their ends do not count.
    function shmemx_deep_map(space, source, type, nelems, flags, device, skip) result(status)
        type(c_ptr), intent(in) :: space
        type(c_ptr), intent(in) :: source
        type(c_ptr), intent(in) :: type
        integer(c_size_t), intent(in) :: nelems
        integer, intent(in) :: flags
        integer(c_int64_t), intent(inout) :: device
        character(len=*), intent(in), optional :: skip(:)
        integer :: status
        character(kind=c_char), allocatable, target :: letters(:, :)
        type(c_ptr), allocatable, target :: names(:)
        integer :: i, n
        if (.not. present(skip)) then
            status = c_map(space, source, type, nelems, flags, c_null_ptr, device)
            return
        end if
        allocate (letters(len(skip) + 1, size(skip)), names(size(skip) + 1))
        letters = c_null_char
        names = c_null_ptr
        do i = 1, size(skip)
            do n = 1, len_trim(skip(i))
                letters(n, i) = skip(i)(n:n)
            end do
            names(i) = c_loc(letters(1, i))
        end do
        status = c_map(space, source, type, nelems, flags, c_loc(names), device)
    end function

end module
