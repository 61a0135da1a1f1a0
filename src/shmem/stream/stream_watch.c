/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which words a stream or queue waits for. They are read when there is something to report, through the number of their
 * object, which may have been unmapped meanwhile.
 */
#include "shmem/stream/stream_ops.h"

#include "shmem/wait/word.h"
#include "shmem/wait/word_text.h"
#include "transport/stream/watched.h"

enum { LOOKED_AT = 512 }; /* words, from the first on: one of those that are not as they should be is reported */

struct watched_words {
    struct shmemi_watched watched;
    uint32_t region;
    size_t offset, n;
    unsigned size;
    enum shmemi_word_step step;
    uint64_t value;
    bool any, is_signed;
    uint32_t left_out[LOOKED_AT / 32];
};

static_assert(sizeof(struct watched_words) <= SHMEMI_WATCHED_BYTES, "it must fit into an entry");

static size_t number_looked_at(size_t n)
{
    return n < LOOKED_AT ? n : LOOKED_AT;
}

static bool is_member(const struct watched_words *words, size_t i)
{
    return !(words->left_out[i / 32] >> i % 32 & 1);
}

static bool is_met(const struct watched_words *words, const void *address)
{
    if (words->size == sizeof(uint32_t))
        return shmemi_half_step_is_met(words->step, (uint32_t)shmemi_word_load(address, words->size, false),
                                       (uint32_t)words->value);
    return shmemi_step_is_met(words->step, shmemi_word_load(address, words->size, false), words->value);
}

/* The first member that does not meet the comparison, or the first one. */
static size_t find_word(const struct watched_words *words, const char *found)
{
    size_t first = SIZE_MAX;
    for (size_t i = 0; i < number_looked_at(words->n); i++) {
        if (!is_member(words, i))
            continue;
        if (!is_met(words, found + i * words->size))
            return i;
        first = first == SIZE_MAX ? i : first;
    }
    return first == SIZE_MAX ? 0 : first;
}

/* Host memory as it is; GPU memory is copied to `copy`. NULL if that fails. */
static const char *words_at(const struct shmemi_place *place, size_t nbytes, void *copy)
{
    const struct shmemi_place here = shmemi_place_host(copy);
    const struct shmemi_shape shape = shmemi_shape_linear(nbytes);
    if (place->memory == &shmemi_memory_host)
        return (const char *)place->address;
    return shmemi_memory_copy(&here, place, &shape) ? NULL : copy;
}

/* In the borrowed object. */
static bool describe_in(const struct shmemi_region *region, const struct watched_words *words, char *text, size_t size)
{
    uint64_t copy[LOOKED_AT];
    struct shmemi_place place = region->place;
    place.address += words->offset;
    const size_t nbytes = number_looked_at(words->n) * words->size;
    const char *found = shmemi_region_holds(region, words->offset, nbytes) ? words_at(&place, nbytes, copy) : NULL;
    if (!found)
        return false;
    const size_t i = find_word(words, found);
    if (words->n > 1)
        shmemi_append(text, size, "for %s of %zu words: ", words->any ? "one" : "all", words->n);
    shmemi_append_condition(
        text, size,
        &(struct shmemi_condition){.region = region,
                                   .address = region->base + words->offset + i * words->size,
                                   .cmp = SHMEM_CMP_EQ + (int)(words->step - SHMEMI_STEP_UNTIL_EQ),
                                   .value = shmemi_word_load(&words->value, words->size, words->is_signed),
                                   .found = shmemi_word_load(found + i * words->size, words->size, words->is_signed),
                                   .is_signed = words->is_signed});
    return true;
}

/* A stream that has not come to the wait is kept by something else. */
static bool describe_word_wait(const struct shmemi_watched *watched, bool has_arrived, char *text, size_t size)
{
    const struct watched_words *words = (const struct watched_words *)watched;
    const struct shmemi_region *region = has_arrived ? shmemi_region_borrow(words->region) : NULL;
    if (!region)
        return false;
    const bool is_described = describe_in(region, words, text, size);
    shmemi_region_give_back();
    return is_described;
}

void shmemi_words_watch(struct shmemi_stream *stream, const char *routine, const struct shmemi_view *view,
                        size_t offset, const struct shmemi_stream_wait *words, bool is_signed)
{
    struct watched_words what = {.watched = {routine, describe_word_wait},
                                 .offset = offset,
                                 .n = words->n,
                                 .size = words->size,
                                 .step = words->step,
                                 .value = words->value,
                                 .any = words->any,
                                 .is_signed = is_signed};
    if (!words->n || !shmemi_watches_streams)
        return;
    what.region = view->region;
    for (size_t i = 0; i < number_looked_at(words->n) && words->status; i++)
        what.left_out[i / 32] |= (uint32_t) !!words->status[i] << i % 32;
    shmemi_watched_begin(stream, &what.watched, sizeof what);
}
