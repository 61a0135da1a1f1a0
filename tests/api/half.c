/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers of 16 bits: puts and gets; sums, which are rounded once, minima and maxima, in the heap, in mapped memory and
 * on queues and streams, of lengths that take the different ways.
 */
#include "check.h"
#include "gpu/half_floats.h"
#include "map_check.h"

#include <math.h>
#include <shmemx.h>

enum { MOST = 70000, BYTES = MOST * 2 };

typedef int (*reduce_func_t)(shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t n);
enum op { SUM, MIN, MAX, OPS };

static struct device *device;
static struct queue *queue;
static struct buffer *buffer; /* source, then dest */
static uint16_t *map, *heap, image[MOST];

/* clang-format off */
#define DEFINE_ON(NAME, OP)                                                                                            \
    static int NAME##_##OP##_on(shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t n)                   \
    {                                                                                                                  \
        void *lane = device->ops->gpu.queue_object(queue);                                                             \
        int rc = device->ops->memtype == DEVICE_TYPE_OPENCL                                                            \
                     ? shmemx_##NAME##_##OP##_reduce_on_queue(team, dest, source, n, lane, 0, NULL, NULL)              \
                     : shmemx_##NAME##_##OP##_reduce_on_stream(team, dest, source, n, lane);                           \
        device->ops->gpu.finish(queue);                                                                                \
        return rc;                                                                                                     \
    }
/* clang-format on */
DEFINE_ON(half, sum)
DEFINE_ON(half, min)
DEFINE_ON(half, max)
DEFINE_ON(bfloat16, sum)
DEFINE_ON(bfloat16, min)
DEFINE_ON(bfloat16, max)

struct format {
    const char *name;
    float (*widen)(uint16_t number);
    uint16_t (*narrow)(float number);
    reduce_func_t reduce[2][OPS]; /* blocking, and on a queue */
};

static float widen_half(uint16_t x)
{
    return shmemi_float_of_half(x);
}
static uint16_t narrow_half(float x)
{
    return shmemi_half_of_float(x);
}
static float widen_bfloat16(uint16_t x)
{
    return shmemi_float_of_bfloat16(x);
}
static uint16_t narrow_bfloat16(float x)
{
    return shmemi_bfloat16_of_float(x);
}

static const struct format formats[] = {
    {"half",
     widen_half,
     narrow_half,
     {{shmemx_half_sum_reduce, shmemx_half_min_reduce, shmemx_half_max_reduce},
      {half_sum_on, half_min_on, half_max_on}}},
    {"bfloat16",
     widen_bfloat16,
     narrow_bfloat16,
     {{shmemx_bfloat16_sum_reduce, shmemx_bfloat16_min_reduce, shmemx_bfloat16_max_reduce},
      {bfloat16_sum_on, bfloat16_min_on, bfloat16_max_on}}},
};

/* Multiples of 1/64 below 16: floats add any number of PEs of them exactly, in any order; 16 bits do not. */
static uint16_t contribution(const struct format *format, int pe, size_t i)
{
    return format->narrow((float)((pe * 131 + (int)i * 37) % 2047 - 900) / 64);
}

static uint16_t expected(const struct format *format, enum op op, size_t i)
{
    float result = format->widen(contribution(format, 0, i));
    for (int pe = 1; pe < shmem_n_pes(); pe++) {
        float next = format->widen(contribution(format, pe, i));
        result = op == SUM ? result + next : op == MIN ? fminf(result, next) : fmaxf(result, next);
    }
    return format->narrow(result);
}

static void fill(const struct format *format, uint16_t *source, size_t n)
{
    for (size_t i = 0; i < n; i++)
        image[i] = contribution(format, shmem_my_pe(), i);
    if (source == heap)
        memcpy(heap, image, 2 * n);
    else
        device_write(device, buffer, 0, image, 2 * n);
}

static void check_reduce(const struct format *format, uint16_t *base, size_t n, enum op op, bool on_queue)
{
    fill(format, base, n);
    CHECK(format->reduce[on_queue][op](SHMEM_TEAM_WORLD, base + MOST, base, n) == 0);
    if (base == heap)
        memcpy(image, heap + MOST, 2 * n);
    else
        device_read(device, image, buffer, BYTES, 2 * n);
    for (size_t i = 0; i < n; i++)
        CHECK_THAT(format->widen(image[i]) == format->widen(expected(format, op, i)),
                   "%s, operation %d, %s, %zu elements%s: element %zu is %g, not %g", format->name, (int)op,
                   base == heap ? "heap" : "mapped", n, on_queue ? ", queue" : "", i, format->widen(image[i]),
                   format->widen(expected(format, op, i)));
    shmem_barrier_all();
}

static void check_reductions(uint16_t *base)
{
    static const size_t lengths[] = {1, 9, 500, 1024, 1100, 5003, MOST};
    for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++)
        for (int op = 0; op < OPS; op++)
            for (int format = 0; format < 2; format++) {
                check_reduce(&formats[format], base, lengths[k], (enum op)op, false);
                if (device)
                    check_reduce(&formats[format], base, lengths[k], (enum op)op, true);
            }
}

static void check_transfers(void)
{
    const int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, previous = (me + n - 1) % n;
    uint16_t mine[4] = {(uint16_t)me, 1, 2, 3}, got[4];
    shmemx_half_put(heap, mine, 4, next);
    shmemx_bfloat16_put_nbi(heap + 4, mine, 4, next);
    shmem_barrier_all();
    CHECK(heap[0] == previous && heap[3] == 3 && heap[4] == previous && heap[7] == 3);
    shmemx_half_get(got, heap, 2, next);
    shmemx_bfloat16_get_nbi(got + 2, heap + 6, 2, next);
    shmem_quiet();
    CHECK(got[0] == me && got[1] == 1 && got[2] == 2 && got[3] == 3);
    shmem_barrier_all();
}

static void check_kind(const struct device_ops *kind)
{
    device = map_open_device(kind);
    if (!device)
        return;
    queue = kind->gpu.queue_open(device);
    buffer = device_alloc(device, 2 * BYTES);
    map = shmmap(buffer, 2 * BYTES, kind->memtype);
    CHECK_THAT(map, "shmmap: %s", shmemx_strerror());
    check_reductions(map);
    check_reductions(heap);
    shmumap(map);
    device = NULL;
}

int main(void)
{
    shmem_init();
    heap = check_shmem_malloc(2 * BYTES);
    check_transfers();
    check_reductions(heap);
    check_kind(&device_opencl_ops);
    check_kind(&device_cuda_ops);
    return check_end();
}
