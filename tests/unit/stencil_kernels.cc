/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of stencil2d that exchange halos by themselves, with threads of the CPU for the work-items and several PEs
 * in one process: shmemx_device.h as C++. Rounds in one launch and iterations one by one, in turns, on grids of PEs with
 * and without corners, with halos of several widths; all cells are compared with a serial run, bit for bit. Under
 * ThreadSanitizer (scripts/check --tsan) a halo that is read or written too early shows.
 */
#include <shmemx_device.h>

#include <cmath>
#include <memory>
#include <vector>

extern "C" {
#include "stencil2d.h"
}
#include "tests/patience.h"
#include "unit.h"

/* ---- How the kernels are spelt here ------------------------------------------------------------------------------ */

enum { GROUPS = 3 }; /* of a PE that run at a time: fewer than an iteration has */

/* Of the group that this thread belongs to, among those of its PE. */
static thread_local long group_id;
static std::vector<launch_plan> group_plans; /* two for each group of all PEs */

#define KERNEL static inline
#define WITH_STEP static
#define WITH_PERSIST static
#define FUNCTION static inline
#define GLOBAL
#define RESTRICT
#define UNROLLED
#define PLAN const struct launch_plan
#define NEIGHBORS const struct neighbor_plan &
#define VIEW const shmemx_device_view_t &
#define GROUP_ID group_id
#define N_GROUPS ((long)GROUPS)
#define LOCAL_COL ((int)(shmemx_device_block_t().rank() % GROUP_WIDTH))
#define LOCAL_ROW ((int)(shmemx_device_block_t().rank() / GROUP_WIDTH))
#define COLS (CUDA_PACK_BYTES / (int)sizeof(REAL))
#define ROWS CUDA_PACK_ROWS
#define SHARED_PLANS(plan) struct launch_plan *plan = &group_plans[2 * shmemx_device_host_block()]

typedef unsigned long long WORD;

static inline void meet_group()
{
    shmemx_device_block_t().sync();
}

static inline void wait_for_word(const WORD *, long)
{
}

static inline void count_done(WORD *)
{
}

static inline void meet_all_begin(WORD *word)
{
    __atomic_fetch_add(word, 1, __ATOMIC_RELEASE);
}

static inline void meet_all_end(const WORD *word, WORD value)
{
    for (unsigned turns = 0; __atomic_load_n(word, __ATOMIC_ACQUIRE) < value;)
        wait_a_turn(&turns);
}

struct own_messages {
};
#define OWN_MESSAGES own_messages()
#define FOR_ANY_SINK template <class SINK>

template <class T> static inline void send_cell(own_messages, T *messages, int, long place, T value)
{
    messages[place] = value;
}

struct to_neighbors {
    const shmemx_device_view_t *view;
    const struct neighbor_plan *neighbors;
};

template <class T> static inline void send_cell(to_neighbors to, T *messages, int direction, long place, T value)
{
    shmemx_device_p(*to.view, messages + place, value, to.neighbors->pe[direction]);
}

#define REAL float
#define SWEEP sweep_sp
#define PACK pack_sp
#define STEP step_sp
#define PERSIST persist_sp
#include "kernel.h"
#include "kernel_direct.h"
#undef REAL
#undef SWEEP
#undef PACK
#undef STEP
#undef PERSIST
#define REAL double
#define SWEEP sweep_dp
#define PACK pack_dp
#define STEP step_dp
#define PERSIST persist_dp
#include "kernel.h"
#include "kernel_direct.h"

/* ---- PEs --------------------------------------------------------------------------------------------------------- */

template <class T> struct precision;
template <> struct precision<float> {
    static const real *table()
    {
        return &real_sp;
    }
    static constexpr auto step = step_sp;
    static constexpr auto persist = persist_sp;
};
template <> struct precision<double> {
    static const real *table()
    {
        return &real_dp;
    }
    static constexpr auto step = step_dp;
    static constexpr auto persist = persist_dp;
};

static const double weights[3] = {0.2, 0.15, 0.05};
static const double border = 0.25;
static device_ops cuda_like;

template <class T> struct pe {
    struct run run;
    struct local_tile tile;
    std::vector<double> storage[3]; /* the two matrices and the messages: aligned for packs */
    T *buf[2], *messages;
    std::vector<shmemx_device_peer_t> peers;
    shmemx_device_view_t view;
    neighbor_plan neighbors;
    std::vector<launch_plan> plans; /* of a launch of rounds */

    WORD *words()
    {
        return (WORD *)((char *)messages + words_offset(&run));
    }
};

/* Aligned to 16 bytes, as a device has it. */
template <class T> static T *make_room(std::vector<double> &storage, size_t bytes)
{
    storage.assign(bytes / sizeof(double) + 4, 0);
    return (T *)(((uintptr_t)storage.data() + 15) / 16 * 16);
}

template <class T> struct job {
    struct options opt = {};
    std::vector<std::unique_ptr<pe<T>>> pes;

    pe<T> &at(int number)
    {
        return *pes[(size_t)number];
    }
    int size() const
    {
        return (int)pes.size();
    }
};

static field noise(const options &opt)
{
    field field = {};

    field.seed = 1;
    field.rows = opt.rows;
    field.cols = opt.cols;
    return field;
}

/* The tile, the border of the matrix around it, and NaN where neighbours must bring something. */
template <class T> static void fill_tile(job<T> &job, pe<T> &pe)
{
    const grid &grid = pe.run.grid;
    const tile &tile = pe.tile.shape;
    const field field = noise(job.opt);

    for (int r = -grid.halo_width; r < tile.rows + grid.halo_width; r++)
        for (int c = -grid.halo_width; c < tile.cols + grid.halo_width; c++) {
            const int direction = 3 * SIDE_OF(r, tile.rows) + SIDE_OF(c, tile.cols);
            T value = has_neighbor(&tile, direction) ? (T)NAN : (T)border;

            if (direction == HERE)
                precision<T>::table()->fill(&value, &field, tile.first_row + r, tile.first_col + c, 1);
            for (T *buf : pe.buf)
                buf[(long)grid.origin + r * (long)grid.pitch + c] = value;
        }
    for (size_t i = 0; i < AREAS * grid.area; i++)
        pe.messages[i] = (T)NAN;
}

template <class T> static void open_pe(job<T> &job, pe<T> &pe, int number, int n_pes)
{
    CHECK(grid_make(&job.opt, n_pes, sizeof(T), &pe.run.grid) == NULL);
    grid_tile(&pe.run.grid, number, 0, &pe.tile.shape);
    pe.run.opt = &job.opt;
    pe.run.real = precision<T>::table();
    pe.run.ops = &cuda_like;
    pe.run.tiles = &pe.tile;
    pe.run.n_tiles = 1;
    for (int i = 0; i < 2; i++)
        pe.buf[i] = make_room<T>(pe.storage[i], pe.run.grid.elements * sizeof(T));
    pe.messages = make_room<T>(pe.storage[2], messages_bytes(&pe.run));
    direct_neighbors(&pe.run, &pe.neighbors);
    fill_tile(job, pe);
}

template <class T> static void open_view(job<T> &job, pe<T> &pe, int number)
{
    for (auto &peer : job.pes)
        pe.peers.push_back(
            {(char *)peer->messages - (char *)pe.messages, SHMEMI_DEVICE_STORES | SHMEMI_DEVICE_ATOMICS});
    static struct shmemi_device_ring idle; /* nothing is left to an agent */
    pe.view = shmemx_device_view_t();
    pe.view.ring = &idle;
    pe.view.peers = pe.peers.data();
    pe.view.own = (char *)pe.messages;
    pe.view.size = messages_bytes(&pe.run);
    pe.view.n_peers = pe.view.n_pes = job.size();
    pe.view.pe = number;
}

/* As the host does: the first pieces, and the words as all groups of the frame would have left them. */
template <class T> static void send_first(job<T> &job, pe<T> &from)
{
    const tile &tile = from.tile.shape;
    const grid &grid = from.run.grid;
    const uint64_t first = from.run.exchanges + 1;

    for (int d = 0; d < DIRECTIONS; d++) {
        const rectangle edge = edge_cells(&grid, &tile, d);

        if (!has_neighbor(&tile, d))
            continue;
        pe<T> &to = job.at(tile.neighbor[d].pe);
        T *piece = to.messages + (size_t)area_in(first) * grid.area + grid.piece[opposite(d)];
        for (int r = 0; r < edge.rows; r++)
            for (int c = 0; c < edge.cols; c++)
                *piece++ = from.buf[0][(long)grid.origin + (edge.row + r) * (long)grid.pitch + edge.col + c];
        to.words()[opposite(d)] += (WORD)frame_groups(&from.run, &tile);
    }
}

/* ---- Launches ---------------------------------------------------------------------------------------------------- */

/* Runs function(pe) in all groups of all PEs, and has them meet before it returns. */
template <class T, class FUNCTION_OF_PE> static void play(job<T> &job, FUNCTION_OF_PE function)
{
    shmemx_device_host_launch((unsigned)(GROUPS * job.size()), GROUP, [&] {
        const int number = (int)shmemx_device_host_block() / GROUPS;

        group_id = (long)shmemx_device_host_block() % GROUPS;
        function(job.at(number));
    });
}

/* One launch on each PE. */
template <class T> static void play_rounds(job<T> &job, long count)
{
    const long width = job.opt.halo_width;

    for (auto &pe : job.pes) {
        pe->run.exchanges++;
        pe->plans.clear();
        for (long i = 0; i < 2 * width; i++)
            pe->plans.push_back(direct_plan(&pe->run, (uint64_t)(i / width), (int)(i % width), (int)width));
    }
    play(job, [&](pe<T> &pe) {
        const rounds_plan rounds = {
            count, width, (long)pe.run.exchanges, (long)pe.run.exchanges_before, pe.run.cur, (long)pe.tile.groups_done};

        precision<T>::persist(pe.buf[0], pe.buf[1], pe.messages, pe.plans.data(), pe.neighbors, pe.view, rounds,
                              (T)weights[0], (T)weights[1], (T)weights[2]);
    });
    for (auto &pe : job.pes) {
        pe->tile.groups_done += (uint64_t)(GROUPS * count * width);
        pe->run.cur = (int)((pe->run.cur + count * width) % 2);
        pe->run.exchanges += (uint64_t)count - 1;
    }
}

/* A round of n iterations, a launch for each. PEs follow each other freely; the groups of a PE meet after each launch. */
template <class T> static void play_steps(job<T> &job, int n)
{
    for (auto &pe : job.pes) {
        pe->run.exchanges++;
        pe->plans.clear();
        for (int i = 0; i < n; i++)
            pe->plans.push_back(direct_plan(&pe->run, pe->run.exchanges, i, n));
    }
    play(job, [&](pe<T> &pe) {
        const long own = group_id;
        WORD *done = pe.words() + DIRECTIONS;

        for (int i = 0; i < n; i++) {
            const launch_plan &plan = pe.plans[(size_t)i];

            for (group_id = own; group_id < plan.groups; group_id += GROUPS)
                precision<T>::step(pe.buf[(pe.run.cur + i) % 2], pe.buf[(pe.run.cur + i + 1) % 2], pe.messages, plan,
                                   pe.neighbors, pe.view, (T)weights[0], (T)weights[1], (T)weights[2]);
            meet_group();
            if (LOCAL_ROW == 0 && LOCAL_COL == 0) {
                meet_all_begin(done);
                meet_all_end(done, pe.tile.groups_done + (WORD)(GROUPS * (i + 1)));
            }
            meet_group();
        }
    });
    for (auto &pe : job.pes) {
        pe->tile.groups_done += (uint64_t)(GROUPS * n);
        pe->run.cur = (pe->run.cur + n) % 2;
    }
}

/* ---- Check ------------------------------------------------------------------------------------------------------- */

template <class T> static std::vector<T> serial_run(const options &opt, long iterations)
{
    const size_t pitch = (size_t)opt.cols + 2;
    std::vector<T> in(((size_t)opt.rows + 2) * pitch, (T)border), out;
    const field field = noise(opt);

    for (long r = 0; r < opt.rows; r++)
        precision<T>::table()->fill(&in[(size_t)(r + 1) * pitch + 1], &field, r, 0, opt.cols);
    out = in;
    for (long i = 0; i < iterations; i++) {
        precision<T>::table()->sweep(in.data(), out.data(), opt.rows, opt.cols, weights);
        in.swap(out);
    }
    return in;
}

template <class T> static void check_tile(const pe<T> &pe, const std::vector<T> &expected)
{
    const grid &grid = pe.run.grid;
    const tile &tile = pe.tile.shape;

    for (int r = 0; r < tile.rows; r++)
        for (int c = 0; c < tile.cols; c++) {
            const size_t place = (size_t)(tile.first_row + r + 1) * (size_t)(grid.cols + 2);

            CHECK(pe.buf[pe.run.cur][(long)grid.origin + r * (long)grid.pitch + c] ==
                  expected[place + (size_t)(tile.first_col + c + 1)]);
        }
}

/* Rounds in launches of several, a round of fewer iterations, and rounds again: the matrix and the areas of the messages
 * are then in any combination. */
template <class T> static void run_grid(int grid_rows, int grid_cols, long rows, long cols, int width)
{
    job<T> job;
    const int few = width > 1 ? width - 1 : 1;

    job.opt.rows = rows;
    job.opt.cols = cols;
    job.opt.grid_rows = grid_rows;
    job.opt.grid_cols = grid_cols;
    job.opt.gpus_per_pe = 1;
    job.opt.halo_width = width;
    for (int i = 0; i < grid_rows * grid_cols; i++)
        job.pes.emplace_back(new pe<T>());
    for (int i = 0; i < job.size(); i++)
        open_pe(job, job.at(i), i, job.size());
    for (int i = 0; i < job.size(); i++)
        open_view(job, job.at(i), i);
    for (auto &pe : job.pes)
        send_first(job, *pe);
    group_plans.assign((size_t)(2 * GROUPS * job.size()), launch_plan());
    play_rounds(job, 3);
    play_steps(job, few);
    play_rounds(job, 4);
    play_steps(job, width);
    const std::vector<T> expected = serial_run<T>(job.opt, 8L * width + few);
    for (auto &pe : job.pes)
        check_tile(*pe, expected);
}

int main(void)
{
    cuda_like.memtype = OSHM_MEMTYPE_CUDA;
    run_grid<float>(1, 1, 13, 17, 1);
    run_grid<float>(2, 1, 24, 70, 1);
    run_grid<double>(1, 2, 21, 37, 2);
    run_grid<float>(2, 2, 23, 41, 1);
    run_grid<double>(2, 3, 22, 50, 3);
    return 0;
}
