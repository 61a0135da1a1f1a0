/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The steps, and the checks of everything else.
 */
#include "steps.h"

#include "../api/map_check.h"
#include "kernel.h"

#include <string.h>

enum { BYTES = 100000, WORDS = 8 };

static struct device *device; /* NULL: there is none on some PE */
static struct buffer *kept_buffer, *buffer;
static char *kept, *mapped;
static long *heap, static_words[WORDS];
static shmem_team_t kept_team, team, rows, columns;
static shmem_ctx_t context;

/* ---- What must work ----------------------------------------------------------------------------------------------- */

static void check_words(const char *when, const char *what, long *words, shmem_ctx_t ctx)
{
    static long round;
    const int to = check_target(1), from = check_origin(1);
    memset(words, 0, WORDS * sizeof *words);
    round++;
    shmem_barrier_all();
    shmem_ctx_long_p(ctx, &words[0], 1000 * round + shmem_my_pe(), to);
    shmem_ctx_long_atomic_add(ctx, &words[1], round, 0);
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    CHECK_THAT(words[0] == 1000 * round + from, "%s: a put to %s brings %ld", when, what, words[0]);
    CHECK_THAT(shmem_long_g(&words[0], to) == 1000 * round + shmem_my_pe(), "%s: a get from %s", when, what);
    CHECK_THAT(shmem_my_pe() || words[1] == round * shmem_n_pes(), "%s: sum in %s is %ld", when, what, words[1]);
    shmem_barrier_all();
}

static void check_mapped(const char *when, char *address, struct buffer *of)
{
    unsigned char out[64], in[sizeof out];
    check_fill(out, sizeof out, (unsigned)shmem_my_pe());
    shmem_putmem(address + BYTES - sizeof out, out, sizeof out, check_target(1));
    shmem_barrier_all();
    device_read(device, in, of, BYTES - sizeof in, sizeof in);
    check_bytes(when, in, sizeof in, (unsigned)check_origin(1));
    shmem_getmem(in, address + BYTES - sizeof in, sizeof in, check_target(1));
    check_bytes(when, in, sizeof in, (unsigned)shmem_my_pe());
    shmem_barrier_all();
}

static void *map(struct buffer *object)
{
    return shmmap(object, BYTES, device->ops->memtype);
}

static void check_team(const char *when, shmem_team_t of)
{
    static int one, sum;
    if (of == SHMEM_TEAM_INVALID)
        return;
    one = 1;
    shmem_int_sum_reduce(of, &sum, &one, 1);
    CHECK_THAT(sum == shmem_team_n_pes(of), "%s: a team of %d counts %d", when, shmem_team_n_pes(of), sum);
    shmem_team_sync(of);
}

void steps_check_all(const char *when)
{
    check_words(when, "the heap", heap, SHMEM_CTX_DEFAULT);
    check_words(when, "static data", static_words, SHMEM_CTX_DEFAULT);
    check_team(when, kept_team);
    if (device && !kept)
        kept = map(kept_buffer);
    if (device)
        check_mapped(when, kept, kept_buffer);
}

/* ---- Begin and end ------------------------------------------------------------------------------------------------- */

/* Routes to PEs of other nodes are made when they are first used, and what keeps account of an operation under way is used
 * again: many at once now, so that no more of that is needed later. Without it for a transfer, the job ends. */
static void use_all_routes(void)
{
    enum { MANY = 64 };
    static long old[MANY];
    for (int i = 0; i < MANY * shmem_n_pes(); i++) {
        const int pe = i / MANY;
        shmem_long_atomic_fetch_add_nbi(&old[i % MANY], &heap[4], 1, pe);
        shmem_long_atomic_add(&static_words[4], 1, pe);
        shmem_long_p(&heap[4], 1, pe);
        shmem_long_put_nbi(&static_words[4], old, 1, pe);
        if (kept)
            shmem_char_put_nbi(kept, (char *)old, 1, pe);
    }
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        CHECK(shmem_long_g(&heap[4], pe) + shmem_long_g(&static_words[4], pe) + (kept ? shmem_char_g(kept, pe) : 0) >=
              0);
    shmem_barrier_all();
}

static void open_rest(void)
{
    heap = check_shmem_malloc(WORDS * sizeof *heap);
    memset(heap, 0, WORDS * sizeof *heap);
    CHECK(!shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, shmem_n_pes(), NULL, 0, &kept_team));
}

static void open_map(void)
{
    device = map_open_device(&device_opencl_ops);
    if (!device)
        return;
    kept_buffer = device_alloc(device, BYTES);
    buffer = device_alloc(device, BYTES);
    kept = map(kept_buffer);
    CHECK(kept);
}

void steps_open(void)
{
    open_rest();
    open_map();
    use_all_routes();
    steps_check_all("at first");
}

static void close_rest(void)
{
    shmem_team_destroy(kept_team);
    shmem_free(heap);
}

void steps_close(void)
{
    close_rest();
    if (!device)
        return;
    shmumap(kept);
    device_free(device, kept_buffer);
    device_free(device, buffer);
    device->ops->close(device);
    device = NULL;
}

/* The buffers stay. */
struct refuse_held steps_start_again(void)
{
    close_rest();
    if (device)
        shmumap(kept);
    kept = NULL;
    shmem_finalize();
    shmem_init();
    shmem_barrier_all();
    const struct refuse_held held = refuse_held();
    shmem_barrier_all();
    open_rest();
    if (device) {
        kept = map(kept_buffer);
        CHECK(kept);
    }
    use_all_routes();
    steps_check_all("anew");
    return held;
}

/* ---- Steps --------------------------------------------------------------------------------------------------------- */

static bool always(void)
{
    return true;
}

static bool has_device(void)
{
    return device;
}

static void nothing(void)
{
}

static int take_map(void)
{
    mapped = map(buffer);
    return !mapped;
}

static void undo_map(void)
{
    check_mapped("a new object", mapped, buffer);
    shmumap(mapped);
}

/* With the first object: what is made once for all. The checks map it if this is refused. */
static int take_first_map(void)
{
    shmumap(kept);
    kept = map(kept_buffer);
    return !kept;
}

static int take_split(void)
{
    return shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (shmem_n_pes() + 1) / 2, NULL, 0, &team);
}

static void undo_split(void)
{
    check_team("a new team", team);
    shmem_team_destroy(team);
}

static int take_split_2d(void)
{
    return shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, NULL, 0, &rows, NULL, 0, &columns);
}

static void undo_split_2d(void)
{
    check_team("a row", rows);
    check_team("a column", columns);
    shmem_team_destroy(columns);
    shmem_team_destroy(rows);
}

static int take_split_of_team(void)
{
    return shmem_team_split_strided(kept_team, shmem_n_pes() - 1, -1, shmem_n_pes(), NULL, 0, &team);
}

static int take_context(void)
{
    return shmem_ctx_create(0, &context);
}

static int take_team_context(void)
{
    return shmem_team_create_ctx(kept_team, 0, &context);
}

static void undo_context(void)
{
    shmem_ctx_long_p(context, &heap[2], 7, shmem_my_pe());
    shmem_ctx_destroy(context);
    CHECK(heap[2] == 7);
}

static int take_prepare(void)
{
    static char memory[1 << 16];
    return shmemx_prepare(memory, sizeof memory) || shmemx_release(memory);
}

static shmemx_device_view_t view;

static int take_view(void)
{
    return shmemx_device_view(heap, &view);
}

/* A kernel, played by this thread, that puts to the next PE; an agent must carry that out if it is on another node. */
static void use_view(void)
{
    kernel_put(&view, &heap[3], 100 + shmem_my_pe(), check_target(1));
}

/* The first of the process: the room for all is made with it. */
static void first_context(void)
{
    if (!take_context() || !take_context())
        undo_context();
    else
        FAIL("no context after one was refused");
}

const struct step steps[] = {
    {"map", ON_ALL_PES, false, has_device, take_map, undo_map},
    {"first map", ON_ALL_PES, true, has_device, take_first_map, nothing},
    {"team", ON_ALL_PES, false, always, take_split, undo_split},
    {"2-d teams", ON_ALL_PES, false, always, take_split_2d, undo_split_2d},
    {"team of a team", ON_ALL_PES, false, always, take_split_of_team, undo_split},
    {"first team", ON_ALL_PES, true, always, take_split, undo_split},
    {"context", ON_ITS_PE, false, always, take_context, undo_context},
    {"context of a team", ON_ITS_PE, false, always, take_team_context, undo_context},
    {"prepare", ON_ITS_PE, false, always, take_prepare, nothing},
    {"view, agent", ON_ITS_PE, true, always, take_view, use_view},
    {NULL, ON_ITS_PE, false, NULL, NULL, NULL},
};

/* ---- What is full -------------------------------------------------------------------------------------------------- */

static void expect_refusal(struct buffer *object, size_t size, const char *cause)
{
    void *address = shmmap(object, size, device->ops->memtype);
    CHECK_THAT(!address && strstr(shmemx_strerror(), cause), "shmmap gave %p and says \"%s\", expected \"%s\"", address,
               shmemx_strerror(), cause);
    steps_check_all(cause);
}

void steps_fill_window(void)
{
    const size_t size = (size_t)192 << 20;
    struct buffer *large = device ? device_alloc(device, size) : NULL;
    for (int i = 0; i < 3 && device; i++)
        expect_refusal(large, size, "window for mapped objects is full");
    if (device)
        device_free(device, large);
}

void steps_take_all_numbers(void)
{
    enum { MOST = 4096, FEW_BYTES = 64 };
    static struct buffer *buffers[MOST];
    static char *addresses[MOST];
    int n = 0;
    if (!device)
        return;
    do {
        buffers[n] = device_alloc(device, FEW_BYTES);
        addresses[n] = shmmap(buffers[n], FEW_BYTES, device->ops->memtype);
    } while (addresses[n++]);
    CHECK_THAT(strstr(shmemx_strerror(), "numbers of mapped objects"), "after %d objects: %s", n, shmemx_strerror());
    expect_refusal(buffers[n - 1], FEW_BYTES, "numbers of mapped objects");
    shmumap(addresses[n / 2]);
    addresses[n / 2] = shmmap(buffers[n / 2], FEW_BYTES, device->ops->memtype);
    CHECK(addresses[n / 2]);
    for (int i = 0; i < n; i++) {
        shmumap(addresses[i]);
        device_free(device, buffers[i]);
    }
    steps_check_all("all is unmapped");
}

/* ---- Steps that end the job ----------------------------------------------------------------------------------------- */

static void start(void)
{
    shmem_init();
}

static void start_with_words(void)
{
    shmem_init();
    heap = check_shmem_malloc(WORDS * sizeof *heap);
}

static void use_all(void)
{
    steps_open();
    steps_close();
}

static void start_and_open(void)
{
    shmem_init();
    steps_open();
}

static void allocate(void)
{
    long *blocks[3];
    for (int i = 0; i < 3; i++)
        blocks[i] = check_shmem_malloc(4096);
    blocks[1] = shmem_realloc(blocks[1], 100000);
    CHECK(blocks[1]);
    for (int i = 0; i < 3; i++)
        shmem_free(blocks[i]);
}

/* Host memory as well, which the agent sends. */
static void use_queue(void)
{
    static long source = 5;
    void *queue;
    if (!device)
        return;
    queue = device->ops->plain.stream(device);
    shmemx_putmem_on_queue(kept, kept + 4096, 4096, check_target(1), queue, 0, NULL, NULL);
    shmemx_putmem_on_queue(&static_words[5], &source, sizeof source, check_target(1), queue, 0, NULL, NULL);
    shmemx_barrier_all_on_queue(queue, 0, NULL, NULL);
    shmemx_long_sum_reduce_on_queue(kept_team, &static_words[6], &static_words[5], 1, queue, 0, NULL, NULL);
    shmemx_quiet_on_queue(queue, 0, NULL, NULL);
    device->ops->plain.synchronize(device);
    CHECK(static_words[5] == 5 && static_words[6] == 5 * shmem_n_pes());
}

static void finish_rest(void)
{
    steps_check_all("now");
    steps_close();
}

const struct ending endings[] = {
    {"init", nothing, start, use_all},
    {"routes", start_with_words, use_all_routes, use_all},
    {"heap", start_and_open, allocate, finish_rest},
    {"queue", start_and_open, use_queue, finish_rest},
    {"context", start_and_open, first_context, finish_rest},
    {NULL, NULL, NULL, NULL},
};
