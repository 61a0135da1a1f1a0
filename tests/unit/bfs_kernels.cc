/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of bfs with a thread for each lane, as apps/bfs/bfs.cu and bfs.cl have them for devices: OpenCL on a CPU
 * may run the lanes of a group one after the other between barriers, where none can be too early. Here each runs when
 * it likes, and ThreadSanitizer (scripts/check --tsan) sees lanes that use the same memory without a barrier between
 * them. Searches as search.c and direction.c launch them, on PEs that are all here; each level and the tree are
 * compared with a serial search. Takes the number of rounds and the seed of the first.
 */
#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <pthread.h>
#include <random>
#include <sched.h>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "unit.h"

typedef uint32_t u32;
typedef uint64_t u64;

#include "layout.h"

/* ---- How the kernels are spelt here ------------------------------------------------------------------------------ */

/* Two barriers that take turns: for ThreadSanitizer, who leaves a barrier comes after all that have entered it by then,
 * and that may be for the next time. Each thread counts how often it has met the others. */
class meeting
{
  public:
    ~meeting()
    {
        for (pthread_barrier_t &barrier : barriers)
            pthread_barrier_destroy(&barrier);
    }

    void open(u32 n_threads)
    {
        for (pthread_barrier_t &barrier : barriers)
            pthread_barrier_init(&barrier, nullptr, n_threads);
    }

    void wait(u32 &times)
    {
        pthread_barrier_wait(&barriers[times++ % 2]);
    }

  private:
    pthread_barrier_t barriers[2];
};

struct lane {
    u32 number, n_lanes;
    u64 group, n_groups;
    meeting *others; /* of its group */
    u32 met;
    u32 random;
};

static thread_local struct lane lane;

/* Now and then somebody else goes first. */
template <typename T> static T *hesitate(T *address)
{
    lane.random = lane.random * 1664525 + 1013904223;
    if (lane.random >> 28 == 0)
        sched_yield();
    return address;
}

/* A slot where groups run has its own instance of each kernel, and so of what is shared in a group. */
#define KERNEL template <int slot> static
#define DEVICE static inline
#define GLOBAL
#define LOCAL
#define SHARED static
#define RESTRICT __restrict
#define BARRIER() lane.others->wait(lane.met)

#define LANE lane.number
#define LANES lane.n_lanes
#define GROUP lane.group
#define GROUPS lane.n_groups
#define GLOBAL_ID (GROUP * LANES + LANE)

#define ADD(address, amount) __atomic_fetch_add(hesitate(address), amount, __ATOMIC_RELAXED)
#define ADD_GLOBAL_32(address, amount) ADD(address, amount)
#define ADD_GLOBAL_64(address, amount) ADD(address, amount)
#define ADD_LOCAL_32(address, amount) ADD(address, amount)
#define ADD_LOCAL_64(address, amount) ADD(address, amount)
#define OR_GLOBAL(address, bits) __atomic_fetch_or(hesitate(address), bits, __ATOMIC_RELAXED)
#define OR_LOCAL(address, bits) OR_GLOBAL(address, bits)
#define LOAD_CACHED(address) __atomic_load_n(hesitate(address), __ATOMIC_RELAXED)
#define LOAD_UNCACHED(address) LOAD_CACHED(address)

#define NONE 0xffffffffu
#define MOST_LANES 256
#define PER_LANE 4
#define PIECE (MOST_LANES * PER_LANE)

#include "kernels.h"

/* ---- Device ------------------------------------------------------------------------------------------------------ */

enum { SLOTS = 3 };
using kernel_call = std::function<void()>;

/* Runs this many groups at a time. A slot has a gate, where the host and its lanes meet before and after a kernel. */
class device
{
  public:
    const u32 n_lanes, n_slots, most_groups;

    device(u32 lanes, u32 slots, u32 groups)
        : n_lanes(lanes), n_slots(slots), most_groups(groups), barriers(slots), gates(slots), met(slots)
    {
        for (u32 slot = 0; slot < n_slots; slot++) {
            barriers[slot].open(n_lanes);
            gates[slot].open(n_lanes + 1);
            for (u32 i = 0; i < n_lanes; i++)
                threads.emplace_back([=] { run_lane(slot, i); });
        }
    }

    ~device()
    {
        calls = nullptr;
        meet(n_slots);
        for (std::thread &thread : threads)
            thread.join();
    }

    /* calls[i] is the kernel for slot i. Returns when it is done. */
    void launch(u64 groups, const std::vector<kernel_call> &kernel)
    {
        u32 used = groups < n_slots ? (u32)groups : n_slots;

        calls = &kernel;
        n_groups = groups;
        meet(used);
        meet(used);
    }

    /* As search.c has them. */
    u64 groups_for(u64 n_adjacent) const
    {
        u64 groups = n_adjacent / (4 * n_lanes) + 1;

        return groups < most_groups ? groups : most_groups;
    }

  private:
    std::vector<meeting> barriers, gates;
    std::vector<u32> met; /* how often the host was at each gate */
    std::vector<std::thread> threads;
    const std::vector<kernel_call> *calls = nullptr;
    u64 n_groups = 0;

    void meet(u32 slots)
    {
        for (u32 slot = 0; slot < slots; slot++)
            gates[slot].wait(met[slot]);
    }

    void run_lane(u32 slot, u32 i)
    {
        u32 times = 0;

        lane = {i, n_lanes, 0, 0, &barriers[slot], 0, (slot << 16) + i};
        for (;;) {
            gates[slot].wait(times);
            if (!calls)
                return;
            lane.n_groups = n_groups;
            for (lane.group = slot; lane.group < n_groups; lane.group += n_slots) {
                (*calls)[slot]();
                BARRIER();
            }
            gates[slot].wait(times);
        }
    }
};

#define CALL(slot, kernel, ...) [&] { kernel<slot>(__VA_ARGS__); }
#define LAUNCH(device, groups, kernel, ...)                                                                            \
    (device).launch(groups, {CALL(0, kernel, __VA_ARGS__), CALL(1, kernel, __VA_ARGS__), CALL(2, kernel, __VA_ARGS__)})

/* ---- Graphs ------------------------------------------------------------------------------------------------------ */

using adjacency = std::vector<std::set<u32>>;
using random_numbers = std::mt19937;

static void add_edge(adjacency &graph, u32 a, u32 b)
{
    if (a == b)
        return;
    graph[a].insert(b);
    graph[b].insert(a);
}

static std::vector<u32> random_order(u32 n, random_numbers &random)
{
    std::vector<u32> order(n);

    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    return order;
}

/* A few vertices have most of the edges, and some have none. */
static adjacency power_law(u32 n, u32 n_edges, random_numbers &random)
{
    std::vector<u32> order = random_order(n, random);
    std::uniform_real_distribution<double> uniform(0, 1);
    auto draw = [&] {
        double x = uniform(random);

        return order[(u32)(x * x * x * n)];
    };
    adjacency graph(n);

    for (u32 i = 0; i < n_edges; i++) {
        u32 a = draw();

        add_edge(graph, a, draw());
    }
    return graph;
}

/* Layers of `width` vertices, each joined to one or two of the layer before. */
static adjacency braid(u32 n, u32 width, random_numbers &random)
{
    std::vector<u32> order = random_order(n, random);
    adjacency graph(n);

    for (u32 i = width; i < n; i++)
        for (u32 k = 0; k < 2; k++)
            add_edge(graph, order[i], order[i / width * width - width + random() % width]);
    return graph;
}

/* NONE where the root does not lead. */
static std::vector<u32> serial_levels(const adjacency &graph, u32 root)
{
    std::vector<u32> level(graph.size(), NONE), queue = {root};

    level[root] = 0;
    for (size_t i = 0; i < queue.size(); i++)
        for (u32 neighbour : graph[queue[i]])
            if (level[neighbour] == NONE) {
                level[neighbour] = level[queue[i]] + 1;
                queue.push_back(neighbour);
            }
    return level;
}

/* ---- PEs --------------------------------------------------------------------------------------------------------- */

/* The buffers of one PE, as search.c makes them, with nonsense in them. */
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

/* false: that was the last. */
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
