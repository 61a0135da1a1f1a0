/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every class of CUDA memory: the route to each PE is that of the table, contents arrive, objects that share an
 * allocation do not disturb each other, memory that was freed and allocated again is recognised as new, and nothing
 * stays open. Under SHMEM_GPU_STRICT=1: slow classes are refused on every PE, with the cause.
 */
#include "../unit/cuda_user.h"

#include "base/settings.h"
#include "bootstrap/job.h"
#include "transport/routes.h"

#include <dirent.h>
#include <shmem.h>
#include <shmemx.h>
#include <sys/resource.h>
#include <unistd.h>

enum { BYTES = 5 << 20, FRONT = 8192, OBJECT_BYTES = BYTES - FRONT };

static CUdevice device;
static CUmemoryPool pool;
static char *expected, *found; /* host memory of BYTES */
static CUdeviceptr local;      /* device memory of BYTES that nobody mapped */

/* ---- classes ----------------------------------------------------------------------------------------------------- */

struct class
{
    enum shmemi_memory_class class;
    bool (*make)(CUdeviceptr *pointer_p); /* BYTES long */
    void (*drop)(CUdeviceptr pointer);
};

static bool make_plain(CUdeviceptr *pointer_p)
{
    return cuda.cuMemAlloc(pointer_p, BYTES) == CUDA_SUCCESS;
}

static bool make_managed(CUdeviceptr *pointer_p)
{
    return user.cuMemAllocManaged(pointer_p, BYTES, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS;
}

static void drop_plain(CUdeviceptr pointer)
{
    USE(cuda.cuMemFree(pointer));
}

static bool make_from_default_pool(CUdeviceptr *pointer_p)
{
    return user.cuMemAllocAsync(pointer_p, BYTES, NULL) == CUDA_SUCCESS &&
           shmemi_cuda.cuStreamSynchronize(NULL) == CUDA_SUCCESS;
}

static bool make_from_pool(CUdeviceptr *pointer_p)
{
    return (pool || pool_make(&pool, device)) &&
           user.cuMemAllocFromPoolAsync(pointer_p, BYTES, pool, NULL) == CUDA_SUCCESS &&
           shmemi_cuda.cuStreamSynchronize(NULL) == CUDA_SUCCESS;
}

static void drop_async(CUdeviceptr pointer)
{
    USE(user.cuMemFreeAsync(pointer, NULL));
    USE(shmemi_cuda.cuStreamSynchronize(NULL));
}

static struct vmm vmm_made;

/* Made of as many pieces as needed. */
static bool make_vmm(CUdeviceptr *pointer_p, unsigned handle_types)
{
    struct vmm probe;
    if (!vmm_make(&probe, device, 1, 1, handle_types))
        return false;
    unsigned n = (unsigned)((BYTES + probe.piece - 1) / probe.piece);
    vmm_free(&probe);
    bool is_made = vmm_make(&vmm_made, device, n, n, handle_types);
    *pointer_p = vmm_made.base;
    return is_made;
}

static bool make_vmm_open(CUdeviceptr *pointer_p)
{
    return make_vmm(pointer_p, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
}

static bool make_vmm_private(CUdeviceptr *pointer_p)
{
    return make_vmm(pointer_p, CU_MEM_HANDLE_TYPE_NONE);
}

static void drop_vmm(CUdeviceptr pointer)
{
    (void)pointer;
    vmm_free(&vmm_made);
}

static const struct class classes[] = {
    {SHMEMI_CLASS_CUDA_MALLOC, make_plain, drop_plain},
    {SHMEMI_CLASS_CUDA_VMM, make_vmm_open, drop_vmm},
    {SHMEMI_CLASS_CUDA_VMM_PRIVATE, make_vmm_private, drop_vmm},
    {SHMEMI_CLASS_CUDA_POOL, make_from_pool, drop_async},
    {SHMEMI_CLASS_CUDA_POOL_PRIVATE, make_from_default_pool, drop_async},
    {SHMEMI_CLASS_CUDA_MANAGED, make_managed, drop_plain},
};
enum { N_CLASSES = sizeof classes / sizeof classes[0] };

/* ---- what all PEs know ------------------------------------------------------------------------------------------- */

static bool holds_everywhere(bool here)
{
    static int mine, all;
    shmem_barrier_all();
    mine = here;
    shmem_int_min_reduce(SHMEM_TEAM_WORLD, &all, &mine, 1);
    return all;
}

/* Where a PE's device is; -1 when this PE does not see it. */
static int relation_to(int pe)
{
    static CUuuid uuid; /* symmetric */
    CUuuid theirs, candidate;
    int count = 0, can_access = 0;
    USE(shmemi_cuda.cuDeviceGetUuid(&uuid, device));
    shmem_barrier_all();
    shmem_getmem(&theirs, &uuid, sizeof theirs, pe);
    shmem_barrier_all();
    if (shmemi_job_node_rank_of(pe) < 0)
        return SHMEMI_OTHER_NODE;
    if (!memcmp(&theirs, &uuid, sizeof uuid))
        return SHMEMI_SAME_GPU;
    USE(shmemi_cuda.cuDeviceGetCount(&count));
    for (CUdevice other = 0; other < count; other++)
        if (!shmemi_cuda.cuDeviceGetUuid(&candidate, other) && !memcmp(&candidate, &theirs, sizeof theirs)) {
            USE(shmemi_cuda.cuDeviceCanAccessPeer(&can_access, device, other));
            return can_access ? SHMEMI_PEER_ACCESS : SHMEMI_NO_PEER_ACCESS;
        }
    return -1;
}

static int relation[1024]; /* by PE */

static void check_route(const void *address, int pe, enum shmemi_memory_class class)
{
    const char *route = shmemx_route(address, pe), *wanted = "local";
    if (shmemi_settings.gpu_route != SHMEMI_ROUTE_AUTO || relation[pe] < 0)
        return;
    if (pe != shmem_my_pe())
        wanted = shmemi_route_of(class, relation[pe] == SHMEMI_SAME_GPU && shmemx_kernels_may_wait(OSHM_MEMTYPE_CUDA)
                                            ? SHMEMI_SAME_GPU_BESIDE
                                            : (enum shmemi_relation)relation[pe]);
    if (strcmp(route, wanted)) {
        n_failures++;
        fprintf(stderr, "PE %d: %s memory of PE %d goes by %s, the table says %s\n", shmem_my_pe(),
                shmemi_memory_class_name(class), pe, route, wanted);
    }
}

/* ---- transfers --------------------------------------------------------------------------------------------------- */

static unsigned seed_of(int pe, size_t nbytes)
{
    return (unsigned)pe * 131 + (unsigned)nbytes * 7 + 5;
}

static void write_device(CUdeviceptr pointer, size_t nbytes, unsigned seed)
{
    fill(expected, nbytes, seed);
    USE(cuda.cuMemcpyHtoD(pointer, expected, nbytes));
    USE(shmemi_cuda.cuStreamSynchronize(CU_STREAM_LEGACY)); /* the call may return before the data is there */
}

static void check_device(const char *what, CUdeviceptr pointer, size_t nbytes, unsigned seed)
{
    fill(expected, nbytes, seed);
    memset(found, 0, nbytes);
    USE(cuda.cuMemcpyDtoH(found, pointer, nbytes));
    if (!memcmp(found, expected, nbytes))
        return;
    n_failures++;
    fprintf(stderr, "PE %d: %s: %zu bytes are not what was sent\n", shmem_my_pe(), what, nbytes);
}

/* Every PE writes to the next one and reads from it: from and to device memory, then host memory. */
static void check_transfers(const char *what, char *address, CUdeviceptr mine, size_t nbytes)
{
    const int me = shmem_my_pe(), n = shmem_n_pes(), to = (me + 1) % n, from = (me + n - 1) % n;
    char *host = malloc(nbytes);
    write_device(local, nbytes, seed_of(me, nbytes));
    shmem_barrier_all();
    shmem_putmem(address, (void *)local, nbytes, to);
    shmem_barrier_all();
    check_device(what, mine, nbytes, seed_of(from, nbytes));
    write_device(local, nbytes, 0);
    shmem_getmem((void *)local, address, nbytes, to);
    check_device(what, local, nbytes, seed_of(me, nbytes));
    shmem_barrier_all();
    fill(host, nbytes, seed_of(me, nbytes + 1));
    shmem_putmem_nbi(address, host, nbytes, to);
    shmem_barrier_all();
    check_device(what, mine, nbytes, seed_of(from, nbytes + 1));
    shmem_barrier_all();
    write_device(local, nbytes, seed_of(me, nbytes + 2));
    shmem_putmem_nbi(address, (void *)local, nbytes, to);
    shmem_barrier_all();
    check_device(what, mine, nbytes, seed_of(from, nbytes + 2));
    memset(host, 0, nbytes);
    shmem_getmem_nbi(host, address, nbytes, to);
    shmem_quiet();
    fill(expected, nbytes, seed_of(me, nbytes + 2));
    CHECK(!memcmp(host, expected, nbytes));
    shmem_barrier_all();
    free(host);
}

/* Offset 0 and sizes that suit words and vectors, then those that do not. */
static void check_sizes(const char *what, char *address, CUdeviceptr mine, size_t limit)
{
    static const size_t sizes[] = {8, 4, 64, 4096, 65536, 1 << 20, 4 << 20, 1, 3, 100, 1025, 70001, OBJECT_BYTES - 16};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t offset = sizes[i] % 8 ? 5 : 0;
        if (offset + sizes[i] <= limit)
            check_transfers(what, address + offset, mine + offset, sizes[i]);
    }
    for (size_t nbytes = 1; nbytes <= 8; nbytes++)
        check_transfers(what, address + nbytes % 3, mine + nbytes % 3, nbytes);
}

/* ---- one class --------------------------------------------------------------------------------------------------- */

static void check_mapped(const struct class *class, char *address, CUdeviceptr mine, size_t nbytes)
{
    const char *what = shmemi_memory_class_name(class->class);
    CHECK(address);
    if (!address) {
        fprintf(stderr, "PE %d: %s: %s\n", shmem_my_pe(), what, shmemx_strerror());
        return;
    }
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        check_route(address, pe, class->class);
    check_sizes(what, address, mine, nbytes);
}

/* When a route is forced that some memory cannot take, shmmap refuses that memory. */
static bool route_is_exacting(void)
{
    bool is_forced = shmemi_settings.gpu_route == SHMEMI_ROUTE_IPC || shmemi_settings.gpu_route == SHMEMI_ROUTE_SHADOW;
    return is_forced && !holds_everywhere(shmem_n_pes() == 1);
}

static bool is_open(const struct class *class)
{
    return !shmemi_memory_class_remedy(class->class)[0] && shmemi_job.n_nodes == 1;
}

/* Two objects in one allocation, and none that overlaps. */
static void check_class(const struct class *class)
{
    CUdeviceptr base = 0;
    if (route_is_exacting() && !is_open(class))
        return;
    if (!holds_everywhere(class->make(&base))) {
        if (shmem_my_pe() == 0)
            printf("# %s: cannot be made here\n", shmemi_memory_class_name(class->class));
        return;
    }
    char *back = shmmap((void *)(base + FRONT), OBJECT_BYTES, OSHM_MEMTYPE_CUDA);
    check_mapped(class, back, base + FRONT, OBJECT_BYTES);
    char *front = shmmap((void *)base, FRONT, OSHM_MEMTYPE_CUDA);
    check_mapped(class, front, base, FRONT);
    CHECK(!shmmap((void *)(base + FRONT / 2), FRONT, OSHM_MEMTYPE_CUDA));
    CHECK(strstr(shmemx_strerror(), "already mapped"));
    shmumap(back);
    check_mapped(class, front, base, FRONT); /* still there */
    shmumap(front);
    class->drop(base);
}

/* Allocated again, mostly at the same address: the others must use the new memory. */
static void check_again(const struct class *class)
{
    CUdeviceptr base = 0;
    if (route_is_exacting() && !is_open(class))
        return;
    for (int round = 0; round < 3; round++) {
        if (!holds_everywhere(class->make(&base)))
            return;
        char *address = shmmap((void *)base, BYTES, OSHM_MEMTYPE_CUDA);
        CHECK(address);
        if (address)
            check_transfers("allocated again", address, base, 5000 + (size_t)round);
        shmumap(address);
        class->drop(base);
    }
}

static int count_open(void)
{
    int n = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (readdir(directory))
        n++;
    closedir(directory);
    return n;
}

static void check_classes(void)
{
    int before[N_CLASSES];
    for (int i = 0; i < N_CLASSES; i++) {
        check_class(&classes[i]);
        before[i] = count_open();
    }
    for (int i = 0; i < N_CLASSES; i++) {
        check_class(&classes[i]);
        check_again(&classes[i]);
        CHECK(count_open() <= before[N_CLASSES - 1]);
    }
}

/* ---- PEs that differ --------------------------------------------------------------------------------------------- */

static const struct class *class_named(enum shmemi_memory_class class)
{
    const struct class *found_class = classes;
    while (found_class->class != class)
        found_class++;
    return found_class;
}

/* Odd PEs bring memory that cannot be opened. */
static void check_mixed(void)
{
    const struct class *of[] = {class_named(SHMEMI_CLASS_CUDA_MALLOC), class_named(SHMEMI_CLASS_CUDA_POOL_PRIVATE)};
    const struct class *mine = of[shmem_my_pe() % 2];
    CUdeviceptr base = 0;
    if (!holds_everywhere(mine->make(&base)))
        return;
    char *address = shmmap((void *)base, BYTES, OSHM_MEMTYPE_CUDA);
    CHECK(address);
    for (int pe = 0; address && pe < shmem_n_pes(); pe++)
        check_route(address, pe, of[pe % 2]->class);
    if (address)
        check_transfers("PEs with different classes", address, base, 100000);
    shmumap(address);
    mine->drop(base);
}

/* The last PE cannot open any more files: it does without them, while the others use them among themselves. */
static void check_poor(void)
{
    const int last = shmem_n_pes() - 1;
    struct rlimit before, limit;
    CUdeviceptr base = 0;
    if (last == 0 || !holds_everywhere(make_from_pool(&base)))
        return;
    getrlimit(RLIMIT_NOFILE, &before);
    limit = before;
    if (shmem_my_pe() == last) {
        int next = dup(0);
        close(next);
        limit.rlim_cur = (rlim_t)next;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    char *address = shmmap((void *)base, BYTES, OSHM_MEMTYPE_CUDA);
    setrlimit(RLIMIT_NOFILE, &before);
    CHECK(address);
    for (int pe = 0; address && pe < last && shmem_my_pe() != last; pe++)
        check_route(address, pe, SHMEMI_CLASS_CUDA_POOL);
    if (address && shmem_my_pe() != last && shmemi_settings.gpu_route == SHMEMI_ROUTE_AUTO)
        CHECK(!strcmp(shmemx_route(address, last), "staged"));
    if (address)
        check_transfers("a PE without room for descriptors", address, base, 100000);
    shmumap(address);
    drop_async(base);
}

/* ---- SHMEM_GPU_STRICT -------------------------------------------------------------------------------------------- */

static void check_strict(void)
{
    bool has_neighbours = !holds_everywhere(shmemi_job.node_n_pes == 1);
    for (int i = 0; i < N_CLASSES; i++) {
        const char *remedy = shmemi_memory_class_remedy(classes[i].class);
        bool is_refused = remedy[0] && has_neighbours && shmemi_settings.gpu_route == SHMEMI_ROUTE_AUTO;
        CUdeviceptr base = 0;
        if (!holds_everywhere(classes[i].make(&base)))
            continue;
        char *address = shmmap((void *)base, BYTES, OSHM_MEMTYPE_CUDA);
        CHECK(!address == is_refused);
        CHECK(!is_refused || (strstr(shmemx_strerror(), "PE 0") && strstr(shmemx_strerror(), "other PEs")));
        if (shmem_my_pe() == shmem_n_pes() - 1 && is_refused)
            printf("# %s\n", shmemx_strerror());
        shmumap(address);
        classes[i].drop(base);
    }
}

static bool open_device(void)
{
    CUcontext primary;
    int ordinal = shmemx_my_device(OSHM_MEMTYPE_CUDA);
    if (!holds_everywhere(ordinal >= 0))
        return false;
    load_user_functions();
    USE(shmemi_cuda.cuDeviceGet(&device, ordinal));
    USE(shmemi_cuda.cuDevicePrimaryCtxRetain(&primary, device));
    USE(cuda.cuCtxSetCurrent(primary));
    return true;
}

int main(void)
{
    shmem_init();
    if (!open_device()) {
        if (shmem_my_pe() == 0)
            printf("no CUDA device\n");
        shmem_finalize();
        return SKIP;
    }
    expected = malloc(BYTES);
    found = malloc(BYTES);
    local = user_alloc(BYTES);
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        relation[pe] = relation_to(pe);
    if (shmemi_settings.gpu_strict) {
        check_strict();
    } else {
        check_classes();
        if (!route_is_exacting()) {
            check_mixed();
            check_poor();
        }
    }
    USE(cuda.cuMemFree(local));
    if (!holds_everywhere(!n_failures)) {
        fprintf(stderr, "PE %d: %d failures\n", shmem_my_pe(), n_failures);
        shmem_global_exit(1);
    }
    if (shmem_my_pe() == 0)
        printf("ok\n");
    shmem_finalize();
    return 0;
}
