/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Atomic operations, and their old values, which may belong into memory that the CPU cannot write.
 */
#include "transport/op/operation.h"

#include "transport/drivers/issue.h"

static int fetch_to_device(struct shmemi_context *context, const struct shmemi_word_update *update,
                           const struct shmemi_place *old)
{
    uint64_t value;
    const struct shmemi_place source = shmemi_place_host(&value);
    const struct shmemi_shape shape = shmemi_shape_linear(update->amo.size);
    int rc = shmemi_issue_amo(context, update, &value, true);
    return rc ? rc : shmemi_memory_copy(old, &source, &shape);
}

int shmemi_op_amo(struct shmemi_context *context, const struct shmemi_word_update *update,
                  const struct shmemi_place *old, bool is_blocking)
{
    if (old && old->memory != &shmemi_memory_host)
        return fetch_to_device(context, update, old);
    return shmemi_issue_amo(context, update, old ? (void *)old->address : NULL, is_blocking || !old);
}
