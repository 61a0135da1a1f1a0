/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Distributed locks [9.13], first come, first served: a queue of PEs as in the locks of Mellor-Crummey and Scott (MCS).
 * Each PE waits at a word of its own, so that none polls another PE's memory.
 *
 * Every PE has its copy of the lock's word, which holds the PE's node in the queue. The copy of one PE, the lock's
 * home, also holds the tail of the queue. A PE joins the queue by an atomic swap of the tail, and then writes its
 * number into its predecessor's node. The predecessor, when it releases the lock, grants it by writing into the
 * successor's node.
 *
 * The threads of a PE share its node: while one holds the lock or waits for it, the others wait for the node, in no
 * particular order.
 */
#include "shmem/internal.h"
#include "shmem/wait/word.h"
#include "shmmap/symmetric.h"
#include "transport/drivers/table.h"
#include "transport/drivers/presence.h"

/* The two halves of a lock's long. Both are zero if the lock is free and this PE is not in the queue. */
struct word {
    uint32_t node; /* of this PE: 0 or TAKEN; other PEs add GRANTED and the successor */
    uint32_t tail; /* at the home only: PE + 1 of the last PE in the queue, or 0 */
};
_Static_assert(sizeof(struct word) == sizeof(long), "a lock needs a long of 64 bits");

enum { TAKEN = 1, GRANTED = 2, SUCCESSOR_SHIFT = 2 }; /* successor: PE + 1 */

struct lock {
    const char *routine;
    struct word *word; /* this PE's copy */
    int home;
};

static uint32_t my_number(void)
{
    return (uint32_t)shmemi_job.pe + 1;
}

/* Spreads the homes over the PEs, both of locks in an array and of separate allocations. */
static int home_of(uint32_t region, size_t offset)
{
    uint64_t mixed = (offset / sizeof(struct word) + ((uint64_t)region << 48)) * 0x9e3779b97f4a7c15;
    return (int)((mixed >> 32) * (uint64_t)shmemi_job.n_pes >> 32);
}

static struct lock find_lock(const char *routine, long *address)
{
    size_t offset;
    const struct shmemi_view *view = shmemi_reach(routine, address, sizeof *address, shmemi_job.pe, &offset);
    if (view->place.memory != &shmemi_memory_host)
        shmemi_fatal("%s: %p is mapped %s memory: a lock lies in the symmetric heap or in static data", routine,
                     (void *)address, shmemi_memory_type_name(view->place.memory->type));
    if ((uintptr_t)address % sizeof *address)
        shmemi_fatal("%s: %p is not aligned to its %zu bytes", routine, (void *)address, sizeof *address);
    return (struct lock){routine, (struct word *)address, home_of(view->region, offset)};
}

/* ---- The parts of the queue -------------------------------------------------------------------------------------- */

/* Atomic operations of locks have a context of their own, so that they do not wait for the program's. Those that fetch
 * nothing need not be completed, since another PE waits for their effect. */
static uint32_t update_tail(const struct lock *lock, struct shmemi_amo amo)
{
    struct shmemi_context context = {0};
    uint32_t old;
    amo.size = sizeof old;
    shmemi_amo(&context, lock->routine, &lock->word->tail, &amo, &old, lock->home);
    return old;
}

static uint32_t join_queue(const struct lock *lock)
{
    return update_tail(lock, (struct shmemi_amo){.op = SHMEMI_AMO_SWAP, .operand = my_number()});
}

static bool replace_tail(const struct lock *lock, uint32_t old, uint32_t new)
{
    struct shmemi_amo amo = {.op = SHMEMI_AMO_COMPARE_SWAP, .operand = new, .compare = old};
    return update_tail(lock, amo) == old;
}

/* The operation may be under way on return, so its context is not on the stack; all locks and threads may share it. Each
 * addition is awaited by the PE whose node it is before that leaves the node: none can come to a later use of it. */
static struct shmemi_context additions;

static void add_to_node(const struct lock *lock, uint32_t value, int pe)
{
    struct shmemi_amo amo = {.op = SHMEMI_AMO_ADD, .size = sizeof value, .operand = value};
    shmemi_amo(&additions, lock->routine, &lock->word->node, &amo, NULL, pe);
}

void shmemi_locks_quiet(void)
{
    if (shmemi_context_has_pending(&additions))
        shmemi_require(shmemi_drivers_quiet(&additions));
}

static uint32_t load_node(const struct lock *lock)
{
    return __atomic_load_n(&lock->word->node, __ATOMIC_ACQUIRE);
}

/* Describes a wait until another PE writes into this PE's node, or another thread leaves it. */
struct lock_wait {
    struct shmemi_call call;
    const struct lock *lock;
    int pe; /* that it waits for; -1 if not known */
};

static void describe_lock(const struct shmemi_call *call, char *text, size_t size)
{
    const struct lock_wait *wait = (const struct lock_wait *)call;
    const struct shmemi_region *region = shmemi_region_of(wait->lock->word);
    shmemi_append(text, size, "the lock at ");
    shmemi_append_address(text, size, region->id, (size_t)((const char *)wait->lock->word - region->base));
    if (wait->pe >= 0 && wait->pe != shmemi_job.pe)
        shmemi_name_process(wait->pe);
    if (wait->pe == shmemi_job.pe)
        shmemi_append(text, size, " is held by another thread of this PE");
    else if (wait->pe >= 0)
        shmemi_append(text, size, " has PE %d before this one in its queue", wait->pe);
    else
        shmemi_append(text, size, " has a new PE in its queue, which has not yet sent its number");
}

static struct lock_wait make_wait(const struct lock *lock, int pe)
{
    return (struct lock_wait){{.activity = SHMEMI_AT_DETAIL, .describe = describe_lock}, lock, pe};
}

/* Wait until one of the bits of mask is set in this PE's node, by pe unless that is -1. A predecessor in the queue that has
 * ended holds the lock for ever. */
static void wait_for_node(const struct lock *lock, uint32_t mask, int pe)
{
    unsigned spins = 0;
    struct shmemi_lookout lookout = {0};
    struct lock_wait wait = make_wait(lock, pe);
    if (load_node(lock) & mask)
        return;
    shmemi_call_begin(&wait.call);
    while (!(load_node(lock) & mask))
        if (shmemi_progress(&spins) && pe >= 0 &&
            shmemi_has_ended(&lookout, shmemi_region_view(&shmemi_heap_region, pe)) && !(load_node(lock) & mask))
            shmemi_end_missing_in_lock(pe);
    shmemi_call_end(&wait.call);
}

/* No other PE knows of a node that is not taken, so only the threads of this PE compete for it. */
static bool take_node(const struct lock *lock)
{
    uint32_t expected = 0;
    return __atomic_compare_exchange_n(&lock->word->node, &expected, TAKEN, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void leave_node(const struct lock *lock)
{
    __atomic_store_n(&lock->word->node, 0, __ATOMIC_RELEASE);
}

static void wait_for_other_thread(const struct lock *lock)
{
    unsigned spins = 0;
    if (shmemi_thread_level() < SHMEM_THREAD_MULTIPLE)
        shmemi_fatal("%s: this PE holds the lock at %p already, or the lock was not zero before use", lock->routine,
                     (void *)lock->word);
    struct lock_wait wait = make_wait(lock, shmemi_job.pe);
    shmemi_call_begin(&wait.call);
    while (!take_node(lock))
        shmemi_progress(&spins);
    shmemi_call_end(&wait.call);
}

/* ---- The routines ------------------------------------------------------------------------------------------------ */

static struct shmemi_call lock_call(const struct lock *lock)
{
    return (struct shmemi_call){.routine = lock->routine, .activity = SHMEMI_AT_LOCK};
}

static void take(const struct lock *lock)
{
    if (!take_node(lock))
        wait_for_other_thread(lock);
    uint32_t predecessor = join_queue(lock);
    if (!predecessor)
        return;
    add_to_node(lock, my_number() << SUCCESSOR_SHIFT, (int)predecessor - 1);
    wait_for_node(lock, GRANTED, (int)predecessor - 1);
}

static void release(const struct lock *lock)
{
    shmemi_quiet(&shmemi_default_ctx);
    if (load_node(lock) >> SUCCESSOR_SHIFT == 0 && replace_tail(lock, my_number(), 0)) {
        leave_node(lock);
        return;
    }
    wait_for_node(lock, ~0u << SUCCESSOR_SHIFT, -1);
    uint32_t successor = load_node(lock) >> SUCCESSOR_SHIFT;
    leave_node(lock);
    add_to_node(lock, GRANTED, (int)successor - 1);
}

static int test(const struct lock *lock)
{
    if (take_node(lock)) {
        if (replace_tail(lock, 0, my_number()))
            return 0;
        leave_node(lock);
    }
    shmemi_progress_between_tests();
    return 1;
}

SHMEMI_API(void, set_lock, (long *address))
{
    struct lock lock = find_lock("shmem_set_lock", address);
    struct shmemi_call call = lock_call(&lock);
    shmemi_span_begin(&call);
    take(&lock);
    shmemi_span_end(&call);
}

SHMEMI_API(int, test_lock, (long *address))
{
    struct lock lock = find_lock("shmem_test_lock", address);
    struct shmemi_call call = lock_call(&lock);
    shmemi_span_begin(&call);
    int is_taken = test(&lock);
    shmemi_span_end(&call);
    return is_taken;
}

SHMEMI_API(void, clear_lock, (long *address))
{
    struct lock lock = find_lock("shmem_clear_lock", address);
    if (!(load_node(&lock) & TAKEN))
        shmemi_fatal("shmem_clear_lock: this PE does not hold the lock at %p", (void *)address);
    struct shmemi_call call = lock_call(&lock);
    shmemi_span_begin(&call);
    release(&lock);
    shmemi_span_end(&call);
}
