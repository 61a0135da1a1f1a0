// SPDX-License-Identifier: BSD-3-Clause
//
// The calls of shmemx_device.h between "PEs" that are blocks of one process: device.test compiles this with the thread
// sanitizer, which sees every access to the copies of all PEs. First the PEs reach each other directly, then by the ring
// and the library's agent (agent.c), then one object directly and another one by the agent.
#include "calls.h"
#include "families.h"

#include <memory>
#include <thread>

extern "C" struct shmemi_device_ring *ring_of(int pe, bool is_served, void *all_copies, size_t nbytes);
extern "C" void need_words(unsigned long n);
extern "C" void note_word(void);
extern "C" bool begin_drain(unsigned which);
extern "C" bool is_drained(unsigned which);
extern "C" void shmemi_device_rings_close(void);

namespace
{
const int PES = 3, THREADS = 5;
shmemx_device_peer_t peers[2][PES][PES];
int failed[PES];
} // namespace

template <class OBJECT> static shmemx_device_view_t view_of(OBJECT *copies, int me, bool by_ring)
{
    shmemx_device_view_t view = shmemx_device_view_t();
    shmemx_device_peer_t *row = peers[by_ring][me];
    for (int pe = 0; pe < PES; pe++) {
        row[pe].distance = reinterpret_cast<char *>(copies + pe) - reinterpret_cast<char *>(copies + me);
        row[pe].can = by_ring && pe != me ? 0 : SHMEMI_DEVICE_STORES | SHMEMI_DEVICE_ATOMICS;
    }
    view.peers = row;
    view.n_near = by_ring ? 0 : 2; /* the third is found in the table */
    for (int pe = 0; pe < view.n_near; pe++)
        view.near[pe] = row[pe].distance;
    view.ring = ring_of(me, by_ring, copies, sizeof *copies);
    view.own = reinterpret_cast<char *>(copies + me);
    view.size = sizeof *copies;
    view.n_peers = view.n_pes = PES;
    view.pe = me;
    return view;
}

static void run(bool by_ring)
{
    std::unique_ptr<symmetric[]> copies(new symmetric[PES]());
    std::unique_ptr<unsigned char[]> sources(new unsigned char[PES * static_cast<unsigned>(N_BYTES)]());
    calls all[PES];
    for (int me = 0; me < PES; me++) {
        calls &c = all[me];
        c = calls();
        c.view = view_of(copies.get(), me, by_ring);
        c.own = copies.get() + me;
        c.source = &sources[static_cast<unsigned>(me) * static_cast<unsigned>(N_BYTES)];
        c.failed = &failed[me];
        c.team.work = c.view;
        c.team.area = c.own->work;
        c.team.stride = 1;
        c.team.pe = me;
        c.team.n_pes = PES;
        c.team.slot = 112;
    }
    shmemx_device_host_launch(PES, THREADS, [&] { make_all_calls(all[shmemx_device_host_block()], false); });
}

/* What every PE has for families.h. */
struct for_families {
    alignas(16) unsigned char dest[PES * FAMILY_LARGE + 2 * FAMILY_GUARD];
    double sums[4];
    float single_sums[4];
    unsigned short pairs[4];
    alignas(16) char work[SHMEMX_DEVICE_WORK_BYTES(PES, FAMILY_SLOT)];
};

static void run_families(bool by_ring)
{
    enum { FEW = 2, STEP = 5 };
    std::unique_ptr<for_families[]> copies(new for_families[PES]());
    std::unique_ptr<unsigned char[]> sources[PES];
    family_run all[PES];
    for (int me = 0; me < PES; me++) {
        family_run &r = all[me];
        for_families &own = copies[static_cast<unsigned>(me)];
        sources[me].reset(new unsigned char[family_bytes(PES)]());
        r.view = r.team.work = view_of(copies.get(), me, by_ring);
        r.team.area = own.work;
        r.team.world = nullptr;
        r.team.start = 0;
        r.team.stride = 1;
        r.team.pe = me;
        r.team.n_pes = PES;
        r.team.slot = FAMILY_SLOT;
        r.dest = own.dest;
        r.source = sources[me].get();
        r.sums = own.sums;
        r.single_sums = own.single_sums;
        r.pairs = own.pairs;
        r.failed = &failed[me];
    }
    shmemx_device_host_launch(PES, FEW, [&] { check_families(all[shmemx_device_host_block()], STEP); });
}

/* Words leave the ring before they are complete: it takes more of them than it has entries. */
static void put_more_than_the_ring_holds()
{
    const unsigned n_words = 600;
    std::unique_ptr<symmetric[]> copies(new symmetric[PES]());
    const shmemx_device_view_t view = view_of(copies.get(), 0, true);
    unsigned char *bytes = copies[0].bytes;
    need_words(view.ring->n_entries + 1);
    for (unsigned i = 0; i < n_words; i++) {
        shmemx_device_p(view, &bytes[i], static_cast<unsigned char>(i), 1);
        note_word();
    }
    shmemx_device_quiet(shmemx_device_thread_t(), view);
    for (unsigned i = 0; i < n_words; i++)
        if (copies[1].bytes[i] != static_cast<unsigned char>(i))
            failed[0] = __LINE__;
}

/* Lists of words, as warps send them: threads of the CPU make none. */
static void put_lists()
{
    using namespace shmemi_device;
    const unsigned n_lists = 700, n = SHMEMI_DEVICE_LIST_MOST, n_values = 64;
    std::unique_ptr<symmetric[]> copies(new symmetric[PES]());
    const shmemx_device_view_t view = view_of(copies.get(), 0, true);
    shmemi_device_ring *ring = view.ring;
    for (unsigned k = 0; k < n_lists; k++) {
        const word ticket = take_ticket(ring);
        request r = request_to(SHMEMI_DEVICE_PUT | SHMEMI_DEVICE_LIST, view, copies[0].bytes, 2, 1 + k % 2);
        r.extra = n;
        for (unsigned i = 0; i < n; i++)
            store_in_slot(slot_of(ring, ticket), i, words_in_list, r.offset + 4 * i + 2, r.nbytes, k * n_values + i);
        send(ring, ticket, r);
    }
    shmemx_device_quiet(shmemx_device_thread_t(), view);
    for (int pe = 1; pe < PES; pe++)
        for (unsigned i = 0; i < n; i++) {
            unsigned short words[2];
            memcpy(words, copies[pe].bytes + 4 * i, sizeof words);
            if (words[0] || words[1] % n_values != i)
                failed[pe] = __LINE__;
        }
}

/* Put some bytes to PE 1 by the agent. Then nothing that says so may be seen earlier, though it is another object that says
 * it, to which this thread stores by itself: a signal, or a word behind a fence or quiet. */
static void tell_by_other_object(const shmemx_device_view_t &far, const shmemx_device_view_t &near, symmetric *own,
                                 symmetric *told, const unsigned char *source, unsigned way)
{
    const shmemx_device_thread_t thread;
    if (way == 0) {
        shmemx_device_put_signal(thread, far, own->bytes, source, N_BYTES, near, &told->signals[0], 1ul,
                                 SHMEM_SIGNAL_SET, 1);
        return;
    }
    shmemx_device_put_nbi(thread, far, own->bytes, source, N_BYTES, 1);
    if (way == 1)
        shmemx_device_signal_set(near, &told->signals[0], 1, 1);
    else if (way == 2)
        shmemx_device_signal_add(near, &told->signals[0], 1, 1);
    else if (way == 3)
        shmemx_device_fence(thread, near);
    else
        shmemx_device_quiet(thread, near);
    if (way > 2) /* the sanitizer does not see that a fence orders a plain store */
        shmemx_device_atomic_swap(near, &told->signals[0], 1ul, 1);
}

/* All copies of both objects lie side by side: agent.c looks for the signal beside the data. */
struct two_objects {
    symmetric data, told;
};

/* The view of the other object may be older than the ring's entries. */
static void put_to_two_objects(two_objects *copies, shmemx_device_view_t near)
{
    enum { WAYS = 5, ROUNDS = 20 };
    std::unique_ptr<unsigned char[]> source(new unsigned char[N_BYTES]);
    const shmemx_device_view_t far = view_of(copies, 0, true), there = view_of(copies, 1, false);
    for (unsigned round = 0; round < WAYS * ROUNDS; round++) {
        const unsigned char value = static_cast<unsigned char>(round + 1);
        memset(source.get(), value, N_BYTES);
        shmemx_device_host_launch(2, 1, [&] {
            if (shmemx_device_host_block() == 0) {
                tell_by_other_object(far, near, &copies[0].data, &copies[0].told, source.get(), round % WAYS);
                return;
            }
            shmemx_device_wait_until(shmemx_device_thread_t(), there, &copies[1].told.signals[0], SHMEM_CMP_EQ, 1);
            for (unsigned i = 0; i < N_BYTES; i++)
                if (copies[1].data.bytes[i] != value)
                    failed[1] = __LINE__;
        });
        shmemx_device_quiet(shmemx_device_thread_t(), near);
        copies[1].told.signals[0] = 0;
    }
}

/* Barriers with a work area that threads reach by themselves follow what the agent has put. */
static void meet_by_other_object(two_objects *copies)
{
    enum { ROUNDS = 100 };
    shmemx_device_team_t teams[2];
    shmemx_device_view_t far[2];
    for (int me = 0; me < 2; me++) {
        far[me] = view_of(copies, me, true);
        teams[me] = shmemx_device_team_t();
        teams[me].work = view_of(copies, me, false);
        teams[me].area = copies[me].told.work;
        teams[me].stride = 1;
        teams[me].pe = me;
        teams[me].n_pes = 2;
    }
    shmemx_device_host_launch(2, 2, [&] {
        const shmemx_device_block_t block;
        const int me = static_cast<int>(shmemx_device_host_block());
        unsigned char source[N_BYTES];
        for (unsigned round = 1; round <= ROUNDS; round++) {
            memset(source, static_cast<int>(round + static_cast<unsigned>(me)), N_BYTES);
            if (block.rank() == 1)
                shmemx_device_put_nbi(shmemx_device_thread_t(), far[me], copies[me].data.bytes, source, N_BYTES,
                                      1 - me);
            shmemx_device_barrier(block, teams[me]);
            for (unsigned i = 0; block.rank() == 0 && i < N_BYTES; i++)
                if (copies[me].data.bytes[i] != static_cast<unsigned char>(round + static_cast<unsigned>(1 - me)))
                    failed[me] = __LINE__;
            shmemx_device_barrier(block, teams[me]);
        }
    });
}

/* A word of 2 bytes by the entry of a ticket that has been taken before. */
static void send_word(const shmemx_device_view_t &view, shmemi_device::word ticket, unsigned char *there,
                      unsigned value)
{
    using namespace shmemi_device;
    request r = request_to(SHMEMI_DEVICE_PUT | SHMEMI_DEVICE_INLINE, view, there, 2, 1);
    r.value = value;
    send(view.ring, ticket, r);
}

static unsigned word_at(const unsigned char *bytes)
{
    unsigned short value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static void expect(bool condition, int line)
{
    if (!condition)
        failed[0] = line;
}

static void wait_for_drain(unsigned which)
{
    while (!is_drained(which))
        std::this_thread::yield();
}

/* A wait for what kernels that have ended have handed over, while one that runs has taken the entry in front of theirs and has
 * not written it: the wait includes what is behind the gap, and nothing that comes later. At every place of the ring. */
static void drain_across_gaps()
{
    using namespace shmemi_device;
    std::unique_ptr<symmetric[]> copies(new symmetric[PES]());
    const shmemx_device_view_t view = view_of(copies.get(), 0, true);
    unsigned char *own = copies[0].bytes;
    const unsigned char *there = copies[1].bytes;
    shmemi_device_ring *ring = view.ring;
    expect(begin_drain(0), __LINE__); /* nothing is under way */
    for (unsigned round = 1; round <= 2 * ring->n_entries; round++) {
        const word gap = take_ticket(ring);
        send_word(view, take_ticket(ring), own, round);
        for (unsigned i = 0; i < 3; i++)
            expect(!(i ? is_drained(0) : begin_drain(0)), __LINE__);
        const word later_gap = take_ticket(ring);
        send_word(view, gap, own + 2, round + 1);
        wait_for_drain(0);
        expect(word_at(there) == round && word_at(there + 2) == round + 1, __LINE__);
        expect(begin_drain(1), __LINE__); /* a ticket without an entry behind it belongs to no kernel that has ended */
        send_word(view, later_gap, own + 4, round + 2);
        begin_drain(1);
        wait_for_drain(1);
        expect(word_at(there + 4) == round + 2, __LINE__);
    }
}

struct long_object {
    char bytes[100000];
    unsigned long signal;
};

/* What the agent does not reach, as shared memory of a kernel: by slots, which threads of the CPU do not need. */
static void move_by_slots()
{
    using namespace shmemi_device;
    std::unique_ptr<long_object[]> copies(new long_object[PES]());
    const shmemx_device_view_t view = view_of(copies.get(), 0, true);
    const word slot = view.ring->slot_bytes;
    const word lengths[] = {slot - 1, slot, slot + 1, 2 * slot, 2 * slot + 1, 5 * slot + 7};
    for (const word n : lengths) {
        std::unique_ptr<char[]> source(new char[n]);
        for (word i = 0; i < n; i++)
            source[i] = static_cast<char>(i / 5 + n);
        memset(copies[1].bytes, 0, sizeof copies[1].bytes);
        put_by_slots(shmemx_device_thread_t(), view.ring, 1, 0, 1, static_cast<unsigned>(n), source.get());
        shmemx_device_signal_set(view, &copies[0].signal, n, 1);
        shmemx_device_quiet(shmemx_device_thread_t(), view);
        if (copies[1].signal != n || copies[1].bytes[0] || copies[1].bytes[n + 1] ||
            memcmp(copies[1].bytes + 1, source.get(), n))
            failed[1] = __LINE__;
        memset(source.get(), 0, n);
        get_by_slots(shmemx_device_thread_t(), view.ring, 1, 0, 1, n, source.get());
        if (memcmp(copies[1].bytes + 1, source.get(), n))
            failed[0] = __LINE__;
    }
}

int main()
{
    std::unique_ptr<two_objects[]> two(new two_objects[PES]());
    const shmemx_device_view_t before = view_of(two.get(), 0, false);
    run(false);
    run_families(false);
    if (before.ring->n_entries)
        failed[0] = __LINE__;
    run(true);
    run_families(true);
    put_to_two_objects(two.get(), before);
    meet_by_other_object(two.get());
    move_by_slots();
    put_more_than_the_ring_holds();
    put_lists();
    drain_across_gaps();
    shmemi_device_rings_close();
    for (int pe = 0; pe < PES; pe++)
        if (failed[pe]) {
            fprintf(stderr, "PE %d: a check in line %d of calls.h, or of this file, has failed\n", pe, failed[pe]);
            return 1;
        }
    return 0;
}
