/* SPDX-License-Identifier: BSD-3-Clause
 *
 * CUDA memory of one process in another: opened once however often it is imported, written and read, released, freed
 * and allocated again by its owner. Skipped (77) when there is no CUDA device, or it cannot share memory. With the
 * argument "time" it also prints how long copies take, next to the driver's own calls.
 */
#include "base/log.h"
#include "cuda_user.h"

#include <dirent.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SLOTS = 4, TIMES_MAX = 2000 };

/* ---- Time -------------------------------------------------------------------------------------------------------- */

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e6 + now.tv_nsec * 1e-3;
}

static int compare(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

static double median(double *times, int n)
{
    qsort(times, n, sizeof *times, compare);
    return times[n / 2];
}

/* The driver's calls, the library with both objects known, and with the source's to be found: in turns. */
static void time_size(const char *what, const struct shmemi_place *dest, const struct shmemi_place *source, size_t size)
{
    static double raw[TIMES_MAX], known[TIMES_MAX], unknown[TIMES_MAX];
    struct shmemi_shape shape = shmemi_shape_linear(size);
    struct shmemi_place plain = {source->memory, NULL, source->address};
    int n = size < 1 << 20 ? TIMES_MAX : size < 64 << 20 ? 200 : size < 1 << 30 ? 30 : 7;
    CUstream stream;
    USE(shmemi_cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = -3; i < n; i++) {
        double t0 = now_us();
        USE(shmemi_cuda.cuMemcpyDtoDAsync(dest->address, source->address, size, stream));
        USE(shmemi_cuda.cuStreamSynchronize(stream));
        double t1 = now_us();
        CHECK(!memory->copy(dest, source, &shape));
        double t2 = now_us();
        CHECK(!memory->copy(dest, &plain, &shape));
        double t3 = now_us();
        if (i >= 0)
            raw[i] = t1 - t0, known[i] = t2 - t1, unknown[i] = t3 - t2;
    }
    USE(shmemi_cuda.cuStreamDestroy(stream));
    double base = median(raw, n), a = median(known, n), b = median(unknown, n);
    printf("# %s %10zu B: raw %.2f us, copy %.2f (x %.3f), source unknown %.2f (x %.3f)\n", what, size, base, a,
           a / base, b, b / base);
}

static void time_copies(const char *what, const struct shmemi_place *dest, const struct shmemi_place *source,
                        size_t size)
{
    static const size_t sizes[] = {8, 65536, 1 << 20, 64 << 20, 1 << 30};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && sizes[i] <= size; i++)
        time_size(what, dest, source, sizes[i]);
}

static void time_owns(const char *what, const void *address)
{
    enum { N = 200000 };
    int n_owned = 0;
    double start = now_us();
    for (int i = 0; i < N; i++)
        n_owned += memory->addresses->owns(address);
    printf("# owns(%s): %.1f ns (%s)\n", what, (now_us() - start) * 1e3 / N, n_owned ? "yes" : "no");
}

/* ---- A second process -------------------------------------------------------------------------------------------- */

enum command { NOTHING, IMPORT, READ, WRITE, TIME, RELEASE };
enum { LAST_DEVICE = -1 };

struct message {
    enum command command;
    int slot, device;
    unsigned seed;
    size_t size;
    struct shmemi_memory_handle handle;
    struct shmemi_descriptors descriptors; /* the numbers mean nothing to the other */
};

struct answer {
    int rc;
    int n_open; /* files of the process */
    uint64_t address;
};

/* ---- Messages ---------------------------------------------------------------------------------------------------- */

union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int) * SHMEMI_DESCRIPTORS_MAX)];
};

static void send_message(int socket, struct message *message)
{
    union control control = {0};
    struct iovec vector = {message, sizeof *message};
    struct msghdr header = {.msg_iov = &vector, .msg_iovlen = 1};
    size_t n_bytes = message->descriptors.count * sizeof(int);
    if (n_bytes) {
        header.msg_control = &control;
        header.msg_controllen = CMSG_SPACE(n_bytes);
        struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(n_bytes);
        memcpy(CMSG_DATA(rights), message->descriptors.fd, n_bytes);
    }
    CHECK(sendmsg(socket, &header, 0) == sizeof *message);
}

static bool receive_message(int socket, struct message *message)
{
    union control control;
    struct iovec vector = {message, sizeof *message};
    struct msghdr header = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    if (recvmsg(socket, &header, MSG_CMSG_CLOEXEC) != sizeof *message)
        return false;
    struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
    CHECK(!!rights == !!message->descriptors.count);
    if (rights)
        memcpy(message->descriptors.fd, CMSG_DATA(rights), message->descriptors.count * sizeof(int));
    return true;
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

static struct import_slot {
    struct shmemi_memory_handle handle;
    struct shmemi_place place;
} slots[SLOTS];

static int transfer(int slot, char *bytes, size_t size, bool is_write)
{
    struct shmemi_place host = shmemi_place_host(bytes);
    struct shmemi_shape shape = shmemi_shape_linear(size);
    return is_write ? memory->copy(&slots[slot].place, &host, &shape) : memory->copy(&host, &slots[slot].place, &shape);
}

static int child_time(const struct message *message)
{
    struct shmemi_cuda_context *context = slots[message->slot].place.object;
    struct shmemi_place mine = {memory, context, 0};
    bool pushed;
    USE(shmemi_cuda_enter(context, &pushed));
    mine.address = device_alloc(message->size);
    time_copies("to the other process:  ", &slots[message->slot].place, &mine, message->size);
    time_copies("from the other process:", &mine, &slots[message->slot].place, message->size);
    fflush(stdout);
    USE(user.cuMemFree(mine.address));
    shmemi_cuda_leave(pushed);
    return n_failures ? -EIO : 0;
}

static int child_import(const struct message *message)
{
    struct import_slot *slot = &slots[message->slot];
    char reason[192] = "";
    int device = message->device == LAST_DEVICE ? memory->device_count() - 1 : message->device;
    slot->handle = message->handle;
    int rc = memory->sharing->import_handle(&slot->handle, &message->descriptors, device, &slot->place, reason,
                                            sizeof reason);
    if (rc)
        printf("# not imported: %s\n", reason[0] ? reason : strerror(-rc));
    fflush(stdout);
    return rc;
}

static int child_serve(const struct message *message)
{
    struct import_slot *slot = &slots[message->slot];
    int rc = 0;
    switch (message->command) {
    case NOTHING:
        return 0;
    case IMPORT:
        return child_import(message);
    case READ:
        rc = transfer(message->slot, host_a, message->size, false);
        fill(host_b, message->size, message->seed);
        return rc ? rc : memcmp(host_a, host_b, message->size) ? -EBADMSG : 0;
    case WRITE:
        fill(host_a, message->size, message->seed);
        return transfer(message->slot, host_a, message->size, true);
    case TIME:
        return child_time(message);
    case RELEASE:
        memory->sharing->release_handle(&slot->handle, &slot->place);
        return 0;
    }
    return -EINVAL;
}

static int child_main(int socket)
{
    static struct message message;
    CHECK(!memory->open());
    load_user_functions();
    while (receive_message(socket, &message)) {
        int rc = child_serve(&message);
        shmemi_descriptors_close(&message.descriptors);
        struct answer answer = {rc, count_open(), slots[message.slot].place.address};
        CHECK(write(socket, &answer, sizeof answer) == sizeof answer);
    }
    memory->close();
    return n_failures ? 1 : 0;
}

static struct {
    pid_t pid;
    int socket;
} child;

/* Started before CUDA, which does not survive a fork. */
static void start_child(const char *program)
{
    int ends[2];
    CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends));
    child.pid = fork();
    if (child.pid == 0) {
        char number[16];
        close(ends[0]);
        snprintf(number, sizeof number, "%d", ends[1]);
        execl(program, program, "child", number, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    child.socket = ends[0];
}

static struct answer ask(struct message message)
{
    struct answer answer = {.rc = -EPIPE};
    send_message(child.socket, &message);
    shmemi_descriptors_close(&message.descriptors);
    CHECK(read(child.socket, &answer, sizeof answer) == sizeof answer);
    return answer;
}

static int ask_rc(enum command command, int slot, unsigned seed, size_t size)
{
    return ask((struct message){.command = command, .slot = slot, .seed = seed, .size = size}).rc;
}

static int stop_child(void)
{
    int status = 1;
    close(child.socket);
    waitpid(child.pid, &status, 0);
    return status;
}

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
    CUdeviceptr x = device_alloc(BOX), small[2] = {device_alloc(SMALL), device_alloc(SMALL)};
    fill(bytes, BOX, 1);
    USE(user.cuMemcpyHtoD(x, bytes, BOX));
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
    USE(user.cuMemcpyDtoH(bytes, x, BOX));
    CHECK(!memcmp(bytes, wanted, BOX));
    CHECK(!ask_rc(RELEASE, 0, 0, 0));
    CHECK(!ask_rc(READ, 1, 2, 1000)); /* the other user's mapping is still there */
    for (int i = 0; i < 2; i++) {
        CHECK(!ask_rc(WRITE, 2 + i, 5 + i, SMALL));
        fill(wanted, SMALL, 5 + i);
        USE(user.cuMemcpyDtoH(bytes, small[i], SMALL));
        CHECK(!memcmp(bytes, wanted, SMALL));
    }
    /* freed and allocated again while the other process has it open: the new one is what it gets */
    USE(user.cuMemFree(x));
    x = device_alloc(BOX);
    fill(bytes, BOX, 8);
    USE(user.cuMemcpyHtoD(x, bytes, BOX));
    CHECK(!share(x, BOX, 0, device).rc && !ask_rc(READ, 0, 8, BOX));
    for (int i = 0; i < SLOTS; i++)
        CHECK(!ask_rc(RELEASE, i, 0, 0));
    USE(user.cuMemFree(x));
    USE(user.cuMemFree(small[0]));
    USE(user.cuMemFree(small[1]));
}

/* A handle of memory that is gone is refused, and nothing else happens. */
static void check_gone(void)
{
    struct message message = {.command = IMPORT, .slot = 0, .device = 0};
    struct shmemi_allocation object;
    CUdeviceptr x = device_alloc(8 << 20);
    CHECK(!open_object(x, 8 << 20, &object, reason) && !export(&object, &message));
    USE(user.cuMemFree(x));
    CHECK(ask(message).rc == -ENOTSUP);
}

/* Each says what the user can do about it. */
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
        USE(user.cuMemFree(other));
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
    USE(user.cuMemcpyHtoD(pointer, host_a, size));
    USE(shmemi_cuda.cuStreamSynchronize(CU_STREAM_LEGACY)); /* the call may return before the data is there */
}

static bool holds(CUdeviceptr pointer, size_t size, unsigned seed)
{
    fill(host_b, size, seed);
    USE(user.cuMemcpyDtoH(host_a, pointer, size));
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

/* Descriptors that stand for something else, or are missing. */
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
    x = device_alloc(size), y = device_alloc(size);
    time_owns("device pointer", (void *)x);
    CHECK(!open_object(x, size, &object_x, reason) && !open_object(y, size, &object_y, reason));
    time_copies("one device:", &object_x.place, &object_y.place, size);
    USE(user.cuMemFree(x));
    USE(user.cuMemFree(y));
}

/* To and from the last device, where the other process is, if there are several. */
static void time_two_processes(void)
{
    CUdeviceptr large;
    size_t size = 1 << 30;
    if (user.cuMemAlloc(&large, size) != CUDA_SUCCESS)
        return;
    if (!share(large, size, 0, LAST_DEVICE).rc) {
        CHECK(!ask_rc(TIME, 0, 0, size));
        CHECK(!ask_rc(RELEASE, 0, 0, 0));
    }
    USE(user.cuMemFree(large));
}

static bool can_share(void)
{
    static struct message message;
    struct shmemi_allocation object;
    CUdeviceptr x = device_alloc(BOX);
    bool is_shared = !open_object(x, BOX, &object, reason) && !export(&object, &message);
    USE(user.cuMemFree(x));
    return is_shared;
}

static int run(bool with_times)
{
    CUcontext primary;
    if (memory->device_count() == 0)
        return SKIP;
    USE(shmemi_cuda.cuDevicePrimaryCtxRetain(&primary, 0));
    USE(user.cuCtxSetCurrent(primary));
    check_not_exportable();
    if (!can_share())
        return SKIP;
    check_shared(0);
    check_shared(LAST_DEVICE);
    check_shared(SHMEMI_DEVICE_OF_OWNER);
    check_gone();
    check_kinds(0);
    check_kinds(LAST_DEVICE);
    check_kinds(SHMEMI_DEVICE_OF_OWNER);
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
