/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Values of all vertices, read one piece after the other: each PE shows a piece of its own in the symmetric heap, and
 * gets those of the others.
 */
#include <shmem.h>
#include <stdlib.h>
#include <string.h>

#include "collective.h"
#include "windows.h"

#define WINDOW_BYTES ((size_t)64 << 20)

struct panorama {
    const struct partition *part;
    size_t value_bytes;
    char *shown; /* symmetric: a piece of the own values */
    char *fetched;
    void (*visit)(const struct window *window, void *arg);
    void *arg;
};

/* Visits vertices done to done + room - 1 of a PE. */
static void visit_piece(const struct panorama *panorama, int pe, size_t done, size_t room)
{
    size_t size = partition_size(panorama->part, pe);
    size_t left = size > done ? size - done : 0;
    struct window window = {
        .first = (vertex_t)(partition_first(panorama->part, pe) + done),
        .n = left < room ? left : room,
        .values = pe == shmem_my_pe() ? panorama->shown : panorama->fetched,
    };

    if (window.n == 0)
        return;
    if (pe != shmem_my_pe())
        shmem_getmem(panorama->fetched, panorama->shown, window.n * panorama->value_bytes, pe);
    panorama->visit(&window, panorama->arg);
}

static void visit_pieces(const struct panorama *panorama, const char *own, size_t room)
{
    int n_pes = panorama->part->n_pes;
    int me = shmem_my_pe();
    size_t size = partition_size(panorama->part, me);

    for (size_t done = 0; done < panorama->part->block; done += room) {
        if (done < size)
            memcpy(panorama->shown, own + done * panorama->value_bytes,
                   (size - done < room ? size - done : room) * panorama->value_bytes);
        shmem_barrier_all();
        for (int i = 0; i < n_pes; i++)
            visit_piece(panorama, (me + i) % n_pes, done, room);
        shmem_barrier_all();
    }
}

void windows_visit(const struct partition *part, const void *own, size_t value_bytes,
                   void (*visit)(const struct window *window, void *arg), void *arg)
{
    size_t room = heap_share(WINDOW_BYTES) / value_bytes;
    struct panorama panorama = {
        .part = part,
        .value_bytes = value_bytes,
        .visit = visit,
        .arg = arg,
    };

    if (room > part->block)
        room = part->block;
    if (room < 1)
        quit_all("nothing is left of the symmetric heap for the check: set SHMEM_SYMMETRIC_SIZE higher");
    panorama.shown = symmetric_alloc(room * value_bytes);
    panorama.fetched = host_alloc(room * value_bytes);
    visit_pieces(&panorama, own, room);
    free(panorama.fetched);
    shmem_free(panorama.shown);
}
