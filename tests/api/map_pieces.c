/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Staged transfers in many pieces, several of which are under way at a time: sizes around the borders of pieces, rows
 * that are cut between and inside of rows, blocking and nonblocking forms, all PEs in both directions at once, several
 * threads that share few slots. Contents are written and read through the vendor's API.
 */
#include "check.h"
#include "map_check.h"

#include <pthread.h>
#include <shmemx.h>

enum { PIECE = 16 << 10, AREA = 320 << 10, OFFSET = 24, UNTOUCHED = 0xa5, THREADS = 3, ROUNDS = 6 };

/* A mapped object: the address that calls name it by, and the buffer behind it. */
struct object {
    char *address;
    void *buffer;
};

static struct device *device;
static struct object source, dest, local; /* read by others, written by others, this PE's own */
static unsigned char *scratch;

/* ---- Contents ---------------------------------------------------------------------------------------------------- */

static unsigned seed_of(int pe)
{
    return 3 + 5 * (unsigned)pe;
}

static struct object map_new(void)
{
    struct object object = {.buffer = device_alloc(device, AREA)};
    object.address = shmmap(object.buffer, AREA, device->ops->memtype);
    CHECK_THAT(object.address, "shmmap: %s", shmemx_strerror());
    return object;
}

static void unmap(struct object *object)
{
    shmumap(object->address);
    device_free(device, object->buffer);
}

static void fill(const struct object *object, int pe)
{
    check_fill(scratch, AREA, seed_of(pe));
    device_write(device, object->buffer, 0, scratch, AREA);
}

static void clear(const struct object *object)
{
    memset(scratch, UNTOUCHED, AREA);
    device_write(device, object->buffer, 0, scratch, AREA);
}

/* The pattern of a PE, from its beginning, at OFFSET, and nothing beside it. */
static void check_object(const struct object *object, const char *what, size_t nbytes, int pe)
{
    device_read(device, scratch, object->buffer, 0, AREA);
    check_untouched(what, scratch, OFFSET, UNTOUCHED);
    check_bytes(what, scratch + OFFSET, nbytes, seed_of(pe));
    check_untouched(what, scratch + OFFSET + nbytes, AREA - OFFSET - nbytes, UNTOUCHED);
}

/* ---- Contiguous -------------------------------------------------------------------------------------------------- */

static void get_nbi(void *to, const void *from, size_t nbytes, int pe)
{
    shmem_getmem_nbi(to, from, nbytes, pe);
    shmem_quiet();
}

static void put_nbi(void *to, const void *from, size_t nbytes, int pe)
{
    shmem_putmem_nbi(to, from, nbytes, pe);
    shmem_quiet();
}

static const struct form {
    const char *name;
    void (*get)(void *to, const void *from, size_t nbytes, int pe);
    void (*put)(void *to, const void *from, size_t nbytes, int pe);
} forms[] = {{"blocking", shmem_getmem, shmem_putmem}, {"nonblocking", get_nbi, put_nbi}};

static void check_get(const struct form *form, size_t nbytes)
{
    char what[64];
    snprintf(what, sizeof what, "get, %s", form->name);
    clear(&local);
    form->get(local.address + OFFSET, source.address, nbytes, check_target(1));
    check_object(&local, what, nbytes, check_target(1));
    memset(scratch, UNTOUCHED, nbytes + CHECK_GUARD);
    form->get(scratch, source.address, nbytes, check_target(1));
    check_bytes("get to private memory", scratch, nbytes, seed_of(check_target(1)));
    check_untouched("get to private memory", scratch + nbytes, CHECK_GUARD, UNTOUCHED);
}

static void check_put(const struct form *form, size_t nbytes)
{
    char what[64];
    snprintf(what, sizeof what, "put, %s", form->name);
    clear(&dest);
    shmem_barrier_all();
    form->put(dest.address + OFFSET, source.address, nbytes, check_target(1));
    shmem_barrier_all();
    check_object(&dest, what, nbytes, check_origin(1));
}

static void check_sizes(void)
{
    static const int pieces[] = {1, 2, 3, 4, 9, 17};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++)
        for (int around = -1; around <= 1; around++)
            for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
                size_t nbytes = (size_t)(pieces[i] * PIECE + around);
                check_get(&forms[f], nbytes);
                check_put(&forms[f], nbytes);
            }
}

/* Each PE puts and gets at the same time, to and from the same PE: the pieces of both share its slots. */
static void check_both_directions(void)
{
    const size_t nbytes = AREA / 2 - 5;
    for (int round = 0; round < shmem_n_pes(); round++) {
        clear(&local);
        clear(&dest);
        shmem_barrier_all();
        shmem_getmem_nbi(local.address + OFFSET, source.address, nbytes, check_target(round));
        shmem_putmem_nbi(dest.address + OFFSET, source.address, nbytes, check_target(round));
        shmem_barrier_all();
        check_object(&local, "get_nbi beside put_nbi", nbytes, check_target(round));
        check_object(&dest, "put_nbi beside get_nbi", nbytes, check_origin(round));
    }
}

/* ---- With a signal ----------------------------------------------------------------------------------------------- */

static uint64_t *signals; /* symmetric: one that is set, one that is added to */

static void check_signal(size_t nbytes, int op, bool is_blocking)
{
    char what[64];
    uint64_t *signal = &signals[op == SHMEM_SIGNAL_ADD];
    const uint64_t next = shmem_signal_fetch(signal) + 3;
    snprintf(what, sizeof what, "put_signal%s, %s", is_blocking ? "" : "_nbi", op == SHMEM_SIGNAL_ADD ? "add" : "set");
    clear(&dest);
    shmem_barrier_all();
    (is_blocking ? shmem_putmem_signal : shmem_putmem_signal_nbi)(
        dest.address + OFFSET, source.address, nbytes, signal, op == SHMEM_SIGNAL_ADD ? 3 : next, op, check_target(1));
    shmem_signal_wait_until(signal, SHMEM_CMP_GE, next);
    check_object(&dest, what, nbytes, check_origin(1));
    shmem_barrier_all();
    CHECK_THAT(shmem_signal_fetch(signal) == next, "%s: the signal was updated more than once", what);
}

/* Pieces may overtake each other; only the signal says that all are there. */
static void check_signals(void)
{
    static const size_t sizes[] = {64, PIECE, PIECE + 1, 4 * PIECE, 17 * PIECE + 5};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int form = 0; form < 4; form++)
            check_signal(sizes[i], form & 1 ? SHMEM_SIGNAL_ADD : SHMEM_SIGNAL_SET, form & 2);
}

/* ---- Strided ----------------------------------------------------------------------------------------------------- */

/* Rows of `width` words, `there` words apart in the source, `here` words apart in the destination. */
struct rows {
    size_t width, rows;
    ptrdiff_t here, there;
};

static void check_rows(const struct rows *r, const char *what, const struct object *object, int pe)
{
    const size_t bytes = r->width * sizeof(uint64_t), pitch = (size_t)r->here * sizeof(uint64_t);
    const size_t from_pitch = (size_t)r->there * sizeof(uint64_t);
    unsigned char *model = check_malloc(AREA);
    check_fill(model, AREA, seed_of(pe));
    device_read(device, scratch, object->buffer, 0, AREA);
    for (size_t row = 0; row < r->rows; row++) {
        CHECK_THAT(!memcmp(scratch + row * pitch, model + row * from_pitch, bytes),
                   "%s: row %zu of %zu, %zu bytes each", what, row, r->rows, bytes);
        check_untouched(what, scratch + row * pitch + bytes, pitch - bytes, UNTOUCHED);
    }
    check_untouched(what, scratch + r->rows * pitch, AREA - r->rows * pitch, UNTOUCHED);
    free(model);
}

static void check_strided(void)
{
    static const struct rows shapes[] = {
        {1, 9000, 2, 3},                                         /* elements */
        {375, 60, 500, 611},                                     /* 3000 bytes: a piece ends between rows */
        {PIECE / 8, 7, PIECE / 8 + 100, PIECE / 8 + 1},          /* a row is a piece */
        {PIECE / 8 + 1, 5, PIECE / 8 + 2, PIECE / 4},            /* and a word more: it is cut */
        {3 * PIECE / 8 - 1, 4, 3 * PIECE / 8 + 9, 4 * PIECE / 8} /* several pieces a row */
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const struct rows *r = &shapes[i];
        clear(&local);
        shmem_ibget64(local.address, source.address, r->here, r->there, r->width, r->rows, check_target(1));
        check_rows(r, "ibget64", &local, check_target(1));
        clear(&dest);
        shmem_barrier_all();
        shmem_ibput64(dest.address, source.address, r->here, r->there, r->width, r->rows, check_target(1));
        shmem_barrier_all();
        check_rows(r, "ibput64", &dest, check_origin(1));
    }
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

/* A thread has a lane in dest of the next PE. Its own memory is private: the vendor's API is for one thread. */
static void *transfer(void *argument)
{
    const size_t lane = AREA / THREADS / 16 * 16, number = (size_t)(uintptr_t)argument;
    char *there = dest.address + number * lane;
    unsigned char *mine = check_malloc(lane), *back = check_malloc(lane);
    for (unsigned round = 0; round < ROUNDS; round++) {
        const size_t nbytes = lane - 1 - 4096 * round;
        check_fill(mine, nbytes, round + (unsigned)number);
        shmem_putmem(there, mine, nbytes, check_target(1));
        shmem_getmem(back, source.address, nbytes, check_target(1));
        check_bytes("get beside other threads", back, nbytes, seed_of(check_target(1)));
        shmem_quiet();
        shmem_getmem_nbi(back, there, nbytes, check_target(1));
        shmem_quiet();
        check_bytes("put and get_nbi beside other threads", back, nbytes, round + (unsigned)number);
    }
    free(mine);
    free(back);
    return NULL;
}

static void check_threads(void)
{
    pthread_t thread[THREADS];
    shmem_barrier_all();
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&thread[i], NULL, transfer, (void *)i));
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    shmem_barrier_all();
}

/* ---- Configurations ---------------------------------------------------------------------------------------------- */

static bool check_with(const char *piece, const char *slots)
{
    int provided;
    setenv("SHMEM_STAGING_PIECE", piece, 1);
    setenv("SHMEM_STAGING_SLOTS", slots, 1);
    CHECK(!shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) && provided == SHMEM_THREAD_MULTIPLE);
    device = map_open_device(&device_opencl_ops);
    device = device ? device : map_open_device(&device_cuda_ops);
    if (!device)
        return false;
    source = map_new();
    dest = map_new();
    local = map_new();
    signals = shmem_calloc(2, sizeof *signals);
    fill(&source, shmem_my_pe());
    shmem_barrier_all();
    check_sizes();
    check_both_directions();
    check_signals();
    check_strided();
    check_threads();
    shmem_free(signals);
    unmap(&local);
    unmap(&dest);
    unmap(&source);
    return true;
}

int main(void)
{
    scratch = check_malloc(AREA + CHECK_GUARD);
    setenv("SHMEM_GPU_ROUTE", "staged", 0);
    if (!check_with("16k", "3")) {
        if (shmem_my_pe() == 0)
            printf("%s, %s\n", device_opencl_ops.absent, device_cuda_ops.absent);
        shmem_finalize();
        return CHECK_SKIP;
    }
    shmem_finalize();
    check_with("0", "8");
    free(scratch);
    return check_end();
}
