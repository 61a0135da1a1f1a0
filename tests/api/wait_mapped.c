/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waiting on words of mapped device memory, which a CPU cannot load from: one word of each size, sets larger than one
 * read, data that have arrived when the flag has. Runs with each kind of device that is here.
 */
#include "check.h"
#include "map_check.h"
#include "tests/patience.h"

#include <shmemx.h>

enum { N = 200, BYTES = 4096 };

static struct device *device;
static void *object;

static void clear(void)
{
    static const char zeros[BYTES];
    shmem_barrier_all();
    device_write(device, object, 0, zeros, BYTES);
    shmem_barrier_all();
}

/* ---- one word ---------------------------------------------------------------------------------------------------- */

static void check_short(short *word)
{
    clear();
    CHECK(!shmem_short_test(&word[2], SHMEM_CMP_LT, 0));
    shmem_short_p(&word[3], -2, check_target(1));
    shmem_short_wait_until(&word[3], SHMEM_CMP_LT, -1);
    CHECK(shmem_short_test(&word[3], SHMEM_CMP_EQ, -2) && shmem_short_test(&word[2], SHMEM_CMP_EQ, 0));
}

static void check_int(int *word)
{
    clear();
    shmem_int_p(&word[5], -7, check_target(1));
    shmem_int_wait_until(&word[5], SHMEM_CMP_NE, 0);
    CHECK(shmem_int_test(&word[5], SHMEM_CMP_EQ, -7) && shmem_int_test(&word[6], SHMEM_CMP_EQ, 0));
}

static void check_signal(uint64_t *word)
{
    uint64_t value = (uint64_t)1 << 63;
    clear();
    CHECK(shmem_signal_fetch(word + 1) == 0);
    shmem_uint64_p(word, value, check_target(1));
    CHECK(shmem_signal_wait_until(word, SHMEM_CMP_GT, 5) == value);
    CHECK(shmem_signal_fetch(word) == value);
}

/* Updates that a context could hold back come although this thread does nothing but look, and though there may be no
 * other PE. */
static void check_fetch(uint64_t *words)
{
    enum { N_PUTS = 100 };
    uint64_t values[N_PUTS];
    unsigned turns = 0;
    clear();
    for (uint64_t i = 0; i < N_PUTS; i++) {
        values[i] = i + 1;
        shmem_uint64_put_nbi(&words[3 * i], &values[i], 1, check_target(1));
    }
    shmem_uint64_atomic_add(&words[1], 9, check_target(1));
    for (size_t i = 0; i < N_PUTS; i++)
        while (shmem_signal_fetch(&words[3 * i]) != i + 1)
            wait_a_turn(&turns);
    while (shmem_signal_fetch(&words[1]) != 9)
        wait_a_turn(&turns);
    shmem_quiet();
    CHECK(shmem_signal_fetch(&words[2]) == 0);
}

/* The flag follows the data, which are read through the vendor's API. */
static void check_data_before_flag(long *words)
{
    long data[N], found[N];
    clear();
    for (long round = 1; round <= 5; round++) {
        for (int i = 0; i < N; i++)
            data[i] = round * 1000 + i;
        shmem_long_put_nbi(words + 1, data, N, check_target(1));
        shmem_fence();
        shmem_long_p(words, round, check_target(1));
        shmem_long_wait_until(words, SHMEM_CMP_EQ, round);
        device_read(device, found, object, sizeof(long), sizeof found);
        for (int i = 0; i < N; i++)
            CHECK_THAT(found[i] == data[i], "element %d is %ld when the flag is there, expected %ld", i, found[i],
                       data[i]);
        shmem_barrier_all();
    }
}

/* ---- sets -------------------------------------------------------------------------------------------------------- */

static void expect_none(long *words, const int *status)
{
    size_t indices[N];
    CHECK(shmem_long_test_any(words, N, status, SHMEM_CMP_NE, 0) == SIZE_MAX);
    CHECK(shmem_long_test_some(words, N, indices, status, SHMEM_CMP_NE, 0) == 0);
    CHECK(!shmem_long_test_all(words, N, status, SHMEM_CMP_NE, 0));
}

/* Words that are updated one after another, in a special order, are all found. */
static void check_any(long *words)
{
    int status[N] = {0};
    size_t index;
    clear();
    expect_none(words, status);
    shmem_barrier_all();
    for (size_t i = 0; i < N; i += 9) {
        size_t which = i * 77 % N;
        shmem_long_p(&words[which], 4, check_target(1));
        CHECK(shmem_long_wait_until_any(words, N, status, SHMEM_CMP_EQ, 4) == which);
        CHECK(shmem_long_test_any(words, N, status, SHMEM_CMP_EQ, 4) == which);
        CHECK(shmem_long_test_some(words, N, &index, status, SHMEM_CMP_GE, 4) == 1 && index == which);
        status[which] = 1;
        shmem_barrier_all();
    }
    expect_none(words, status);
}

static void check_some_and_all(long *words)
{
    long values[N];
    int status[N] = {0};
    size_t indices[N], n_found = 0;
    clear();
    for (int i = 0; i < N; i++)
        values[i] = i - N - 1;
    shmem_long_put_nbi(words, values, N / 2, check_target(1));
    shmem_long_put_nbi(words + N / 2, values + N / 2, N - N / 2, check_target(1));
    shmem_quiet();
    while (n_found < N) {
        size_t n = shmem_long_wait_until_some_vector(words, N, indices, status, SHMEM_CMP_EQ, values);
        CHECK_THAT(n > 0 && n <= N - n_found, "%zu of %zu words found at once", n, N - n_found);
        for (size_t i = 0; i < n; i++)
            CHECK_THAT(!status[indices[i]]++, "word %zu was found twice", indices[i]);
        n_found += n;
    }
    shmem_long_wait_until_all_vector(words, N, NULL, SHMEM_CMP_EQ, values);
    shmem_long_wait_until_all(words, N, NULL, SHMEM_CMP_LT, 0);
    CHECK(shmem_long_test_all(words, N, NULL, SHMEM_CMP_LE, -2));
    CHECK(!shmem_long_test_all(words, N, NULL, SHMEM_CMP_LT, -2));
}

static void check_device(void)
{
    object = device_alloc(device, BYTES);
    void *words = shmmap(object, BYTES, device->ops->memtype);
    CHECK_THAT(words, "shmmap: %s", shmemx_strerror());
    check_short(words);
    check_int(words);
    check_signal(words);
    check_fetch(words);
    check_data_before_flag(words);
    check_any(words);
    check_some_and_all(words);
    shmem_barrier_all();
    shmumap(words);
    device_free(device, object);
}

/* How many kinds of device there are. route: NULL leaves it to the environment. */
static int check_route(const char *route)
{
    static const struct device_ops *const kinds[] = {&device_opencl_ops, &device_cuda_ops};
    int n_checked = 0;
    if (route)
        setenv("SHMEM_GPU_ROUTE", route, 1);
    shmem_init();
    for (int i = 0; i < 2; i++) {
        device = map_open_device(kinds[i]);
        if (!device)
            continue;
        check_device();
        n_checked++;
    }
    return n_checked;
}

/* Over the route that the environment names; without one over the staged and the direct one. */
static int check_routes(void)
{
    if (getenv("SHMEM_GPU_ROUTE"))
        return check_route(NULL);
    if (!check_route("staged"))
        return 0;
    shmem_finalize();
    return check_route("auto");
}

int main(void)
{
    if (check_routes())
        return check_end();
    if (shmem_my_pe() == 0)
        puts("no device of any kind on this machine");
    shmem_finalize();
    return CHECK_SKIP;
}
