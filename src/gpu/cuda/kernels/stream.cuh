/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Words that a stream updates or waits for, where the driver's own operations on streams cannot do it; small puts
 * together with the signal that announces them.
 */

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
#define PAUSE() __nanosleep(100)
#else
#define PAUSE() (void)0
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 600
#define ADD_SYSTEM_WIDE atomicAdd
#else
#define ADD_SYSTEM_WIDE atomicAdd_system
#endif

static __device__ void take_step(uint64_t address, uint64_t value, uint32_t step)
{
    volatile uint64_t *word = (volatile uint64_t *)address;
    __threadfence_system();
    if (step == SHMEMI_STEP_SET)
        *word = value;
    else if (step == SHMEMI_STEP_ADD)
        ADD_SYSTEM_WIDE((unsigned long long *)address, (unsigned long long)value);
    else
        while (!shmemi_step_is_met(step, *word, value))
            PAUSE();
    __threadfence_system();
}

/* Runs as one thread. */
extern "C" __global__ void shmemi_kernel_word_steps(const struct shmemi_word_steps steps)
{
    for (uint32_t i = 0; i < steps.n; i++)
        take_step(steps.word[i].address, steps.word[i].value, steps.word[i].step);
}

extern "C" __global__ void shmemi_kernel_put_step(const struct shmemi_put_step put)
{
    copy_bytes(put.dest, put.source, put.nbytes, threadIdx.x, blockDim.x);
    order_after_block();
    if (threadIdx.x == 0)
        take_step(put.address, put.value, put.step);
}
