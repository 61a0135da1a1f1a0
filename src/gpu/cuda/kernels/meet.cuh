/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives that GPUs carry out among themselves (gpu/meeting.h): each member's stream runs one of these kernels.
 * Nothing depends on other blocks of the same kernel being on the GPU at the same time: a block waits only for what the
 * blocks of the same number of other members send, and blocks begin in the order of their numbers. Where members have
 * different numbers of blocks, since more PEs share the GPU of one, the blocks of all are on their GPUs at the same time.
 */

/* This kernel's exchange, as a thread sees it. */
struct exchange {
    uint64_t number, set; /* set: address of this member's set of units */
    uint32_t flag;
};

static __device__ struct shmemi_meeting_head *head_of(const struct shmemi_meet_run &run)
{
    return (struct shmemi_meeting_head *)run.area[run.me];
}

/* ---- Units that travel -------------------------------------------------------------------------------------------- */

static __device__ void store_pairs(uint64_t address, uint32_t first, uint32_t second, uint32_t flag)
{
    asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(first), "r"(flag), "r"(second),
                 "r"(flag)
                 : "memory");
}

static __device__ uint4 load_pairs(uint64_t address)
{
    uint4 pairs;
    asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(pairs.x), "=r"(pairs.y), "=r"(pairs.z), "=r"(pairs.w)
                 : "l"(address)
                 : "memory");
    return pairs;
}

static __device__ uint64_t set_of(const struct shmemi_meet_run &run, uint32_t member, uint64_t number)
{
    return run.area[member] + shmemi_set_offset(run.capacity, run.n, number);
}

/* Where a piece of one member lies in a set of another one. A thread handles a unit at a time, or half of one
 * (run.piece): the places are the same. */
static __device__ uint64_t place_in(const struct shmemi_meet_run &run, uint64_t set, uint32_t owner, uint32_t sender,
                                    uint64_t piece)
{
    return set + shmemi_unit_offset(run.capacity, owner, sender, 0) +
           piece * (run.piece * (SHMEMI_SENT_UNIT_BYTES / SHMEMI_UNIT_BYTES));
}

/* The second half is sent only if the piece has more than 8 bytes. */
static __device__ void send(const struct shmemi_meet_run &run, const struct exchange &exchange, uint32_t to,
                            uint64_t unit, const uint4 &data, bool is_long)
{
    const uint64_t place = place_in(run, set_of(run, to, exchange.number), to, run.me, unit);
    store_pairs(place, data.x, data.y, exchange.flag);
    if (is_long)
        store_pairs(place + SHMEMI_UNIT_BYTES, data.z, data.w, exchange.flag);
}

static __device__ bool has_come(const uint4 &pairs, uint32_t flag)
{
    return pairs.y == flag && pairs.w == flag;
}

/* ---- The units of arrays ------------------------------------------------------------------------------------------ */

static __device__ uint32_t load_some(uint64_t address, uint32_t nbytes)
{
    uint32_t word = 0;
    for (uint32_t i = 0; i < nbytes && i < 4; i++)
        word |= (uint32_t)((const volatile uint8_t *)address)[i] << 8 * i;
    return word;
}

static __device__ uint4 load_unit(uint64_t address, uint32_t nbytes)
{
    uint32_t word[4] = {};
    if (nbytes == SHMEMI_UNIT_BYTES && address % SHMEMI_UNIT_BYTES == 0)
        return __ldcv((const uint4 *)address);
    if (nbytes == SHMEMI_HALF_UNIT_BYTES && address % SHMEMI_HALF_UNIT_BYTES == 0) {
        const uint2 half = __ldcv((const uint2 *)address);
        return make_uint4(half.x, half.y, 0, 0);
    }
#pragma unroll
    for (uint32_t k = 0; k < 4; k++) {
        if (nbytes >= 4 * k + 4 && address % 4 == 0)
            word[k] = ((const volatile uint32_t *)address)[k];
        else if (nbytes > 4 * k)
            word[k] = load_some(address + 4 * k, nbytes - 4 * k);
    }
    return make_uint4(word[0], word[1], word[2], word[3]);
}

static __device__ void store_unit(uint64_t address, const uint4 &data, uint32_t nbytes)
{
    const uint32_t word[4] = {data.x, data.y, data.z, data.w};
    if (nbytes == SHMEMI_UNIT_BYTES && address % SHMEMI_UNIT_BYTES == 0) {
        *(uint4 *)address = data;
        return;
    }
    if (nbytes == SHMEMI_HALF_UNIT_BYTES && address % SHMEMI_HALF_UNIT_BYTES == 0) {
        *(uint2 *)address = make_uint2(data.x, data.y);
        return;
    }
#pragma unroll
    for (uint32_t k = 0; k < 4; k++) {
        if (nbytes >= 4 * k + 4 && address % 4 == 0)
            ((uint32_t *)address)[k] = word[k];
        else
            for (uint32_t i = 4 * k; i < 4 * k + 4 && i < nbytes; i++)
                ((uint8_t *)address)[i] = (uint8_t)(word[k] >> 8 * (i - 4 * k));
    }
}

/* ---- What is done with units that come ---------------------------------------------------------------------------- */

enum { AT_ONCE = 4 }; /* units of as many members are awaited together: a look at one takes as long as at all of them */

/* The units of up to AT_ONCE members from `first` on, below `end`; this member's own is at hand. */
static __device__ void await(const struct shmemi_meet_run &run, const struct exchange &exchange, uint32_t first,
                             uint32_t end, uint64_t unit, bool is_long, const uint4 &own, uint4 data[AT_ONCE])
{
    bool all = false;
    while (!all) {
        all = true;
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++) {
            const uint32_t member = first + k;
            if (member >= end)
                continue;
            if (member == run.me) {
                data[k] = own;
                continue;
            }
            const uint64_t place = place_in(run, exchange.set, run.me, member, unit);
            const uint4 low = load_pairs(place), high = is_long ? load_pairs(place + SHMEMI_UNIT_BYTES) : low;
            all = all && has_come(low, exchange.flag) && has_come(high, exchange.flag);
            data[k] = make_uint4(low.x, low.z, high.x, high.z);
        }
    }
}

/* Side by side, as they are. */
struct storing {
    static __device__ void receive(const struct shmemi_meet_run &run, const struct exchange &exchange, uint64_t unit,
                                   uint32_t nbytes, const uint4 &own)
    {
        const uint32_t end = run.from + run.count;
        uint4 data[AT_ONCE];
#pragma unroll 1
        for (uint32_t first = run.from; first < end; first += AT_ONCE) {
            await(run, exchange, first, end, unit, nbytes > SHMEMI_HALF_UNIT_BYTES, own, data);
#pragma unroll
            for (uint32_t k = 0; k < AT_ONCE; k++)
                if (first + k < end)
                    store_unit(run.dest + (first + k - run.from) * run.nbytes + unit * run.piece, data[k], nbytes);
        }
    }
};

/* The numbers of a unit while they are combined. Those of 16 bits are summed as floats. */
template <typename Number> struct total {
    pack<Number> sum;
    __device__ void begin(const uint4 &data)
    {
        sum.bits = data;
    }
    __device__ void combine(uint32_t op, const uint4 &data)
    {
        pack<Number> next;
        next.bits = data;
        sum.combine(op, next);
    }
    __device__ uint4 result(uint32_t)
    {
        return sum.bits;
    }
};
template <typename Format> struct total<half_number<Format>> {
    enum { COUNT = pack<half_number<Format>>::COUNT };
    pack<half_number<Format>> least;
    float sum[COUNT];
    __device__ void begin(const uint4 &data)
    {
        least.bits = data;
#pragma unroll
        for (unsigned k = 0; k < COUNT; k++)
            sum[k] = Format::widen(least.number[k]);
    }
    __device__ void combine(uint32_t op, const uint4 &data)
    {
        pack<half_number<Format>> next;
        next.bits = data;
        if (op != SHMEMI_OP_sum)
            least.combine(op, next);
#pragma unroll
        for (unsigned k = 0; k < COUNT; k++)
            sum[k] = __fadd_rn(sum[k], Format::widen(next.number[k]));
    }
    __device__ uint4 result(uint32_t op)
    {
        if (op == SHMEMI_OP_sum)
#pragma unroll
            for (unsigned k = 0; k < COUNT; k++)
                least.number[k] = Format::narrow(sum[k]);
        return least.bits;
    }
};

/* Combined from left to right. Prefixes: members before this one, and it itself unless it is excluded; without any the
 * result is 0. */
template <typename Number> struct combining {
    static __device__ void receive(const struct shmemi_meet_run &run, const struct exchange &exchange, uint64_t unit,
                                   uint32_t nbytes, const uint4 &own)
    {
        const uint32_t end = run.form == SHMEMI_COMBINE_ALL ? run.n : run.me + (run.form == SHMEMI_COMBINE_INCLUSIVE);
        total<Number> total;
        uint4 data[AT_ONCE];
#pragma unroll 1
        for (uint32_t first = 0; first < end; first += AT_ONCE) {
            await(run, exchange, first, end, unit, nbytes > SHMEMI_HALF_UNIT_BYTES, own, data);
#pragma unroll
            for (uint32_t k = 0; k < AT_ONCE; k++) {
                if (first + k == 0)
                    total.begin(data[k]);
                else if (first + k < end)
                    total.combine(run.op, data[k]);
            }
        }
        store_unit(run.dest + unit * run.piece, end ? total.result(run.op) : make_uint4(0, 0, 0, 0), nbytes);
    }
};

/* ---- An exchange -------------------------------------------------------------------------------------------------- */

/* A meeting of the same team in another stream of this PE comes first. */
static __device__ void wait_for_earlier(const struct shmemi_meet_run &run)
{
    const volatile uint64_t *done = &head_of(run)->done;
    if (!run.after)
        return;
    if (threadIdx.x == 0)
        while (*done < run.after)
            PAUSE();
    __syncthreads();
}

static __device__ struct exchange begin_exchange(const struct shmemi_meet_run &run)
{
    struct exchange exchange;
    exchange.number = shmemi_next_exchange(*(const volatile uint64_t *)&head_of(run)->exchanges, run.first_number);
    exchange.flag = (uint32_t)exchange.number;
    exchange.set = set_of(run, run.me, exchange.number);
    return exchange;
}

/* Members without data for each other still hear from each other. */
static __device__ void exchange_signs(const struct shmemi_meet_run &run, const struct exchange &exchange, bool sends)
{
    const uint32_t member = threadIdx.x;
    if (blockIdx.x || member >= run.n || member == run.me)
        return;
    if (run.releases)
        __threadfence_system();
    if (!sends)
        send(run, exchange, member, 0, make_uint4(0, 0, 0, 0), false);
    while (!has_come(load_pairs(place_in(run, exchange.set, run.me, member, 0)), exchange.flag))
        ;
}

static __device__ uint64_t first_unit(void)
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ uint64_t units_at_once(void)
{
    return gridDim.x * blockDim.x;
}

static __device__ uint32_t bytes_of_unit(const struct shmemi_meet_run &run, uint64_t unit)
{
    const uint64_t left = run.nbytes - unit * run.piece;
    return left < run.piece ? (uint32_t)left : run.piece;
}

static __device__ uint4 load_for(const struct shmemi_meet_run &run, uint32_t member, uint64_t unit)
{
    if (!run.source)
        return make_uint4((uint32_t)run.value, (uint32_t)(run.value >> 32), 0, 0);
    return load_unit(run.source + member * run.stride + unit * run.piece, bytes_of_unit(run, unit));
}

/* To the next member first. */
static __device__ void send_units(const struct shmemi_meet_run &run, const struct exchange &exchange)
{
#pragma unroll 1
    for (uint64_t unit = first_unit(); unit < run.units; unit += units_at_once()) {
        const uint4 own = load_for(run, run.me, unit);
        for (uint32_t i = 1; i < run.n; i++) {
            const uint32_t to = run.me + i < run.n ? run.me + i : run.me + i - run.n;
            send(run, exchange, to, unit, run.stride ? load_for(run, to, unit) : own,
                 bytes_of_unit(run, unit) > SHMEMI_HALF_UNIT_BYTES);
        }
    }
}

template <typename Receiver>
static __device__ void receive_units(const struct shmemi_meet_run &run, const struct exchange &exchange)
{
#pragma unroll 1
    for (uint64_t unit = first_unit(); unit < run.units; unit += units_at_once())
        Receiver::receive(run, exchange, unit, bytes_of_unit(run, unit), load_for(run, run.me, unit));
}

/* By one store: who sees `done` in another stream reads `exchanges` next. */
static __device__ void store_numbers(struct shmemi_meeting_head *head, uint64_t exchanges, uint64_t done)
{
    static_assert(offsetof(struct shmemi_meeting_head, done) == sizeof(uint64_t), "side by side, and first");
    asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(head), "l"(exchanges), "l"(done) : "memory");
}

/* The last block to get here has seen the others read the number. */
static __device__ void end_exchange(const struct shmemi_meet_run &run, const struct exchange &exchange)
{
    struct shmemi_meeting_head *head = head_of(run);
    __syncthreads(); /* nobody in this block waits any more */
    LET_NEXT_BEGIN();
    if (threadIdx.x || (gridDim.x > 1 && atomicInc(&head->arrivals, gridDim.x - 1) != gridDim.x - 1))
        return;
    if (run.number)
        store_numbers(head, exchange.number, run.number);
    else
        *(volatile uint64_t *)&head->exchanges = exchange.number;
}

template <typename Receiver> static __device__ void meet(const struct shmemi_meet_run &run)
{
    const bool sends = run.me - run.from < run.count;
    WAIT_FOR_STREAM();
    if (!run.holds_next)
        LET_NEXT_BEGIN();
    wait_for_earlier(run);
    const struct exchange exchange = begin_exchange(run);
    if (sends)
        send_units(run, exchange);
    receive_units<Receiver>(run, exchange);
    if (run.needs_signs)
        exchange_signs(run, exchange, sends);
    end_exchange(run, exchange);
}

/* ---- Copies between two meetings ---------------------------------------------------------------------------------- */

extern "C" __global__ void __launch_bounds__(SHMEMI_MEETING_THREADS)
    shmemi_kernel_copy_arrays(const struct shmemi_copy_arrays run)
{
    WAIT_FOR_STREAM();
    LET_NEXT_BEGIN();
    for (uint32_t i = 0; i < run.n; i++)
        copy_bytes(run.dest[i], run.source[i], run.nbytes, blockIdx.x * blockDim.x + threadIdx.x,
                   gridDim.x * blockDim.x);
}

/* The members have exchanged how many bytes they have. If these are too many, all members end their jobs. */
extern "C" __global__ void __launch_bounds__(SHMEMI_MEETING_THREADS)
    shmemi_kernel_collect(const struct shmemi_collect_run run)
{
    uint64_t before = 0, all = 0;
    WAIT_FOR_STREAM();
    LET_NEXT_BEGIN();
    for (uint32_t i = 0; i < run.n; i++) {
        const uint64_t nbytes = ((const volatile uint64_t *)run.all_nbytes)[i];
        before += i < run.me ? nbytes : 0;
        all += nbytes;
    }
    if (all > run.room) {
        struct shmemi_kernel_complaint *complaint = (struct shmemi_kernel_complaint *)run.complaint;
        if (complaint) {
            complaint->room = run.room;
            complaint->nbytes = all;
        }
        __threadfence_system();
        __trap();
    }
    for (uint32_t i = 0; i < run.n; i++) {
        const uint32_t to = run.me + i < run.n ? run.me + i : run.me + i - run.n;
        copy_bytes(run.dest[to] + before, run.source, run.nbytes, blockIdx.x * blockDim.x + threadIdx.x,
                   gridDim.x * blockDim.x);
    }
}

/* ---- The kernels -------------------------------------------------------------------------------------------------- */

extern "C" __global__ void __launch_bounds__(SHMEMI_MEETING_THREADS)
    shmemi_kernel_meet(const struct shmemi_meet_run run)
{
    meet<storing>(run);
}

#define MEET_KERNEL(kind, ...)                                                                                         \
    extern "C" __global__ void __launch_bounds__(SHMEMI_MEETING_THREADS)                                               \
        shmemi_kernel_meet_##kind(const struct shmemi_meet_run run)                                                    \
    {                                                                                                                  \
        meet<combining<__VA_ARGS__>>(run);                                                                             \
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
