/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The headers in C++: typed calls, static data of several kinds, a namespace and a class, complex through its parts.
 */
#include "check.h"

#include <pshmem.h>
#include <shmemx.h>

#include <complex>
#include <vector>

namespace
{
long counter;
double values[10];

struct Board {
    static uint64_t signal;
    static std::complex<double> amplitude;
};

uint64_t Board::signal = 3;
std::complex<double> Board::amplitude(1, 2);

void check_puts()
{
    const int pe = check_target(1);
    std::vector<double> source(10);
    for (size_t i = 0; i < source.size(); i++)
        source[i] = shmem_my_pe() + 0.5 * static_cast<double>(i);
    shmem_double_put(values, source.data(), source.size(), pe);
    shmem_putmem(&Board::amplitude, source.data(), sizeof(Board::amplitude), pe);
    shmem_long_atomic_add(&counter, 7, pe);
    shmem_barrier_all();
    for (int i = 0; i < 10; i++)
        CHECK(values[i] == check_origin(1) + 0.5 * i);
    CHECK(Board::amplitude == std::complex<double>(check_origin(1), check_origin(1) + 0.5));
    CHECK(counter == 7);
}

void check_signals()
{
    shmem_signal_add(&Board::signal, 4, check_target(1));
    CHECK(shmem_signal_wait_until(&Board::signal, SHMEM_CMP_EQ, 7) == 7);
}

void check_collectives()
{
    int *all = static_cast<int *>(shmem_calloc(static_cast<size_t>(shmem_n_pes()), sizeof(int)));
    CHECK(all);
    int me = shmem_my_pe();
    CHECK(shmem_int_fcollect(SHMEM_TEAM_WORLD, all, &me, 1) == 0);
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        CHECK(all[pe] == pe);
    CHECK(shmem_int_max_reduce(SHMEM_TEAM_WORLD, all, &me, 1) == 0);
    CHECK(all[0] == shmem_n_pes() - 1);
    shmem_free(all);
}
} // namespace

int main()
{
    shmem_init();
    check_puts();
    check_signals();
    check_collectives();
    shmemx_heap_info_t info;
    shmemx_heap_info(&info);
    CHECK(info.used == 0);
    return check_end();
}
