/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Text about words, for the watchdog and traces.
 */
#include "shmem/wait/word_text.h"

static void append_value(char *text, size_t size, uint64_t value, bool is_signed)
{
    if (is_signed)
        shmemi_append(text, size, "%lld", (long long)value);
    else
        shmemi_append(text, size, "%llu", (unsigned long long)value);
}

void shmemi_append_condition(char *text, size_t size, const struct shmemi_condition *condition)
{
    static const char *const symbols[] = {
        [SHMEM_CMP_EQ] = "==", [SHMEM_CMP_NE] = "!=", [SHMEM_CMP_GT] = ">",
        [SHMEM_CMP_LT] = "<",  [SHMEM_CMP_GE] = ">=", [SHMEM_CMP_LE] = "<=",
    };
    const struct shmemi_region *region = condition->region;
    shmemi_append(text, size, "the word at %p", condition->address);
    if (region) {
        shmemi_append(text, size, " (");
        shmemi_append_address(text, size, region->id, (size_t)((const char *)condition->address - region->base));
        shmemi_append(text, size, ")");
    }
    shmemi_append(text, size, " to be %s ", symbols[condition->cmp]);
    append_value(text, size, condition->value, condition->is_signed);
    shmemi_append(text, size, "; it is ");
    append_value(text, size, condition->found, condition->is_signed);
}
