/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Words that a stream updates or waits for, where the driver's own operations on streams do not serve; small puts
 * together with the update that tells of them.
 */

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
#define REST() __nanosleep(100)
#else
#define REST() (void)0
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 600
#define ADD_FOR_ALL atomicAdd
#else
#define ADD_FOR_ALL atomicAdd_system
#endif

static __device__ void take_step(uint64_t address, uint64_t value, uint32_t step)
{
    volatile uint64_t *word = (volatile uint64_t *)address;
    __threadfence_system();
    if (step == SHMEMI_STEP_SET)
        *word = value;
    else if (step == SHMEMI_STEP_ADD)
        ADD_FOR_ALL((unsigned long long *)address, (unsigned long long)value);
    else
        while (!shmemi_step_is_met(step, *word, value))
            REST();
    __threadfence_system();
}

/* One thread. */
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
