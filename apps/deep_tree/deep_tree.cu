/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A tree is built on PE 0's CPU, goes to PE 1's GPU in one piece, and a kernel looks up keys there. CUDA.
 * An example to be copied: it calls the CUDA runtime itself and needs nothing but the library.
 */
#include "tree.h"

#include <cuda_runtime.h>

static uint64_t arrived;   /* symmetric: is the tree there? */
static double found[KEYS]; /* symmetric: what the GPU found */

/* A thread for each key. The pointers in the tree are addresses on this GPU. */
__global__ void look_up_all(const struct tree *root, double *sums)
{
    const long key = blockIdx.x * blockDim.x + threadIdx.x;
    const struct tree *tree = root;
    while (tree && tree->key != key)
        tree = key < tree->key ? tree->left : tree->right;
    double sum = tree ? 0 : -1;
    for (int i = 0; tree && i < tree->n; i++)
        sum += tree->values[i];
    sums[key] = sum;
}

/* PE 1 has to know no more of the tree than its type. */
static void use_tree(const void *image, shmemx_type_t type)
{
    double *sums;
    shmemx_deep_info_t info;
    shmem_signal_wait_until(&arrived, SHMEM_CMP_EQ, 1);
    if (shmemx_deep_info(image, type, &info, 1) != 0)
        shmem_global_exit(1); /* the library has printed the reason */
    cudaMalloc(&sums, sizeof found);
    look_up_all<<<KEYS / 128, 128>>>((const struct tree *)info.root, sums);
    if (cudaMemcpy(found, sums, sizeof found, cudaMemcpyDeviceToHost) != cudaSuccess)
        shmem_global_exit(1);
    cudaFree(sums);
    shmem_putmem(found, found, sizeof found, 0);
}

int main(int argc, char **argv)
{
    int status = read_arguments(argc, argv);
    if (status >= 0)
        return status;
    status = 0;
    shmem_init();
    const int me = shmem_my_pe(), device = shmemx_my_device(OSHM_MEMTYPE_CUDA);
    if (device < 0 || shmem_n_pes() < 2) {
        printf("this example needs 2 PEs and a CUDA GPU\n");
        shmem_finalize();
        return 77;
    }
    void *memory, *image;
    cudaSetDevice(device);
    cudaMalloc(&memory, CAPACITY);
    image = shmmap(memory, CAPACITY, OSHM_MEMTYPE_CUDA);
    shmemx_type_t type = shmemx_type_create("tree", sizeof(struct tree), 4, tree_fields);
    if (!image || !type)
        shmem_global_exit(1); /* the library has printed the reason */

    struct tree *root = me == 0 ? grow() : NULL;
    if (me == 0) {
        const ptrdiff_t size = shmemx_put_deep_signal(image, CAPACITY, root, type, 1, &arrived, 1, SHMEM_SIGNAL_SET, 1);
        if (size < 0 || size > CAPACITY)
            shmem_global_exit(1);
        printf("the tree takes %ld bytes\n", (long)size);
    }
    if (me == 1)
        use_tree(image, type);
    shmem_barrier_all();
    if (me == 0)
        status = !is_right(root, found);
    shmumap(image);
    cudaFree(memory);
    shmem_finalize();
    return status;
}
