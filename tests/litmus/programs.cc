// SPDX-License-Identifier: BSD-3-Clause
//
// The programs of litmus tests. Each try has words of its own, x and y, which no other try of the batch touches, so
// nothing but the tries themselves orders them. A batch begins and ends with a barrier of the host, and writes one value,
// larger than those of all batches before: whatever is smaller is old.
#include "litmus.h"

#include "../api/check.h"

#include <vector>

// What the readers of this PE have seen in each try.
struct seen {
    uint64_t first[LITMUS_WORDS], second[LITMUS_WORDS];
};

struct work { // what a body gets
    const litmus_case *c;
    int n;
    uint64_t value;
    seen *mine;
};

static seen *all_seen()
{
    static seen *symmetric;
    if (!symmetric)
        symmetric = static_cast<seen *>(shmem_calloc(1, sizeof *symmetric));
    return symmetric;
}

static long found; // symmetric: by the PE that counts, on PE 0

static int last_pe()
{
    return shmem_n_pes() - 1;
}
static litmus_place x_at(const work &w, int i, int pe)
{
    return {w.c->x, static_cast<size_t>(i) * w.c->program->nbytes, pe};
}
static litmus_place y_at(const work &w, int i, int pe)
{
    return {w.c->y, LITMUS_X_BYTES + static_cast<size_t>(i) * sizeof(uint64_t), pe};
}

static void run(const litmus_issuer *issuer, void (*body)(const work &), work &w)
{
    struct call {
        void (*body)(const work &);
        work *w;
    } call = {body, &w};
    issuer->run(
        [](void *argument) {
            const struct call *call = static_cast<struct call *>(argument);
            call->body(*call->w);
        },
        &call);
}

// What a PE reads in the batch's tries is not there yet.
static void begin_batch(const work &w)
{
    memset(w.mine->first, 0, static_cast<size_t>(w.n) * sizeof(uint64_t));
    memset(w.mine->second, 0, static_cast<size_t>(w.n) * sizeof(uint64_t));
    shmem_barrier_all();
}

// What one PE has counted is known to PE 0 when this returns.
static long end_batch(bool counts, long hits)
{
    if (counts)
        shmem_long_p(&found, hits, 0);
    shmem_barrier_all();
    return found;
}

// ---- Message passing: x, then y; who has seen y must see x ----------------------------------------------------------

static void write_x(const work &w, const litmus_issuer *by, int i)
{
    by->write(w.c->program->form, x_at(w, i, last_pe()), w.value, w.c->program->nbytes);
}
static void tell_y(const work &w, const litmus_issuer *by, int i)
{
    by->write(w.c->program->told, y_at(w, i, last_pe()), w.value, sizeof w.value);
}

static void pass_alone(const work &w)
{
    const litmus_issuer *by = w.c->first;
    for (int i = 0; i < w.n; i++) {
        if (w.c->program->by_put_signal) {
            by->put_signal(x_at(w, i, last_pe()), w.value, w.c->program->nbytes, y_at(w, i, last_pe()));
            continue;
        }
        write_x(w, by, i);
        by->order(w.c->program->order, *w.c->y);
        tell_y(w, by, i);
    }
    by->order(ORDER_QUIET, *w.c->y);
}
static void pass_first(const work &w)
{
    for (int i = 0; i < w.n; i++)
        write_x(w, w.c->first, i);
    if (w.c->first->completes_by_itself || w.c->second->completes_by_itself)
        w.c->first->order(ORDER_QUIET, *w.c->y);
}
static void pass_second(const work &w)
{
    w.c->second->order(w.c->program->order, *w.c->y);
    for (int i = 0; i < w.n; i++)
        tell_y(w, w.c->second, i);
    w.c->second->order(ORDER_QUIET, *w.c->y);
}

// The first and the last word of the data.
static void receive(const work &w)
{
    const litmus_issuer *by = w.c->reader;
    const int me = shmem_my_pe();
    for (int i = 0; i < w.n; i++) {
        litmus_place x = x_at(w, i, me);
        by->wait(y_at(w, i, me), w.value);
        by->read(x, &w.mine->first[i]);
        x.offset += w.c->program->nbytes - sizeof(uint64_t);
        by->read(x, &w.mine->second[i]);
    }
}

static long count_old(const work &w)
{
    long hits = 0;
    for (int i = 0; i < w.n; i++)
        hits += w.mine->first[i] < w.value || w.mine->second[i] < w.value;
    return hits;
}

static long message_passing(const litmus_case &c, int n, uint64_t value)
{
    work w = {&c, n, value, all_seen()};
    const int me = shmem_my_pe();
    begin_batch(w);
    if (me == 0 && c.first == c.second)
        run(c.first, pass_alone, w);
    else if (me == 0) {
        run(c.first, pass_first, w);
        run(c.second, pass_second, w);
    } else if (me == last_pe())
        run(c.reader, receive, w);
    return end_batch(me == last_pe(), count_old(w));
}

// ---- Write to read causality: the same by way of a third PE ---------------------------------------------------------

static void cause(const work &w)
{
    const litmus_issuer *by = w.c->first;
    for (int i = 0; i < w.n; i++) {
        write_x(w, by, i);
        by->order(w.c->program->order, *w.c->x);
        by->write(w.c->program->told, y_at(w, i, 1), w.value, sizeof w.value);
    }
    by->order(ORDER_QUIET, *w.c->y);
}
static void hand_on(const work &w)
{
    for (int i = 0; i < w.n; i++) {
        w.c->second->wait(y_at(w, i, 1), w.value);
        tell_y(w, w.c->second, i);
    }
    w.c->second->order(ORDER_QUIET, *w.c->y);
}

static long causality(const litmus_case &c, int n, uint64_t value)
{
    work w = {&c, n, value, all_seen()};
    const int me = shmem_my_pe();
    begin_batch(w);
    if (me == 0)
        run(c.first, cause, w);
    else if (me == 1)
        run(c.second, hand_on, w);
    else if (me == last_pe())
        run(c.reader, receive, w);
    return end_batch(me == last_pe(), count_old(w));
}

// ---- Store buffering and load buffering: each of two PEs writes to the other one, and reads its own copy --------------

static void write_there(const work &w, const litmus_issuer *by, int i)
{
    const int to = shmem_my_pe() ? 0 : last_pe();
    by->write(w.c->program->form, to ? x_at(w, i, to) : y_at(w, i, to), w.value, sizeof w.value);
}
static void read_here(const work &w, const litmus_issuer *by, int i)
{
    const int me = shmem_my_pe();
    by->read(me ? x_at(w, i, me) : y_at(w, i, me), &w.mine->first[i]);
}
static const litmus_issuer *issuer_here(const work &w)
{
    return shmem_my_pe() ? w.c->reader : w.c->first;
}

static void store_and_load(const work &w)
{
    const litmus_issuer *by = issuer_here(w);
    for (int i = 0; i < w.n; i++) {
        write_there(w, by, i);
        by->order(w.c->program->order, shmem_my_pe() ? *w.c->y : *w.c->x);
        read_here(w, by, i);
    }
    by->order(ORDER_QUIET, *w.c->y);
}
static void load_and_store(const work &w)
{
    const litmus_issuer *by = issuer_here(w);
    for (int i = 0; i < w.n; i++) {
        read_here(w, by, i);
        write_there(w, by, i);
    }
    by->order(ORDER_QUIET, *w.c->y);
}

// On PE 0: how often both PEs have seen what is new, or what is old.
static long count_both(const work &w, bool is_new)
{
    std::vector<uint64_t> theirs(static_cast<size_t>(w.n));
    long hits = 0;
    shmem_getmem(theirs.data(), w.mine->first, theirs.size() * sizeof(uint64_t), last_pe());
    for (int i = 0; i < w.n; i++)
        hits += (w.mine->first[i] == w.value) == is_new && (theirs[static_cast<size_t>(i)] == w.value) == is_new;
    return hits;
}

static long both(const litmus_case &c, int n, uint64_t value, void (*body)(const work &), bool is_new)
{
    work w = {&c, n, value, all_seen()};
    const int me = shmem_my_pe();
    begin_batch(w);
    if (me == 0 || me == last_pe())
        run(issuer_here(w), body, w);
    shmem_barrier_all();
    return end_batch(me == 0, me == 0 ? count_both(w, is_new) : 0);
}
static long store_buffering(const litmus_case &c, int n, uint64_t value)
{
    return both(c, n, value, store_and_load, false);
}
static long load_buffering(const litmus_case &c, int n, uint64_t value)
{
    return both(c, n, value, load_and_store, true);
}

// ---- Coherence: two values to one word, which nobody sees in the other order, and of which the second one stays -------

static void write_twice(const work &w)
{
    const litmus_issuer *by = w.c->first;
    for (int i = 0; i < w.n; i++) {
        by->write(w.c->program->form, x_at(w, i, last_pe()), w.value, sizeof w.value);
        by->order(w.c->program->order, *w.c->x);
        by->write(w.c->program->told, x_at(w, i, last_pe()), w.value + 1, sizeof w.value);
    }
    by->order(ORDER_QUIET, *w.c->x);
}
static void read_twice(const work &w)
{
    for (int i = 0; i < w.n; i++) {
        w.c->reader->read(x_at(w, i, last_pe()), &w.mine->first[i]);
        w.c->reader->read(x_at(w, i, last_pe()), &w.mine->second[i]);
    }
}
static void read_at_the_end(const work &w)
{
    for (int i = 0; i < w.n; i++)
        w.c->reader->read(x_at(w, i, last_pe()), &w.mine->first[i]);
}

static long coherence(const litmus_case &c, int n, uint64_t value)
{
    work w = {&c, n, value, all_seen()};
    const int me = shmem_my_pe();
    long hits = 0;
    begin_batch(w);
    if (me == 0)
        run(c.first, write_twice, w);
    else if (me == last_pe())
        run(c.reader, read_twice, w);
    for (int i = 0; i < n; i++)
        hits += w.mine->second[i] < w.mine->first[i];
    shmem_barrier_all();
    if (me == last_pe())
        run(c.reader, read_at_the_end, w);
    for (int i = 0; i < n; i++)
        hits += w.mine->first[i] != value + 1;
    return end_batch(me == last_pe(), hits);
}

// ---- Independent reads of independent writes: two PEs write, two read both words, in opposite order --------------------

static void write_one(const work &w)
{
    for (int i = 0; i < w.n; i++)
        w.c->first->write(w.c->program->form, shmem_my_pe() ? y_at(w, i, 3) : x_at(w, i, 2), w.value, sizeof w.value);
    w.c->first->order(ORDER_QUIET, *w.c->y);
}
static void read_both(const work &w)
{
    const bool is_third = shmem_my_pe() == 2;
    for (int i = 0; i < w.n; i++) {
        w.c->reader->read(is_third ? x_at(w, i, 2) : y_at(w, i, 3), &w.mine->first[i]);
        w.c->reader->read(is_third ? y_at(w, i, 3) : x_at(w, i, 2), &w.mine->second[i]);
    }
}

static long independent(const litmus_case &c, int n, uint64_t value)
{
    work w = {&c, n, value, all_seen()};
    const int me = shmem_my_pe();
    static seen theirs;
    long hits = 0;
    begin_batch(w);
    if (me < 2)
        run(c.first, write_one, w);
    else if (me < 4)
        run(c.reader, read_both, w);
    shmem_barrier_all();
    if (me == 2)
        shmem_getmem(&theirs, w.mine, sizeof theirs, 3);
    for (int i = 0; i < n && me == 2; i++)
        hits += w.mine->first[i] == value && w.mine->second[i] < value && theirs.first[i] == value &&
                theirs.second[i] < value;
    return end_batch(me == 2, hits);
}

// ---- The list -------------------------------------------------------------------------------------------------------

const litmus_program litmus_programs[] = {
    {"MP put; fence; put", 2, true, FORM_PUT, FORM_PUT, ORDER_FENCE, false, 8, message_passing},
    {"MP put_nbi; fence; p", 2, true, FORM_PUT_NBI, FORM_P, ORDER_FENCE, false, 8, message_passing},
    {"MP p; fence; atomic_set", 2, true, FORM_P, FORM_ATOMIC, ORDER_FENCE, false, 8, message_passing},
    {"MP atomic_set; fence; put", 2, true, FORM_ATOMIC, FORM_PUT, ORDER_FENCE, false, 8, message_passing},
    {"MP put_nbi of 4 KiB; fence; signal_set", 2, true, FORM_PUT_NBI, FORM_SIGNAL, ORDER_FENCE, false, 4096,
     message_passing},
    {"MP put_nbi of 4 KiB; quiet; p", 2, true, FORM_PUT_NBI, FORM_P, ORDER_QUIET, false, 4096, message_passing},
    {"MP put of 64 KiB; quiet; atomic_set", 2, true, FORM_PUT, FORM_ATOMIC, ORDER_QUIET, false, 65536, message_passing},
    {"MP put_signal", 2, true, FORM_PUT, FORM_SIGNAL, ORDER_NONE, true, 8, message_passing},
    {"MP put_signal of 4 KiB", 2, true, FORM_PUT, FORM_SIGNAL, ORDER_NONE, true, 4096, message_passing},
    {"MP put_signal of 64 KiB", 2, true, FORM_PUT, FORM_SIGNAL, ORDER_NONE, true, 65536, message_passing},
    {"MP put of 4 KiB; signal_set", 2, false, FORM_PUT, FORM_SIGNAL, ORDER_NONE, false, 4096, message_passing},
    {"MP put_nbi of 4 KiB; p", 2, false, FORM_PUT_NBI, FORM_P, ORDER_NONE, false, 4096, message_passing},
    {"WRC put_nbi; quiet; p", 3, true, FORM_PUT_NBI, FORM_P, ORDER_QUIET, false, 4096, causality},
    {"SB put; quiet; read", 2, true, FORM_PUT, FORM_PUT, ORDER_QUIET, false, 8, store_buffering},
    {"SB p; quiet; read", 2, true, FORM_P, FORM_P, ORDER_QUIET, false, 8, store_buffering},
    {"SB atomic_set; quiet; read", 2, true, FORM_ATOMIC, FORM_ATOMIC, ORDER_QUIET, false, 8, store_buffering},
    {"SB p; read", 2, false, FORM_P, FORM_P, ORDER_NONE, false, 8, store_buffering},
    {"LB read; put", 2, true, FORM_PUT, FORM_PUT, ORDER_NONE, false, 8, load_buffering},
    {"LB read; atomic_set", 2, true, FORM_ATOMIC, FORM_ATOMIC, ORDER_NONE, false, 8, load_buffering},
    {"CO put; fence; put", 2, true, FORM_PUT, FORM_PUT, ORDER_FENCE, false, 8, coherence},
    {"CO put_nbi; fence; p", 2, true, FORM_PUT_NBI, FORM_P, ORDER_FENCE, false, 8, coherence},
    {"CO atomic_set; fence; p", 2, true, FORM_ATOMIC, FORM_P, ORDER_FENCE, false, 8, coherence},
    {"IRIW put", 4, false, FORM_PUT, FORM_PUT, ORDER_NONE, false, 8, independent},
    {"IRIW atomic_set", 4, false, FORM_ATOMIC, FORM_ATOMIC, ORDER_NONE, false, 8, independent},
};
const int litmus_n_programs = sizeof litmus_programs / sizeof litmus_programs[0];

bool litmus_is_forbidden(const litmus_case &c)
{
    const litmus_program &p = *c.program;
    return p.is_forbidden ||
           (p.batch == message_passing && p.told == FORM_SIGNAL && c.first->signals_follow && c.first == c.second);
}

bool litmus_applies(const litmus_case &c)
{
    const litmus_program &p = *c.program;
    const bool hands_over = p.batch == message_passing && p.order != ORDER_NONE;
    if (shmem_n_pes() < p.pes || (c.first != c.second && !hands_over && p.batch != causality))
        return false;
    if (p.batch == coherence && c.x != c.y)
        return false;
    for (const litmus_issuer *issuer : {c.first, c.second, c.reader})
        if (!issuer->reaches(*c.x) || !issuer->reaches(*c.y))
            return false;
    return true;
}
