/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Arrays of several PEs combined element by element: reductions and scans of mapped memory. There is a kernel for each
 * kind of number, which chooses the operation when it runs. Results are those of the CPU, also for real numbers: no
 * multiplication is fused with an addition. Products of infinite complex numbers may be NaN where C gives an infinity.
 */

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

/* a = a op b for N numbers; the operation is selected only once. */
#define EACH(expression)                                                                                               \
    do {                                                                                                               \
        _Pragma("unroll") for (unsigned i = 0; i < N; i++)                                                             \
        {                                                                                                              \
            const T x = a[i], y = b[i];                                                                                \
            a[i] = (expression);                                                                                       \
        }                                                                                                              \
        return;                                                                                                        \
    } while (0)

/* As in shmem/coll/op.c, sums and products of signed integers are those of the unsigned type of the same size. */
template <typename Signed, typename Unsigned> struct integer {
    typedef Signed T;
    template <unsigned N> static __device__ void combine(uint32_t op, T *a, const T *b)
    {
        switch (op) {
        case SHMEMI_OP_and:
            EACH(x & y);
        case SHMEMI_OP_or:
            EACH(x | y);
        case SHMEMI_OP_xor:
            EACH(x ^ y);
        case SHMEMI_OP_max:
            EACH(x > y ? x : y);
        case SHMEMI_OP_min:
            EACH(x < y ? x : y);
        case SHMEMI_OP_sum:
            EACH((T)((Unsigned)x + (Unsigned)y));
        default:
            EACH((T)(1u * (Unsigned)x * (Unsigned)y));
        }
    }
};

static __device__ float add(float x, float y)
{
    return __fadd_rn(x, y);
}
static __device__ float multiply(float x, float y)
{
    return __fmul_rn(x, y);
}
static __device__ double add(double x, double y)
{
    return __dadd_rn(x, y);
}
static __device__ double multiply(double x, double y)
{
    return __dmul_rn(x, y);
}

template <typename Real> struct real {
    typedef Real T;
    template <unsigned N> static __device__ void combine(uint32_t op, T *a, const T *b)
    {
        switch (op) {
        case SHMEMI_OP_max:
            EACH(x > y ? x : y);
        case SHMEMI_OP_min:
            EACH(x < y ? x : y);
        case SHMEMI_OP_sum:
            EACH(add(x, y));
        default:
            EACH(multiply(x, y));
        }
    }
};

template <typename Real> struct parts {
    Real re, im;
};

template <typename Real> static __device__ parts<Real> add(parts<Real> x, parts<Real> y)
{
    parts<Real> sum = {add(x.re, y.re), add(x.im, y.im)};
    return sum;
}

template <typename Real> static __device__ parts<Real> multiply(parts<Real> x, parts<Real> y)
{
    parts<Real> product = {add(multiply(x.re, y.re), -multiply(x.im, y.im)),
                           add(multiply(x.re, y.im), multiply(x.im, y.re))};
    return product;
}

template <typename Real> struct complex_number {
    typedef parts<Real> T;
    template <unsigned N> static __device__ void combine(uint32_t op, T *a, const T *b)
    {
        if (op == SHMEMI_OP_sum)
            EACH(add(x, y));
        else
            EACH(multiply(x, y));
    }
};

struct half_format {
    static __device__ float widen(uint16_t x)
    {
        return shmemi_float_of_half(x);
    }
    static __device__ uint16_t narrow(float x)
    {
        return shmemi_half_of_float(x);
    }
};

struct bfloat16_format {
    static __device__ float widen(uint16_t x)
    {
        return shmemi_float_of_bfloat16(x);
    }
    static __device__ uint16_t narrow(float x)
    {
        return shmemi_bfloat16_of_float(x);
    }
};

template <typename Format> struct half_number {
    typedef uint16_t T;
    template <unsigned N> static __device__ void combine(uint32_t op, T *a, const T *b)
    {
        switch (op) {
        case SHMEMI_OP_max:
            EACH(Format::widen(x) > Format::widen(y) ? x : y);
        case SHMEMI_OP_min:
            EACH(Format::widen(x) < Format::widen(y) ? x : y);
        default:
            EACH(Format::narrow(__fadd_rn(Format::widen(x), Format::widen(y))));
        }
    }
};

/* ---- Elements one by one, or 16 bytes of them at a time ---------------------------------------------------------- */

template <typename Number> struct single {
    enum { COUNT = 1 };
    typename Number::T number;
    __device__ void load(uint64_t address)
    {
        number = *(const typename Number::T *)address;
    }
    __device__ void store(uint64_t address) const
    {
        *(typename Number::T *)address = number;
    }
    __device__ typename Number::T *numbers()
    {
        return &number;
    }
    __device__ void combine(uint32_t op, const single &other)
    {
        Number::template combine<1>(op, &number, &other.number);
    }
};

template <typename Number> struct pack {
    enum { COUNT = SHMEMI_PACK_BYTES / sizeof(typename Number::T) };
    union {
        uint4 bits;
        typename Number::T number[COUNT];
    };
    __device__ void load(uint64_t address)
    {
        bits = *(const uint4 *)address;
    }
    __device__ void store(uint64_t address) const
    {
        *(uint4 *)address = bits;
    }
    __device__ typename Number::T *numbers()
    {
        return number;
    }
    __device__ void combine(uint32_t op, const pack &other)
    {
        Number::template combine<COUNT>(op, number, other.number);
    }
};

/* ---- All arrays at one index ------------------------------------------------------------------------------------- */

template <typename Item> static __device__ void combine_all(const struct shmemi_combine_list &list, uint64_t at)
{
    Item sum, next;
    sum.load(list.source[0] + at);
#pragma unroll 1
    for (uint32_t i = 1; i < list.n_sources; i++) {
        next.load(list.source[i] + at);
        sum.combine(list.op, next);
    }
#pragma unroll 1
    for (uint32_t i = 0; i < list.n_dests; i++)
        sum.store(list.dest[i] + at);
}

/* The sum of numbers of 16 bits, of which there are Item::COUNT at the index: in floats until it is complete. */
template <typename Format, typename Item>
static __device__ void sum_wide(const struct shmemi_combine_list &list, uint64_t at)
{
    Item item;
    float sum[Item::COUNT];
    item.load(list.source[0] + at);
#pragma unroll
    for (unsigned k = 0; k < Item::COUNT; k++)
        sum[k] = Format::widen(item.numbers()[k]);
#pragma unroll 1
    for (uint32_t i = 1; i < list.n_sources; i++) {
        item.load(list.source[i] + at);
#pragma unroll
        for (unsigned k = 0; k < Item::COUNT; k++)
            sum[k] = __fadd_rn(sum[k], Format::widen(item.numbers()[k]));
    }
#pragma unroll
    for (unsigned k = 0; k < Item::COUNT; k++)
        item.numbers()[k] = Format::narrow(sum[k]);
#pragma unroll 1
    for (uint32_t i = 0; i < list.n_dests; i++)
        item.store(list.dest[i] + at);
}

/* Each source is read before the dest that may be the same memory is written. */
template <typename Item> static __device__ void scan(const struct shmemi_combine_list &list, uint64_t at)
{
    Item before = {}, sum, next;
#pragma unroll 1
    for (uint32_t i = 0; i < list.n_sources; i++) {
        next.load(list.source[i] + at);
        if (i) {
            sum = before;
            sum.combine(list.op, next);
        } else {
            sum = next;
        }
        if (list.form == SHMEMI_COMBINE_EXCLUSIVE)
            before.store(list.dest[i] + at);
        else
            sum.store(list.dest[i] + at);
        before = sum;
    }
}

template <typename Item> static __device__ void combine_at(const struct shmemi_combine_list &list, uint64_t at)
{
    if (list.form == SHMEMI_COMBINE_ALL)
        combine_all<Item>(list, at);
    else
        scan<Item>(list, at);
}

/* What is done at an index, for numbers that are combined as they are, and for those of 16 bits. */
template <typename Number> struct step_of {
    template <typename Item> static __device__ void at(const struct shmemi_combine_list &list, uint64_t at)
    {
        combine_at<Item>(list, at);
    }
};
template <typename Format> struct step_of<half_number<Format>> {
    template <typename Item> static __device__ void at(const struct shmemi_combine_list &list, uint64_t at)
    {
        if (list.op == SHMEMI_OP_sum && list.form == SHMEMI_COMBINE_ALL)
            sum_wide<Format, Item>(list, at);
        else
            combine_at<Item>(list, at);
    }
};

template <typename Number> static __device__ void combine(const struct shmemi_combine_list &list)
{
    const uint64_t thread = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, threads = (uint64_t)gridDim.x * blockDim.x;
    const uint64_t in_pack = SHMEMI_PACK_BYTES / sizeof(typename Number::T), packed = list.packs * in_pack;
#pragma unroll 1
    for (uint64_t i = thread; i < list.packs; i += threads)
        step_of<Number>::template at<pack<Number>>(list,
                                                   list.head * sizeof(typename Number::T) + i * SHMEMI_PACK_BYTES);
#pragma unroll 1
    for (uint64_t i = thread; i < list.nelems - packed; i += threads)
        step_of<Number>::template at<single<Number>>(list,
                                                     (i < list.head ? i : i + packed) * sizeof(typename Number::T));
    __threadfence_system();
}

#define COMBINE_KERNEL(kind, ...)                                                                                      \
    extern "C" __global__ void shmemi_kernel_combine_##kind(const struct shmemi_combine_list list)                     \
    {                                                                                                                  \
        WAIT_FOR_STREAM();                                                                                             \
        LET_NEXT_BEGIN();                                                                                              \
        combine<__VA_ARGS__>(list);                                                                                    \
    }

COMBINE_KERNEL(I8, integer<int8_t, uint8_t>)
COMBINE_KERNEL(I16, integer<int16_t, uint16_t>)
COMBINE_KERNEL(I32, integer<int32_t, uint32_t>)
COMBINE_KERNEL(I64, integer<int64_t, uint64_t>)
COMBINE_KERNEL(U8, integer<uint8_t, uint8_t>)
COMBINE_KERNEL(U16, integer<uint16_t, uint16_t>)
COMBINE_KERNEL(U32, integer<uint32_t, uint32_t>)
COMBINE_KERNEL(U64, integer<uint64_t, uint64_t>)
COMBINE_KERNEL(F32, real<float>)
COMBINE_KERNEL(F64, real<double>)
COMBINE_KERNEL(C32, complex_number<float>)
COMBINE_KERNEL(C64, complex_number<double>)
COMBINE_KERNEL(F16, half_number<half_format>)
COMBINE_KERNEL(BF16, half_number<bfloat16_format>)
