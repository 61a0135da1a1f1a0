/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Atomic operations on GPU memory, and which GPU carries them out.
 */
#include "gpu/device/kernels/kernel_lists.h"

#include <string.h>

/* ---- A single operation ------------------------------------------------------------------------------------------ */

/* The stream stores a word, and then the list's ticket: that needs no room on the GPU, which kernels that wait may fill.
 * -ENOTSUP: it cannot. */
static int store_by_stream(struct shmemi_list *list, uintptr_t address, const struct shmemi_amo *amo)
{
    struct shmemi_gpu_context *context = list->object;
    void *stream;
    bool pushed;
    if (!atomic_load_explicit(&context->streams.is_prepared, memory_order_acquire) ||
        !context->streams.has_word_operations)
        return -ENOTSUP;
    int rc = shmemi_gpu_enter_stream(context, &stream, &pushed);
    if (rc)
        return rc;
    const struct shmemi_kernel_end end = shmemi_kernel_list_lend(list);
    const struct shmemi_gpu_word words[] = {
        {address, amo->operand, amo->size, SHMEMI_STEP_SET},
        {end.done, end.ticket, sizeof end.ticket, SHMEMI_STEP_SET},
    };
    rc = shmemi_gpu.stream_words(stream, words, 2) ? -ENOTSUP : 0;
    shmemi_gpu_leave(pushed);
    return rc;
}

static int start_amo(struct shmemi_list *list, uintptr_t address, const struct shmemi_amo *amo, uint64_t *old_p)
{
    int rc = amo->op == SHMEMI_AMO_SET ? store_by_stream(list, address, amo) : -ENOTSUP;
    if (rc != -ENOTSUP)
        return rc;
    shmemi_list_amo(list, address, amo, old_p);
    return shmemi_kernel_list_table.start(list);
}

int shmemi_gpu_amo(const struct shmemi_place *word, const struct shmemi_amo *amo, uint64_t *old_p)
{
    struct shmemi_list *list;
    int rc = shmemi_gpu_amo_list_take(word, &list);
    if (rc)
        return rc;
    *old_p = 0;
    rc = start_amo(list, word->address, amo, old_p);
    if (!rc)
        rc = shmemi_kernel_list_wait(list);
    if (!rc)
        shmemi_list_deliver(list);
    shmemi_gpu_amo_list_give(list);
    return rc;
}

/* ---- Units ------------------------------------------------------------------------------------------------------- */

static void find_unit(const struct shmemi_place *own, struct shmemi_atomic_unit *unit_p)
{
    const struct shmemi_gpu_context *context = own->object;
    *unit_p = (struct shmemi_atomic_unit){0};
    if (!GPU_CALL(device_uuid, unit_p->device, context->handle))
        unit_p->exists = shmemi_kernel_lists_of(own->object) != NULL;
}

static bool is_device(int device, const struct shmemi_atomic_unit *unit)
{
    uint8_t uuid[sizeof unit->device];
    return !shmemi_gpu.device_uuid(uuid, device) && !memcmp(uuid, unit->device, sizeof uuid);
}

/* True if kernels run on the unit's own device, or on one whose atomic operations are carried out there. Nothing is
 * known about a device that this process does not see. */
static bool reaches_unit(const struct shmemi_place *imported, const struct shmemi_atomic_unit *unit)
{
    const struct shmemi_gpu_context *context = imported->object;
    int count = 0;
    if (!context || !shmemi_kernel_lists_of(imported->object))
        return false;
    if (is_device(context->handle, unit))
        return true;
    shmemi_gpu.device_count(&count);
    for (int i = 0; i < count; i++) {
        int device;
        if (!shmemi_gpu.device_get(&device, i) && is_device(device, unit) &&
            shmemi_gpu.has_native_atomics(context->handle, device))
            return true;
    }
    return false;
}

const struct shmemi_atomic_units shmemi_gpu_atomic_units = {
    .find = find_unit,
    .reaches = reaches_unit,
};
