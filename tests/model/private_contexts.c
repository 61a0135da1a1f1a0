/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The contexts of a program: on the world and on teams, with all options, in sessions; destroyed by their thread, or
 * left to shmem_team_destroy or shmem_finalize.
 */
#include "tester.h"

static bool is_made(const struct drawn_context *context)
{
    return program.is_kept[STEPS_MAX + (context - program.contexts)] &&
           (context->team < 0 || program.teams[context->team].group[job.me] >= 0);
}

static bool is_of(const struct drawn_context *context, int lane)
{
    return is_made(context) && (context->lane == lane || (context->lane < 0 && lane == 0));
}

void contexts_draw(struct random_numbers *numbers)
{
    static const long options[] = {0,
                                   SHMEM_CTX_SERIALIZED,
                                   SHMEM_CTX_PRIVATE,
                                   SHMEM_CTX_NOSTORE,
                                   SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE,
                                   SHMEM_CTX_SERIALIZED | SHMEM_CTX_NOSTORE};
    program.n_contexts = (int)below(numbers, CONTEXTS_MAX + 1);
    for (int i = 0; i < program.n_contexts; i++) {
        struct drawn_context *context = &program.contexts[i];
        *context =
            (struct drawn_context){.team = one_in(numbers, 2) ? -1 : (int)below(numbers, (size_t)program.n_teams),
                                   .options = options[below(numbers, 6)],
                                   .lane = (int)below(numbers, (size_t)program.n_lanes),
                                   .has_session = one_in(numbers, 3),
                                   .is_renewed = one_in(numbers, 5)};
        context->is_left = one_in(numbers, 3) && (program.ends_job || context->team >= 2);
        if (!(context->options & (SHMEM_CTX_PRIVATE | SHMEM_CTX_SERIALIZED)) && !context->has_session &&
            one_in(numbers, 2))
            context->lane = -1;
    }
}

int context_draw(struct random_numbers *numbers, int lane, int pe, int *pes, int *n)
{
    int number = (int)below(numbers, (size_t)program.n_contexts + 2) - 2;
    const struct drawn_context *context = &program.contexts[number < 0 ? 0 : number];
    if (number >= 0 && ((context->lane >= 0 && context->lane != lane) ||
                        (context->team >= 0 && program.teams[context->team].group[pe] < 0)))
        number = PLAIN;
    if (number >= 0 && context->team >= 0) {
        *n = team_members(context->team, program.teams[context->team].group[pe], pes);
        return number;
    }
    *n = job.n;
    for (int i = 0; i < job.n; i++)
        pes[i] = i;
    return number;
}

/* One that a shorter program leaves out is the default context. */
shmem_ctx_t context_handle(int number)
{
    if (number == PLAIN)
        return SHMEM_CTX_INVALID;
    return number == DEFAULT || !is_made(&program.contexts[number]) ? SHMEM_CTX_DEFAULT
                                                                    : program.contexts[number].handle;
}

int context_pe(int number, int pe)
{
    if (number < 0 || !is_made(&program.contexts[number]) || program.contexts[number].team < 0)
        return pe;
    return program.teams[program.contexts[number].team].rank[pe];
}

const char *context_text(int number)
{
    static char text[160];
    const struct drawn_context *context = &program.contexts[number < 0 ? 0 : number];
    if (number < 0)
        return number == PLAIN ? "no context" : "default context";
    snprintf(text, sizeof text, "context %d (%s, options %ld, lane %d%s%s%s)", STEPS_MAX + number,
             context->team < 0 ? "world" : team_text(context->team), context->options, context->lane,
             context->has_session ? ", in a session" : "", context->is_renewed ? ", made anew in each epoch" : "",
             context->is_left ? ", left" : "");
    return text;
}

void context_fence(int number)
{
    if (number == PLAIN)
        shmem_fence();
    else
        shmem_ctx_fence(context_handle(number));
}

void context_quiet(int number)
{
    if (number == PLAIN)
        shmem_quiet();
    else
        shmem_ctx_quiet(context_handle(number));
}

/* ---- Making, completing, destroying ------------------------------------------------------------------------------------ */

static void make(struct drawn_context *context)
{
    const int rc = context->team < 0
                       ? shmem_ctx_create(context->options, &context->handle)
                       : shmem_team_create_ctx(program.teams[context->team].handle, context->options, &context->handle);
    if (rc != 0)
        wrong(-1, "%s: creation returned %d", context_text((int)(context - program.contexts)), rc);
}

void contexts_make(int lane)
{
    for (int i = 0; i < program.n_contexts; i++)
        if (is_of(&program.contexts[i], lane))
            make(&program.contexts[i]);
}

void contexts_begin_epoch(int lane)
{
    const shmem_ctx_session_config_t config = {.total_ops = 10};
    for (int i = 0; i < program.n_contexts; i++) {
        const struct drawn_context *context = &program.contexts[i];
        if (is_of(context, lane) && context->has_session)
            shmem_ctx_session_start(context->handle, i % 2 ? SHMEM_CTX_SESSION_BATCH : 0, &config,
                                    i % 3 ? SHMEM_CTX_SESSION_TOTAL_OPS : 0);
    }
}

static void complete(struct drawn_context *context, int number)
{
    int pes[PES_MAX];
    const int n = context->team < 0 ? job.n : shmem_team_n_pes(program.teams[context->team].handle);
    for (int i = 0; i < n; i++)
        pes[i] = i;
    if (context->has_session)
        shmem_ctx_session_stop(context->handle);
    if (context->is_renewed && context->lane >= 0) {
        shmem_ctx_destroy(context->handle);
        make(context);
    } else if (number % 2) {
        shmem_ctx_pe_quiet(context->handle, pes, (size_t)n);
    } else {
        shmem_ctx_quiet(context->handle);
    }
}

void contexts_complete(int lane)
{
    for (int i = 0; i < program.n_contexts; i++)
        if (is_of(&program.contexts[i], lane))
            complete(&program.contexts[i], i);
}

void contexts_destroy(int lane)
{
    for (int i = 0; i < program.n_contexts; i++)
        if (is_of(&program.contexts[i], lane) && !program.contexts[i].is_left)
            shmem_ctx_destroy(program.contexts[i].handle);
}
