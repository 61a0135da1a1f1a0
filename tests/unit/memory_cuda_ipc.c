/* SPDX-License-Identifier: BSD-3-Clause
 *
 * CUDA memory of one process in another: opened once however often it is imported, written and read, released, freed
 * and allocated again by its owner. Skipped (77) when there is no CUDA device, or it cannot share memory. With the
 * argument "time" it also prints how long copies take, next to the driver's own calls.
 */
#include "base/log.h"
#include "cuda_user.h"

#include <errno.h>
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
        n_owned += memory->owns(address);
    printf("# owns(%s): %.1f ns (%s)\n", what, (now_us() - start) * 1e3 / N, n_owned ? "yes" : "no");
}

/* ---- A second process -------------------------------------------------------------------------------------------- */

enum command { IMPORT, READ, WRITE, TIME, RELEASE };

struct message {
    enum command command;
    int slot, device; /* device: -1 for the last */
    unsigned seed;
    size_t size;
    struct shmemi_memory_handle handle;
};

struct answer {
    int rc;
    uint64_t address;
};

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

static int child_serve(const struct message *message)
{
    struct import_slot *slot = &slots[message->slot];
    int rc = 0;
    switch (message->command) {
    case IMPORT:
        slot->handle = message->handle;
        return memory->import_handle(&slot->handle, message->device < 0 ? memory->device_count() - 1 : message->device,
                                     &slot->place);
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
        memory->release_handle(&slot->handle, &slot->place);
        return 0;
    }
    return -EINVAL;
}

static int child_main(int in, int out)
{
    struct message message;
    CHECK(!memory->open());
    load_user_functions();
    while (read(in, &message, sizeof message) == sizeof message) {
        struct answer answer = {child_serve(&message), slots[message.slot].place.address};
        CHECK(write(out, &answer, sizeof answer) == sizeof answer);
    }
    memory->close();
    return n_failures ? 1 : 0;
}

static struct {
    pid_t pid;
    int in, out;
} child;

/* Started before CUDA, which does not survive a fork. */
static void start_child(const char *program)
{
    int down[2], up[2];
    CHECK(!pipe(down) && !pipe(up));
    child.pid = fork();
    if (child.pid == 0) {
        char in[16], out[16];
        close(down[1]);
        close(up[0]);
        snprintf(in, sizeof in, "%d", down[0]);
        snprintf(out, sizeof out, "%d", up[1]);
        execl(program, program, "child", in, out, (char *)NULL);
        _exit(127);
    }
    close(down[0]);
    close(up[1]);
    child.in = up[0];
    child.out = down[1];
}

static struct answer ask(struct message message)
{
    struct answer answer = {-EPIPE, 0};
    CHECK(write(child.out, &message, sizeof message) == sizeof message);
    CHECK(read(child.in, &answer, sizeof answer) == sizeof answer);
    return answer;
}

static int ask_rc(enum command command, int slot, unsigned seed, size_t size)
{
    return ask((struct message){.command = command, .slot = slot, .seed = seed, .size = size}).rc;
}

static int stop_child(void)
{
    int status = 1;
    close(child.out);
    waitpid(child.pid, &status, 0);
    return status;
}

static struct answer share(CUdeviceptr pointer, size_t size, int slot, int device)
{
    struct message message = {.command = IMPORT, .slot = slot, .device = device};
    struct shmemi_allocation object;
    char reason[160];
    CHECK(!open_object(pointer, size, &object, reason));
    CHECK(!memory->export_handle(&object, &message.handle));
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
    if (whole.rc == -ENOTSUP && device) {
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
    char reason[160];
    CUdeviceptr x = device_alloc(8 << 20);
    CHECK(!open_object(x, 8 << 20, &object, reason) && !memory->export_handle(&object, &message.handle));
    USE(user.cuMemFree(x));
    CHECK(ask(message).rc == -ENOTSUP);
}

static void check_not_exportable(void)
{
    struct shmemi_memory_handle handle;
    struct shmemi_allocation object;
    CUdeviceptr other;
    char reason[160];
    if (user.cuMemAllocManaged(&other, BOX, CU_MEM_ATTACH_GLOBAL) != CUDA_SUCCESS)
        return;
    CHECK(!open_object(other, BOX, &object, reason) && memory->export_handle(&object, &handle) == -ENOTSUP);
    USE(user.cuMemFree(other));
}

static void time_one_device(void)
{
    CUdeviceptr x = 0, y = 0;
    struct shmemi_allocation object_x, object_y;
    char reason[160];
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
    if (!share(large, size, 0, -1).rc) {
        CHECK(!ask_rc(TIME, 0, 0, size));
        CHECK(!ask_rc(RELEASE, 0, 0, 0));
    }
    USE(user.cuMemFree(large));
}

static bool can_share(void)
{
    struct shmemi_allocation object;
    struct shmemi_memory_handle handle;
    CUdeviceptr x = device_alloc(BOX);
    char reason[160];
    bool is_shared = !open_object(x, BOX, &object, reason) && !memory->export_handle(&object, &handle);
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
    check_shared(-1);
    check_gone();
    if (with_times) {
        time_two_processes();
        time_one_device();
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && !strcmp(argv[1], "child"))
        return child_main(atoi(argv[2]), atoi(argv[3]));
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
