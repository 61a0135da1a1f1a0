/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Atomic operations on streams and queues, and waits for words.
 */
#include "shmem/stream/stream_ops.h"
#include "transport/stream/watched.h"

#include <string.h>

/* Drivers handle words of 4 and 8 bytes, so floating-point values are passed as their bits. */
static uint64_t bits_of(const void *value, size_t size)
{
    uint64_t bits = 0;
    memcpy(&bits, value, size);
    return bits;
}

/* fetch: where the old value belongs; NULL: nowhere. */
static void atomic(const struct shmemi_stream_call *call, void *fetch, bool fetches, const void *dest,
                   struct shmemi_amo amo, int pe)
{
    struct shmemi_stream_amo update = {.word.amo = amo, .fetches = fetches};
    struct shmemi_word_update *word = &update.word;
    word->view = shmemi_reach_word(call->routine, dest, amo.size, pe, &word->offset);
    if (fetches) {
        shmemi_require_pointer(call->routine, "fetch", fetch);
        update.old = shmemi_enqueued_place(call->routine, fetch, amo.size);
    }
    struct shmemi_transfer_call frame = shmemi_transfer_call(call->routine, word->view, word->offset, amo.size);
    shmemi_call_begin(&frame.call);
    shmemi_require(shmemi_stream_amo(&call->stream, &update));
    shmemi_call_end(&frame.call);
}

/* What is waited for: words, of which those with a status are left out. */
struct condition {
    const void *ivars;
    size_t nelems;
    const int *status;
    unsigned size; /* of a word */
    bool is_signed;
    int cmp;
    uint64_t value;
};

/* Is any of the words in the set? */
static bool has_members(const struct condition *condition)
{
    for (size_t i = 0; i < condition->nelems; i++)
        if (!condition->status || !condition->status[i])
            return true;
    return false;
}

/* A set without members is none of the words. */
static void wait_for(const struct shmemi_stream_call *call, size_t *index, bool any, struct condition condition)
{
    const unsigned size = condition.size;
    struct shmemi_stream stream = call->stream;
    struct shmemi_stream_wait set = {.size = size, .value = condition.value, .status = condition.status, .any = any};
    const struct shmemi_view *view = NULL;
    size_t offset = 0;
    set.step = shmemi_step_of(call->routine, condition.cmp);
    if (any) {
        shmemi_require_pointer(call->routine, "index", index);
        set.index = shmemi_enqueued_place(call->routine, index, sizeof *index);
    }
    if (has_members(&condition)) {
        set.n = condition.nelems;
        view = shmemi_reach(call->routine, condition.ivars, shmemi_bytes_of(set.n, size), shmemi_job.pe, &offset);
        shmemi_reach_word(call->routine, condition.ivars, size, shmemi_job.pe, &offset);
        set.words = shmemi_view_place(view, offset);
    }
    shmemi_words_watch(&stream, call->routine, view, offset, &set, condition.is_signed);
    const int rc = shmemi_stream_wait_words(&stream, &set);
    shmemi_watched_end(&stream, rc);
    shmemi_require(rc);
}

/* clang-format off */
#define AMO(OP, TYPE, OPERAND, COMPARE)                                                                                \
    ((struct shmemi_amo){.op = SHMEMI_AMO_##OP, .size = sizeof(TYPE), .operand = OPERAND, .compare = COMPARE})
#define BITS(value) bits_of(&value, sizeof value)
#define CONDITION(TYPE, ivars, nelems, status)                                                                         \
    ((struct condition){ivars, nelems, status, sizeof(TYPE), (TYPE)-1 < (TYPE)1, cmp, BITS(cmp_value)})

/* __VA_ARGS__: the parameters between the address of the old value, if any, and the PE. */
#define DEFINE_POSTING(NAME, amo, ...)                                                                                 \
    SHMEMI_DEFINE_ENQUEUED(NAME, (__VA_ARGS__, int pe,), atomic(&call, NULL, false, dest, amo, pe))
#define DEFINE_FETCHING(NAME, TYPE, WORD, amo, ...)                                                                    \
    SHMEMI_DEFINE_ENQUEUED(NAME, (TYPE *fetch, __VA_ARGS__, int pe,), atomic(&call, fetch, true, WORD, amo, pe))

#define DEFINE_XAMO(NAME, TYPE, ...)                                                                                   \
    DEFINE_FETCHING(NAME##_atomic_fetch, TYPE, source, AMO(FETCH, TYPE, 0, 0), const TYPE *source)                     \
    DEFINE_FETCHING(NAME##_atomic_swap, TYPE, dest, AMO(SWAP, TYPE, BITS(value), 0), TYPE *dest, TYPE value)           \
    DEFINE_POSTING(NAME##_atomic_set, AMO(SET, TYPE, BITS(value), 0), TYPE *dest, TYPE value)

#define DEFINE_AMO(NAME, TYPE, ...)                                                                                    \
    DEFINE_FETCHING(NAME##_atomic_compare_swap, TYPE, dest, AMO(COMPARE_SWAP, TYPE, BITS(value), BITS(cond)),          \
                    TYPE *dest, TYPE cond, TYPE value)                                                                 \
    DEFINE_FETCHING(NAME##_atomic_fetch_inc, TYPE, dest, AMO(ADD, TYPE, 1, 0), TYPE *dest)                             \
    DEFINE_FETCHING(NAME##_atomic_fetch_add, TYPE, dest, AMO(ADD, TYPE, BITS(value), 0), TYPE *dest, TYPE value)       \
    DEFINE_POSTING(NAME##_atomic_inc, AMO(ADD, TYPE, 1, 0), TYPE *dest)                                                \
    DEFINE_POSTING(NAME##_atomic_add, AMO(ADD, TYPE, BITS(value), 0), TYPE *dest, TYPE value)                          \
    SHMEMI_DEFINE_ENQUEUED(NAME##_wait_until, (TYPE *ivar, int cmp, TYPE cmp_value,),                                  \
                           wait_for(&call, NULL, false, CONDITION(TYPE, ivar, 1, NULL)))                             \
    SHMEMI_DEFINE_ENQUEUED(NAME##_wait_until_all, (TYPE *ivars, size_t nelems, const int *status, int cmp,             \
                                                   TYPE cmp_value,),                                                   \
                           wait_for(&call, NULL, false, CONDITION(TYPE, ivars, nelems, status)))                     \
    SHMEMI_DEFINE_ENQUEUED(NAME##_wait_until_any, (size_t *index, TYPE *ivars, size_t nelems, const int *status,       \
                                                   int cmp, TYPE cmp_value,),                                          \
                           wait_for(&call, index, true, CONDITION(TYPE, ivars, nelems, status)))

#define DEFINE_BITWISE(NAME, TYPE, verb, OP)                                                                           \
    DEFINE_FETCHING(NAME##_atomic_fetch_##verb, TYPE, dest, AMO(OP, TYPE, BITS(value), 0), TYPE *dest, TYPE value)     \
    DEFINE_POSTING(NAME##_atomic_##verb, AMO(OP, TYPE, BITS(value), 0), TYPE *dest, TYPE value)
#define DEFINE_BAMO(NAME, TYPE, ...)                                                                                   \
    DEFINE_BITWISE(NAME, TYPE, and, AND)                                                                               \
    DEFINE_BITWISE(NAME, TYPE, or, OR)                                                                                 \
    DEFINE_BITWISE(NAME, TYPE, xor, XOR)

SHMEMI_FOR_XAMO_TYPES(DEFINE_XAMO, )
SHMEMI_FOR_AMO_TYPES(DEFINE_AMO, )
SHMEMI_FOR_BAMO_TYPES(DEFINE_BAMO, )
SHMEMI_DEFINE_ENQUEUED(signal_fetch, (uint64_t *fetch, const uint64_t *sig_addr,),
                       atomic(&call, fetch, true, sig_addr, AMO(FETCH, uint64_t, 0, 0), shmemi_job.pe))
/* clang-format on */
