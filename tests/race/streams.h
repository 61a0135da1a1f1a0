/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams, and a mapped CUDA buffer, for the programs with streams, which are for two PEs. The status is 77 where there is
 * no GPU.
 */
#ifndef RACE_STREAMS_H
#define RACE_STREAMS_H

#include <cuda_runtime_api.h>

#include "choose.h"

#include <shmemx.h>

#include <stdlib.h>

enum { MAPPED_BYTES = 4096, WORDS = 64 };

/* On the symmetric heap, which kernels and copy engines reach. */
static struct heap {
    int x, y, words[WORDS], all[WORDS], host_words[WORDS];
    uint64_t signal, other_signal;
} * heap;

static cudaStream_t stream, other_stream;
static void *buffer;
static char *mapped;
static volatile int sink;

#define TRY(CALL)                                                                                                      \
    do {                                                                                                               \
        const cudaError_t error = (CALL);                                                                              \
        if (error) {                                                                                                   \
            fprintf(stderr, "%s: %s\n", #CALL, cudaGetErrorString(error));                                             \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static void open_streams(void)
{
    int n = 0;
    if (cudaGetDeviceCount(&n) || !n)
        exit(77);
    TRY(cudaSetDevice(0));
    TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    TRY(cudaStreamCreateWithFlags(&other_stream, cudaStreamNonBlocking));
    TRY(cudaMalloc(&buffer, MAPPED_BYTES));
    mapped = shmmap(buffer, MAPPED_BYTES, OSHM_MEMTYPE_CUDA);
    heap = shmem_calloc(1, sizeof *heap);
    if (!mapped || !heap)
        exit(1);
}

static void close_streams(void)
{
    TRY(cudaDeviceSynchronize());
    shmem_barrier_all();
    shmem_free(heap);
    shmumap(mapped);
    TRY(cudaFree(buffer));
    TRY(cudaStreamDestroy(stream));
    TRY(cudaStreamDestroy(other_stream));
}

#endif
