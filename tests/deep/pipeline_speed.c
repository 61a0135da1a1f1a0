/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Speed of the pipeline: objects of one size, each allocated by malloc, are packed and sent to a kind of memory, and
 * back; beside it, one copy of as many page-locked bytes. One line per size and configuration.
 *
 *      pipeline_speed cuda|opencl|host|null [most bytes [us between [threads:KiB ...]]]
 *
 * Threads and KiB are SHMEM_COPY_THREADS and SHMEM_COPY_CHUNK.
 */
#define _GNU_SOURCE
#include "deep/pipeline.h"

#include "base/settings.h"
#include "gpu/copy_threads/copy_pool.h"
#include "../unit/unit.h"

#include <string.h>
#include <time.h>

enum { REPETITIONS = 25, BUDGET_NS = 400000000 };

static const struct shmemi_memory *memory;

/* n objects of width bytes, one after the other in the data. */
struct objects {
    char **object;
    size_t n, width;
};

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void copy_objects(const struct objects *objects, size_t at, char *bytes, size_t nbytes, bool packs)
{
    while (nbytes) {
        size_t offset = at % objects->width;
        size_t part = objects->width - offset < nbytes ? objects->width - offset : nbytes;
        char *object = objects->object[at / objects->width] + offset;
        memcpy(packs ? bytes : object, packs ? object : bytes, part);
        at += part;
        bytes += part;
        nbytes -= part;
    }
}

static void pack(const void *argument, size_t at, char *bytes, size_t nbytes)
{
    copy_objects(argument, at, bytes, nbytes, true);
}

static void unpack(const void *argument, size_t at, const char *bytes, size_t nbytes)
{
    copy_objects(argument, at, (char *)bytes, nbytes, false);
}

static struct objects make_objects(size_t n, size_t width)
{
    struct objects objects = {.object = malloc(n * sizeof(char *)), .n = n, .width = width};
    CHECK(objects.object);
    for (size_t i = 0; i < n; i++) {
        objects.object[i] = malloc(width);
        CHECK(objects.object[i]);
        memset(objects.object[i], (int)i, width);
    }
    return objects;
}

static void free_objects(struct objects *objects)
{
    for (size_t i = 0; i < objects->n; i++)
        free(objects->object[i]);
    free(objects->object);
}

/* ---- What is measured -------------------------------------------------------------------------------------------- */

struct subject {
    struct shmemi_place place;
    struct objects objects;
    char *locked; /* page-locked memory of the same size; NULL: not for this size */
};

static size_t bytes_of(const struct subject *subject)
{
    return subject->objects.n * subject->objects.width;
}

static void send(struct subject *subject)
{
    struct shmemi_far_side far = shmemi_far_place(subject->place);
    struct shmemi_pipeline_data source = {.size = bytes_of(subject), .pack = pack, .argument = &subject->objects};
    CHECK(!shmemi_pipeline_copy(&far, &source));
}

static void receive(struct subject *subject)
{
    struct shmemi_far_side far = shmemi_far_place(subject->place);
    struct shmemi_pipeline_data dest = {.size = bytes_of(subject), .unpack = unpack, .argument = &subject->objects};
    CHECK(!shmemi_pipeline_copy(&far, &dest));
}

/* The objects as direct ranges. */
static void send_direct(struct subject *subject)
{
    static struct shmemi_direct_range direct[1 << 16];
    struct shmemi_far_side far = shmemi_far_place(subject->place);
    const struct objects *objects = &subject->objects;
    CHECK(objects->n <= sizeof direct / sizeof direct[0]);
    for (size_t i = 0; i < objects->n; i++)
        direct[i] =
            (struct shmemi_direct_range){i * objects->width, objects->width, subject->locked + i * objects->width};
    struct shmemi_pipeline_data source = {bytes_of(subject), pack, NULL, objects, direct, objects->n, 0, NULL};
    CHECK(!shmemi_pipeline_copy(&far, &source));
}

static void send_locked(struct subject *subject)
{
    struct shmemi_place locked = shmemi_place_host(subject->locked);
    struct shmemi_shape shape = shmemi_shape_linear(bytes_of(subject));
    CHECK(!subject->place.memory->copy(&subject->place, &locked, &shape));
}

static void receive_locked(struct subject *subject)
{
    struct shmemi_place locked = shmemi_place_host(subject->locked);
    struct shmemi_shape shape = shmemi_shape_linear(bytes_of(subject));
    CHECK(!subject->place.memory->copy(&locked, &subject->place, &shape));
}

static void only_pack(struct subject *subject)
{
    pack(&subject->objects, 0, subject->locked, bytes_of(subject));
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Wait for so many microseconds, as a program that does other work in between. */
static uint64_t pause_us;

static void pause_between(void)
{
    for (uint64_t begin = now(); now() - begin < 1000 * pause_us;)
        continue;
}

/* Median in microseconds, without the first time. */
static double measure(void (*what)(struct subject *), struct subject *subject)
{
    uint64_t ns[REPETITIONS];
    int n = 0;
    what(subject);
    for (uint64_t begin = now(); n < REPETITIONS && (n < 3 || now() - begin < BUDGET_NS); n++) {
        pause_between();
        uint64_t start = now();
        what(subject);
        ns[n] = now() - start;
    }
    qsort(ns, (size_t)n, sizeof ns[0], by_value);
    return (double)ns[n / 2] / 1000;
}

static void print(const char *name, double us, size_t nbytes)
{
    printf("  %s %9.1f us %6.2f GB/s", name, us, (double)nbytes / us / 1000);
}

static void report(struct subject *subject, bool has_references)
{
    size_t nbytes = bytes_of(subject);
    printf("%2zu threads %4zu KiB %5zu x %8zu:", shmemi_settings.copy_threads, shmemi_settings.copy_chunk >> 10,
           subject->objects.n, subject->objects.width);
    print("to", measure(send, subject), nbytes);
    print("from", measure(receive, subject), nbytes);
    if (has_references) {
        print("| locked to", measure(send_locked, subject), nbytes);
        print("from", measure(receive_locked, subject), nbytes);
        if (subject->objects.width >= SHMEMI_PIPELINE_DIRECT)
            print("direct", measure(send_direct, subject), nbytes);
        print("pack", measure(only_pack, subject), nbytes);
    }
    printf("\n");
    fflush(stdout);
}

/* ---- Memory that discards everything: what the rest costs -------------------------------------------------------- */

static int null_copy(const struct shmemi_place *dest, const struct shmemi_place *source,
                     const struct shmemi_shape *shape)
{
    (void)dest, (void)source, (void)shape;
    return 0;
}

static int null_start(const struct shmemi_place *dest, const struct shmemi_place *source,
                      const struct shmemi_shape *shape, struct shmemi_event *event_p)
{
    *event_p = (struct shmemi_event){.memory = memory};
    return null_copy(dest, source, shape);
}

static int null_done(struct shmemi_event *event)
{
    (void)event;
    return 0;
}

static int null_devices(void)
{
    return 0;
}

static int null_pci(int device, char *text, size_t size)
{
    (void)device, (void)text, (void)size;
    return -1;
}

static const struct shmemi_memory null_memory = {
    .name = "null",
    .type = SHMEMI_MEMTYPE_OPENCL,
    .device_count = null_devices,
    .device_pci = null_pci,
    .copy = null_copy,
    .copy_start = null_start,
    .event_test = null_done,
    .event_wait = null_done,
};

/* ---- Sizes and configurations ------------------------------------------------------------------------------------ */

static const size_t sizes[][2] = {
    {1, 128},        {64, 128},         {1024, 128},      {1024, 256},      {3 * 1024, 128},
    {8 * 1024, 128}, {1024, 1024},      {32 * 1024, 128}, {4 * 1024, 1024}, {16 * 1024, 1024},
    {64, 1 << 20},   {64 * 1024, 1024}, {256, 1 << 20},   {1024, 1 << 20},  {2048, 1100000},
};

static void *device_memory(size_t size, struct shmemi_place *place_p)
{
    struct shmemi_allocation allocation;
    char reason[160];
    void *object = malloc(size);
    *place_p = shmemi_place_host(object);
    place_p->memory = memory;
    if (memory == &shmemi_memory_host || memory == &null_memory)
        return object;
    free(object);
    CHECK(!memory->allocate(0, size, &object));
    CHECK(!memory->open_object(object, size, &allocation, reason, sizeof reason));
    *place_p = allocation.place;
    return object;
}

static void run_size(struct shmemi_place place, char *locked, size_t n, size_t width, char *const *configurations)
{
    struct subject subject = {.place = place, .objects = make_objects(n, width), .locked = locked};
    for (int i = 0; configurations[i]; i++) {
        unsigned threads, kib;
        CHECK(sscanf(configurations[i], "%u:%u", &threads, &kib) == 2);
        shmemi_copy_pool_close();
        shmemi_settings.copy_threads = threads;
        shmemi_settings.copy_chunk = (size_t)kib << 10;
        report(&subject, i == 0);
    }
    free_objects(&subject.objects);
}

static const struct shmemi_memory *find_memory(const char *kind)
{
    if (!strcmp(kind, "host"))
        return &shmemi_memory_host;
    if (!strcmp(kind, "null"))
        return &null_memory;
    const struct shmemi_memory *found =
        shmemi_memory_of_type(!strcmp(kind, "cuda") ? SHMEMI_MEMTYPE_CUDA : SHMEMI_MEMTYPE_OPENCL);
    return found && found->device_count() > 0 ? found : NULL;
}

int main(int argc, char **argv)
{
    static char *standard[] = {"0:2048", NULL};
    const char *kind = argc > 1 ? argv[1] : "host";
    size_t most = argc > 2 ? strtoull(argv[2], NULL, 0) : 64 << 20;
    pause_us = argc > 3 ? strtoull(argv[3], NULL, 0) : 0;
    memory = find_memory(kind);
    if (!memory) {
        printf("no %s device\n", kind);
        return 77;
    }
    struct shmemi_place place;
    device_memory(most, &place);
    char *locked = aligned_alloc(1 << 21, (most + (1 << 21) - 1) >> 21 << 21);
    CHECK(locked);
    memset(locked, 1, most);
    shmemi_memory_pin(locked, most);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (sizes[i][0] * sizes[i][1] <= most)
            run_size(place, locked, sizes[i][0], sizes[i][1], argc > 4 ? argv + 4 : standard);
    shmemi_memory_close();
    free(locked);
    return 0;
}
