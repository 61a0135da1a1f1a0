/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Drivers that measure: each transfer is timed, handed to the real driver, and counted under that driver's number.
 */
#include "transport/drivers/table.h"

#include <errno.h>
#include <stddef.h>

struct measuring {
    struct shmemi_driver face; /* the driver that views point to */
    const struct shmemi_driver *real;
};
static struct measuring measuring[SHMEMI_MEASURED_ROUTES_MAX];

static const struct measuring *behind(const struct shmemi_view *view)
{
    return (const struct measuring *)((const char *)view->driver - offsetof(struct measuring, face));
}

static void note(enum shmemi_transfer transfer, const struct shmemi_view *view, size_t offset, size_t nbytes,
                 uint64_t begin)
{
    const struct measuring *driver = behind(view);
    shmemi_measure_transfer((unsigned)(driver - measuring), transfer,
                            &(struct shmemi_trace_transfer){
                                .route = driver->real->name,
                                .pe = view->pe,
                                .region = view->region,
                                .offset = offset,
                                .nbytes = nbytes,
                                .begin = begin,
                            });
}

void shmemi_measure_enqueued(const struct shmemi_view *view, size_t offset, size_t nbytes, uint64_t begin)
{
    if (begin)
        note(SHMEMI_TRANSFER_ON_STREAM, view, offset, nbytes, begin);
}

/* MEASURE(slot, transfer, bytes, parameters, arguments): parameters and arguments follow context, view and offset. */
#define UNPACK(...) __VA_ARGS__
#define MEASURE(slot, transfer, nbytes, parameters, arguments)                                                         \
    static int measure_##slot(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,           \
                              UNPACK parameters)                                                                       \
    {                                                                                                                  \
        uint64_t begin = shmemi_clock();                                                                               \
        int rc = behind(view)->real->slot(context, view, offset, UNPACK arguments);                                    \
        note(SHMEMI_TRANSFER_##transfer, view, offset, nbytes, begin);                                                 \
        return rc;                                                                                                     \
    }

MEASURE(put, PUT, size, (const struct shmemi_place *source, size_t size), (source, size))
MEASURE(get, GET, size, (const struct shmemi_place *dest, size_t size), (dest, size))
MEASURE(put_nbi, PUT_NBI, size, (const struct shmemi_place *source, size_t size), (source, size))
MEASURE(get_nbi, GET_NBI, size, (const struct shmemi_place *dest, size_t size), (dest, size))
MEASURE(put_strided, IPUT, shape->width * shape->rows,
        (const struct shmemi_place *source, const struct shmemi_shape *shape), (source, shape))
MEASURE(put_strided_nbi, IPUT, shape->width * shape->rows,
        (const struct shmemi_place *source, const struct shmemi_shape *shape), (source, shape))
MEASURE(get_strided, IGET, shape->width * shape->rows,
        (const struct shmemi_place *dest, const struct shmemi_shape *shape), (dest, shape))
MEASURE(get_strided_nbi, IGET, shape->width * shape->rows,
        (const struct shmemi_place *dest, const struct shmemi_shape *shape), (dest, shape))
MEASURE(amo, AMO, amo->size, (const struct shmemi_amo *amo, void *fetch_p), (amo, fetch_p))
MEASURE(amo_nbi, AMO_NBI, amo->size, (const struct shmemi_amo *amo, void *fetch_p), (amo, fetch_p))

/* A put and a signal; the time is the put's. */
static int measure_put_signal(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                              const struct shmemi_place *source, size_t nbytes, const struct shmemi_word_update *signal,
                              bool is_blocking)
{
    uint64_t begin = shmemi_clock();
    int rc = behind(view)->real->collecting->put_signal(context, view, offset, source, nbytes, signal, is_blocking);
    if (rc == -ENOTSUP)
        return rc;
    note(is_blocking ? SHMEMI_TRANSFER_PUT : SHMEMI_TRANSFER_PUT_NBI, view, offset, nbytes, begin);
    note(SHMEMI_TRANSFER_AMO, signal->view, signal->offset, signal->amo.size, shmemi_clock());
    return rc;
}

/* Refuse to collect a single put or get, which would be timed before it is carried out: the driver's put or get is. */
static int refuse(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                  const struct shmemi_place *mine, size_t nbytes)
{
    (void)context, (void)view, (void)offset, (void)mine, (void)nbytes;
    return -EAGAIN;
}

static const struct shmemi_collecting measured_collecting = {refuse, refuse, measure_put_signal};

/* Functions that are not measured are the real driver's own. */
const struct shmemi_driver *shmemi_measured_driver(const struct shmemi_driver *real, unsigned number)
{
    if (!shmemi_measure.is_on || number >= SHMEMI_MEASURED_ROUTES_MAX)
        return real;
    struct shmemi_driver *face = &measuring[number].face;
    *face = *real;
    face->put = measure_put;
    face->get = measure_get;
    face->put_nbi = measure_put_nbi;
    face->get_nbi = measure_get_nbi;
    face->put_strided = measure_put_strided;
    face->put_strided_nbi = measure_put_strided_nbi;
    face->get_strided = measure_get_strided;
    face->get_strided_nbi = measure_get_strided_nbi;
    face->amo = measure_amo;
    face->amo_nbi = measure_amo_nbi;
    face->collecting = real->collecting ? &measured_collecting : NULL;
    measuring[number].real = real;
    return face;
}
