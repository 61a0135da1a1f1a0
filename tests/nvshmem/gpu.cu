// SPDX-License-Identifier: BSD-3-Clause
//
// The NVSHMEM interface on GPUs: the slab and registered buffers by the host, by streams and by kernels, teams, launches. For
// others.sh; each PE exits with 1 if anything is wrong.

#include "expect.h"

#include <vector>

enum { N = 5000 };

static int me, n, next_pe, previous;

#define CUDA(call) EXPECT((call) == cudaSuccess)

static std::vector<int> fetched(const int *own, size_t count)
{
    std::vector<int> copy(count);
    CUDA(cudaMemcpy(copy.data(), own, count * sizeof(int), cudaMemcpyDeviceToHost));
    return copy;
}

static std::vector<int> numbers(int first, size_t count)
{
    std::vector<int> all(count);
    for (size_t i = 0; i < count; i++)
        all[i] = first + static_cast<int>(i);
    return all;
}

static void store(int *own, const std::vector<int> &values)
{
    CUDA(cudaMemcpy(own, values.data(), values.size() * sizeof(int), cudaMemcpyHostToDevice));
    CUDA(cudaDeviceSynchronize());
}

// ---- kernels -------------------------------------------------------------------------------------------------------

__global__ void tell(int *own, nvshmem_team_t team)
{
    own[0] = nvshmem_my_pe();
    own[1] = nvshmem_n_pes();
    own[2] = nvshmem_team_my_pe(team);
    own[3] = nvshmem_team_n_pes(team);
}

__global__ void send(int *dest, const int *source, uint64_t *signal, int count, int pe)
{
    nvshmemx_int_put_signal_block(dest, source, static_cast<size_t>(count), signal, 1, NVSHMEM_SIGNAL_ADD, pe);
    if (threadIdx.x == 0)
        nvshmem_signal_wait_until(signal, NVSHMEM_CMP_GE, 1);
    __syncthreads();
    if (threadIdx.x == 0)
        nvshmem_barrier_all();
}

__global__ void add_up(int *dest, const int *source, nvshmem_team_t team)
{
    nvshmemx_int_sum_reduce_block(team, dest, source, 100);
}

static void launch(const void *kernel, void **arguments)
{
    EXPECT(nvshmemx_collective_launch(kernel, dim3(1), dim3(128), arguments, 0, 0) == NVSHMEMX_SUCCESS);
    CUDA(cudaDeviceSynchronize());
    nvshmem_barrier_all();
}

static void check_kernels(int *dest, int *source)
{
    uint64_t *signal = static_cast<uint64_t *>(nvshmem_calloc(1, sizeof(uint64_t)));
    nvshmem_team_t team = NVSHMEMX_TEAM_NODE;
    void *telling[] = {&dest, &team};
    launch(reinterpret_cast<const void *>(tell), telling);
    const std::vector<int> told = fetched(dest, 4);
    EXPECT(told[0] == me && told[1] == n && told[2] == nvshmem_team_my_pe(team) && told[3] == nvshmem_team_n_pes(team));
    store(source, numbers(me * 10000, N));
    store(dest, std::vector<int>(N + 1, -1));
    nvshmem_barrier_all();
    int count = N;
    void *sending[] = {&dest, &source, &signal, &count, &next_pe};
    launch(reinterpret_cast<const void *>(send), sending);
    std::vector<int> expected = numbers(previous * 10000, N);
    expected.push_back(-1);
    EXPECT(fetched(dest, N + 1) == expected);
    nvshmem_free(signal);
}

static void check_team_in_kernel(int *dest, int *source)
{
    nvshmem_team_t team;
    EXPECT(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &team) == 0);
    store(source, numbers(me, 100));
    nvshmem_barrier_all();
    void *adding[] = {&dest, &source, &team};
    launch(reinterpret_cast<const void *>(add_up), adding);
    const std::vector<int> sums = fetched(dest, 100);
    for (int i = 0; i < 100; i++)
        EXPECT(sums[static_cast<size_t>(i)] == n * i + n * (n - 1) / 2);
    nvshmem_team_destroy(team);
}

// ---- the host and streams --------------------------------------------------------------------------------------------

static void check_host(int *dest, int *source)
{
    store(source, numbers(me * 10000, N));
    store(dest, std::vector<int>(N + 1, -1));
    nvshmem_barrier_all();
    nvshmem_int_put(dest + 1, source + 3, 1000, next_pe);
    nvshmem_int_p(dest, 77 + me, next_pe);
    nvshmem_barrier_all();
    std::vector<int> expected(N + 1, -1);
    expected[0] = 77 + previous;
    for (int i = 0; i < 1000; i++)
        expected[static_cast<size_t>(1 + i)] = previous * 10000 + 3 + i;
    EXPECT(fetched(dest, N + 1) == expected);
    std::vector<int> into(N);
    nvshmem_getmem(into.data(), source, N * sizeof(int), next_pe);
    EXPECT(into == numbers(next_pe * 10000, N));
    EXPECT(nvshmem_int_g(source + 9, next_pe) == next_pe * 10000 + 9);
    nvshmem_barrier_all();
    nvshmem_int_atomic_add(dest, 5, next_pe);
    nvshmem_barrier_all();
    EXPECT(fetched(dest, 1)[0] == 82 + previous);
    EXPECT(nvshmem_int_sum_reduce(NVSHMEM_TEAM_WORLD, dest, source, N) == 0);
    EXPECT(fetched(dest, N)[7] == n * 7 + 10000 * (n * (n - 1) / 2));
    nvshmem_barrier_all();
}

static void check_streams(int *dest, int *source)
{
    cudaStream_t stream;
    uint64_t *signal = static_cast<uint64_t *>(nvshmem_calloc(1, sizeof(uint64_t)));
    CUDA(cudaStreamCreate(&stream));
    store(source, numbers(me * 10000, N));
    nvshmem_barrier_all();
    nvshmemx_int_put_signal_on_stream(dest, source, N, signal, 3, NVSHMEM_SIGNAL_SET, next_pe, stream);
    nvshmemx_signal_wait_until_on_stream(signal, NVSHMEM_CMP_EQ, 3, stream);
    nvshmemx_barrier_all_on_stream(stream);
    CUDA(cudaStreamSynchronize(stream));
    EXPECT(fetched(dest, N) == numbers(previous * 10000, N));
    EXPECT(nvshmemx_int_g_on_stream(source + 4, next_pe, stream) == next_pe * 10000 + 4);
    nvshmemx_int_p_on_stream(dest, 4, next_pe, stream);
    EXPECT(nvshmemx_barrier_on_stream(NVSHMEM_TEAM_WORLD, stream) == 0);
    CUDA(cudaStreamSynchronize(stream));
    EXPECT(fetched(dest, 1)[0] == 4);
    EXPECT(nvshmemx_int_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, dest, source, N, stream) == 0);
    CUDA(cudaStreamSynchronize(stream));
    EXPECT(fetched(dest, N)[7] == n * 7 + 10000 * (n * (n - 1) / 2));
    const size_t each = static_cast<size_t>(N / n);
    EXPECT(nvshmemx_int_max_reducescatter_on_stream(NVSHMEM_TEAM_WORLD, dest, source, each, stream) == 0);
    CUDA(cudaStreamSynchronize(stream));
    EXPECT(fetched(dest, each) == numbers((n - 1) * 10000 + me * static_cast<int>(each), each));
    nvshmem_barrier_all();
    nvshmem_free(signal);
    CUDA(cudaStreamDestroy(stream));
}

static void check_all(int *dest, int *source)
{
    check_host(dest, source);
    check_streams(dest, source);
    check_kernels(dest, source);
    check_team_in_kernel(dest, source);
}

static int *registered(size_t bytes)
{
    int *buffer = NULL;
    CUDA(cudaMalloc(reinterpret_cast<void **>(&buffer), bytes));
    EXPECT(nvshmemx_buffer_register_symmetric(buffer, bytes, 0) == buffer);
    return buffer;
}

int main()
{
    int devices = 0;
    nvshmem_init();
    me = nvshmem_my_pe(), n = nvshmem_n_pes(), next_pe = (me + 1) % n, previous = (me + n - 1) % n;
    CUDA(cudaGetDeviceCount(&devices));
    CUDA(cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) % devices));
    const size_t bytes = (N + 1) * sizeof(int);
    int *dest = static_cast<int *>(nvshmem_malloc(bytes)), *source = static_cast<int *>(nvshmem_align(4096, bytes));
    EXPECT(dest && source && nvshmem_ptr(dest, me) == dest);
    printf("PE %d: status %d, the other's copy at %p of %p\n", me, nvshmemx_init_status(), nvshmem_ptr(dest, next_pe),
           static_cast<void *>(dest));
    check_all(dest, source);
    int *dest2 = registered(bytes), *source2 = registered(bytes);
    check_all(dest2, source2);
    check_all(dest, source2);
    EXPECT(nvshmemx_buffer_unregister_symmetric(dest2, bytes) == 0);
    EXPECT(nvshmemx_buffer_unregister_symmetric(source2, bytes) == 0);
    nvshmem_free(source);
    nvshmem_free(dest);
    nvshmem_barrier_all();
    printf("PE %d: %s\n", me, wrong ? "WRONG" : "verified");
    nvshmem_finalize();
    return wrong != 0;
}
