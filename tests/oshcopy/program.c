/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program that copies by the CUDA driver's functions and knows nothing of oshcopy, for oshcopy.test, with the
 * stand-in of driver.c as the driver. Usage: program WAY plain|taken
 *
 * WAY says how it comes by the functions: dlsym (as the CUDA runtime does), default (dlsym over all libraries), proc or
 * proc1 (cuGetProcAddress of CUDA 12 or 11), linked (it is linked with the driver), or none: there is no driver.
 */
#define _GNU_SOURCE
#include "tests/oshcopy/driver.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(...) check((__VA_ARGS__), #__VA_ARGS__, __LINE__)

enum { LARGE = (9 << 20) + 4321, SMALL = 1 << 20, INVALID_VALUE = 1, SOME_ERROR = 700, THREADS = 4 };

typedef int copy_t(uintptr_t dest, uintptr_t source, size_t nbytes, void *stream); /* sync ones ignore the stream */

static const char *way, *base_now;
static bool is_taken;
static void *library;
static struct fake *driver;
static int (*allocate)(uintptr_t *address_p, size_t nbytes);
static int (*allocate_host)(void **address_p, size_t nbytes, unsigned flags);
static int failures;

static void check(bool holds, const char *what, int line)
{
    if (holds)
        return;
    fprintf(stderr, "%s %s, line %d: not %s\n", way, base_now ? base_now : "", line, what);
    failures++;
}

/* ---- How the program comes by functions -------------------------------------------------------------------------- */

extern int cuMemcpyHtoD_v2(uintptr_t, uintptr_t, size_t) __attribute__((weak));
extern int cuMemcpyDtoHAsync_v2(uintptr_t, uintptr_t, size_t, void *) __attribute__((weak));

static void *by_proc_address(const char *base, bool per_thread, int version)
{
    void *function = NULL, *again = NULL;
    int (*look_up)(const char *, void **, int, uint64_t, void *);
    look_up = dlsym(library, version < 12000 ? "cuGetProcAddress" : "cuGetProcAddress_v2");
    CHECK(look_up("cuGetProcAddress", &again, version, 0, NULL) == 0 && again == (void *)look_up);
    CHECK(look_up("cuInit", &again, version, 0, NULL) == 0 && again == dlsym(library, "cuInit"));
    CHECK(look_up("cuNothing", &again, version, 0, NULL) != 0);
    look_up(base, &function, version, per_thread ? 2 : 0, NULL);
    return function;
}

static copy_t *find(const char *symbol, const char *base, bool per_thread)
{
    if (!strcmp(way, "proc"))
        return by_proc_address(base, per_thread, 12000);
    if (!strcmp(way, "proc1"))
        return by_proc_address(base, per_thread, 11030);
    if (!strcmp(way, "linked") && !strcmp(symbol, "cuMemcpyHtoD_v2"))
        return (copy_t *)(void *)cuMemcpyHtoD_v2;
    if (!strcmp(way, "linked") && !strcmp(symbol, "cuMemcpyDtoHAsync_v2"))
        return cuMemcpyDtoHAsync_v2;
    return dlsym(strcmp(way, "dlsym") ? RTLD_DEFAULT : library, symbol);
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

static void fill(void *memory, size_t nbytes, unsigned seed)
{
    for (size_t i = 0; i < nbytes; i++)
        ((unsigned char *)memory)[i] = (unsigned char)(i * 7 + i / 4099 + seed);
}

static void clear(void)
{
    driver->counts = (struct fake_counts){0};
}

static void expect(bool taken)
{
    CHECK(driver->counts.direct == !taken);
    CHECK(taken == (driver->counts.pieces > 0));
}

static uintptr_t gpu_memory(size_t nbytes)
{
    uintptr_t address = 0;
    allocate(&address, nbytes);
    return address;
}

struct copy {
    const char *symbol, *base;
    bool per_thread;
    enum { TO_GPU, FROM_GPU, EITHER } direction;
    bool is_async, has_rows;
};

/* Rows without gaps are bytes: so functions that copy rows stand the same tests. */
static int (*rows_function)(const struct fake_rows *rows, void *stream);

static struct fake_side side_of(uintptr_t address, size_t pitch)
{
    return (struct fake_side){.type = FAKE_UNIFIED, .gpu = address, .pitch = pitch};
}

static int copy_by_rows(uintptr_t dest, uintptr_t source, size_t nbytes, void *stream)
{
    const size_t height = nbytes % 5 ? 4 : 5, width = nbytes / height;
    const struct fake_rows rows = {side_of(source, width), side_of(dest, width), width, height};
    CHECK(width * height == nbytes);
    return rows_function(&rows, stream);
}

/* Copy one way, look at the bytes, and return what the function has returned. */
static int copy_once(copy_t *function, uintptr_t dest, uintptr_t source, size_t nbytes, void *stream)
{
    static unsigned seed;
    fill((void *)source, nbytes, seed++);
    memset((void *)dest, 0, nbytes);
    clear();
    int result = function(dest, source, nbytes, stream);
    CHECK(result || !memcmp((void *)dest, (void *)source, nbytes));
    return result;
}

static void check_streams(copy_t *function, const struct copy *copy, uintptr_t dest, uintptr_t source)
{
    void *streams[] = {NULL, (void *)0x5000};
    for (int i = 0; i <= copy->is_async; i++) {
        void *awaited = i ? streams[i] : copy->per_thread ? (void *)2 : (void *)1;
        CHECK(copy_once(function, dest, source, LARGE, streams[i]) == 0);
        expect(is_taken);
        CHECK(driver->counts.awaited == (is_taken ? awaited : NULL));
    }
}

/* All of these are left to the driver. */
static void check_others(copy_t *function, uintptr_t dest, uintptr_t source, bool to_gpu)
{
    static void *locked;
    uintptr_t managed = (uintptr_t)((fake_managed_t *)dlsym(library, "fake_managed"))(LARGE);
    if (!locked)
        allocate_host(&locked, LARGE, 0);
    copy_once(function, dest, source, SMALL, NULL);
    expect(false);
    copy_once(function, to_gpu ? dest : (uintptr_t)locked, to_gpu ? (uintptr_t)locked : source, LARGE, NULL);
    CHECK(!driver->counts.direct && driver->counts.pieces == 1);
    copy_once(function, to_gpu ? managed : dest, to_gpu ? source : managed, LARGE, NULL);
    expect(false);
    driver->is_captured = true;
    copy_once(function, dest, source, LARGE, NULL);
    expect(false);
    driver->is_captured = false;
    void *context = driver->context;
    driver->context = NULL;
    copy_once(function, dest, source, LARGE, NULL);
    expect(false);
    driver->context = context;
}

static void check_errors(copy_t *function, uintptr_t dest, uintptr_t source)
{
    clear();
    CHECK(function(dest, source, 2 * LARGE, NULL) == INVALID_VALUE);
    expect(false);
    driver->error = SOME_ERROR;
    CHECK(copy_once(function, dest, source, LARGE, NULL) == SOME_ERROR);
    CHECK(driver->counts.direct == 1);
    driver->error = 0;
    CHECK(copy_once(function, dest, source, LARGE, NULL) == 0);
    expect(is_taken);
}

/* Copy rows with gaps, and return whether all is in place and nothing else was touched. */
static bool copy_rows(const struct fake_rows *rows, char *to, const char *from)
{
    const size_t to_extent = rows->dest.pitch * rows->height, from_extent = rows->source.pitch * rows->height;
    bool is_right = true;
    fill((void *)(uintptr_t)from, from_extent, 5);
    memset(to, 0x55, to_extent);
    clear();
    CHECK(rows_function(rows, NULL) == 0);
    for (size_t row = 0; row < rows->height && is_right; row++) {
        const char *there = to + row * rows->dest.pitch, *here = from + row * rows->source.pitch;
        is_right = !memcmp(there + rows->dest.x, here + rows->source.x, rows->width);
        for (size_t at = 0; at < rows->dest.pitch && is_right; at++)
            is_right = there[at] == 0x55 || (at >= rows->dest.x && at < rows->dest.x + rows->width);
    }
    return is_right;
}

/* Width, gaps and kinds of memory; what is no copy of wide rows of plain memory is left to the driver. */
static void check_rows(char *host, uintptr_t gpu, bool to_gpu)
{
    enum { WIDTH = 9000, HEIGHT = 1024, PITCH = 9200, OTHER_PITCH = 9210 };
    const struct fake_side at_host = {.x = 40, .type = FAKE_HOST, .host = host, .pitch = PITCH};
    const struct fake_side at_gpu = {.x = 11, .type = FAKE_GPU, .gpu = gpu, .pitch = OTHER_PITCH};
    struct fake_rows rows = {to_gpu ? at_host : at_gpu, to_gpu ? at_gpu : at_host, WIDTH, HEIGHT};
    char *to = to_gpu ? (char *)gpu : host, *from = to_gpu ? host : (char *)gpu;
    CHECK(copy_rows(&rows, to, from));
    expect(is_taken);
    rows.source.y = 3;
    rows.height -= 3;
    clear();
    memset(to, 0, PITCH);
    CHECK(!rows_function(&rows, NULL) &&
          !memcmp(to + rows.dest.x, from + 3 * rows.source.pitch + rows.source.x, WIDTH));
    expect(is_taken);
    rows.source.y = 0;
    rows.width = 1000; /* and more rows, so that it is as much */
    rows.dest.pitch = rows.source.pitch = 1100;
    rows.height = 8500;
    CHECK(copy_rows(&rows, to, from));
    expect(false);
    rows = (struct fake_rows){rows.source, rows.dest, WIDTH, HEIGHT};
    rows.dest.pitch = rows.source.pitch = PITCH;
    (to_gpu ? &rows.dest : &rows.source)->type = FAKE_ARRAY;
    (to_gpu ? &rows.dest : &rows.source)->array = (void *)gpu;
    CHECK(copy_rows(&rows, to, from));
    expect(false);
}

static void check_copy(const struct copy *copy, bool to_gpu)
{
    base_now = copy->symbol;
    copy_t *function = find(copy->symbol, copy->base, copy->per_thread);
    char *host = malloc(2 * LARGE);
    uintptr_t gpu = gpu_memory(LARGE);
    uintptr_t dest = to_gpu ? gpu : (uintptr_t)host, source = to_gpu ? (uintptr_t)host : gpu;
    CHECK(function != NULL);
    if (!function)
        return;
    if (copy->has_rows) {
        rows_function = (int (*)(const struct fake_rows *, void *))(void *)function;
        function = copy_by_rows;
        check_rows((char *)host, gpu, to_gpu);
    }
    check_streams(function, copy, dest, source);
    if (is_taken) {
        check_others(function, dest, source, to_gpu);
        check_errors(function, dest, source);
    }
    free(host);
}

static const struct copy copies[] = {
#define sync false, false
#define async true, false
#define rows_sync false, true
#define rows_async true, true
#define HOOK(symbol, base, per_thread, direction, when) {#symbol, #base, per_thread, direction, when},
#include "contrib/oshcopy/hooks.def"
#undef HOOK
};
enum { N_COPIES = sizeof copies / sizeof copies[0] };

/* The driver makes the copies of the first milliseconds. */
static void await_threads(void)
{
    copy_t *function = find("cuMemcpyHtoD_v2", "cuMemcpyHtoD", false);
    uintptr_t gpu = gpu_memory(LARGE), host = (uintptr_t)malloc(LARGE);
    for (int i = 0; i < 2000 && (i == 0 || driver->counts.direct); i++) {
        CHECK(copy_once(function, gpu, host, LARGE, NULL) == 0);
        CHECK(i > 0 || driver->counts.direct);
        usleep(5000);
    }
    free((void *)host);
}

static void check_copies(void)
{
    if (is_taken)
        await_threads();
    for (int i = 0; i < N_COPIES; i++) {
        if (copies[i].direction != FROM_GPU)
            check_copy(&copies[i], true);
        if (copies[i].direction != TO_GPU)
            check_copy(&copies[i], false);
    }
    base_now = NULL;
    CHECK(is_taken == (driver->mode_swaps > 0) && driver->mode_swaps % 2 == 0);
}

/* ---- More than one of something ---------------------------------------------------------------------------------- */

static void *copy_there_and_back(void *argument)
{
    copy_t *there = find("cuMemcpyHtoD_v2", "cuMemcpyHtoD", false);
    copy_t *back = find("cuMemcpyDtoHAsync_v2", "cuMemcpyDtoHAsync", false);
    char *from = malloc(LARGE), *to = malloc(LARGE);
    uintptr_t gpu = gpu_memory(LARGE);
    fill(from, LARGE, (unsigned)(uintptr_t)argument);
    for (int i = 0; i < 5; i++) {
        memset(to, 0, LARGE);
        CHECK(!there(gpu, (uintptr_t)from, LARGE, NULL) && !back((uintptr_t)to, gpu, LARGE, NULL));
        CHECK(!memcmp(from, to, LARGE));
    }
    free(from);
    free(to);
    return NULL;
}

static void check_threads(void)
{
    pthread_t threads[THREADS];
    clear();
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, copy_there_and_back, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK(driver->counts.direct == (is_taken ? 0 : THREADS * 10));
}

/* Another device, and a context that takes the place of one that was destroyed. */
static void check_contexts(void)
{
    void *context = driver->context;
    driver->context = (void *)0x2000;
    copy_there_and_back(NULL);
    driver->context = context;
    driver->generation++;
    clear();
    copy_there_and_back(NULL);
    CHECK(driver->counts.direct == (is_taken ? 0 : 10));
}

static void check_child(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        failures = 0;
        clear();
        copy_there_and_back(NULL);
        CHECK(driver->counts.direct == 10);
        _exit(failures != 0);
    }
    waitpid(child, &status, 0);
    CHECK(child > 0 && status == 0);
}

/* ---- The program ------------------------------------------------------------------------------------------------- */

/* dlsym finds out who calls it. */
static void check_dlsym(void)
{
    CHECK(dlsym(RTLD_NEXT, "dlsym") == dlsym(RTLD_DEFAULT, "dlsym"));
    CHECK(dlsym(RTLD_DEFAULT, "no such function") == NULL && dlerror());
    CHECK(dlsym(RTLD_DEFAULT, "culture") == NULL && dlerror());
}

static void check_without_driver(void)
{
    CHECK(!dlopen("libcuda.so.1", RTLD_NOW));
    for (int i = 0; i < N_COPIES; i++)
        CHECK(!dlsym(RTLD_DEFAULT, copies[i].symbol));
}

static void open_driver(void)
{
    library = dlopen("libcuda.so.1", RTLD_NOW | (strcmp(way, "default") ? RTLD_LOCAL : RTLD_GLOBAL));
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    driver = ((fake_t *)dlsym(library, "fake"))();
    allocate = (int (*)(uintptr_t *, size_t))dlsym(library, "cuMemAlloc_v2");
    allocate_host = (int (*)(void **, size_t, unsigned))dlsym(library, "cuMemHostAlloc");
}

/* A line for each thread: the processors that it may use. */
static void print_processors(void)
{
    char path[300], line[4096];
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
        FILE *file = fopen(path, "r");
        while (file && fgets(line, sizeof line, file))
            if (!strncmp(line, "Cpus_allowed_list:", strlen("Cpus_allowed_list:")))
                printf("%s", line);
        if (file)
            fclose(file);
    }
    if (tasks)
        closedir(tasks);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    way = argv[1];
    is_taken = !strcmp(argv[2], "taken");
    check_dlsym();
    if (!strcmp(way, "none")) {
        check_without_driver();
        return failures != 0;
    }
    open_driver();
    check_copies();
    check_threads();
    check_child();
    check_contexts();
    if (getenv("PRINT_PROCESSORS"))
        print_processors();
    return failures != 0;
}
