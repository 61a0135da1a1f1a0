/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kinds of memory: opens them when they are first needed, finds them by type or by address, and copies between any
 * two of them.
 */
#include "gpu/memory.h"

#include "base/log.h"
#include "base/system/plain.h"
#include "gpu/copy_threads/copy_pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

bool shmemi_memory_probe;
void (*shmemi_copy_observer)(const struct shmemi_device_copy *copy);
int shmemi_memory_machine_pes = 1, shmemi_memory_machine_rank;
int shmemi_memory_sharers[SHMEMI_MEMTYPES] = {[0 ... SHMEMI_MEMTYPES - 1] = 1};
atomic_bool shmemi_memory_kernels_wait;

/* By type and device, whose number is -1 if it is unknown; 0: 1. */
enum { DEVICES = 64 };
static int sharers_of[SHMEMI_MEMTYPES][DEVICES];

int shmemi_memory_sharers_of(int type, int device)
{
    const int sharers = sharers_of[type][(unsigned)device % DEVICES];
    return sharers ? sharers : 1;
}

void shmemi_memory_set_sharers(int type, int device, int sharers)
{
    int most = 1;
    sharers_of[type][(unsigned)device % DEVICES] = sharers;
    for (int i = 0; i < DEVICES; i++)
        most = sharers_of[type][i] > most ? sharers_of[type][i] : most;
    shmemi_memory_sharers[type] = most;
}

bool shmemi_memory_takes_turns(const struct shmemi_memory *memory)
{
    const struct shmemi_stream_commands *commands = memory->streams ? memory->streams->commands : NULL;
    return shmemi_memory_sharers[memory->type] > 1 && !(commands && commands->kernels_may_wait());
}

enum kind_state { KIND_UNTRIED, KIND_OPEN, KIND_ABSENT };

static const struct shmemi_memory *const gpu_kinds[] = {
#define MEMORY_KIND(type, table, ...) &shmemi_memory_##table,
#include "gpu/memory_kinds.def"
};
enum { N_GPU_KINDS = sizeof gpu_kinds / sizeof gpu_kinds[0] };

void shmemi_memory_prepare(int host_pes)
{
    shmemi_memory_machine_pes = host_pes;
    for (int i = 0; i < N_GPU_KINDS; i++)
        if (gpu_kinds[i]->prepare)
            gpu_kinds[i]->prepare();
}

static pthread_mutex_t kinds_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(enum kind_state) kind_states[N_GPU_KINDS];

static enum kind_state state_of(int i)
{
    return atomic_load_explicit(&kind_states[i], memory_order_acquire);
}

static bool open_kind(int i)
{
    if (state_of(i) == KIND_UNTRIED) {
        pthread_mutex_lock(&kinds_lock);
        if (state_of(i) == KIND_UNTRIED) {
            enum kind_state state = gpu_kinds[i]->open() ? KIND_ABSENT : KIND_OPEN;
            atomic_store_explicit(&kind_states[i], state, memory_order_release);
        }
        pthread_mutex_unlock(&kinds_lock);
    }
    return state_of(i) == KIND_OPEN;
}

/* -1 when no kind has this type. */
static int kind_of_type(int type)
{
    int i = N_GPU_KINDS - 1;
    while (i >= 0 && gpu_kinds[i]->type != type)
        i--;
    return i;
}

const struct shmemi_memory *shmemi_memory_of_type(int type)
{
    int i = kind_of_type(type);
    return i >= 0 && open_kind(i) ? gpu_kinds[i] : NULL;
}

bool shmemi_memory_type_exists(int type)
{
    return kind_of_type(type) >= 0;
}

const char *shmemi_memory_type_name(int type)
{
    int i = kind_of_type(type);
    return i >= 0 ? gpu_kinds[i]->title : "unknown";
}

bool shmemi_memory_is_built(int type)
{
    return gpu_kinds[kind_of_type(type)]->close;
}

bool shmemi_memory_is_unmapped(const void *address)
{
    struct shmemi_place place;
    for (int i = 0; i < N_GPU_KINDS; i++)
        if (gpu_kinds[i]->is_object && open_kind(i) && gpu_kinds[i]->is_object(address))
            return true;
    return shmemi_memory_find(address, &place) == SHMEMI_CLAIM_OWN;
}

const char *shmemi_memory_types(void)
{
    static const char types[] =
#define MEMORY_KIND(type, ...) ", OSHM_MEMTYPE_" #type
#include "gpu/memory_kinds.def"
        ;
    return types + 2;
}

void shmemi_memory_report_copies(void)
{
    for (int i = 0; i < N_GPU_KINDS; i++)
        if (state_of(i) == KIND_OPEN && gpu_kinds[i]->report_copies)
            gpu_kinds[i]->report_copies();
}

static const struct {
    const char *name, *remedy;
} classes[SHMEMI_MEMORY_CLASSES] = {
#define MEMORY_CLASS(id, type, name, remedy) {name, remedy},
#include "gpu/memory_kinds.def"
};

const char *shmemi_memory_class_name(enum shmemi_memory_class class)
{
    return classes[class].name;
}

const char *shmemi_memory_class_remedy(enum shmemi_memory_class class)
{
    return classes[class].remedy;
}

void shmemi_descriptors_close(struct shmemi_descriptors *descriptors)
{
    while (descriptors->count)
        close(descriptors->fd[--descriptors->count]);
}

/* A kind whose memory has addresses is opened at once, since the program may use the GPU for the first time at any
 * later moment. Opening only loads the vendor's library: the cheapest way to find out whether there is one. */
void shmemi_memory_discover(void)
{
    for (int i = 0; i < N_GPU_KINDS; i++)
        if (gpu_kinds[i]->addresses && open_kind(i))
            shmemi_memory_probe = true;
    if (shmemi_memory_probe && shmemi_plain_open())
        shmemi_debug("other libraries call another mmap: the GPU's driver is asked about each private pointer");
}

enum shmemi_claim shmemi_memory_find(const void *address, struct shmemi_place *place_p)
{
    enum shmemi_claim most = SHMEMI_CLAIM_NONE;
    *place_p = shmemi_place_host(address);
    for (int i = 0; i < N_GPU_KINDS && most != SHMEMI_CLAIM_OWN; i++) {
        if (state_of(i) != KIND_OPEN || !gpu_kinds[i]->addresses)
            continue;
        enum shmemi_claim claim = gpu_kinds[i]->addresses->claim(address);
        if (claim == SHMEMI_CLAIM_OWN)
            place_p->memory = gpu_kinds[i];
        most = claim > most ? claim : most;
    }
    return most;
}

enum shmemi_claim shmemi_memory_locate(const void *address, struct shmemi_place *place_p)
{
    enum shmemi_claim claim = shmemi_memory_find(address, place_p);
    place_p->memory->addresses->adopt(place_p);
    return claim;
}

/* ---- Page-locked host memory ------------------------------------------------------------------------------------- */

void shmemi_memory_pin(void *address, size_t size)
{
    for (int i = 0; i < N_GPU_KINDS; i++)
        if (state_of(i) == KIND_OPEN && gpu_kinds[i]->pinning)
            gpu_kinds[i]->pinning->pin(address, size);
}

void shmemi_memory_unpin(void *address, size_t size)
{
    for (int i = 0; i < N_GPU_KINDS; i++)
        if (state_of(i) == KIND_OPEN && gpu_kinds[i]->pinning)
            gpu_kinds[i]->pinning->unpin(address, size);
}

bool shmemi_memory_is_pinned(const void *address, size_t size)
{
    for (int i = 0; i < N_GPU_KINDS; i++)
        if (state_of(i) == KIND_OPEN && gpu_kinds[i]->pinning && gpu_kinds[i]->pinning->is_pinned(address, size))
            return true;
    return false;
}

/* ---- Between two kinds of GPU memory -----------------------------------------------------------------------------
 * Such copies go through two buffers of page-locked host memory: one is filled while the other is emptied. Small copies
 * are cut into small pieces, since with few pieces little overlaps. */

enum { N_BUFFERS = 2, PIECE_MAX = 4 << 20, PIECE_MIN = 256 << 10, PIECES_WANTED = 4, BUFFER_ALIGNMENT = 1 << 21 };

static pthread_mutex_t buffers_lock = PTHREAD_MUTEX_INITIALIZER;
static char *buffers;

static size_t piece_size(size_t total)
{
    size_t size = total / PIECES_WANTED;
    if (size > PIECE_MAX)
        return PIECE_MAX;
    return size < PIECE_MIN ? PIECE_MIN : size;
}

static int open_buffers(void)
{
    if (buffers)
        return 0;
    buffers = aligned_alloc(BUFFER_ALIGNMENT, (size_t)N_BUFFERS * PIECE_MAX);
    if (!buffers) {
        shmemi_error("out of memory for copies between kinds of GPU memory");
        return -ENOMEM;
    }
    shmemi_memory_pin(buffers, (size_t)N_BUFFERS * PIECE_MAX);
    return 0;
}

static void close_buffers(void)
{
    if (!buffers)
        return;
    shmemi_memory_unpin(buffers, (size_t)N_BUFFERS * PIECE_MAX);
    free(buffers);
    buffers = NULL;
}

static int fill(char *buffer, const struct shmemi_place *source, const struct shmemi_shape *shape,
                const struct shmemi_piece *piece)
{
    struct shmemi_place from = *source, to = shmemi_place_host(buffer);
    struct shmemi_shape part = shmemi_shape_pack(piece, shape->source_pitch);
    from.address += shmemi_piece_offset(piece, shape->source_pitch);
    return source->memory->copy(&to, &from, &part);
}

static int empty(const char *buffer, const struct shmemi_place *dest, const struct shmemi_shape *shape,
                 const struct shmemi_piece *piece, struct shmemi_event *event_p)
{
    struct shmemi_place from = shmemi_place_host(buffer), to = *dest;
    struct shmemi_shape part = shmemi_shape_unpack(piece, shape->dest_pitch);
    to.address += shmemi_piece_offset(piece, shape->dest_pitch);
    return dest->memory->copy_start(&to, &from, &part, event_p);
}

static int wait_event(struct shmemi_event *event)
{
    int rc = event->memory ? event->memory->event_wait(event) : 0;
    event->memory = NULL;
    return rc;
}

static int copy_plane_through_host(const struct shmemi_place *dest, const struct shmemi_place *source,
                                   const struct shmemi_shape *shape)
{
    struct shmemi_event emptied[N_BUFFERS] = {0};
    struct shmemi_cutter cutter = {.width = shape->width, .rows = shape->rows};
    struct shmemi_piece piece;
    size_t most = piece_size(shape->width * shape->rows);
    int rc = 0;
    for (unsigned i = 0; !rc && shmemi_cut(&cutter, most, &piece); i = (i + 1) % N_BUFFERS) {
        char *buffer = buffers + (size_t)i * PIECE_MAX;
        rc = wait_event(&emptied[i]);
        if (!rc)
            rc = fill(buffer, source, shape, &piece);
        if (!rc)
            rc = empty(buffer, dest, shape, &piece, &emptied[i]);
    }
    for (int i = 0; i < N_BUFFERS; i++) {
        int waited = wait_event(&emptied[i]);
        rc = rc ? rc : waited;
    }
    return rc;
}

/* Layer by layer: pieces know no layers. */
static int copy_through_host(struct shmemi_place dest, struct shmemi_place source, const struct shmemi_shape *shape)
{
    const struct shmemi_shape part = shape->layer ? shmemi_shape_some(shape, 1) : *shape;
    int rc = 0;
    for (size_t left = shmemi_shape_layers(shape); left && !rc; left--) {
        rc = copy_plane_through_host(&dest, &source, &part);
        dest.address += shmemi_shape_dest_layer(shape);
        source.address += shmemi_shape_source_layer(shape);
    }
    return rc;
}

int shmemi_memory_copy(const struct shmemi_place *dest, const struct shmemi_place *source,
                       const struct shmemi_shape *shape)
{
    if (dest->memory == source->memory || source->memory == &shmemi_memory_host)
        return dest->memory->copy(dest, source, shape);
    if (dest->memory == &shmemi_memory_host)
        return source->memory->copy(dest, source, shape);
    if (!shape->width || !shape->rows)
        return 0;
    pthread_mutex_lock(&buffers_lock);
    int rc = open_buffers();
    if (!rc)
        rc = copy_through_host(*dest, *source, shape);
    pthread_mutex_unlock(&buffers_lock);
    return rc;
}

void shmemi_memory_close(void)
{
    shmemi_plain_close();
    close_buffers();
    shmemi_copy_pool_close();
    for (int i = 0; i < N_GPU_KINDS; i++) {
        if (state_of(i) == KIND_OPEN)
            gpu_kinds[i]->close();
        atomic_store_explicit(&kind_states[i], KIND_UNTRIED, memory_order_release);
    }
    shmemi_memory_probe = false;
}
