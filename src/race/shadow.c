/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compares accesses with those before them. A word keeps what later accesses may race with: an access is dropped when
 * one after it, of at least the same bytes, races with everything that it could race with.
 */
#include "race/clocks.h"
#include "race/shadow.h"

#include <string.h>

_Static_assert(RACE_CELLS == 2, "race_extend looks at two cells");

/* Bit of the last cell's place: the word has more cells elsewhere. */
static const uint64_t has_spilled = UINT64_C(1) << 63;

enum { FOUND_MOST = 4, ALL_BYTES = 0xff };

/* A cell that an access did not race with, and whether it need not be kept: words side by side often have the same. */
struct judged {
    uint64_t new, old, place;
    bool goes;
};

/* An access to a word, and what it is found to race with. */
struct check {
    const struct race_access *access;
    uint64_t key, place, word;
    uint8_t more_bytes; /* of the same access, by earlier turns of a loop */
    struct judged last;
    unsigned n_found;
    struct race_found found[FOUND_MOST];
};

static race_lock *stripe_of(uint64_t word)
{
    return &race_area->stripe[race_stripe(word)];
}

static bool are_atomic_together(uint64_t a, uint64_t b)
{
    return (a & RACE_ATOMIC) && ((a ^ b) & RACE_KINDS) == 0 && race_key_bytes(a) == race_key_bytes(b);
}

static bool conflict(uint64_t a, uint64_t b)
{
    return ((a | b) & RACE_WRITE) && (race_key_bytes(a) & race_key_bytes(b)) && !are_atomic_together(a, b);
}

/* Whether whatever races with the old access races with the new one, too. */
static bool replaces(uint64_t new, uint64_t old)
{
    if (race_key_bytes(old) & ~race_key_bytes(new))
        return false;
    if (!(new &RACE_ATOMIC))
        return (new &RACE_WRITE) || !(old & RACE_WRITE);
    return are_atomic_together(new, old) && ((new &RACE_WRITE) || !(old & RACE_WRITE));
}

static int pe_of(uint64_t key)
{
    const struct race_component *component = &race_area->component[(uint16_t)(key >> 16)];
    return component->kind == RACE_THREAD ? component->target : race_area->lane[component->lane].pe;
}

/* Strands that run in one thread share its stack. */
static bool is_of_thread(const struct race_access *access, uint64_t key)
{
    const struct race_component *other = &race_area->component[(uint16_t)(key >> 16)];
    return other->kind == RACE_THREAD && other->owner == race_area->component[access->component].owner;
}

/* Loads and stores of one PE's threads are not our business, but that of the compiler's sanitizer. */
static bool is_of_interest(const struct check *check, uint64_t key, uint64_t place)
{
    if (check->access->is_own_frame && is_of_thread(check->access, key))
        return false;
    return check->access->routine || (place & ~has_spilled) >> RACE_ROUTINE_SHIFT || pe_of(key) != race.pe;
}

static void find(struct check *check, uint64_t key, uint64_t place)
{
    const uint8_t bytes = race_key_bytes(key) & race_key_bytes(check->key);
    place &= ~has_spilled;
    for (unsigned i = 0; i < check->n_found; i++)
        if (check->found[i].place == place) {
            check->found[i].n_bytes += (unsigned)__builtin_popcount(bytes);
            return;
        }
    if (check->n_found == FOUND_MOST || !is_of_interest(check, key, place))
        return;
    check->found[check->n_found++] = (struct race_found){.access = *check->access,
                                                         .key = key,
                                                         .place = place,
                                                         .word = check->word,
                                                         .first = (unsigned)__builtin_ctz(bytes),
                                                         .n_bytes = (unsigned)__builtin_popcount(bytes),
                                                         .is_note = race_is_before_by_barrier(check->access, key)};
}

/* One cell can stand for two loads, or stores to this PE's own memory, that differ by their bytes only, such as those of a
 * loop over bytes. Writes to another PE's stay apart: who waits for one of them has not seen the others. */
static bool take_over(struct check *check, uint64_t old, uint64_t place)
{
    const uint64_t differ = (check->key ^ old) & ~(UINT64_C(0xff) << 8);
    const bool may_merge =
        !check->access->routine && !(old & RACE_ATOMIC) && (!(old & RACE_WRITE) || check->access->pe == race.pe);
    if (!may_merge || differ || (place & ~has_spilled) != check->place)
        return false;
    check->more_bytes |= race_key_bytes(old);
    return true;
}

/* Compare with an earlier access; true: it need not be kept. */
static bool judge(uint64_t old, uint64_t place, void *argument)
{
    struct check *check = argument;
    const struct judged *last = &check->last;
    if (old == last->old && check->key == last->new &&place == last->place && !check->more_bytes)
        return last->goes;
    if (take_over(check, old, place))
        return true;
    const bool conflicts = conflict(check->key, old),
               may_go = replaces(check->key | (uint64_t)check->more_bytes << 8, old);
    if (!conflicts && !may_go)
        return false;
    const bool knows = race_knows(check->access, old),
               is_before = knows || race_has_arrived(check->access, old, check->word);
    if (conflicts && !is_before)
        find(check, old, place);
    const bool goes = may_go && (is_before || (uint16_t)(old >> 16) == check->access->component);
    if (knows && !check->more_bytes)
        check->last = (struct judged){check->key, old, place, goes};
    return goes;
}

static void put_cell(struct race_cell *cell, uint64_t key, uint64_t place)
{
    cell->place = place | (cell->place & has_spilled);
    atomic_store_explicit(&cell->key, key, memory_order_relaxed);
}

/* Keep it in the word itself, where the next turn of a loop finds it; what has no room then is kept elsewhere. */
static void keep(struct race_word *word, struct race_cell *room, const struct check *check)
{
    struct race_cell *last = &word->cell[RACE_CELLS - 1];
    if (!room) {
        room = last;
        race_spill(check->word, atomic_load_explicit(&last->key, memory_order_relaxed), last->place & ~has_spilled);
        last->place |= has_spilled;
    }
    put_cell(room, check->key | (uint64_t)check->more_bytes << 8, check->place);
}

static void check_word(struct race_word *word, struct check *check)
{
    struct race_cell *room = NULL, *last = &word->cell[RACE_CELLS - 1];
    for (const struct race_cell *cell = word->cell; cell <= last && !check->access->routine; cell++)
        take_over(check, atomic_load_explicit(&cell->key, memory_order_relaxed), cell->place);
    for (struct race_cell *cell = word->cell; cell <= last; cell++) {
        const uint64_t key = atomic_load_explicit(&cell->key, memory_order_relaxed);
        if (key && !judge(key, cell->place, check))
            continue;
        atomic_store_explicit(&cell->key, 0, memory_order_relaxed);
        room = room ? room : cell;
    }
    if ((last->place & has_spilled) && !race_visit_spilled(check->word, judge, check))
        last->place &= ~has_spilled;
    keep(word, room, check);
}

/* How many of size bytes are in the word at whose byte first they begin, and a bit for each of them. */
static size_t n_in_word(unsigned first, size_t size)
{
    return size < RACE_WORD - first ? size : RACE_WORD - first;
}

static uint8_t bytes_in_word(unsigned first, size_t size)
{
    return (uint8_t)(((1u << n_in_word(first, size)) - 1) << first);
}

/* The lock of the word's stripe, in place of the one that is held. */
static race_lock *hold_stripe(race_lock *held, uint64_t word)
{
    race_lock *stripe = stripe_of(word);
    if (stripe == held)
        return held;
    if (held)
        race_lock_give(held);
    race_lock_take(stripe);
    return stripe;
}

void race_check(struct race_word *word, unsigned first, size_t size, const struct race_access *access)
{
    struct check check = {.access = access,
                          .place = (uint64_t)access->routine << RACE_ROUTINE_SHIFT | access->pc,
                          .word = race_word_number(word)};
    race_lock *held = NULL;
    for (; size; word++, check.word++, first = 0) {
        check.key = race_key(access->when, access->component, bytes_in_word(first, size), access->flags);
        check.more_bytes = 0;
        if (!held || check.word % RACE_WORDS_OF_STRIPE == 0)
            held = hold_stripe(held, check.word);
        check_word(word, &check);
        size -= n_in_word(first, size);
    }
    if (held)
        race_lock_give(held);
    for (unsigned i = 0; i < check.n_found; i++)
        race_report(&check.found[i]);
}

/* Whether a cell is the access that is given, by other bytes. */
static bool is_part_of(const struct race_cell *cell, uint64_t key, uint64_t place)
{
    const uint64_t old = atomic_load_explicit(&cell->key, memory_order_relaxed);
    return ((old ^ key) & ~(UINT64_C(0xff) << 8)) == 0 && (cell->place & ~has_spilled) == place;
}

/* A turn of a loop. */
struct race_loop_turn {
    uint64_t key;
    bool may_race;
};

static bool look_for_race(uint64_t old, uint64_t place, void *argument)
{
    (void)place;
    struct race_loop_turn *turn = argument;
    if ((uint16_t)(old >> 16) != (uint16_t)(turn->key >> 16) && conflict(turn->key, old))
        turn->may_race = true;
    return false;
}

bool race_extend(struct race_word *word, uint64_t key, uint64_t place)
{
    struct race_cell *own = &word->cell[0], *other = &word->cell[1];
    if (!is_part_of(own, key, place)) {
        own = &word->cell[1];
        other = &word->cell[0];
        if (!is_part_of(own, key, place))
            return false;
    }
    if ((race_key_bytes(atomic_load_explicit(&own->key, memory_order_relaxed)) | race_key_bytes(key)) == ALL_BYTES)
        return false;
    const uint64_t number = race_word_number(word);
    race_lock *stripe = stripe_of(number);
    struct race_loop_turn turn = {.key = key};
    race_lock_take(stripe);
    (void)look_for_race(atomic_load_explicit(&other->key, memory_order_relaxed), 0, &turn);
    if (word->cell[RACE_CELLS - 1].place & has_spilled)
        (void)race_visit_spilled(number, look_for_race, &turn);
    const bool is_done = !turn.may_race && is_part_of(own, key, place);
    if (is_done)
        atomic_store_explicit(&own->key,
                              atomic_load_explicit(&own->key, memory_order_relaxed) | (key & UINT64_C(0xff) << 8),
                              memory_order_relaxed);
    race_lock_give(stripe);
    return is_done;
}

/* The writes that a thread has seen. */
struct seen {
    uint8_t bytes;
    unsigned n;
    uint64_t key[16];
};

static bool collect_write(uint64_t key, uint64_t place, void *argument)
{
    (void)place;
    struct seen *seen = argument;
    if (key && (key & RACE_WRITE) && (race_key_bytes(key) & seen->bytes) && seen->n < 16)
        seen->key[seen->n++] = key;
    return false;
}

void race_see(struct race_thread *thread, struct race_word *word, unsigned first, size_t size, int pe)
{
    const uint64_t number = race_word_number(word);
    struct seen seen = {.bytes = bytes_in_word(first, size)};
    race_lock_take(stripe_of(number));
    for (int i = 0; i < RACE_CELLS; i++)
        (void)collect_write(word->cell[i].key, 0, &seen);
    if (word->cell[RACE_CELLS - 1].place & has_spilled)
        (void)race_visit_spilled(number, collect_write, &seen);
    race_lock_give(stripe_of(number));
    for (unsigned i = 0; i < seen.n; i++)
        if ((uint16_t)(seen.key[i] >> 16) != thread->component)
            race_learn_write(thread, seen.key[i], pe);
    race_advance(thread);
    for (unsigned i = 0; i < seen.n; i++)
        race_note_arrival(thread, number, seen.key[i]);
}

static bool take_away(uint64_t key, uint64_t place, void *argument)
{
    (void)key, (void)place, (void)argument;
    return true;
}

void race_clear(struct race_word *word, size_t size)
{
    race_lock *held = NULL;
    for (struct race_word *end = word + (size + RACE_WORD - 1) / RACE_WORD; word < end; word++) {
        const uint64_t number = race_word_number(word);
        held = hold_stripe(held, number);
        if (word->cell[RACE_CELLS - 1].place & has_spilled)
            (void)race_visit_spilled(number, take_away, NULL);
        memset(word, 0, sizeof *word);
    }
    if (held)
        race_lock_give(held);
}
