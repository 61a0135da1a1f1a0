/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the shadow of addresses, for loads and stores and for the routines.
 */
#include "race/private.h"
#include "race/shadow.h"

/* Where this process has other PEs' memory, as shmem_ptr told: whole windows and static data. */
enum { PEERS_MOST = 2 * RACE_PES_MAX };
static struct peer {
    uintptr_t base;
    int pe;
    bool is_static;
} peers[PEERS_MOST];
static atomic_uint n_peers;
static race_lock peers_lock;

bool race_locate(struct race_place *place, uintptr_t address, int pe)
{
    size_t offset = address - race.window_base;
    place->pe = pe;
    place->first = address % RACE_WORD;
    if (offset < race.window_size)
        place->word = race_window_word(pe, offset);
    else if ((offset = address - race.static_base) < race.static_size)
        place->word = race_static_word(pe, offset);
    else
        return false;
    return true;
}

bool race_locate_mapped(struct race_place *place, uintptr_t address)
{
    if (race_locate(place, address, race.pe))
        return true;
    const unsigned n = atomic_load(&n_peers);
    for (unsigned i = 0; i < n; i++) {
        const size_t offset = address - peers[i].base;
        if (offset >= (peers[i].is_static ? race.static_size : race.heap_size))
            continue;
        place->pe = peers[i].pe;
        place->word = peers[i].is_static ? race_static_word(place->pe, offset) : race_window_word(place->pe, offset);
        return true;
    }
    return false;
}

void race_add_peer(uintptr_t mapped, uintptr_t address, int pe)
{
    struct race_place place;
    const bool is_static = address - race.window_base >= race.window_size;
    if (pe == race.pe || race_locate_mapped(&place, mapped))
        return;
    race_lock_take(&peers_lock);
    const unsigned n = atomic_load(&n_peers);
    if (n < PEERS_MOST) {
        const uintptr_t base = mapped - (address - (is_static ? race.static_base : race.window_base));
        peers[n] = (struct peer){base, pe, is_static};
        atomic_store(&n_peers, n + 1);
        race.has_peers = true;
    }
    race_lock_give(&peers_lock);
}

void race_touch_as(uintptr_t address, size_t size, struct race_access *access)
{
    struct race_place place;
    access->pe = (uint16_t)race.pe;
    if (!size)
        return;
    if (race_locate_mapped(&place, address)) {
        access->pe = (uint16_t)place.pe;
        race_check(place.word, place.first, size, access);
        return;
    }
    const uintptr_t stack = (uintptr_t)__builtin_frame_address(0);
    access->is_own_frame = race_here->n_strands && address - stack < race_here->frame - stack;
    const struct race_component *component = &race_area->component[access->component];
    const bool is_under_way = component->kind != RACE_THREAD || component->is_stream;
    if (race.watches_private || is_under_way)
        race_private_check(address, size, access, is_under_way || race.has_threads);
}

void race_touch(uintptr_t address, size_t size, uint8_t flags, uintptr_t pc)
{
    struct race_thread *thread = race_this_thread();
    if (!thread)
        return;
    thread->inside++;
    thread->used = thread->now;
    struct race_access access = {.known = thread->time,
                                 .component = thread->component,
                                 .when = thread->now,
                                 .flags = flags,
                                 .pc = pc & RACE_PC_MASK};
    race_touch_as(address, size, &access);
    thread->inside--;
}
