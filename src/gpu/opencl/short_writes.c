/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Short writes to a GPU that PEs use in turns. NVIDIA's driver (580) lets them wait for the turn of their process, 0.15 ms,
 * but writes a rectangle by a copy engine, even if its rows leave no gaps: 13 us from page-locked memory. From other
 * memory it would take 20 us more, so that is copied to page-locked slots first.
 */
#include "gpu/opencl/buffer.h"

#include <pthread.h>
#include <string.h>

enum { SLOTS = 8, SLOT_BYTES = 64 << 10 };

static struct shmemi_opencl *const cl = &shmemi_opencl;
static char slots[SLOTS][SLOT_BYTES] __attribute__((aligned(4096)));
static struct {
    pthread_mutex_t lock;
    unsigned next;
    cl_event write[SLOTS]; /* the last from each slot; NULL: none */
} used = {.lock = PTHREAD_MUTEX_INITIALIZER};

static cl_int write_two_rows(const struct shmemi_opencl_write *write, size_t at, size_t width, cl_event *event_p)
{
    const size_t offset = write->offset + at, host_origin[3] = {0}, region[3] = {width, 2, 1};
    const size_t origin[3] = {offset % width, offset / width};
    return cl->clEnqueueWriteBufferRect(write->queue, write->buffer, write->blocking && !event_p, origin, host_origin,
                                        region, width, 0, width, 0, write->host + at, write->before ? 1 : 0,
                                        write->before ? &write->before : NULL, event_p);
}

/* Two rows of half the bytes; of an odd number, the last two once more. Nothing is under way if that fails. */
static cl_int write_rows(const struct shmemi_opencl_write *write)
{
    if (write->nbytes % 2 == 0)
        return write_two_rows(write, 0, write->nbytes / 2, write->event_p);
    cl_int status = write_two_rows(write, 0, write->nbytes / 2, NULL);
    if (status != CL_SUCCESS)
        return status;
    status = write_two_rows(write, write->nbytes - 2, 1, write->event_p);
    if (status != CL_SUCCESS)
        cl->clFinish(write->queue);
    return status;
}

/* With the lock held. */
static void await_slot(unsigned slot)
{
    if (!used.write[slot])
        return;
    cl->clWaitForEvents(1, &used.write[slot]);
    cl->clReleaseEvent(used.write[slot]);
    used.write[slot] = NULL;
}

/* *event_p is for the caller to release. */
static cl_int start_from_slot(const struct shmemi_opencl_write *write, cl_event *event_p)
{
    struct shmemi_opencl_write own = *write;
    own.blocking = CL_FALSE;
    own.event_p = event_p;
    pthread_mutex_lock(&used.lock);
    const unsigned slot = used.next++ % SLOTS;
    await_slot(slot);
    memcpy(slots[slot], write->host, write->nbytes);
    own.host = slots[slot];
    cl_int status = write_rows(&own);
    if (status == CL_SUCCESS && cl->clRetainEvent(*event_p) == CL_SUCCESS)
        used.write[slot] = *event_p;
    else if (status == CL_SUCCESS)
        cl->clWaitForEvents(1, event_p);
    pthread_mutex_unlock(&used.lock);
    return status;
}

static cl_int write_from_slot(const struct shmemi_opencl_write *write)
{
    cl_event event;
    if (!shmemi_opencl_pinning.is_pinned(slots, sizeof slots))
        shmemi_opencl_pinning.pin(slots, sizeof slots);
    if (write->event_p)
        return start_from_slot(write, write->event_p);
    cl_int status = start_from_slot(write, &event);
    if (status != CL_SUCCESS)
        return status;
    if (write->blocking)
        status = cl->clWaitForEvents(1, &event);
    cl->clReleaseEvent(event);
    return status;
}

bool shmemi_opencl_is_short(size_t nbytes)
{
    return nbytes > 1 && nbytes <= SLOT_BYTES;
}

cl_int shmemi_opencl_write_short(const struct shmemi_opencl_write *write)
{
    return shmemi_opencl_pinning.is_pinned(write->host, write->nbytes) ? write_rows(write) : write_from_slot(write);
}

void shmemi_opencl_short_writes_end(void)
{
    pthread_mutex_lock(&used.lock);
    for (unsigned slot = 0; slot < SLOTS; slot++)
        await_slot(slot);
    pthread_mutex_unlock(&used.lock);
}
