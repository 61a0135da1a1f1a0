/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lists of small operations that a device carries out all at once: what is in them, and how they are filled. The kind
 * of memory makes a list, with its arrays in memory that the device reads and writes (memory.h, lists). Host memory
 * takes part through the list's own bytes: sources are copied there when an operation is added, and what is fetched is
 * copied out when the list is complete. Nothing here is locked: a list belongs to the thread that has taken it.
 */
#ifndef SHMEMI_LIST_H
#define SHMEMI_LIST_H

#include "base/copy_bytes.h"
#include "base/tuning.h"
#include "gpu/list_entry.h"
#include "gpu/memory.h"

#include <string.h>

/* Bytes of the list that are copied to the program's memory once the list is complete. */
struct shmemi_delivery {
    void *dest;
    uint32_t from, nbytes;
};

struct shmemi_list {
    /* Set by the kind. */
    const struct shmemi_memory *memory;
    void *object; /* the kind's record of the device */
    struct shmemi_list_entry *entries;
    struct shmemi_delivery *deliveries; /* as many as entries */
    char *bytes;
    uint32_t capacity, bytes_capacity;

    uint32_t n;      /* entries, which run in no order */
    uint32_t n_last; /* entries that run after those; stored from the end of the array backwards */
    uint32_t n_bytes, n_deliveries;
    uint64_t copied; /* bytes of all copies */

    /* Set by the user of the list (transport/collect/gpu_list.c). */
    struct shmemi_list *next; /* the list of the same context that was started next; NULL: none */
    uint32_t look_at; /* below this length, at most capacity, entries are added without checking whether to start */
};

enum { SHMEMI_LIST_ALIGNMENT = 16 };

static inline uint32_t shmemi_list_length(const struct shmemi_list *list)
{
    return list->n + list->n_last;
}

/* Room for one more entry with so many bytes? */
static inline bool shmemi_list_has_room(const struct shmemi_list *list, size_t nbytes)
{
    return shmemi_list_length(list) < list->capacity &&
           nbytes + SHMEMI_LIST_ALIGNMENT <= list->bytes_capacity - list->n_bytes;
}

/* The device has read the entries of the list's last use, so that this core has to get their cache lines back before it
 * can write there. It asks for them some entries ahead: the program's next operations then do not wait for them. */
static inline __attribute__((always_inline)) struct shmemi_list_entry *shmemi_list_add(struct shmemi_list *list)
{
    struct shmemi_list_entry *entry = &list->entries[list->n++];
    __builtin_prefetch(entry + SHMEMI_GPU_LIST_AHEAD, 1);
    return entry;
}

/* Functions that add entries require room for them. The bytes get the same alignment modulo 16 as the other side, so
 * that they are copied in long words. */
static inline uint32_t shmemi_list_reserve(struct shmemi_list *list, uintptr_t other_side, size_t nbytes)
{
    uint32_t at = list->n_bytes + (uint32_t)((other_side - list->n_bytes) % SHMEMI_LIST_ALIGNMENT);
    list->n_bytes = at + (uint32_t)nbytes;
    return at;
}

static inline void shmemi_list_deliver_to(struct shmemi_list *list, void *dest, uint32_t from, size_t nbytes)
{
    list->deliveries[list->n_deliveries++] = (struct shmemi_delivery){dest, from, (uint32_t)nbytes};
}

/* Add a copy between addresses of the device. */
static inline __attribute__((always_inline)) void shmemi_list_copy(struct shmemi_list *list, uintptr_t dest,
                                                                   uintptr_t source, size_t nbytes)
{
    struct shmemi_list_entry *entry = shmemi_list_add(list);
    entry->dest = dest;
    entry->source = source;
    entry->nbytes = (uint16_t)nbytes;
    entry->op = SHMEMI_ENTRY_COPY;
    list->copied += nbytes;
}

/* Add a store of up to 8 bytes, which the entry itself holds. */
static inline void shmemi_list_store(struct shmemi_list *list, uintptr_t dest, const void *source, size_t nbytes)
{
    struct shmemi_list_entry *entry = shmemi_list_add(list);
    entry->dest = dest;
    entry->nbytes = (uint16_t)nbytes;
    entry->op = SHMEMI_ENTRY_STORE;
    if (nbytes == sizeof entry->source)
        memcpy(&entry->source, source, sizeof entry->source);
    else
        memcpy(&entry->source, source, nbytes);
}

/* Add a copy from host memory to the device. */
static inline void shmemi_list_put(struct shmemi_list *list, uintptr_t dest, const void *source, size_t nbytes)
{
    if (nbytes <= sizeof list->entries->source) {
        shmemi_list_store(list, dest, source, nbytes);
        return;
    }
    char *here = list->bytes + shmemi_list_reserve(list, dest, nbytes);
    memcpy(here, source, nbytes);
    shmemi_list_copy(list, dest, (uintptr_t)here, nbytes);
}

/* Add a copy from the device to host memory. */
static inline void shmemi_list_get(struct shmemi_list *list, void *dest, uintptr_t source, size_t nbytes)
{
    uint32_t at = shmemi_list_reserve(list, source, nbytes);
    shmemi_list_copy(list, (uintptr_t)(list->bytes + at), source, nbytes);
    shmemi_list_deliver_to(list, dest, at, nbytes);
}

static inline struct shmemi_list_entry shmemi_list_amo_entry(uintptr_t word, const struct shmemi_amo *amo)
{
    return (struct shmemi_list_entry){
        .dest = word,
        .source = amo->operand,
        .compare = amo->compare,
        .result = SHMEMI_ENTRY_NO_RESULT,
        .nbytes = (uint16_t)amo->size,
        .op = (uint16_t)amo->op,
    };
}

/* fetch_p is NULL when no old value is wanted. */
static inline void shmemi_list_amo(struct shmemi_list *list, uintptr_t word, const struct shmemi_amo *amo,
                                   void *fetch_p)
{
    struct shmemi_list_entry *entry = shmemi_list_add(list);
    *entry = shmemi_list_amo_entry(word, amo);
    if (!fetch_p)
        return;
    entry->result = shmemi_list_reserve(list, 0, sizeof(uint64_t));
    shmemi_list_deliver_to(list, fetch_p, entry->result, amo->size);
}

/* Add an operation that runs after everything else in the list, except for others added by this function. */
static inline void shmemi_list_amo_last(struct shmemi_list *list, uintptr_t word, const struct shmemi_amo *amo)
{
    list->entries[list->capacity - 1 - list->n_last++] = shmemi_list_amo_entry(word, amo);
}

static inline void shmemi_list_empty(struct shmemi_list *list)
{
    list->n = list->n_last = list->n_bytes = list->n_deliveries = 0;
    list->copied = 0;
}

/* The list is complete: copy the fetched bytes to their destinations. */
static inline void shmemi_list_deliver(const struct shmemi_list *list)
{
    for (uint32_t i = 0; i < list->n_deliveries; i++)
        shmemi_copy_bytes(list->deliveries[i].dest, list->bytes + list->deliveries[i].from, list->deliveries[i].nbytes);
}

#endif
