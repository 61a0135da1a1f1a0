/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives over active sets [9.10, deprecated]: PEs start + i * 2^logPE_stride. When a set is first used, the
 * library makes a team of it, which exists until shmem_finalize and runs all later calls. The members of a new set have
 * only this call in common, so they use its pSync to agree on a workspace: messages go up a binary tree to the first
 * member and down again, and each PE resets its words before it returns.
 *
 * Programs use one pSync for sets that overlap, one after the other. So a PE may still be in the agreement of one set
 * when others begin that of the next: each says in its pSync which set it is in, and nobody sends it a message before
 * that is the set of the message. A PE leaves a set only after it has received all messages that are meant for it.
 */
#include "shmem/coll/collectives.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

struct set {
    const char *routine;
    int start, stride, size;
};

/* ---- the first call on a set ------------------------------------------------------------------------------------- */

enum {
    BITMAP_WORDS = SHMEMI_TEAMS_MAX / 64,
    UP_WORDS = BITMAP_WORDS + 1, /* free slots, and the highest operation number used so far */
    DOWN_WORDS = 2,              /* the chosen slot, and that number */
    CHILDREN = 2,
    FROM_PARENT = CHILDREN * (UP_WORDS + 1),    /* each message is followed by a flag */
    PRESENT_SET = FROM_PARENT + DOWN_WORDS + 1, /* name of the set whose agreement this PE is in */
};

static_assert(PRESENT_SET + 1 <= SHMEM_SYNC_SIZE, "the messages of an agreement must fit into pSync");
static_assert(SHMEM_SYNC_VALUE == 0 && sizeof(long) == sizeof(uint64_t), "flags must differ from the initial value");

struct agreement {
    const struct set *set;
    int me;
    struct shmemi_symmetric sync; /* the members' pSync */
    struct shmemi_context context;
};

/* A number that no other set has, and is not 0. */
static uint64_t name_of(const struct set *set)
{
    enum { STRIDE_BITS = 5, SIZE_BITS = 29 };
    return ((uint64_t)set->start << SIZE_BITS | (uint64_t)set->size) << STRIDE_BITS |
           (unsigned)__builtin_ctz((unsigned)set->stride);
}

static _Atomic uint64_t *present_set(const struct agreement *agreement)
{
    return (_Atomic uint64_t *)agreement->sync.host + PRESENT_SET;
}

/* Describes a wait for a member to come. */
struct member_wait {
    struct shmemi_call call;
    int pe;
};

static void describe_member(const struct shmemi_call *call, char *text, size_t size)
{
    shmemi_append(text, size, "for PE %d to make the first call on this active set",
                  ((const struct member_wait *)call)->pe);
    shmemi_name_process(((const struct member_wait *)call)->pe);
}

static int pe_of(const struct agreement *agreement, int member)
{
    return agreement->set->start + member * agreement->set->stride;
}

/* Which agreement a member is in. */
static int read_presence(struct agreement *agreement, int pe, uint64_t *present_p)
{
    int rc = shmemi_copy_from(&agreement->context, present_p, &agreement->sync, PRESENT_SET * sizeof *present_p,
                              sizeof *present_p, pe);
    return rc ? rc : shmemi_complete(&agreement->context);
}

/* Wait until a member is in the agreement of this set. */
static int await_presence(struct agreement *agreement, int member)
{
    struct member_wait wait = {{.activity = SHMEMI_AT_DETAIL, .describe = describe_member}, pe_of(agreement, member)};
    struct shmemi_lookout lookout = {0};
    const uint64_t wanted = name_of(agreement->set);
    uint64_t present = 0;
    unsigned spins = 0;
    bool has_ended = false;
    shmemi_call_begin(&wait.call);
    int rc = read_presence(agreement, wait.pe, &present);
    while (!rc && present != wanted) {
        if (has_ended)
            shmemi_end_missing_in_call(wait.pe);
        shmemi_progress(&spins);
        has_ended = shmemi_has_ended(&lookout, shmemi_region_view(&shmemi_heap_region, wait.pe));
        rc = read_presence(agreement, wait.pe, &present);
    }
    shmemi_call_end(&wait.call);
    return rc;
}

static int send_message(struct agreement *agreement, int member, int first_word, const uint64_t *message, int n)
{
    static const uint64_t flag = 1;
    struct shmemi_context *context = &agreement->context;
    const int pe = pe_of(agreement, member);
    const size_t at = (size_t)first_word * sizeof *message;
    int rc = shmemi_copy_to(context, &agreement->sync, at, message, (size_t)n * sizeof *message, pe);
    if (!rc && shmemi_context_has_pending(context))
        rc = shmemi_drivers_fence(context);
    atomic_thread_fence(memory_order_release); /* partner: shmemi_await_word */
    if (!rc)
        rc = shmemi_copy_to(context, &agreement->sync, at + (size_t)n * sizeof *message, &flag, sizeof flag, pe);
    return rc ? rc : shmemi_complete(context);
}

static void receive_message(struct agreement *agreement, int member, int first_word, uint64_t *message, int n)
{
    uint64_t *words = (uint64_t *)agreement->sync.host + first_word;
    shmemi_await_word((_Atomic uint64_t *)&words[n], 1, pe_of(agreement, member));
    memcpy(message, words, (size_t)n * sizeof *message);
    memset(words, 0, (size_t)(n + 1) * sizeof *words);
}

static int gather(struct agreement *agreement, uint64_t *bitmap_and_number)
{
    for (int i = 0; i < CHILDREN && CHILDREN * agreement->me + 1 + i < agreement->set->size; i++) {
        uint64_t theirs[UP_WORDS];
        receive_message(agreement, CHILDREN * agreement->me + 1 + i, i * (UP_WORDS + 1), theirs, UP_WORDS);
        for (int word = 0; word < BITMAP_WORDS; word++)
            bitmap_and_number[word] &= theirs[word];
        if (theirs[BITMAP_WORDS] > bitmap_and_number[BITMAP_WORDS])
            bitmap_and_number[BITMAP_WORDS] = theirs[BITMAP_WORDS];
    }
    if (agreement->me == 0)
        return 0;
    int above = agreement->me - 1;
    int rc = await_presence(agreement, above / CHILDREN);
    return rc ? rc
              : send_message(agreement, above / CHILDREN, above % CHILDREN * (UP_WORDS + 1), bitmap_and_number,
                             UP_WORDS);
}

/* The children are there: they have sent their messages up. */
static int spread(struct agreement *agreement, uint64_t *decision)
{
    int rc = 0;
    if (agreement->me > 0)
        receive_message(agreement, (agreement->me - 1) / CHILDREN, FROM_PARENT, decision, DOWN_WORDS);
    for (int i = 0; i < CHILDREN && CHILDREN * agreement->me + 1 + i < agreement->set->size && !rc; i++)
        rc = send_message(agreement, CHILDREN * agreement->me + 1 + i, FROM_PARENT, decision, DOWN_WORDS);
    return rc;
}

static unsigned lowest_slot(const uint64_t *bitmap)
{
    for (unsigned slot = 0; slot < SHMEMI_TEAMS_MAX; slot++)
        if (bitmap[slot / 64] >> slot % 64 & 1)
            return slot;
    return SHMEMI_TEAMS_MAX;
}

/* Propose a slot that is free on all members. */
static void propose(struct agreement *agreement, uint64_t *slot_and_number)
{
    uint64_t free_slots[UP_WORDS];
    shmemi_team_free_slots(free_slots, &free_slots[BITMAP_WORDS]);
    shmemi_require(gather(agreement, free_slots));
    slot_and_number[0] = lowest_slot(free_slots);
    slot_and_number[1] = free_slots[BITMAP_WORDS];
    shmemi_require(spread(agreement, slot_and_number));
    if (slot_and_number[0] == SHMEMI_TEAMS_MAX)
        shmemi_fatal("%s: no more active sets: a PE can be in %d teams and different active sets at a time",
                     agreement->set->routine, SHMEMI_TEAMS_MAX);
}

/* If another thread, which makes a team at the same time, has taken the slot on any member, all try again. */
static bool take_slot(struct agreement *agreement, unsigned slot)
{
    bool taken = shmemi_team_reserve_slot(slot);
    uint64_t all[UP_WORDS] = {taken};
    uint64_t decision[DOWN_WORDS];
    shmemi_require(gather(agreement, all));
    decision[0] = all[0];
    decision[1] = 0;
    shmemi_require(spread(agreement, decision));
    if (taken && !decision[0])
        shmemi_team_release_slot(slot);
    return decision[0];
}

static struct shmemi_team *make_team(const struct set *set, const struct shmemi_symmetric *sync)
{
    struct agreement agreement = {.set = set, .me = (shmemi_job.pe - set->start) / set->stride, .sync = *sync};
    struct shmemi_call call = {.routine = set->routine, .activity = SHMEMI_AT_COLLECTIVE};
    uint64_t slot_and_number[DOWN_WORDS];
    shmemi_call_begin(&call);
    atomic_store_explicit(present_set(&agreement), name_of(set), memory_order_release);
    do
        propose(&agreement, slot_and_number);
    while (!take_slot(&agreement, (unsigned)slot_and_number[0]));
    atomic_store_explicit(present_set(&agreement), 0, memory_order_release);
    shmemi_call_end(&call);
    struct shmemi_team *team = shmemi_team_make_active_set(set->start, set->stride, set->size,
                                                           (unsigned)slot_and_number[0], slot_and_number[1]);
    if (!team)
        shmemi_give_up();
    return team;
}

/* ---- the team of a call ------------------------------------------------------------------------------------------ */

static void check_active_set(const struct set *set, int log_stride)
{
    const int n = shmemi_job.n_pes;
    shmemi_require_init(set->routine);
    bool fits = set->start >= 0 && set->start < n && log_stride >= 0 && log_stride < 31 && set->size >= 1 &&
                set->size <= n && (int64_t)set->start + ((int64_t)(set->size - 1) << log_stride) < n;
    if (!fits)
        shmemi_fatal("%s: the active set (PE_start %d, logPE_stride %d, PE_size %d) is not one of PEs 0 to %d",
                     set->routine, set->start, log_stride, set->size, n - 1);
}

/* The standard leaves it open what a PE gets that calls with a set of others; as in other libraries, nothing. */
static bool is_member(const struct set *set, int log_stride)
{
    static atomic_bool has_warned;
    int distance = shmemi_job.pe - set->start;
    if (distance >= 0 && distance % set->stride == 0 && distance / set->stride < set->size)
        return true;
    if (!atomic_exchange(&has_warned, true))
        shmemi_warn("%s: PE %d is not in the active set (PE_start %d, logPE_stride %d, PE_size %d); it does nothing in "
                    "this and further such calls",
                    set->routine, shmemi_job.pe, set->start, log_stride, set->size);
    return false;
}

/* NULL: this PE is not in the set. */
static struct shmemi_team *team_of(const char *routine, int start, int log_stride, int size, long *sync)
{
    struct set set = {routine, start, (int)(1u << (log_stride & 31)), size};
    if (size == 1 && log_stride >= 0)
        set.stride = 1, log_stride = 0;
    check_active_set(&set, log_stride);
    if (!is_member(&set, log_stride))
        return NULL;
    struct shmemi_symmetric words = shmemi_symmetric_of(routine, sync, SHMEM_SYNC_SIZE * sizeof *sync);
    if (!words.host)
        shmemi_fatal("%s: pSync at %p lies in mapped memory; it has to be in the symmetric heap or static data",
                     routine, (void *)sync);
    struct shmemi_team *team = shmemi_team_find_active_set(set.start, set.stride, set.size);
    return team ? team : make_team(&set, &words);
}

/* ---- the public forms -------------------------------------------------------------------------------------------- */

#define TEAM_OF(NAME) team_of("shmem_" #NAME, PE_start, logPE_stride, PE_size, pSync)

SHMEMI_API(void, barrier, (int PE_start, int logPE_stride, int PE_size, long *pSync))
{
    struct shmemi_team *team = TEAM_OF(barrier);
    if (!team)
        return;
    shmemi_quiet(&shmemi_default_ctx);
    shmemi_complete_contexts();
    shmemi_sync_in("shmem_barrier", team, true);
}

SHMEMI_API(void, sync, (int PE_start, int logPE_stride, int PE_size, long *pSync))
{
    struct shmemi_team *team = TEAM_OF(sync);
    if (team)
        shmemi_sync_in("shmem_sync", team, true);
}

static size_t length_of(const char *routine, int nreduce)
{
    if (nreduce < 0)
        shmemi_fatal("%s: nreduce is %d", routine, nreduce);
    return (size_t)nreduce;
}

/* clang-format off */
#define ACTIVE_SET int PE_start, int logPE_stride, int PE_size

/* __VA_ARGS__: members of struct shmemi_collective_args. */
#define CALL(NAME, ...)                                                                                                \
    {                                                                                                                  \
        struct shmemi_team *team = TEAM_OF(NAME);                                                                      \
        if (team)                                                                                                      \
            shmemi_call_collective("shmem_" #NAME, team,                                                               \
                                   &(struct shmemi_collective_args){.dest = dest, .source = source, __VA_ARGS__});     \
    }

#define DEFINE_COPIES(VERB, NAME, SIZE)                                                                                \
    SHMEMI_API(void, NAME, (void *dest, const void *source, size_t nelems, ACTIVE_SET, long *pSync))                   \
    CALL(NAME, .verb = SHMEMI_##VERB, .size = SIZE, .nelems = nelems)

#define DEFINE_SIZE(BITS, SIZE)                                                                                        \
    SHMEMI_API(void, broadcast##BITS, (void *dest, const void *source, size_t nelems, int PE_root, ACTIVE_SET,         \
                                       long *pSync))                                                                   \
    CALL(broadcast##BITS, .verb = SHMEMI_BROADCAST, .size = SIZE, .nelems = nelems, .root = PE_root,                   \
         .root_keeps_dest = true)                                                                                      \
    DEFINE_COPIES(COLLECT, collect##BITS, SIZE)                                                                        \
    DEFINE_COPIES(FCOLLECT, fcollect##BITS, SIZE)                                                                      \
    DEFINE_COPIES(ALLTOALL, alltoall##BITS, SIZE)                                                                      \
    SHMEMI_API(void, alltoalls##BITS, (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,    \
                                       ACTIVE_SET, long *pSync))                                                       \
    CALL(alltoalls##BITS, .verb = SHMEMI_ALLTOALLS, .size = SIZE, .nelems = nelems, .dst = dst, .sst = sst)
DEFINE_SIZE(32, 4)
DEFINE_SIZE(64, 8)

/* pWrk is not used: the team has a workspace. */
#define DEFINE_TO_ALL(NAME, TYPE, OP)                                                                                  \
    SHMEMI_API(void, NAME##_##OP##_to_all, (TYPE *dest, const TYPE *source, int nreduce, ACTIVE_SET, TYPE *pWrk,       \
                                            long *pSync))                                                              \
    CALL(NAME##_##OP##_to_all, .verb = SHMEMI_REDUCE, .size = sizeof(TYPE),                                            \
         .nelems = ((void)pWrk, length_of("shmem_" #NAME "_" #OP "_to_all", nreduce)),                                 \
         .op = &shmemi_ops[SHMEMI_OP_##OP][SHMEMI_KIND_OF(TYPE)])
/* clang-format on */
SHMEMI_FOR_SET_BITS_TYPES(DEFINE_TO_ALL, and)
SHMEMI_FOR_SET_BITS_TYPES(DEFINE_TO_ALL, or)
SHMEMI_FOR_SET_BITS_TYPES(DEFINE_TO_ALL, xor)
SHMEMI_FOR_SET_ORDER_TYPES(DEFINE_TO_ALL, max)
SHMEMI_FOR_SET_ORDER_TYPES(DEFINE_TO_ALL, min)
SHMEMI_FOR_SET_ARITHMETIC_TYPES(DEFINE_TO_ALL, sum)
SHMEMI_FOR_SET_ARITHMETIC_TYPES(DEFINE_TO_ALL, prod)
