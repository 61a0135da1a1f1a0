/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every routine of remote memory access and put with signal [9.6, 9.8], for every type and SIZE, plain and on contexts,
 * to every PE. Each operation has a slot of its own in the destination, which is compared as a whole with a model, so
 * that a change beside the destination is found. Sources lie in read-only data, on the stack, in private, static and
 * symmetric memory.
 */
#include "check.h"

#include "../spec/types.h"
#include "../spec/ways.h"

enum {
    SLOT = 1024,
    ALIGNMENT = 16,
    FIRST = 128, /* offset of the destination in its slot */
    UNTOUCHED = 0xa5,
    PES_MAX = 16,
    PATTERN = 2048,
    N_SOURCES = 5,
};

/* Puts: slots of the destination, one per origin. Gets: steps of one PE. */
enum put_slot { PUT, PUT_NBI, P, IPUT, IBPUT, PUT_SIGNAL, PUT_SIGNAL_NBI, N_PUTS };
static const char *const put_names[] = {"put", "put_nbi", "p", "iput", "ibput", "put_signal", "put_signal_nbi"};

typedef void (*copy_func_t)(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);
typedef void (*element_func_t)(shmem_ctx_t ctx, void *dest, const void *source, int pe);
typedef void (*strided_func_t)(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                               size_t nelems, int pe);
typedef void (*block_func_t)(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                             size_t bsize, size_t nblocks, int pe);
typedef void (*signal_func_t)(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, uint64_t *sig_addr,
                              uint64_t signal, int sig_op, int pe);

struct form {
    const char *name;
    size_t size, value_bytes; /* value_bytes: that travel by value; an x87 number has padding */
    copy_func_t put, get, put_nbi, get_nbi;
    element_func_t p, g;
    strided_func_t iput, iget;
    block_func_t ibput, ibget;
    signal_func_t put_signal, put_signal_nbi;
};

/* ---- every routine behind one signature: without a context it is the plain one ----------------------------------- */

/* clang-format off */
#define CALL(ctx, plain, on_context, ...)                                                                              \
    do { if (ctx == SHMEM_CTX_INVALID) plain(__VA_ARGS__); else on_context(ctx, __VA_ARGS__); } while (0)
#define COPY(id, routine)                                                                                              \
    static void id(shmem_ctx_t c, void *d, const void *s, size_t n, int pe)                                            \
    { CALL(c, shmem_##routine, shmem_ctx_##routine, d, s, n, pe); }
#define STRIDED(id, routine)                                                                                           \
    static void id(shmem_ctx_t c, void *d, const void *s, ptrdiff_t dst, ptrdiff_t sst, size_t n, int pe)              \
    { CALL(c, shmem_##routine, shmem_ctx_##routine, d, s, dst, sst, n, pe); }
#define BLOCKS(id, routine)                                                                                            \
    static void id(shmem_ctx_t c, void *d, const void *s, ptrdiff_t dst, ptrdiff_t sst, size_t b, size_t n, int pe)    \
    { CALL(c, shmem_##routine, shmem_ctx_##routine, d, s, dst, sst, b, n, pe); }
#define SIGNAL(id, routine)                                                                                            \
    static void id(shmem_ctx_t c, void *d, const void *s, size_t n, uint64_t *sig, uint64_t v, int op, int pe)         \
    { CALL(c, shmem_##routine, shmem_ctx_##routine, d, s, n, sig, v, op, pe); }
#define DEFINE_TYPED(NAME, TYPE)                                                                                       \
    COPY(put_##NAME, NAME##_put) COPY(get_##NAME, NAME##_get)                                                          \
    COPY(put_nbi_##NAME, NAME##_put_nbi) COPY(get_nbi_##NAME, NAME##_get_nbi)                                          \
    STRIDED(iput_##NAME, NAME##_iput) STRIDED(iget_##NAME, NAME##_iget)                                                \
    BLOCKS(ibput_##NAME, NAME##_ibput) BLOCKS(ibget_##NAME, NAME##_ibget)                                              \
    SIGNAL(put_signal_##NAME, NAME##_put_signal) SIGNAL(put_signal_nbi_##NAME, NAME##_put_signal_nbi)                  \
    static void p_##NAME(shmem_ctx_t c, void *d, const void *s, int pe)                                                \
    { CALL(c, shmem_##NAME##_p, shmem_ctx_##NAME##_p, d, *(const TYPE *)s, pe); }                                      \
    static void g_##NAME(shmem_ctx_t c, void *d, const void *s, int pe)                                                \
    { *(TYPE *)d = c == SHMEM_CTX_INVALID ? shmem_##NAME##_g(s, pe) : shmem_ctx_##NAME##_g(c, s, pe); }
#define DEFINE_SIZED(SIZE, BYTES)                                                                                      \
    COPY(put_##SIZE, put##SIZE) COPY(get_##SIZE, get##SIZE)                                                            \
    COPY(put_nbi_##SIZE, put##SIZE##_nbi) COPY(get_nbi_##SIZE, get##SIZE##_nbi)                                        \
    STRIDED(iput_##SIZE, iput##SIZE) STRIDED(iget_##SIZE, iget##SIZE)                                                  \
    BLOCKS(ibput_##SIZE, ibput##SIZE) BLOCKS(ibget_##SIZE, ibget##SIZE)                                                \
    SIGNAL(put_signal_##SIZE, put##SIZE##_signal) SIGNAL(put_signal_nbi_##SIZE, put##SIZE##_signal_nbi)
#define FORM(NAME, BYTES, VALUE_BYTES, P_G)                                                                            \
    {#NAME, BYTES, VALUE_BYTES, put_##NAME, get_##NAME, put_nbi_##NAME, get_nbi_##NAME, P_G, iput_##NAME, iget_##NAME, \
     ibput_##NAME, ibget_##NAME, put_signal_##NAME, put_signal_nbi_##NAME},
#define PAIR(a, b) a, b
#define TYPED_FORM(NAME, TYPE)                                                                                         \
    FORM(NAME, sizeof(TYPE), sizeof(TYPE) == 16 ? 10 : sizeof(TYPE), PAIR(p_##NAME, g_##NAME))
#define SIZED_FORM(SIZE, BYTES) FORM(SIZE, BYTES, BYTES, PAIR(NULL, NULL))

SPEC_RMA_TYPES(DEFINE_TYPED)
SPEC_SIZES(DEFINE_SIZED)
COPY(put_mem, putmem) COPY(get_mem, getmem) COPY(put_nbi_mem, putmem_nbi) COPY(get_nbi_mem, getmem_nbi)
SIGNAL(put_signal_mem, putmem_signal) SIGNAL(put_signal_nbi_mem, putmem_signal_nbi)

static const struct form forms[] = {
    {"mem", 1, 1, put_mem, get_mem, put_nbi_mem, get_nbi_mem, NULL, NULL, NULL, NULL, NULL, NULL, put_signal_mem,
     put_signal_nbi_mem},
    SPEC_SIZES(SIZED_FORM)
    SPEC_RMA_TYPES(TYPED_FORM)
};
/* clang-format on */
enum { N_FORMS = sizeof forms / sizeof forms[0] };

/* ---- what moves, and between what -------------------------------------------------------------------------------- */

/* Shapes of the transfers, in elements. */
enum { NELEMS = 19, DST = 3, SST = 2, ROWS = 7, BSIZE = 3, BLOCK_DST = 5, BLOCK_SST = 4, BLOCKS_N = 4 };

struct area {
    const char *name;
    unsigned char *slots;    /* [origin][put_slot][SLOT] */
    uint64_t *signals;       /* [origin][2] */
    unsigned char *readable; /* what gets read */
};

#define R4(x) (x), (x) + 1, (x) + 2, (x) + 3
#define R16(x) R4(x), R4((x) + 4), R4((x) + 8), R4((x) + 12)
#define R64(x) R16(x), R16((x) + 16), R16((x) + 32), R16((x) + 48)
#define R256 R64(0), R64(64), R64(128), R64(192)
static const _Alignas(ALIGNMENT) unsigned char read_only[PATTERN] = {R256, R256, R256, R256, R256, R256, R256, R256};

static _Alignas(ALIGNMENT) unsigned char static_slots[PES_MAX * N_PUTS * SLOT], static_readable[SLOT],
    static_source[SLOT];
static uint64_t static_signals[PES_MAX * 2];
static unsigned char *heap_source, *private_source;
static const char *const source_names[] = {"read-only data", "the stack", "private memory", "static data", "the heap"};

/* The data of a PE: a piece of the pattern, a different one for each. */
static const unsigned char *data_of(int pe)
{
    return read_only + ALIGNMENT * (size_t)(pe % PES_MAX);
}

static unsigned char *slot_of(const struct area *area, int origin, enum put_slot slot)
{
    return area->slots + ((size_t)origin * N_PUTS + slot) * SLOT;
}

struct test {
    const struct form *form;
    const struct way *way;
    const struct area *area;
    const char *source_name;
};

/* ---- puts -------------------------------------------------------------------------------------------------------- */

static void start_puts(const struct test *test, const unsigned char *source, int target)
{
    const struct form *form = test->form;
    const shmem_ctx_t ctx = test->way->context;
    const int me = shmem_my_pe(), pe = way_pe(test->way, target);
    unsigned char *dest[N_PUTS];
    uint64_t *signals = test->area->signals + me * 2;
    for (int i = 0; i < N_PUTS; i++)
        dest[i] = slot_of(test->area, me, (enum put_slot)i) + FIRST;
    form->put(ctx, dest[PUT], source, NELEMS, pe);
    form->put_nbi(ctx, dest[PUT_NBI], source, NELEMS, pe);
    form->put_signal(ctx, dest[PUT_SIGNAL], source, NELEMS, &signals[0], 17, SHMEM_SIGNAL_SET, pe);
    form->put_signal_nbi(ctx, dest[PUT_SIGNAL_NBI], source, NELEMS, &signals[1], 4, SHMEM_SIGNAL_ADD, pe);
    if (form->p)
        form->p(ctx, dest[P], source, pe);
    if (!form->iput)
        return;
    form->iput(ctx, dest[IPUT], source, DST, SST, ROWS, pe);
    form->ibput(ctx, dest[IBPUT], source, BLOCK_DST, BLOCK_SST, BSIZE, BLOCKS_N, pe);
}

static void place(const struct form *form, unsigned char *image, size_t to, const unsigned char *source, size_t from,
                  size_t nelems)
{
    memcpy(image + to * form->size, source + from * form->size, nelems * form->size);
}

/* What the strided forms move: the same elements for a put and a get. */
static void place_rows(const struct form *form, unsigned char *image, const unsigned char *source)
{
    for (size_t i = 0; i < ROWS; i++)
        place(form, image, i * DST, source, i * SST, 1);
}

static void place_blocks(const struct form *form, unsigned char *image, const unsigned char *source)
{
    for (size_t i = 0; i < BLOCKS_N; i++)
        place(form, image, i * BLOCK_DST, source, i * BLOCK_SST, BSIZE);
}

static void expect_image(const struct test *test, const char *routine, const unsigned char *found,
                         const unsigned char *image, size_t ignored_from, size_t ignored_to, int peer)
{
    for (size_t i = 0; i < SLOT; i++)
        CHECK_THAT(found[i] == image[i] || (i >= ignored_from && i < ignored_to),
                   "shmem_%s of %s, %s, %s and %s, PE %d: byte %td of the destination is %#x, expected %#x", routine,
                   test->form->name, test->way->name, test->source_name, test->area->name, peer, (ptrdiff_t)i - FIRST,
                   found[i], image[i]);
}

static void check_slot(const struct test *test, int origin, enum put_slot slot)
{
    const struct form *form = test->form;
    unsigned char image[SLOT];
    size_t padding = FIRST + form->value_bytes;
    memset(image, UNTOUCHED, sizeof image);
    if (slot == IPUT && form->iput)
        place_rows(form, image + FIRST, data_of(origin));
    else if (slot == IBPUT && form->ibput)
        place_blocks(form, image + FIRST, data_of(origin));
    else if (slot == P && form->p)
        place(form, image + FIRST, 0, data_of(origin), 0, 1);
    else if (slot != IPUT && slot != IBPUT && slot != P)
        place(form, image + FIRST, 0, data_of(origin), 0, NELEMS);
    expect_image(test, put_names[slot], slot_of(test->area, origin, slot), image, padding,
                 slot == P ? FIRST + form->size : padding, origin);
}

static void check_puts(const struct test *test)
{
    for (int origin = 0; origin < shmem_n_pes(); origin++) {
        const uint64_t *signals = test->area->signals + origin * 2;
        for (int slot = 0; slot < N_PUTS; slot++)
            check_slot(test, origin, (enum put_slot)slot);
        CHECK_THAT(signals[0] == 17 && signals[1] == 1004,
                   "shmem put_signal of %s, %s, from PE %d: signals %llu and %llu, expected 17 and 1004",
                   test->form->name, test->way->name, origin, (unsigned long long)signals[0],
                   (unsigned long long)signals[1]);
    }
}

static void clear(const struct area *area)
{
    memset(area->slots, UNTOUCHED, (size_t)shmem_n_pes() * N_PUTS * SLOT);
    for (int i = 0; i < shmem_n_pes() * 2; i++)
        area->signals[i] = 1000;
}

/* ---- gets -------------------------------------------------------------------------------------------------------- */

enum get_step { GET, GET_NBI, G, IGET, IBGET, N_GETS };
static const char *const get_names[] = {"get", "get_nbi", "g", "iget", "ibget"};

static void get_once(const struct test *test, enum get_step step, unsigned char *dest, int pe)
{
    const struct form *form = test->form;
    const shmem_ctx_t ctx = test->way->context;
    const unsigned char *source = test->area->readable;
    switch (step) {
    case GET:
        form->get(ctx, dest, source, NELEMS, pe);
        break;
    case GET_NBI:
        form->get_nbi(ctx, dest, source, NELEMS, pe);
        way_quiet(test->way);
        break;
    case G:
        form->g(ctx, dest, source, pe);
        break;
    case IGET:
        form->iget(ctx, dest, source, DST, SST, ROWS, pe);
        break;
    default:
        form->ibget(ctx, dest, source, BLOCK_DST, BLOCK_SST, BSIZE, BLOCKS_N, pe);
    }
}

static void check_gets(const struct test *test, unsigned char *local, int target)
{
    const struct form *form = test->form;
    const unsigned char *data = data_of(target);
    for (int step = GET; step < N_GETS; step++) {
        unsigned char image[SLOT];
        size_t padding = FIRST + form->value_bytes;
        if ((step == G && !form->g) || (step > G && !form->iget))
            continue;
        memset(image, UNTOUCHED, sizeof image);
        memset(local, UNTOUCHED, SLOT);
        if (step == IGET)
            place_rows(form, image + FIRST, data);
        else if (step == IBGET)
            place_blocks(form, image + FIRST, data);
        else
            place(form, image + FIRST, 0, data, 0, step == G ? 1 : NELEMS);
        get_once(test, (enum get_step)step, local + FIRST, way_pe(test->way, target));
        expect_image(test, get_names[step], local, image, padding, step == G ? FIRST + form->size : padding, target);
    }
}

/* ---- one form, way, area and kind of local memory ---------------------------------------------------------------- */

static void run(struct test *test, unsigned kind)
{
    _Alignas(ALIGNMENT) unsigned char on_stack[SLOT];
    const int me = shmem_my_pe();
    unsigned char *const writable[N_SOURCES] = {on_stack, on_stack, private_source, static_source, heap_source};
    test->source_name = source_names[kind];
    clear(test->area);
    memcpy(test->area->readable, data_of(me), SLOT);
    memcpy(writable[kind], data_of(me), SLOT);
    shmem_barrier_all();
    for (int round = 0; round < shmem_n_pes(); round++)
        start_puts(test, kind ? writable[kind] : data_of(me), check_target(round));
    way_quiet(test->way);
    for (int round = 0; round < shmem_n_pes(); round++)
        check_gets(test, writable[kind], check_target(round));
    shmem_barrier_all();
    check_puts(test);
}

/* Lengths of zero access no memory, and the pointers may be null; the signal must be updated nevertheless. */
static void check_nothing(const struct form *form, const struct way *way, uint64_t *signal)
{
    const shmem_ctx_t ctx = way->context;
    const int pe = way_pe(way, shmem_my_pe());
    form->put(ctx, NULL, NULL, 0, pe);
    form->get(ctx, NULL, NULL, 0, pe);
    form->put_nbi(ctx, NULL, NULL, 0, pe);
    form->get_nbi(ctx, NULL, NULL, 0, pe);
    if (form->iput) {
        form->iput(ctx, NULL, NULL, 1, 1, 0, pe);
        form->iget(ctx, NULL, NULL, 2, 1, 0, pe);
        form->ibput(ctx, NULL, NULL, 4, 4, 4, 0, pe);
        form->ibget(ctx, NULL, NULL, 4, 4, 4, 0, pe);
        form->ibput(ctx, NULL, NULL, 1, 1, 0, 5, pe);
        form->ibget(ctx, NULL, NULL, 1, 1, 0, 5, pe);
    }
    *signal = 5;
    form->put_signal(ctx, NULL, NULL, 0, signal, 2, SHMEM_SIGNAL_ADD, pe);
    form->put_signal_nbi(ctx, NULL, NULL, 0, signal, 3, SHMEM_SIGNAL_ADD, pe);
    way_quiet(way);
    CHECK_THAT(shmem_signal_fetch(signal) == 10, "shmem put_signal of no %s: the signal is %llu, expected 10",
               form->name, (unsigned long long)*signal);
}

int main(void)
{
    struct way ways[N_WAYS];
    shmem_init();
    const size_t n = (size_t)shmem_n_pes();
    CHECK_THAT(n <= PES_MAX, "this test runs with at most %d PEs", PES_MAX);
    ways_open(ways);
    heap_source = check_shmem_malloc(SLOT);
    private_source = check_malloc(SLOT);
    const struct area areas[2] = {
        {"the heap", check_shmem_malloc(n * N_PUTS * SLOT), check_shmem_malloc(n * 2 * sizeof(uint64_t)),
         check_shmem_malloc(SLOT)},
        {"static data", static_slots, static_signals, static_readable},
    };
    for (unsigned f = 0; f < N_FORMS; f++)
        for (unsigned w = 0; w < N_WAYS; w++) {
            for (unsigned a = 0; a < 2; a++)
                run(&(struct test){.form = &forms[f], .way = &ways[w], .area = &areas[a]}, (f + w + a) % N_SOURCES);
            check_nothing(&forms[f], &ways[w], &static_signals[0]);
        }
    for (unsigned kind = 0; kind < N_SOURCES; kind++)
        for (unsigned a = 0; a < 2; a++)
            run(&(struct test){.form = &forms[4], .way = &ways[0], .area = &areas[a]}, kind);
    ways_close(ways);
    return check_end();
}
