/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Turns in CUDA streams: functions of the host that the stream calls before and after an operation. The driver is the one
 * that the library has loaded.
 */
#include "race/streams/stream_op.h"

#include <dlfcn.h>
#include <stdio.h>

typedef void host_function(void *);

static struct {
    int (*is_capturing)(shmemx_stream_t, int *);
    int (*call_host)(shmemx_stream_t, host_function *, void *);
    int (*context_of)(shmemx_stream_t, void **);
    int (*push)(void *);
    int (*pop)(void **);
} driver;

static bool load_driver(void)
{
    void *library = driver.call_host ? NULL : dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!library)
        return driver.call_host;
    driver.is_capturing = (int (*)(shmemx_stream_t, int *))dlsym(library, "cuStreamIsCapturing");
    driver.context_of = (int (*)(shmemx_stream_t, void **))dlsym(library, "cuStreamGetCtx");
    driver.push = (int (*)(void *))dlsym(library, "cuCtxPushCurrent_v2");
    driver.pop = (int (*)(void **))dlsym(library, "cuCtxPopCurrent_v2");
    driver.call_host = (int (*)(shmemx_stream_t, host_function *, void *))dlsym(library, "cuLaunchHostFunc");
    return driver.is_capturing && driver.context_of && driver.push && driver.pop && driver.call_host;
}

static void begins(void *argument)
{
    race_op_begins(argument);
}

static void ends(void *argument)
{
    race_op_ends(argument);
}

/* In the stream's own context, which need not be the thread's. */
static bool call_host(shmemx_stream_t stream, host_function *function, void *argument)
{
    void *context;
    if (driver.context_of(stream, &context) || driver.push(context))
        return false;
    const int status = driver.call_host(stream, function, argument);
    (void)driver.pop(&context);
    return !status;
}

/* A graph is launched by calls that are not seen, and often. */
static bool may_call_host(shmemx_stream_t stream)
{
    int is_capturing = 0;
    if (driver.is_capturing(stream, &is_capturing) || is_capturing) {
        race_give_up("a stream is captured into a graph, whose launches are not seen");
        return false;
    }
    return true;
}

void race_cuda_turn(struct race_turn *turn, const struct race_call *call, const struct race_work *work,
                    shmemx_stream_t stream)
{
    *turn = (struct race_turn){.handle = stream};
    if (!call->thread || !load_driver() || !may_call_host(stream))
        return;
    turn->op = race_op_new(call, race_stream_of(stream, false), work);
    if (call_host(stream, begins, turn->op))
        return;
    race_give_up("a stream does not call a function of the host");
    race_op_ends(turn->op);
    turn->op = NULL;
}

void race_cuda_turn_ends(struct race_turn *turn)
{
    if (turn->op && !call_host(turn->handle, ends, turn->op))
        race_give_up("a stream does not call a function of the host");
}
