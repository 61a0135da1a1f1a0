/* SPDX-License-Identifier: BSD-3-Clause
 *
 * halo_cuda: the exchange of halo.c between GPU buffers that the program has allocated and mapped. Kernels, puts and waits
 * follow each other in a stream, and the CPU waits once, at the end.
 *
 *     nvcc -ccbin oshc++ -o halo_cuda halo_cuda.cu
 *     oshrun -n 2 ./halo_cuda
 */
#include "halo.h"
#include <shmemx.h>
#include <stdio.h>

enum { FROM_LEFT, FROM_RIGHT, BYTES = (CELLS + 2) * sizeof(unsigned) };

__global__ void step_on_gpu(unsigned *to, const unsigned *from)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    if (i <= CELLS) to[i] = (from[i - 1] + from[i] + from[i + 1]) % 1000;
}

/* Enqueues a put of the cell at from into the halo of that PE, with its signal. */
static void put_cell(cudaStream_t stream, unsigned *halo, unsigned *from, uint64_t *arrived, uint64_t turn, int pe)
{
    shmemx_putmem_signal_on_stream(halo, from, sizeof *from, arrived, turn, SHMEM_SIGNAL_SET, pe, stream);
}

int main()
{
    shmem_init();
    const int me = shmem_my_pe(), n = shmem_n_pes(), left = (me + n - 1) % n, right = (me + 1) % n;
    cudaStream_t stream;
    cudaSetDevice(shmemx_my_device(OSHM_MEMTYPE_CUDA));
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    unsigned *field[2], *map[2], cells[CELLS + 2] = {0};
    for (int i = 0; i < 2; i++) {
        cudaMalloc((void **)&field[i], BYTES);
        map[i] = (unsigned *)shmmap(field[i], BYTES, OSHM_MEMTYPE_CUDA);
        if (!map[i]) shmem_global_exit(1); /* shmmap has printed the reason */
    }
    uint64_t *arrived =
        (uint64_t *)shmem_calloc(2, sizeof *arrived); /* the step whose cell has come from either side */
    start(cells, me * CELLS, CELLS);
    cudaMemcpy(field[0], cells, BYTES, cudaMemcpyDefault);
    cudaDeviceSynchronize();
    shmem_barrier_all(); /* before this the copy could come after the first put, and overwrite the halo */

    for (int s = 0; s < STEPS; s++) {
        unsigned *now = map[s % 2];
        const uint64_t turn = (uint64_t)s + 1;
        put_cell(stream, &now[CELLS + 1], &now[1], &arrived[FROM_RIGHT], turn, left);
        put_cell(stream, &now[0], &now[CELLS], &arrived[FROM_LEFT], turn, right);
        shmemx_signal_wait_until_on_stream(&arrived[FROM_LEFT], SHMEM_CMP_GE, turn, stream);
        shmemx_signal_wait_until_on_stream(&arrived[FROM_RIGHT], SHMEM_CMP_GE, turn, stream);
        step_on_gpu<<<(CELLS + 255) / 256, 256, 0, stream>>>(field[(s + 1) % 2], field[s % 2]);
    }
    cudaMemcpyAsync(cells, field[STEPS % 2], BYTES, cudaMemcpyDefault, stream);
    cudaStreamSynchronize(stream); /* the CPU's only wait */

    const bool wrong = !is_right(cells, me, n);
    printf("PE %d: %d cells after %d steps: %s\n", me, (int)CELLS, (int)STEPS, wrong ? "WRONG" : "verified");
    for (int i = 0; i < 2; i++) shmumap(map[i]);
    shmem_finalize();
    return wrong;
}
