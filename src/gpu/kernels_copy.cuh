/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Many small copies by one kernel: a launch costs as much as one copy.
 */

/* A thread copies one word if the whole is one, else a warp shares the bytes. */
static __device__ void copy_bytes(uint64_t dest, uint64_t source, uint64_t nbytes, unsigned lane, unsigned lanes)
{
    if ((dest | source | nbytes) % 8 == 0) {
        for (uint64_t i = lane; i < nbytes / 8; i += lanes)
            ((volatile uint64_t *)dest)[i] = ((const volatile uint64_t *)source)[i];
        return;
    }
    for (uint64_t i = lane; i < nbytes; i += lanes)
        ((volatile uint8_t *)dest)[i] = ((const volatile uint8_t *)source)[i];
}

/* lanes threads for each copy: 1 for words, 32 for longer ones. */
extern "C" __global__ void shmemi_kernel_copy_list(const struct shmemi_list_copy *list, uint32_t n, uint32_t lanes)
{
    const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    for (uint32_t i = thread / lanes; i < n; i += threads / lanes)
        copy_bytes(list[i].dest, list[i].source, list[i].nbytes, thread % lanes, lanes);
    __threadfence_system();
}
