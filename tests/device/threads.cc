// SPDX-License-Identifier: BSD-3-Clause
//
// The calls of shmemx_device.h between "PEs" that are blocks of one process: device.test compiles this with the thread
// sanitizer, which sees every access to the copies of all PEs. First the PEs reach each other directly, then by the ring
// and the library's agent (agent.c).
#include "calls.h"

#include <memory>

extern "C" struct shmemi_device_ring *ring_of(int pe, void *all_copies, size_t nbytes);
extern "C" void need_words(unsigned long n);
extern "C" void note_word(void);
extern "C" void shmemi_device_rings_close(void);

namespace
{
const int PES = 3, THREADS = 5;
shmemx_device_peer_t peers[PES][PES];
int failed[PES];
} // namespace

static shmemx_device_view_t view_of(symmetric *copies, int me, shmemi_device_ring *ring)
{
    shmemx_device_view_t view = shmemx_device_view_t();
    for (int pe = 0; pe < PES; pe++) {
        peers[me][pe].distance = reinterpret_cast<char *>(copies + pe) - reinterpret_cast<char *>(copies + me);
        peers[me][pe].can = ring && pe != me ? 0 : SHMEMI_DEVICE_STORES | SHMEMI_DEVICE_ATOMICS;
    }
    view.peers = peers[me];
    view.n_near = ring ? 0 : 2; /* the third is found in the table */
    for (int pe = 0; pe < view.n_near; pe++)
        view.near[pe] = peers[me][pe].distance;
    view.ring = ring;
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
        c.view = view_of(copies.get(), me, by_ring ? ring_of(me, copies.get(), sizeof(symmetric)) : nullptr);
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

/* Words leave the ring before they are complete: it takes more of them than it has entries. */
static void put_more_than_the_ring_holds()
{
    const unsigned n_words = 600;
    std::unique_ptr<symmetric[]> copies(new symmetric[PES]());
    shmemi_device_ring *ring = ring_of(0, copies.get(), sizeof(symmetric));
    const shmemx_device_view_t view = view_of(copies.get(), 0, ring);
    unsigned char *bytes = copies[0].bytes;
    need_words(ring->n_entries + 1);
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
    shmemi_device_ring *ring = ring_of(0, copies.get(), sizeof(symmetric));
    const shmemx_device_view_t view = view_of(copies.get(), 0, ring);
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

int main()
{
    run(false);
    run(true);
    put_more_than_the_ring_holds();
    put_lists();
    shmemi_device_rings_close();
    for (int pe = 0; pe < PES; pe++)
        if (failed[pe]) {
            fprintf(stderr, "PE %d: a check in line %d of calls.h, or of this file, has failed\n", pe, failed[pe]);
            return 1;
        }
    return 0;
}
