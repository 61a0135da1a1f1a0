/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A mixture of experts with threads of the CPU, which play those of a GPU, on the symmetric heap.
 */
#include "kernel.h"

enum { THREADS = 2, BLOCKS = 4 };

extern "C" const char moe_name[] = "moe_threads";

int moe_open(void)
{
    return 0;
}

void *moe_memory(size_t nbytes)
{
    void *memory = calloc(1, nbytes);
    if (!memory)
        shmem_global_exit(1);
    return memory;
}

void *moe_symmetric(size_t nbytes, shmemx_device_view_t *view)
{
    void *memory = shmem_calloc(1, nbytes);
    if (!memory || shmemx_device_view(memory, view))
        shmem_global_exit(1); /* the library has printed the reason */
    return memory;
}

void moe_end(void *memory)
{
    shmem_free(memory);
}

void moe_free(void *memory)
{
    free(memory);
}

void moe_copy(void *dest, const void *source, size_t nbytes)
{
    memcpy(dest, source, nbytes);
}

int moe_blocks(void)
{
    return BLOCKS;
}

void moe_run(const struct moe_layer *layer, const shmemx_device_view_t *view, int n_blocks, unsigned long first,
             int n_layers)
{
    for (int i = 0; i < n_layers; i++)
        shmemx_device_host_launch(static_cast<unsigned>(n_blocks), THREADS,
                                  [=] { moe(*layer, *view, first + static_cast<unsigned long>(i)); });
}

void moe_finish(void)
{
}
