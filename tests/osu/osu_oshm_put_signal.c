/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Latency of a put with a signal, up to the moment in which its target has seen the signal. PE 0 puts its buffer into
 * PE 1's and sets a signal there; PE 1 waits for it and does the same to PE 0, which waits in turn. The latency is half
 * of the time that both ways take together.
 *
 * --on-stream: both PEs enqueue the puts and the waits of all repetitions in a stream or queue, and wait for its end.
 * --raw: a plain copy into the peer's memory, then a store into its signal, which the peer polls. --naive: copy out, a
 * put with signal between host buffers, a wait, copy in.
 */
#include "latency.h"
#include "by_hand.h"
#include "gather.h"
#include "osu_report.h"
#include "shmem_flavour.h"

#include <math.h>
#include <time.h>

static uint64_t global_signal, global_raw_signal;
static int has_no_raw;              /* symmetric; on each PE: one of the two has no raw way */
static uint64_t number, raw_number; /* of the last signal; the same on both PEs */

static uint64_t *signal_word, *raw_signal_word; /* symmetric */
static void *stream;                            /* NULL: not on a stream */
static struct device *stream_device;            /* whose stream it is     */
static int stream_type;                         /* DEVICE_TYPE_...        */

/* ---- The transfer: PE 0 sends first, PE 1 waits first ------------------------------------------------------------ */

static void send_signal(void *dest, const void *source, size_t size, int pe)
{
    if (stream)
        osu_put_signal_on_stream(dest, source, size, signal_word, number, pe, stream_type, stream);
    else
        shmem_putmem_signal(dest, source, size, signal_word, number, SHMEM_SIGNAL_SET, pe);
}

static void wait_for_signal(void)
{
    if (stream)
        osu_wait_on_stream(signal_word, number, stream_type, stream);
    else
        shmem_signal_wait_until(signal_word, SHMEM_CMP_GE, number);
}

static void end_of_stream(void)
{
    if (stream)
        plain_synchronize(stream_device);
}

static void repeat(void *dest, const void *source, size_t size, long count)
{
    for (long i = 0; i < count; i++) {
        number++;
        send_signal(dest, source, size, 1);
        wait_for_signal();
    }
    end_of_stream();
}

static void answer(void *dest, const void *source, size_t size, long count)
{
    for (long i = 0; i < count; i++) {
        number++;
        wait_for_signal();
        send_signal(dest, source, size, 0);
    }
    end_of_stream();
}

/* ---- What it is compared with ------------------------------------------------------------------------------------ */

/* This PE's plain copy into the peer's memory, and the peer's signal; false: there is none. */
static bool find_peer(const struct latency_buffers *buffers, struct device_copy *copy, uint64_t **signal_p)
{
    int me = shmem_my_pe();
    const struct osu_memory *mine = me == 0 ? &buffers->local : &buffers->remote;
    const struct osu_memory *theirs = me == 0 ? &buffers->remote : &buffers->local;
    void *dest = shmem_ptr(theirs->address, 1 - me);
    *copy =
        (struct device_copy){dest, mine->object, theirs->device->ops->memtype != 0, mine->device->ops->memtype != 0};
    *signal_p = shmem_ptr(raw_signal_word, 1 - me);
    return dest && *signal_p && plain_copy(compare_device(buffers), copy, 0, 0);
}

/* Polls for the peer's store; with too few cores, it yields this one to the peer after a while. */
static void look_for_signal(void)
{
    for (int looks = 1; __atomic_load_n(raw_signal_word, __ATOMIC_ACQUIRE) < raw_number; looks++) {
        if (looks % (1 << 16) == 0)
            nanosleep(&(struct timespec){.tv_nsec = 1}, NULL);
    }
}

static double raw(const struct latency_test *test, const struct latency_buffers *buffers, size_t size, long count)
{
    struct device *device = compare_device(buffers);
    bool (*copy_once)(struct device *, const struct device_copy *, size_t, long) = device->ops->plain.copy;
    struct device_copy copy;
    uint64_t *signal;
    (void)test;
    for (int pe = 0; !find_peer(buffers, &copy, &signal) && pe < 2; pe++)
        shmem_int_p(&has_no_raw, 1, pe);
    shmem_barrier_all();
    if (has_no_raw)
        return NAN;
    double start = now_us();
    for (long leg = 0; leg < 2 * count; leg++) {
        bool sends = leg % 2 == shmem_my_pe();
        raw_number++;
        if (sends) {
            copy_once(device, &copy, size, 1);
            __atomic_store_n(signal, raw_number, __ATOMIC_RELEASE);
        }
        if (!sends)
            look_for_signal();
    }
    return now_us() - start;
}

/* The naive way there and back, all of which PE 0 times. */
static double naive(const struct latency_test *test, struct latency_buffers *buffers, size_t size)
{
    double start = now_us();
    (void)test;
    number++;
    if (shmem_my_pe() == 1) {
        by_hand_receive(&buffers->remote, &buffers->stage, size, signal_word, number);
        by_hand_send(&buffers->remote, &buffers->stage, size, signal_word, number, 0);
        return 0;
    }
    by_hand_send(&buffers->local, &buffers->stage, size, signal_word, number, 1);
    by_hand_receive(&buffers->local, &buffers->stage, size, signal_word, number);
    return now_us() - start;
}

/* ---- Validation: the bytes have to be there when the signal is, without a barrier -------------------------------- */

static bool arrived(const struct latency_run *run, int from, size_t size, unsigned seed)
{
    bool sends = run->session->me == from;
    struct latency_buffers *buffers = run->buffers;
    latency_prepare(run, from, size, seed);
    number++;
    if (sends && from == 0)
        send_signal(buffers->remote.address, buffers->local.address, size, 1);
    else if (sends)
        send_signal(buffers->local.address, buffers->remote.address, size, 0);
    else
        wait_for_signal();
    end_of_stream();
    bool right = sends || osu_memory_check(latency_memory(run), size, seed);
    shmem_barrier_all();
    return right;
}

static bool validate(const struct latency_run *run, size_t size)
{
    bool right = true;
    for (unsigned round = 0; round < LATENCY_VALIDATION_ROUNDS; round++) {
        right &= arrived(run, 0, size, 2 * round + 1);
        right &= arrived(run, 1, size, 2 * round + 2);
    }
    return osu_gather(!right).sum == 0;
}

/* ---- Program ----------------------------------------------------------------------------------------------------- */

static uint64_t *make_signal(const struct osu_session *session, uint64_t *global)
{
    uint64_t *word = session->options.use_global ? global : shmem_malloc(sizeof *word); /* until shmem_finalize */
    if (word)
        *word = 0;
    return word;
}

static bool set_up(const struct osu_session *session)
{
    signal_word = make_signal(session, &global_signal);
    raw_signal_word = make_signal(session, &global_raw_signal);
    if (!signal_word || !raw_signal_word)
        die("the symmetric heap has no room for a signal: raise SHMEM_SYMMETRIC_SIZE");
    stream_device = session->device;
    stream_type = stream_device->ops->memtype;
    stream = session->options.on_stream ? session->stream : NULL;
    shmem_barrier_all();
    return true;
}

static const struct latency_test test = {
    .program =
        {
            .name = "osu_oshm_put_signal",
            .title = "OSU OpenSHMEM Put with Signal Test",
            .summary = "Latency of shmem_putmem_signal until its target has seen the signal: half of both ways.",
            LATENCY_DEFAULTS,
            .placement = OSU_SYMMETRIC_MEMORY,
            .streams = true,
        },
    .source_pe = OSU_PUT_SOURCE,
    .set_up = set_up,
    .repeat = repeat,
    .answer = answer,
    .raw = raw,
    .naive = naive,
    .validate = validate,
};

int main(int argc, char **argv)
{
    return latency_main(&test, argc, argv);
}
