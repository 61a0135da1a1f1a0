/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Many small transfers and atomic operations by one kernel, since a launch costs as much as one copy.
 *
 * Addresses are those of memory of this device, of another device, or of the host. Transfers bypass the caches that are
 * not coherent with other devices. Aligned words are read and written whole.
 */

/* ---- Transfers --------------------------------------------------------------------------------------------------- */

template <typename unit>
static __device__ void copy_units(uint64_t dest, uint64_t source, uint64_t nbytes, unsigned lane, unsigned lanes)
{
    for (uint64_t i = lane; i < nbytes / sizeof(unit); i += lanes)
        ((volatile unit *)dest)[i] = ((const volatile unit *)source)[i];
}

/* Copy in the largest units that both addresses and the length allow. */
static __device__ void copy_words(uint64_t dest, uint64_t source, uint64_t nbytes, unsigned lane, unsigned lanes)
{
    const uint64_t alignment = dest | source | nbytes;
    if (alignment % 8 == 0)
        copy_units<uint64_t>(dest, source, nbytes, lane, lanes);
    else if (alignment % 4 == 0)
        copy_units<uint32_t>(dest, source, nbytes, lane, lanes);
    else if (alignment % 2 == 0)
        copy_units<uint16_t>(dest, source, nbytes, lane, lanes);
    else
        copy_units<uint8_t>(dest, source, nbytes, lane, lanes);
}

enum { VECTOR_BYTES = 16, VECTOR_COPY_MIN = 64, VECTORS_AT_ONCE = 4 };

/* Several loads of a thread are under way at once: the next one does not wait for the store of the one before. */
static __device__ void copy_vectors(uint4 *dest, const uint4 *source, uint64_t n, unsigned lane, unsigned lanes)
{
    uint64_t i = lane;
    for (; i + (VECTORS_AT_ONCE - 1) * (uint64_t)lanes < n; i += VECTORS_AT_ONCE * (uint64_t)lanes) {
        uint4 vector[VECTORS_AT_ONCE];
#pragma unroll
        for (unsigned k = 0; k < VECTORS_AT_ONCE; k++)
            vector[k] = __ldcv(source + i + k * lanes);
#pragma unroll
        for (unsigned k = 0; k < VECTORS_AT_ONCE; k++)
            __stwt(dest + i + k * lanes, vector[k]);
    }
    for (; i < n; i += lanes)
        __stwt(dest + i, __ldcv(source + i));
}

static __device__ void copy_bytes(uint64_t dest, uint64_t source, uint64_t nbytes, unsigned lane, unsigned lanes)
{
    if (nbytes < VECTOR_COPY_MIN || (dest ^ source) % VECTOR_BYTES) {
        copy_words(dest, source, nbytes, lane, lanes);
        return;
    }
    const uint64_t head = (VECTOR_BYTES - dest % VECTOR_BYTES) % VECTOR_BYTES;
    const uint64_t body = (nbytes - head) / VECTOR_BYTES * VECTOR_BYTES, tail = nbytes - head - body;
    copy_words(dest, source, head, lane, lanes);
    copy_vectors((uint4 *)(dest + head), (const uint4 *)(source + head), body / VECTOR_BYTES, lane, lanes);
    copy_words(dest + head + body, source + head + body, tail, lane, lanes);
}

static __device__ void store_bytes(uint64_t dest, uint64_t value, unsigned nbytes)
{
    if (nbytes == 8 && dest % 8 == 0)
        *(volatile uint64_t *)dest = value;
    else if (nbytes == 4 && dest % 4 == 0)
        *(volatile uint32_t *)dest = (uint32_t)value;
    else if (nbytes == 2 && dest % 2 == 0)
        *(volatile uint16_t *)dest = (uint16_t)value;
    else
        for (unsigned i = 0; i < nbytes; i++)
            ((volatile uint8_t *)dest)[i] = (uint8_t)(value >> 8 * i);
}

/* ---- Atomic operations ------------------------------------------------------------------------------------------- */

template <typename word> static __device__ uint64_t update(const struct shmemi_list_entry &entry)
{
    word *const address = (word *)entry.dest;
    const word operand = (word)entry.source;
    switch (entry.op) {
    case SHMEMI_AMO_FETCH:
        return *(volatile word *)address;
    case SHMEMI_AMO_ADD:
        return atomicAdd_system(address, operand);
    case SHMEMI_AMO_AND:
        return atomicAnd_system(address, operand);
    case SHMEMI_AMO_OR:
        return atomicOr_system(address, operand);
    case SHMEMI_AMO_XOR:
        return atomicXor_system(address, operand);
    case SHMEMI_AMO_COMPARE_SWAP:
        return atomicCAS_system(address, (word)entry.compare, operand);
    default: /* SET, SWAP */
        return atomicExch_system(address, operand);
    }
}

static __device__ uint64_t update_word(const struct shmemi_list_entry &entry)
{
    return entry.nbytes == 4 ? update<unsigned>(entry) : update<unsigned long long>(entry);
}

static __device__ void update_and_keep(const struct shmemi_list_entry &entry, uint64_t bytes)
{
    uint64_t old = update_word(entry);
    if (entry.result != SHMEMI_ENTRY_NO_RESULT)
        *(volatile uint64_t *)(bytes + entry.result) = old;
}

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

static __device__ void carry_out(const struct shmemi_list_entry &entry, uint64_t bytes, unsigned lane, unsigned lanes)
{
    if (entry.op == SHMEMI_ENTRY_COPY)
        copy_bytes(entry.dest, entry.source, entry.nbytes, lane, lanes);
    else if (lane)
        return;
    else if (entry.op == SHMEMI_ENTRY_STORE)
        store_bytes(entry.dest, entry.source, entry.nbytes);
    else
        update_and_keep(entry, bytes);
}

extern "C" __global__ void shmemi_kernel_list(const struct shmemi_list_run run)
{
    const struct shmemi_list_entry *entries = (const struct shmemi_list_entry *)run.entries;
    const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    for (uint32_t i = thread / run.lanes; i < run.n; i += threads / run.lanes)
        carry_out(entries[i], run.bytes, thread % run.lanes, run.lanes);
    if (!is_last_block(run.end.arrivals))
        return;
    if (run.n_last) {
        for (uint32_t i = threadIdx.x; i < run.n_last; i += blockDim.x)
            carry_out(entries[run.capacity - 1 - i], run.bytes, 0, 1);
        order_after_block();
    }
    if (threadIdx.x == 0)
        tell_end(run.end);
}

/* Runs as one block: a transfer, if any, and after it an atomic operation. Both are arguments of the launch, so that
 * nothing has to be read from host memory first. The answer is the old value: once the CPU sees it, the operation has
 * taken effect. It needs no fence, since each of its halves is stored together with the ticket. */
extern "C" __global__ void shmemi_kernel_update(const struct shmemi_list_run run, const struct shmemi_list_entry first,
                                                const struct shmemi_list_entry update)
{
    if (run.n) {
        carry_out(first, run.bytes, threadIdx.x, blockDim.x);
        order_after_block();
    }
    if (threadIdx.x)
        return;
    const uint64_t old = update_word(update);
    volatile uint64_t *const answer = (volatile uint64_t *)run.answer;
    answer[0] = (uint64_t)run.end.ticket << 32 | (uint32_t)old;
    answer[1] = (uint64_t)run.end.ticket << 32 | old >> 32;
}
