/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of a search over a grid of PEs (grid.h): those of kernels.h with numbers of this PE's own, pairs that pass
 * a PE on their way, and parents of 64 bits. A vertex of this PE has its number there; one of another PE, which is a
 * neighbour of one of these, comes after them (ghosts.h).
 */

/* A search begins on the PE that owns the root. For one work-item. */
KERNEL void grid_start(GLOBAL const u64 *row, GLOBAL u64 *parent, GLOBAL u32 *known, GLOBAL u64 *queue,
                       GLOBAL u64 *counters, u32 root, u32 my_pe)
{
    if (GLOBAL_ID != 0)
        return;
    known[root >> 5] |= 1u << (root & 31);
    parent[root] = GRID_PARENT(my_pe, root);
    queue[0] = PACK(root, 0);
    counters[0] = PACK(1, degree_of(row, root));
}

DEVICE void grid_reserve(struct finds *finds, LOCAL struct reservation *r, GLOBAL const u64 *row,
                         GLOBAL const u64 *ghosts, u32 size)
{
    u64 sum = 0;

    for (u32 k = 0; k < PER_LANE; k++) {
        u32 vertex = finds->vertex[k];

        if (vertex == NONE)
            continue;
        if (vertex < size) {
            finds->place[k] = sum;
            sum += PACK(1, degree_of(row, vertex));
        } else {
            finds->place[k] = ADD_LOCAL_32(&r->sent[GHOST_COLUMN(ghosts[vertex - size])], 1);
        }
    }
    finds->mine = sum > 0 ? ADD_LOCAL_64(&r->found, sum) : 0;
}

/* As expand. starts: where in the outbox the box of each column begins. */
KERNEL void grid_expand(GLOBAL const u64 *RESTRICT row, GLOBAL const u32 *RESTRICT column, GLOBAL u64 *parent,
                        GLOBAL u32 *known, GLOBAL const u64 *RESTRICT queue, GLOBAL u64 *next_queue,
                        GLOBAL u64 *counters, GLOBAL u64 *outbox, GLOBAL const u64 *RESTRICT ghosts,
                        GLOBAL const u64 *RESTRICT starts, u32 turn, u32 size, u32 my_pe, u32 n_columns)
{
    SHARED struct reservation reservation;
    SHARED struct piece piece;
    u64 n_edges = EDGES(counters[turn]);
    u32 n_vertices = VERTICES(counters[turn]);
    u64 share = (n_edges / GROUPS / LANES + 1) * LANES;
    u64 end = (GROUP + 1) * share < n_edges ? (GROUP + 1) * share : n_edges;
    u32 most = LANES * PER_LANE;

    if (GLOBAL_ID == 0)
        counters[(turn + 2) % QUEUE_COUNTERS] = 0;
    if (GROUP * share >= n_edges)
        return;
    clear_reservation(&reservation, n_columns);
    find_entry(&piece.entry, queue, n_vertices, GROUP * share);
    for (u64 from = GROUP * share; from < end; from += most) {
        u32 n = end - from < most ? (u32)(end - from) : most;
        struct finds finds;

        load_piece(&piece, row, queue, n_vertices, from, from + n);
        look_at_edges(&finds, &piece, column, n);
        keep_new(&finds, known);
        grid_reserve(&finds, &reservation, row, ghosts, size);
        make_reservation(&reservation, &counters[(turn + 1) % QUEUE_COUNTERS], (GLOBAL u32 *)(counters + COUNTER_WORDS),
                         n_columns);
        for (u32 k = 0; k < PER_LANE; k++) {
            u32 vertex = finds.vertex[k];

            if (vertex == NONE)
                continue;
            if (vertex < size) {
                u64 place = reservation.found_at + finds.mine + finds.place[k];

                parent[vertex] = GRID_PARENT(my_pe, finds.from[k]);
                next_queue[VERTICES(place)] = PACK(vertex, EDGES(place));
            } else {
                u64 ghost = ghosts[vertex - size];
                u32 box = GHOST_COLUMN(ghost);

                outbox[starts[box] + reservation.sent_at[box] + finds.place[k]] =
                    GRID_PAIR(GHOST_ROW(ghost), finds.from[k], GHOST_VERTEX(ghost));
            }
        }
    }
}

/* Which arrival pair i belongs to. */
DEVICE u32 arrival_of(const struct arrivals *arrivals, u64 i)
{
    u32 box = 0;

    while (i >= arrivals->end[box])
        box++;
    return box;
}

/* Pairs on their way: each goes to the box of its row, and tells from now on where it comes from. */
KERNEL void grid_forward(GLOBAL u64 *counters, GLOBAL const u64 *RESTRICT inbox, GLOBAL u64 *outbox,
                         GLOBAL const u64 *RESTRICT starts, struct arrivals arrivals, struct origins origins,
                         u32 n_columns, u32 n_rows)
{
    SHARED struct reservation reservation;
    GLOBAL u32 *sent = (GLOBAL u32 *)(counters + COUNTER_WORDS) + n_columns;

    clear_reservation(&reservation, n_rows);
    for (u64 from = GROUP * LANES; from < arrivals.end[ARRIVALS - 1]; from += GROUPS * LANES) {
        u64 i = from + LANE;
        u64 pair = 0;
        u32 place = 0, row = 0, box = 0;
        bool is_one = i < arrivals.end[ARRIVALS - 1];

        if (is_one) {
            box = arrival_of(&arrivals, i);
            pair = inbox[arrivals.at[box] + i];
            row = GRID_HOP(pair);
            place = ADD_LOCAL_32(&reservation.sent[row], 1);
        }
        make_reservation(&reservation, counters, sent, n_rows);
        if (is_one)
            outbox[starts[row] + reservation.sent_at[row] + place] =
                GRID_PAIR(origins.of[box], GRID_FROM(pair), GRID_VERTEX(pair));
    }
}

/* As absorb. origins: the rows of the PEs that have forwarded the pairs. */
KERNEL void grid_absorb(GLOBAL const u64 *RESTRICT row, GLOBAL u64 *parent, GLOBAL u32 *known, GLOBAL u64 *next_queue,
                        GLOBAL u64 *counters, GLOBAL const u64 *RESTRICT inbox, struct arrivals arrivals,
                        struct origins origins, u32 turn, u32 n_columns, u32 n_rows)
{
    SHARED struct reservation reservation;

    clear_reservation(&reservation, 0);
    for (u64 from = GROUP * LANES; from < arrivals.end[ARRIVALS - 1]; from += GROUPS * LANES) {
        u64 i = from + LANE;
        u64 pair = 0, place = 0;
        u32 box = 0;
        bool is_new = false;

        if (i < arrivals.end[ARRIVALS - 1]) {
            box = arrival_of(&arrivals, i);
            pair = inbox[arrivals.at[box] + i];
            is_new = !is_surely_known(known, GRID_VERTEX(pair)) && make_known(known, GRID_VERTEX(pair));
        }
        if (is_new)
            place = ADD_LOCAL_64(&reservation.found, PACK(1, degree_of(row, GRID_VERTEX(pair))));
        make_reservation(&reservation, &counters[(turn + 1) % QUEUE_COUNTERS], (GLOBAL u32 *)counters, 0);
        if (is_new) {
            place += reservation.found_at;
            parent[GRID_VERTEX(pair)] =
                GRID_PARENT(GRID_ORIGIN(origins.of[box], GRID_HOP(pair), n_columns, n_rows), GRID_FROM(pair));
            next_queue[VERTICES(place)] = PACK(GRID_VERTEX(pair), EDGES(place));
        }
    }
}
