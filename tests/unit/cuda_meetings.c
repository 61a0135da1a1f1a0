/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels by which GPUs carry out collectives among themselves (gpu/meeting.h): a single GPU plays one member of a
 * team, and meeting_members.h the others, so that compute-sanitizer can watch the kernels. Skipped (77) when there is no
 * CUDA device, or no kernel for it.
 */
#include "base/settings.h"
#include "cuda_user.h"
#include "meeting_contributions.h"
#include "meeting_stores.h"

#include <unistd.h>

enum { BY_KERNEL_MOST = 16 << 20, TEAMS = 11 };

static const struct {
    int n, me;
} teams[TEAMS] = {{2, 0}, {2, 1}, {3, 0}, {3, 1}, {3, 2}, {5, 0}, {5, 2}, {5, 4}, {16, 0}, {16, 8}, {16, 15}};

/* ---- Exchanges that combine -------------------------------------------------------------------------------------- */

static void check_combining(const struct shmemi_op *op, enum shmemi_combine_form form, size_t nelems, size_t shift,
                            bool in_place)
{
    const size_t nbytes = nelems * op->size;
    struct shmemi_meeting meeting = plan_meeting(SHMEMI_MEET_EXCHANGE, nbytes, nbytes);
    snprintf(title, sizeof title, "kind %d, operation %d, form %d, %zu elements at 16 * k + %zu%s",
             (int)shmemi_kind_of(op), (int)shmemi_operation_of(op), (int)form, nelems, shift,
             in_place ? ", in place" : "");
    give_numbers(op, nbytes);
    const size_t source = take_room(nbytes, shift), dest = in_place ? source : take_room(nbytes, shift * 3 % 16);
    memcpy(box + source, given[team.me], nbytes);
    meeting.source[0] = at(source);
    meeting.dest[0] = at(dest);
    meeting.count = team.n;
    meeting.combines = true;
    meeting.combination = (struct shmemi_combination){
        .op = shmemi_operation_of(op), .kind = shmemi_kind_of(op), .form = form, .size = op->size};
    play(&meeting, given);
    meet(&meeting);
    combine_given(op, end_of(form, team.me), nbytes, box + dest, true);
    check();
}

/* With all teams, lengths and alignments in turns. */
static void check_op(const struct shmemi_op *op)
{
    static const size_t lengths[] = {1, 7, 33, 100};
    static unsigned n_cases;
    const enum shmemi_operation operation = shmemi_operation_of(op);
    const bool in_all_forms = operation != SHMEMI_OP_or && operation != SHMEMI_OP_xor && operation != SHMEMI_OP_prod;
    for (int form = SHMEMI_COMBINE_ALL; form <= SHMEMI_COMBINE_EXCLUSIVE; form++) {
        if (!in_all_forms && form != (int)shmemi_kind_of(op) % 3)
            continue;
        open_team(teams[n_cases % TEAMS].n, teams[n_cases % TEAMS].me);
        check_combining(op, (enum shmemi_combine_form)form, lengths[n_cases % 4], alignment_of(op) * (n_cases % 3) % 16,
                        n_cases % 5 == 0);
        n_cases++;
    }
}

static void check_combinations_through_areas(void)
{
    const struct shmemi_op *sum = shmemi_ops[SHMEMI_OP_sum];
    for (int op = 0; op < SHMEMI_OPS; op++)
        for (int kind = 0; kind < SHMEMI_KINDS; kind++)
            if (shmemi_ops[op][kind].combine && kind != SHMEMI_KIND_F80)
                check_op(&shmemi_ops[op][kind]);
    open_team(2, 0);
    check_combining(&sum[SHMEMI_KIND_F32], SHMEMI_COMBINE_ALL, 77777, 0, false);
    check_combining(&sum[SHMEMI_KIND_BF16], SHMEMI_COMBINE_INCLUSIVE, 100001, 2, true);
    open_team(2, 1);
    check_combining(&sum[SHMEMI_KIND_I8], SHMEMI_COMBINE_EXCLUSIVE, 333333, 1, false);
    open_team(4, 2); /* by halves of units up to 64 KiB, but for elements of 16 bytes */
    check_combining(&sum[SHMEMI_KIND_F32], SHMEMI_COMBINE_ALL, 16384, 0, false);
    check_combining(&sum[SHMEMI_KIND_F32], SHMEMI_COMBINE_ALL, 16385, 4, true);
    check_combining(&sum[SHMEMI_KIND_F16], SHMEMI_COMBINE_ALL, 32767, 2, false);
    check_combining(&shmemi_ops[SHMEMI_OP_prod][SHMEMI_KIND_C32], SHMEMI_COMBINE_INCLUSIVE, 8191, 4, false);
    check_combining(&shmemi_ops[SHMEMI_OP_prod][SHMEMI_KIND_C64], SHMEMI_COMBINE_ALL, 4096, 8, false);
}

/* ---- The order of meetings --------------------------------------------------------------------------------------- */

/* Two exchanges that are enqueued together, each with a set of its own. */
static void check_two(size_t nbytes, const struct shmemi_stream *first, const struct shmemi_stream *second)
{
    static char expected[GIVEN_BYTES];
    const struct storing one = plan_storing(nbytes, 0, 0, team.n, 0);
    expect_stored(&one, expected);
    struct storing two = plan_storing(nbytes, nbytes, 0, team.n, 0);
    two.meeting.number = one.meeting.number + 1;
    if (first != second)
        two.meeting.after = one.meeting.number;
    hand_over();
    enqueue(&one.meeting, first);
    enqueue(&two.meeting, second);
    finish(first);
    finish(second);
    memcpy(box + one.dest, expected, nbytes * (size_t)team.n);
    expect_stored(&two, box + two.dest);
    check();
}

static void check_order(void)
{
    open_team(3, 1);
    for (int i = 0; i < 4; i++) {
        const bool is_odd = i % 2;
        check_two(50, &stream, &stream);
        check_two(50, is_odd ? &stream : &second_stream, is_odd ? &second_stream : &stream);
    }
    open_team(2, 0);
    check_two(200000, &stream, &stream);
    check_two(200000, &stream, &second_stream);
}

static void check_number(uint64_t number)
{
    check_storing(17, 0, 0, team.n, 3);
    CHECK(my_head()->exchanges == number);
}

static void set_first_number(uint64_t number)
{
    team.first_number = number;
    if (team.exchanges < number)
        team.exchanges = number;
}

/* Words hold the lower half of the number, which is never 0; the sets go on in turns. */
static void check_numbers(void)
{
    const uint64_t wrap = UINT64_C(1) << 32;
    open_team(3, 1);
    begin_anew(wrap - 3);
    check_number(wrap - 2);
    check_number(wrap - 1);
    check_number(wrap + 2);
    check_number(wrap + 3);
    check_number(wrap + 4);
    set_first_number(1000);
    check_number(wrap + 5);
    set_first_number(wrap + 100);
    check_number(wrap + 101);
    check_number(wrap + 102);
    set_first_number(2 * wrap - 1);
    check_number(2 * wrap + 2);
    set_first_number(3 * wrap - 2);
    check_number(3 * wrap - 1);
    check_number(3 * wrap + 2);
    open_team(2, 0);
    begin_anew(wrap - 2);
    check_two(200000, &stream, &second_stream);
    CHECK(my_head()->exchanges == wrap + 2);
}

/* ---- Copies and combinations between two exchanges --------------------------------------------------------------- */

static void play_begin_and_end(void)
{
    play_signs();
    play_signs();
}

static void copy_model(size_t dest, size_t source, const struct shmemi_shape *shape)
{
    for (size_t row = 0; row < shape->rows; row++)
        memcpy(box + dest + row * shape->dest_pitch, box + source + row * shape->source_pitch, shape->width);
}

/* All members on this GPU, each with a stream: each copies an array. Those that come first wait for the last one, whose
 * kernels must find room beside what the others have launched: two grids of 512 blocks would fill the GPU. */
static void check_members_together(void)
{
    enum { TOGETHER = 3, NBYTES = 8 << 20, PAUSE_US = 100000 };
    struct shmemi_stream streams[TOGETHER];
    size_t source[TOGETHER], dest[TOGETHER];
    open_team(TOGETHER, 0);
    snprintf(title, sizeof title, "%d members together", (int)TOGETHER);
    for (int i = 0; i < TOGETHER; i++) {
        open_stream(&streams[i]);
        source[i] = take_room(NBYTES, 0);
        fill(box + source[i], NBYTES, (unsigned)i);
        dest[i] = take_room(NBYTES, 0);
    }
    USE(cuda.cuMemcpyHtoD(box_place.address, box, box_end));
    USE(shmemi_cuda.cuCtxSynchronize());
    play_signs_of_all();
    play_signs_of_all();
    for (team.me = 0; team.me < TOGETHER; team.me++) {
        struct shmemi_meeting meeting = plan_meeting(SHMEMI_MEET_COPY, NBYTES, 0);
        meeting.source[0] = at(source[team.me]);
        meeting.dest[0] = at(dest[team.me]);
        meeting.n_copies = 1;
        enqueue(&meeting, &streams[team.me]);
        usleep(PAUSE_US);
    }
    for (team.me = 0; team.me < TOGETHER; team.me++) {
        finish(&streams[team.me]);
        memcpy(box + dest[team.me], box + source[team.me], NBYTES);
    }
    team.me = 0;
    check();
}

/* Arrays of the shape; its rows are meant only if there are several. */
static void check_copies(int n_copies, const struct shmemi_shape *shape, bool last_is_own, size_t shift)
{
    struct shmemi_meeting meeting = plan_meeting(SHMEMI_MEET_COPY, shape->width * shape->rows, 0);
    size_t source[MEMBERS], dest[MEMBERS];
    snprintf(title, sizeof title, "%d copies of %zu rows of %zu bytes, at 16 * k + %zu", n_copies, shape->rows,
             shape->width, shift);
    for (int i = 0; i < n_copies; i++) {
        const size_t nbytes = shmemi_shape_extent(shape, shape->source_pitch, 0);
        source[i] = take_room(nbytes, shift);
        fill(box + source[i], nbytes, (unsigned)(team.exchanges * MEMBERS + (unsigned)i));
        meeting.source[i] = at(source[i]);
    }
    for (int i = 0; i < n_copies; i++) {
        dest[i] = take_room(shmemi_shape_extent(shape, shape->dest_pitch, 0), shift * (size_t)(i + 1) % 16);
        meeting.dest[i] = at(dest[i]);
    }
    meeting.after = meeting.number - 1; /* that one is done */
    meeting.n_copies = n_copies;
    meeting.last_is_own = last_is_own;
    if (shape->rows > 1)
        meeting.shape = *shape;
    play_begin_and_end();
    meet(&meeting);
    for (int i = 0; i < n_copies; i++)
        copy_model(dest[i], source[i], shape);
    check();
}

static void check_linear_copies(int n_copies, size_t nbytes, bool last_is_own, size_t shift)
{
    const struct shmemi_shape shape = shmemi_shape_linear(nbytes);
    check_copies(n_copies, &shape, last_is_own, shift);
}

static void check_all_copies(void)
{
    static const struct shmemi_shape elements = {.width = 8, .rows = 1000, .dest_pitch = 24, .source_pitch = 16},
                                     bytes = {.width = 3, .rows = 77, .dest_pitch = 5, .source_pitch = 3};
    open_team(5, 2);
    check_linear_copies(5, 1, true, 1);
    check_linear_copies(5, 5000, true, 0);
    check_linear_copies(4, 5003, false, 5);
    check_linear_copies(0, 5000, false, 0);
    check_copies(5, &elements, false, 0);
    check_copies(5, &bytes, false, 1);
    open_team(16, 15);
    check_linear_copies(16, 70000, true, 3);
    check_copies(16, &elements, false, 8);
    open_team(2, 0);
    check_linear_copies(1, BY_KERNEL_MOST, false, 0);
    check_linear_copies(2, BY_KERNEL_MOST + 24, true, 0); /* from here on by engines */
    check_linear_copies(2, BY_KERNEL_MOST + 1, true, 7);
    check_linear_copies(1, BY_KERNEL_MOST + 1, false, 2);
}

/* A source is GPU memory or page-locked host memory. */
static void check_collect(const uint64_t *nbytes, char *locked, size_t shift)
{
    struct shmemi_meeting meeting = plan_meeting(SHMEMI_MEET_COLLECT, nbytes[team.me], sizeof *nbytes);
    struct shmemi_meeting sizes = {.nbytes = sizeof *nbytes, .count = team.n};
    const char *contribution[MEMBERS];
    size_t all = 0, before = 0, dest[MEMBERS];
    snprintf(title, sizeof title, "collect of %zu bytes from %s memory, at 16 * k + %zu", meeting.nbytes,
             locked ? "host" : "GPU", shift);
    for (int i = 0; i < team.n; i++) {
        contribution[i] = (const char *)&nbytes[i];
        before += i < team.me ? nbytes[i] : 0;
        all += nbytes[i];
    }
    give(meeting.nbytes);
    const size_t source = take_room(meeting.nbytes, shift);
    memcpy(locked ? locked : box + source, given[team.me], meeting.nbytes);
    if (meeting.nbytes)
        meeting.source[0] = locked ? shmemi_place_host(locked) : at(source);
    for (int i = 0; i < team.n; i++) {
        dest[i] = take_room(all, shift * (size_t)i % 16);
        meeting.dest[i] = at(dest[i]);
    }
    meeting.n_copies = team.n;
    meeting.room = all;
    play(&sizes, contribution);
    play_signs();
    meet(&meeting);
    memcpy(my_head()->nbytes, nbytes, sizeof *nbytes * (size_t)team.n);
    for (int i = 0; i < team.n; i++)
        memcpy(box + dest[i] + before, given[team.me], meeting.nbytes);
    check();
}

static void check_collects(char *locked)
{
    static const uint64_t few[] = {5, 0, 100, 1, 17}, many[] = {100000, 7},
                          all[] = {16, 1, 2, 3, 4, 5, 6, 7, 4000, 9, 10, 11, 12, 13, 14, 15};
    for (int me = 0; me < 5; me++) {
        open_team(5, me);
        check_collect(few, me == 2 ? locked : NULL, (size_t)me * 3);
    }
    open_team(2, 0);
    check_collect(many, NULL, 0);
    check_collect(many, locked, 0);
    open_team(2, 1);
    check_collect(many, NULL, 1);
    open_team(16, 8);
    check_collect(all, NULL, 2);
}

/* The arrays of all members. Prefixes: a dest for each source. */
static void check_combination(const struct shmemi_op *op, enum shmemi_combine_form form, size_t nelems, int n_dests,
                              bool in_place)
{
    struct shmemi_meeting meeting = plan_meeting(SHMEMI_MEET_COMBINE, nelems * op->size, 0);
    struct shmemi_place source[MEMBERS], dest[MEMBERS];
    const size_t nbytes = meeting.nbytes;
    size_t source_at[MEMBERS], dest_at[MEMBERS];
    snprintf(title, sizeof title, "kind %d, operation %d, form %d, arrays of %zu elements to %d members%s",
             (int)shmemi_kind_of(op), (int)shmemi_operation_of(op), (int)form, nelems, n_dests,
             in_place ? ", in place" : "");
    give_numbers(op, nbytes);
    for (int i = 0; i < team.n; i++) {
        source_at[i] = take_room(nbytes, op->size % 16);
        memcpy(box + source_at[i], given[i], nbytes);
        source[i] = at(source_at[i]);
    }
    for (int i = 0; i < n_dests; i++) {
        dest_at[i] = in_place ? source_at[i] : take_room(nbytes, op->size % 16);
        dest[i] = at(dest_at[i]);
    }
    meeting.combines = true;
    meeting.combination = (struct shmemi_combination){.op = shmemi_operation_of(op),
                                                      .kind = shmemi_kind_of(op),
                                                      .form = form,
                                                      .size = op->size,
                                                      .nelems = nelems,
                                                      .source = source,
                                                      .dest = dest,
                                                      .n_sources = nelems ? team.n : 0,
                                                      .n_dests = nelems ? n_dests : 0};
    play_begin_and_end();
    meet(&meeting);
    for (int i = 0; i < n_dests; i++)
        combine_given(op, end_of(form, i), nbytes, box + dest_at[i], form == SHMEMI_COMBINE_ALL);
    check();
}

static void check_combinations_of_arrays(void)
{
    const struct shmemi_op *sum = shmemi_ops[SHMEMI_OP_sum], *max = shmemi_ops[SHMEMI_OP_max];
    open_team(2, 0);
    check_combination(&sum[SHMEMI_KIND_F32], SHMEMI_COMBINE_ALL, 99999, 1, false);
    open_team(3, 2);
    check_combination(&sum[SHMEMI_KIND_F64], SHMEMI_COMBINE_ALL, 40001, 3, true);
    check_combination(&sum[SHMEMI_KIND_F16], SHMEMI_COMBINE_ALL, 100003, 3, false);
    check_combination(&max[SHMEMI_KIND_I8], SHMEMI_COMBINE_INCLUSIVE, 30011, 3, false);
    check_combination(&sum[SHMEMI_KIND_I64], SHMEMI_COMBINE_EXCLUSIVE, 30011, 3, true);
    check_combination(&sum[SHMEMI_KIND_C64], SHMEMI_COMBINE_ALL, 0, 3, false);
    open_team(16, 8);
    check_combination(&sum[SHMEMI_KIND_I32], SHMEMI_COMBINE_ALL, 20000, 16, true);
}

/* The two exchanges of a meeting are those at the end of the numbers of 32 bits. */
static void check_copies_at_wrap(void)
{
    open_team(3, 0);
    begin_anew((UINT64_C(1) << 32) - 2);
    check_linear_copies(3, 1000, true, 0);
    CHECK(my_head()->exchanges == (UINT64_C(1) << 32) + 2);
    check_linear_copies(3, 1000, true, 4);
}

/* ---- Refusals ---------------------------------------------------------------------------------------------------- */

/* With nothing enqueued, so that nothing is changed. */
static void check_refusal(const struct shmemi_meeting *meeting)
{
    CHECK(commands->meet(&stream, meeting, &extras) == -ENOTSUP);
    finish(&stream);
    check();
}

static void check_refusals(void)
{
    const struct shmemi_meeting sync = plan_meeting(SHMEMI_MEET_EXCHANGE, 0, 0);
    struct shmemi_meeting meeting = sync;
    snprintf(title, sizeof title, "refusals");
    meeting.area[1].object = NULL;
    check_refusal(&meeting);
    meeting = sync;
    meeting.nbytes = 8;
    meeting.count = team.n;
    meeting.source[0] = at(0);
    meeting.dest[0] = shmemi_place_host(found);
    check_refusal(&meeting);
    meeting = sync;
    meeting.what = SHMEMI_MEET_COLLECT;
    meeting.nbytes = 8;
    meeting.n_copies = team.n;
    for (int i = 0; i < team.n; i++)
        meeting.dest[i] = at(0);
    meeting.source[0] = shmemi_place_host(found); /* pageable */
    check_refusal(&meeting);
}

/* ---- Streams of other contexts ----------------------------------------------------------------------------------- */

/* A stream of a context that is not the one of the memory; the present context stays. */
static bool open_foreign_stream(struct shmemi_stream *foreign)
{
    CUcontext own, popped;
    if (user.create_context(&own, 0, 0) != CUDA_SUCCESS)
        return false;
    open_stream(foreign);
    USE(shmemi_cuda.cuCtxPopCurrent(&popped));
    return popped == own && foreign->object != stream.object;
}

/* All that meetings do, by kernels, copies and extra streams, and in order with meetings of a stream of the memory's own
 * context. */
static void check_foreign_stream(char *locked)
{
    const struct shmemi_stream usual = stream;
    struct shmemi_stream foreign;
    const bool is_open = open_foreign_stream(&foreign);
    CHECK(is_open);
    if (!is_open)
        return;
    for (int i = 0; i < 2; i++) {
        stream = i ? usual : foreign;
        second_stream = i ? foreign : usual;
        check_team(3, 1);
        check_order();
        check_all_copies();
        check_collects(locked);
    }
    stream = usual;
}

int main(void)
{
    char *locked = NULL;
    if (memory->open() || memory->device_count() == 0) {
        printf("# no CUDA device: skipped\n");
        return SKIP;
    }
    if (!open_gpu()) {
        printf("# no kernels for this CUDA device: skipped\n");
        return SKIP;
    }
    shmemi_settings.stream_blocks = 512; /* the default */
    name_contributions();
    USE(user.cuMemAllocHost((void **)&locked, GIVEN_BYTES));
    open_stream(&stream);
    open_stream(&second_stream);
    CHECK(stream.object == box_place.object && second_stream.object == box_place.object);
    open_areas();
    for (int i = 0; i < TEAMS; i++)
        check_team(teams[i].n, teams[i].me);
    check_several_blocks();
    check_combinations_through_areas();
    check_order();
    check_all_copies();
    check_members_together();
    check_collects(locked);
    check_combinations_of_arrays();
    check_foreign_stream(locked);
    check_refusals();
    check_all_areas();
    check_numbers();
    check_copies_at_wrap();
    commands->end_meetings(&extras);
    CHECK(!extras);
    commands->free(&box_place, areas_object);
    memory->close();
    printf("# %d failures\n", n_failures);
    return n_failures ? 1 : 0;
}
