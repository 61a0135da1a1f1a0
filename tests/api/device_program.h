// SPDX-License-Identifier: BSD-3-Clause
//
// What device_random.cc runs: programs made at random, the same on all PEs, and the model of the memory of all PEs.
#ifndef DEVICE_PROGRAM_H
#define DEVICE_PROGRAM_H

#include <shmemx_device.h>

#include "check.h"

#include <vector>

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
shmemi_device::host_barrier meeting;         // of the actors of this PE

int half()
{
    return static_cast<int>(round_number % HALVES);
}

unsigned char pattern(unsigned long i, int number)
{
    return static_cast<unsigned char>(i * 7 + (i >> 8) + static_cast<unsigned long>(number) * 31 + round_number * 13);
}

// ---- The program -------------------------------------------------------------------------------------------------------

unsigned long length(numbers &random)
{
    const unsigned kind = random.below(16);
    return kind == 0 ? 4000 + random.below(1200) : kind < 4 ? random.below(600) : random.below(40);
}

update update_of(int word, bool is_wide)
{
    return static_cast<update>((round_number * 5 + static_cast<unsigned>(word) + (is_wide ? 3 : 0)) % UPDATES);
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
    switch (update_of(o.word, o.is_wide)) {
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

} // namespace

#endif
