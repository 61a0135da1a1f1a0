/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A whole search in one kernel, which exchanges by itself (shmemx_device.h): CUDA includes this behind kernels.h, and a
 * test that plays kernels by threads. Defined before it, besides what kernels.h needs: WITH_SEARCH in front of the
 * kernel, VIEW (a view as a parameter that is passed by value), NOW_NS(), and
 *   meet_all_begin(word)        this group has come: by one lane
 *   meet_all_end(word, value)   until the word has this value
 *
 * All groups run at the same time. A level: groups expand the frontier, and store pairs of other PEs' vertices straight
 * into their inboxes, where each sender has a box; they meet; the first group sends a report to each PE; all groups wait
 * for the reports of all PEs, absorb what has come, and meet.
 *
 * Reports of levels take turns in two halves. A PE sends that of level l + 2 when it has all of l + 1, which others send
 * behind the meeting that ends level l, when none of their groups reads reports of l any more.
 */

/* All groups: `times` counts the meetings of this search. What a group has stored on other PEs is in place before. */
DEVICE void meet_all(GLOBAL u64 *word, u64 *times, bool has_sent, const shmemx_device_view_t &view)
{
    BARRIER();
    *times += 1;
    if (LANE == 0) {
        if (has_sent)
            shmemx_device_fence(shmemx_device_thread_t(), view);
        meet_all_begin(word);
        meet_all_end(word, *times * GROUPS);
    }
    BARRIER();
}

/* As expand does. Returns whether this group has sent anything. */
DEVICE bool expand_and_send(LOCAL struct reservation *reservation, LOCAL struct piece *piece, const struct level *level,
                            GLOBAL u64 *inbox, const shmemx_device_view_t &view)
{
    const struct own_part own = level->own;
    const u64 n_edges = EDGES(level->counters[level->turn]);
    const u32 n_vertices = VERTICES(level->counters[level->turn]);
    const u64 share = edges_of_group(n_edges);
    const u64 end = (GROUP + 1) * share < n_edges ? (GROUP + 1) * share : n_edges;
    const u32 most = LANES * PER_LANE;

    if (GLOBAL_ID == 0)
        level->counters[(level->turn + 2) % QUEUE_COUNTERS] = 0;
    if (GROUP * share >= n_edges)
        return false;
    find_entry(&piece->entry, level->queue, n_vertices, GROUP * share);
    for (u64 from = GROUP * share; from < end; from += most) {
        u32 n = end - from < most ? (u32)(end - from) : most;
        struct finds finds;

        find_new(&finds, reservation, piece, level, n_vertices, from, n);
        for (u32 k = 0; k < PER_LANE; k++) {
            u32 vertex = finds.vertex[k];
            u32 owner = vertex / own.block;

            if (vertex == NONE)
                continue;
            if (owner == own.my_pe)
                take_own(&finds, k, reservation, level);
            else
                shmemx_device_p(view,
                                &inbox[(u64)(own.my_pe - (own.my_pe > owner)) * own.block +
                                       reservation->sent_at[owner] + finds.place[k]],
                                PAIR(vertex - owner * own.block, own.first + finds.from[k]), (int)owner);
        }
    }
    return own.n_pes > 1;
}

/* By the first group. told: what had been sent to each PE before this level. */
DEVICE void report_level(const shmemx_device_view_t &view, GLOBAL struct level_report *reports, GLOBAL u32 *told,
                         const struct level *level, bool is_first, u64 epoch)
{
    const struct own_part own = level->own;
    GLOBAL const u32 *sent = (GLOBAL const u32 *)(level->counters + COUNTER_WORDS);
    GLOBAL struct level_report *there = &reports[epoch % 2 * own.n_pes + own.my_pe];
    struct level_report report = {};

    report.frontier = VERTICES(level->counters[level->turn]);
    report.found = VERTICES(level->counters[(level->turn + 1) % QUEUE_COUNTERS]);
    for (u32 pe = 0; pe < own.n_pes; pe++)
        report.sent += sent[pe] - (is_first ? 0 : told[pe]);
    BARRIER();
    for (u32 pe = LANE; pe < own.n_pes; pe += LANES) {
        const u32 before = is_first ? 0 : told[pe];

        report.sent_to_you = sent[pe] - before;
        report.place = (u64)(own.my_pe - (own.my_pe > pe)) * own.block + before;
        told[pe] = sent[pe];
        shmemx_device_put_signal(shmemx_device_thread_t(), view, (GLOBAL u64 *)there, (const u64 *)&report, 7,
                                 &there->epoch, epoch, SHMEM_SIGNAL_SET, (int)pe);
    }
}

/* Waits for the reports of all PEs, this one's as well, and adds them. */
DEVICE void add_reports(struct level_report *total, const shmemx_device_view_t &view,
                        GLOBAL const struct level_report *reports, u64 epoch, struct own_part own)
{
    for (u32 pe = LANE; pe < own.n_pes; pe += LANES)
        shmemx_device_signal_wait_until(shmemx_device_thread_t(), view, &reports[pe].epoch, SHMEM_CMP_GE, epoch);
    BARRIER();
    *total = level_report();
    for (u32 pe = 0; pe < own.n_pes; pe++) {
        total->frontier += reports[pe].frontier;
        total->found += reports[pe].found;
        total->sent += reports[pe].sent;
    }
}

/* The next PEs from *pe on that have sent something, as many as one call of absorb takes. By one lane. */
DEVICE void list_arrivals(LOCAL struct arrivals *arrivals, GLOBAL const struct level_report *reports, u32 *pe,
                          struct own_part own)
{
    u64 before = 0;
    int n = 0;

    for (; *pe < own.n_pes && n < ARRIVALS; ++*pe)
        if (*pe != own.my_pe && reports[*pe].sent_to_you > 0) {
            arrivals->at[n] = reports[*pe].place - before;
            before += reports[*pe].sent_to_you;
            arrivals->end[n++] = before;
        }
    for (; n < ARRIVALS; n++)
        arrivals->end[n] = before;
}

DEVICE void absorb_reported(LOCAL struct reservation *reservation, LOCAL struct arrivals *arrivals, LOCAL u32 *next_pe,
                            const struct level *level, GLOBAL const u64 *inbox,
                            GLOBAL const struct level_report *reports)
{
    u32 pe = 0;

    while (pe < level->own.n_pes) {
        BARRIER();
        if (LANE == 0) {
            list_arrivals(arrivals, reports, &pe, level->own);
            *next_pe = pe;
        }
        BARRIER();
        pe = *next_pe;
        absorb_arrivals(reservation, level, inbox, arrivals);
    }
}

/* From the root's queue to the end. inbox and box are mapped; in box are the reports of two levels, then what has been
 * told to each PE. epoch: of the level before. */
WITH_SEARCH void search_all(GLOBAL const u64 *row, GLOBAL const u32 *column, GLOBAL u32 *parent, GLOBAL u32 *known,
                            GLOBAL u64 *even_queue, GLOBAL u64 *odd_queue, GLOBAL u64 *counters, GLOBAL u64 *inbox,
                            GLOBAL struct level_report *box, GLOBAL struct search_result *result, VIEW inbox_view,
                            VIEW box_view, struct own_part own, u64 epoch)
{
    SHARED struct reservation reservation;
    SHARED struct piece piece;
    SHARED struct arrivals arrivals;
    SHARED u32 next_pe;
    GLOBAL u32 *told = (GLOBAL u32 *)&box[2 * own.n_pes];
    struct level level = {row, column, parent, known, even_queue, odd_queue, counters, 0, own};
    struct search_result sums = {};
    struct level_report total;
    u64 meetings = 0;

    clear_reservation(&reservation, own.n_pes);
    do {
        const bool is_first = sums.run == 0, is_even = sums.run % 2 == 0;
        GLOBAL struct level_report *reports;
        bool has_sent;
        u64 begin;

        level.turn = (u32)sums.run % QUEUE_COUNTERS;
        level.queue = is_even ? even_queue : odd_queue;
        level.next_queue = is_even ? odd_queue : even_queue;
        if (!is_first)
            meet_all(&counters[MEETINGS], &meetings, false, inbox_view);
        epoch++;
        reports = &box[epoch % 2 * own.n_pes];
        has_sent = expand_and_send(&reservation, &piece, &level, inbox, inbox_view);
        begin = NOW_NS();
        meet_all(&counters[MEETINGS], &meetings, has_sent, inbox_view);
        if (GROUP == 0)
            report_level(box_view, box, told, &level, is_first, epoch);
        add_reports(&total, box_view, reports, epoch, own);
        sums.comm_ns += NOW_NS() - begin;
        absorb_reported(&reservation, &arrivals, &next_pe, &level, inbox, reports);
        sums.levels += total.frontier > 0;
        sums.reached += total.frontier;
        sums.sent += total.sent;
        sums.run++;
    } while (total.found + total.sent > 0);
    if (GLOBAL_ID == 0)
        *result = sums;
}
