// SPDX-License-Identifier: BSD-3-Clause
//
// Random programs: on every PE two blocks of a kernel (shmemx_device.h, played by threads of the CPU) and the host put, get,
// signal, wait and update words at the same time, in rounds that the kernels or the hosts end by a barrier. Every PE knows
// the program of all PEs, and with it what each must see: a model is compared with what gets and waits find, and with the
// whole memory after each round.
//
// Usage: device_random [PROGRAMS [SECONDS [FIRST]]]: as many programs as that, but no longer than that (0: no limit), from
// the program with this number on.
#include "device_actors.h"

#include <thread>

namespace
{

const shmemx_device_block_t block;
shmemi_device::host_barrier meeting; // of the actors of this PE

// ---- Blocks ------------------------------------------------------------------------------------------------------------

void wait_as_block(int receiver)
{
    int status[PES_MOST * ACTORS];
    senders(receiver, status);
    shmemx_device_signal_wait_until(block, view, &own->added[receiver], SHMEM_CMP_GE,
                                    after[static_cast<size_t>(me)].added[receiver]);
    shmemx_device_wait_until_all(block, view, own->set, static_cast<unsigned long>(n_pes * ACTORS), status,
                                 SHMEM_CMP_GE, round_number);
    if (block.rank() == 0)
        check_messages(own, receiver);
}

void round_of_block(int mine)
{
    const int number = me * ACTORS + mine;
    actor &a = actors[static_cast<size_t>(number)];
    meeting.wait();
    const scene here = {view, own, round_number, half()};
    bool needs_quiet = !by_kernel || a.is_quiet;
    for (const op &o : a.ops) {
        by_block(here, number, o, a.source, a.result);
        needs_quiet = needs_quiet || (o.what == GET && o.is_special);
    }
    wait_as_block(mine);
    if (needs_quiet)
        shmemx_device_quiet(block, view);
    block.sync();
    if (block.rank() == 0)
        check_gets(number);
    meeting.wait();
    if (by_kernel && mine == 0)
        shmemx_device_barrier(block, team);
    meeting.wait();
}

// ---- The host ----------------------------------------------------------------------------------------------------------

void wait_as_host()
{
    int status[PES_MOST * ACTORS];
    senders(HOST, status);
    shmem_signal_wait_until(&own->added[HOST], SHMEM_CMP_GE, after[static_cast<size_t>(me)].added[HOST]);
    shmem_ulong_wait_until_all(own->set, static_cast<size_t>(n_pes * ACTORS), status, SHMEM_CMP_GE, round_number);
    check_messages(own, HOST);
}

// The last barrier is there because words are compared that the next round changes.
void round_of_host(numbers &random)
{
    const int number = me * ACTORS + HOST;
    actor &a = actors[static_cast<size_t>(number)];
    prepare_round(random);
    meeting.wait();
    for (const op &o : a.ops)
        by_host(number, o, &a);
    wait_as_host();
    shmem_quiet();
    check_gets(number);
    meeting.wait();
    if (!by_kernel)
        shmem_barrier_all();
    meeting.wait();
    expect_same(own, &after[static_cast<size_t>(me)], MODELLED, "the memory", number);
    shmem_barrier_all();
}

void run_program()
{
    numbers random(program);
    random.next();
    const unsigned threads = 1 + random.below(n_pes > 3 ? 2 : 6);
    meeting = shmemi_device::host_barrier{BLOCKS * threads + 1, 0, 0, 0};
    std::thread kernel([=] {
        shmemx_device_host_launch(BLOCKS, threads, [] {
            for (int i = 0; i < ROUNDS; i++)
                round_of_block(static_cast<int>(shmemx_device_host_block()));
        });
    });
    for (int i = 0; i < ROUNDS; i++)
        round_of_host(random);
    kernel.join();
}

// PE 0 says whether there is time for another one.
bool goes_on(unsigned long n_done, unsigned long programs, unsigned long seconds, shmemi_device::word begin)
{
    static int answer, result;
    if (me == 0)
        answer = n_done < programs && (!seconds || shmemi_device::clock_ns() - begin < seconds * 1000000000u);
    shmem_int_broadcast(SHMEM_TEAM_WORLD, &result, &answer, 1, 0);
    shmem_barrier_all();
    return result;
}

unsigned long argument(int argc, char **argv, int i, unsigned long standard)
{
    return argc > i ? strtoul(argv[i], nullptr, 10) : standard;
}

} // namespace

int main(int argc, char **argv)
{
    const unsigned long programs = argument(argc, argv, 1, 300), seconds = argument(argc, argv, 2, 2);
    const unsigned long first = argument(argc, argv, 3, 0);
    unsigned long n_done = 0;
    shmem_init();
    me = shmem_my_pe();
    n_pes = shmem_n_pes();
    CHECK(n_pes <= PES_MOST);
    own = static_cast<memory *>(shmem_align(64, sizeof *own));
    memset(static_cast<void *>(own), 0, sizeof *own);
    after.resize(static_cast<size_t>(n_pes));
    CHECK(!shmemx_device_view(own, &view));
    CHECK(!shmemx_device_team_view(SHMEM_TEAM_WORLD, own->work, sizeof own->work, &team));
    shmem_barrier_all();
    const shmemi_device::word begin = shmemi_device::clock_ns();
    for (; goes_on(n_done, programs, seconds, begin); n_done++) {
        program = first + n_done;
        run_program();
    }
    shmem_free(own);
    shmem_finalize();
    if (me == 0)
        printf("ok, %lu programs\n", n_done);
}
