/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Carries out one entry of a ring. Entries are checked before they have any effect: a kernel may have passed a wrong
 * address, PE or length.
 */
#include "device/ring.h"

#include "base/log.h"
#include "bootstrap/job.h"
#include "op/operation.h"
#include "shmmap/symmetric.h"

#include <errno.h>

_Static_assert((int)SHMEMI_DEVICE_AMO_FETCH == (int)SHMEMI_AMO_FETCH &&
                   (int)SHMEMI_DEVICE_AMO_COMPARE_SWAP == (int)SHMEMI_AMO_COMPARE_SWAP,
               "atomic operations have the same numbers on both sides");

static int refuse(const struct shmemi_device_entry *entry, const char *what)
{
    shmemi_error("a kernel asked for %llu bytes at offset %llu of object %u of PE %d: %s", entry->nbytes, entry->offset,
                 entry->region, entry->pe, what);
    return -EINVAL;
}

/* The view of an object on the entry's PE, if it has these bytes. The object stays until the caller gives it back. */
static const struct shmemi_view *view_of(const struct shmemi_device_entry *entry, uint32_t number, uint64_t offset,
                                         size_t nbytes)
{
    const struct shmemi_region *region = shmemi_region_borrow(number);
    if (region && shmemi_region_holds(region, offset, nbytes))
        return shmemi_region_view(region, entry->pe);
    if (region)
        shmemi_region_give_back();
    refuse(entry, region ? "it is not so large" : "there is no such object");
    return NULL;
}

/* Where the bytes of an entry are on this side. The stream of the kernel is not waited for. */
static struct shmemi_place local_place(struct shmemi_device_entry *entry, char *slot)
{
    struct shmemi_place place;
    if (entry->what & SHMEMI_DEVICE_INLINE)
        return shmemi_place_host(&entry->value);
    if (!entry->local)
        return shmemi_place_host(slot);
    const void *address = (const void *)(uintptr_t)entry->local; /* NOLINT */
    if (shmemi_is_host(address, entry->nbytes))
        return shmemi_place_host(address);
    shmemi_memory_find(address, &place);
    return place;
}

static struct shmemi_amo update_of(const struct shmemi_device_entry *entry)
{
    return (struct shmemi_amo){
        .op = entry->what & SHMEMI_DEVICE_ADD ? SHMEMI_AMO_ADD : SHMEMI_AMO_SET,
        .size = sizeof entry->value,
        .operand = entry->value,
    };
}

static int put(const struct shmemi_device_entry *entry, const struct shmemi_transfer *data)
{
    if (!(entry->what & (SHMEMI_DEVICE_SIGNAL | SHMEMI_DEVICE_ADD)))
        return entry->nbytes ? shmemi_op_transfer(data) : 0;
    const struct shmemi_word_update update = {
        .view = view_of(entry, entry->signal_region, entry->extra, sizeof entry->value),
        .offset = entry->extra,
        .amo = update_of(entry),
    };
    if (!update.view)
        return -EINVAL;
    int rc = shmemi_op_put_signal(data, &update);
    shmemi_region_give_back();
    return rc;
}

static int update_word(struct shmemi_context *context, const struct shmemi_device_entry *entry,
                       const struct shmemi_view *view, char *slot)
{
    const struct shmemi_word_update update = {
        .view = view,
        .offset = entry->offset,
        .amo = {.op = (enum shmemi_amo_op)(entry->what >> SHMEMI_DEVICE_AMO_SHIFT),
                .size = (unsigned)entry->nbytes,
                .operand = entry->value,
                .compare = entry->extra},
    };
    const struct shmemi_amo *amo = &update.amo;
    const struct shmemi_place old = shmemi_place_host(slot);
    if (amo->op > SHMEMI_AMO_COMPARE_SWAP || (amo->size != 4 && amo->size != 8) || entry->offset % amo->size)
        return refuse(entry, "it is no word for an atomic operation");
    return shmemi_op_amo(context, &update, entry->what & SHMEMI_DEVICE_REPLY ? &old : NULL, false);
}

static int start(struct shmemi_context *context, struct shmemi_device_entry *entry, const struct shmemi_view *view,
                 char *slot)
{
    const unsigned kind = entry->what & SHMEMI_DEVICE_KINDS;
    const struct shmemi_transfer transfer = {
        .context = context,
        .view = view,
        .offset = entry->offset,
        .mine = local_place(entry, slot),
        .shape = shmemi_shape_linear(entry->nbytes),
        .is_put = kind == SHMEMI_DEVICE_PUT,
    };
    switch (kind) {
    case SHMEMI_DEVICE_PUT:
        return put(entry, &transfer);
    case SHMEMI_DEVICE_GET:
        return entry->nbytes ? shmemi_op_transfer(&transfer) : 0;
    case SHMEMI_DEVICE_AMO:
        return update_word(context, entry, view, slot);
    default:
        return refuse(entry, "there is no such operation");
    }
}

int shmemi_device_execute(struct shmemi_device_agent *agent, struct shmemi_device_entry *entry, char *slot)
{
    if ((unsigned)entry->pe >= (unsigned)shmemi_job.n_pes)
        return refuse(entry, "there is no such PE");
    if (!entry->local && entry->nbytes > SHMEMI_DEVICE_SLOT_BYTES)
        return refuse(entry, "more than a slot holds");
    if (entry->what & SHMEMI_DEVICE_INLINE && entry->nbytes > sizeof entry->value)
        return refuse(entry, "more than a word");
    if (entry->what & SHMEMI_DEVICE_LIST) /* lists were taken apart */
        return refuse(entry, "more words than a list has, or larger ones");
    const struct shmemi_view *view = view_of(entry, entry->region, entry->offset, entry->nbytes);
    if (!view)
        return -EINVAL;
    int rc = start(&agent->context, entry, view, slot);
    shmemi_region_give_back();
    return rc;
}
