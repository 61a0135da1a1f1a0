/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nonblocking copies of a process to memory that it can address: when their end is marked, and what quiet and poll
 * return. The device is simulated: its memory is the host's, and its streams do one copy each time they are tested.
 */
#include "transport/direct/direct.h"
#include "unit.h"
#include "transport/drivers/table.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

enum { WORDS = 4096, STREAMS = 4, QUEUE = 1 << 16, THREADS = 3, ROUNDS = 50, PER_ROUND = 70 };

/* ---- A device ---------------------------------------------------------------------------------------------------- */

struct stream {
    struct {
        uint64_t *dest;
        const uint64_t *source;
    } copy[QUEUE];
    size_t started, done;
};

static struct device {
    pthread_mutex_t lock;
    struct stream stream[STREAMS];
    int n_marks, n_waits;
    int copy_result, mark_result, test_result;
} device = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void step(struct stream *stream)
{
    if (stream->done == stream->started)
        return;
    size_t i = stream->done++ % QUEUE;
    *stream->copy[i].dest = *stream->copy[i].source;
}

/* The stream is the object of the side in device memory. */
static int device_burst_copy(const struct shmemi_place *dest, const struct shmemi_place *source,
                             const struct shmemi_shape *shape, struct shmemi_burst *burst_p)
{
    struct stream *stream = source->object ? source->object : dest->object;
    if (device.copy_result)
        return device.copy_result;
    CHECK(shape->width == sizeof(uint64_t) && shape->rows == 1);
    pthread_mutex_lock(&device.lock);
    CHECK(stream->started - stream->done < QUEUE);
    size_t i = stream->started++ % QUEUE;
    stream->copy[i].dest = (uint64_t *)dest->address;
    stream->copy[i].source = (const uint64_t *)source->address;
    pthread_mutex_unlock(&device.lock);
    *burst_p = (struct shmemi_burst){dest->memory, stream, stream};
    return 0;
}

/* An event's handle is the number of copies after which it is complete; the object is the stream. */
static int device_burst_mark(const struct shmemi_burst *burst, struct shmemi_event *event_p)
{
    struct stream *stream = burst->object;
    pthread_mutex_lock(&device.lock);
    *event_p = (struct shmemi_event){burst->memory, stream, (void *)(uintptr_t)stream->started};
    device.n_marks++;
    while (device.mark_result && stream->done < stream->started)
        step(stream);
    pthread_mutex_unlock(&device.lock);
    return device.mark_result;
}

static int device_copy_start(const struct shmemi_place *dest, const struct shmemi_place *source,
                             const struct shmemi_shape *shape, struct shmemi_event *event_p)
{
    int result = device.copy_result;
    struct shmemi_burst burst;
    device.copy_result = 0;
    int rc = device_burst_copy(dest, source, shape, &burst);
    device.copy_result = result;
    return rc ? rc : device_burst_mark(&burst, event_p);
}

static int device_test(struct shmemi_event *event)
{
    struct stream *stream = event->object;
    pthread_mutex_lock(&device.lock);
    bool is_done = stream->done >= (uintptr_t)event->handle;
    if (!is_done)
        step(stream);
    pthread_mutex_unlock(&device.lock);
    return is_done ? device.test_result : -EAGAIN;
}

static int device_wait(struct shmemi_event *event)
{
    device.n_waits++;
    while (device_test(event) == -EAGAIN)
        continue;
    return device.test_result;
}

static const struct shmemi_bursts device_bursts = {.copy = device_burst_copy, .mark = device_burst_mark};

static const struct shmemi_memory made_up = {
    .name = "made up",
    .copy_start = device_copy_start,
    .bursts = &device_bursts,
    .event_test = device_test,
    .event_wait = device_wait,
};

/* ---- Operations on it -------------------------------------------------------------------------------------------- */

static uint64_t there[WORDS], here[WORDS];
static struct shmemi_view view;

static void reset(struct shmemi_context *context)
{
    static const struct shmemi_context fresh;
    memcpy(context, &fresh, sizeof fresh);
    memset(there, 0, sizeof there);
    for (int i = 0; i < WORDS; i++)
        here[i] = (uint64_t)i * 7 + 1;
    memset(device.stream, 0, sizeof device.stream);
    device.n_marks = device.n_waits = 0;
    device.copy_result = device.mark_result = device.test_result = 0;
    view = (struct shmemi_view){.place = {&made_up, &device.stream[0], (uintptr_t)there}, .size = sizeof there};
}

/* Copy word i of `here` to word i of `there` in this stream. */
static int try_put(struct shmemi_context *context, int i, int stream)
{
    return shmemi_direct_transfer(
        &(struct shmemi_transfer){.context = context,
                                  .view = &view,
                                  .offset = (size_t)i * 8,
                                  .mine = {&made_up, &device.stream[stream], (uintptr_t)&here[i]},
                                  .shape = shmemi_shape_linear(8),
                                  .is_put = true});
}

static void put(struct shmemi_context *context, int i, int stream)
{
    CHECK(!try_put(context, i, stream));
}

static bool are_there(int first, int end)
{
    for (int i = first; i < end; i++)
        if (there[i] != here[i])
            return false;
    return true;
}

static void finish(struct shmemi_context *context)
{
    CHECK(!shmemi_drivers_quiet(context));
    CHECK(!context->copies.oldest && !context->copies.newest && !context->copies.n_unmarked);
}

/* ---- Cases ------------------------------------------------------------------------------------------------------- */

static void check_marks(void)
{
    struct shmemi_context context;
    reset(&context);
    finish(&context);
    CHECK(device.n_marks == 0);
    put(&context, 0, 0);
    CHECK(device.n_marks == 0);
    finish(&context);
    CHECK(device.n_marks == 1 && are_there(0, 1));
    for (int i = 0; i < 100; i++)
        put(&context, i, 0);
    finish(&context);
    CHECK(device.n_marks < 10 && are_there(0, 100)); /* several copies share a mark */
    for (int i = 0; i < WORDS; i++)
        put(&context, i, 0);
    finish(&context);
    CHECK(are_there(0, WORDS));
}

/* Each stream is in order, but streams are independent. */
static void check_streams(void)
{
    struct shmemi_context context;
    reset(&context);
    for (int i = 0; i < 200; i++)
        put(&context, i, i / 3 % STREAMS);
    finish(&context);
    CHECK(are_there(0, 200));
}

static void check_poll(void)
{
    struct shmemi_context context;
    int polls = 0;
    reset(&context);
    CHECK(!shmemi_completion_direct.poll(&context));
    for (int i = 0; i < 40; i++)
        put(&context, i, 0);
    CHECK(shmemi_completion_direct.poll(&context) == -EAGAIN);
    while (shmemi_completion_direct.poll(&context) == -EAGAIN)
        polls++;
    CHECK(polls > 0 && are_there(0, 40));
    finish(&context);
}

/* Copies that only copy_start can do, between others. */
static void check_mixture(void)
{
    struct shmemi_context context;
    reset(&context);
    for (int i = 0; i < 90; i++) {
        device.copy_result = i % 4 == 3 ? -ENOTSUP : 0;
        put(&context, i, i / 7 % 2);
    }
    device.copy_result = 0;
    finish(&context);
    CHECK(are_there(0, 90));
}

static void check_failures(void)
{
    struct shmemi_context context;
    reset(&context);
    device.copy_result = -EIO;
    CHECK(try_put(&context, 0, 0) == -EIO);
    device.copy_result = 0;
    finish(&context);
    put(&context, 1, 0);
    device.mark_result = -ENOMEM;
    CHECK(shmemi_drivers_quiet(&context) == -ENOMEM && are_there(1, 2));
    device.mark_result = 0;
    finish(&context);
    put(&context, 2, 0);
    device.test_result = -EFAULT;
    CHECK(shmemi_drivers_quiet(&context) == -EFAULT);
    device.test_result = 0;
    finish(&context);
}

/* Threads on one context, each with its own stream; after quiet each thread's copies are complete. */
static struct shmemi_context shared;

static void *put_many(void *argument)
{
    int thread = (int)(intptr_t)argument, first = thread * PER_ROUND;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = first; i < first + PER_ROUND; i++) {
            here[i]++;
            put(&shared, i, thread);
        }
        CHECK(!shmemi_drivers_quiet(&shared));
        CHECK(are_there(first, first + PER_ROUND));
    }
    return NULL;
}

static void check_threads(void)
{
    pthread_t thread[THREADS];
    reset(&shared);
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&thread[i], NULL, put_many, (void *)(intptr_t)i));
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    finish(&shared);
}

int main(void)
{
    check_marks();
    check_streams();
    check_poll();
    check_mixture();
    check_failures();
    check_threads();
    puts("ok");
    return 0;
}
