/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives of GPU memory at the sizes around which they are done otherwise, and at addresses that are multiples of
 * little: from the host and in a stream or queue, from each root in turn. Every byte of the result is compared with a
 * model, and those around it with what they were.
 *
 * Limits, in bytes of a member: 64 KiB (parts of a broadcast from the host, halves of units), what a team's area has room
 * for (gpu/meeting.h), 256 KiB, 1 MiB, 16 MiB (copy engines).
 */
#include "map_check.h"
#include "check.h"

#include <shmemx.h>

enum { ROOM = 18 << 20, DEST = ROOM + 4096, BYTES = DEST + ROOM + 4096, PAINT = 0x5a };
enum { AREA_BYTES = 2112 << 10, HEAD_BYTES = 256, SENT_UNIT = 32, UNIT = 16 };

static struct device *device;
static struct queue *queue;
static struct buffer *buffer;
static void *lane;
static char *map;
static bool is_queue;
static int me, n;
static unsigned long n_cases;
static _Alignas(8) char image[ROOM + 4096], expected[ROOM + 4096];

#define CALL(IN_LANE, NAME, ...)                                                                                       \
    (!(IN_LANE) ? shmem_##NAME(__VA_ARGS__)                                                                            \
     : is_queue ? shmemx_##NAME##_on_queue(__VA_ARGS__, lane, 0, NULL, NULL)                                           \
                : shmemx_##NAME##_on_stream(__VA_ARGS__, lane))

/* One call: shifts are bytes behind a multiple of 16. */
struct call {
    const char *name;
    size_t nbytes, source, dest;
    bool in_lane;
    int root;
};

static unsigned char byte_of(int pe, size_t i)
{
    return (unsigned char)((i * 2654435761u >> 11) + (unsigned)pe * 101u + n_cases);
}

static uint64_t word_of(int pe, size_t i)
{
    return (uint64_t)i * 0x9e3779b97f4a7c15u + (uint64_t)pe * 1000003u + n_cases;
}

static void begin(const struct call *call, size_t result_bytes)
{
    n_cases++;
    memset(expected, PAINT, result_bytes + 2 * CHECK_GUARD);
    device_write(device, buffer, DEST + call->dest - CHECK_GUARD, expected, result_bytes + 2 * CHECK_GUARD);
}

static void end(const struct call *call, size_t result_bytes)
{
    device->ops->gpu.finish(queue);
    device_read(device, image, buffer, DEST + call->dest - CHECK_GUARD, result_bytes + 2 * CHECK_GUARD);
    size_t at = 0;
    while (at < result_bytes + 2 * CHECK_GUARD && image[at] == expected[at])
        at++;
    CHECK_THAT(at == result_bytes + 2 * CHECK_GUARD,
               "%s of %zu bytes %s, root %d, at 16 * k + %zu from 16 * k + %zu: byte %td is %d, not %d", call->name,
               call->nbytes, call->in_lane ? "in a stream" : "from the host", call->root, call->dest % 16,
               call->source % 16, (ptrdiff_t)at - CHECK_GUARD, image[at], expected[at]);
    shmem_barrier_all();
}

static void give_bytes(const struct call *call, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++)
        image[i] = (char)byte_of(me, i);
    device_write(device, buffer, call->source, image, nbytes);
    shmem_barrier_all(); /* all have painted, and have their sources */
}

static void check_broadcast(const struct call *call)
{
    begin(call, call->nbytes);
    give_bytes(call, call->nbytes);
    CHECK(!CALL(call->in_lane, broadcastmem, SHMEM_TEAM_WORLD, map + DEST + call->dest, map + call->source,
                call->nbytes, call->root));
    for (size_t i = 0; i < call->nbytes; i++)
        expected[CHECK_GUARD + i] = (char)byte_of(call->root, i);
    end(call, call->nbytes);
}

/* The root's source is its dest. */
static void check_in_place(const struct call *call)
{
    struct call in_place = *call;
    begin(call, call->nbytes);
    in_place.source = DEST + call->dest;
    if (me == call->root)
        give_bytes(&in_place, call->nbytes);
    else
        shmem_barrier_all();
    CHECK(!CALL(call->in_lane, broadcastmem, SHMEM_TEAM_WORLD, map + in_place.source, map + in_place.source,
                call->nbytes, call->root));
    for (size_t i = 0; i < call->nbytes; i++)
        expected[CHECK_GUARD + i] = (char)byte_of(call->root, i);
    end(call, call->nbytes);
}

static void check_fcollect(const struct call *call)
{
    const size_t all = call->nbytes * (size_t)n;
    if (all > ROOM)
        return;
    begin(call, all);
    give_bytes(call, call->nbytes);
    CHECK(
        !CALL(call->in_lane, fcollectmem, SHMEM_TEAM_WORLD, map + DEST + call->dest, map + call->source, call->nbytes));
    for (size_t i = 0; i < all; i++)
        expected[CHECK_GUARD + i] = (char)byte_of((int)(i / call->nbytes), i % call->nbytes);
    end(call, all);
}

static void check_alltoall(const struct call *call)
{
    const size_t all = call->nbytes * (size_t)n;
    if (all > ROOM)
        return;
    begin(call, all);
    give_bytes(call, all);
    CHECK(
        !CALL(call->in_lane, alltoallmem, SHMEM_TEAM_WORLD, map + DEST + call->dest, map + call->source, call->nbytes));
    for (size_t i = 0; i < all; i++)
        expected[CHECK_GUARD + i] =
            (char)byte_of((int)(i / call->nbytes), (size_t)me * call->nbytes + i % call->nbytes);
    end(call, all);
}

static void check_sum(const struct call *call)
{
    const size_t nelems = call->nbytes / 8, nbytes = nelems * 8;
    uint64_t *const words = (uint64_t *)image;
    if (!nelems || (call->source | call->dest) % 8)
        return;
    begin(call, nbytes);
    for (size_t i = 0; i < nelems; i++)
        words[i] = word_of(me, i);
    device_write(device, buffer, call->source, words, nbytes);
    shmem_barrier_all();
    CHECK(!CALL(call->in_lane, uint64_sum_reduce, SHMEM_TEAM_WORLD, (uint64_t *)(map + DEST + call->dest),
                (uint64_t *)(map + call->source), nelems));
    for (size_t i = 0; i < nelems; i++) {
        uint64_t sum = 0;
        for (int pe = 0; pe < n; pe++)
            sum += word_of(pe, i);
        memcpy(expected + CHECK_GUARD + 8 * i, &sum, 8);
    }
    end(call, nbytes);
}

static void check_size(size_t nbytes, size_t source_shift, size_t dest_shift)
{
    struct call call = {.nbytes = nbytes, .source = source_shift, .dest = 1024 + dest_shift};
    if (!nbytes || nbytes > ROOM)
        return;
    for (int form = 0; form < 2; form++) {
        call.in_lane = form;
        call.root = (int)(n_cases % (unsigned)n);
        call.name = "broadcast";
        check_broadcast(&call);
        call.name = "broadcast in place";
        check_in_place(&call);
        call.name = "fcollect";
        check_fcollect(&call);
        call.name = "alltoall";
        check_alltoall(&call);
        call.name = "sum";
        check_sum(&call);
    }
}

/* Around the limit itself, at addresses that are multiples of 16, 8, 4 and 1. */
static void check_limit(size_t limit)
{
    static const size_t shifts[][2] = {{0, 0}, {8, 8}, {0, 8}, {4, 12}, {1, 1}, {2, 7}};
    for (int i = -1; i <= 1; i++) {
        const size_t *shift = shifts[n_cases / 7 % (limit > 1 << 20 ? 2 : 6)];
        check_size(limit + (size_t)(8 * i), 0, 0);
        if (limit <= 1 << 20)
            check_size(limit + (size_t)i, shift[0], shift[1]);
    }
}

static void check_all(void)
{
    const size_t area = (size_t)(AREA_BYTES - HEAD_BYTES) / 2 / (size_t)(n - 1) / SENT_UNIT * UNIT;
    const size_t limits[] = {16, 64, 256, 512, 1024, 2048, 4096, 16384, 32768, 65536, area, 262144, 1 << 20};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        check_limit(limits[i]);
    check_size((16 << 20) + 24, 0, 0);
    check_size((5 << 20) + 3, 3, 3);
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
    check_all();
    shmumap(map);
    return true;
}

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    bool any = n > 1 && check_kind(&device_opencl_ops);
    any |= n > 1 && check_kind(&device_cuda_ops);
    if (any || n == 1)
        return check_end();
    shmem_finalize();
    return CHECK_SKIP;
}
