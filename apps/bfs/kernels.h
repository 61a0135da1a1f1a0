/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of the search, in what CUDA and OpenCL have in common; bfs.cu and bfs.cl say how it is spelt.
 *
 * known has a bit for each vertex of the graph: those of this PE that are in the tree, and those of others that need
 * not be sent to their owners any more. Whoever sets a bit owns the vertex's only entry in a queue or an outbox.
 *
 * LANE is a work-item's number in its group of LANES. All work-items of a group reach each BARRIER.
 *
 * OpenCL gives a kernel its buffers one by one, so kernels have many parameters; what they call takes a struct level.
 */

/* What a level works on: the graph, the tree, and the queues, which take turns. */
struct level {
    GLOBAL const u64 *row;
    GLOBAL const u32 *column;
    GLOBAL u32 *parent, *known;
    GLOBAL const u64 *queue;
    GLOBAL u64 *next_queue, *counters;
    u32 turn;
    struct own_part own;
};

/* ---- Vertices and places ----------------------------------------------------------------------------------------- */

/* What a group collects before it reserves room for it, with one atomic operation for each place. */
struct reservation {
    u64 found, found_at;
    u32 sent[MOST_PES], sent_at[MOST_PES];
};

DEVICE void clear_reservation(LOCAL struct reservation *r, u32 n_pes)
{
    for (u32 pe = LANE; pe < n_pes; pe += LANES)
        r->sent[pe] = 0;
    if (LANE == 0)
        r->found = 0;
    BARRIER();
}

/* Between the two barriers nobody adds to r; after the second the places are known, and r is empty again. */
DEVICE void make_reservation(LOCAL struct reservation *r, GLOBAL u64 *counter, GLOBAL u32 *sent, u32 n_pes)
{
    BARRIER();
    for (u32 pe = LANE; pe < n_pes; pe += LANES)
        if (r->sent[pe] > 0) {
            r->sent_at[pe] = ADD_GLOBAL_32(&sent[pe], r->sent[pe]);
            r->sent[pe] = 0;
        }
    if (LANE == 0) {
        const u64 found = *(volatile LOCAL u64 *)&r->found; /* otherwise compilers let all lanes read it beforehand */

        if (found > 0) {
            r->found_at = ADD_GLOBAL_64(counter, found);
            r->found = 0;
        }
    }
    BARRIER();
}

DEVICE bool is_in(GLOBAL const u32 *bits, u32 vertex)
{
    return bits[vertex >> 5] >> (vertex & 31) & 1;
}

/* The same while others set bits: true is certain, false may be old. */
DEVICE bool is_surely_known(GLOBAL const u32 *known, u32 vertex)
{
    return LOAD_CACHED(&known[vertex >> 5]) >> (vertex & 31) & 1;
}

/* True for one caller only. A processor's cache may be out of date, so memory is read before the atomic operation,
 * since those on one address wait for each other. */
DEVICE bool make_known(GLOBAL u32 *known, u32 vertex)
{
    GLOBAL u32 *word = &known[vertex >> 5];
    u32 bit = 1u << (vertex & 31);

    return !(LOAD_UNCACHED(word) & bit) && !(OR_GLOBAL(word, bit) & bit);
}

DEVICE u64 degree_of(GLOBAL const u64 *row, u32 vertex)
{
    return row[vertex + 1] - row[vertex];
}

/* ---- Pieces of the frontier -------------------------------------------------------------------------------------- */

/* A piece of the frontier's edges, with the vertices that they belong to. */
struct piece {
    u64 edges[PIECE];  /* of vertex i: where its edge 0 of the piece is in column, or would be */
    u32 before[PIECE]; /* edges of the piece in front of those of vertex i                     */
    u32 vertex[PIECE];
    u32 n;
    u32 entry; /* place in the queue of the first vertex of this piece, then of the next */
};

/* The last of n queue entries that has at most `edges` before it. A group looks at as many places at once as it has
 * lanes: the loads of a search must follow one another, and this needs few. */
DEVICE void find_entry(LOCAL u32 *entry, GLOBAL const u64 *queue, u32 n, u64 edges)
{
    u32 low = 0;

    while (n > 1) {
        u32 step = (n + LANES - 1) / LANES;
        u32 at = LANE * step;

        if (at < n && EDGES(queue[low + at]) <= edges && (n - at <= step || EDGES(queue[low + at + step]) > edges))
            *entry = low + at;
        BARRIER();
        n = n - (*entry - low) < step ? n - (*entry - low) : step;
        low = *entry;
        BARRIER();
    }
    if (LANE == 0)
        *entry = low;
    BARRIER();
}

/* Fill it with edges first to end - 1 of the frontier, which has n vertices. piece->entry leads to the first. */
DEVICE void load_piece(LOCAL struct piece *piece, GLOBAL const u64 *row, GLOBAL const u64 *queue, u32 n, u64 first,
                       u64 end)
{
    u32 entry = piece->entry;

    BARRIER();
    for (u32 i = LANE; i < PIECE && entry + i < n; i += LANES) {
        u64 word = queue[entry + i];
        u64 next = entry + i + 1 < n ? EDGES(queue[entry + i + 1]) : end + 1;

        if (EDGES(word) >= end)
            break;
        piece->vertex[i] = VERTICES(word);
        piece->before[i] = i == 0 ? 0 : (u32)(EDGES(word) - first);
        piece->edges[i] = row[VERTICES(word)] + first - EDGES(word);
        if (next >= end) {
            piece->n = i + 1;
            piece->entry = next == end ? entry + i + 1 : entry + i;
        }
    }
    BARRIER();
}

/* Which vertex the piece's edge belongs to. */
DEVICE u32 vertex_of_edge(LOCAL const struct piece *piece, u32 edge)
{
    u32 low = 0;

    for (u32 high = piece->n; high - low > 1;) {
        u32 middle = low + (high - low) / 2;

        if (piece->before[middle] <= edge)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* ---- Top-down ---------------------------------------------------------------------------------------------------- */

/* A search begins: every PE knows the root, its owner has it in the queue. For one work-item. */
KERNEL void start(GLOBAL const u64 *row, GLOBAL u32 *parent, GLOBAL u32 *known, GLOBAL u64 *queue, GLOBAL u64 *counters,
                  u32 first, u32 size, u32 root)
{
    if (GLOBAL_ID != 0)
        return;
    known[root >> 5] |= 1u << (root & 31);
    if (root - first >= size)
        return;
    parent[root - first] = root;
    queue[0] = PACK(root - first, 0);
    counters[0] = PACK(1, degree_of(row, root - first));
}

/* Vertices that a lane has found: PER_LANE at once, so that their loads are under way together. */
struct finds {
    u32 vertex[PER_LANE]; /* NONE: nothing new */
    u32 from[PER_LANE];
    u64 place[PER_LANE]; /* in the group's reservation  */
    u64 mine;            /* of the own vertices' places */
};

DEVICE void look_at_edges(struct finds *finds, LOCAL const struct piece *piece, GLOBAL const u32 *column, u32 n_edges)
{
    for (u32 k = 0; k < PER_LANE; k++) {
        u32 edge = k * LANES + LANE;

        finds->vertex[k] = NONE;
        if (edge < n_edges) {
            u32 i = vertex_of_edge(piece, edge);

            finds->vertex[k] = column[piece->edges[i] + edge];
            finds->from[k] = piece->vertex[i];
        }
    }
}

DEVICE void keep_new(struct finds *finds, GLOBAL u32 *known)
{
    for (u32 k = 0; k < PER_LANE; k++)
        if (finds->vertex[k] != NONE && is_surely_known(known, finds->vertex[k]))
            finds->vertex[k] = NONE;
    for (u32 k = 0; k < PER_LANE; k++)
        if (finds->vertex[k] != NONE && !make_known(known, finds->vertex[k]))
            finds->vertex[k] = NONE;
}

DEVICE void reserve(struct finds *finds, LOCAL struct reservation *r, const struct level *level)
{
    u64 sum = 0;

    for (u32 k = 0; k < PER_LANE; k++) {
        u32 vertex = finds->vertex[k];

        if (vertex == NONE)
            continue;
        if (vertex - level->own.first < level->own.size) {
            finds->place[k] = sum;
            sum += PACK(1, degree_of(level->row, vertex - level->own.first));
        } else {
            finds->place[k] = ADD_LOCAL_32(&r->sent[vertex / level->own.block], 1);
        }
    }
    finds->mine = sum > 0 ? ADD_LOCAL_64(&r->found, sum) : 0;
}

/* Edges of each group: a range of those of the frontier. */
DEVICE u64 edges_of_group(u64 n_edges)
{
    return (n_edges / GROUPS / LANES + 1) * LANES;
}

/* Looks at edges from to from + n - 1 of the frontier, which has n_vertices, and reserves room for what is new. */
DEVICE void find_new(struct finds *finds, LOCAL struct reservation *r, LOCAL struct piece *piece,
                     const struct level *level, u32 n_vertices, u64 from, u32 n)
{
    load_piece(piece, level->row, level->queue, n_vertices, from, from + n);
    look_at_edges(finds, piece, level->column, n);
    keep_new(finds, level->known);
    reserve(finds, r, level);
    make_reservation(r, &level->counters[(level->turn + 1) % QUEUE_COUNTERS],
                     (GLOBAL u32 *)(level->counters + COUNTER_WORDS), level->own.n_pes);
}

DEVICE void take_own(const struct finds *finds, u32 k, LOCAL const struct reservation *r, const struct level *level)
{
    u64 place = r->found_at + finds->mine + finds->place[k];
    u32 first = level->own.first;

    level->parent[finds->vertex[k] - first] = first + finds->from[k];
    level->next_queue[VERTICES(place)] = PACK(finds->vertex[k] - first, EDGES(place));
}

/* The neighbours of the frontier that are not yet known go to the next queue, or to the outboxes. Each of these has
 * room for all vertices of its PE and is never full in a search. A group takes a range of the frontier's edges. */
KERNEL void expand(GLOBAL const u64 *RESTRICT row, GLOBAL const u32 *RESTRICT column, GLOBAL u32 *parent,
                   GLOBAL u32 *known, GLOBAL const u64 *RESTRICT queue, GLOBAL u64 *next_queue, GLOBAL u64 *counters,
                   GLOBAL u64 *outbox, u32 turn, u32 first, u32 size, u32 block, u32 my_pe, u32 n_pes)
{
    SHARED struct reservation reservation;
    SHARED struct piece piece;
    const struct level level = {
        row, column, parent, known, queue, next_queue, counters, turn, {first, size, block, my_pe, n_pes}};
    u64 n_edges = EDGES(counters[turn]);
    u32 n_vertices = VERTICES(counters[turn]);
    u64 share = edges_of_group(n_edges);
    u64 end = (GROUP + 1) * share < n_edges ? (GROUP + 1) * share : n_edges;
    u32 most = LANES * PER_LANE;

    if (GLOBAL_ID == 0)
        counters[(turn + 2) % QUEUE_COUNTERS] = 0;
    if (GROUP * share >= n_edges)
        return;
    clear_reservation(&reservation, n_pes);
    find_entry(&piece.entry, queue, n_vertices, GROUP * share);
    for (u64 from = GROUP * share; from < end; from += most) {
        u32 n = end - from < most ? (u32)(end - from) : most;
        struct finds finds;

        find_new(&finds, &reservation, &piece, &level, n_vertices, from, n);
        for (u32 k = 0; k < PER_LANE; k++) {
            u32 vertex = finds.vertex[k];
            u32 owner = vertex / block;

            if (vertex == NONE)
                continue;
            if (owner == my_pe)
                take_own(&finds, k, &reservation, &level);
            else
                outbox[(u64)(owner - (owner > my_pe)) * block + reservation.sent_at[owner] + finds.place[k]] =
                    PAIR(vertex - owner * block, first + finds.from[k]);
        }
    }
}

DEVICE void absorb_arrivals(LOCAL struct reservation *reservation, const struct level *level, GLOBAL const u64 *inbox,
                            const struct arrivals *arrivals)
{
    u32 first = level->own.first;

    for (u64 from = GROUP * LANES; from < arrivals->end[ARRIVALS - 1]; from += GROUPS * LANES) {
        u64 i = from + LANE;
        u64 pair = 0, place = 0;
        bool is_new = false;

        if (i < arrivals->end[ARRIVALS - 1]) {
            u32 box = 0;

            while (i >= arrivals->end[box])
                box++;
            pair = inbox[arrivals->at[box] + i];
            is_new = !is_surely_known(level->known, first + PAIR_VERTEX(pair)) &&
                     make_known(level->known, first + PAIR_VERTEX(pair));
        }
        if (is_new)
            place = ADD_LOCAL_64(&reservation->found, PACK(1, degree_of(level->row, PAIR_VERTEX(pair))));
        make_reservation(reservation, &level->counters[(level->turn + 1) % QUEUE_COUNTERS],
                         (GLOBAL u32 *)level->counters, 0);
        if (is_new) {
            place += reservation->found_at;
            level->parent[PAIR_VERTEX(pair)] = PAIR_PARENT(pair);
            level->next_queue[VERTICES(place)] = PACK(PAIR_VERTEX(pair), EDGES(place));
        }
    }
}

/* Pairs that other PEs have sent: what is new goes to the next queue. */
KERNEL void absorb(GLOBAL const u64 *RESTRICT row, GLOBAL u32 *parent, GLOBAL u32 *known, GLOBAL u64 *next_queue,
                   GLOBAL u64 *counters, GLOBAL const u64 *RESTRICT inbox, struct arrivals arrivals, u32 turn,
                   u32 first)
{
    SHARED struct reservation reservation;
    const struct level level = {row, 0, parent, known, 0, next_queue, counters, turn, {first, 0, 0, 0, 0}};

    clear_reservation(&reservation, 0);
    absorb_arrivals(&reservation, &level, inbox, &arrivals);
}

/* ---- Bottom-up --------------------------------------------------------------------------------------------------- */

/* The queue as bits, in the words of this PE, which are clear. */
KERNEL void mark_frontier(GLOBAL const u64 *RESTRICT queue, GLOBAL const u64 *counters, GLOBAL u32 *frontier, u32 turn,
                          u32 first)
{
    u32 n = VERTICES(counters[turn]);

    for (u64 i = GLOBAL_ID; i < n; i += GROUPS * LANES) {
        u32 vertex = first + VERTICES(queue[i]);

        OR_GLOBAL(&frontier[vertex >> 5], 1u << (vertex & 31));
    }
}

/* A neighbour of the vertex in the frontier, or NONE. Four at a time, so that their loads are under way together. */
DEVICE u32 find_parent(GLOBAL const u64 *row, GLOBAL const u32 *column, GLOBAL const u32 *frontier, u32 vertex)
{
    u64 end = row[vertex + 1];

    for (u64 i = row[vertex]; i < end; i += 4) {
        u32 a = column[i];
        u32 b = i + 1 < end ? column[i + 1] : a;
        u32 c = i + 2 < end ? column[i + 2] : a;
        u32 d = i + 3 < end ? column[i + 3] : a;
        bool has_a = is_in(frontier, a), has_b = is_in(frontier, b);
        bool has_c = is_in(frontier, c), has_d = is_in(frontier, d);

        if (has_a | has_b | has_c | has_d)
            return has_a ? a : has_b ? b : has_c ? c : d;
    }
    return NONE;
}

/* The bits of the vertices that a group looks at; no other group uses these words. Two sets take turns, so that one is
 * clear while the other is written out. */
struct found_bits {
    u32 words[2][MOST_LANES * PER_LANE / 32];
};

/* Every vertex of this PE that is not yet in the tree looks for a neighbour in the frontier. What is found goes to the
 * next queue, and makes the next frontier's words of this PE. The frontier's vertices of other PEs become known: they
 * need not be sent again. The number of lanes is a multiple of 8. */
KERNEL void bottom_up(GLOBAL const u64 *RESTRICT row, GLOBAL const u32 *RESTRICT column, GLOBAL u32 *parent,
                      GLOBAL u32 *known, GLOBAL const u32 *RESTRICT frontier, GLOBAL u32 *next_frontier,
                      GLOBAL u64 *next_queue, GLOBAL u64 *counters, u32 turn, u32 first, u32 size, u32 n_words)
{
    SHARED struct reservation reservation;
    SHARED struct found_bits bits;
    u32 first_word = first / 32, own_words = (size + 31) / 32;
    u64 step = LANES * PER_LANE;
    u32 set = 0;

    if (GLOBAL_ID == 0)
        counters[(turn + 2) % QUEUE_COUNTERS] = 0;
    for (u64 word = GLOBAL_ID; word < n_words; word += GROUPS * LANES)
        if (word < first_word || word - first_word >= own_words)
            known[word] |= frontier[word];
    for (u32 i = LANE; i < MOST_LANES * PER_LANE / 32; i += LANES)
        bits.words[0][i] = bits.words[1][i] = 0;
    clear_reservation(&reservation, 0);
    for (u64 from = GROUP * step; from < size; from += GROUPS * step) {
        u32 found_from[PER_LANE];
        u64 place[PER_LANE], sum = 0;

        for (u32 k = 0; k < PER_LANE; k++) {
            u64 vertex = from + k * LANES + LANE;

            found_from[k] = NONE;
            if (vertex < size && !is_in(known, first + (u32)vertex))
                found_from[k] = find_parent(row, column, frontier, (u32)vertex);
            if (found_from[k] == NONE)
                continue;
            place[k] = sum;
            sum += PACK(1, degree_of(row, (u32)vertex));
            OR_LOCAL(&bits.words[set][(k * LANES + LANE) / 32], 1u << ((k * LANES + LANE) & 31));
        }
        if (sum > 0)
            sum = ADD_LOCAL_64(&reservation.found, sum);
        make_reservation(&reservation, &counters[(turn + 1) % QUEUE_COUNTERS], (GLOBAL u32 *)counters, 0);
        sum += reservation.found_at;
        for (u32 k = 0; k < PER_LANE; k++) {
            u32 vertex = (u32)from + k * LANES + LANE;

            if (found_from[k] == NONE)
                continue;
            parent[vertex] = found_from[k];
            next_queue[VERTICES(sum + place[k])] = PACK(vertex, EDGES(sum + place[k]));
        }
        for (u32 i = LANE; i < step / 32; i += LANES) {
            u32 word = (u32)(from / 32) + i;

            if (word >= own_words)
                break;
            known[first_word + word] |= bits.words[set][i];
            next_frontier[first_word + word] = bits.words[set][i];
            bits.words[set][i] = 0;
        }
        set = !set;
    }
}
