/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The accesses of transfers, atomic operations and waits: which component makes them, and what is learned.
 */
#include "race/calls/wrapped_call.h"

static struct race_access access_of(const struct race_call *call, uint16_t component, uint8_t flags)
{
    call->thread->used = call->thread->now;
    return (struct race_access){.known = call->thread->time,
                                .component = component,
                                .when = call->thread->now,
                                .flags = flags,
                                .routine = call->routine,
                                .pc = call->pc};
}

/* An access to a PE's copy of symmetric memory; lane: what it is issued on, for those that fences order. */
static void touch_remote(const struct race_call *call, struct race_access access, const struct race_lane *lane,
                         const void *address, size_t size, int pe)
{
    struct race_place place;
    if (!size || !race_locate(&place, (uintptr_t)address, pe))
        return;
    access.lane = lane;
    access.pe = (uint16_t)pe;
    if (access.flags & RACE_WRITE)
        race_keep(call->thread);
    race_check(place.word, place.first, size, &access);
}

static void touch_local(const struct race_call *call, uint16_t component, uint8_t flags, const void *address,
                        size_t size)
{
    struct race_access access = access_of(call, component, flags);
    race_touch_as((uintptr_t)address, size, &access);
}

void race_own(struct race_call *call, const void *address, size_t size, uint8_t flags)
{
    if (call->thread)
        touch_local(call, call->thread->component, flags, address, size);
}

/* The component of the local side of a transfer: an nbi one may use its buffer later. That of a put has been read when
 * the data have arrived, also if the thread hears of that otherwise than by quiet. */
static uint16_t local_side(const struct race_call *call, uint16_t later, bool is_nbi)
{
    return is_nbi ? later : call->thread->component;
}

static void put_remote(const struct race_call *call, const struct race_lane *lane, const void *dest, size_t size,
                       int pe)
{
    touch_remote(call, access_of(call, race_puts_component(lane, pe), RACE_WRITE), lane, dest, size, pe);
}

void race_put(struct race_call *call, void *dest, const void *source, size_t size, int pe, bool is_nbi)
{
    const int to = call->thread ? race_world_pe(call, pe) : -1;
    if (to < 0)
        return;
    const struct race_lane *lane = race_lane_of(call->thread, call->context);
    if (source)
        touch_local(call, local_side(call, race_puts_component(lane, to), is_nbi), 0, source, size);
    put_remote(call, lane, dest, size, to);
}

void race_get(struct race_call *call, void *dest, const void *source, size_t size, int pe, bool is_nbi)
{
    const int from = call->thread ? race_world_pe(call, pe) : -1;
    if (from < 0)
        return;
    const uint16_t later = race_local_component(race_lane_of(call->thread, call->context), from);
    const uint16_t component = local_side(call, later, is_nbi);
    touch_remote(call, access_of(call, component, 0), NULL, source, size, from);
    if (dest)
        touch_local(call, component, RACE_WRITE, dest, size);
}

void race_put_signal(struct race_call *call, void *dest, const void *source, size_t size, uint64_t *signal, int pe,
                     bool is_nbi)
{
    struct race_place place;
    const int to = call->thread ? race_world_pe(call, pe) : -1;
    if (to < 0 || !race_locate(&place, (uintptr_t)signal, to))
        return;
    const struct race_lane *lane = race_lane_of(call->thread, call->context);
    const uint16_t component = race_signalled_component(lane, to, race_word_number(place.word));
    touch_local(call, local_side(call, component, is_nbi), 0, source, size);
    touch_remote(call, access_of(call, component, RACE_WRITE), lane, dest, size, to);
    touch_remote(call, access_of(call, component, RACE_WRITE | RACE_ATOMIC | call->domain), lane, signal,
                 sizeof *signal, to);
    race_advance(call->thread);
}

void race_put_blocks(struct race_call *call, void *dest, const void *source, const struct race_blocks *blocks, int pe)
{
    const int to = call->thread ? race_world_pe(call, pe) : -1;
    if (to < 0)
        return;
    const struct race_lane *lane = race_lane_of(call->thread, call->context);
    for (size_t i = 0; i < blocks->n; i++) {
        touch_local(call, call->thread->component, 0, (const char *)source + (ptrdiff_t)i * blocks->source_stride,
                    blocks->size);
        put_remote(call, lane, (char *)dest + (ptrdiff_t)i * blocks->dest_stride, blocks->size, to);
    }
}

void race_get_blocks(struct race_call *call, void *dest, const void *source, const struct race_blocks *blocks, int pe)
{
    const int from = call->thread ? race_world_pe(call, pe) : -1;
    for (size_t i = 0; from >= 0 && i < blocks->n; i++) {
        touch_remote(call, access_of(call, call->thread->component, 0), NULL,
                     (const char *)source + (ptrdiff_t)i * blocks->source_stride, blocks->size, from);
        touch_local(call, call->thread->component, RACE_WRITE, (char *)dest + (ptrdiff_t)i * blocks->dest_stride,
                    blocks->size);
    }
}

/* ---- atomic operations ------------------------------------------------------------------------------------------- */

void race_amo(struct race_call *call, void *dest, size_t size, bool is_floating, int pe)
{
    const int to = call->thread ? race_world_pe(call, pe) : -1;
    if (to < 0)
        return;
    const struct race_lane *lane = race_lane_of(call->thread, call->context);
    const uint8_t flags = (uint8_t)(RACE_WRITE | RACE_ATOMIC | call->domain | (is_floating ? RACE_FLOATING : 0));
    touch_remote(call, access_of(call, race_puts_component(lane, to), flags), lane, dest, size, to);
}

void race_amo_fetch(struct race_call *call, const void *dest, size_t size, uint8_t flags, int pe)
{
    const int to = call->thread ? race_world_pe(call, pe) : -1;
    if (to >= 0)
        touch_remote(call, access_of(call, call->thread->component, flags | RACE_ATOMIC | call->domain),
                     race_lane_of(call->thread, call->context), dest, size, to);
}

void race_amo_fetched(struct race_call *call, const void *dest, size_t size, int pe)
{
    struct race_place place;
    const int to = call->thread ? race_world_pe(call, pe) : -1;
    if (to >= 0 && race_locate(&place, (uintptr_t)dest, to))
        race_see(call->thread, place.word, place.first, size, to);
}

void race_amo_nbi(struct race_call *call, void *fetch, const void *dest, size_t size, uint8_t flags, int pe)
{
    const int to = call->thread ? race_world_pe(call, pe) : -1;
    if (to < 0)
        return;
    const uint16_t component = race_local_component(race_lane_of(call->thread, call->context), to);
    touch_remote(call, access_of(call, component, flags | RACE_ATOMIC | call->domain), NULL, dest, size, to);
    touch_local(call, component, RACE_WRITE, fetch, size);
}

void race_waited(struct race_call *call, const void *word, size_t size)
{
    struct race_place place;
    if (call->thread && race_locate(&place, (uintptr_t)word, race.pe))
        race_see(call->thread, place.word, place.first, size, race.pe);
}
