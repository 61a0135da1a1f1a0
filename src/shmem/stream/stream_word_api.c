/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Atomic operations on streams and queues, and waits for words.
 */
#include "shmem/stream/stream_ops.h"
#include "transport/stream/watched.h"

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
#define CONDITION(TYPE, ivars, nelems, status)                                                                         \
    ((struct condition){ivars, nelems, status, sizeof(TYPE), (TYPE)-1 < (TYPE)1, cmp, SHMEMI_BITS(cmp_value)})

/* __VA_ARGS__: the parameters between the address of the old value, if any, and the PE. */
#define DEFINE_POSTING(NAME, amo, ...)                                                                                 \
    SHMEMI_DEFINE_ENQUEUED(NAME, (__VA_ARGS__, int pe,), atomic(&call, NULL, false, dest, amo, pe))
#define DEFINE_FETCHING(NAME, TYPE, WORD, amo, ...)                                                                    \
    SHMEMI_DEFINE_ENQUEUED(NAME, (TYPE *fetch, __VA_ARGS__, int pe,), atomic(&call, fetch, true, WORD, amo, pe))

#define DEFINE_WAITS(NAME, TYPE, ...)                                                                                  \
    SHMEMI_DEFINE_ENQUEUED(NAME##_wait_until, (TYPE *ivar, int cmp, TYPE cmp_value,),                                  \
                           wait_for(&call, NULL, false, CONDITION(TYPE, ivar, 1, NULL)))                             \
    SHMEMI_DEFINE_ENQUEUED(NAME##_wait_until_all, (TYPE *ivars, size_t nelems, const int *status, int cmp,             \
                                                   TYPE cmp_value,),                                                   \
                           wait_for(&call, NULL, false, CONDITION(TYPE, ivars, nelems, status)))                     \
    SHMEMI_DEFINE_ENQUEUED(NAME##_wait_until_any, (size_t *index, TYPE *ivars, size_t nelems, const int *status,       \
                                                   int cmp, TYPE cmp_value,),                                          \
                           wait_for(&call, index, true, CONDITION(TYPE, ivars, nelems, status)))

SHMEMI_FOR_ATOMICS()
SHMEMI_FOR_AMO_TYPES(DEFINE_WAITS, )
SHMEMI_DEFINE_ENQUEUED(signal_fetch, (uint64_t *fetch, const uint64_t *sig_addr,),
                       atomic(&call, fetch, true, sig_addr, SHMEMI_AMO(FETCH, uint64_t, 0, 0), shmemi_job.pe))
/* clang-format on */
