/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lists of small operations on GPU memory. Each context has a pool of lists in one block of page-locked memory, which
 * kernels read and write at the same addresses as the CPU. The last store of a kernel writes the list's ticket: the CPU
 * polls that word, and asks the driver only now and then whether the kernel has failed. A single transfer is quicker as
 * a copy of the driver; a single atomic operation stores the ticket together with the old value.
 */

#include "base/log.h"
#include "base/thread/cores.h"
#include "base/tuning.h"
#include "gpu/device/kernels/kernel_lists.h"
#include "gpu/device/timing.h"
#include "gpu/list.h"

#include <stdlib.h>

enum {
    LISTS = 16,
    ENTRIES = 4096,
    BYTES = 128 << 10,
    LINE = 128, /* bytes of a cache line: words of different lists do not share one */
    BLOCK_THREADS = 128,
    BLOCKS_MAX = 64,
    POLLS_PER_QUERY = 4096,
};

/* Words that the device writes at the end of a list; in page-locked memory. */
struct ending {
    uint32_t done;
    _Alignas(16) uint64_t answer[2]; /* halves of an old value below, the ticket above */
};

/* How the CPU sees the end of a list: by the ticket in `done`, by the ticket in `answer`, or only by the stream. */
enum list_way { WAY_LIST, WAY_UPDATE, WAY_COPY };

struct kernel_list {
    struct shmemi_list list; /* the first member */
    uintptr_t arrivals;
    struct ending *ending;
    uint32_t ticket;
    enum list_way way; /* of the list under way */
    uint32_t result;   /* WAY_UPDATE: offset in the list's bytes for the old value */
    void *stream;
    unsigned polls;
};

/* The lists of a context. The last one is for shmemi_gpu_amo. */
struct shmemi_kernel_lists {
    struct kernel_list member[LISTS + 1];
    struct shmemi_delivery deliveries[LISTS + 1][ENTRIES];
    void *locked;
    uintptr_t arrivals;
    pthread_mutex_t lock; /* protects free */
    struct shmemi_list *free;
    pthread_mutex_t amo_lock; /* protects the last list */
};

static const size_t LOCKED_PER_LIST = ENTRIES * sizeof(struct shmemi_list_entry) + BYTES + LINE;

/* ---- The pool of a context --------------------------------------------------------------------------------------- */

static void set_up(struct shmemi_kernel_lists *lists, struct shmemi_gpu_context *context)
{
    for (int i = 0; i <= LISTS; i++) {
        struct kernel_list *member = &lists->member[i];
        char *locked = (char *)lists->locked + (size_t)i * LOCKED_PER_LIST;
        member->list = (struct shmemi_list){
            .memory = shmemi_gpu.memory,
            .object = context,
            .entries = (struct shmemi_list_entry *)(locked + LINE),
            .deliveries = lists->deliveries[i],
            .bytes = locked + LINE + ENTRIES * sizeof(struct shmemi_list_entry),
            .capacity = ENTRIES,
            .bytes_capacity = BYTES,
        };
        member->ending = (struct ending *)locked;
        *member->ending = (struct ending){0};
        member->arrivals = lists->arrivals + (size_t)i * LINE;
        if (i < LISTS) {
            member->list.next = lists->free;
            lists->free = &member->list;
        }
    }
}

static int allocate(struct shmemi_kernel_lists *lists)
{
    int rc = GPU_CALL(host_allocate, &lists->locked, (LISTS + 1) * LOCKED_PER_LIST, SHMEMI_GPU_HOST_PORTABLE);
    if (!rc)
        rc = GPU_CALL(allocate, &lists->arrivals, (LISTS + 1) * LINE);
    if (!rc)
        rc = GPU_CALL(fill, lists->arrivals, 0, (LISTS + 1) * LINE);
    if (!rc)
        rc = GPU_CALL(stream_synchronize, SHMEMI_GPU_STREAM_LEGACY);
    return rc;
}

static struct shmemi_kernel_lists *create(struct shmemi_gpu_context *context)
{
    bool pushed;
    struct shmemi_kernel_lists *lists = calloc(1, sizeof *lists);
    if (!lists)
        return NULL;
    pthread_mutex_init(&lists->lock, NULL);
    pthread_mutex_init(&lists->amo_lock, NULL);
    int rc = shmemi_gpu_enter(context, &pushed);
    if (!rc) {
        rc = allocate(lists);
        if (rc) {
            shmemi_warn("%s device %d: no page-locked memory for lists of small operations; transfers go one by one",
                        shmemi_gpu.memory->title, context->device);
            shmemi_kernel_lists_close(lists);
            lists = NULL;
        }
        shmemi_gpu_leave(pushed);
    }
    if (lists)
        set_up(lists, context);
    return lists;
}

void shmemi_kernel_lists_close(struct shmemi_kernel_lists *lists)
{
    if (!lists)
        return;
    if (lists->arrivals)
        shmemi_gpu.free(lists->arrivals);
    if (lists->locked)
        shmemi_gpu.host_free(lists->locked);
    pthread_mutex_destroy(&lists->lock);
    pthread_mutex_destroy(&lists->amo_lock);
    free(lists);
}

static struct shmemi_kernel_lists *open_lists(struct shmemi_gpu_context *context)
{
    bool has_kernels = shmemi_gpu_has_kernels(context);
    pthread_mutex_lock(&context->lock);
    if (!context->lists.is_tried) {
        context->lists.is_tried = true;
        struct shmemi_kernel_lists *lists = has_kernels ? create(context) : NULL;
        atomic_store_explicit(&context->lists.pool, lists, memory_order_release);
    }
    pthread_mutex_unlock(&context->lock);
    return atomic_load_explicit(&context->lists.pool, memory_order_acquire);
}

struct shmemi_kernel_lists *shmemi_kernel_lists_of(struct shmemi_gpu_context *context)
{
    struct shmemi_kernel_lists *lists = atomic_load_explicit(&context->lists.pool, memory_order_acquire);
    return !lists ? open_lists(context) : lists;
}

struct shmemi_list *shmemi_kernel_list_take(const struct shmemi_place *place)
{
    struct shmemi_kernel_lists *lists = shmemi_kernel_lists_of(place->object);
    if (!lists)
        return NULL;
    pthread_mutex_lock(&lists->lock);
    struct shmemi_list *list = lists->free;
    if (list) {
        lists->free = list->next;
        list->next = NULL;
    }
    pthread_mutex_unlock(&lists->lock);
    if (list && shmemi_gpu_stream(list->object, &((struct kernel_list *)list)->stream)) {
        shmemi_kernel_list_give(list);
        return NULL;
    }
    return list;
}

int shmemi_gpu_amo_list_take(const struct shmemi_place *place, struct shmemi_list **list_p)
{
    struct shmemi_kernel_lists *lists = place->object ? shmemi_kernel_lists_of(place->object) : NULL;
    if (!lists)
        return -ENOTSUP;
    struct kernel_list *member = &lists->member[LISTS];
    pthread_mutex_lock(&lists->amo_lock);
    shmemi_list_empty(&member->list);
    int rc = shmemi_gpu_stream(member->list.object, &member->stream);
    if (rc)
        pthread_mutex_unlock(&lists->amo_lock);
    *list_p = &member->list;
    return rc;
}

void shmemi_gpu_amo_list_give(struct shmemi_list *list)
{
    const struct shmemi_gpu_context *context = list->object;
    pthread_mutex_unlock(&atomic_load_explicit(&context->lists.pool, memory_order_relaxed)->amo_lock);
}

void shmemi_kernel_list_give(struct shmemi_list *list)
{
    struct shmemi_gpu_context *context = list->object;
    struct shmemi_kernel_lists *lists = atomic_load_explicit(&context->lists.pool, memory_order_relaxed);
    shmemi_list_empty(list);
    pthread_mutex_lock(&lists->lock);
    list->next = lists->free;
    lists->free = list;
    pthread_mutex_unlock(&lists->lock);
}

/* ---- Running a list ---------------------------------------------------------------------------------------------- */

/* Threads that share an entry: about one for each 16 bytes. */
static uint32_t lanes_for(const struct shmemi_list *list)
{
    uint64_t mean = list->n ? list->copied / list->n : 0;
    uint32_t lanes = 1;
    while (lanes < 32 && lanes * 16 < mean)
        lanes *= 2;
    return lanes;
}

static int launch_list(const struct kernel_list *member, struct shmemi_list_run *run)
{
    void *arguments[] = {run};
    run->lanes = lanes_for(&member->list);
    uint32_t blocks = (run->n * run->lanes + BLOCK_THREADS - 1) / BLOCK_THREADS;
    blocks = blocks < 1 ? 1 : blocks > BLOCKS_MAX ? BLOCKS_MAX : blocks;
    return shmemi_gpu_launch(member->list.object, SHMEMI_KERNEL_list, blocks, BLOCK_THREADS, member->stream, arguments);
}

static unsigned threads_for(const struct shmemi_list_entry *entry)
{
    return entry->op == SHMEMI_ENTRY_COPY && entry->nbytes > 512 ? BLOCK_THREADS : 32;
}

/* The atomic operation is the last entry, or the only one. */
static int launch_update(struct kernel_list *member, struct shmemi_list_run *run)
{
    const struct shmemi_list *list = &member->list;
    struct shmemi_list_entry first = list->entries[0];
    struct shmemi_list_entry update = list->n_last ? list->entries[list->capacity - 1] : first;
    void *arguments[] = {run, &first, &update};
    run->n = list->n_last ? list->n : 0;
    member->way = WAY_UPDATE;
    member->result = update.result;
    return shmemi_gpu_launch(list->object, SHMEMI_KERNEL_update, 1, run->n ? threads_for(&first) : 32, member->stream,
                             arguments);
}

static bool is_in_bytes(const struct shmemi_list *list, uint64_t address)
{
    return address - (uintptr_t)list->bytes < list->bytes_capacity;
}

/* The only host memory that takes part is the list's own bytes. */
static int copy_entry(struct kernel_list *member)
{
    struct shmemi_list_entry *entry = &member->list.entries[0];
    member->way = WAY_COPY;
    if (entry->op == SHMEMI_ENTRY_STORE)
        return GPU_CALL(copy_in, entry->dest, &entry->source, entry->nbytes, member->stream);
    if (is_in_bytes(&member->list, entry->source))
        return GPU_CALL(copy_in, entry->dest, (const void *)entry->source, entry->nbytes, member->stream);
    if (is_in_bytes(&member->list, entry->dest))
        return GPU_CALL(copy_out, (void *)entry->dest, entry->source, entry->nbytes, member->stream);
    return GPU_CALL(copy_within, entry->dest, entry->source, entry->nbytes, member->stream);
}

static int launch(struct kernel_list *member, struct shmemi_list_run *run)
{
    const struct shmemi_list *list = &member->list;
    const struct shmemi_list_entry *first = &list->entries[0];
    member->way = WAY_LIST;
    if (list->n > 1 || list->n_last > 1)
        return launch_list(member, run);
    return list->n_last || first->op < SHMEMI_ENTRY_COPY ? launch_update(member, run) : copy_entry(member);
}

static int launch_timed(struct kernel_list *member, struct shmemi_list_run *run)
{
    const struct shmemi_list *list = &member->list;
    struct shmemi_gpu_timing *timing = shmemi_gpu_time(list->object, member->stream);
    int rc = launch(member, run);
    shmemi_gpu_timing_end(timing, rc, "list of small operations", list->copied);
    return rc;
}

static struct shmemi_kernel_end next_end(struct kernel_list *member)
{
    member->polls = 0;
    return (struct shmemi_kernel_end){(uintptr_t)&member->ending->done, member->arrivals, ++member->ticket};
}

struct shmemi_kernel_end shmemi_kernel_list_lend(struct shmemi_list *list)
{
    struct kernel_list *member = (struct kernel_list *)list;
    member->way = WAY_LIST;
    return next_end(member);
}

static int list_start(struct shmemi_list *list)
{
    struct kernel_list *member = (struct kernel_list *)list;
    struct shmemi_list_run run = {
        .entries = (uintptr_t)list->entries,
        .bytes = (uintptr_t)list->bytes,
        .answer = (uintptr_t)member->ending->answer,
        .end = next_end(member),
        .capacity = list->capacity,
        .n = list->n,
        .n_last = list->n_last,
    };
    bool pushed;
    int rc = shmemi_gpu_enter(list->object, &pushed);
    if (rc)
        return rc;
    rc = launch_timed(member, &run);
    shmemi_gpu_leave(pushed);
    return rc;
}

/* Has the old value arrived? Then both of its halves carry the ticket. */
static bool is_answered(const struct kernel_list *member)
{
    uint64_t low = __atomic_load_n(&member->ending->answer[0], __ATOMIC_ACQUIRE);
    uint64_t high = __atomic_load_n(&member->ending->answer[1], __ATOMIC_ACQUIRE);
    if (low >> 32 != member->ticket || high >> 32 != member->ticket)
        return false;
    uint64_t old = (uint32_t)low | high << 32;
    if (member->result != SHMEMI_ENTRY_NO_RESULT)
        memcpy(member->list.bytes + member->result, &old, sizeof old);
    return true;
}

static bool is_done(const struct kernel_list *member)
{
    switch (member->way) {
    case WAY_LIST:
        return __atomic_load_n(&member->ending->done, __ATOMIC_ACQUIRE) == member->ticket;
    case WAY_UPDATE:
        return is_answered(member);
    case WAY_COPY:
        return false;
    }
    return false;
}

/* Has the list that was started next in the same context, on the same stream, ended? Then this one has, too. */
static bool is_outlived(const struct kernel_list *member)
{
    const struct kernel_list *next = (const struct kernel_list *)member->list.next;
    return next && next->list.memory == shmemi_gpu.memory && next->stream == member->stream && is_done(next);
}

/* The kernel may have failed: once the stream is done, the ticket has been written or never will be. */
static int ask_driver(const struct kernel_list *member)
{
    bool pushed;
    int rc = shmemi_gpu_enter(member->list.object, &pushed);
    if (rc)
        return rc;
    int result = shmemi_gpu.stream_query(member->stream);
    shmemi_gpu_leave(pushed);
    rc = shmemi_gpu_has_ended(result, "stream_query(stream of small operations)");
    if (rc || member->way == WAY_COPY || is_done(member))
        return rc;
    shmemi_error("a kernel for small operations has ended without doing its work");
    return -EIO;
}

static int list_test(struct shmemi_list *list)
{
    struct kernel_list *member = (struct kernel_list *)list;
    if (is_done(member) || (member->way == WAY_COPY && is_outlived(member)))
        return 0;
    if (member->way != WAY_COPY && ++member->polls % POLLS_PER_QUERY)
        return -EAGAIN;
    return ask_driver(member);
}

int shmemi_kernel_list_wait(struct shmemi_list *list)
{
    int rc;
    for (unsigned spins = 0; (rc = list_test(list)) == -EAGAIN; spins++)
        if (spins > SHMEMI_GPU_LIST_SPINS)
            shmemi_yield();
    return rc;
}

const struct shmemi_lists shmemi_kernel_list_table = {
    .take = shmemi_kernel_list_take,
    .start = list_start,
    .test = list_test,
    .give = shmemi_kernel_list_give,
};
