! SPDX-License-Identifier: BSD-3-Clause
!
! Teams and contexts.

program teams
    use, intrinsic :: iso_c_binding
    use checks
    implicit none

    call start()
    call check_handles()
    call check_strided()
    call check_grid()
    call check_contexts()
    call check_team_context()
    call finish()

contains

    subroutine check_handles()
        type(shmem_team_t) :: team
        type(shmem_ctx_t) :: ctx
        integer, save, target :: word = 1
        team = SHMEM_TEAM_INVALID
        ctx = SHMEM_CTX_DEFAULT
        call expect(team == SHMEM_TEAM_INVALID .and. team /= SHMEM_TEAM_WORLD, "comparison of teams")
        call expect(ctx == SHMEM_CTX_DEFAULT .and. ctx /= SHMEM_CTX_INVALID, "comparison of contexts")
        call expect(shmem_team_my_pe(SHMEM_TEAM_WORLD) == me, "place in the world")
        call expect(shmem_team_n_pes(SHMEM_TEAM_WORLD) == npes, "size of the world")
        call expect(shmem_team_my_pe(team) == -1, "invalid team")
        call expect(shmem_ctx_get_team(ctx, team) == 0, "shmem_ctx_get_team")
        call expect(team == SHMEM_TEAM_WORLD, "team of the default context")
        call expect(c_associated(shmem_team_ptr(SHMEM_TEAM_WORLD, word, me), c_loc(word)), "shmem_team_ptr")
    end subroutine

    ! The even PEs, once without and once with a configuration.
    subroutine check_strided()
        type(shmem_team_t) :: even, same
        type(shmem_team_config_t) :: config
        integer :: n
        n = (npes + 1) / 2
        even = SHMEM_TEAM_INVALID
        same = SHMEM_TEAM_INVALID
        call expect(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, n, even) == 0, "split_strided")
        config%num_contexts = 1
        call expect(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, n, config, SHMEM_TEAM_NUM_CONTEXTS, same) == 0, &
            "split_strided with a configuration")
        if (mod(me, 2) == 0) then
            call expect(shmem_team_my_pe(even) == me / 2, "place in a team")
            call expect(shmem_team_n_pes(even) == n, "size of a team")
            call expect(shmem_team_translate_pe(even, n - 1, SHMEM_TEAM_WORLD) == 2 * n - 2, &
                "translate_pe to the world")
            call expect(shmem_team_translate_pe(SHMEM_TEAM_WORLD, me, same) == me / 2, "translate_pe from the world")
            config%num_contexts = -1
            call expect(shmem_team_get_config(same, SHMEM_TEAM_NUM_CONTEXTS, config) == 0, "get_config")
            call expect(config%num_contexts >= 1, "num_contexts")
            call expect(shmem_team_sync(even) == 0, "team_sync")
            call shmem_sync(same)
        else
            call expect(even == SHMEM_TEAM_INVALID, "team of the others")
            call expect(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, even) == -1, "translate_pe to no team")
        end if
        call shmem_barrier_all()
        call shmem_team_destroy(even)
        call shmem_team_destroy(same)
    end subroutine

    subroutine check_grid()
        type(shmem_team_t) :: row, column
        type(shmem_team_config_t) :: config
        row = SHMEM_TEAM_INVALID
        column = SHMEM_TEAM_INVALID
        call expect(shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, row, column) == 0, "split_2d")
        call expect(shmem_team_my_pe(row) == mod(me, 2), "place in a row")
        call expect(shmem_team_my_pe(column) == me / 2, "place in a column")
        call shmem_barrier_all()
        call shmem_team_destroy(row)
        call shmem_team_destroy(column)
        config%num_contexts = 0
        call expect(shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, config, SHMEM_TEAM_NUM_CONTEXTS, row, config, 0_c_long, &
            column) == 0, "split_2d with configurations")
        call expect(shmem_team_my_pe(row) == mod(me, 2), "place in a row, with configurations")
        call shmem_barrier_all()
        call shmem_team_destroy(row)
        call shmem_team_destroy(column)
    end subroutine

    subroutine check_contexts()
        type(shmem_ctx_t) :: ctx
        integer, save, target :: values(4) = 0, counter = 0, word = 0
        integer, target :: source(4), back
        integer :: k
        ctx = SHMEM_CTX_INVALID
        source = [(10 * me + k, k = 1, 4)]
        call expect(shmem_ctx_create(SHMEM_CTX_SERIALIZED, ctx) == 0, "ctx_create")
        call shmem_barrier_all()
        call shmem_put_nbi(values, source, 4, next, ctx)
        call shmem_fence(ctx)
        call shmem_p(word, me + 1, next, ctx=ctx)
        call shmem_atomic_add(counter, 3, 0, ctx)
        back = shmem_atomic_fetch(counter, 0, ctx=ctx)
        call expect(mod(back, 3) == 0 .and. back >= 3, "atomics of a context")
        call shmem_quiet(ctx)
        call shmem_barrier_all()
        call expect(all(values == [(10 * previous + k, k = 1, 4)]), "put_nbi of a context")
        call expect(word == previous + 1, "p of a context")
        call expect(shmem_g(word, next, ctx) == me + 1, "g of a context")
        call shmem_ctx_destroy(ctx)
        call shmem_barrier_all()
    end subroutine

    ! A context of a team: its PEs have the team's numbers.
    subroutine check_team_context()
        type(shmem_team_t) :: odd
        type(shmem_team_config_t) :: config
        type(shmem_ctx_t) :: ctx
        integer, save, target :: words(0:15) = -1 ! one for each PE that puts
        if (npes < 2) return
        odd = SHMEM_TEAM_INVALID
        config%num_contexts = 1
        call expect(shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 2, npes / 2, config, SHMEM_TEAM_NUM_CONTEXTS, &
            odd) == 0, "split of the odd PEs")
        if (odd /= SHMEM_TEAM_INVALID) then
            call expect(shmem_team_create_ctx(odd, 0_c_long, ctx) == 0, "team_create_ctx")
            call shmem_p(words(me), me, 0, ctx)
            call shmem_quiet(ctx)
            call shmem_ctx_destroy(ctx)
        end if
        call shmem_barrier_all()
        call expect(any(words >= 0) .eqv. (me == 1), "PE 0 of the odd ones is PE 1")
        call shmem_team_destroy(odd)
    end subroutine

end program
