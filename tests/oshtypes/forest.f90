! SPDX-License-Identifier: BSD-3-Clause
!
! Puts objects of derived types to the last PE, which checks all of them. For oshtypes.test; linked with the output of
! oshtypes.

module forest
    use, intrinsic :: iso_c_binding
    implicit none

    type :: leaf
        integer(1) :: kind
        real(8), allocatable :: weights(:)
    end type

    type, extends(leaf) :: tree
        integer :: id
        type(tree), pointer :: left => null(), right => null(), parent => null()
        real(4), allocatable :: values(:,:,:)
        type(leaf), allocatable :: leaves(:)
        type(leaf), allocatable :: best
        integer(8), pointer :: shared(:,:) => null()
        complex(8), allocatable :: number
        character(len=:), allocatable :: name
        character(len=6) :: code
        character(len=6), allocatable :: codes(:)
        logical :: flags(3)
        procedure(), pointer, nopass :: action => null()
    end type

    type :: difficult
        class(leaf), allocatable :: any
        character(len=:), allocatable :: names(:)
        type(c_ptr) :: address
        class(leaf), pointer :: some(:) => null()
    end type

    type(difficult), target :: a_difficult_one

    interface
        integer(c_int) function forest_register() bind(C)
            import
        end function
    end interface
end module

program plant
    use forest
    use mapshmem
    implicit none
    integer, parameter :: capacity = 65536
    type(tree), target :: root, child
    type(tree), pointer :: found
    type(c_ptr) :: image, type
    type(shmemx_deep_info_t) :: info
    integer :: me, last, i
    integer(8), target :: table(2, 3)
    integer(8), save, target :: arrived = 0

    call shmem_init()
    me = shmem_my_pe()
    last = shmem_n_pes() - 1
    call expect(forest_register() == 0, "register")
    type = shmemx_type_find("tree")
    call expect(.not. c_associated(shmemx_type_find("shrub")), "unknown type")
    image = shmem_malloc(int(capacity, c_size_t))
    table = reshape([(int(i, 8), i = 1, 6)], [2, 3])
    call grow(root, 1)
    call grow(child, 2)
    root%left => child
    child%parent => root
    root%shared => table
    if (me == 0) call expect(shmemx_put_deep(image, int(capacity, c_size_t), c_loc(root), type, 1_c_size_t, last) > 0, &
        "put_deep")
    if (me == 0) call expect(shmemx_put_deep_nbi(image, capacity, c_loc(root), type, 1, last) > 0, "put_deep_nbi")
    call shmem_barrier_all()
    if (me == last) then
        call expect(shmemx_deep_info(image, type, info, me) == 0, "deep_info")
        call c_f_pointer(transfer(info%root, c_null_ptr), found)
        call look_at(found, 1)
        call look_at(found%left, 2)
        call expect(associated(found%left%parent, found) .and. .not. associated(found%right), "links")
        call expect(all(found%shared == table) .and. all(shape(found%shared) == [2, 3]), "pointer to an array")
        call expect(.not. associated(found%left%shared), "no array")
    end if
    call shmem_barrier_all()
    call fetch()
    call announce()
    call shmem_barrier_all()
    call shmem_free(image)
    call shmem_finalize()

contains

    ! The image back into the objects that it was made from, and into new ones.
    subroutine fetch()
        type(c_ptr) :: objects
        type(tree), pointer :: copy
        integer(8) :: n
        if (me /= 0) return
        root%values = 0
        root%name = repeat("?", len(root%name))
        child%leaves(2)%weights = 0
        call expect(shmemx_get_deep(c_loc(root), image, type, 1, last) > 0, "get_deep")
        call look_at(root, 1)
        call look_at(child, 2)
        objects = shmemx_get_deep_new(image, type, n, last)
        call expect(c_associated(objects) .and. n == 1, "get_deep_new")
        call c_f_pointer(objects, copy)
        call look_at(copy, 1)
        call look_at(copy%left, 2)
        call expect(.not. associated(copy%left, child) .and. associated(copy%left%parent, copy), "new links")
        call shmemx_deep_free(objects)
        call expect(shmemx_type_hash(type) /= 0, "hash")
    end subroutine

    subroutine announce()
        if (me == 0) call expect(shmemx_put_deep_signal(image, capacity, c_loc(child), type, 1, arrived, 7_8, &
            SHMEM_SIGNAL_SET, last) > 0, "put_deep_signal")
        if (me /= last) return
        call expect(shmem_signal_wait_until(arrived, SHMEM_CMP_EQ, 7_8) == 7, "signal")
        call expect(shmemx_deep_info(image, type, info, me) == 0 .and. info%nelems == 1, "deep_info after the signal")
        call c_f_pointer(transfer(info%root, c_null_ptr), found)
        call look_at(found, 2)
    end subroutine

    subroutine grow(object, seed)
        type(tree), intent(inout) :: object
        integer, intent(in) :: seed
        integer :: k
        object%kind = int(seed, 1)
        object%id = 10 * seed
        allocate(object%weights(seed))
        object%weights = [(k * 0.5d0, k = 1, seed)]
        allocate(object%values(2, seed, 3))
        object%values = real(seed)
        object%values(2, seed, 3) = 99
        allocate(object%leaves(0:seed))
        do k = 0, seed
            object%leaves(k)%kind = int(k, 1)
            if (k > 0) object%leaves(k)%weights = [real(k, 8), -1d0]
        end do
        allocate(object%best)
        object%best%weights = [3d0]
        object%number = (1d0, 2d0)
        object%name = repeat("fir ", seed)
        object%code = "code" // achar(48 + seed)
        object%codes = ["first ", "second"]
        object%flags = [.true., .false., .true.]
    end subroutine

    subroutine look_at(object, seed)
        type(tree), intent(in) :: object
        integer, intent(in) :: seed
        integer :: k
        call expect(object%kind == seed .and. object%id == 10 * seed, "numbers")
        call expect(all(object%weights == [(k * 0.5d0, k = 1, seed)]), "extended type's array")
        call expect(all(shape(object%values) == [2, seed, 3]) .and. object%values(2, seed, 3) == 99, "array of rank 3")
        call expect(object%values(1, 1, 1) == real(seed), "first element")
        call expect(lbound(object%leaves, 1) == 0 .and. ubound(object%leaves, 1) == seed, "bounds")
        call expect(.not. allocated(object%leaves(0)%weights), "not allocated")
        call expect(all(object%leaves(seed)%weights == [real(seed, 8), -1d0]), "array in an array")
        call expect(allocated(object%best), "scalar")
        call expect(object%best%weights(1) == 3d0 .and. object%number == (1d0, 2d0), "in scalars")
        call expect(object%name == repeat("fir ", seed) .and. len(object%name) == 4 * seed, "name")
        call expect(object%code == "code" // achar(48 + seed) .and. object%codes(2) == "second", "strings")
        call expect(object%flags(1) .and. .not. object%flags(2), "flags")
    end subroutine

    subroutine expect(holds, what)
        logical, intent(in) :: holds
        character(len=*), intent(in) :: what
        if (holds) return
        print *, "PE ", shmem_my_pe(), ": ", what
        error stop 1
    end subroutine
end program
