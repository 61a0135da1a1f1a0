/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Put, get, p, g and the nonblocking forms: every type, the SIZE forms and mem; to heap and static data; from and to
 * heap, static data, stack, private and read-only memory; to self and to every PE.
 */
#include "check.h"

#include <stdbool.h>

enum { SMALL = 4096, BIG = (1 << 20) + 3, AREA = BIG + 2 * CHECK_GUARD, UNTOUCHED = 0xa5 };

typedef void (*move_func_t)(void *dest, const void *source, size_t nelems, int pe);
typedef void (*element_func_t)(void *dest, const void *source, int pe);

struct form {
    const char *name;
    size_t size;        /* of an element */
    size_t value_bytes; /* of an element that hold its value: long double has padding */
    move_func_t put, get, put_nbi, get_nbi;
    element_func_t p, g; /* NULL: this form has none */
};

/* clang-format off */
#define DEFINE_THUNKS(NAME, TYPE, ...)                                                                                 \
    static void put_##NAME(void *dest, const void *source, size_t n, int pe)                                           \
    { shmem_##NAME##_put(dest, source, n, pe); }                                                                       \
    static void get_##NAME(void *dest, const void *source, size_t n, int pe)                                           \
    { shmem_##NAME##_get(dest, source, n, pe); }                                                                       \
    static void put_nbi_##NAME(void *dest, const void *source, size_t n, int pe)                                       \
    { shmem_##NAME##_put_nbi(dest, source, n, pe); }                                                                   \
    static void get_nbi_##NAME(void *dest, const void *source, size_t n, int pe)                                       \
    { shmem_##NAME##_get_nbi(dest, source, n, pe); }                                                                   \
    static void p_##NAME(void *dest, const void *source, int pe)                                                       \
    { shmem_##NAME##_p(dest, *(const TYPE *)source, pe); }                                                             \
    static void g_##NAME(void *dest, const void *source, int pe) { *(TYPE *)dest = shmem_##NAME##_g(source, pe); }
#define TYPED_FORM(NAME, TYPE, ...)                                                                                    \
    {#NAME, sizeof(TYPE), sizeof(TYPE) == 16 ? 10 : sizeof(TYPE), put_##NAME, get_##NAME, put_nbi_##NAME,              \
     get_nbi_##NAME, p_##NAME, g_##NAME},
#define SIZE_FORM(BITS, BYTES, ...)                                                                                    \
    {#BITS, BYTES, BYTES, shmem_put##BITS, shmem_get##BITS, shmem_put##BITS##_nbi, shmem_get##BITS##_nbi, NULL, NULL},
/* clang-format on */

SHMEMI_FOR_RMA_TYPES(DEFINE_THUNKS, )

static const struct form forms[] = {
    {"mem", 1, 1, shmem_putmem, shmem_getmem, shmem_putmem_nbi, shmem_getmem_nbi, NULL, NULL},
    SHMEMI_FOR_SIZES(SIZE_FORM, ) SHMEMI_FOR_RMA_TYPES(TYPED_FORM, ) /**/
};
enum { N_FORMS = sizeof forms / sizeof forms[0] };

#define R4(x) (x), (x) + 1, (x) + 2, (x) + 3
#define R16(x) R4(x), R4((x) + 4), R4((x) + 8), R4((x) + 12)
#define R64(x) R16(x), R16((x) + 16), R16((x) + 32), R16((x) + 48)
#define R256 R64(0), R64(64), R64(128), R64(192)
#define R1024 R256, R256, R256, R256
static const _Alignas(16) unsigned char read_only[SMALL] = {R1024, R1024, R1024, R1024};

static _Alignas(64) unsigned char static_area[AREA], static_local[BIG];
static unsigned char *heap_area, *heap_local, *private_local;

/* A move is one routine from one kind of local memory to one kind of symmetric memory (or back). */
struct move {
    const char *routine;
    move_func_t function;
    bool completes_late;
    unsigned char *remote; /* symmetric address of the area */
    unsigned char *local;
    size_t nbytes, nelems;
};

static unsigned seed_of(int pe, int round)
{
    return (unsigned)(pe * 5 + round * 3 + 11);
}

static void clear_area(unsigned char *area, size_t nbytes)
{
    memset(area, UNTOUCHED, nbytes + 2 * CHECK_GUARD);
}

static void check_guards(const char *routine, const unsigned char *area, size_t nbytes)
{
    check_untouched(routine, area, CHECK_GUARD, UNTOUCHED);
    check_untouched(routine, area + CHECK_GUARD + nbytes, CHECK_GUARD, UNTOUCHED);
}

static void check_put(const struct move *move, int round)
{
    int me = shmem_my_pe();
    clear_area(move->remote, move->nbytes);
    check_fill(move->local, move->nbytes, seed_of(me, round));
    shmem_barrier_all();
    move->function(move->remote + CHECK_GUARD, move->local, move->nelems, check_target(round));
    if (move->completes_late)
        shmem_quiet();
    memset(move->local, 0, move->nbytes); /* the source may be reused now */
    shmem_barrier_all();
    check_bytes(move->routine, move->remote + CHECK_GUARD, move->nbytes, seed_of(check_origin(round), round));
    check_guards(move->routine, move->remote, move->nbytes);
}

static void check_get(const struct move *move, int round)
{
    int me = shmem_my_pe(), target = check_target(round);
    check_fill(move->remote + CHECK_GUARD, move->nbytes, seed_of(me, round));
    memset(move->local, 0, move->nbytes);
    shmem_barrier_all();
    move->function(move->local, move->remote + CHECK_GUARD, move->nelems, target);
    if (move->completes_late)
        shmem_quiet();
    check_bytes(move->routine, move->local, move->nbytes, seed_of(target, round));
    shmem_barrier_all();
}

static void check_all_targets(void (*check)(const struct move *, int), const struct move *move)
{
    for (int round = 0; round < shmem_n_pes(); round++)
        check(move, round);
}

/* ---- every form -------------------------------------------------------------------------------------------------- */

static void check_form_sized(const struct form *form, unsigned char *remote, unsigned char *local, size_t nelems)
{
    char routine[64];
    struct move move = {.routine = routine, .remote = remote, .local = local, .nelems = nelems};
    const move_func_t functions[] = {form->put, form->put_nbi, form->get, form->get_nbi};
    static const char *const names[] = {"put", "put_nbi", "get", "get_nbi"};
    move.nbytes = nelems * form->size;
    for (int i = 0; i < 4; i++) {
        snprintf(routine, sizeof routine, "shmem %s %s to %s, %zu elements", form->name, names[i],
                 remote == heap_area ? "heap" : "static data", nelems);
        move.function = functions[i];
        move.completes_late = i % 2;
        check_all_targets(i < 2 ? check_put : check_get, &move);
    }
}

static void check_elements(const struct form *form, unsigned char *remote)
{
    _Alignas(16) unsigned char value[16] = {0}, back[16] = {0};
    int me = shmem_my_pe();
    for (int round = 0; form->p && round < shmem_n_pes(); round++) {
        check_fill(value, sizeof value, seed_of(me, round));
        clear_area(remote, form->size);
        shmem_barrier_all();
        form->p(remote + CHECK_GUARD, value, check_target(round));
        shmem_barrier_all();
        check_bytes(form->name, remote + CHECK_GUARD, form->value_bytes, seed_of(check_origin(round), round));
        check_guards(form->name, remote, form->size);
        form->g(back, remote + CHECK_GUARD, check_target(round));
        check_bytes(form->name, back, form->value_bytes, seed_of(me, round));
        shmem_barrier_all();
    }
}

static bool is_checked_big(const struct form *form)
{
    return form == &forms[0] || !strcmp(form->name, "double") || !strcmp(form->name, "128") ||
           !strcmp(form->name, "short");
}

static void check_form(const struct form *form, unsigned char *remote)
{
    _Alignas(16) unsigned char on_stack[SMALL];
    check_form_sized(form, remote, heap_local, 0);
    check_form_sized(form, remote, on_stack, 1);
    check_form_sized(form, remote, static_local, 7);
    check_form_sized(form, remote, private_local, SMALL / form->size);
    if (is_checked_big(form))
        check_form_sized(form, remote, private_local, BIG / form->size);
    check_elements(form, remote);
}

/* ---- every kind of local memory ---------------------------------------------------------------------------------- */

static void check_local_kinds(unsigned char *remote)
{
    _Alignas(16) unsigned char on_stack[SMALL];
    unsigned char *const locals[] = {on_stack, static_local, heap_local, private_local};
    static const size_t sizes[] = {1, 2, 3, 5, 8, 17, 255, SMALL};
    for (int i = 0; i < 4; i++)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
            check_form_sized(&forms[0], remote, locals[i], sizes[s]);
    check_form_sized(&forms[0], remote, static_local, BIG);
    check_form_sized(&forms[0], remote, heap_local, BIG);
}

static void check_read_only_source(unsigned char *remote)
{
    for (int round = 0; round < shmem_n_pes(); round++) {
        clear_area(remote, SMALL);
        shmem_barrier_all();
        shmem_putmem(remote + CHECK_GUARD, read_only, SMALL, check_target(round));
        shmem_barrier_all();
        CHECK_THAT(!memcmp(remote + CHECK_GUARD, read_only, SMALL), "shmem_putmem of read-only data: contents differ");
        check_guards("shmem_putmem from read-only data", remote, SMALL);
    }
}

/* Many nonblocking puts, one quiet. */
static void check_many_nbi(unsigned char *remote)
{
    enum { N = 500, STEP = 16 };
    int me = shmem_my_pe();
    for (int round = 0; round < shmem_n_pes(); round++) {
        clear_area(remote, N * STEP);
        check_fill(heap_local, N * STEP, seed_of(me, round));
        shmem_barrier_all();
        for (size_t i = 0; i < N; i++)
            shmem_putmem_nbi(remote + CHECK_GUARD + i * STEP, heap_local + i * STEP, STEP, check_target(round));
        shmem_barrier_all(); /* completes them */
        check_bytes("500 shmem_putmem_nbi", remote + CHECK_GUARD, N * STEP, seed_of(check_origin(round), round));
    }
}

/* A length of 0 touches nothing, whatever the addresses. */
static void check_nothing(void)
{
    shmem_putmem(NULL, NULL, 0, 0);
    shmem_getmem(NULL, NULL, 0, 0);
    shmem_putmem_nbi(NULL, NULL, 0, 0);
    shmem_getmem_nbi(NULL, NULL, 0, 0);
    shmem_double_put(NULL, NULL, 0, 0);
    shmem_iput64(NULL, NULL, 1, 1, 0, 0);
}

int main(void)
{
    shmem_init();
    heap_area = check_shmem_malloc(AREA);
    heap_local = check_shmem_malloc(BIG);
    private_local = check_malloc(BIG);
    for (int i = 0; i < N_FORMS; i++) {
        check_form(&forms[i], heap_area);
        check_form(&forms[i], static_area);
    }
    check_local_kinds(heap_area);
    check_local_kinds(static_area);
    check_read_only_source(heap_area);
    check_read_only_source(static_area);
    check_many_nbi(heap_area);
    check_many_nbi(static_area);
    check_nothing();
    free(private_local);
    shmem_free(heap_local);
    shmem_free(heap_area);
    return check_end();
}
