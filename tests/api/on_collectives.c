/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every collective of every type on queues and streams, from and to mapped memory, the heap and static data, over all PEs
 * and over teams: compared with a model.
 */
#include "map_check.h"

#include <shmemx.h>

static void *lane; /* CUstream or cl_command_queue */
static bool is_queue;

#define FORM_CALL(NAME, ...)                                                                                           \
    (is_queue ? shmemx_##NAME##_on_queue(__VA_ARGS__, lane, 0, NULL, NULL)                                             \
              : shmemx_##NAME##_on_stream(__VA_ARGS__, lane))
#include "reduce_forms.h"

enum { BYTES = 1 << 20, DEST = BYTES / 2, LONGEST = 3000 };

static struct device *device;
static struct queue *queue;
static struct buffer *buffer;
static char *map, *heap;
static unsigned char image[BYTES];
static char in_data[BYTES]; /* of the executable */

/* Where a collective works, and over which team. */
struct place {
    char *dest, *source; /* map, heap or in_data */
    shmem_team_t team;
    int n, me;
};

static const char *name_of(const char *memory)
{
    return memory == map ? "mapped" : memory == heap ? "heap" : "static";
}

static void put_image(const struct place *place, size_t at, size_t nbytes)
{
    if (place->source == map)
        device_write(device, buffer, at, image + at, nbytes);
    else
        memcpy(place->source + at, image + at, nbytes);
}

static void get_image(const struct place *place, size_t at, size_t nbytes)
{
    device->ops->gpu.finish(queue);
    if (place->dest == map)
        device_read(device, image + at, buffer, at, nbytes);
    else
        memcpy(image + at, place->dest + at, nbytes);
}

/* ---- Reductions and scans ---------------------------------------------------------------------------------------- */

static void model(const struct form *form, const struct place *place, unsigned char *expected, size_t i)
{
    int last = form->is_scan ? place->me - form->exclusive : place->n - 1;
    form->set(expected, last < 0 ? 0 : contribution(form, 0, i));
    for (int pe = 1; pe <= last; pe++)
        form->combine(expected, contribution(form, pe, i));
}

static void try_form(const struct form *form, const struct place *place, size_t nelems, bool in_place)
{
    _Alignas(32) unsigned char expected[32];
    const size_t nbytes = nelems * form->size, dest = in_place && place->dest == place->source ? 0 : DEST;
    memset(image, 0, nbytes);
    for (size_t i = 0; i < nelems; i++)
        form->set(image + i * form->size, contribution(form, place->me, i));
    put_image(place, 0, nbytes);
    CHECK(form->reduce(place->team, place->dest + dest, place->source, nelems) == 0);
    get_image(place, dest, nbytes);
    for (size_t i = 0; i < nelems; i++) {
        model(form, place, expected, i);
        CHECK_THAT(form->equal(image + dest + i * form->size, expected),
                   "%s, %s from %s, team of %d: element %zu of %zu is wrong", form->name, name_of(place->dest),
                   name_of(place->source), place->n, i, nelems);
    }
    shmem_barrier_all(); /* some team may not read what is written next */
}

static void check_reductions(const struct place *place, size_t nelems, int step)
{
    for (int i = 0; i < N_FORMS; i += step)
        if (!strstr(forms[i].name, "_to_all"))
            try_form(&forms[i], place, nelems, i % 2);
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

typedef int (*copy_func_t)(shmem_team_t team, void *dest, const void *source, size_t n);
typedef int (*broadcast_func_t)(shmem_team_t team, void *dest, const void *source, size_t n, int root);
typedef int (*strided_func_t)(shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                              size_t n);

struct copies {
    const char *name;
    size_t size;
    broadcast_func_t broadcast;
    copy_func_t collect, fcollect, alltoall;
    strided_func_t alltoalls;
};

/* clang-format off */
#define DEFINE_COPY(NAME, ROUTINE)                                                                                     \
    static int copy_##NAME(shmem_team_t team, void *dest, const void *source, size_t n)                                \
    { return FORM_CALL(ROUTINE, team, dest, source, n); }
#define DEFINE_COPIES(NAME, BROADCAST, COLLECT, FCOLLECT, ALLTOALL, ALLTOALLS)                                         \
    static int broadcast_##NAME(shmem_team_t team, void *dest, const void *source, size_t n, int root)                 \
    { return FORM_CALL(BROADCAST, team, dest, source, n, root); }                                                      \
    DEFINE_COPY(collect_##NAME, COLLECT)                                                                               \
    DEFINE_COPY(fcollect_##NAME, FCOLLECT)                                                                             \
    DEFINE_COPY(alltoall_##NAME, ALLTOALL)                                                                             \
    static int alltoalls_##NAME(shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t n) \
    { return FORM_CALL(ALLTOALLS, team, dest, source, dst, sst, n); }
#define DEFINE_TYPED(NAME, TYPE, ...)                                                                                  \
    DEFINE_COPIES(NAME, NAME##_broadcast, NAME##_collect, NAME##_fcollect, NAME##_alltoall, NAME##_alltoalls)
#define ROW(NAME, TYPE, ...)                                                                                           \
    {#NAME, sizeof(TYPE), broadcast_##NAME, copy_collect_##NAME, copy_fcollect_##NAME, copy_alltoall_##NAME, alltoalls_##NAME},
/* clang-format on */
SHMEMI_FOR_RMA_TYPES(DEFINE_TYPED, )
DEFINE_COPIES(mem, broadcastmem, collectmem, fcollectmem, alltoallmem, alltoallsmem)
static const struct copies copies[] = {SHMEMI_FOR_RMA_TYPES(ROW, ) ROW(mem, char, )};
enum { N_COPIES = sizeof copies / sizeof copies[0] };

static unsigned char byte_of(int pe, size_t at)
{
    return (unsigned char)(pe * 37 + (int)(at % 251) + 1);
}

static void fill(const struct place *place, size_t nbytes)
{
    for (size_t at = 0; at < nbytes; at++)
        image[at] = byte_of(place->me, at);
    put_image(place, 0, nbytes);
}

static void expect(const char *verb, const struct copies *row, size_t at, unsigned char expected)
{
    CHECK_THAT(image[DEST + at] == expected, "%s of %s: byte %zu is %d, not %d", verb, row->name, at, image[DEST + at],
               expected);
}

static void try_broadcast(const struct copies *row, const struct place *place, size_t nelems)
{
    const size_t nbytes = nelems * row->size;
    const int root = (int)(nelems % (size_t)place->n);
    fill(place, nbytes);
    CHECK(row->broadcast(place->team, place->dest + DEST, place->source, nelems, root) == 0);
    get_image(place, DEST, nbytes);
    for (size_t at = 0; at < nbytes; at++)
        expect("broadcast", row, at, byte_of(root, at));
}

static void try_fcollect(const struct copies *row, const struct place *place, size_t nelems)
{
    const size_t nbytes = nelems * row->size;
    fill(place, nbytes);
    CHECK(row->fcollect(place->team, place->dest + DEST, place->source, nelems) == 0);
    get_image(place, DEST, nbytes * (size_t)place->n);
    for (size_t at = 0; at < nbytes * (size_t)place->n; at++)
        expect("fcollect", row, at, byte_of((int)(at / nbytes), at % nbytes));
}

/* Member i has nelems + i elements. */
static void try_collect(const struct copies *row, const struct place *place, size_t nelems)
{
    const size_t mine = nelems + (size_t)place->me;
    size_t end = 0;
    fill(place, mine * row->size);
    CHECK(row->collect(place->team, place->dest + DEST, place->source, mine) == 0);
    for (int pe = 0; pe < place->n; pe++)
        end += (nelems + (size_t)pe) * row->size;
    get_image(place, DEST, end);
    end = 0;
    for (int pe = 0; pe < place->n; pe++)
        for (size_t at = 0; at < (nelems + (size_t)pe) * row->size; at++)
            expect("collect", row, end++, byte_of(pe, at));
}

/* Nobody has anything; the array then may be the end of an object. */
static void try_empty_collect(const struct place *place)
{
    CHECK(copies[0].collect(place->team, place->dest + BYTES, place->source, 0) == 0);
    device->ops->gpu.finish(queue);
}

static void try_alltoall(const struct copies *row, const struct place *place, size_t nelems)
{
    const size_t nbytes = nelems * row->size, all = nbytes * (size_t)place->n;
    fill(place, all);
    CHECK(row->alltoall(place->team, place->dest + DEST, place->source, nelems) == 0);
    get_image(place, DEST, all);
    for (size_t at = 0; at < all; at++)
        expect("alltoall", row, at, byte_of((int)(at / nbytes), (size_t)place->me * nbytes + at % nbytes));
}

/* Every second element becomes every third. */
static void try_alltoalls(const struct copies *row, const struct place *place, size_t nelems)
{
    const size_t n = nelems * (size_t)place->n;
    fill(place, 2 * n * row->size);
    CHECK(row->alltoalls(place->team, place->dest + DEST, place->source, 3, 2, nelems) == 0);
    get_image(place, DEST, 3 * n * row->size);
    for (size_t i = 0; i < n; i++)
        for (size_t at = 0; at < row->size; at++)
            expect("alltoalls", row, 3 * i * row->size + at,
                   byte_of((int)(i / nelems), 2 * ((size_t)place->me * nelems + i % nelems) * row->size + at));
}

static void check_copies(const struct place *place, size_t nelems, int step)
{
    static void (*const tries[])(const struct copies *, const struct place *,
                                 size_t) = {try_broadcast, try_fcollect, try_collect, try_alltoall, try_alltoalls};
    for (int i = 0; i < N_COPIES; i += step)
        for (size_t k = 0; k < sizeof tries / sizeof tries[0]; k++) {
            tries[k](&copies[i], place, nelems);
            shmem_barrier_all();
        }
}

/* ---- Places ------------------------------------------------------------------------------------------------------ */

static void check_syncs(const struct place *place)
{
    for (int i = 0; i < 3; i++) {
        FORM_CALL(team_sync, place->team);
        FORM_CALL(team_barrier, place->team);
    }
    device->ops->gpu.finish(queue);
}

/* The barriers of try_form and check_copies are those of all PEs: they count the same calls in any team. */
static void check_team(shmem_team_t team)
{
    struct place place = {.team = team, .n = shmem_team_n_pes(team), .me = shmem_team_my_pe(team)};
    check_syncs(&place);
    char *const memories[][2] = {{heap, heap}, {map, map}, {map, in_data}, {map, heap}, {heap, in_data}};
    for (size_t i = 0; i < sizeof memories / sizeof memories[0]; i++) {
        place.dest = memories[i][0];
        place.source = memories[i][1];
        const bool is_world = team == SHMEM_TEAM_WORLD;
        check_reductions(&place, 3, is_world ? 1 : 7);
        check_reductions(&place, LONGEST, is_world ? 5 : 23);
        check_copies(&place, 2, is_world ? 1 : 5);
        try_empty_collect(&place);
        check_copies(&place, LONGEST / (size_t)(3 * shmem_n_pes()), 6);
        check_reductions(&place, 0, 50);
    }
}

/* All PEs are in one of two teams, whose members are not side by side, in reverse order. */
static void check_strided(void)
{
    shmem_team_t parts[2];
    const int n = shmem_n_pes(), odd = shmem_my_pe() % 2;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, (n - 1) / 2 * 2, -2, (n + 1) / 2, NULL, 0, &parts[0]);
    if (n > 1)
        shmem_team_split_strided(SHMEM_TEAM_WORLD, (n - 2) / 2 * 2 + 1, -2, n / 2, NULL, 0, &parts[1]);
    check_team(parts[odd]);
    shmem_team_destroy(parts[odd]);
}

static bool check_kind(const struct device_ops *kind)
{
    device = map_open_device(kind);
    if (!device)
        return false;
    is_queue = kind->memtype == DEVICE_TYPE_OPENCL;
    queue = kind->gpu.queue_open(device);
    lane = kind->gpu.queue_object(queue);
    buffer = device_alloc(device, BYTES);
    map = shmmap(buffer, BYTES, kind->memtype);
    CHECK_THAT(map, "shmmap: %s", shmemx_strerror());
    check_team(SHMEM_TEAM_WORLD);
    check_strided();
    shmumap(map);
    return true;
}

int main(void)
{
    shmem_init();
    heap = check_shmem_malloc(BYTES);
    bool any = check_kind(&device_opencl_ops);
    any |= check_kind(&device_cuda_ops);
    if (any)
        return check_end();
    shmem_finalize();
    return CHECK_SKIP;
}
