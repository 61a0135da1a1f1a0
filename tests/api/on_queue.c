/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations on OpenCL queues: what they have in common with streams, and events.
 */
#define CL_TARGET_OPENCL_VERSION 120

#include "on_check.h"

#include <CL/cl.h>
#include <stdbool.h>

enum { MAX_PLATFORMS = 16, MAX_DEVICES = 64 };

static cl_context context;
static cl_command_queue lanes[ON_LANES];
static cl_mem buffer;
static cl_event marks[ON_LANES];

#define TRY(_call)                                                                                                     \
    do {                                                                                                               \
        cl_int _status = (_call);                                                                                      \
        CHECK_THAT(_status == CL_SUCCESS, "%s: OpenCL error %d", #_call, (int)_status);                                \
    } while (0)

/* ---- The program's own work -------------------------------------------------------------------------------------- */

static cl_uint list_devices(cl_device_type type, cl_device_id *devices)
{
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint n_platforms = 0, n_devices = 0;
    if (clGetPlatformIDs(MAX_PLATFORMS, platforms, &n_platforms) != CL_SUCCESS)
        return 0;
    for (cl_uint i = 0; i < n_platforms && i < MAX_PLATFORMS; i++) {
        cl_uint found = 0, room = MAX_DEVICES - n_devices;
        if (room > 0 && clGetDeviceIDs(platforms[i], type, room, devices + n_devices, &found) == CL_SUCCESS)
            n_devices += found < room ? found : room;
    }
    return n_devices;
}

static int open_device(int index)
{
    cl_device_id devices[MAX_DEVICES];
    cl_int error;
    cl_uint n = list_devices(CL_DEVICE_TYPE_GPU, devices);
    n = n ? n : list_devices(CL_DEVICE_TYPE_ALL, devices);
    if (index < 0 || (cl_uint)index >= n)
        return -1;
    context = clCreateContext(NULL, 1, &devices[index], NULL, NULL, &error);
    TRY(error);
    for (int i = 0; i < ON_LANES; i++) {
        lanes[i] = clCreateCommandQueue(context, devices[index], 0, &error);
        TRY(error);
    }
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, ON_BYTES, NULL, &error);
    TRY(error);
    return 0;
}

static void fill(int lane, size_t offset, uint32_t value, size_t n_words)
{
    TRY(clEnqueueFillBuffer(lanes[lane], buffer, &value, sizeof value, offset, n_words * sizeof value, 0, NULL, NULL));
}

static void copy(int lane, size_t to, size_t from, size_t nbytes)
{
    TRY(clEnqueueCopyBuffer(lanes[lane], buffer, buffer, from, to, nbytes, 0, NULL, NULL));
}

static void mark(int lane)
{
    TRY(clEnqueueMarkerWithWaitList(lanes[lane], 0, NULL, &marks[lane]));
    TRY(clFlush(lanes[lane]));
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

static void finish(int lane)
{
    TRY(clFinish(lanes[lane]));
}

static void read_bytes(void *dest, size_t offset, size_t nbytes)
{
    TRY(clEnqueueReadBuffer(lanes[0], buffer, CL_TRUE, offset, nbytes, dest, 0, NULL, NULL));
}

static void write_bytes(size_t offset, const void *source, size_t nbytes)
{
    TRY(clEnqueueWriteBuffer(lanes[0], buffer, CL_TRUE, offset, nbytes, source, 0, NULL, NULL));
}

/* ---- The library's ----------------------------------------------------------------------------------------------- */

static void put(int lane, void *dest, const void *source, size_t nbytes, int pe)
{
    shmemx_putmem_on_queue(dest, source, nbytes, pe, lanes[lane], 0, NULL, NULL);
}

static void get(int lane, void *dest, const void *source, size_t nbytes, int pe)
{
    shmemx_getmem_on_queue(dest, source, nbytes, pe, lanes[lane], 0, NULL, NULL);
}

static void put_signal(int lane, void *dest, const void *source, size_t nbytes, uint64_t *word, uint64_t value, int op,
                       int pe)
{
    shmemx_putmem_signal_on_queue(dest, source, nbytes, word, value, op, pe, lanes[lane], 0, NULL, NULL);
}

static void signal_op(int lane, uint64_t *word, uint64_t value, int op, int pe)
{
    shmemx_signal_op_on_queue(word, value, op, pe, lanes[lane], 0, NULL, NULL);
}

static void wait_until(int lane, uint64_t *word, int cmp, uint64_t value)
{
    shmemx_signal_wait_until_on_queue(word, cmp, value, lanes[lane], 0, NULL, NULL);
}

static void quiet(int lane)
{
    shmemx_quiet_on_queue(lanes[lane], 0, NULL, NULL);
}

static void sync_all(int lane)
{
    shmemx_sync_all_on_queue(lanes[lane], 0, NULL, NULL);
}

static void barrier_all(int lane)
{
    shmemx_barrier_all_on_queue(lanes[lane], 0, NULL, NULL);
}

static const struct on_ops ops = {
    .type = OSHM_MEMTYPE_OPENCL,
    .fill = fill,
    .copy = copy,
    .mark = mark,
    .has_passed = has_passed,
    .finish = finish,
    .read = read_bytes,
    .write = write_bytes,
    .put = put,
    .get = get,
    .put_signal = put_signal,
    .signal_op = signal_op,
    .wait = wait_until,
    .quiet = quiet,
    .sync = sync_all,
    .barrier = barrier_all,
};

/* ---- Events ------------------------------------------------------------------------------------------------------ */

static uint32_t first_word(size_t offset)
{
    uint32_t word;
    read_bytes(&word, offset, sizeof word);
    return word;
}

/* Operations on one queue come after events of the other one, and hold up what waits for theirs. */
static void check_events(char *map)
{
    const size_t here = ON_DATA, there = ON_DATA + 4096, kept = ON_DATA + 8192;
    cl_int error;
    cl_event filled, arrived, copied, last;
    cl_event gate = clCreateUserEvent(context, &error);
    TRY(error);
    fill(0, here, 1, 1024);
    fill(1, there, 2, 1024);
    finish(0);
    finish(1);
    shmem_barrier_all();
    const uint32_t three = 3;
    TRY(clEnqueueFillBuffer(lanes[0], buffer, &three, 4, here, 4096, 1, &gate, &filled));
    shmemx_putmem_on_queue(map + there, map + here, 4096, check_target(1), lanes[1], 1, &filled, NULL);
    shmemx_barrier_all_on_queue(lanes[1], 0, NULL, &arrived);
    TRY(clEnqueueCopyBuffer(lanes[0], buffer, buffer, there, kept, 4096, 1, &arrived, &copied));
    shmemx_quiet_on_queue(lanes[0], 1, &copied, &last);
    TRY(clFlush(lanes[0]));
    CHECK(state_of(arrived) != CL_COMPLETE && state_of(last) != CL_COMPLETE);
    TRY(clSetUserEventStatus(gate, CL_COMPLETE));
    TRY(clWaitForEvents(1, &last));
    CHECK(first_word(kept) == 3);
    shmemx_getmem_on_queue(map, map, 0, 0, lanes[0], 0, NULL, &arrived);
    TRY(clWaitForEvents(1, &arrived)); /* due even if nothing is moved */
    TRY(clReleaseEvent(gate));
    shmem_barrier_all();
}

/* PoCL 3.1 aborts when an event fails that commands wait for. */
static bool is_pocl(void)
{
    cl_device_id device;
    cl_platform_id platform;
    char name[256] = "";
    TRY(clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof device, &device, NULL));
    TRY(clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL));
    TRY(clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, NULL));
    return strstr(name, "Portable Computing Language") != NULL;
}

/* What comes first has failed: the operation is not done, and tells so. In a queue of its own and in host memory: what
 * OpenCL does with what follows in that queue differs. */
static void check_failed_event(void)
{
    static long target = 5, source = 6;
    cl_int error;
    cl_device_id device;
    cl_event failed = clCreateUserEvent(context, &error), result;
    TRY(error);
    TRY(clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof device, &device, NULL));
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

/* Nothing is finished by the program: shmumap and shmem_finalize see to what was enqueued. */
static void check_drain(char *map)
{
    fill(0, ON_DATA, 100 + (uint32_t)shmem_my_pe(), 1);
    for (int i = 0; i < 10; i++)
        put(0, map + ON_DATA + 4096, map + ON_DATA, 4, check_target(1));
    shmumap(map);
    CHECK(first_word(ON_DATA + 4096) == 100 + (uint32_t)check_origin(1));
    barrier_all(1);
}

int main(void)
{
    static int absent; /* symmetric: some PE has no device */
    shmem_init();
    bool opened = open_device(shmemx_my_device(OSHM_MEMTYPE_OPENCL)) == 0;
    for (int pe = 0; !opened && pe < shmem_n_pes(); pe++)
        shmem_int_p(&absent, 1, pe);
    shmem_barrier_all();
    if (absent) {
        shmem_finalize();
        return CHECK_SKIP;
    }
    char *map = on_check(&ops, &buffer);
    check_events(map);
    check_drain(map);
    if (!is_pocl())
        check_failed_event();
    return check_end();
}
