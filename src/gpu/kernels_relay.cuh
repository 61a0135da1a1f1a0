/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies between two GPUs that do not reach each other's memory: the kernel on the one writes to page-locked host
 * memory, the kernel on the other waits for each piece there and takes it.
 */

/* After what this thread has written, and all threads of its block before the last barrier. */
static __device__ void relay_mark(uint32_t *word, uint32_t ticket)
{
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(word), "r"(ticket) : "memory");
}

static __device__ void relay_await(const uint32_t *word, uint32_t ticket)
{
    uint32_t value;
    do
        asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    while (value != ticket);
}

/* By the whole block. Several loads are under way per thread, since each goes to the host and back. */
static __device__ void relay_vectors(uint4 *dest, const uint4 *source, uint64_t n)
{
    enum { AT_ONCE = 8 };
    uint4 value[AT_ONCE];
    uint64_t i = threadIdx.x;
    for (; i + (AT_ONCE - 1) * blockDim.x < n; i += AT_ONCE * blockDim.x) {
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            value[k] = __ldcv(source + i + k * blockDim.x);
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            dest[i + k * blockDim.x] = value[k];
    }
    for (; i < n; i += blockDim.x)
        dest[i] = __ldcv(source + i);
}

static __device__ void relay_bytes(uint64_t dest, uint64_t source, uint64_t nbytes)
{
    if ((dest | source) % 16) {
        for (uint64_t i = threadIdx.x; i < nbytes; i += blockDim.x)
            ((uint8_t *)dest)[i] = __ldcv((const uint8_t *)source + i);
        return;
    }
    relay_vectors((uint4 *)dest, (const uint4 *)source, nbytes / 16);
    for (uint64_t i = nbytes / 16 * 16 + threadIdx.x; i < nbytes; i += blockDim.x)
        ((uint8_t *)dest)[i] = __ldcv((const uint8_t *)source + i);
}

static __device__ uint64_t relay_size(const struct shmemi_relay_copy *copy, uint64_t offset)
{
    uint64_t left = copy->nbytes - offset;
    return left < copy->piece ? left : copy->piece;
}

extern "C" __global__ void shmemi_kernel_relay_out(const struct shmemi_relay_copy copy)
{
    for (uint64_t i = blockIdx.x; i * copy.piece < copy.nbytes; i += gridDim.x) {
        uint64_t offset = i * copy.piece;
        relay_bytes(copy.host + offset, copy.device + offset, relay_size(&copy, offset));
        __syncthreads();
        if (threadIdx.x == 0)
            relay_mark((uint32_t *)copy.marks + i, copy.ticket);
    }
}

extern "C" __global__ void shmemi_kernel_relay_in(const struct shmemi_relay_copy copy)
{
    for (uint64_t i = blockIdx.x; i * copy.piece < copy.nbytes; i += gridDim.x) {
        uint64_t offset = i * copy.piece;
        if (threadIdx.x == 0)
            relay_await((const uint32_t *)copy.marks + i, copy.ticket);
        __syncthreads();
        relay_bytes(copy.device + offset, copy.host + offset, relay_size(&copy, offset));
    }
    __syncthreads();
    if (threadIdx.x == 0)
        relay_mark((uint32_t *)copy.ends + blockIdx.x, copy.ticket);
}

/* One thread. Words of 8 and 4 bytes are never seen half written. */
extern "C" __global__ void shmemi_kernel_relay_word_out(uint64_t source, uint32_t nbytes, uint64_t host,
                                                        uint32_t ticket)
{
    uint64_t bytes = 0;
    if (nbytes == 8 && source % 8 == 0)
        bytes = *(const volatile uint64_t *)source;
    else if (nbytes == 4 && source % 4 == 0)
        bytes = *(const volatile uint32_t *)source;
    else
        for (uint32_t i = 0; i < nbytes; i++)
            bytes |= (uint64_t)((const volatile uint8_t *)source)[i] << 8 * i;
    asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(host), "r"((uint32_t)bytes),
                 "r"(ticket), "r"((uint32_t)(bytes >> 32)), "r"(ticket)
                 : "memory");
}

extern "C" __global__ void shmemi_kernel_relay_word_in(uint64_t dest, uint32_t nbytes, uint64_t host, uint32_t ticket,
                                                       uint64_t end)
{
    uint32_t low, high, low_ticket, high_ticket;
    do
        asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(low), "=r"(low_ticket), "=r"(high), "=r"(high_ticket)
                     : "l"(host)
                     : "memory");
    while (low_ticket != ticket || high_ticket != ticket);
    uint64_t bytes = (uint64_t)high << 32 | low;
    if (nbytes == 8 && dest % 8 == 0)
        *(volatile uint64_t *)dest = bytes;
    else if (nbytes == 4 && dest % 4 == 0)
        *(volatile uint32_t *)dest = low;
    else
        for (uint32_t i = 0; i < nbytes; i++)
            ((volatile uint8_t *)dest)[i] = (uint8_t)(bytes >> 8 * i);
    relay_mark((uint32_t *)end, ticket);
}
