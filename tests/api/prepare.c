/* SPDX-License-Identifier: BSD-3-Clause
 *
 * shmemx_prepare, shmemx_release and shmemx_prepared: counting, ranges that overlap or cannot be prepared, transfers from and to
 * prepared memory to every PE, many ranges, several threads, and ranges that are left to shmem_finalize.
 */
#include "check.h"

#include "shmmap/region.h"

#include <errno.h>
#include <pthread.h>
#include <shmemx.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

enum { AREA = 3 << 20, PART = 1 << 20, MANY = 100, THREADS = 4, GUARD = CHECK_GUARD };

static char static_area[AREA], static_local[PART];

static char said[512]; /* by the last call that was made quietly */

/* Each refusal logs a line, which is expected here. */
static int quietly(int (*call)(void *, size_t), void *address, size_t size)
{
    int saved = dup(STDERR_FILENO);
    FILE *elsewhere = tmpfile();
    CHECK(saved >= 0 && elsewhere && dup2(fileno(elsewhere), STDERR_FILENO) == STDERR_FILENO);
    int rc = call(address, size);
    CHECK(dup2(saved, STDERR_FILENO) == STDERR_FILENO);
    rewind(elsewhere);
    said[fread(said, 1, sizeof said - 1, elsewhere)] = '\0';
    fclose(elsewhere);
    close(saved);
    return rc;
}

static int release(void *address, size_t size)
{
    (void)size;
    return shmemx_release(address);
}

static int refused_prepare(void *address, size_t size)
{
    return quietly(shmemx_prepare, address, size);
}

static int refused_release(void *address)
{
    return quietly(release, address, 0);
}

static void check_counting(char *memory)
{
    CHECK(refused_release(memory) == -EINVAL);
    CHECK(shmemx_prepare(memory, PART) == 0);
    CHECK(shmemx_prepare(memory, PART) == 0);
    CHECK(shmemx_prepare(memory, PART) == 0);
    for (int i = 0; i < 3; i++)
        CHECK(shmemx_release(memory) == 0);
    CHECK(refused_release(memory) == -EINVAL);
    CHECK(shmemx_prepare(memory, PART / 2) == 0); /* another size, now that it is free */
    CHECK(shmemx_release(memory) == 0);
}

/* One line, with both ranges. */
static void check_named(const char *address, size_t size, const char *other, size_t other_size)
{
    char expected[200];
    snprintf(expected, sizeof expected, "shmemx_prepare: %p + %zu bytes overlaps %p + %zu bytes", (const void *)address,
             size, (const void *)other, other_size);
    CHECK_THAT(strstr(said, expected), "expected \"%s\" in \"%s\"", expected, said);
    CHECK(strchr(said, '\n') == said + strlen(said) - 1);
}

static void check_overlaps(char *memory)
{
    CHECK(shmemx_prepare(memory + PART, PART) == 0);
    CHECK(refused_prepare(memory + PART, PART - 1) == -EEXIST);
    CHECK(refused_prepare(memory + PART, PART + 1) == -EEXIST);
    check_named(memory + PART, PART + 1, memory + PART, PART);
    CHECK(refused_prepare(memory + PART - 1, 2) == -EEXIST);
    CHECK(refused_prepare(memory, AREA) == -EEXIST);
    check_named(memory, AREA, memory + PART, PART);
    CHECK(refused_prepare(memory + PART + 77, 1) == -EEXIST);
    CHECK(refused_prepare(memory + 2 * PART - 1, 100) == -EEXIST);
    CHECK(refused_release(memory + PART + 1) == -EINVAL);
    CHECK(shmemx_prepare(memory, PART) == 0); /* neighbours are no overlap */
    CHECK(shmemx_prepare(memory + 2 * PART, PART) == 0);
    for (int i = 0; i < 3; i++)
        CHECK(shmemx_release(memory + i * PART) == 0);
    CHECK(shmemx_prepare(memory, AREA) == 0); /* refusals have no effect */
    CHECK(shmemx_release(memory) == 0);
}

/* In a job of several nodes some node has fewer PEs than the job. */
static bool has_network(void)
{
    return shmem_team_n_pes(SHMEM_TEAM_SHARED) < shmem_n_pes();
}

/* What the query says of a range, of parts of it, and of what is not prepared. */
static void check_state(char *memory, char *heap)
{
    const int network = has_network() ? SHMEMX_MEMORY_REGISTERED : 0;
    CHECK(shmemx_prepared(memory, PART) == 0 && shmemx_prepared(NULL, 8) == 0 && shmemx_prepared(memory, 0) == 0);
    CHECK(shmemx_prepared(memory, SIZE_MAX) == 0);
    CHECK(shmemx_prepare(memory + 64, PART) == 0);
    const int state = shmemx_prepared(memory + 64, PART);
    CHECK((state & ~SHMEMX_MEMORY_LOCKED) == (SHMEMX_MEMORY_PREPARED | network));
    CHECK(shmemx_prepared(memory + 64, 1) == state && shmemx_prepared(memory + 63 + PART, 1) == state);
    CHECK(!(shmemx_prepared(memory + 63, 2) & SHMEMX_MEMORY_PREPARED));
    CHECK(!(shmemx_prepared(memory + 63 + PART, 2) & SHMEMX_MEMORY_PREPARED));
    CHECK(shmemx_release(memory + 64) == 0);
    CHECK(shmemx_prepared(memory + 64, PART) == 0);
    CHECK(shmemx_prepare(heap, PART) == 0);
    CHECK((shmemx_prepared(heap, PART) & ~SHMEMX_MEMORY_LOCKED) == (SHMEMX_MEMORY_PREPARED | network));
    CHECK(shmemx_release(heap) == 0);
}

static void check_refusals(char *memory, char *heap)
{
    CHECK(refused_prepare(NULL, 8) == -EINVAL);
    CHECK(refused_prepare(memory, 0) == -EINVAL);
    CHECK(refused_prepare(memory, SIZE_MAX) == -EINVAL);
    char *last = (char *)shmemi_window.base + shmemi_window.span - 64; /* of the range of mapped objects */
    CHECK(refused_prepare(heap, (size_t)(last - heap)) == -EINVAL);
    CHECK(refused_prepare(last, 64) == -EINVAL);
    CHECK(refused_release(NULL) == -EINVAL);
    CHECK(shmemx_prepare(heap, PART) == 0 && shmemx_prepare(heap, PART) == 0);
    CHECK(refused_prepare(heap + 1, PART) == -EEXIST);
    CHECK(shmemx_release(heap) == 0 && shmemx_release(heap) == 0);
}

typedef void (*move_func_t)(void *dest, const void *source, size_t nelems, int pe);

/* Put from local to the target's symmetric memory, and get it back into local. */
static void check_round(char *symmetric, char *local, size_t size, int round, move_func_t put, move_func_t get)
{
    int target = check_target(round), origin = check_origin(round), me = shmem_my_pe();
    check_fill(local, size, (unsigned)me);
    shmem_barrier_all();
    put(symmetric, local, size, target);
    shmem_barrier_all();
    check_bytes("put from prepared memory", symmetric, size, (unsigned)origin);
    memset(local, 0, size);
    get(local, symmetric, size, target);
    shmem_quiet();
    check_bytes("get to prepared memory", local, size, (unsigned)me);
    shmem_barrier_all();
}

/* The whole of a prepared range, parts of it, and bytes that reach beyond its end. */
static void check_transfers(char *symmetric, char *local)
{
    static const struct {
        size_t prepared_at, prepared, at, size;
    } cases[] = {
        {0, AREA, 0, AREA},         {64, PART, 64, PART},     {64, PART, 1000, 8},
        {0, PART, PART - 10, 1000}, {1001, 4097, 1001, 4097}, {5000, 10, 0, PART},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK(shmemx_prepare(local + cases[i].prepared_at, cases[i].prepared) == 0);
        for (int round = 0; round < shmem_n_pes() && round < 3; round++) {
            check_round(symmetric, local + cases[i].at, cases[i].size, round, shmem_putmem, shmem_getmem);
            check_round(symmetric, local + cases[i].at, cases[i].size, round, shmem_putmem_nbi, shmem_getmem_nbi);
        }
        CHECK(shmemx_release(local + cases[i].prepared_at) == 0);
    }
}

static void check_strided(long *symmetric, long *local)
{
    enum { N = 1000 };
    int me = shmem_my_pe();
    CHECK(shmemx_prepare(local, 2 * N * sizeof *local) == 0);
    for (long i = 0; i < 2 * N; i++)
        local[i] = me * 100000L + i;
    shmem_barrier_all();
    shmem_long_iput(symmetric, local, 3, 2, N, check_target(1));
    shmem_barrier_all();
    for (long i = 0; i < N; i++)
        CHECK(symmetric[3 * i] == check_origin(1) * 100000L + 2 * i);
    shmem_barrier_all();
    CHECK(shmemx_release(local) == 0);
}

/* Ranges in no order, some counted twice; what is in between stays unprepared. */
static void check_many(char *memory)
{
    enum { STEP = 8192, SIZE = 5000 };
    for (int i = 0; i < MANY; i++)
        CHECK(shmemx_prepare(memory + i * 37 % MANY * STEP, SIZE) == 0);
    for (int i = 0; i < MANY; i += 2)
        CHECK(shmemx_prepare(memory + i * STEP, SIZE) == 0);
    CHECK(refused_prepare(memory + 50 * STEP + SIZE - 1, STEP) == -EEXIST);
    CHECK(shmemx_prepare(memory + 50 * STEP + SIZE, STEP - SIZE) == 0);
    CHECK(shmemx_release(memory + 50 * STEP + SIZE) == 0);
    for (int i = 0; i < MANY; i++)
        CHECK(shmemx_release(memory + i * 61 % MANY * STEP) == 0);
    for (int i = 1; i < MANY; i += 2)
        CHECK(refused_release(memory + i * STEP) == -EINVAL);
    for (int i = 0; i < MANY; i += 2)
        CHECK(shmemx_release(memory + i * STEP) == 0);
}

static void *use_as_well(void *argument)
{
    char *memory = argument;
    for (int i = 0; i < 100; i++) {
        CHECK(shmemx_prepare(memory, PART / 4) == 0);
        CHECK(shmemx_release(memory) == 0);
    }
    return NULL;
}

static void check_threads(char *memory, char *symmetric)
{
    pthread_t thread[THREADS];
    int target = check_target(1), origin = check_origin(1);
    for (int i = 0; i < THREADS; i++) /* two of them share a range */
        CHECK(!pthread_create(&thread[i], NULL, use_as_well, memory + i / 2 * (PART / 4)));
    check_fill(memory + 2 * PART, PART, (unsigned)shmem_my_pe());
    CHECK(shmemx_prepare(memory + 2 * PART, PART) == 0);
    for (int i = 0; i < 20; i++)
        shmem_putmem(symmetric, memory + 2 * PART, PART, target);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    shmem_barrier_all();
    check_bytes("put among threads that prepare", symmetric, PART, (unsigned)origin);
    CHECK(shmemx_release(memory + 2 * PART) == 0);
    shmem_barrier_all();
}

int main(void)
{
    int provided;
    CHECK(!shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) && provided == SHMEM_THREAD_MULTIPLE);
    char *heap = check_shmem_malloc(AREA), *memory = check_malloc(AREA);
    check_counting(memory);
    check_counting(static_local);
    check_state(memory, heap);
    check_overlaps(memory);
    check_refusals(memory, heap);
    check_transfers(heap, memory);
    check_transfers(static_area, memory);
    check_transfers(static_area, heap);
    check_strided((long *)heap, (long *)memory);
    check_many(memory);
    check_threads(memory, heap);
    CHECK(shmemx_prepare(memory, PART) == 0 && shmemx_prepare(memory, PART) == 0); /* left to shmem_finalize */
    CHECK(shmemx_prepare(static_local, PART) == 0);
    return check_end();
}
