// SPDX-License-Identifier: BSD-3-Clause
//
// What device_random.cc and tests/device/random.cu run: programs made at random, the same on all PEs; the model of the
// memory of all PEs; and how the host does its part.
#ifndef DEVICE_PROGRAM_H
#define DEVICE_PROGRAM_H

#include <shmemx_device.h>

#include "check.h"

#include <vector>

#ifdef __CUDACC__
#define ACTOR static __device__ __host__ inline
#else
#define ACTOR static inline
#endif

namespace
{

enum { BLOCKS = 2, HOST = BLOCKS, ACTORS = BLOCKS + 1, PES_MOST = 8, ROUNDS = 3, OPS_MOST = 10 };
enum { HALVES = 2, PART = 8192, SLACK = 32, WORDS = 8, WORK = SHMEMX_DEVICE_WORK_BYTES(PES_MOST, 0) };

// What every PE has. Each actor of the job has a part of its own, which it writes on all PEs: one half in even rounds, the
// other in odd ones. Gets read the other half.
struct memory {
    unsigned long words[WORDS];
    unsigned int halves[WORDS];
    unsigned long added[ACTORS];          // by signals: messages to each actor of this PE
    unsigned long set[PES_MOST * ACTORS]; // by signals: the last round in which an actor has sent to this PE
    unsigned char part[HALVES][PES_MOST * ACTORS][PART];
    alignas(16) char work[WORK];
};
enum { MODELLED = offsetof(memory, work) };

enum kind { PUT, P, GET, G, UPDATE, MESSAGE, KINDS };
enum update {
    ADD,
    XOR,
    OR,
    AND,
    COUNT,
    SET,
    UPDATES
}; // of which the order does not matter, but to SET: all set the same

struct op {
    kind what;
    int group;       // 0: block, 1: warp, 2: thread
    int pe;          // to which, or from
    bool is_special; // nbi, or an update that fetches
    unsigned long to, from, n;
    int part;     // get: whose
    int word;     // update
    bool is_wide; // of 64 bits
    unsigned value;
    int receiver; // message: an actor of the PE
    bool adds;    // its signal
};

class numbers // at random, the same on all PEs
{
    unsigned long state;

  public:
    explicit numbers(unsigned long seed) : state(seed * 0x9e3779b97f4a7c15ul + 0x1234567)
    {
    }
    unsigned next()
    {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        return static_cast<unsigned>(state >> 20);
    }
    unsigned below(unsigned n)
    {
        return next() % n;
    }
};

struct actor {
    std::vector<op> ops;
    unsigned char source[PART + SLACK], result[PART + SLACK];
    bool is_quiet; // it calls quiet although it need not
};

// The program that is being run, and where.
int me, n_pes;
unsigned long program, round_number; // rounds count from 1 over all programs
bool by_kernel;                      // the kernels end the round
memory *own;
shmemx_device_view_t view;
shmemx_device_team_t team;
std::vector<memory> before, after;           // the model: all PEs' memory around the round
std::vector<actor> actors(PES_MOST *ACTORS); // of all PEs: actor a of a PE is number pe * ACTORS + a

int half()
{
    return static_cast<int>(round_number % HALVES);
}

ACTOR unsigned char pattern_of(unsigned long i, int number, unsigned long round)
{
    return static_cast<unsigned char>(i * 7 + (i >> 8) + static_cast<unsigned long>(number) * 31 + round * 13);
}

unsigned char pattern(unsigned long i, int number)
{
    return pattern_of(i, number, round_number);
}

// ---- The program -------------------------------------------------------------------------------------------------------

unsigned long length(numbers &random)
{
    const unsigned kind = random.below(16);
    return kind == 0 ? 4000 + random.below(1200) : kind < 4 ? random.below(600) : random.below(40);
}

ACTOR update update_of(unsigned long round, int word, bool is_wide)
{
    return static_cast<update>((round * 5 + static_cast<unsigned>(word) + (is_wide ? 3 : 0)) % UPDATES);
}

op random_op(numbers &random, unsigned long *used)
{
    op o = op();
    o.what = static_cast<kind>(random.below(KINDS));
    o.group = static_cast<int>(random.below(3));
    o.pe = static_cast<int>(random.below(static_cast<unsigned>(n_pes)));
    o.is_special = random.below(2);
    o.part = static_cast<int>(random.below(static_cast<unsigned>(n_pes * ACTORS)));
    o.word = static_cast<int>(random.below(WORDS));
    o.is_wide = random.below(2);
    o.value = random.next();
    o.receiver = static_cast<int>(random.below(ACTORS));
    o.adds = random.below(2);
    o.n = o.what == P || o.what == G ? 1ul << random.below(4) : length(random);
    o.to = *used + random.below(20);
    if (o.what == P || o.what == G)
        o.to = (o.to + 7) / 8 * 8;
    o.from = o.what == GET ? random.below(static_cast<unsigned>(PART - o.n)) : o.to + random.below(16);
    if (o.what == G)
        o.from = random.below(PART / 8) * 8ul;
    *used = o.to + o.n;
    return o;
}

// One message with a signal that is set goes to each PE: a second one could be seen first.
void make_ops(numbers &random, std::vector<op> *ops)
{
    unsigned long used = 0;
    bool has_set[PES_MOST] = {};
    ops->clear();
    for (unsigned n = random.below(OPS_MOST + 1); n; n--) {
        op o = random_op(random, &used);
        if (used > PART)
            break;
        o.adds = o.adds || has_set[o.pe];
        if (o.what == MESSAGE && !o.adds)
            has_set[o.pe] = true;
        ops->push_back(o);
    }
}

template <class T> void update_model(T *word, const op &o)
{
    const T value = static_cast<T>(o.value);
    switch (update_of(round_number, o.word, o.is_wide)) {
    case ADD:
        *word += value;
        break;
    case XOR:
        *word ^= value;
        break;
    case OR:
        *word |= value;
        break;
    case AND:
        *word &= value;
        break;
    case COUNT:
        ++*word;
        break;
    default:
        *word = static_cast<T>(round_number);
    }
}

void apply(int number, const op &o)
{
    memory &there = after[static_cast<size_t>(o.pe)];
    if (o.what == PUT || o.what == P || o.what == MESSAGE)
        for (unsigned long i = 0; i < o.n; i++)
            there.part[half()][number][o.to + i] = pattern(o.from + i, number);
    if (o.what == MESSAGE && o.adds)
        there.added[o.receiver]++;
    else if (o.what == MESSAGE)
        there.set[number] = round_number;
    if (o.what == UPDATE && o.is_wide)
        update_model(&there.words[o.word], o);
    else if (o.what == UPDATE)
        update_model(&there.halves[o.word], o);
}

void prepare_round(numbers &random)
{
    round_number++;
    by_kernel = random.below(2);
    before = after;
    for (int number = 0; number < n_pes * ACTORS; number++) {
        actor &a = actors[static_cast<size_t>(number)];
        make_ops(random, &a.ops);
        a.is_quiet = random.below(2);
        for (const op &o : a.ops)
            apply(number, o);
        if (number / ACTORS == me)
            for (unsigned long i = 0; i < sizeof a.source; i++)
                a.source[i] = pattern(i, number);
    }
}

// ---- What the host does ------------------------------------------------------------------------------------------------

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
    switch (update_of(round_number, o.word, o.is_wide)) {
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
void check_messages(const memory *seen, int receiver)
{
    for (int number = 0; number < n_pes * ACTORS; number++)
        for (const op &o : actors[static_cast<size_t>(number)].ops)
            if (o.what == MESSAGE && o.pe == me && o.receiver == receiver)
                expect_same(seen->part[half()][number] + o.to,
                            after[static_cast<size_t>(me)].part[half()][number] + o.to, o.n, "a message", number);
}

} // namespace

#endif
