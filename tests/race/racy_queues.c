/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Programs with one race each, in which queues take part. As racy.c; races.test runs them.
 */
#include "queues.h"

static int x, words[64], all[64];
static uint64_t signal_word;
static volatile int sink;
static int host_words[64];

#define PUT(DEST, SOURCE, PE, QUEUE) shmemx_int_put_on_queue(DEST, SOURCE, 1, PE, QUEUE, 0, NULL, NULL)

/* The queue puts while the owner reads. */
static void put_load(void)
{
    if (me == 0)
        PUT(&x, host_words, 1, queue); // put_load
    if (me == 1)
        sink = x; // put_load
}

/* clFinish gives the source back; quiet on the queue delivers. */
static void finish_without_quiet(void)
{
    if (me == 0) {
        PUT(&x, host_words, 1, queue); // finish_without_quiet
        clFinish(queue);
    }
    shmem_barrier_all();
    if (me == 1)
        sink = x; // finish_without_quiet
}

/* shmem_quiet completes nothing of a queue. */
static void quiet_of_the_host(void)
{
    if (me == 0) {
        shmemx_int_p_on_queue(&x, 1, 1, queue, 0, NULL, NULL); // quiet_of_the_host
        shmem_quiet();
    }
    shmem_barrier_all();
    if (me == 1)
        sink = x; // quiet_of_the_host
}

/* The queue reads its source later. */
static void source_changed(void)
{
    if (me == 0) {
        PUT(words, host_words, 1, queue); // source_changed
        host_words[0] = 1;                // source_changed
    }
}

/* What a queue gets is not there yet. */
static void got_too_early(void)
{
    if (me == 0) {
        shmemx_int_get_on_queue(host_words, words, 4, 1, queue, 0, NULL, NULL); // got_too_early
        sink = host_words[3];                                                   // got_too_early
    }
}

/* Two queues of one PE are not in order. */
static void two_queues(void)
{
    if (me == 0) {
        PUT((int *)(mapped + 64), host_words, 1, queue);           // two_queues
        PUT((int *)(mapped + 64), host_words + 1, 1, other_queue); // two_queues
    }
}

/* Nor are those of two PEs, in a mapped buffer. */
static void two_pes(void)
{
    if (me == 0)
        shmemx_putmem_on_queue(mapped + 1024, host_words, 64, 1, queue, 0, NULL, NULL); // two_pes
    if (me == 2)
        shmemx_getmem_on_queue(host_words, mapped + 1024 + 63, 1, 1, queue, 0, NULL, NULL); // two_pes
}

/* A signal comes after the puts of its own queue. */
static void signal_of_another_queue(void)
{
    if (me == 0) {
        PUT(&x, host_words, 1, other_queue); // signal_of_another_queue
        shmemx_signal_op_on_queue(&signal_word, 1, SHMEM_SIGNAL_SET, 1, queue, 0, NULL, NULL);
    }
    if (me == 1) {
        shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 1);
        sink = x; // signal_of_another_queue
    }
}

/* The queue waits for the signal, the host does not. */
static void wait_of_the_queue(void)
{
    if (me == 0)
        shmem_int_put_signal(&x, words, 1, &signal_word, 1, SHMEM_SIGNAL_SET, 1); // wait_of_the_queue
    if (me == 1) {
        shmemx_signal_wait_until_on_queue(&signal_word, SHMEM_CMP_EQ, 1, queue, 0, NULL, NULL);
        sink = x; // wait_of_the_queue
    }
}

/* The host waits for another queue than the one that waits for the signal. */
static void finish_of_another_queue(void)
{
    if (me == 0)
        shmem_int_put_signal(&x, words, 1, &signal_word, 1, SHMEM_SIGNAL_SET, 1); // finish_of_another_queue
    if (me == 1) {
        shmemx_signal_wait_until_on_queue(&signal_word, SHMEM_CMP_EQ, 1, queue, 0, NULL, NULL);
        shmemx_int_get_on_queue(host_words, words, 1, 2, other_queue, 0, NULL, NULL);
        clFinish(other_queue);
        sink = x; // finish_of_another_queue
    }
}

/* A barrier in a queue orders the queue. */
static void barrier_of_the_queue(void)
{
    if (me == 0)
        PUT(&x, host_words, 1, queue); // barrier_of_the_queue
    shmemx_barrier_all_on_queue(queue, 0, NULL, NULL);
    if (me == 1)
        sink = x; // barrier_of_the_queue
}

/* sync_all in a queue completes nothing. */
static void sync_of_the_queue(void)
{
    if (me == 0)
        PUT(&x, host_words, 1, queue); // sync_of_the_queue
    shmemx_sync_all_on_queue(queue, 0, NULL, NULL);
    clFinish(queue);
    if (me == 1)
        sink = x; // sync_of_the_queue
}

/* The result is not there yet. */
static void sum_too_early(void)
{
    shmemx_int_sum_reduce_on_queue(SHMEM_TEAM_WORLD, all, words, 4, queue, 0, NULL, NULL); // sum_too_early
    if (me == 1)
        sink = all[3]; // sum_too_early
}

/* An atomic operation of a queue, and a load. */
static void inc_and_load(void)
{
    if (me == 0)
        shmemx_int_atomic_inc_on_queue(&x, 1, queue, 0, NULL, NULL); // inc_and_load
    if (me == 1)
        sink = x; // inc_and_load
}

/* The old value is not there yet. */
static void old_value_too_early(void)
{
    if (me == 0) {
        shmemx_int_atomic_fetch_add_on_queue(host_words, &x, 1, 1, queue, 0, NULL, NULL); // old_value_too_early
        sink = host_words[0];                                                             // old_value_too_early
    }
}

/* Strided: every other element. */
static void strided(void)
{
    if (me == 0)
        shmemx_int_iput_on_queue(words, host_words, 2, 1, 8, 1, queue, 0, NULL, NULL); // strided
    if (me == 1)
        sink = words[14]; // strided
}

/* The program's own copy into mapped memory, and a put. */
static void copy_and_put(void)
{
    static char bytes[64];
    if (me == 1)
        clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 512, sizeof bytes, bytes, 0, NULL, NULL); // copy_and_put
    if (me == 0)
        shmem_putmem(mapped + 512 + 63, bytes, 1, 1); // copy_and_put
}

/* A copy that is not waited for, and a load. */
static void read_too_early(void)
{
    static char bytes[64];
    if (me == 1) {
        clEnqueueReadBuffer(queue, buffer, CL_FALSE, 512, sizeof bytes, bytes, 0, NULL, NULL); // read_too_early
        sink = bytes[63];                                                                      // read_too_early
    }
}

/* A copy within mapped memory does not wait for what another PE puts there. */
static void copy_of_a_put(void)
{
    if (me == 0)
        shmem_putmem(mapped + 128, host_words, 64, 1); // copy_of_a_put
    if (me == 1)
        clEnqueueCopyBuffer(queue, buffer, buffer, 128, 1024, 64, 0, NULL, NULL); // copy_of_a_put
}

int main(int argc, char **argv)
{
    static const struct program programs[] = {
        PROGRAM(put_load),
        PROGRAM(finish_without_quiet),
        PROGRAM(quiet_of_the_host),
        PROGRAM(source_changed),
        PROGRAM(got_too_early),
        PROGRAM(two_queues),
        PROGRAM(two_pes),
        PROGRAM(signal_of_another_queue),
        PROGRAM(wait_of_the_queue),
        PROGRAM(sync_of_the_queue),
        PROGRAM(finish_of_another_queue),
        PROGRAM(barrier_of_the_queue),
        PROGRAM(sum_too_early),
        PROGRAM(inc_and_load),
        PROGRAM(old_value_too_early),
        PROGRAM(strided),
        PROGRAM(copy_and_put),
        PROGRAM(read_too_early),
        PROGRAM(copy_of_a_put),
    };
    return run_chosen_between(argc, argv, programs, sizeof programs / sizeof programs[0], open_queues, close_queues);
}
