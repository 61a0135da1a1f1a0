/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations on OpenCL queues: the tests shared with streams, and events.
 */
#include "on_check.h"
#include "support/opencl_driver.h"

static cl_event marks[ON_LANES];

#define TRY(_call)                                                                                                     \
    do {                                                                                                               \
        cl_int _status = (_call);                                                                                      \
        CHECK_THAT(_status == CL_SUCCESS, "%s: OpenCL error %d", #_call, (int)_status);                                \
    } while (0)

/* ---- The program's own work -------------------------------------------------------------------------------------- */

static void mark(int lane)
{
    TRY(clEnqueueMarkerWithWaitList(on_lanes[lane], 0, NULL, &marks[lane]));
    TRY(clFlush(on_lanes[lane]));
}

static cl_int state_of(cl_event event)
{
    cl_int state;
    TRY(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL));
    return state;
}

static int has_passed(int lane)
{
    cl_int state = state_of(marks[lane]);
    TRY(clReleaseEvent(marks[lane]));
    return state == CL_COMPLETE;
}

/* ---- The library's operations ------------------------------------------------------------------------------------ */

static void put(int lane, void *dest, const void *source, size_t nbytes, int pe)
{
    shmemx_putmem_on_queue(dest, source, nbytes, pe, on_lanes[lane], 0, NULL, NULL);
}

static void get(int lane, void *dest, const void *source, size_t nbytes, int pe)
{
    shmemx_getmem_on_queue(dest, source, nbytes, pe, on_lanes[lane], 0, NULL, NULL);
}

static void put_signal(int lane, void *dest, const void *source, size_t nbytes, uint64_t *word, uint64_t value, int op,
                       int pe)
{
    shmemx_putmem_signal_on_queue(dest, source, nbytes, word, value, op, pe, on_lanes[lane], 0, NULL, NULL);
}

static void signal_op(int lane, uint64_t *word, uint64_t value, int op, int pe)
{
    shmemx_signal_op_on_queue(word, value, op, pe, on_lanes[lane], 0, NULL, NULL);
}

static void wait_until(int lane, uint64_t *word, int cmp, uint64_t value)
{
    shmemx_signal_wait_until_on_queue(word, cmp, value, on_lanes[lane], 0, NULL, NULL);
}

static void quiet(int lane)
{
    shmemx_quiet_on_queue(on_lanes[lane], 0, NULL, NULL);
}

static void sync_all(int lane)
{
    shmemx_sync_all_on_queue(on_lanes[lane], 0, NULL, NULL);
}

static void barrier_all(int lane)
{
    shmemx_barrier_all_on_queue(on_lanes[lane], 0, NULL, NULL);
}

static const struct on_ops ops = {
    .mark = mark,
    .has_passed = has_passed,
    .put = put,
    .get = get,
    .put_signal = put_signal,
    .signal_op = signal_op,
    .wait = wait_until,
    .quiet = quiet,
    .sync = sync_all,
    .barrier = barrier_all,
};

/* ---- Typed operations -------------------------------------------------------------------------------------------- */

#define ON(_name, _lane, ...) shmemx_##_name##_on_queue(__VA_ARGS__, on_lanes[_lane], 0, NULL, NULL)
#define ON_ALONE(_name, _lane) shmemx_##_name##_on_queue(on_lanes[_lane], 0, NULL, NULL)

static void batch_begin(int lane)
{
    (void)lane;
}

static void batch_end(int lane)
{
    on_finish(lane);
}

#include "on_typed.h"

/* ---- Events ------------------------------------------------------------------------------------------------------ */

/* Operations on one queue come after events of the other one, and hold up what waits for theirs. */
static void check_events(char *map)
{
    const size_t here = ON_DATA, there = ON_DATA + 4096, kept = ON_DATA + 8192;
    cl_int error;
    cl_event filled, arrived, copied, last;
    cl_event gate = clCreateUserEvent(opencl_device(on_device)->context, &error);
    TRY(error);
    on_fill(0, here, 1, 1024);
    on_fill(1, there, 2, 1024);
    on_finish(0);
    on_finish(1);
    shmem_barrier_all();
    const uint32_t three = 3;
    TRY(clEnqueueFillBuffer(on_lanes[0], on_buffer->mem, &three, 4, here, 4096, 1, &gate, &filled));
    shmemx_putmem_on_queue(map + there, map + here, 4096, check_target(1), on_lanes[1], 1, &filled, NULL);
    shmemx_barrier_all_on_queue(on_lanes[1], 0, NULL, &arrived);
    TRY(clEnqueueCopyBuffer(on_lanes[0], on_buffer->mem, on_buffer->mem, there, kept, 4096, 1, &arrived, &copied));
    shmemx_quiet_on_queue(on_lanes[0], 1, &copied, &last);
    TRY(clFlush(on_lanes[0]));
    CHECK(state_of(arrived) != CL_COMPLETE && state_of(last) != CL_COMPLETE);
    TRY(clSetUserEventStatus(gate, CL_COMPLETE));
    TRY(clWaitForEvents(1, &last));
    CHECK(on_word(kept) == 3);
    shmemx_getmem_on_queue(map, map, 0, 0, on_lanes[0], 0, NULL, &arrived);
    TRY(clWaitForEvents(1, &arrived)); /* due even if nothing is moved */
    TRY(clReleaseEvent(gate));
    shmem_barrier_all();
}

/* PoCL 3.1 aborts when an event fails that commands wait for. */
static bool is_pocl(void)
{
    cl_device_id device = opencl_device(on_device)->id;
    cl_platform_id platform;
    char name[256] = "";
    TRY(clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL));
    TRY(clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, NULL));
    return strstr(name, "Portable Computing Language") != NULL;
}

/* An earlier event has failed: the operation is not done, and its event fails. Uses a queue of its own and host memory,
 * since implementations differ in what follows in that queue. */
static void check_failed_event(void)
{
    static long target = 5, source = 6;
    cl_int error;
    cl_device_id device = opencl_device(on_device)->id;
    cl_context context = opencl_device(on_device)->context;
    cl_event failed = clCreateUserEvent(context, &error), result;
    TRY(error);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
    TRY(error);
    shmemx_putmem_on_queue(&target, &source, sizeof target, shmem_my_pe(), queue, 1, &failed, &result);
    TRY(clSetUserEventStatus(failed, -5));
    clWaitForEvents(1, &result);
    CHECK(state_of(result) < 0);
    CHECK(target == 5);
    TRY(clReleaseEvent(result));
    TRY(clReleaseEvent(failed));
}

/* The program completes nothing: shmumap and shmem_finalize complete what was enqueued. */
static void check_drain(char *map)
{
    on_fill(0, ON_DATA, 100 + (uint32_t)shmem_my_pe(), 1);
    for (int i = 0; i < 10; i++)
        put(0, map + ON_DATA + 4096 + 4 * i, map + ON_DATA, 4, check_target(1));
    shmumap(map);
    for (int i = 0; i < 10; i++)
        CHECK(on_word(ON_DATA + 4096 + 4 * (size_t)i) == 100 + (uint32_t)check_origin(1));
    barrier_all(1);
}

int main(void)
{
    shmem_init();
    if (!on_open(&device_opencl_ops)) {
        shmem_finalize();
        return CHECK_SKIP;
    }
    char *map = on_check(&ops);
    CHECK(!shmemx_kernels_may_wait(OSHM_MEMTYPE_OPENCL) && !shmemx_kernels_may_wait(0) && !shmemx_kernels_may_wait(99));
    check_typed(map);
    check_events(map);
    check_drain(map);
    if (!is_pocl())
        check_failed_event();
    return check_end();
}
