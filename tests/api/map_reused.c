/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Private memory that changes what it is, at one address: of malloc or mmap, page-locked, the GPU's, managed, and back.
 * After each change, puts from there and gets to there must go by what it is now. Where the library remembers what is
 * host memory, it has been made to remember the address before. Without a GPU: host memory of several kinds.
 *
 * The driver (580) takes no address that it is asked to take for memory of cuMemCreate, so that the GPU's memory comes to
 * lie where host memory was by the choice of the kernel only: of 64 allocations 20 to 50 do.
 */
#include "../unit/cuda_user.h"

#include "base/system/plain.h"

#include <shmem.h>
#include <sys/mman.h>

enum { BYTES = 2 << 20, WORDS = BYTES / sizeof(long), ROUNDS = 5, MANY = 64 };

static CUdevice device;
static bool has_device;
static long *symmetric, *back; /* of WORDS; back is private */
static int me, n_pes;
static long stamp;

/* ---- Transfers from and to private memory ------------------------------------------------------------------------ */

static void copy(void *dest, const void *source, size_t nbytes, bool is_gpu)
{
    if (!is_gpu)
        memcpy(dest, source, nbytes);
    else
        USE(cuda.cuMemcpyAsync((CUdeviceptr)dest, (CUdeviceptr)source, nbytes, NULL));
    if (is_gpu)
        USE(shmemi_cuda.cuStreamSynchronize(NULL));
}

/* Words of each of several pages, and all, to the next PE and back into the memory. */
static void check_transfers(long *memory, size_t nbytes, bool is_gpu)
{
    const int next = (me + 1) % n_pes, previous = (me + n_pes - 1) % n_pes;
    const size_t words = nbytes / sizeof(long), step = 700;
    stamp += 10000000;
    for (size_t i = 0; i < words; i++)
        back[i] = stamp + me * 1000000 + (long)i;
    copy(memory, back, nbytes, is_gpu);
    shmem_barrier_all();
    for (size_t i = 0; i < words; i += step)
        shmem_long_put(symmetric + i, memory + i, 1, next);
    shmem_barrier_all();
    for (size_t i = 0; i < words; i += step)
        CHECK(symmetric[i] == stamp + previous * 1000000 + (long)i);
    shmem_barrier_all();
    shmem_long_put_nbi(symmetric, memory, words, next);
    shmem_barrier_all();
    for (size_t i = 0; i < words; i++)
        symmetric[i] += 5;
    shmem_barrier_all();
    shmem_long_get(memory, symmetric, words, next);
    shmem_long_get(memory, symmetric, 1, next);
    copy(back, memory, nbytes, is_gpu);
    for (size_t i = 0; i < words; i++)
        CHECK(back[i] == stamp + me * 1000000 + (long)i + 5);
    shmem_barrier_all();
}

static int n_remembered; /* so often was memory known for host memory after that */

static void check_host(void *memory, size_t nbytes)
{
    check_transfers(memory, nbytes, false);
    n_remembered += shmemi_is_plain(memory);
}

/* ---- Host memory ------------------------------------------------------------------------------------------------- */

static char *map_at(void *address, int protection)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | (address ? MAP_FIXED : 0);
    char *memory = mmap(address, BYTES, protection, flags, -1, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

static void check_mallocs(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        long *large = malloc((size_t)64 << 20), *small = malloc(4096);
        CHECK(large && small);
        check_host(large, BYTES);
        check_host(small, 4096);
        free(large);
        free(small);
    }
}

/* ---- The GPU's memory -------------------------------------------------------------------------------------------- */

static void check_registered(void)
{
    char *memory = map_at(NULL, PROT_READ | PROT_WRITE);
    check_host(memory, BYTES);
    USE(shmemi_cuda.cuMemHostRegister(memory, BYTES, 0));
    check_host(memory, BYTES);
    USE(shmemi_cuda.cuMemHostUnregister(memory));
    check_host(memory, BYTES);
    munmap(memory, BYTES);
}

/* Much host memory is unmapped, and then the driver, which takes the addresses that the kernel gives it, allocates. */
static void check_any_address(CUresult (*allocate)(CUdeviceptr *), const char *what)
{
    static CUdeviceptr theirs[MANY];
    static char *ours[MANY];
    int n_same = 0;
    for (int i = 0; i < MANY; i++) {
        ours[i] = map_at(NULL, PROT_READ | PROT_WRITE);
        shmem_long_put(symmetric, (long *)ours[i], 1, me);
    }
    for (int i = 0; i < MANY; i++)
        munmap(ours[i], BYTES);
    for (int i = 0; i < MANY; i++) {
        USE(allocate(&theirs[i]));
        for (int k = 0; k < MANY; k++)
            n_same += theirs[i] - (CUdeviceptr)ours[k] < BYTES;
    }
    for (int i = 0; i < MANY; i += MANY / 4)
        check_transfers((long *)theirs[i], BYTES, true);
    for (int i = 0; i < MANY; i++)
        USE(cuda.cuMemFree(theirs[i]));
    printf("# PE %d: %d allocations of %s lay where host memory was\n", me, n_same, what);
    check_mallocs();
}

static CUresult allocate_plain(CUdeviceptr *pointer_p)
{
    return cuda.cuMemAlloc(pointer_p, BYTES);
}

static CUresult allocate_managed(CUdeviceptr *pointer_p)
{
    return user.cuMemAllocManaged(pointer_p, BYTES, CU_MEM_ATTACH_GLOBAL);
}

/* Page-locked memory of the driver is freed by the driver itself. */
static void check_locked(void)
{
    void *locked;
    for (int i = 0; i < ROUNDS; i++) {
        USE(user.cuMemAllocHost(&locked, BYTES));
        check_transfers(locked, BYTES, false);
        CHECK(!shmemi_is_plain(locked));
        USE(user.cuMemFreeHost(locked));
        CUdeviceptr next = user_alloc(BYTES);
        check_transfers((long *)next, BYTES, true);
        USE(cuda.cuMemFree(next));
    }
}

/* ------------------------------------------------------------------------------------------------------------------ */

static void open_device(void)
{
    CUcontext primary;
    const struct shmemi_memory *kind = shmemi_memory_of_type(SHMEMI_MEMTYPE_CUDA);
    has_device = kind && kind->device_count() > 0;
    if (!has_device)
        return;
    load_user_functions();
    USE(shmemi_cuda.cuDeviceGet(&device, 0));
    USE(shmemi_cuda.cuDevicePrimaryCtxRetain(&primary, device));
    USE(cuda.cuCtxSetCurrent(primary));
}

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    n_pes = shmem_n_pes();
    symmetric = shmem_malloc(BYTES);
    back = malloc(BYTES);
    CHECK(symmetric && back);
    check_mallocs();
    open_device();
    if (has_device) {
        check_mallocs();
        check_registered();
        check_any_address(allocate_plain, "cuMemAlloc");
        check_any_address(allocate_managed, "cuMemAllocManaged");
        check_locked();
        printf("# PE %d: host memory was remembered %d times\n", me, n_remembered);
        CHECK(n_remembered > 0); /* else this driver's calls of mmap are not seen */
    }
    if (n_failures)
        shmem_global_exit(1);
    shmem_finalize();
    return 0;
}
