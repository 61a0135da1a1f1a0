/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Programs without races, in which queues take part: the right twins of racy_queues.c, and more ways to wait. races.test
 * runs them.
 */
#include "queues.h"

static int x, y, words[64], all[64];
static uint64_t signal_word, other_signal;
static volatile int sink;
static int host_words[64];

#define PUT(DEST, SOURCE, PE, QUEUE) shmemx_int_put_on_queue(DEST, SOURCE, 1, PE, QUEUE, 0, NULL, NULL)

/* Quiet on the queue, the host waits for the queue, and tells. */
static void put_quiet_finish(void)
{
    if (me == 0) {
        PUT(&x, host_words, 1, queue);
        shmemx_quiet_on_queue(queue, 0, NULL, NULL);
        clFinish(queue);
    }
    shmem_barrier_all();
    if (me == 1)
        sink = x;
}

/* A flag of the queue, after a fence of the queue. */
static void put_fence_flag(void)
{
    if (me == 0) {
        PUT(&x, host_words, 1, queue);
        shmemx_fence_on_queue(queue, 0, NULL, NULL);
        shmemx_int_atomic_set_on_queue(&y, 1, 1, queue, 0, NULL, NULL);
    }
    if (me == 1) {
        shmem_int_wait_until(&y, SHMEM_CMP_EQ, 1);
        sink = x;
    }
}

/* A signal comes after all earlier puts of its queue. */
static void put_signal_op(void)
{
    if (me == 0) {
        PUT(&x, host_words, 1, queue);
        shmemx_int_put_signal_on_queue(words, host_words, 8, &signal_word, 1, SHMEM_SIGNAL_SET, 1, queue, 0, NULL,
                                       NULL);
        shmemx_signal_op_on_queue(&signal_word, 2, SHMEM_SIGNAL_SET, 1, queue, 0, NULL, NULL);
    }
    if (me == 1) {
        shmem_signal_wait_until(&signal_word, SHMEM_CMP_GE, 1);
        sink = x + words[7];
    }
}

/* The source may change when the host has waited: for the queue, an event, a blocking command, by asking. */
static void source_after_waits(void)
{
    cl_event event;
    cl_int state = CL_QUEUED;
    int read = 0;
    if (me != 0)
        return;
    PUT(&words[0], host_words, 1, queue);
    clFinish(queue);
    host_words[0] = 1;
    shmemx_int_put_on_queue(&words[1], host_words, 1, 1, queue, 0, NULL, &event);
    clWaitForEvents(1, &event);
    host_words[0] = 2;
    clReleaseEvent(event);
    PUT(&words[2], host_words, 1, queue);
    clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof read, &read, 0, NULL, NULL);
    host_words[0] = 3;
    shmemx_int_put_on_queue(&words[3], host_words, 1, 1, queue, 0, NULL, &event);
    while (state > CL_COMPLETE)
        clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    host_words[0] = 4;
    clReleaseEvent(event);
}

/* The event of a later command of the queue will do. */
static void later_event(void)
{
    cl_event event;
    if (me == 0) {
        shmemx_int_get_on_queue(host_words, words, 8, 1, queue, 0, NULL, NULL);
        clEnqueueMarkerWithWaitList(queue, 0, NULL, &event);
        clWaitForEvents(1, &event);
        clReleaseEvent(event);
        sink = host_words[7];
    }
}

/* Events order two queues; the second is waited for. */
static void two_queues_and_an_event(void)
{
    cl_event event;
    if (me == 0) {
        PUT((int *)(mapped + 64), host_words, 1, queue);
        shmemx_quiet_on_queue(queue, 0, NULL, &event);
        shmemx_int_put_on_queue((int *)(mapped + 64), host_words + 1, 1, 1, other_queue, 1, &event, NULL);
        clReleaseEvent(event);
        shmemx_quiet_on_queue(other_queue, 0, NULL, NULL);
        clFinish(other_queue);
        host_words[0] = host_words[1] = 5;
    }
    shmem_barrier_all();
    if (me == 1)
        shmem_int_get(host_words, (int *)(mapped + 64), 1, 1);
}

/* The event of the program's own command passes the order on. */
static void order_by_a_command(void)
{
    cl_event event;
    if (me == 0) {
        PUT(&x, host_words, 1, queue);
        shmemx_quiet_on_queue(queue, 0, NULL, NULL);
        clEnqueueCopyBuffer(queue, buffer, buffer, 0, 2048, 64, 0, NULL, &event);
        clEnqueueBarrierWithWaitList(other_queue, 1, &event, NULL);
        shmemx_signal_op_on_queue(&signal_word, 1, SHMEM_SIGNAL_SET, 1, other_queue, 0, NULL, NULL);
        clFlush(queue);
        clReleaseEvent(event);
    }
    if (me == 1) {
        shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 1);
        sink = x;
    }
}

/* The host lets the queue begin, after it has written what the queue reads. */
static void gate(void)
{
    if (me == 0) {
        cl_event event = clCreateUserEvent(context, NULL);
        shmemx_int_put_on_queue(words, host_words, 8, 1, queue, 1, &event, NULL);
        host_words[3] = 7;
        clSetUserEventStatus(event, CL_COMPLETE);
        clReleaseEvent(event);
    }
}

/* The gate holds back a command of the program's own, behind which the operation waits. */
static void gate_of_a_command(void)
{
    if (me == 0) {
        cl_event event = clCreateUserEvent(context, NULL);
        clEnqueueMarkerWithWaitList(queue, 1, &event, NULL);
        PUT(words, host_words, 1, queue);
        host_words[0] = 7;
        clSetUserEventStatus(event, CL_COMPLETE);
        clReleaseEvent(event);
    }
}

/* From PE to PE by queues alone: nobody but the last host waits. */
static void ring(void)
{
    for (int i = 1; i <= 10; i++) {
        shmemx_signal_wait_until_on_queue(&other_signal, SHMEM_CMP_GE, (uint64_t)i - 1, queue, 0, NULL, NULL);
        shmemx_putmem_signal_on_queue(mapped + 2048, mapped, 64, &signal_word, (uint64_t)i, SHMEM_SIGNAL_SET, right,
                                      queue, 0, NULL, NULL);
        shmemx_signal_wait_until_on_queue(&signal_word, SHMEM_CMP_GE, (uint64_t)i, queue, 0, NULL, NULL);
        shmemx_getmem_on_queue(host_words, mapped + 2048, 64, me, queue, 0, NULL, NULL);
        shmemx_signal_op_on_queue(&other_signal, (uint64_t)i, SHMEM_SIGNAL_SET, left, queue, 0, NULL, NULL);
    }
    clFinish(queue);
    sink = host_words[0];
}

/* What a host has put, a queue learns of by its wait, and passes on by its signal. */
static void passed_on(void)
{
    if (me == 0)
        shmem_int_put_signal(&x, words, 1, &signal_word, 1, SHMEM_SIGNAL_SET, 2);
    if (me == 2) {
        shmemx_signal_wait_until_on_queue(&signal_word, SHMEM_CMP_EQ, 1, queue, 0, NULL, NULL);
        shmemx_signal_op_on_queue(&signal_word, 1, SHMEM_SIGNAL_SET, 1, queue, 0, NULL, NULL);
    }
    if (me == 1) {
        shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 1);
        sink = shmem_int_g(&x, 2);
    }
}

/* Barriers of queues. */
static void barrier_and_finish(void)
{
    if (me == 0)
        PUT(&x, host_words, 1, queue);
    shmemx_barrier_all_on_queue(queue, 0, NULL, NULL);
    clFinish(queue);
    if (me == 1)
        sink = x;
    shmemx_sync_all_on_queue(queue, 0, NULL, NULL);
    if (me == 2)
        PUT(&x, host_words, 1, queue);
}

/* Collectives of queues, beside those of the host. */
static void collectives(void)
{
    shmemx_int_sum_reduce_on_queue(SHMEM_TEAM_WORLD, all, words, 4, queue, 0, NULL, NULL);
    shmem_int_max_reduce(SHMEM_TEAM_WORLD, all + 32, words + 32, 4);
    shmemx_int_broadcast_on_queue(SHMEM_TEAM_WORLD, all + 8, all, 4, 0, queue, 0, NULL, NULL);
    shmemx_team_barrier_on_queue(SHMEM_TEAM_WORLD, queue, 0, NULL, NULL);
    shmemx_int_alltoalls_on_queue(SHMEM_TEAM_WORLD, all + 16, words, 2, 2, 1, queue, 0, NULL, NULL);
    sink = all[33];
    clFinish(queue);
    sink = all[3] + all[9] + all[18];
}

/* Words: old values, and waits that take the signal away. */
static void updates(void)
{
    shmemx_int_atomic_fetch_add_on_queue(host_words, &x, 1, 1, queue, 0, NULL, NULL);
    shmemx_int_atomic_inc_on_queue(&x, 1, queue, 0, NULL, NULL);
    shmemx_signal_op_on_queue(&signal_word, 1, SHMEM_SIGNAL_SET, right, queue, 0, NULL, NULL);
    shmemx_signal_wait_until_set_on_queue(&signal_word, SHMEM_CMP_EQ, 1, 0, queue, 0, NULL, NULL);
    shmemx_barrier_all_on_queue(queue, 0, NULL, NULL);
    clFinish(queue);
    sink = host_words[0] + x;
}

/* A queue that works out of order: events order its operations. */
static void out_of_order(void)
{
    cl_event put, quiet;
    cl_command_queue loose = new_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    if (me == 0) {
        shmemx_int_put_on_queue(&x, host_words, 1, 1, loose, 0, NULL, &put);
        shmemx_quiet_on_queue(loose, 1, &put, &quiet);
        clWaitForEvents(1, &quiet);
        clReleaseEvent(put);
        clReleaseEvent(quiet);
        host_words[0] = 3;
    }
    clFinish(loose);
    clReleaseCommandQueue(loose);
    shmem_barrier_all();
    if (me == 1)
        sink = x;
}

static volatile int is_done;

static void CL_CALLBACK note_done(cl_event event, cl_int status, void *argument)
{
    (void)event, (void)status, (void)argument;
    is_done = 1;
}

/* The host hears by a callback that the queue has gone on, and who waits for it is not seen. */
static void callback(void)
{
    cl_event event;
    if (me != 0)
        return;
    shmemx_int_put_on_queue(words, host_words, 8, 1, queue, 0, NULL, &event);
    clSetEventCallback(event, CL_COMPLETE, note_done, NULL);
    clFlush(queue);
    while (!is_done)
        continue;
    host_words[3] = 1;
    clReleaseEvent(event);
}

/* The copies of the mapped buffer are the queue's: a put after them is. */
static void copies(void)
{
    static char bytes[64];
    if (me == 0) {
        clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 128, sizeof bytes, bytes, 0, NULL, NULL);
        clEnqueueCopyBuffer(queue, buffer, buffer, 128, 256, sizeof bytes, 0, NULL, NULL);
        shmemx_putmem_signal_on_queue(mapped + 512, mapped + 256, sizeof bytes, &signal_word, 1, SHMEM_SIGNAL_SET, 1,
                                      queue, 0, NULL, NULL);
        clFinish(queue);
        bytes[0] = 1;
    }
    if (me == 1) {
        shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 1);
        clEnqueueReadBuffer(queue, buffer, CL_TRUE, 512, sizeof bytes, bytes, 0, NULL, NULL);
        sink = bytes[5];
    }
}

int main(int argc, char **argv)
{
    static const struct program programs[] = {
        PROGRAM(put_quiet_finish),
        PROGRAM(put_fence_flag),
        PROGRAM(put_signal_op),
        PROGRAM(source_after_waits),
        PROGRAM(later_event),
        PROGRAM(two_queues_and_an_event),
        PROGRAM(order_by_a_command),
        PROGRAM(gate),
        PROGRAM(gate_of_a_command),
        PROGRAM(ring),
        PROGRAM(passed_on),
        PROGRAM(barrier_and_finish),
        PROGRAM(collectives),
        PROGRAM(updates),
        PROGRAM(out_of_order),
        PROGRAM(callback),
        PROGRAM(copies),
    };
    return run_chosen_between(argc, argv, programs, sizeof programs / sizeof programs[0], open_queues, close_queues);
}
