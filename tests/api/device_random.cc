// SPDX-License-Identifier: BSD-3-Clause
//
// Random programs: on every PE two blocks of a kernel (shmemx_device.h, played by threads of the CPU) and the host put, get,
// signal, wait and update words at the same time, in rounds that the kernels or the hosts end by a barrier. Every PE knows
// the program of all PEs, and with it what each must see: a model is compared with what gets and waits find, and with the
// whole memory after each round.
//
// Usage: device_random [PROGRAMS [SECONDS [FIRST]]]: as many programs as that, but no longer than that (0: no limit), from
// the program with this number on.
#include "device_program.h"

#include <thread>

namespace
{

// ---- What is seen ------------------------------------------------------------------------------------------------------

void expect_same(const void *seen, const void *expected, unsigned long n, const char *what, int number)
{
    const unsigned char *s = static_cast<const unsigned char *>(seen),
                        *e = static_cast<const unsigned char *>(expected);
    for (unsigned long i = 0; i < n; i++)
        CHECK_THAT(s[i] == e[i], "program %lu, round %lu, actor %d: byte %lu of %lu of %s is %d, not %d", program,
                   round_number, number, i, n, what, s[i], e[i]);
}

void check_gets(int number)
{
    const actor &a = actors[static_cast<size_t>(number)];
    for (const op &o : a.ops)
        if (o.what == GET || o.what == G)
            expect_same(a.result + o.to, before[static_cast<size_t>(o.pe)].part[1 - half()][o.part] + o.from, o.n,
                        "a get", number);
}

// The data of the messages to an actor of this PE, whose signals it has seen.
void check_messages(int receiver)
{
    for (int number = 0; number < n_pes * ACTORS; number++)
        for (const op &o : actors[static_cast<size_t>(number)].ops)
            if (o.what == MESSAGE && o.pe == me && o.receiver == receiver)
                expect_same(own->part[half()][number] + o.to,
                            after[static_cast<size_t>(me)].part[half()][number] + o.to, o.n, "a message", number);
}

// status for waits on own->set: 0 for actors of which a message with such a signal comes to this one.
void senders(int receiver, int *status)
{
    for (int number = 0; number < n_pes * ACTORS; number++) {
        status[number] = 1;
        for (const op &o : actors[static_cast<size_t>(number)].ops)
            if (o.what == MESSAGE && o.pe == me && o.receiver == receiver && !o.adds)
                status[number] = 0;
    }
}

// ---- Blocks ------------------------------------------------------------------------------------------------------------

const shmemx_device_block_t block;

bool is_first_of(int group)
{
    return group == 0 || (group == 2 ? block.rank() == 0 : block.rank() == shmemx_device_warp_t().rank());
}

template <class T> void word_by_thread(const op &o, unsigned char *there, actor *a)
{
    T value;
    if (o.what == P) {
        memcpy(&value, a->source + o.from, sizeof value);
        shmemx_device_p(view, reinterpret_cast<T *>(there), value, o.pe);
    } else {
        value = shmemx_device_g(view, reinterpret_cast<const T *>(own->part[1 - half()][o.part] + o.from), o.pe);
        memcpy(a->result + o.to, &value, sizeof value);
    }
}

template <class T> void update_by_thread(const op &o, T *word)
{
    const T value = static_cast<T>(o.value);
    switch (update_of(o.word, o.is_wide)) {
    case ADD:
        o.is_special ? (void)shmemx_device_atomic_fetch_add(view, word, value, o.pe)
                     : shmemx_device_atomic_add(view, word, value, o.pe);
        break;
    case XOR:
        o.is_special ? (void)shmemx_device_atomic_fetch_xor(view, word, value, o.pe)
                     : shmemx_device_atomic_xor(view, word, value, o.pe);
        break;
    case OR:
        o.is_special ? (void)shmemx_device_atomic_fetch_or(view, word, value, o.pe)
                     : shmemx_device_atomic_or(view, word, value, o.pe);
        break;
    case AND:
        o.is_special ? (void)shmemx_device_atomic_fetch_and(view, word, value, o.pe)
                     : shmemx_device_atomic_and(view, word, value, o.pe);
        break;
    case COUNT:
        for (T seen = shmemx_device_atomic_fetch(view, word, o.pe), old;; seen = old)
            if ((old = shmemx_device_atomic_compare_swap(view, word, seen, seen + 1, o.pe)) == seen)
                break;
        break;
    default:
        o.is_special ? (void)shmemx_device_atomic_swap(view, word, static_cast<T>(round_number), o.pe)
                     : shmemx_device_atomic_set(view, word, static_cast<T>(round_number), o.pe);
    }
}

template <class GROUP> void move_by(GROUP group, const op &o, unsigned char *there, unsigned long *signal, actor *a)
{
    const unsigned char *other = own->part[1 - half()][o.part] + o.from;
    const unsigned long value = o.adds ? 1 : round_number;
    const int how = o.adds ? SHMEM_SIGNAL_ADD : SHMEM_SIGNAL_SET;
    if (o.what == PUT && o.is_special)
        shmemx_device_put_nbi(group, view, there, a->source + o.from, o.n, o.pe);
    else if (o.what == PUT)
        shmemx_device_putmem(group, view, there, a->source + o.from, o.n, o.pe);
    else if (o.what == GET && o.is_special)
        shmemx_device_getmem_nbi(group, view, a->result + o.to, other, o.n, o.pe);
    else if (o.what == GET)
        shmemx_device_get(group, view, a->result + o.to, other, o.n, o.pe);
    else if (o.is_special)
        shmemx_device_put_signal_nbi(group, view, there, a->source + o.from, o.n, signal, value, how, o.pe);
    else if (o.n)
        shmemx_device_put_signal(group, view, there, a->source + o.from, o.n, signal, value, how, o.pe);
    else if (group.rank() == 0)
        shmemx_device_signal_op(view, signal, value, how, o.pe);
}

void by_block(int number, const op &o, actor *a)
{
    unsigned char *there = own->part[half()][number] + o.to;
    unsigned long *signal = o.adds ? &own->added[o.receiver] : &own->set[number];
    if (o.what == P || o.what == G || o.what == UPDATE) {
        if (block.rank() != o.value % block.size())
            return;
        if (o.what == UPDATE)
            o.is_wide ? update_by_thread(o, &own->words[o.word]) : update_by_thread(o, &own->halves[o.word]);
        else
            o.n == 1   ? word_by_thread<unsigned char>(o, there, a)
            : o.n == 2 ? word_by_thread<unsigned short>(o, there, a)
            : o.n == 4 ? word_by_thread<unsigned int>(o, there, a)
                       : word_by_thread<unsigned long>(o, there, a);
    } else if (is_first_of(o.group))
        o.group == 0   ? move_by(block, o, there, signal, a)
        : o.group == 1 ? move_by(shmemx_device_warp_t(), o, there, signal, a)
                       : move_by(shmemx_device_thread_t(), o, there, signal, a);
}

void wait_as_block(int receiver)
{
    int status[PES_MOST * ACTORS];
    senders(receiver, status);
    shmemx_device_signal_wait_until(block, view, &own->added[receiver], SHMEM_CMP_GE,
                                    after[static_cast<size_t>(me)].added[receiver]);
    shmemx_device_wait_until_all(block, view, own->set, static_cast<unsigned long>(n_pes * ACTORS), status,
                                 SHMEM_CMP_GE, round_number);
    if (block.rank() == 0)
        check_messages(receiver);
}

void round_of_block(int mine)
{
    const int number = me * ACTORS + mine;
    actor &a = actors[static_cast<size_t>(number)];
    meeting.wait();
    bool needs_quiet = !by_kernel || a.is_quiet;
    for (const op &o : a.ops) {
        by_block(number, o, &a);
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

template <class T> void word_by_host(const op &o, unsigned char *there, actor *a)
{
    T value;
    if (o.what == P) {
        memcpy(&value, a->source + o.from, sizeof value);
        shmem_p(reinterpret_cast<T *>(there), value, o.pe);
    } else {
        value = shmem_g(reinterpret_cast<const T *>(own->part[1 - half()][o.part] + o.from), o.pe);
        memcpy(a->result + o.to, &value, sizeof value);
    }
}

template <class T> void update_by_host(const op &o, T *word)
{
    const T value = static_cast<T>(o.value);
    switch (update_of(o.word, o.is_wide)) {
    case ADD:
        o.is_special ? (void)shmem_atomic_fetch_add(word, value, o.pe) : shmem_atomic_add(word, value, o.pe);
        break;
    case XOR:
        o.is_special ? (void)shmem_atomic_fetch_xor(word, value, o.pe) : shmem_atomic_xor(word, value, o.pe);
        break;
    case OR:
        o.is_special ? (void)shmem_atomic_fetch_or(word, value, o.pe) : shmem_atomic_or(word, value, o.pe);
        break;
    case AND:
        o.is_special ? (void)shmem_atomic_fetch_and(word, value, o.pe) : shmem_atomic_and(word, value, o.pe);
        break;
    case COUNT:
        for (T seen = shmem_atomic_fetch(word, o.pe), old;; seen = old)
            if ((old = shmem_atomic_compare_swap(word, seen, static_cast<T>(seen + 1), o.pe)) == seen)
                break;
        break;
    default:
        shmem_atomic_set(word, static_cast<T>(round_number), o.pe);
    }
}

void move_by_host(const op &o, unsigned char *there, unsigned long *signal, actor *a)
{
    const unsigned char *other = own->part[1 - half()][o.part] + o.from;
    if (o.what == PUT)
        (o.is_special ? shmem_putmem_nbi : shmem_putmem)(there, a->source + o.from, o.n, o.pe);
    else if (o.what == GET)
        (o.is_special ? shmem_getmem_nbi : shmem_getmem)(a->result + o.to, other, o.n, o.pe);
    else
        shmem_putmem_signal(there, a->source + o.from, o.n, signal, o.adds ? 1 : round_number,
                            o.adds ? SHMEM_SIGNAL_ADD : SHMEM_SIGNAL_SET, o.pe);
}

void by_host(int number, const op &o, actor *a)
{
    unsigned char *there = own->part[half()][number] + o.to;
    if (o.what == UPDATE)
        o.is_wide ? update_by_host(o, &own->words[o.word]) : update_by_host(o, &own->halves[o.word]);
    else if (o.what == P || o.what == G)
        o.n == 1   ? word_by_host<unsigned char>(o, there, a)
        : o.n == 2 ? word_by_host<unsigned short>(o, there, a)
        : o.n == 4 ? word_by_host<unsigned int>(o, there, a)
                   : word_by_host<unsigned long>(o, there, a);
    else
        move_by_host(o, there, o.adds ? &own->added[o.receiver] : &own->set[number], a);
}

void wait_as_host()
{
    int status[PES_MOST * ACTORS];
    senders(HOST, status);
    shmem_signal_wait_until(&own->added[HOST], SHMEM_CMP_GE, after[static_cast<size_t>(me)].added[HOST]);
    shmem_ulong_wait_until_all(own->set, static_cast<size_t>(n_pes * ACTORS), status, SHMEM_CMP_GE, round_number);
    check_messages(HOST);
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
