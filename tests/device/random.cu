// SPDX-License-Identifier: BSD-3-Clause
//
// tests/api/device_random.cc with kernels of a GPU, on a buffer of cudaMalloc: random programs of two blocks and the host of
// each PE, which put, get, signal, wait and update words at the same time, the host also in a stream.
//
// Usage: random [PROGRAMS [SECONDS [FIRST]]]
#include "../api/device_actors.h"

#include <chrono>

namespace
{

enum { MESSAGES_MOST = PES_MOST * ACTORS * OPS_MOST, STATUS = PES_MOST * ACTORS };

// What a block of a round does and expects, in memory of the GPU.
struct part_of_block {
    op ops[OPS_MOST];
    struct {
        int number;
        unsigned long to, from, n;
    } messages[MESSAGES_MOST];
    int n_ops, n_messages, status[STATUS];
    unsigned long added; // what its word of signals that are added becomes at least
    bool needs_quiet;
    unsigned char source[PART + SLACK], result[PART + SLACK];
};

__global__ void play_round(scene s, part_of_block *parts, int *failed)
{
    const shmemx_device_block_t block;
    part_of_block *mine = &parts[blockIdx.x];
    const int number = s.view.pe * ACTORS + static_cast<int>(blockIdx.x);
    for (int i = 0; i < mine->n_ops; i++)
        by_block(s, number, mine->ops[i], mine->source, mine->result);
    shmemx_device_signal_wait_until(block, s.view, &s.own->added[blockIdx.x], SHMEM_CMP_GE, mine->added);
    shmemx_device_wait_until_all(block, s.view, s.own->set, s.view.n_pes * ACTORS, mine->status, SHMEM_CMP_GE, s.round);
    for (int m = 0; m < mine->n_messages; m++) {
        const auto &message = mine->messages[m];
        const unsigned char *seen = s.own->part[s.half][message.number] + message.to;
        for (unsigned long i = block.rank(); i < message.n; i += block.size())
            if (seen[i] != pattern_of(message.from + i, message.number, s.round))
                *failed = 1 + m;
    }
    if (mine->needs_quiet)
        shmemx_device_quiet(block, s.view);
}

__global__ void end_round(shmemx_device_team_t t)
{
    shmemx_device_barrier(shmemx_device_block_t(), t);
}

memory *mapped, *here; // own copy: as the host names it for the library, and on the GPU
part_of_block *parts, *on_gpu;
memory *seen;
int *failed;
cudaStream_t kernels, copies, operations;
unsigned char *host_source; // of this PE's host actor, on the GPU

void use(cudaError_t rc, const char *what)
{
    CHECK_THAT(rc == cudaSuccess, "program %lu, round %lu: %s: %s", program, round_number, what,
               cudaGetErrorString(rc));
}

void copy(void *dest, const void *source, size_t nbytes)
{
    use(cudaMemcpyAsync(dest, source, nbytes, cudaMemcpyDefault, copies), "copy");
    use(cudaStreamSynchronize(copies), "copy");
}

void add_messages(part_of_block *part, int receiver)
{
    part->n_messages = 0;
    for (int number = 0; number < n_pes * ACTORS; number++)
        for (const op &o : actors[static_cast<size_t>(number)].ops)
            if (o.what == MESSAGE && o.pe == me && o.receiver == receiver)
                part->messages[part->n_messages++] = {number, o.to, o.from, o.n};
}

void prepare_block(int i)
{
    part_of_block *part = &parts[i];
    const actor &a = actors[static_cast<size_t>(me * ACTORS + i)];
    part->n_ops = static_cast<int>(a.ops.size());
    part->needs_quiet = !by_kernel || a.is_quiet;
    for (int k = 0; k < part->n_ops; k++) {
        part->ops[k] = a.ops[static_cast<size_t>(k)];
        part->needs_quiet = part->needs_quiet || (part->ops[k].what == GET && part->ops[k].is_special);
    }
    senders(i, part->status);
    add_messages(part, i);
    part->added = after[static_cast<size_t>(me)].added[i];
    memcpy(part->source, a.source, sizeof part->source);
}

// Messages whose data lie on the GPU go by a stream.
bool by_stream(int number, const op &o)
{
    if (o.what != MESSAGE || !o.is_special || !o.n)
        return false;
    shmemx_putmem_signal_on_stream(own->part[half()][number] + o.to, host_source + o.from, o.n,
                                   o.adds ? &own->added[o.receiver] : &own->set[number], o.adds ? 1 : round_number,
                                   o.adds ? SHMEM_SIGNAL_ADD : SHMEM_SIGNAL_SET, o.pe, operations);
    return true;
}

void wait_as_host()
{
    int status[STATUS];
    senders(HOST, status);
    shmem_signal_wait_until(&own->added[HOST], SHMEM_CMP_GE, after[static_cast<size_t>(me)].added[HOST]);
    shmem_ulong_wait_until_all(own->set, static_cast<size_t>(n_pes * ACTORS), status, SHMEM_CMP_GE, round_number);
    copy(seen, here, MODELLED);
    check_messages(seen, HOST);
}

void end_as_block(int i)
{
    actor &a = actors[static_cast<size_t>(me * ACTORS + i)];
    memcpy(a.result, parts[i].result, sizeof a.result);
    check_gets(me * ACTORS + i);
}

void end_kernels()
{
    int n = 0;
    use(cudaStreamSynchronize(kernels), "kernel");
    copy(&n, failed, sizeof n);
    CHECK_THAT(!n, "program %lu, round %lu: a block has seen wrong data in message %d", program, round_number, n - 1);
    copy(parts, on_gpu, BLOCKS * sizeof *parts);
    for (int i = 0; i < BLOCKS; i++)
        end_as_block(i);
}

void play(numbers &random, unsigned threads)
{
    const int number = me * ACTORS + HOST;
    actor &a = actors[static_cast<size_t>(number)];
    prepare_round(random);
    for (int i = 0; i < BLOCKS; i++)
        prepare_block(i);
    copy(on_gpu, parts, BLOCKS * sizeof *parts);
    copy(host_source, a.source, sizeof a.source);
    play_round<<<BLOCKS, threads, 0, kernels>>>(scene{view, here, round_number, half()}, on_gpu, failed);
    for (const op &o : a.ops)
        if (!by_stream(number, o))
            by_host(number, o, &a);
    shmemx_quiet_on_stream(operations);
    wait_as_host();
    shmem_quiet();
    use(cudaStreamSynchronize(operations), "stream");
    check_gets(number);
    end_kernels();
    if (by_kernel) {
        end_round<<<1, 32, 0, kernels>>>(team);
        use(cudaStreamSynchronize(kernels), "barrier");
    } else
        shmem_barrier_all();
    copy(seen, here, MODELLED);
    expect_same(seen, &after[static_cast<size_t>(me)], MODELLED, "the memory", number);
    shmem_barrier_all(); // words are compared that the next round changes
}

bool goes_on(unsigned long n_done, unsigned long programs, double seconds)
{
    static int answer, result;
    static const auto begin = std::chrono::steady_clock::now();
    const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    answer = n_done < programs && (seconds <= 0 || passed < seconds);
    shmem_int_broadcast(SHMEM_TEAM_WORLD, &result, &answer, 1, 0);
    shmem_barrier_all();
    return result;
}

template <class T> void allocate(T **pointer, size_t n)
{
    use(cudaMalloc(reinterpret_cast<void **>(pointer), n * sizeof(T)), "cudaMalloc");
    use(cudaMemset(*pointer, 0, n * sizeof(T)), "cudaMemset");
}

bool prepare()
{
    allocate(&here, 1);
    allocate(&on_gpu, BLOCKS);
    allocate(&failed, 1);
    allocate(&host_source, PART + SLACK);
    for (cudaStream_t *stream : {&kernels, &copies, &operations})
        use(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), "stream");
    use(cudaMallocHost(reinterpret_cast<void **>(&parts), BLOCKS * sizeof *parts), "page-locked memory");
    use(cudaMallocHost(reinterpret_cast<void **>(&seen), sizeof *seen), "page-locked memory");
    use(cudaDeviceSynchronize(), "synchronize");
    own = mapped = static_cast<memory *>(shmmap(here, sizeof *here, OSHM_MEMTYPE_CUDA));
    CHECK(own);
    return shmemx_kernels_may_wait(OSHM_MEMTYPE_CUDA);
}

} // namespace

int main(int argc, char **argv)
{
    const unsigned long programs = argc > 1 ? strtoul(argv[1], nullptr, 10) : 300;
    const double seconds = argc > 2 ? strtod(argv[2], nullptr) : 10;
    const unsigned long first = argc > 3 ? strtoul(argv[3], nullptr, 10) : 0;
    int n_devices = 0;
    unsigned long n_done = 0;
    shmem_init();
    me = shmem_my_pe();
    n_pes = shmem_n_pes();
    CHECK(n_pes <= PES_MOST);
    if (cudaGetDeviceCount(&n_devices) != cudaSuccess || !n_devices ||
        cudaSetDevice(shmemx_my_device(OSHM_MEMTYPE_CUDA)) != cudaSuccess || !prepare()) {
        fprintf(stderr, "no CUDA device, or PEs that share it without MPS\n");
        shmem_finalize();
        return CHECK_SKIP;
    }
    after.resize(static_cast<size_t>(n_pes));
    CHECK(!shmemx_device_view(own, &view));
    CHECK(!shmemx_device_team_view(SHMEM_TEAM_WORLD, own->work, sizeof own->work, &team));
    shmem_barrier_all();
    for (; goes_on(n_done, programs, seconds); n_done++) {
        program = first + n_done;
        numbers random(program);
        const unsigned threads = 32 + 32 * (random.next() % 4);
        for (int i = 0; i < ROUNDS; i++)
            play(random, threads);
    }
    shmem_barrier_all();
    shmumap(mapped);
    shmem_finalize();
    if (me == 0)
        printf("ok, %lu programs\n", n_done);
}
