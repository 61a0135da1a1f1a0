/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Atomic operations of the driver "ucx", by UCX's own. UCX may read the operands of an operation until it is complete;
 * where no thread waits for that, they lie in records that are reused.
 */
#include "base/copy_bytes.h"
#include "base/log.h"
#include "transport/ucx/ucx_internal.h"

#include <errno.h>
#include <stdlib.h>

/* UCX's operation for each of ours. All but the first four kinds always return the old value. */
static const struct {
    ucp_atomic_op_t op;
    bool always_fetches;
} atomics[] = {
    [SHMEMI_AMO_ADD] = {UCP_ATOMIC_OP_ADD, false},
    [SHMEMI_AMO_AND] = {UCP_ATOMIC_OP_AND, false},
    [SHMEMI_AMO_OR] = {UCP_ATOMIC_OP_OR, false},
    [SHMEMI_AMO_XOR] = {UCP_ATOMIC_OP_XOR, false},
    [SHMEMI_AMO_FETCH] = {UCP_ATOMIC_OP_ADD, true}, /* adds 0 */
    [SHMEMI_AMO_SET] = {UCP_ATOMIC_OP_SWAP, true},
    [SHMEMI_AMO_SWAP] = {UCP_ATOMIC_OP_SWAP, true},
    [SHMEMI_AMO_COMPARE_SWAP] = {UCP_ATOMIC_OP_CSWAP, true},
};

/* An atomic operation's operands, which must stay where they are until it is complete. */
struct word_operation {
    struct shmemi_unused unused;
    uint64_t operand; /* COMPARE_SWAP: the value to compare with */
    uint64_t result;  /* COMPARE_SWAP: on entry the value to store */
    struct shmemi_ucx_batch *batch;
    void *fetch_p; /* where the result goes; may be NULL */
    unsigned size;
};

static struct shmemi_unused *free_words; /* under the initiator lock */

static void load_operands(struct word_operation *word, const struct shmemi_amo *amo)
{
    bool compares = amo->op == SHMEMI_AMO_COMPARE_SWAP;
    word->operand = compares ? amo->compare : amo->op == SHMEMI_AMO_FETCH ? 0 : amo->operand;
    word->result = compares ? amo->operand : 0;
}

static ucs_status_ptr_t start_atomic(const struct shmemi_ucx_target *target, const struct shmemi_word_update *update,
                                     struct word_operation *word, bool fetches, ucp_request_param_t *param)
{
    const struct shmemi_amo *amo = &update->amo;
    load_operands(word, amo);
    param->op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
    param->datatype = ucp_dt_make_contig(amo->size);
    if (fetches) {
        param->op_attr_mask |= UCP_OP_ATTR_FIELD_REPLY_BUFFER;
        param->reply_buffer = &word->result;
    }
    return ucp_atomic_op_nbx(target->endpoint, atomics[amo->op].op, &word->operand, 1, target->address + update->offset,
                             target->key, param);
}

static int fetch_atomic(const struct shmemi_ucx_target *target, const struct shmemi_word_update *update, void *fetch_p)
{
    struct word_operation word;
    struct shmemi_ucx_batch batch = {0};
    ucp_request_param_t param;
    shmemi_ucx_batch_param(&batch, &param);
    int rc = shmemi_ucx_lock(target);
    if (rc)
        return rc;
    rc = shmemi_ucx_batch_add(&batch, start_atomic(target, update, &word, true, &param), "atomic operation");
    pthread_mutex_unlock(&shmemi_ucx.initiator_lock);
    rc = shmemi_ucx_finish(rc, &batch);
    if (!rc)
        shmemi_copy_bytes(fetch_p, &word.result, update->amo.size);
    return rc;
}

/* With the initiator lock held. */
static void finish_word(struct word_operation *word)
{
    if (word->fetch_p)
        shmemi_copy_bytes(word->fetch_p, &word->result, word->size);
    shmemi_unused_give(&free_words, word);
}

static void on_posted(void *request, ucs_status_t status, void *user_data)
{
    struct word_operation *word = user_data;
    struct shmemi_ucx_batch *batch = word->batch;
    ucp_request_free(request);
    finish_word(word);
    shmemi_ucx_batch_done(batch, status);
}

/* Where UCX uses shared memory (UCX_TLS), a flush may not wait for posted operations, but their answers tell. */
static bool flush_may_miss(void)
{
    return atomic_load_explicit(&shmemi_ucx.stores_lag, memory_order_relaxed);
}

/* Start an operation that quiet waits for. */
static int post_atomic(struct shmemi_context *context, const struct shmemi_ucx_target *target,
                       const struct shmemi_word_update *update, void *fetch_p)
{
    ucp_request_param_t param;
    shmemi_ucx_batch_param(&context->network, &param);
    shmemi_ucx_batch_limit(&context->network);
    int rc = shmemi_ucx_lock(target);
    if (rc)
        return rc;
    struct word_operation *word = shmemi_unused_take(&free_words, sizeof *word, "an atomic operation");
    word->batch = &context->network;
    word->fetch_p = fetch_p;
    word->size = update->amo.size;
    param.cb.send = on_posted;
    param.user_data = word;
    bool fetches = fetch_p || atomics[update->amo.op].always_fetches || flush_may_miss();
    ucs_status_ptr_t request = start_atomic(target, update, word, fetches, &param);
    if (!request)
        finish_word(word);
    else if (UCS_PTR_IS_ERR(request))
        shmemi_unused_give(&free_words, word);
    rc = shmemi_ucx_batch_add(&context->network, request, "atomic operation");
    pthread_mutex_unlock(&shmemi_ucx.initiator_lock);
    shmemi_ucx_note_pending(context);
    return rc;
}

static int check_word(const struct shmemi_ucx_target *target, const struct shmemi_word_update *update)
{
    const unsigned size = update->amo.size;
    if ((size == 4 || size == 8) && !((target->address + update->offset) % size))
        return 0;
    shmemi_error("an atomic operation on %u bytes at offset %zu of region %u on PE %d: a word has 4 or 8 bytes and "
                 "is aligned to its size",
                 size, update->offset, update->view->region, update->view->pe);
    return -EINVAL;
}

int shmemi_ucx_amo(struct shmemi_context *context, const struct shmemi_word_update *update, void *fetch_p,
                   bool is_blocking)
{
    const struct shmemi_ucx_target *target;
    int rc = shmemi_ucx_target_of(update->view, &target);
    if (!rc)
        rc = check_word(target, update);
    if (rc)
        return rc;
    return fetch_p && is_blocking ? fetch_atomic(target, update, fetch_p)
                                  : post_atomic(context, target, update, fetch_p);
}

void shmemi_ucx_words_close(void)
{
    shmemi_unused_free(&free_words);
}
