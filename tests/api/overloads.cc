/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The names without a type in C++: the calls of generic_calls.h, each form with a context, waits, collectives, complex
 * numbers of C++, and arguments that have to be converted.
 */
#include "generic_calls.h"

#include <complex>
#include <vector>

namespace
{
/* A complex number as other libraries have them. */
template <typename T> struct Pair {
    T re, im;
    T real() const
    {
        return re;
    }
    T imag() const
    {
        return im;
    }
};

shmem_ctx_t context;
std::complex<double> wide_sum[2];
std::complex<float> narrow_sum;
Pair<double> pair_sum;

void check_contexts()
{
    static double row[8];
    static unsigned long counter;
    static uint64_t signal;
    const int pe = check_target(1);
    const std::vector<double> source(8, shmem_my_pe());
    double back[2] = {-1, -1};
    unsigned long old = 9;
    shmem_put(context, row, source.data(), 2, pe);
    shmem_put_nbi(context, row + 2, source.data(), 2, pe);
    shmem_iput(context, row + 4, source.data(), 2, 1, 2, pe);
    shmem_p(context, row + 7, shmem_my_pe(), pe); // an int for a double
    shmem_ctx_quiet(context);
    shmem_get(context, back, row, 1, pe);
    shmem_get_nbi(context, back + 1, row + 7, 1, pe);
    shmem_ctx_quiet(context);
    CHECK(back[0] == shmem_my_pe() && back[1] == shmem_my_pe());
    CHECK(shmem_g(context, row + 3, pe) == shmem_my_pe() && shmem_g(context, row + 5, pe) == 0);
    shmem_atomic_add(context, &counter, 1, pe);
    shmem_ctx_quiet(context);
    CHECK(shmem_atomic_fetch_add(context, &counter, 1, pe) == 1);
    shmem_atomic_fetch_or_nbi(context, &old, &counter, 4, pe);
    shmem_ctx_quiet(context);
    CHECK(old == 2 && shmem_atomic_compare_swap(context, &counter, 6, -1, pe) == 6);
    CHECK(shmem_atomic_fetch(context, &counter, pe) == static_cast<unsigned long>(-1));
    shmem_signal_set(context, &signal, 5, pe);
    shmem_ctx_quiet(context);
    shmem_signal_add(context, &signal, 1, pe);
    shmem_put_signal(context, row, source.data(), 1, &signal, 2, SHMEM_SIGNAL_ADD, pe);
    shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 8);
    CHECK(row[0] == check_origin(1));
    shmem_barrier_all();
}

void check_waits()
{
    static short narrow;
    static long plain, words[3];
    static long long values[3];
    static const long long expected[3] = {1, 2, 3};
    size_t indices[3];
    const int pe = check_target(1);
    shmem_p(&narrow, 3, pe);
    shmem_p(&plain, 4, pe);
    for (int i = 0; i < 3; i++) {
        shmem_atomic_set(&words[i], 1, pe);
        shmem_atomic_set(&values[i], i + 1, pe);
    }
    shmem_wait_until(&narrow, SHMEM_CMP_EQ, 3);
    shmem_wait_until(&plain, SHMEM_CMP_EQ, 4); // the old routine of C
    shmem_wait_until_all(words, 3, nullptr, SHMEM_CMP_EQ, 1);
    shmem_wait_until_all_vector(values, 3, nullptr, SHMEM_CMP_EQ, expected);
    CHECK(shmem_wait_until_some(words, 3, indices, nullptr, SHMEM_CMP_NE, 0) == 3 && indices[2] == 2);
    CHECK(shmem_test_any(values, 3, nullptr, SHMEM_CMP_GT, 2) == 2 && !shmem_test(&narrow, SHMEM_CMP_GT, 3));
    shmem_barrier_all();
}

void check_collectives()
{
    const std::complex<double> wide(1, shmem_my_pe());
    const std::complex<float> narrow(2, -1);
    const Pair<double> pair = {1, 0.5};
    const double n = shmem_n_pes();
    CHECK(!shmem_sync(SHMEM_TEAM_WORLD));
    CHECK(!shmem_sum_reduce(SHMEM_TEAM_WORLD, wide_sum, &wide, 1));
    CHECK(!shmem_prod_reduce(SHMEM_TEAM_WORLD, &narrow_sum, &narrow, 1));
    CHECK(!shmem_sum_reduce(SHMEM_TEAM_WORLD, &pair_sum, &pair, 1));
    CHECK(wide_sum[0] == std::complex<double>(n, n * (n - 1) / 2));
    CHECK(pair_sum.re == n && pair_sum.im == n / 2);
    CHECK(!shmem_sum_inscan(SHMEM_TEAM_WORLD, wide_sum + 1, &wide, 1));
    CHECK(wide_sum[1].real() == shmem_my_pe() + 1);
    CHECK(!shmem_sum_exscan(SHMEM_TEAM_WORLD, wide_sum + 1, &wide, 1));
    CHECK(shmem_my_pe() == 0 || wide_sum[1].real() == shmem_my_pe());
    if (shmem_n_pes() == 1)
        CHECK(narrow_sum == narrow);
    shmem_barrier_all();
}

/* const handles and pointers, and the address of a routine that has several forms */
void check_conversions()
{
    static float word;
    const shmem_team_t team = SHMEM_TEAM_WORLD;
    void (*const set_signal)(uint64_t *, uint64_t, int) = shmem_signal_set;
    static uint64_t signal;
    float *const target = &word;
    set_signal(&signal, 1, check_target(1));
    shmem_put(target, nullptr, 0, check_target(1));
    shmem_p(target, 1, check_target(1));
    shmem_barrier_all();
    CHECK(word == 1 && signal == 1 && shmem_broadcast(team, target, target, 1, 0) == 0);
    shmem_barrier_all();
}
} // namespace

int main()
{
    shmem_init();
    CHECK(!shmem_ctx_create(0, &context));
    check_calls();
    check_contexts();
    check_waits();
    check_collectives();
    check_conversions();
    shmem_ctx_destroy(context);
    return check_end();
}
