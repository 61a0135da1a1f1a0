/* SPDX-License-Identifier: BSD-3-Clause
 *
 * NVSHMEM's host API for stencil2d_nvshmem.
 */
#include "nvshmem_calls.h"

#include <nvshmem_host.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace
{

[[noreturn]] void fail(const std::string &text)
{
    std::fprintf(stderr, "stencil2d_nvshmem: %s\n", text.c_str());
    std::_Exit(1);
}

void check(int error, const char *call)
{
    if (error)
        fail(std::string(call) + ": error " + std::to_string(error));
}

void publish(const std::string &file, const nvshmemx_uniqueid_t &id)
{
    std::string temporary = file + ".new";
    FILE *out = std::fopen(temporary.c_str(), "w");
    bool written = out && std::fwrite(&id, sizeof id, 1, out) == 1;
    if (!written || std::fclose(out) || std::rename(temporary.c_str(), file.c_str()))
        fail("cannot write " + file);
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
    fail("no unique id in " + file);
}

cudaStream_t as_stream(void *stream)
{
    return static_cast<cudaStream_t>(stream);
}

} // namespace

void nv_start(int rank, int size, const char *file)
{
    nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    if (rank == 0) {
        check(nvshmemx_get_uniqueid(&id), "nvshmemx_get_uniqueid");
        publish(file, id);
    } else {
        id = await(file);
    }
    nvshmemx_set_attr_uniqueid_args(rank, size, &id, &attributes);
    check(nvshmemx_hostlib_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes), "nvshmemx_hostlib_init_attr");
}

void nv_end()
{
    nvshmemx_hostlib_finalize();
}

void *nv_alloc(size_t bytes)
{
    void *memory = nvshmem_calloc(1, bytes);
    if (!memory)
        fail("nvshmem_calloc of " + std::to_string(bytes) + " bytes: set NVSHMEM_SYMMETRIC_SIZE higher");
    return memory;
}

void nv_free(void *memory)
{
    nvshmem_free(memory);
}

void nv_barrier()
{
    nvshmem_barrier_all();
}

void nv_put_signal(void *dest, const void *source, size_t bytes, uint64_t *signal, uint64_t value, int rank,
                   void *stream)
{
    nvshmemx_putmem_signal_on_stream(dest, source, bytes, signal, value, NVSHMEM_SIGNAL_SET, rank, as_stream(stream));
}

void nv_wait(uint64_t *signal, uint64_t value, void *stream)
{
    nvshmemx_signal_wait_until_on_stream(signal, NVSHMEM_CMP_GE, value, as_stream(stream));
}

double nv_max(double number)
{
    double *numbers = static_cast<double *>(nv_alloc(2 * sizeof(double)));
    check(cudaMemcpy(numbers, &number, sizeof number, cudaMemcpyHostToDevice), "cudaMemcpy");
    nvshmem_barrier_all();
    nvshmem_double_max_reduce(NVSHMEM_TEAM_WORLD, numbers + 1, numbers, 1);
    check(cudaMemcpy(&number, numbers + 1, sizeof number, cudaMemcpyDeviceToHost), "cudaMemcpy");
    nv_free(numbers);
    return number;
}
