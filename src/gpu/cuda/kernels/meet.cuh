/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives that GPUs carry out among themselves (gpu/meeting.h): each member's stream runs one of these kernels.
 * Nothing depends on other blocks of the same kernel being on the GPU at the same time: a block waits only for the
 * blocks of the same number of other members, and blocks begin in the order of their numbers.
 */

static __device__ struct shmemi_meeting_area *area_of(const struct shmemi_meet_run &run, uint32_t member)
{
    return (struct shmemi_meeting_area *)run.area[member];
}

/* A meeting of the same team in another stream of this PE comes first. */
static __device__ void wait_for_earlier(const struct shmemi_meet_run &run)
{
    const volatile uint64_t *done = area_of(run, run.me)->done;
    if (!run.after)
        return;
    if (threadIdx.x < run.after_blocks)
        while (done[threadIdx.x] < run.after)
            PAUSE();
    __threadfence_system();
    __syncthreads();
}

static __device__ void tell_done(const struct shmemi_meet_run &run)
{
    if (run.number && threadIdx.x == 0)
        *(volatile uint64_t *)&area_of(run, run.me)->done[blockIdx.x] = run.number;
}

/* All of the block have come; what they did before is seen by the others who have come. */
static __device__ void meet_in(const struct shmemi_meet_run &run, uint32_t phase)
{
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x < run.n && threadIdx.x != run.me) {
        volatile uint32_t *theirs = &area_of(run, threadIdx.x)->come[phase][blockIdx.x][run.me];
        volatile uint32_t *mine = &area_of(run, run.me)->come[phase][blockIdx.x][threadIdx.x];
        *theirs = 1;
        while (!*mine)
            PAUSE();
        *mine = 0;
        __threadfence_system();
    }
    __syncthreads();
}

/* ---- Small contributions, by one block ---------------------------------------------------------------------------- */

struct __align__(16) small_data
{
    uint32_t word[SHMEMI_MEETING_MEMBERS][SHMEMI_MEETING_WORDS];
    uint32_t number; /* of the exchange */
};

/* Four bytes of the contribution for a member; the last ones may be fewer. */
static __device__ uint32_t load_word(const struct shmemi_meet_run &run, uint32_t member, uint32_t word)
{
    const volatile uint8_t *bytes = (const volatile uint8_t *)(run.source[0] + member * run.stride);
    uint32_t data = 0;
    for (uint32_t i = 4 * word; i < 4 * word + 4 && i < run.nbytes; i++)
        data |= (uint32_t)bytes[i] << 8 * (i - 4 * word);
    return data;
}

/* Each thread sends one word to one member, and receives that word from the same member. */
static __device__ void exchange(const struct shmemi_meet_run &run, struct small_data *data)
{
    const uint32_t member = threadIdx.x / SHMEMI_MEETING_WORDS, word = threadIdx.x % SHMEMI_MEETING_WORDS;
    const uint32_t words = run.nbytes ? ((uint32_t)run.nbytes + 3) / 4 : 1;
    volatile uint32_t *exchanges = &area_of(run, run.me)->exchanges;
    if (threadIdx.x == 0) /* one thread alone: each read goes to host memory */
        data->number = *exchanges + 1;
    __syncthreads();
    const uint32_t number = data->number;
    if (member < run.n && word < words) {
        const uint32_t mine = load_word(run, member, word);
        uint64_t found = mine;
        if (member != run.me) {
            volatile uint64_t *from = &area_of(run, run.me)->word[number % 2][member][word];
            *(volatile uint64_t *)&area_of(run, member)->word[number % 2][run.me][word] = (uint64_t)number << 32 | mine;
            while ((uint32_t)((found = *from) >> 32) != number)
                PAUSE();
        }
        data->word[member][word] = (uint32_t)found;
    }
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0)
        *exchanges = number;
}

static __device__ void store_small(const struct shmemi_meet_run &run, const struct small_data *data)
{
    for (uint32_t i = threadIdx.x; i < run.count * (uint32_t)run.nbytes; i += blockDim.x) {
        const uint32_t member = run.from + i / (uint32_t)run.nbytes, at = i % (uint32_t)run.nbytes;
        *(volatile uint8_t *)(run.dest[0] + i) = (uint8_t)(data->word[member][at / 4] >> 8 * (at % 4));
    }
}

/* The sum of numbers of 16 bits is kept in floats; others are combined as they are. */
template <typename Number> struct small_sum {
    static __device__ typename Number::T of(uint32_t op, const struct small_data *data, uint32_t n, uint32_t i)
    {
        typename Number::T sum = ((const typename Number::T *)data->word[0])[i];
        for (uint32_t member = 1; member < n; member++) {
            const typename Number::T next = ((const typename Number::T *)data->word[member])[i];
            Number::template combine<1>(op, &sum, &next);
        }
        return sum;
    }
};
template <typename Format> struct small_sum<half_number<Format>> {
    static __device__ uint16_t of(uint32_t op, const struct small_data *data, uint32_t n, uint32_t i)
    {
        uint16_t least = ((const uint16_t *)data->word[0])[i];
        float sum = Format::widen(least);
        for (uint32_t member = 1; member < n; member++) {
            const uint16_t next = ((const uint16_t *)data->word[member])[i];
            sum = __fadd_rn(sum, Format::widen(next));
            half_number<Format>::template combine<1>(op, &least, &next);
        }
        return op == SHMEMI_OP_sum ? Format::narrow(sum) : least;
    }
};

/* Prefixes: members before this one, and it itself unless it is excluded; without any the result is 0. */
template <typename Number> static __device__ void combine_small(const struct shmemi_meet_run &run, small_data *data)
{
    const uint32_t n = run.form == SHMEMI_COMBINE_ALL ? run.n : run.me + (run.form == SHMEMI_COMBINE_INCLUSIVE);
    for (uint32_t i = threadIdx.x; i < (uint32_t)run.nbytes / sizeof(typename Number::T); i += blockDim.x) {
        typename Number::T result = {};
        if (n)
            result = small_sum<Number>::of(run.op, data, n, i);
        ((typename Number::T *)run.dest[0])[i] = result;
    }
}

/* ---- Large ones --------------------------------------------------------------------------------------------------- */

/* The block's share of each copy. Blocks of all members take the same shares, though not in the same order. */
static __device__ void copy_shares(const struct shmemi_meet_run &run)
{
    const uint64_t unit = 16, units = (run.nbytes + unit - 1) / unit, each = (units + gridDim.x - 1) / gridDim.x;
    const uint64_t start = blockIdx.x * each * unit, end = start + each * unit;
    if (start >= run.nbytes)
        return;
    for (uint32_t i = 0; i < run.n_copies; i++)
        copy_bytes(run.dest[i] + start, run.source[i] + start, (end < run.nbytes ? end : run.nbytes) - start,
                   threadIdx.x, blockDim.x);
}

/* ---- The kernels -------------------------------------------------------------------------------------------------- */

extern "C" __global__ void __launch_bounds__(SHMEMI_MEET_THREADS) shmemi_kernel_meet(const struct shmemi_meet_run run)
{
    __shared__ struct small_data data;
    wait_for_earlier(run);
    if (run.what == SHMEMI_MEET_SMALL) {
        exchange(run, &data);
        store_small(run, &data);
    } else {
        meet_in(run, 0);
        copy_shares(run);
        meet_in(run, 1);
    }
    tell_done(run);
}

#define MEET_KERNEL(kind, ...)                                                                                         \
    extern "C" __global__ void __launch_bounds__(SHMEMI_MEET_THREADS)                                                  \
        shmemi_kernel_meet_##kind(const struct shmemi_meet_run run)                                                    \
    {                                                                                                                  \
        __shared__ struct small_data data;                                                                             \
        wait_for_earlier(run);                                                                                         \
        if (run.what == SHMEMI_MEET_SMALL) {                                                                           \
            exchange(run, &data);                                                                                      \
            combine_small<__VA_ARGS__>(run, &data);                                                                    \
        } else {                                                                                                       \
            meet_in(run, 0);                                                                                           \
            combine<__VA_ARGS__>(run.list);                                                                            \
            meet_in(run, 1);                                                                                           \
        }                                                                                                              \
        tell_done(run);                                                                                                \
    }

MEET_KERNEL(I8, integer<int8_t, uint8_t>)
MEET_KERNEL(I16, integer<int16_t, uint16_t>)
MEET_KERNEL(I32, integer<int32_t, uint32_t>)
MEET_KERNEL(I64, integer<int64_t, uint64_t>)
MEET_KERNEL(U8, integer<uint8_t, uint8_t>)
MEET_KERNEL(U16, integer<uint16_t, uint16_t>)
MEET_KERNEL(U32, integer<uint32_t, uint32_t>)
MEET_KERNEL(U64, integer<uint64_t, uint64_t>)
MEET_KERNEL(F32, real<float>)
MEET_KERNEL(F64, real<double>)
MEET_KERNEL(C32, complex_number<float>)
MEET_KERNEL(C64, complex_number<double>)
MEET_KERNEL(F16, half_number<half_format>)
MEET_KERNEL(BF16, half_number<bfloat16_format>)
