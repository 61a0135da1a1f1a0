/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Put with signal, every type and SIZE form, SET and ADD; signal_set, add, fetch and wait_until. Payload and signal lie
 * in the heap or in static data, in every combination: when the signal is there, the payload is.
 */
#include "check.h"

enum { NELEMS = 65, BIG = 300001 };

typedef void (*put_signal_func_t)(void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal,
                                  int sig_op, int pe);

struct form {
    const char *name;
    size_t size;
    put_signal_func_t put_signal;
};

/* clang-format off */
#define DEFINE_THUNKS(NAME, TYPE, ...)                                                                                 \
    static void put_signal_##NAME(void *dest, const void *source, size_t n, uint64_t *s, uint64_t v, int op, int pe)   \
    { shmem_##NAME##_put_signal(dest, source, n, s, v, op, pe); }
#define TYPED_FORM(NAME, TYPE, ...) {#NAME, sizeof(TYPE), put_signal_##NAME},
#define SIZE_FORM(BITS, BYTES, ...) {#BITS, BYTES, shmem_put##BITS##_signal},
/* clang-format on */

SHMEMI_FOR_RMA_TYPES(DEFINE_THUNKS, )

static const struct form forms[] = {
    {"mem", 1, shmem_putmem_signal}, SHMEMI_FOR_SIZES(SIZE_FORM, ) SHMEMI_FOR_RMA_TYPES(TYPED_FORM, ) /**/
};
enum { N_FORMS = sizeof forms / sizeof forms[0] };

static _Alignas(16) unsigned char static_payload[BIG], source[BIG];
static uint64_t static_signal;

struct target {
    unsigned char *payload;
    uint64_t *signal;
};

static void expect(const char *what, uint64_t found, uint64_t expected)
{
    CHECK_THAT(found == expected, "%s: the signal is %llu, expected %llu", what, (unsigned long long)found,
               (unsigned long long)expected);
}

/* Only the signal says that the payload has arrived. */
static void check_once(const struct form *form, struct target target, size_t nelems, int op, int round)
{
    char what[96];
    const uint64_t value = 0x100000001u, before = op == SHMEM_SIGNAL_SET ? 5 : 7;
    const uint64_t expected = op == SHMEM_SIGNAL_SET ? value : before + value;
    size_t nbytes = nelems * form->size;
    snprintf(what, sizeof what, "shmem %s put_signal %s", form->name, op == SHMEM_SIGNAL_SET ? "SET" : "ADD");
    memset(target.payload, 0, nbytes);
    *target.signal = before;
    check_fill(source, nbytes, (unsigned)(shmem_my_pe() + round));
    shmem_barrier_all();
    form->put_signal(target.payload, source, nelems, target.signal, value, op, check_target(round));
    expect(what, shmem_signal_wait_until(target.signal, SHMEM_CMP_EQ, expected), expected);
    check_bytes(what, target.payload, nbytes, (unsigned)(check_origin(round) + round));
    expect(what, shmem_signal_fetch(target.signal), expected);
    shmem_barrier_all();
}

static void check_form(const struct form *form, struct target target)
{
    for (int round = 0; round < shmem_n_pes(); round++) {
        check_once(form, target, 0, SHMEM_SIGNAL_ADD, round); /* no payload, but the signal must be updated */
        check_once(form, target, 1, SHMEM_SIGNAL_SET, round);
        check_once(form, target, NELEMS, SHMEM_SIGNAL_ADD, round);
        check_once(form, target, BIG / form->size, SHMEM_SIGNAL_SET, round);
    }
}

/* All PEs add to the signal of one. */
static void check_adds(uint64_t *signal)
{
    enum { N = 500 };
    uint64_t expected = (uint64_t)shmem_n_pes() * N * 3;
    for (int pe = 0; pe < shmem_n_pes(); pe++) {
        *signal = 0;
        shmem_barrier_all();
        for (int i = 0; i < N; i++)
            shmem_signal_add(signal, 3, pe);
        if (pe == shmem_my_pe())
            expect("shmem_signal_add", shmem_signal_wait_until(signal, SHMEM_CMP_GE, expected), expected);
        shmem_barrier_all();
        expect("shmem_signal_add", shmem_signal_fetch(signal), pe == shmem_my_pe() ? expected : 0);
        shmem_barrier_all();
    }
}

static void check_sets(uint64_t *signal)
{
    int me = shmem_my_pe();
    for (int round = 0; round < shmem_n_pes(); round++) {
        *signal = UINT64_MAX;
        shmem_barrier_all();
        shmem_signal_set(signal, 40 + (uint64_t)me, check_target(round));
        uint64_t found = shmem_signal_wait_until(signal, SHMEM_CMP_LT, UINT64_MAX);
        expect("shmem_signal_set", found, 40 + (uint64_t)check_origin(round));
        shmem_barrier_all();
    }
}

int main(void)
{
    shmem_init();
    unsigned char *heap_payload = check_shmem_malloc(BIG);
    uint64_t *heap_signal = check_shmem_malloc(sizeof *heap_signal);
    const struct target targets[] = {{heap_payload, heap_signal},
                                     {heap_payload, &static_signal},
                                     {static_payload, heap_signal},
                                     {static_payload, &static_signal}};
    for (int i = 0; i < N_FORMS; i++)
        for (int t = 0; t < 4; t++)
            check_form(&forms[i], targets[t]);
    check_adds(heap_signal);
    check_adds(&static_signal);
    check_sets(heap_signal);
    check_sets(&static_signal);
    shmem_free(heap_signal);
    shmem_free(heap_payload);
    return check_end();
}
