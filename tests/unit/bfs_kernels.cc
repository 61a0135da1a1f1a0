/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of bfs with a thread for each lane, as apps/bfs/bfs.cu and bfs.cl have them for devices: OpenCL on a CPU
 * may run the lanes of a group one after the other between barriers, where none can be too early. Here they run in any
 * order, and ThreadSanitizer (scripts/check --tsan) sees lanes that use the same memory without a barrier between them.
 * Searches as search.c and direction.c launch them, on PEs that are all here; each level and the tree are compared with
 * a serial search. The same for whole searches in one kernel, which exchanges by itself (kernels_direct.h). Takes the
 * number of rounds and the seed of the first.
 */
#include <shmemx_device.h>

#include <cstdlib>
#include <set>
#include <utility>
#include <vector>

#include "bfs_device.h"
#include "bfs_graphs.h"
#include "tests/patience.h"
#include "unit.h"

#define WITH_SEARCH KERNEL
#define VIEW const shmemx_device_view_t &
#define NOW_NS() 0

static void meet_all_begin(u64 *word)
{
    __atomic_fetch_add(hesitate(word), 1, __ATOMIC_RELEASE);
}

static void meet_all_end(const u64 *word, u64 value)
{
    for (unsigned turns = 0; __atomic_load_n(word, __ATOMIC_ACQUIRE) < value;)
        wait_a_turn(&turns);
}

#include "kernels_direct.h"

/* ---- PEs --------------------------------------------------------------------------------------------------------- */

/* The buffers of one PE, as search.c makes them, with arbitrary contents. */
struct pe {
    u32 number, first, size;
    std::vector<u64> row, queue[2], counters, outbox, inbox;
    std::vector<u32> column, parent, known, frontier[2];
    std::vector<u32> sent; /* to each PE before this level */

    u32 *sent_so_far()
    {
        return (u32 *)(counters.data() + COUNTER_WORDS);
    }
};

/* A search while it runs. Bottom-up are levels bottom_up to top_down - 1. */
struct search {
    class device &device;
    const struct graph_view {
        const adjacency &vertices;
        std::vector<u32> levels;
    } graph;
    u32 n_pes, block, root, bottom_up, top_down, level;
    std::vector<pe> pes;
    std::vector<bool> was_in_queue;

    u32 words() const
    {
        return block / 32;
    }
    u32 turn() const
    {
        return level % QUEUE_COUNTERS;
    }
    bool is_bottom_up() const
    {
        return bottom_up <= level && level < top_down;
    }
    size_t box(u32 owner, u32 other) const
    {
        return (size_t)(other - (other > owner)) * block;
    }
    u64 groups(const pe &pe) const
    {
        return device.groups_for(pe.column.size());
    }
};

static pe open_pe(const search &search, u32 number)
{
    const u64 nonsense = 0xa5a5a5a5a5a5a5a5;
    const u32 n = (u32)search.graph.vertices.size();
    const size_t bits = (size_t)search.n_pes * search.words();
    pe pe;

    pe.number = number;
    pe.first = number * search.block < n ? number * search.block : n;
    pe.size = n - pe.first < search.block ? n - pe.first : search.block;
    pe.row.push_back(0);
    for (u32 i = 0; i < pe.size; i++) {
        const std::set<u32> &neighbours = search.graph.vertices[pe.first + i];

        pe.column.insert(pe.column.end(), neighbours.begin(), neighbours.end());
        pe.row.push_back(pe.column.size());
    }
    pe.parent.assign(pe.size, NONE);
    pe.known.assign(bits, 0);
    pe.counters.assign(COUNTER_WORDS + (search.n_pes + 1) / 2, 0);
    pe.outbox.assign((size_t)(search.n_pes - 1) * search.block, nonsense);
    pe.inbox = pe.outbox;
    pe.sent.assign(search.n_pes, 0);
    for (int i = 0; i < 2; i++) {
        pe.queue[i].assign(pe.size, nonsense);
        pe.frontier[i].assign(bits, (u32)nonsense);
    }
    return pe;
}

static void launch_start(search &search, pe &pe)
{
    LAUNCH(search.device, 1, start, pe.row.data(), pe.parent.data(), pe.known.data(), pe.queue[0].data(),
           pe.counters.data(), pe.first, pe.size, search.root);
}

static void launch_expand(search &search, pe &pe)
{
    LAUNCH(search.device, search.groups(pe), expand, pe.row.data(), pe.column.data(), pe.parent.data(), pe.known.data(),
           pe.queue[search.level % 2].data(), pe.queue[(search.level + 1) % 2].data(), pe.counters.data(),
           pe.outbox.data(), search.turn(), pe.first, pe.size, search.block, pe.number, search.n_pes);
}

static void launch_absorb(search &search, pe &pe, const struct arrivals &arrivals)
{
    u64 groups = (arrivals.end[ARRIVALS - 1] + search.device.n_lanes - 1) / search.device.n_lanes;

    LAUNCH(search.device, groups < search.groups(pe) ? groups : search.groups(pe), absorb, pe.row.data(),
           pe.parent.data(), pe.known.data(), pe.queue[(search.level + 1) % 2].data(), pe.counters.data(),
           pe.inbox.data(), arrivals, search.turn(), pe.first);
}

static void launch_mark_frontier(search &search, pe &pe)
{
    u32 half = search.level % 2;

    LAUNCH(search.device, search.groups(pe), mark_frontier, pe.queue[half].data(), pe.counters.data(),
           pe.frontier[half].data(), search.turn(), pe.first);
}

static void launch_bottom_up(search &search, pe &pe)
{
    u32 half = search.level % 2;

    LAUNCH(search.device, search.groups(pe), bottom_up, pe.row.data(), pe.column.data(), pe.parent.data(),
           pe.known.data(), pe.frontier[half].data(), pe.frontier[!half].data(), pe.queue[!half].data(),
           pe.counters.data(), search.turn(), pe.first, pe.size, search.n_pes * search.words());
}

/* ---- What PEs send each other ------------------------------------------------------------------------------------ */

/* Copies what `from` has for `to`. Returns how many pairs. */
static u32 send_pairs(const search &search, pe &from, pe &to)
{
    u32 before = from.sent[to.number], now = from.sent_so_far()[to.number];

    CHECK(before <= now && now <= to.size);
    for (u32 i = before; i < now; i++)
        to.inbox[search.box(to.number, from.number) + i] = from.outbox[search.box(from.number, to.number) + i];
    from.sent[to.number] = now;
    return now - before;
}

/* Returns how many pairs there were in all. */
static u64 exchange_pairs(search &search)
{
    u64 sum = 0;

    for (pe &to : search.pes) {
        struct arrivals arrivals = {};
        u64 before = 0;
        int n = 0;

        CHECK(search.n_pes - 1 <= ARRIVALS);
        for (pe &from : search.pes) {
            u64 place = search.box(to.number, from.number) + from.sent[to.number];
            u32 pairs = from.number == to.number ? 0 : send_pairs(search, from, to);

            if (pairs == 0)
                continue;
            arrivals.at[n] = place - before;
            before += pairs;
            for (int i = n++; i < ARRIVALS; i++)
                arrivals.end[i] = before;
        }
        if (before > 0)
            launch_absorb(search, to, arrivals);
        sum += before;
    }
    return sum;
}

static void exchange_words(search &search, u32 half)
{
    for (const pe &from : search.pes)
        for (pe &to : search.pes)
            for (u32 i = from.number * search.words(); i < (from.number + 1) * search.words(); i++)
                to.frontier[half][i] = from.frontier[half][i];
}

static void share_frontier(search &search)
{
    u32 half = search.level % 2;

    for (pe &pe : search.pes) {
        for (u32 i = 0; i < search.words(); i++)
            pe.frontier[half][pe.number * search.words() + i] = 0;
        launch_mark_frontier(search, pe);
    }
    exchange_words(search, half);
}

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

/* The queue of a PE has vertices of this level, none of them twice, and what edges are before each. */
static void check_queue(search &search, const pe &pe)
{
    u64 n = VERTICES(pe.counters[search.turn()]), edges = 0;

    CHECK(n <= pe.size);
    for (u64 i = 0; i < n; i++) {
        u64 word = pe.queue[search.level % 2][i];

        CHECK(VERTICES(word) < pe.size && EDGES(word) == edges);
        CHECK(search.graph.levels[pe.first + VERTICES(word)] == search.level);
        CHECK(!search.was_in_queue[pe.first + VERTICES(word)]);
        search.was_in_queue[pe.first + VERTICES(word)] = true;
        edges += degree_of(pe.row.data(), VERTICES(word));
    }
    CHECK(EDGES(pe.counters[search.turn()]) == edges);
}

static void check_vertex(const search &search, u32 vertex, u32 parent)
{
    const std::vector<u32> &levels = search.graph.levels;

    CHECK(search.was_in_queue[vertex] == (levels[vertex] != NONE));
    CHECK((parent != NONE) == (levels[vertex] != NONE));
    if (vertex == search.root) {
        CHECK(parent == vertex);
    } else if (parent != NONE) {
        CHECK(search.graph.vertices[vertex].count(parent) == 1);
        CHECK(levels[parent] + 1 == levels[vertex]);
    }
}

/* ---- Searches ---------------------------------------------------------------------------------------------------- */

/* Returns false after the last level. */
static bool run_level(search &search)
{
    u64 found = 0;

    for (pe &pe : search.pes) {
        check_queue(search, pe);
        if (search.is_bottom_up())
            launch_bottom_up(search, pe);
        else
            launch_expand(search, pe);
        found += VERTICES(pe.counters[(search.turn() + 1) % QUEUE_COUNTERS]);
    }
    if (search.is_bottom_up())
        exchange_words(search, (search.level + 1) % 2);
    else
        found += exchange_pairs(search);
    search.level++;
    if (search.level == search.bottom_up && search.is_bottom_up())
        share_frontier(search);
    return found > 0;
}

static void run_search(device &device, const adjacency &graph, u32 n_pes, u32 root, u32 bottom_up, u32 top_down)
{
    const u32 n = (u32)graph.size();
    const u32 block = ((n + n_pes - 1) / n_pes + 63) / 64 * 64;
    search search = {device,   {graph, serial_levels(graph, root)},
                     n_pes,    block,
                     root,     bottom_up,
                     top_down, 0,
                     {},       std::vector<bool>(n)};

    for (u32 i = 0; i < n_pes; i++)
        search.pes.push_back(open_pe(search, i));
    for (pe &pe : search.pes)
        launch_start(search, pe);
    while (run_level(search))
        CHECK(search.level <= n);
    for (const pe &pe : search.pes)
        for (u32 i = 0; i < pe.size; i++)
            check_vertex(search, pe.first + i, pe.parent[i]);
}

/* ---- Whole searches in one kernel -------------------------------------------------------------------------------- */

/* What exchange_kernel.c has besides. */
struct direct_pe {
    std::vector<struct level_report> box;
    struct search_result result;
    std::vector<shmemx_device_peer_t> inbox_peers, box_peers;
    shmemx_device_view_t inbox_view, box_view;
    struct own_part own;
};

static shmemx_device_view_t make_view(std::vector<shmemx_device_peer_t> &peers, u32 number, void *own,
                                      const std::vector<void *> &copies)
{
    static struct shmemi_device_ring idle; /* nothing is left to an agent */
    shmemx_device_view_t view = {};

    for (void *copy : copies)
        peers.push_back({(char *)copy - (char *)own, SHMEMI_DEVICE_STORES | SHMEMI_DEVICE_ATOMICS});
    view.ring = &idle;
    view.peers = peers.data();
    view.own = (char *)own;
    view.n_peers = view.n_pes = (int)peers.size();
    view.pe = (int)number;
    return view;
}

static void open_direct(search &search, std::vector<direct_pe> &direct)
{
    std::vector<void *> inboxes, boxes;

    direct.resize(search.n_pes);
    for (u32 i = 0; i < search.n_pes; i++) {
        direct[i].box.assign(2 * search.n_pes + search.n_pes * sizeof(u32) / sizeof(struct level_report) + 1, {});
        direct[i].own = {search.pes[i].first, search.pes[i].size, search.block, i, search.n_pes};
        inboxes.push_back(search.pes[i].inbox.data());
        boxes.push_back(direct[i].box.data());
    }
    for (u32 i = 0; i < search.n_pes; i++) {
        direct[i].inbox_view = make_view(direct[i].inbox_peers, i, inboxes[i], inboxes);
        direct[i].box_view = make_view(direct[i].box_peers, i, boxes[i], boxes);
    }
}

/* The groups of all PEs run at the same time, each in a slot. */
template <int slot> static void run_slot(search &search, std::vector<direct_pe> &direct, u64 epoch)
{
    const u32 per_pe = search.device.n_slots / search.n_pes;
    pe &pe = search.pes[slot / per_pe];
    direct_pe &more = direct[slot / per_pe];

    lane.group = slot % per_pe;
    lane.n_groups = per_pe;
    search_all<slot>(pe.row.data(), pe.column.data(), pe.parent.data(), pe.known.data(), pe.queue[0].data(),
                     pe.queue[1].data(), pe.counters.data(), pe.inbox.data(), more.box.data(), &more.result,
                     more.inbox_view, more.box_view, more.own, epoch);
    lane.group = slot;
    lane.n_groups = search.device.n_slots;
}

static void clear_pe(pe &pe)
{
    pe.parent.assign(pe.parent.size(), NONE);
    pe.known.assign(pe.known.size(), 0);
    pe.counters.assign(pe.counters.size(), 0);
}

/* One search after the other on the same PEs, as a program makes them. The device has four slots. */
static void run_whole(device &device, const adjacency &graph, u32 n_pes, const std::vector<u32> &roots)
{
    const u32 n = (u32)graph.size();
    const u32 block = ((n + n_pes - 1) / n_pes + 63) / 64 * 64;
    search search = {device, {graph, {}}, n_pes, block, 0, 0, 0, 0, {}, {}};
    std::vector<direct_pe> direct;
    u64 epoch = 0;

    for (u32 i = 0; i < n_pes; i++)
        search.pes.push_back(open_pe(search, i));
    open_direct(search, direct);
    for (u32 root : roots) {
        const std::vector<u32> levels = serial_levels(graph, root);
        u64 reached = 0;

        search.root = root;
        for (pe &pe : search.pes) {
            clear_pe(pe);
            launch_start(search, pe);
        }
        device.launch(4, {[&] { run_slot<0>(search, direct, epoch); }, [&] { run_slot<1>(search, direct, epoch); },
                          [&] { run_slot<2>(search, direct, epoch); }, [&] { run_slot<3>(search, direct, epoch); }});
        for (u32 vertex = 0; vertex < n; vertex++) {
            const u32 parent = search.pes[vertex / block].parent[vertex % block];

            reached += levels[vertex] != NONE;
            CHECK((parent == NONE) == (levels[vertex] == NONE));
            CHECK(parent == NONE || vertex == root ||
                  (graph[vertex].count(parent) == 1 && levels[parent] + 1 == levels[vertex]));
        }
        for (const direct_pe &pe : direct)
            CHECK(pe.result.reached == reached && pe.result.run == direct[0].result.run);
        epoch += direct[0].result.run;
    }
}

/* ---- Rounds ------------------------------------------------------------------------------------------------------ */

/* Groups are few, so that each takes several pieces of a frontier, and several ranges of vertices bottom-up. Of the
 * path's vertices the third PE has none. */
static void run_round(u32 seed)
{
    const u32 never = 0;
    random_numbers random(seed);
    adjacency web = power_law(3000, 9000, random);
    adjacency path = braid(120, 5, random);
    u32 hub = 0;

    for (u32 i = 0; i < web.size(); i++)
        if (web[i].size() > web[hub].size())
            hub = i;
    {
        device small(64, SLOTS, 4);
        u32 far = *web[hub].begin();

        run_search(small, web, 1, hub, never, never);
        run_search(small, web, 1, far, 1, 4);
        run_search(small, web, 3, far, never, never);
        run_search(small, web, 3, far, 2, 4);
        run_search(small, path, 3, random() % 120, 6, 9);
    }
    {
        device direct(64, 4, 4);
        const std::vector<u32> roots = {hub, *web[hub].begin(), (u32)(random() % web.size())};

        run_whole(direct, web, 1, roots);
        run_whole(direct, web, 2, roots);
        run_whole(direct, web, 4, roots);
        run_whole(direct, path, 2, {(u32)(random() % 120), 0});
        run_whole(direct, path, 4, {(u32)(random() % 120)});
    }
    device large(256, 2, 3);

    run_search(large, web, 1, hub, never, never);
    run_search(large, web, 3, hub, 1, 3);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    u32 seed = argc > 2 ? (u32)atoi(argv[2]) : 1;

    for (int i = 0; i < rounds; i++)
        run_round(seed + (u32)i);
    return 0;
}
