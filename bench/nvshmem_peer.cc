/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The operations of gpu_routes by NVSHMEM's host API, to compare with ours: nvshmem.sh builds and runs this where it
 * finds NVSHMEM. No part of the build.
 *
 *   nvshmem_peer RANK FILE [MAX [collectives]]
 *                two processes, RANK 0 and 1; FILE (not there yet) carries the unique id from 0 to 1; the operations, or
 *                the collectives from the host and on a stream, of at most MAX bytes
 *
 * No atomics: its host API declares them, but says "not implemented" when they are called (3.4.5).
 * Rank 0 prints "what,size,microseconds" for each line: medians of the same blocks as in gpu_routes.
 */
#include <nvshmem_host.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace
{

constexpr size_t words = 4096, distance = 64, stride = 4096;
constexpr size_t strided_bytes = words * stride * sizeof(double);

char *buffer; /* symmetric: source on rank 0, dest on rank 1 */
int rank;
int ranks = 2; /* or what NVSHMEM_PEERS says, for collectives */

[[noreturn]] void die(const std::string &text)
{
    std::fprintf(stderr, "nvshmem_peer: %s\n", text.c_str());
    std::exit(1);
}

void cuda(cudaError_t error, const char *call)
{
    if (error != cudaSuccess)
        die(std::string(call) + ": " + cudaGetErrorString(error));
}

void publish(const std::string &file, const nvshmemx_uniqueid_t &id)
{
    std::string temporary = file + ".new";
    FILE *out = std::fopen(temporary.c_str(), "w");
    bool written = out && std::fwrite(&id, sizeof id, 1, out) == 1;
    if (!written || std::fclose(out) || std::rename(temporary.c_str(), file.c_str()))
        die("cannot write " + file);
}

nvshmemx_uniqueid_t await(const std::string &file)
{
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    for (int tries = 0; tries < 300; tries++) {
        FILE *in = std::fopen(file.c_str(), "r");
        if (in) {
            bool complete = std::fread(&id, sizeof id, 1, in) == 1;
            std::fclose(in);
            if (complete)
                return id;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    die("no unique id in " + file);
}

void start(const std::string &file)
{
    nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    int devices = 0;
    cuda(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    cuda(cudaSetDevice(rank % devices), "cudaSetDevice");
    if (rank == 0) {
        if (nvshmemx_get_uniqueid(&id))
            die("nvshmemx_get_uniqueid failed");
        publish(file, id);
    } else {
        id = await(file);
    }
    nvshmemx_set_attr_uniqueid_args(rank, ranks, &id, &attributes);
    if (nvshmemx_hostlib_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes))
        die("nvshmemx_hostlib_init_attr failed");
}

double now()
{
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int rounds(size_t bytes)
{
    return bytes <= 64 << 10 ? 50 : bytes <= 1 << 20 ? 20 : bytes <= 4 << 20 ? 10 : bytes <= 64 << 20 ? 4 : 1;
}

/* Rank 0 measures alone, unless both must take part. */
void line(const char *what, size_t size, int count, long operations, const std::function<void()> &act,
          bool both = false)
{
    std::vector<double> times;
    nvshmem_barrier_all();
    for (int block = 0; (rank == 0 || both) && block < 16; block++) {
        double begin = now();
        for (int i = 0; i < count; i++)
            act();
        if (block > 0) /* the first is a warm-up */
            times.push_back((now() - begin) / count / static_cast<double>(operations));
    }
    nvshmem_barrier_all();
    if (rank == 0) {
        std::sort(times.begin(), times.end());
        std::printf("%s,%zu,%.5g\n", what, size, times[times.size() / 2]);
        std::fflush(stdout);
    }
}

void blocks(size_t max)
{
    for (size_t size = 8; size <= max; size = size == 8 ? 16 : 4 * size) {
        line("put", size, rounds(size), 1, [=] {
            nvshmem_putmem(buffer, buffer, size, 1);
            nvshmem_quiet();
        });
        line("get", size, rounds(size), 1, [=] { nvshmem_getmem(buffer, buffer, size, 1); });
    }
}

void small()
{
    line("4096 put_nbi + quiet", 8, 2, words, [] {
        for (size_t word = 0; word < words; word++)
            nvshmem_putmem_nbi(buffer + word * distance, buffer + word * distance, 8, 1);
        nvshmem_quiet();
    });
    line("4096 get_nbi + quiet", 8, 2, words, [] {
        for (size_t word = 0; word < words; word++)
            nvshmem_getmem_nbi(buffer + word * distance, buffer + word * distance, 8, 1);
        nvshmem_quiet();
    });
    line("4096 p + quiet", 8, 2, words, [] {
        for (size_t word = 0; word < words; word++)
            nvshmem_long_p(reinterpret_cast<long *>(buffer + word * distance), static_cast<long>(word), 1);
        nvshmem_quiet();
    });
}

void strided()
{
    double *elements = reinterpret_cast<double *>(buffer);
    line("double_iput of 4096", 8, 50, 1, [=] {
        nvshmem_double_iput(elements, elements, stride, stride, words, 1);
        nvshmem_quiet();
    });
}

void on_stream()
{
    cudaStream_t stream;
    cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    for (size_t size : {size_t{8}, size_t{1} << 20})
        line("put on stream + sync", size, rounds(size), 1, [=] {
            nvshmemx_putmem_on_stream(buffer, buffer, size, 1, stream);
            cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        });
    cuda(cudaStreamDestroy(stream), "cudaStreamDestroy");
}

using verb_t = std::function<void(size_t size)>;

void collective(const char *what, size_t max, const verb_t &host, const verb_t &enqueue, cudaStream_t stream)
{
    for (size_t size = 8; size <= max; size *= 8) {
        const int count = size <= 65536 ? 100 : size <= 4 << 20 ? 10 : 3;
        line((std::string(what) + " host").c_str(), size, count, 1, [&] { host(size); }, true);
        line((std::string(what) + " stream").c_str(), size, 1, count,
             [&] {
                 for (int i = 0; i < count; i++)
                     enqueue(size);
                 cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
             },
             true);
    }
}

/* Sizes as in stream_collectives.c. */
/* Half the time in which the data go to the last PE and come back; others have nothing to do. */
void ping_pong(char *dest, const char *source, size_t max, cudaStream_t stream)
{
    enum { TRIPS = 100 };
    uint64_t *arrived = static_cast<uint64_t *>(nvshmem_calloc(1, sizeof *arrived)), trip = 0;
    const bool takes_part = rank == 0 || rank == ranks - 1;
    const int partner = rank ? 0 : ranks - 1;
    if (!arrived)
        die("nvshmem_calloc failed");
    for (size_t size = 8; size <= max; size *= 8)
        line(
            "put_signal stream", size, 1, 2 * TRIPS,
            [=, &trip] {
                for (int i = 0; takes_part && i < TRIPS; i++) {
                    trip++;
                    if (rank)
                        nvshmemx_signal_wait_until_on_stream(arrived, NVSHMEM_CMP_GE, trip, stream);
                    nvshmemx_putmem_signal_on_stream(dest, source, size, arrived, trip, NVSHMEM_SIGNAL_SET, partner,
                                                     stream);
                    if (!rank)
                        nvshmemx_signal_wait_until_on_stream(arrived, NVSHMEM_CMP_GE, trip, stream);
                }
                cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
            },
            true);
    nvshmem_free(arrived);
}

void collectives(size_t max)
{
    const nvshmem_team_t team = NVSHMEM_TEAM_WORLD;
    cudaStream_t stream;
    cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    char *source = buffer, *dest = static_cast<char *>(nvshmem_malloc(static_cast<size_t>(ranks) * max));
    if (!dest)
        die("nvshmem_malloc failed");
    const float *numbers = reinterpret_cast<float *>(source);
    float *sums = reinterpret_cast<float *>(dest);
    line(
        "barrier stream", 0, 1, 100,
        [=] {
            for (int i = 0; i < 100; i++)
                nvshmemx_barrier_all_on_stream(stream);
            cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        },
        true);
    ping_pong(dest, source, max, stream);
    collective(
        "sum_reduce", max, [=](size_t size) { nvshmem_float_sum_reduce(team, sums, numbers, size / 4); },
        [=](size_t size) { nvshmemx_float_sum_reduce_on_stream(team, sums, numbers, size / 4, stream); }, stream);
    collective(
        "broadcast", max, [=](size_t size) { nvshmem_broadcastmem(team, dest, source, size, 0); },
        [=](size_t size) { nvshmemx_broadcastmem_on_stream(team, dest, source, size, 0, stream); }, stream);
    collective(
        "fcollect", max, [=](size_t size) { nvshmem_fcollectmem(team, dest, source, size); },
        [=](size_t size) { nvshmemx_fcollectmem_on_stream(team, dest, source, size, stream); }, stream);
    collective(
        "alltoall", max, [=](size_t size) { nvshmem_alltoallmem(team, dest, source, size / ranks); },
        [=](size_t size) { nvshmemx_alltoallmem_on_stream(team, dest, source, size / ranks, stream); }, stream);
    nvshmem_free(dest);
    cuda(cudaStreamDestroy(stream), "cudaStreamDestroy");
}

} // namespace

int main(int argc, char **argv)
{
    if (argc < 3)
        die("usage: nvshmem_peer RANK FILE [MAX]");
    rank = std::atoi(argv[1]);
    if (const char *peers = std::getenv("NVSHMEM_PEERS"))
        ranks = std::atoi(peers);
    size_t max = argc > 3 ? std::strtoull(argv[3], nullptr, 0) : size_t{1} << 30;
    start(argv[2]);
    buffer = static_cast<char *>(nvshmem_malloc(std::max(max, strided_bytes)));
    if (!buffer)
        die("nvshmem_malloc failed");
    if (argc > 4) {
        collectives(max);
    } else {
        blocks(max);
        small();
        strided();
        line(
            "barrier_all", 0, 50, 1, [] { nvshmem_barrier_all(); }, true);
        on_stream();
    }
    nvshmem_free(buffer);
    nvshmemx_hostlib_finalize();
    return 0;
}
