/* SPDX-License-Identifier: BSD-3-Clause
 *
 * CUDA memory of one process in another: opened once however often it is imported, written and read, released, freed
 * and allocated again by its owner. Skipped (77) when there is no CUDA device, or it cannot share memory. With the
 * argument "time" it also prints how long copies take, next to the driver's own calls.
 */
#include "cuda_peer.h"

static char reason[192];

static int export(const struct shmemi_allocation *object, struct message *message)
{
    return memory->sharing->export_handle(object, &message->handle, &message->descriptors, reason, sizeof reason);
}

static struct answer share(CUdeviceptr pointer, size_t size, int slot, int device)
{
    struct message message = {.command = IMPORT, .slot = slot, .device = device};
    struct shmemi_allocation object;
    CHECK(!open_object(pointer, size, &object, reason));
    CHECK(!export(&object, &message));
    return ask(message);
}

static void check_shared(int device)
{
    enum { SMALL = 4096, OFFSET = 12345 };
    static char bytes[BOX], wanted[BOX];
    CUdeviceptr x = user_alloc(BOX), small[2] = {user_alloc(SMALL), user_alloc(SMALL)};
    fill(bytes, BOX, 1);
    USE(cuda.cuMemcpyHtoD(x, bytes, BOX));
    struct answer whole = share(x, BOX, 0, device), inner = share(x + OFFSET, BOX - OFFSET, 1, device);
    if (whole.rc == -ENOTSUP && device == LAST_DEVICE) {
        printf("# no access between the devices: not tested\n");
        return;
    }
    CHECK(!whole.rc && !inner.rc && inner.address == whole.address + OFFSET); /* opened once */
    CHECK(!share(small[0], SMALL, 2, device).rc && !share(small[1], SMALL, 3, device).rc);
    if (whole.rc)
        return;
    CHECK(!ask_rc(READ, 0, 1, BOX));
    CHECK(!ask_rc(WRITE, 1, 2, 1000));
    fill(wanted, BOX, 1);
    fill(wanted + OFFSET, 1000, 2);
    USE(cuda.cuMemcpyDtoH(bytes, x, BOX));
    CHECK(!memcmp(bytes, wanted, BOX));
    CHECK(!ask_rc(RELEASE, 0, 0, 0));
    CHECK(!ask_rc(READ, 1, 2, 1000)); /* the other user's mapping is still there */
    for (int i = 0; i < 2; i++) {
        CHECK(!ask_rc(WRITE, 2 + i, 5 + i, SMALL));
        fill(wanted, SMALL, 5 + i);
        USE(cuda.cuMemcpyDtoH(bytes, small[i], SMALL));
        CHECK(!memcmp(bytes, wanted, SMALL));
    }
    /* freed and allocated again while the other process has it open: the new one is what it gets */
    USE(cuda.cuMemFree(x));
    x = user_alloc(BOX);
    fill(bytes, BOX, 8);
    USE(cuda.cuMemcpyHtoD(x, bytes, BOX));
    CHECK(!share(x, BOX, 0, device).rc && !ask_rc(READ, 0, 8, BOX));
    for (int i = 0; i < SLOTS; i++)
        CHECK(!ask_rc(RELEASE, i, 0, 0));
    USE(cuda.cuMemFree(x));
    USE(cuda.cuMemFree(small[0]));
    USE(cuda.cuMemFree(small[1]));
}

/* A handle of freed memory is refused, and nothing else happens. */
static void check_gone(void)
{
    struct message message = {.command = IMPORT, .slot = 0, .device = 0};
    struct shmemi_allocation object;
    CUdeviceptr x = user_alloc(8 << 20);
    CHECK(!open_object(x, 8 << 20, &object, reason) && !export(&object, &message));
    USE(cuda.cuMemFree(x));
    CHECK(ask(message).rc == -ENOTSUP);
}

/* Each refusal says what the user can do. */
static void check_refused(CUdeviceptr pointer, const char *advice)
{
    static struct message message;
    struct shmemi_allocation object;
    CHECK(!open_object(pointer, BOX, &object, reason) && export(&object, &message) == -ENOTSUP);
    CHECK(!message.descriptors.count && strstr(reason, advice));
}

static void check_not_exportable(void)
{
    CUdeviceptr other;
    struct vmm vmm;
    if (user.cuMemAllocManaged(&other, BOX, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS) {
        check_refused(other, "use cudaMalloc");
        USE(cuda.cuMemFree(other));
    }
    if (user.cuMemAllocAsync(&other, BOX, NULL) == CUDA_SUCCESS) {
        USE(shmemi_cuda.cuStreamSynchronize(NULL));
        check_refused(other, "a pool with");
        USE(user.cuMemFreeAsync(other, NULL));
        USE(shmemi_cuda.cuStreamSynchronize(NULL));
    }
    if (vmm_make(&vmm, 0, 1, 1, CU_MEM_HANDLE_TYPE_NONE)) {
        check_refused(vmm.base, "request that handle type");
        vmm_free(&vmm);
    }
}

/* ---- Memory that is passed on by descriptors --------------------------------------------------------------------- */

static void write_at(CUdeviceptr pointer, size_t size, unsigned seed)
{
    fill(host_a, size, seed);
    USE(cuda.cuMemcpyHtoD(pointer, host_a, size));
    USE(shmemi_cuda.cuStreamSynchronize(CU_STREAM_LEGACY)); /* the call may return before the data is there */
}

static bool holds(CUdeviceptr pointer, size_t size, unsigned seed)
{
    fill(host_b, size, seed);
    USE(cuda.cuMemcpyDtoH(host_a, pointer, size));
    return !memcmp(host_a, host_b, size);
}

/* The object, and a part of it, in both directions; size is at most that of a box. */
static bool check_open(CUdeviceptr pointer, size_t size, size_t part, int device)
{
    struct answer whole = share(pointer, size, 0, device);
    if (whole.rc)
        return false;
    struct answer inner = share(pointer + part, size - part, 1, device);
    CHECK(!inner.rc);
    write_at(pointer, size, 3);
    CHECK(!ask_rc(READ, 0, 3, size));
    CHECK(!ask_rc(WRITE, 1, 4, size - part) && holds(pointer + part, size - part, 4));
    CHECK(!ask_rc(RELEASE, 0, 0, 0));
    CHECK(!ask_rc(READ, 1, 4, size - part)); /* the other use is still there */
    CHECK(!ask_rc(RELEASE, 1, 0, 0));
    return true;
}

/* The part begins in the second piece; around the border between the pieces. */
static void check_vmm_pieces(unsigned n, int device)
{
    struct vmm vmm;
    if (!vmm_make(&vmm, 0, n, n, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
        return;
    if (n == 1) {
        CHECK(check_open(vmm.base, BOX, 4096, device) || device == LAST_DEVICE);
    } else {
        CUdeviceptr border = vmm.base + vmm.piece;
        CHECK(check_open(border - BOX / 2, BOX, BOX / 2 + 64, device) || device == LAST_DEVICE);
        CHECK(check_open(vmm.base + (n - 1) * vmm.piece, BOX, 8, device) || device == LAST_DEVICE);
    }
    vmm_free(&vmm);
}

/* Pieces of which one has no descriptor, and more than can be passed on. */
static void check_vmm_refused(void)
{
    static struct message message;
    struct shmemi_allocation object;
    struct vmm vmm;
    if (!vmm_make(&vmm, 0, SHMEMI_DESCRIPTORS_MAX + 1, SHMEMI_DESCRIPTORS_MAX + 1,
                  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
        return;
    int before = count_open();
    CHECK(!open_object(vmm.base, vmm.n * vmm.piece, &object, reason) && export(&object, &message) == -ENOTSUP);
    CHECK(reason[0] && !message.descriptors.count && count_open() == before);
    vmm_free(&vmm);
}

static void check_pool(int device)
{
    enum { N = 3 };
    CUdeviceptr x[N];
    CUmemoryPool pool;
    if (!pool_make(&pool, 0))
        return;
    for (int round = 0; round < 2; round++) { /* the second time at the same addresses */
        for (int i = 0; i < N; i++)
            USE(user.cuMemAllocFromPoolAsync(&x[i], BOX, pool, NULL));
        USE(shmemi_cuda.cuStreamSynchronize(NULL));
        for (int i = 0; i < N; i++)
            CHECK(check_open(x[i], BOX, 4096, device) || device == LAST_DEVICE);
        bool opened = !share(x[0], BOX, 2, device).rc && !share(x[1], BOX, 3, device).rc;
        CHECK(opened || device == LAST_DEVICE);
        if (opened) {
            CHECK(!ask_rc(WRITE, 2, 11, BOX) && !ask_rc(WRITE, 3, 12, BOX));
            CHECK(holds(x[0], BOX, 11) && holds(x[1], BOX, 12));
            CHECK(!ask_rc(RELEASE, 2, 0, 0) && !ask_rc(RELEASE, 3, 0, 0));
        }
        for (int i = 0; i < N; i++)
            USE(user.cuMemFreeAsync(x[i], NULL));
        USE(shmemi_cuda.cuStreamSynchronize(NULL));
    }
    USE(shmemi_cuda.cuMemPoolDestroy(pool));
}

/* Descriptors of something else, or missing ones. */
static void check_wrong_descriptors(void)
{
    static struct message message;
    struct shmemi_allocation object;
    struct vmm vmm;
    if (!vmm_make(&vmm, 0, 1, 1, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
        return;
    message = (struct message){.command = IMPORT, .slot = 0, .device = 0};
    CHECK(!open_object(vmm.base, BOX, &object, reason) && !export(&object, &message));
    shmemi_descriptors_close(&message.descriptors);
    CHECK(ask(message).rc == -ENOTSUP);
    message.descriptors = (struct shmemi_descriptors){.count = 1, .fd = {dup(0)}, .size = {vmm.piece}};
    CHECK(ask(message).rc == -ENOTSUP);
    vmm_free(&vmm);
}

static void check_descriptors(int device)
{
    check_vmm_pieces(1, device);
    check_vmm_pieces(2, device);
    check_vmm_pieces(5, device);
    check_pool(device);
}

/* Nothing stays open in either process. What the driver opens for itself, it opens the first time. */
static void check_kinds(int device)
{
    check_descriptors(device);
    int mine = count_open(), theirs = ask((struct message){.command = NOTHING}).n_open;
    check_descriptors(device);
    check_wrong_descriptors();
    check_vmm_refused();
    int mine_after = count_open(), theirs_after = ask((struct message){.command = NOTHING}).n_open;
    CHECK(mine == mine_after && theirs == theirs_after);
}

static void time_one_device(void)
{
    CUdeviceptr x = 0, y = 0;
    struct shmemi_allocation object_x, object_y;
    size_t size = 64 << 20;
    time_owns("stack", &x);
    x = user_alloc(size), y = user_alloc(size);
    time_owns("device pointer", (void *)x);
    CHECK(!open_object(x, size, &object_x, reason) && !open_object(y, size, &object_y, reason));
    time_copies("one device:", &object_x.place, &object_y.place, size);
    USE(cuda.cuMemFree(x));
    USE(cuda.cuMemFree(y));
}

/* To and from the last device, where the other process is, if there are several. */
static void time_two_processes(void)
{
    CUdeviceptr large;
    size_t size = 1 << 30;
    if (cuda.cuMemAlloc(&large, size) != CUDA_SUCCESS)
        return;
    if (!share(large, size, 0, LAST_DEVICE).rc) {
        CHECK(!ask_rc(TIME, 0, 0, size));
        CHECK(!ask_rc(RELEASE, 0, 0, 0));
    }
    USE(cuda.cuMemFree(large));
}

static bool can_share(void)
{
    static struct message message;
    struct shmemi_allocation object;
    CUdeviceptr x = user_alloc(BOX);
    bool is_shared = !open_object(x, BOX, &object, reason) && !export(&object, &message);
    USE(cuda.cuMemFree(x));
    return is_shared;
}

static int run(bool with_times)
{
    CUcontext primary;
    if (memory->device_count() == 0)
        return SKIP;
    USE(shmemi_cuda.cuDevicePrimaryCtxRetain(&primary, 0));
    USE(cuda.cuCtxSetCurrent(primary));
    check_not_exportable();
    if (!can_share())
        return SKIP;
    check_shared(0);
    check_shared(LAST_DEVICE);
    check_shared(OWN_CONTEXT);
    check_shared(OWNERS_DEVICE);
    check_gone();
    check_kinds(0);
    check_kinds(LAST_DEVICE);
    check_kinds(OWNERS_DEVICE);
    if (with_times) {
        time_two_processes();
        time_one_device();
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "child"))
        return child_main(atoi(argv[2]));
    double start = now_us();
    if (memory->open()) {
        printf("# no CUDA driver: skipped\n");
        return SKIP;
    }
    printf("# loading the driver: %.2f ms\n", (now_us() - start) * 1e-3);
    load_user_functions();
    start_child("/proc/self/exe");
    int rc = run(argc == 2 && !strcmp(argv[1], "time"));
    CHECK(!stop_child());
    memory->close();
    if (rc == SKIP)
        printf("# no CUDA device that can share memory: skipped\n");
    printf("# %d failures\n", n_failures);
    return n_failures ? 1 : rc;
}
