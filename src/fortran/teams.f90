! SPDX-License-Identifier: BSD-3-Clause
!
! Teams and contexts [OpenSHMEM 1.6, 9.4 and 9.5]. The configuration of a new team is optional.

module mapshmem_teams
    use, intrinsic :: iso_c_binding
    use mapshmem_internal, only: address
    use mapshmem_types, only: shmem_ctx_t, shmem_team_config_t, shmem_team_t
    implicit none
    private
    public :: shmem_team_my_pe, shmem_team_n_pes, shmem_team_translate_pe, shmem_team_get_config, shmem_team_ptr
    public :: shmem_team_split_strided, shmem_team_split_2d, shmem_team_destroy
    public :: shmem_team_create_ctx, shmem_ctx_create, shmem_ctx_destroy, shmem_ctx_get_team

    interface shmem_team_split_strided
        procedure c_split_strided
        module procedure split_strided
    end interface

    interface shmem_team_split_2d
        procedure c_split_2d
        module procedure split_2d
    end interface

    interface
        function shmem_team_my_pe(team) result(pe) bind(C, name="shmem_team_my_pe")
            import
            type(shmem_team_t), value :: team
            integer(c_int) :: pe
        end function

        function shmem_team_n_pes(team) result(npes) bind(C, name="shmem_team_n_pes")
            import
            type(shmem_team_t), value :: team
            integer(c_int) :: npes
        end function

        function shmem_team_translate_pe(src_team, src_pe, dest_team) result(pe) bind(C, name="shmem_team_translate_pe")
            import
            type(shmem_team_t), value :: src_team, dest_team
            integer(c_int), value :: src_pe
            integer(c_int) :: pe
        end function

        function shmem_team_get_config(team, config_mask, config) result(status) bind(C, name="shmem_team_get_config")
            import
            type(shmem_team_t), value :: team
            integer(c_long), value :: config_mask
            type(shmem_team_config_t), intent(inout) :: config
            integer(c_int) :: status
        end function

        function c_split_strided(parent_team, start, stride, size, config, config_mask, new_team) result(status) &
                bind(C, name="shmem_team_split_strided")
            import
            type(shmem_team_t), value :: parent_team
            integer(c_int), value :: start, stride, size
            type(shmem_team_config_t), intent(in), optional :: config
            integer(c_long), value :: config_mask
            type(shmem_team_t), intent(inout) :: new_team
            integer(c_int) :: status
        end function

        function c_split_2d(parent_team, xrange, xaxis_config, xaxis_mask, xaxis_team, yaxis_config, yaxis_mask, &
                yaxis_team) result(status) bind(C, name="shmem_team_split_2d")
            import
            type(shmem_team_t), value :: parent_team
            integer(c_int), value :: xrange
            type(shmem_team_config_t), intent(in), optional :: xaxis_config, yaxis_config
            integer(c_long), value :: xaxis_mask, yaxis_mask
            type(shmem_team_t), intent(inout) :: xaxis_team, yaxis_team
            integer(c_int) :: status
        end function

        subroutine shmem_team_destroy(team) bind(C, name="shmem_team_destroy")
            import
            type(shmem_team_t), value :: team
        end subroutine

        function c_team_ptr(team, dest, pe) result(local) bind(C, name="shmem_team_ptr")
            import
            type(shmem_team_t), value :: team
            type(c_ptr), value :: dest
            integer(c_int), value :: pe
            type(c_ptr) :: local
        end function

        function shmem_team_create_ctx(team, options, ctx) result(status) bind(C, name="shmem_team_create_ctx")
            import
            type(shmem_team_t), value :: team
            integer(c_long), value :: options
            type(shmem_ctx_t), intent(inout) :: ctx
            integer(c_int) :: status
        end function

        function shmem_ctx_create(options, ctx) result(status) bind(C, name="shmem_ctx_create")
            import
            integer(c_long), value :: options
            type(shmem_ctx_t), intent(inout) :: ctx
            integer(c_int) :: status
        end function

        subroutine shmem_ctx_destroy(ctx) bind(C, name="shmem_ctx_destroy")
            import
            type(shmem_ctx_t), value :: ctx
        end subroutine

        function shmem_ctx_get_team(ctx, team) result(status) bind(C, name="shmem_ctx_get_team")
            import
            type(shmem_ctx_t), value :: ctx
            type(shmem_team_t), intent(inout) :: team
            integer(c_int) :: status
        end function
    end interface

contains

    function split_strided(parent_team, start, stride, size, new_team) result(status)
        type(shmem_team_t), intent(in) :: parent_team
        integer, intent(in) :: start, stride, size
        type(shmem_team_t), intent(inout) :: new_team
        integer :: status
        status = c_split_strided(parent_team, start, stride, size, config_mask=0_c_long, new_team=new_team)
    end function

    function split_2d(parent_team, xrange, xaxis_team, yaxis_team) result(status)
        type(shmem_team_t), intent(in) :: parent_team
        integer, intent(in) :: xrange
        type(shmem_team_t), intent(inout) :: xaxis_team, yaxis_team
        integer :: status
        status = c_split_2d(parent_team, xrange, xaxis_mask=0_c_long, xaxis_team=xaxis_team, yaxis_mask=0_c_long, &
            yaxis_team=yaxis_team)
    end function

    function shmem_team_ptr(team, dest, pe) result(local)
        type(shmem_team_t), intent(in) :: team
        type(*), dimension(..), target, intent(in) :: dest
        integer, intent(in) :: pe
        type(c_ptr) :: local
        local = c_team_ptr(team, address(dest, "shmem_team_ptr: dest"), pe)
    end function

end module
