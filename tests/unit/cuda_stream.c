/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations in CUDA streams: copies, updates of words by the driver and by a kernel, both in one kernel, turns of a
 * stream and a thread. Skipped (77) without a CUDA device.
 */
#include "base/settings.h"
#include "cuda_user.h"
#include "gpu/device/gpu_context.h"
#include "gpu/device/streams/program_streams.h"

#include <errno.h>
#include <sched.h>

static const struct shmemi_streams *const streams = &shmemi_gpu_streams;
static struct shmemi_stream stream;
static struct shmemi_place box; /* of device memory */
static uint64_t *locked;        /* page-locked host memory */

static void finish(void)
{
    USE(shmemi_cuda.cuStreamSynchronize(stream.handle));
}

static uint64_t word_at(size_t offset)
{
    uint64_t word = 0;
    USE(cuda.cuMemcpyDtoH(&word, box.address + offset, sizeof word));
    return word;
}

static struct shmemi_place at(size_t offset)
{
    struct shmemi_place place = box;
    place.address += offset;
    return place;
}

static void open_stream(void)
{
    char reason[160] = "";
    CUstream handle;
    USE(shmemi_cuda.cuStreamCreate(&handle, CU_STREAM_NON_BLOCKING));
    stream = (struct shmemi_stream){.memory = memory, .handle = handle};
    CHECK(!streams->open(&stream, reason, sizeof reason) && stream.object == box.object);
    CHECK(!streams->commands->is_recording(&stream));
}

static void check_copies(void)
{
    struct shmemi_place low = at(0), high = at(BOX / 2), host = shmemi_place_host(locked);
    struct shmemi_place pageable = shmemi_place_host(host_a);
    fill((char *)locked, 4096, 3);
    CHECK(!streams->commands->copy(&stream, &low, &host, 4096));
    CHECK(!streams->commands->copy(&stream, &high, &low, 4096));
    finish();
    USE(cuda.cuMemcpyDtoH(host_b, high.address, 4096));
    CHECK(!memcmp(host_b, locked, 4096));
    memset(locked, 0, 4096);
    CHECK(!streams->commands->copy(&stream, &host, &high, 4096));
    finish();
    CHECK(!memcmp(host_b, locked, 4096));
    CHECK(streams->commands->copy(&stream, &low, &pageable, 4096) == -ENOTSUP);
    CHECK(streams->commands->copy(&stream, &host, &host, 8) == -ENOTSUP);
}

/* Puts of all lengths up to a few units, and some at the limit, at all distances from aligned addresses. */
static void check_put_of(size_t nbytes, size_t from, size_t to, struct shmemi_place word, uint64_t value)
{
    const struct shmemi_word set = {word, value, SHMEMI_STEP_SET};
    const struct shmemi_place source = at(BOX / 2 + from), dest = at(4096 + to);
    fill(host_a, nbytes + 2, (unsigned)value);
    USE(cuda.cuMemcpyHtoD(source.address - 1, host_a, nbytes + 2));
    USE(shmemi_cuda.cuMemsetD8(dest.address - 1, 0x5a, nbytes + 2));
    CHECK(!streams->commands->copy_and_step(&stream, &dest, &source, nbytes, &set));
    finish();
    USE(cuda.cuMemcpyDtoH(host_b, dest.address - 1, nbytes + 2));
    CHECK(!memcmp(host_a + 1, host_b + 1, nbytes));
    CHECK(host_b[0] == 0x5a && host_b[nbytes + 1] == 0x5a);
}

static void check_puts(void)
{
    static const size_t long_ones[] = {4096, 16384, 16385, 32760, 32768};
    const struct shmemi_place host_word = shmemi_place_host(locked), pageable = shmemi_place_host(host_a);
    const struct shmemi_place source = at(BOX / 2), dest = at(4096);
    const struct shmemi_word set = {at(64), 1, SHMEMI_STEP_SET}, unreached = {pageable, 1, SHMEMI_STEP_SET};
    uint64_t value = 0;
    shmemi_settings.stream_put = SHMEMI_STREAM_PUT_ENGINE;
    CHECK(streams->commands->copy_and_step(&stream, &dest, &source, 8, &set) == -ENOTSUP);
    shmemi_settings.stream_put = SHMEMI_STREAM_PUT_KERNEL;
    for (size_t nbytes = 1; nbytes < 130; nbytes++) {
        check_put_of(nbytes, 16 + nbytes % 5, 16 + nbytes % 17, at(64), ++value);
        CHECK(word_at(64) == value);
    }
    for (size_t i = 0; i < sizeof long_ones / sizeof *long_ones; i++)
        for (size_t shift = 16; shift < 19; shift++) {
            check_put_of(long_ones[i], shift, 16, host_word, ++value);
            CHECK(*(volatile uint64_t *)locked == value);
        }
    CHECK(streams->commands->copy_and_step(&stream, &dest, &source, 32769, &set) == -ENOTSUP);
    CHECK(streams->commands->copy_and_step(&stream, &dest, &pageable, 8, &set) == -ENOTSUP);
    CHECK(streams->commands->copy_and_step(&stream, &dest, &source, 8, &unreached) == -ENOTSUP);
    shmemi_settings.stream_put = SHMEMI_STREAM_PUT_ENGINE;
    CHECK(streams->commands->copy_and_step(&stream, &dest, &source, 8, &set) == -ENOTSUP);
    shmemi_settings.stream_put = SHMEMI_STREAM_PUT_AUTO;
}

/* In a stream of high priority a kernel does small puts. */
static void check_priority(void)
{
    const struct shmemi_stream ordinary = stream;
    const struct shmemi_word set = {at(64), 77, SHMEMI_STEP_SET};
    const struct shmemi_place source = at(BOX / 2), dest = at(4096);
    char reason[160] = "";
    CUstream handle;
    int least, greatest;
    USE(shmemi_cuda.cuCtxGetStreamPriorityRange(&least, &greatest));
    USE(shmemi_cuda.cuStreamCreateWithPriority(&handle, CU_STREAM_NON_BLOCKING, greatest));
    stream = (struct shmemi_stream){.memory = memory, .handle = handle};
    CHECK(!streams->open(&stream, reason, sizeof reason));
    CHECK(streams->commands->copy_and_step(&stream, &dest, &source, 8, &set) == (greatest < least ? 0 : -ENOTSUP));
    finish();
    CHECK(greatest == least || word_at(64) == 77);
    USE(shmemi_cuda.cuStreamDestroy(handle));
    stream = ordinary;
}

/* Each wait is over because of what the stream has done before. */
static void check_steps(struct shmemi_place word, bool can_add)
{
    const struct shmemi_word steps[] = {
        {word, 5, SHMEMI_STEP_SET},      {word, 5, SHMEMI_STEP_UNTIL_EQ}, {word, 0, SHMEMI_STEP_UNTIL_NE},
        {word, 4, SHMEMI_STEP_UNTIL_GT}, {word, 5, SHMEMI_STEP_UNTIL_GE}, {word, 7, SHMEMI_STEP_UNTIL_NE},
        {word, 6, SHMEMI_STEP_UNTIL_LT}, {word, 5, SHMEMI_STEP_UNTIL_LE}, {word, 9, SHMEMI_STEP_SET},
    };
    const struct shmemi_word add = {word, 7, SHMEMI_STEP_ADD};
    for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++)
        CHECK(!streams->commands->take_steps(&stream, &steps[i], 1));
    CHECK(!streams->commands->take_steps(&stream, steps, 5));
    CHECK(streams->commands->take_steps(&stream, &add, 1) == (can_add ? 0 : -ENOTSUP));
    finish();
}

static void check_words(bool by_operations)
{
    struct shmemi_gpu_context *record = stream.object;
    struct shmemi_word pageable = {shmemi_place_host(host_a), 1, SHMEMI_STEP_SET};
    bool has_operations = record->streams.has_word_operations;
    record->streams.has_word_operations = has_operations && by_operations;
    check_steps(at(64), true);
    CHECK(word_at(64) == 12);
    check_steps(shmemi_place_host(locked), record->streams.has_host_atomics);
    CHECK(*(volatile uint64_t *)locked == (record->streams.has_host_atomics ? 12 : 5));
    CHECK(streams->commands->take_steps(&stream, &pageable, 1) == -ENOTSUP);
    record->streams.has_word_operations = has_operations;
}

/* The stream comes, waits, and goes on; turns are used again. */
static void check_turns(void)
{
    struct shmemi_word done = {at(128), 0, SHMEMI_STEP_SET};
    for (uint64_t i = 1; i <= 2000; i++) {
        void *turn = NULL;
        int rc;
        done.value = i;
        CHECK(!streams->turn_begin(&stream, &turn));
        CHECK(!streams->commands->take_steps(&stream, &done, 1));
        while ((rc = streams->turn_state(turn)) == -EAGAIN)
            sched_yield();
        CHECK(!rc);
        if (i % 100 == 1)
            CHECK(shmemi_cuda.cuStreamQuery(stream.handle) == CUDA_ERROR_NOT_READY);
        streams->turn_end(turn, 0);
        if (i % 3 == 0)
            finish();
    }
    streams->commands->drain();
    CHECK(word_at(128) == 2000);
}

int main(void)
{
    CUcontext primary;
    struct shmemi_allocation allocation;
    char reason[160];
    if (memory->open() || memory->device_count() == 0) {
        printf("# no CUDA device: skipped\n");
        return SKIP;
    }
    load_user_functions();
    USE(shmemi_cuda.cuDevicePrimaryCtxRetain(&primary, 0));
    USE(cuda.cuCtxSetCurrent(primary));
    CHECK(!open_object(user_alloc(BOX), BOX, &allocation, reason));
    box = allocation.place;
    USE(user.cuMemAllocHost((void **)&locked, BOX));
    if (!shmemi_gpu_has_kernels(box.object)) {
        printf("# no kernels for this CUDA device: skipped\n");
        return SKIP;
    }
    open_stream();
    check_copies();
    check_puts();
    check_priority();
    check_words(true);
    check_words(false);
    check_turns();
    memory->close();
    printf("# %d failures\n", n_failures);
    return n_failures ? 1 : 0;
}
