/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each word that a routine writes is stored once. All PEs let their processors count the stores to one word of one PE:
 * that PE in all its threads, the others where its memory is mapped in them (hardware breakpoints, by perf_event_open).
 * What the kernel stores for a process (process_vm_writev) is not counted.
 */
#define _GNU_SOURCE
#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <stdbool.h>
#include <unistd.h>

enum { THREADS_MOST = 64, BYTES = 512, PES_MOST = 16 };

/* ---- counting ---------------------------------------------------------------------------------------------------- */

static struct {
    int fd[THREADS_MOST];
    int n;
} counters;

static int open_counter(pid_t thread, const void *word, size_t size)
{
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_BREAKPOINT,
        .size = sizeof attributes,
        .bp_type = HW_BREAKPOINT_W,
        .bp_addr = (uintptr_t)word,
        .bp_len = size,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    return (int)syscall(SYS_perf_event_open, &attributes, thread, -1, -1, 0);
}

/* Threads may end while the list is read. */
static void open_counters(const void *word, size_t size)
{
    DIR *threads = opendir("/proc/self/task");
    CHECK(threads);
    counters.n = 0;
    for (struct dirent *entry; (entry = readdir(threads));) {
        int fd = entry->d_name[0] == '.' ? -1 : open_counter(atoi(entry->d_name), word, size);
        CHECK_THAT(fd >= 0 || entry->d_name[0] == '.' || errno == ESRCH, "perf_event_open: %s", strerror(errno));
        if (fd < 0)
            continue;
        CHECK(counters.n < THREADS_MOST);
        counters.fd[counters.n++] = fd;
    }
    closedir(threads);
}

static long close_counters(void)
{
    uint64_t total = 0, count;
    for (int i = 0; i < counters.n; i++) {
        CHECK(read(counters.fd[i], &count, sizeof count) == sizeof count);
        total += count;
        close(counters.fd[i]);
    }
    counters.n = 0;
    return (long)total;
}

static bool can_count(void)
{
    static uint64_t word;
    int fd = open_counter(0, &word, sizeof word);
    uint64_t count = 0;
    if (fd < 0)
        return false;
    *(volatile uint64_t *)&word = 1;
    bool has_counted = read(fd, &count, sizeof count) == sizeof count && count == 1;
    close(fd);
    return has_counted;
}

/* ---- routines ---------------------------------------------------------------------------------------------------- */

static char *dest, *source; /* BYTES each, symmetric */
static long *counts;        /* by PE, on PE 0 */

/* What is called, by one PE or by all, for the words of PE `target`. */
struct work {
    const char *routine;
    size_t size;   /* of an element */
    size_t nelems; /* per block in collectives */
    int stride;    /* of elements in dest */
    void (*call)(const struct work *work, int target);
};

/* This PE watches the word of the target, if it can see it. */
static const void *visible(const void *word, int target)
{
    return target == shmem_my_pe() ? word : shmem_ptr(word, target);
}

static void expect_one_store(const struct work *work, size_t at, int target)
{
    const void *word = visible(dest + at, target);
    shmem_barrier_all();
    if (word)
        open_counters(word, work->size);
    shmem_barrier_all();
    work->call(work, target);
    shmem_barrier_all();
    long count = word ? close_counters() : 0, total = 0;
    shmem_long_put(&counts[shmem_my_pe()], &count, 1, 0);
    shmem_barrier_all();
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        total += counts[pe];
    bool is_right = total == 1 || (total == 0 && !word);
    CHECK_THAT(shmem_my_pe() || is_right,
               "%s of %zu elements of %zu bytes: the word at byte %zu of PE %d was stored %ld"
               " times",
               work->routine, work->nelems, work->size, at, target, total);
}

/* Each word that a call writes. */
static void expect_one_store_each(const struct work *work, size_t nelems)
{
    for (size_t i = 0; i < nelems; i++)
        expect_one_store(work, i * (size_t)work->stride * work->size, (int)i % shmem_n_pes());
}

static bool sends_to(int target)
{
    return (shmem_my_pe() + 1) % shmem_n_pes() == target;
}

static void call_p(const struct work *work, int target)
{
    if (!sends_to(target))
        return;
    if (work->size == 8)
        shmem_int64_p((int64_t *)(void *)dest, 1, target);
    else if (work->size == 4)
        shmem_int32_p((int32_t *)(void *)dest, 1, target);
    else
        shmem_short_p((short *)(void *)dest, 1, target);
}

static void call_put(const struct work *work, int target)
{
    if (sends_to(target))
        shmem_putmem(dest, source, work->nelems * work->size, target);
}

static void call_put_nbi(const struct work *work, int target)
{
    if (sends_to(target))
        shmem_putmem_nbi(dest, source, work->nelems * work->size, target);
}

static void call_put_signal(const struct work *work, int target)
{
    static uint64_t signal;
    if (sends_to(target))
        shmem_putmem_signal(dest, source, work->nelems * work->size, &signal, 1, SHMEM_SIGNAL_ADD, target);
}

static void call_iput(const struct work *work, int target)
{
    if (!sends_to(target))
        return;
    if (work->size == 8)
        shmem_iput64(dest, source, work->stride, 1, work->nelems, target);
    else if (work->size == 4)
        shmem_iput32(dest, source, work->stride, 1, work->nelems, target);
    else
        shmem_iput16(dest, source, work->stride, 1, work->nelems, target);
}

static void call_get(const struct work *work, int target)
{
    if (shmem_my_pe() == target)
        shmem_getmem(dest, source, work->nelems * work->size, (target + 1) % shmem_n_pes());
}

static void call_get_nbi(const struct work *work, int target)
{
    if (shmem_my_pe() == target)
        shmem_getmem_nbi(dest, source, work->nelems * work->size, (target + 1) % shmem_n_pes());
}

static void call_broadcast(const struct work *work, int target)
{
    shmem_broadcastmem(SHMEM_TEAM_WORLD, dest, source, work->nelems * work->size, (target + 1) % shmem_n_pes());
}

static void call_fcollect(const struct work *work, int target)
{
    (void)target;
    shmem_fcollectmem(SHMEM_TEAM_WORLD, dest, source, work->nelems * work->size);
}

static void call_alltoall(const struct work *work, int target)
{
    (void)target;
    shmem_alltoallmem(SHMEM_TEAM_WORLD, dest, source, work->nelems * work->size);
}

static void call_reduce(const struct work *work, int target)
{
    (void)target;
    if (work->size == 8)
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, (long *)(void *)dest, (long *)(void *)source, work->nelems);
    else if (work->size == 4)
        shmem_int_max_reduce(SHMEM_TEAM_WORLD, (int *)(void *)dest, (int *)(void *)source, work->nelems);
    else
        shmem_short_sum_reduce(SHMEM_TEAM_WORLD, (short *)(void *)dest, (short *)(void *)source, work->nelems);
}

static void call_scan(const struct work *work, int target)
{
    (void)target;
    if (work->size == 8)
        shmem_long_sum_inscan(SHMEM_TEAM_WORLD, (long *)(void *)dest, (long *)(void *)source, work->nelems);
    else if (work->size == 4)
        shmem_int_sum_exscan(SHMEM_TEAM_WORLD, (int *)(void *)dest, (int *)(void *)source, work->nelems);
    else
        shmem_short_sum_inscan(SHMEM_TEAM_WORLD, (short *)(void *)dest, (short *)(void *)source, work->nelems);
}

static void check_puts(size_t size)
{
    static const struct {
        const char *routine;
        void (*call)(const struct work *, int);
    } calls[] = {{"shmem_putmem", call_put},
                 {"shmem_putmem_nbi", call_put_nbi},
                 {"shmem_putmem_signal", call_put_signal},
                 {"shmem_getmem", call_get},
                 {"shmem_getmem_nbi", call_get_nbi}};
    static const size_t many[] = {1, 2, 3, 5, 8, 15};
    expect_one_store_each(&(struct work){"shmem_p", size, 1, 1, call_p}, 1);
    for (size_t i = 0; i < sizeof many / sizeof many[0]; i++) {
        for (size_t k = 0; k < sizeof calls / sizeof calls[0]; k++)
            expect_one_store_each(&(struct work){calls[k].routine, size, many[i], 1, calls[k].call}, many[i]);
        expect_one_store_each(&(struct work){"shmem_iput", size, many[i], 2, call_iput}, many[i]);
    }
}

static void check_collectives(size_t size)
{
    const size_t n = (size_t)shmem_n_pes();
    for (size_t nelems = 1; nelems <= 3; nelems += 2) {
        expect_one_store_each(&(struct work){"shmem_broadcastmem", size, nelems, 1, call_broadcast}, nelems);
        expect_one_store_each(&(struct work){"shmem_sum_reduce", size, nelems, 1, call_reduce}, nelems);
        expect_one_store_each(&(struct work){"shmem_sum_scan", size, nelems, 1, call_scan}, nelems);
        expect_one_store_each(&(struct work){"shmem_fcollectmem", size, nelems, 1, call_fcollect}, nelems * n);
        expect_one_store_each(&(struct work){"shmem_alltoallmem", size, nelems, 1, call_alltoall}, nelems * n);
    }
}

int main(void)
{
    shmem_init();
    dest = check_shmem_malloc(BYTES);
    source = check_shmem_malloc(BYTES);
    counts = check_shmem_malloc(sizeof *counts * (size_t)shmem_n_pes());
    memset(source, 1, BYTES);
    if (!can_count() || shmem_n_pes() > PES_MOST) {
        if (shmem_my_pe() == 0)
            puts("stores cannot be counted here: perf_event_open has no breakpoints");
        shmem_finalize();
        return CHECK_SKIP;
    }
    for (size_t size = 2; size <= 8; size *= 2) {
        check_puts(size);
        check_collectives(size);
    }
    return check_end();
}
