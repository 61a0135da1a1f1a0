/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Words that a stream updates or waits for, where the driver's own operations on streams cannot do it; small puts
 * together with the signal that announces them; values, atomic operations, and waits for many words.
 */

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
#define PAUSE() __nanosleep(20)
#else
#define PAUSE() (void)0
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 600
#define ADD_SYSTEM_WIDE atomicAdd
#else
#define ADD_SYSTEM_WIDE atomicAdd_system
#endif

/* A kernel whose launch overlaps with the end of the one before (shmemi_gpu_launch_early) begins with WAIT_FOR_STREAM.
 * From LET_NEXT_BEGIN in all of its blocks on, the kernel behind it takes its room on the GPU, where it waits until this
 * one has ended. So a kernel that waits for other PEs, or for other streams, lets it begin only when it waits no more:
 * the kernels behind those of two PEs could fill the GPU, and what a third PE has to launch for them found no room. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define WAIT_FOR_STREAM() asm volatile("griddepcontrol.wait;" ::: "memory")
#define LET_NEXT_BEGIN() asm volatile("griddepcontrol.launch_dependents;" ::: "memory")
#else
#define WAIT_FOR_STREAM() (void)0
#define LET_NEXT_BEGIN() (void)0
#endif

/* An update, after everything that this thread knows to be done. */
static __device__ void update_by_step(uint64_t address, uint64_t value, uint32_t step)
{
    __threadfence_system();
    if (step == SHMEMI_STEP_SET)
        *(volatile uint64_t *)address = value;
    else
        ADD_SYSTEM_WIDE((unsigned long long *)address, (unsigned long long)value);
}

static __device__ bool is_update(uint32_t step)
{
    return step == SHMEMI_STEP_SET || step == SHMEMI_STEP_ADD;
}

/* The number of the step behind the last wait. */
static __device__ uint32_t end_of_waits(const struct shmemi_word_steps &steps)
{
    uint32_t end = steps.n;
    while (end && is_update(steps.word[end - 1].step))
        end--;
    return end;
}

/* Runs as one thread. What comes behind it in the stream sees what was there before the waits ended. */
extern "C" __global__ void shmemi_kernel_word_steps(const struct shmemi_word_steps steps)
{
    const uint32_t end = end_of_waits(steps);
    WAIT_FOR_STREAM();
    for (uint32_t i = 0; i < steps.n; i++) {
        if (i == end)
            LET_NEXT_BEGIN();
        const volatile uint64_t *word = (const volatile uint64_t *)steps.word[i].address;
        if (is_update(steps.word[i].step))
            update_by_step(steps.word[i].address, steps.word[i].value, steps.word[i].step);
        else
            while (!shmemi_step_is_met(steps.word[i].step, *word, steps.word[i].value))
                PAUSE();
    }
}

extern "C" __global__ void shmemi_kernel_put_step(const struct shmemi_put_step put)
{
    WAIT_FOR_STREAM();
    LET_NEXT_BEGIN();
    copy_bytes(put.dest, put.source, put.nbytes, threadIdx.x, blockDim.x);
    __syncthreads();
    if (threadIdx.x == 0)
        update_by_step(put.address, put.value, put.step);
}

extern "C" __global__ void shmemi_kernel_store(const struct shmemi_store store)
{
    __threadfence_system();
    for (uint32_t i = 0; i < store.nbytes; i += 8)
        store_bytes(store.dest + i, store.value[i / 8], store.nbytes - i < 8 ? store.nbytes - i : 8);
    __threadfence_system();
}

extern "C" __global__ void shmemi_kernel_update_word(const struct shmemi_word_update_run run)
{
    __threadfence_system();
    const uint64_t old = update_word(run.entry);
    __threadfence_system();
    if (run.old)
        store_bytes(run.old, old, run.entry.nbytes);
}

static __device__ bool is_met(const struct shmemi_words_wait &wait, uint32_t i)
{
    if (wait.size == 8)
        return shmemi_step_is_met(wait.step, ((const volatile uint64_t *)wait.words)[i], wait.value);
    return shmemi_half_step_is_met(wait.step, ((const volatile uint32_t *)wait.words)[i], (uint32_t)wait.value);
}

static __device__ bool is_left_out(const struct shmemi_words_wait &wait, uint32_t i)
{
    return wait.left_out[i / 32] >> i % 32 & 1;
}

/* The search begins anywhere, so that no word is overlooked for ever. All threads return the same number. */
static __device__ uint32_t find_any(const struct shmemi_words_wait &wait)
{
    __shared__ uint32_t start, nearest;
    if (threadIdx.x == 0) {
        start = (uint32_t)clock64() % wait.n;
        nearest = UINT32_MAX;
    }
    __syncthreads();
    for (;;) {
        uint32_t distance = threadIdx.x;
        while (distance < wait.n &&
               (is_left_out(wait, (start + distance) % wait.n) || !is_met(wait, (start + distance) % wait.n)))
            distance += blockDim.x;
        if (distance < wait.n)
            atomicMin(&nearest, distance);
        if (__syncthreads_or(distance < wait.n))
            return (start + nearest) % wait.n;
        PAUSE();
    }
}

extern "C" __global__ void shmemi_kernel_wait_words(const struct shmemi_words_wait wait)
{
    uint64_t found = UINT64_MAX;
    if (wait.index && wait.n)
        found = find_any(wait);
    else
        for (uint32_t i = threadIdx.x; i < wait.n; i += blockDim.x)
            while (!is_left_out(wait, i) && !is_met(wait, i))
                PAUSE();
    __threadfence_system();
    __syncthreads();
    if (wait.index && threadIdx.x == 0)
        *(volatile uint64_t *)wait.index = found;
}
