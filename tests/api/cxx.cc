/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The headers in C++: routines of every family with their typed names, handles and configurations, static data of
 * several kinds (in a namespace, of a class, of a function, of a template), complex numbers through their parts,
 * threads.
 */
#include "check.h"

#include <pshmem.h>
#include <shmemx.h>

#include <complex>
#include <thread>
#include <vector>

namespace
{
long counter;
double values[10];
uint32_t table[40];

struct Board {
    static uint64_t signal;
    static std::complex<double> amplitude;
};

uint64_t Board::signal = 3;
std::complex<double> Board::amplitude(1, 2);

template <typename T> struct Shared {
    static T value;
};
template <typename T> T Shared<T>::value = T();

const shmem_team_t first_team = SHMEM_TEAM_WORLD;
shmem_ctx_t some_context = SHMEM_CTX_INVALID;

void check_puts()
{
    static float in_function;
    const int pe = check_target(1);
    std::vector<double> source(10);
    for (size_t i = 0; i < source.size(); i++)
        source[i] = shmem_my_pe() + 0.5 * static_cast<double>(i);
    shmem_double_put(values, source.data(), source.size(), pe);
    shmem_putmem(&Board::amplitude, source.data(), sizeof(Board::amplitude), pe);
    shmem_float_p(&in_function, 2.5F, pe);
    shmem_longlong_p(&Shared<long long>::value, 77, pe);
    shmem_long_atomic_add(&counter, 7, pe);
    shmem_barrier_all();
    for (int i = 0; i < 10; i++)
        CHECK(values[i] == check_origin(1) + 0.5 * i);
    CHECK(Board::amplitude == std::complex<double>(check_origin(1), check_origin(1) + 0.5));
    CHECK(counter == 7 && in_function == 2.5F && Shared<long long>::value == 77);
    CHECK(shmem_double_g(&values[2], pe) == shmem_my_pe() + 1.0);
    shmem_barrier_all();
}

void check_strided()
{
    uint32_t source[20], back[6] = {0};
    for (uint32_t i = 0; i < 20; i++)
        source[i] = 100 * static_cast<uint32_t>(shmem_my_pe()) + i;
    shmem_uint32_iput(table, source, 3, 2, 5, check_target(1));
    shmem_ibput32(table + 20, source, 5, 4, 3, 3, check_target(1));
    shmem_barrier_all();
    const uint32_t first = 100 * static_cast<uint32_t>(check_origin(1));
    for (uint32_t i = 0; i < 5; i++)
        CHECK(table[3 * i] == first + 2 * i);
    for (uint32_t i = 0; i < 9; i++)
        CHECK(table[20 + 5 * (i / 3) + i % 3] == first + 4 * (i / 3) + i % 3);
    shmem_uint32_ibget(back, table + 20, 3, 5, 3, 2, shmem_my_pe());
    CHECK(back[0] == first && back[5] == first + 6);
    shmem_uint32_iget(back, table, 1, 3, 5, shmem_my_pe());
    CHECK(back[4] == first + 8);
    shmem_barrier_all();
}

void check_atomics()
{
    static unsigned int bits;
    static double number;
    static size_t size;
    const int pe = check_target(1);
    size_t old = 99;
    shmem_uint_atomic_or(&bits, 6U, pe);
    shmem_double_atomic_set(&number, -0.5, pe);
    shmem_size_atomic_fetch_add_nbi(&old, &size, 5, pe);
    shmem_quiet();
    CHECK(shmem_uint_atomic_fetch_and(&bits, 3U, pe) == 6U && shmem_uint_atomic_fetch(&bits, pe) == 2U);
    CHECK(shmem_double_atomic_swap(&number, 1.5, pe) == -0.5 && old == 0);
    CHECK(shmem_size_atomic_compare_swap(&size, 5, 6, pe) == 5 && shmem_size_atomic_fetch_inc(&size, pe) == 6);
    shmem_barrier_all();
    CHECK(size == 7 && number == 1.5);
}

void check_signals()
{
    static unsigned char payload[100];
    const std::vector<unsigned char> source(100, static_cast<unsigned char>(shmem_my_pe() + 1));
    shmem_signal_add(&Board::signal, 4, check_target(1));
    CHECK(shmem_signal_wait_until(&Board::signal, SHMEM_CMP_EQ, 7) == 7);
    shmem_sync_all();
    shmem_uchar_put_signal_nbi(payload, source.data(), source.size(), &Board::signal, 8, SHMEM_SIGNAL_SET,
                               check_target(1));
    shmem_uint64_wait_until(&Board::signal, SHMEM_CMP_GT, 7);
    CHECK(shmem_uint64_test(&Board::signal, SHMEM_CMP_EQ, 8) && shmem_signal_fetch(&Board::signal) == 8);
    CHECK(payload[0] == check_origin(1) + 1 && payload[99] == check_origin(1) + 1);
    shmem_barrier_all();
}

/* A team, a context on it, a session on that, and a thread of its own. */
void check_teams_and_contexts()
{
    const int n = shmem_n_pes();
    const shmem_team_config_t config = {1};
    const shmem_ctx_session_config_t session = {10};
    shmem_team_t team = SHMEM_TEAM_INVALID, x, y;
    CHECK(!shmem_team_split_strided(first_team, n - 1, -1, n, &config, SHMEM_TEAM_NUM_CONTEXTS, &team));
    CHECK(!shmem_team_create_ctx(team, SHMEM_CTX_SERIALIZED | SHMEM_CTX_NOSTORE, &some_context));
    counter = 0;
    shmem_barrier_all();
    const int next = (shmem_team_my_pe(team) + 1) % n;
    std::thread([next, &session] {
        shmem_ctx_session_start(some_context, SHMEM_CTX_SESSION_BATCH, &session, SHMEM_CTX_SESSION_TOTAL_OPS);
        shmem_ctx_long_p(some_context, &counter, 5, next);
        shmem_ctx_session_stop(some_context);
        shmem_ctx_pe_quiet(some_context, &next, 1);
    }).join();
    CHECK(!shmem_team_sync(team));
    CHECK(shmem_long_atomic_fetch(&counter, shmem_my_pe()) == 5);
    shmem_ctx_destroy(some_context);
    CHECK(!shmem_team_split_2d(team, 2, nullptr, 0, &x, nullptr, 0, &y));
    CHECK(shmem_team_translate_pe(x, shmem_team_my_pe(x), SHMEM_TEAM_WORLD) == shmem_my_pe());
    shmem_team_destroy(y);
    shmem_team_destroy(x);
    shmem_team_destroy(team);
}

void check_collectives()
{
    int *all = static_cast<int *>(shmem_calloc(static_cast<size_t>(shmem_n_pes()), sizeof(int)));
    CHECK(all);
    static int me;
    me = shmem_my_pe();
    CHECK(shmem_int_fcollect(SHMEM_TEAM_WORLD, all, &me, 1) == 0);
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        CHECK(all[pe] == pe);
    CHECK(shmem_int_max_reduce(SHMEM_TEAM_WORLD, all, &me, 1) == 0);
    CHECK(all[0] == shmem_n_pes() - 1);
    CHECK(pshmem_int_broadcast(SHMEM_TEAM_WORLD, all, &me, 1, shmem_n_pes() - 1) == 0);
    CHECK(all[0] == shmem_n_pes() - 1);
    shmem_free(all);
}

/* One PE after the other. */
void check_lock()
{
    static long lock, sum;
    for (int i = 0; i < 3; i++) {
        shmem_set_lock(&lock);
        const long before = shmem_long_g(&sum, 0);
        shmem_long_p(&sum, before + 1, 0);
        shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
    CHECK(shmem_long_g(&sum, 0) == 3L * shmem_n_pes());
    shmem_barrier_all();
}
} // namespace

int main()
{
    int provided = -1;
    CHECK(!shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) && provided == SHMEM_THREAD_MULTIPLE);
    check_puts();
    check_strided();
    check_atomics();
    check_signals();
    check_teams_and_contexts();
    check_collectives();
    check_lock();
    shmemx_heap_info_t info;
    shmemx_heap_info(&info);
    CHECK(info.used == 0);
    return check_end();
}
