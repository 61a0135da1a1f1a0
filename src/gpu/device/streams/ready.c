/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes in advance what copies of the library need, for the time when a kernel waits for them: what the driver makes at
 * first use (streams, channels to the copy engines, memory through which pageable memory is copied) it may make only once
 * all kernels have ended, and no thread waits in it for one.
 */
#include "gpu/device/streams/program_streams.h"

#include <stdlib.h>

enum { TRIAL_BYTES = 64 << 10, SMALL_BYTES = 8 };

/* What the driver frees it frees once all kernels have ended: this stays as long as the context. */
static int open_trial(struct shmemi_gpu_trial *trial)
{
    int rc = trial->locked ? 0 : GPU_CALL(host_allocate, &trial->locked, TRIAL_BYTES, SHMEMI_GPU_HOST_PORTABLE);
    return rc || trial->device ? rc : GPU_CALL(allocate, &trial->device, TRIAL_BYTES);
}

void shmemi_gpu_trial_close(struct shmemi_gpu_trial *trial)
{
    if (trial->device)
        shmemi_gpu.free(trial->device);
    if (trial->locked)
        shmemi_gpu.host_free(trial->locked);
}

static int copy_both_ways(uintptr_t device, void *host, size_t nbytes, void *stream)
{
    int rc = GPU_CALL(copy_in, device, host, nbytes, stream);
    return rc ? rc : GPU_CALL(copy_out, host, device, nbytes, stream);
}

static int set_words(const struct shmemi_gpu_context *context, void *stream)
{
    const struct shmemi_gpu_trial *trial = &context->trial;
    struct shmemi_gpu_abilities abilities;
    const struct shmemi_gpu_word words[] = {
        {trial->device, 0, sizeof(uint64_t), SHMEMI_STEP_SET},
        {(uintptr_t)trial->locked, 0, sizeof(uint32_t), SHMEMI_STEP_SET},
    };
    shmemi_gpu.device_abilities(context->handle, &abilities);
    return abilities.has_word_operations ? GPU_CALL(stream_words, stream, words, 2) : 0;
}

static int try_stream(struct shmemi_gpu_context *context, void *pageable, void *stream)
{
    const struct shmemi_gpu_trial *trial = &context->trial;
    const size_t sizes[] = {SMALL_BYTES, 4 << 10, TRIAL_BYTES};
    void *event;
    int rc = set_words(context, stream);
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0] && !rc; i++) {
        rc = copy_both_ways(trial->device, trial->locked, sizes[i], stream);
        if (!rc)
            rc = copy_both_ways(trial->device, pageable, sizes[i], stream);
    }
    if (!rc)
        rc = GPU_CALL(copy_within, trial->device, trial->device + TRIAL_BYTES / 2, SMALL_BYTES, stream);
    if (!rc)
        rc = shmemi_gpu_record(context, stream, &event);
    if (rc)
        return rc;
    rc = GPU_CALL(event_synchronize, event);
    shmemi_gpu_event_give(context, event);
    return rc;
}

static int try_streams(struct shmemi_gpu_context *context, void *pageable)
{
    const unsigned n = shmemi_gpu_settle_streams();
    int rc = 0;
    for (unsigned i = 0; i < n && !rc; i++) {
        void *stream;
        rc = shmemi_gpu_stream_number(context, i, &stream);
        if (!rc)
            rc = try_stream(context, pageable, stream);
    }
    return rc;
}

/* No more streams than threads will use: streams of which there are more than the GPU has queues share these, also with the
 * program's, and what is in a queue behind work that waits, waits too. */
static int make_ready(struct shmemi_gpu_context *context)
{
    bool pushed;
    if (atomic_load(&context->is_ready))
        return 0;
    void *pageable = calloc(1, TRIAL_BYTES);
    int rc = pageable ? shmemi_gpu_enter(context, &pushed) : -ENOMEM;
    if (rc)
        goto out;
    rc = open_trial(&context->trial);
    if (!rc)
        rc = try_streams(context, pageable);
    shmemi_gpu_leave(pushed);
    atomic_store(&context->is_ready, !rc);
out:
    free(pageable);
    return rc;
}

int shmemi_gpu_make_ready(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const int mode = shmemi_gpu_relax();
    pthread_mutex_lock(&lock);
    shmemi_gpu_contexts_check();
    const int rc = shmemi_gpu_contexts_visit(make_ready);
    pthread_mutex_unlock(&lock);
    shmemi_gpu_restore(mode);
    return rc;
}
