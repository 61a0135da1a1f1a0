/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes a program's transfers operations on OpenCL queues, if it is included before the program (-include). A call that
 * blocks is enqueued, and the queue is finished; calls that do not block go to two queues in turns, so that they are not in
 * order; quiet and barriers complete all queues first. So the program has the races that it had.
 */
#ifndef RACE_ON_QUEUES_H
#define RACE_ON_QUEUES_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <shmem.h>
#include <shmemx.h>

enum { BLOCKING, QUEUES = 3 };

static cl_command_queue on_queues[QUEUES];

static void on_queues_open(void)
{
    cl_platform_id platform;
    cl_device_id device;
    if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        shmem_global_exit(77);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    for (int i = 0; i < QUEUES; i++)
        on_queues[i] = clCreateCommandQueue(context, device, 0, NULL);
}

static cl_command_queue on_next_queue(void)
{
    static int last;
    return on_queues[1 + __atomic_fetch_add(&last, 1, __ATOMIC_RELAXED) % (QUEUES - 1)];
}

static void on_queues_complete(void)
{
    for (int i = 0; i < QUEUES; i++) {
        shmemx_quiet_on_queue(on_queues[i], 0, NULL, NULL);
        clFinish(on_queues[i]);
    }
}

/* What is enqueued later, wherever, comes after what has been put before. */
static void on_queues_fence(void)
{
    cl_event events[QUEUES];
    for (int i = 0; i < QUEUES; i++)
        shmemx_fence_on_queue(on_queues[i], 0, NULL, &events[i]);
    for (int i = 0; i < QUEUES; i++)
        clEnqueueMarkerWithWaitList(on_queues[i], QUEUES, events, NULL);
    for (int i = 0; i < QUEUES; i++)
        clReleaseEvent(events[i]);
}

#define ON_BLOCKING(NAME, ...)                                                                                         \
    (shmemx_##NAME##_on_queue(__VA_ARGS__, on_queues[BLOCKING], 0, NULL, NULL), (void)clFinish(on_queues[BLOCKING]))
#define ON_NEXT(NAME, ...) shmemx_##NAME##_on_queue(__VA_ARGS__, on_next_queue(), 0, NULL, NULL)
#define ON_FETCHING(TYPE, NAME, ...)                                                                                   \
    ({                                                                                                                 \
        TYPE old;                                                                                                      \
        ON_BLOCKING(NAME, &old, __VA_ARGS__);                                                                          \
        old;                                                                                                           \
    })

#define shmem_init() (shmem_init(), on_queues_open())
#define shmem_finalize() (on_queues_complete(), shmem_finalize())
#define shmem_barrier_all() (on_queues_complete(), shmem_barrier_all())
#define shmem_quiet() (shmem_quiet(), on_queues_complete())
#define shmem_fence() (shmem_fence(), on_queues_fence())
#undef shmem_put_nbi
#undef shmem_get_nbi
#define shmem_int_put(...) ON_BLOCKING(int_put, __VA_ARGS__)
#define shmem_int_get(...) ON_BLOCKING(int_get, __VA_ARGS__)
#define shmem_int_iput(...) ON_BLOCKING(int_iput, __VA_ARGS__)
#define shmem_int_iget(...) ON_BLOCKING(int_iget, __VA_ARGS__)
#define shmem_int_p(...) ON_BLOCKING(int_p, __VA_ARGS__)
#define shmem_int_g(...) ON_FETCHING(int, int_g, __VA_ARGS__)
#define shmem_int_put_nbi(...) ON_NEXT(int_put, __VA_ARGS__)
#define shmem_int_get_nbi(...) ON_NEXT(int_get, __VA_ARGS__)
#define shmem_put_nbi(...) ON_NEXT(int_put, __VA_ARGS__)
#define shmem_get_nbi(...) ON_NEXT(int_get, __VA_ARGS__)
#define shmem_int_put_signal(...)                                                                                      \
    ({                                                                                                                 \
        const cl_command_queue queue = on_next_queue();                                                                \
        shmemx_int_put_signal_on_queue(__VA_ARGS__, queue, 0, NULL, NULL);                                             \
        clFinish(queue);                                                                                               \
    })
#define shmem_int_put_signal_nbi(...) ON_NEXT(int_put_signal, __VA_ARGS__)
#define shmem_int_atomic_set(...) ON_BLOCKING(int_atomic_set, __VA_ARGS__)
#define shmem_int_atomic_add(...) ON_BLOCKING(int_atomic_add, __VA_ARGS__)
#define shmem_int_atomic_fetch(...) ON_FETCHING(int, int_atomic_fetch, __VA_ARGS__)
#define shmem_int_atomic_fetch_inc(...) ON_FETCHING(int, int_atomic_fetch_inc, __VA_ARGS__)
#define shmem_int_atomic_fetch_nbi(...) ON_NEXT(int_atomic_fetch, __VA_ARGS__)
#define shmem_int_atomic_fetch_inc_nbi(...) ON_NEXT(int_atomic_fetch_inc, __VA_ARGS__)
#define shmem_int_atomic_compare_swap_nbi(...) ON_NEXT(int_atomic_compare_swap, __VA_ARGS__)
#define shmem_int_sum_reduce(...)                                                                                      \
    (shmemx_int_sum_reduce_on_queue(__VA_ARGS__, on_queues[BLOCKING], 0, NULL, NULL), clFinish(on_queues[BLOCKING]))

#endif
