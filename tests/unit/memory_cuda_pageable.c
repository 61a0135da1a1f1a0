/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Large copies between pageable host memory and CUDA memory by copy threads: every byte, rows, several threads at once,
 * threads that are gone after the end, and host memory that cannot be page-locked. Skipped (77) without a CUDA device.
 */
#define _GNU_SOURCE
#include "base/log.h"
#include "base/settings.h"
#include "cuda_user.h"

#include <dirent.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { ROOM = 80 << 20, GUARD = 64, THREADS = 5 };

static CUcontext primary;

/* Large memory of one user thread. */
struct room {
    char *host, *back; /* pageable */
    struct shmemi_place gpu;
};

static void make_room(struct room *room)
{
    struct shmemi_allocation object;
    char reason[160];
    room->host = malloc(ROOM);
    room->back = malloc(ROOM);
    CHECK(room->host && room->back);
    CHECK(!open_object(user_alloc(ROOM), ROOM, &object, reason));
    room->gpu = object.place;
}

static void free_room(struct room *room)
{
    USE(cuda.cuMemFree(room->gpu.address));
    free(room->host);
    free(room->back);
}

/* Copies: blocking, started and waited for, or with an object that the library must find. */
static int run_copy(struct shmemi_place dest, struct shmemi_place source, const struct shmemi_shape *shape, int way)
{
    struct shmemi_event event;
    if (way == 2)
        dest.object = source.object = NULL;
    if (way != 1)
        return memory->copy(&dest, &source, shape);
    int rc = memory->copy_start(&dest, &source, shape, &event);
    return rc ? rc : memory->event_wait(&event);
}

static void check_size(struct room *room, size_t size, int way)
{
    struct shmemi_place out = shmemi_place_host(room->host + 3), in = shmemi_place_host(room->back + GUARD + 1);
    struct shmemi_shape shape = shmemi_shape_linear(size);
    char *back = room->back + GUARD + 1;
    fill(room->host + 3, size, (unsigned)size + (unsigned)way);
    memset(room->back, 0x5a, size + 2 * GUARD + 1);
    CHECK(!run_copy(room->gpu, out, &shape, way) && !run_copy(in, room->gpu, &shape, way));
    CHECK(!memcmp(back, room->host + 3, size));
    for (int i = 1; i <= GUARD; i++)
        CHECK(back[-i] == 0x5a && back[size + (size_t)i - 1] == 0x5a);
}

static void check_sizes(struct room *room)
{
    static const size_t sizes[] = {(1 << 20) + 1, (4 << 20) - 1, 4 << 20, (4 << 20) + 1, (9 << 20) + 77, 70 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int way = 0; way < 3; way++)
            check_size(room, sizes[i], way);
}

static void check_rows(struct room *room, size_t width, size_t rows, size_t gap)
{
    struct shmemi_place out = shmemi_place_host(room->host), in = shmemi_place_host(room->back);
    struct shmemi_shape to_gpu = {.width = width,
                                  .rows = rows,
                                  .dest_pitch = width + 3 * gap,
                                  .source_pitch = width + gap},
                        to_host = to_gpu;
    to_host.dest_pitch = width + 2 * gap;
    to_host.source_pitch = to_gpu.dest_pitch;
    fill(room->host, (width + gap) * rows, (unsigned)width);
    memset(room->back, 0x5a, to_host.dest_pitch * rows);
    CHECK(!run_copy(room->gpu, out, &to_gpu, rows & 1) && !run_copy(in, room->gpu, &to_host, rows & 1));
    for (size_t row = 0; row < rows; row++) {
        const char *line = room->back + row * to_host.dest_pitch;
        CHECK(!memcmp(line, room->host + row * to_gpu.source_pitch, width));
        for (size_t i = width; i < to_host.dest_pitch; i++)
            CHECK(line[i] == 0x5a);
    }
}

/* Copy threads in this process; they have a name. */
static int thread_count(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        char path[300], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE *comm = fopen(path, "r");
        if (!comm)
            continue;
        if (fgets(name, sizeof name, comm) && !strcmp(name, "shmem-copy\n"))
            count++;
        fclose(comm);
    }
    closedir(tasks);
    return count;
}

/* All checks with the kind as it is open now, with or without copy threads. */
static void check_all(struct room *room)
{
    check_sizes(room);
    check_rows(room, 4096, 1101, 40);
    check_rows(room, 70000, 300, 1);
    check_rows(room, (3 << 20) + 5, 7, 4096);
    check_rows(room, 100, 20000, 28); /* short rows, as before */
}

static void *use_as_well(void *argument)
{
    struct room room;
    (void)argument;
    USE(cuda.cuCtxSetCurrent(primary));
    make_room(&room);
    for (int i = 0; i < 20; i++)
        check_size(&room, (size_t)(1 + i) << 20, i % 3);
    free_room(&room);
    return NULL;
}

static void check_threads(void)
{
    pthread_t thread[3];
    for (int i = 0; i < 3; i++)
        CHECK(!pthread_create(&thread[i], NULL, use_as_well, NULL));
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
}

/* ---- Memory that cannot be page-locked --------------------------------------------------------------------------- */

static int lines_with(FILE *stream, const char *text)
{
    char line[512];
    int count = 0;
    rewind(stream);
    while (fgets(line, sizeof line, stream))
        count += strstr(line, text) != NULL;
    return count;
}

/* The driver refuses addresses without memory, which is logged once. */
static void check_refused_pin(void)
{
    char *nothing = mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    FILE *said = tmpfile();
    int saved = dup(STDERR_FILENO);
    CHECK(nothing != MAP_FAILED && said);
    dup2(fileno(said), STDERR_FILENO);
    int first = memory->pinning->pin(nothing, ROOM), second = memory->pinning->pin(nothing, ROOM);
    dup2(saved, STDERR_FILENO);
    close(saved);
    CHECK(first && second && !shmemi_gpu.is_locked_range(nothing, 1));
    CHECK(lines_with(said, "cannot be page-locked") == 1);
    memory->pinning->unpin(nothing, ROOM);
    fclose(said);
    munmap(nothing, ROOM);
}

/* Two ranges that meet within a page. Drivers differ in whether they accept this, but copies of both must be right, and
 * unpinned memory must not stay locked. */
static void check_neighbours(struct room *room)
{
    char *first = room->host + 3, *second = first + (2 << 20) + 100;
    int first_rc = memory->pinning->pin(first, (2 << 20) + 100), second_rc = memory->pinning->pin(second, 5 << 20);
    printf("# neighbours in a page: pin %d and %d, locked %d and %d, at the end %d\n", first_rc, second_rc,
           shmemi_gpu.is_locked_range(first, 1), shmemi_gpu.is_locked_range(second, 1),
           shmemi_gpu.is_locked_range(second + (5 << 20) - 1, 1));
    check_size(room, 7 << 20, 0);
    memory->pinning->unpin(first, (2 << 20) + 100);
    check_size(room, 7 << 20, 1);
    memory->pinning->unpin(second, 5 << 20);
    check_size(room, 7 << 20, 2);
    CHECK(!shmemi_gpu.is_locked_range(first, 1) && !shmemi_gpu.is_locked_range(second, 1));
}

/* The program has page-locked some bytes of what is copied, at its beginning or inside. */
static void check_partly_locked(struct room *room)
{
    static const size_t sizes[] = {5001, 9000, 70000, 900000, (6 << 20) + 1};
    for (size_t before = 0; before <= 1000; before += 1000) {
        char *out = room->host + 3 + before, *in = room->back + GUARD + 1 + before;
        CHECK(!memory->pinning->pin(out, 5000) && !memory->pinning->pin(in, 5000));
        CHECK(!shmemi_gpu.is_locked_range(out, 5001) && shmemi_gpu.is_locked_range(out, 5000));
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
            for (int way = 0; way < 3; way++)
                check_size(room, sizes[i], way);
        check_rows(room, 100, 3000, 28);
        check_rows(room, 3000, 50, 1);
        memory->pinning->unpin(out, 5000);
        memory->pinning->unpin(in, 5000);
    }
}

/* If no memory can be locked, copies are still right. Drivers differ in whether they observe the limit. */
static void check_limit(struct room *room)
{
    struct rlimit before, none;
    memory->close();
    CHECK(!memory->open());
    CHECK(!getrlimit(RLIMIT_MEMLOCK, &before));
    none = (struct rlimit){0, before.rlim_max};
    CHECK(!setrlimit(RLIMIT_MEMLOCK, &none));
    struct room fresh = *room;
    struct shmemi_allocation object;
    char reason[160];
    CHECK(!open_object(room->gpu.address, ROOM, &object, reason));
    fresh.gpu = object.place;
    check_size(&fresh, 5 << 20, 0);
    printf("# RLIMIT_MEMLOCK 0: %s\n", thread_count() ? "buffers page-locked anyway" : "no copy threads");
    setrlimit(RLIMIT_MEMLOCK, &before);
}

int main(void)
{
    struct room room;
    CUdevice device;
    if (memory->open() || memory->device_count() == 0)
        return SKIP;
    load_user_functions();
    USE(shmemi_cuda.cuDeviceGet(&device, 0));
    USE(shmemi_cuda.cuDevicePrimaryCtxRetain(&primary, device));
    USE(cuda.cuCtxSetCurrent(primary));
    make_room(&room);
    check_all(&room); /* by the driver */
    CHECK(thread_count() == 0);
    shmemi_settings.copy_chunk = 1 << 20;
    shmemi_settings.copy_threads = THREADS;
    check_sizes(&room);
    CHECK(thread_count() == THREADS);
    check_all(&room);
    check_threads();
    CHECK(thread_count() == THREADS);
    CHECK(!memory->pinning->pin(room.host, ROOM));
    check_all(&room); /* page-locked: to the GPU by the driver again */
    memory->pinning->unpin(room.host, ROOM);
    check_neighbours(&room);
    check_partly_locked(&room);
    shmemi_settings.copy_chunk = 0; /* by the driver */
    check_partly_locked(&room);
    shmemi_settings.copy_chunk = 1 << 20;
    check_limit(&room);
    check_refused_pin();
    memory->close();
    CHECK(thread_count() == 0);
    free_room(&room);
    if (!n_failures)
        printf("# pageable copies are right\n");
    return n_failures != 0;
}
