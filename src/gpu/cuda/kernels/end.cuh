/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The end of a kernel: how its blocks see that all of them are done, and how the CPU sees it (struct
 * shmemi_kernel_end).
 */

/* Make the earlier writes of all threads of the block visible everywhere before the later writes of this thread. */
static __device__ void order_after_block(void)
{
    __syncthreads();
    if (threadIdx.x == 0)
        __threadfence_system();
}

/* True in the block that gets here last: then everything that the blocks have done has taken effect. */
static __device__ bool is_last_block(uint64_t arrivals)
{
    __shared__ bool is_last;
    order_after_block();
    if (threadIdx.x == 0) {
        is_last = gridDim.x == 1 || atomicInc((unsigned *)arrivals, gridDim.x - 1) == gridDim.x - 1;
        __threadfence_system();
    }
    __syncthreads();
    return is_last;
}

/* Report the end to the CPU; called by one thread, after all others are done. */
static __device__ void tell_end(const struct shmemi_kernel_end &end)
{
    *(volatile uint32_t *)end.done = end.ticket;
}
