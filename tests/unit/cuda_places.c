/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Places of streams in which kernels wait for words: as many as there are, and given back when waits are over, also those
 * of streams that are gone. The driver is made up: an event is complete when the test says that its stream is done.
 */
#include "gpu/device/gpu_context.h"
#include "unit.h"

#include <string.h>

enum { STREAMS = 4 * SHMEMI_CUDA_PLACES };

static struct shmemi_cuda_context context;
static bool is_done[STREAMS];
static size_t stream_of[STREAMS]; /* by event */
static size_t n_events, n_records, n_queries;

static CUresult create(CUevent *event_p, unsigned flags)
{
    (void)flags;
    *event_p = (CUevent)++n_events;
    return CUDA_SUCCESS;
}

static CUresult record(CUevent event, CUstream stream)
{
    n_records++;
    stream_of[(size_t)event] = (size_t)stream;
    return CUDA_SUCCESS;
}

static CUresult query(CUevent event)
{
    n_queries++;
    return is_done[stream_of[(size_t)event]] ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

static struct shmemi_stream stream(size_t number)
{
    return (struct shmemi_stream){.handle = (void *)number, .object = &context};
}

static bool waits_by_kernel(size_t number)
{
    const struct shmemi_stream here = stream(number);
    struct shmemi_cuda_place *place = shmemi_cuda_place_take(&here);
    if (place)
        shmemi_cuda_place_leave(&here, place);
    return place != NULL;
}

static unsigned count_places(size_t first, size_t n)
{
    unsigned found = 0;
    for (size_t i = 0; i < n; i++)
        found += waits_by_kernel(first + i);
    return found;
}

/* While all wait, the first ones have the places, and have them again. */
static void check_all_wait(void)
{
    CHECK(count_places(1, SHMEMI_CUDA_PLACES + 8) == SHMEMI_CUDA_PLACES);
    CHECK(count_places(1, SHMEMI_CUDA_PLACES) == SHMEMI_CUDA_PLACES);
    CHECK(count_places(SHMEMI_CUDA_PLACES + 1, SHMEMI_CUDA_PLACES) == 0);
}

/* The waits of one stream are over: somebody else has its place, once, and it has none. */
static void check_one_is_over(void)
{
    const size_t over = SHMEMI_CUDA_PLACES - 2, other = SHMEMI_CUDA_PLACES + 3;
    is_done[over] = true;
    unsigned tries = 0;
    while (!waits_by_kernel(other))
        CHECK(++tries <= SHMEMI_CUDA_PLACES);
    CHECK(waits_by_kernel(other));
    CHECK(count_places(STREAMS / 2, SHMEMI_CUDA_PLACES) == 0 && !waits_by_kernel(over));
}

/* A place whose stream gets another wait right now is not given away. */
static void check_in_use(void)
{
    const size_t user = SHMEMI_CUDA_PLACES - 1;
    const struct shmemi_stream here = stream(user);
    struct shmemi_cuda_place *place = shmemi_cuda_place_take(&here);
    CHECK(place);
    is_done[user] = true; /* what was there before */
    CHECK(count_places(STREAMS / 2, SHMEMI_CUDA_PLACES) == 0);
    is_done[user] = false;
    shmemi_cuda_place_leave(&here, place);
    CHECK(count_places(STREAMS / 2, SHMEMI_CUDA_PLACES) == 0);
}

/* A few streams cost no events. */
static void check_free(void)
{
    shmemi_cuda_places_free(&context);
    n_records = n_queries = 0;
    memset(is_done, 0, sizeof is_done);
    CHECK(count_places(1, SHMEMI_CUDA_PLACES / 2) == SHMEMI_CUDA_PLACES / 2 && !n_records && !n_queries);
    CHECK(count_places(1, SHMEMI_CUDA_PLACES) == SHMEMI_CUDA_PLACES && n_records);
    CHECK(n_events <= SHMEMI_CUDA_PLACES);
}

int main(void)
{
    CHECK(!pthread_mutex_init(&context.lock, NULL));
    shmemi_cuda.cuEventCreate = create;
    shmemi_cuda.cuEventRecord = record;
    shmemi_cuda.cuEventQuery = query;
    check_all_wait();
    check_one_is_over();
    check_in_use();
    check_free();
    return 0;
}
