/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Host memory and the table of kinds. The two GPU kinds are simulated: their memory lies at addresses that no CPU can
 * access, and their copies complete late. So everything that memory.c does with a GPU runs without one. Linked with
 * memory.c, host.c and log.c alone.
 */
#include "base/log.h"
#include "gpu/memory.h"
#include "shmem/shmemx.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAKE_BYTES = 24 << 20, GUARD = 0x5a, PENDING_MAX = 4 };

#define CHECK(_condition)                                                                                              \
    do {                                                                                                               \
        if (!(_condition)) {                                                                                           \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #_condition);                                           \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* ---- Two made-up kinds ------------------------------------------------------------------------------------------- */

struct fake {
    uintptr_t base; /* addresses of the kind start here; CPU addresses never do */
    char *bytes;
    bool is_present, is_open, is_used;
    int n_opened, n_pinned, n_adopted;
    size_t largest_copy;
    int fail_after; /* copies that succeed before one fails; -1: none fails */
};

/* A copy that has been started. It writes nothing until it is waited for. */
struct pending {
    bool is_used;
    struct fake *fake;
    struct shmemi_place dest, source;
    struct shmemi_shape shape;
};

static struct fake cuda = {.base = (uintptr_t)1 << 60, .is_present = true, .fail_after = -1};
static struct fake opencl = {.base = (uintptr_t)1 << 61, .is_present = true, .fail_after = -1};
static struct pending pending[PENDING_MAX];

static struct fake *fake_of(const struct shmemi_memory *memory)
{
    return memory == &shmemi_memory_cuda ? &cuda : &opencl;
}

static struct shmemi_place translate(const struct fake *fake, const struct shmemi_place *place)
{
    if (place->memory == &shmemi_memory_host)
        return *place;
    CHECK(place->address - fake->base < FAKE_BYTES);
    return shmemi_place_host(fake->bytes + (place->address - fake->base));
}

static int fake_copy(struct fake *fake, const struct shmemi_place *dest, const struct shmemi_place *source,
                     const struct shmemi_shape *shape)
{
    struct shmemi_place to = translate(fake, dest), from = translate(fake, source);
    if (fake->fail_after == 0)
        return -EIO;
    fake->fail_after -= fake->fail_after > 0;
    if (fake->largest_copy < shape->width * shape->rows)
        fake->largest_copy = shape->width * shape->rows;
    return shmemi_memory_host.copy(&to, &from, shape);
}

static int fake_copy_start(struct fake *fake, const struct shmemi_place *dest, const struct shmemi_place *source,
                           const struct shmemi_shape *shape, struct shmemi_event *event_p)
{
    struct pending *slot = pending;
    while (slot->is_used)
        CHECK(++slot < pending + PENDING_MAX);
    *slot = (struct pending){true, fake, *dest, *source, *shape};
    *event_p = (struct shmemi_event){.memory = dest->memory, .object = slot, .handle = slot};
    return 0;
}

static int fake_wait(struct shmemi_event *event)
{
    struct pending *slot = event->handle;
    CHECK(slot->is_used);
    slot->is_used = false;
    return fake_copy(slot->fake, &slot->dest, &slot->source, &slot->shape);
}

static int fake_open(struct fake *fake)
{
    CHECK(!fake->is_open);
    fake->n_opened++;
    if (!fake->is_present)
        return -ENODEV;
    fake->is_open = true;
    return 0;
}

static int cuda_open(void)
{
    return fake_open(&cuda);
}

static int opencl_open(void)
{
    return fake_open(&opencl);
}

static void cuda_close(void)
{
    CHECK(cuda.is_open && cuda.n_pinned == 0);
    cuda.is_open = false;
}

static void opencl_close(void)
{
    CHECK(opencl.is_open);
    opencl.is_open = false;
}

static enum shmemi_claim cuda_claim(const void *address)
{
    bool is_own = cuda.is_used && (uintptr_t)address - cuda.base < FAKE_BYTES;
    return is_own ? SHMEMI_CLAIM_OWN : SHMEMI_CLAIM_NONE;
}

static void cuda_adopt(struct shmemi_place *place)
{
    CHECK(place->memory == &shmemi_memory_cuda);
    cuda.n_adopted++;
}

static int gpu_copy(const struct shmemi_place *dest, const struct shmemi_place *source,
                    const struct shmemi_shape *shape)
{
    return fake_copy(fake_of(dest->memory == &shmemi_memory_host ? source->memory : dest->memory), dest, source, shape);
}

static int gpu_copy_start(const struct shmemi_place *dest, const struct shmemi_place *source,
                          const struct shmemi_shape *shape, struct shmemi_event *event_p)
{
    return fake_copy_start(fake_of(dest->memory), dest, source, shape, event_p);
}

static int cuda_pin(void *address, size_t size)
{
    (void)address, (void)size;
    cuda.n_pinned++;
    return 0;
}

static void cuda_unpin(void *address, size_t size)
{
    (void)address, (void)size;
    cuda.n_pinned--;
}

static const struct shmemi_addresses cuda_addresses = {.claim = cuda_claim, .adopt = cuda_adopt};
static const struct shmemi_pinning cuda_pinning = {.pin = cuda_pin, .unpin = cuda_unpin};

const struct shmemi_memory shmemi_memory_cuda = {
    .name = "cuda",
    .title = "CUDA",
    .type = OSHM_MEMTYPE_CUDA,
    .open = cuda_open,
    .close = cuda_close,
    .addresses = &cuda_addresses,
    .copy = gpu_copy,
    .copy_start = gpu_copy_start,
    .event_test = fake_wait,
    .event_wait = fake_wait,
    .pinning = &cuda_pinning,
};

const struct shmemi_memory shmemi_memory_opencl = {
    .name = "opencl",
    .title = "OpenCL",
    .type = OSHM_MEMTYPE_OPENCL,
    .open = opencl_open,
    .close = opencl_close,
    .copy = gpu_copy,
    .copy_start = gpu_copy_start,
    .event_test = fake_wait,
    .event_wait = fake_wait,
};

/* ---- Host memory ------------------------------------------------------------------------------------------------- */

static void fill_pattern(char *bytes, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)((i * 2654435761u + seed) >> 13);
}

static void model_copy(char *dest, const char *source, const struct shmemi_shape *shape)
{
    for (size_t row = 0; row < shape->rows; row++)
        for (size_t i = 0; i < shape->width; i++)
            dest[row * shape->dest_pitch + i] = source[row * shape->source_pitch + i];
}

static void check_host_shape(size_t width, size_t rows, size_t dest_pitch, size_t source_pitch)
{
    enum { ROOM = 1 << 16 };
    static char source[ROOM], dest[ROOM], wanted[ROOM];
    struct shmemi_shape shape = {.width = width, .rows = rows, .dest_pitch = dest_pitch, .source_pitch = source_pitch};
    struct shmemi_place to = shmemi_place_host(dest + 1), from = shmemi_place_host(source + 3);
    struct shmemi_event event;
    fill_pattern(source, ROOM, 1);
    memset(dest, GUARD, ROOM);
    memset(wanted, GUARD, ROOM);
    model_copy(wanted + 1, source + 3, &shape);
    CHECK(!shmemi_memory_copy(&to, &from, &shape));
    CHECK(!memcmp(dest, wanted, ROOM));
    memset(dest, GUARD, ROOM);
    CHECK(!shmemi_memory_host.copy_start(&to, &from, &shape, &event));
    CHECK(!memcmp(dest, wanted, ROOM));
    CHECK(event.memory == &shmemi_memory_host && !event.memory->event_test(&event));
    CHECK(!event.memory->event_wait(&event));
}

static void check_host(void)
{
    static const size_t widths[] = {0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 64, 100};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        check_host_shape(widths[i], 1, 0, 0);
        check_host_shape(widths[i], 0, 8, 8);
        check_host_shape(widths[i], 50, widths[i], widths[i]);
        check_host_shape(widths[i], 50, widths[i] + 5, widths[i]);
        check_host_shape(widths[i], 50, widths[i], widths[i] + 24);
        check_host_shape(widths[i], 100, 512, 208);
    }
    CHECK(shmemi_memory_host.device_count() == 0);
}

/* ---- The table of kinds ------------------------------------------------------------------------------------------ */

static void check_names(void)
{
    CHECK(!strcmp(shmemi_memory_type_name(OSHM_MEMTYPE_CUDA), "CUDA"));
    CHECK(!strcmp(shmemi_memory_type_name(OSHM_MEMTYPE_OPENCL), "OpenCL"));
    CHECK(!strcmp(shmemi_memory_type_name(0), "unknown"));
}

static void check_absent(void)
{
    struct shmemi_place place;
    cuda.is_present = false;
    shmemi_memory_discover();
    CHECK(!shmemi_memory_probe && cuda.n_opened == 1 && opencl.n_opened == 0);
    CHECK(!shmemi_memory_of_type(OSHM_MEMTYPE_CUDA) && cuda.n_opened == 1);
    CHECK(!shmemi_memory_of_type(0) && !shmemi_memory_of_type(77));
    CHECK(shmemi_memory_locate(&place, &place) == SHMEMI_CLAIM_NONE);
    CHECK(place.memory == &shmemi_memory_host && place.address == (uintptr_t)&place);
    shmemi_memory_close();
    cuda.is_present = true;
}

static void check_present(void)
{
    struct shmemi_place place;
    void *device_pointer = (void *)(cuda.base + 100);
    shmemi_memory_discover();
    CHECK(shmemi_memory_probe && cuda.is_open && !opencl.is_open);
    shmemi_memory_locate(device_pointer, &place);
    CHECK(place.memory == &shmemi_memory_host);
    cuda.is_used = true;
    CHECK(shmemi_memory_locate(device_pointer, &place) == SHMEMI_CLAIM_OWN);
    CHECK(place.memory == &shmemi_memory_cuda && !place.object && place.address == cuda.base + 100);
    CHECK(cuda.n_adopted == 1);
    shmemi_memory_find(device_pointer, &place);
    CHECK(place.memory == &shmemi_memory_cuda && cuda.n_adopted == 1);
    CHECK(shmemi_memory_of_type(OSHM_MEMTYPE_CUDA) == &shmemi_memory_cuda);
    CHECK(shmemi_memory_of_type(OSHM_MEMTYPE_OPENCL) == &shmemi_memory_opencl && opencl.is_open);
    shmemi_memory_close();
    CHECK(!shmemi_memory_probe && !cuda.is_open && !opencl.is_open);
}

/* ---- Copies between kinds ---------------------------------------------------------------------------------------- */

/* From one kind to the other, against a model; in pieces no larger than the buffers. */
static void check_between(struct fake *to, const struct shmemi_memory *to_memory, struct fake *from,
                          const struct shmemi_memory *from_memory, const struct shmemi_shape *shape)
{
    static char wanted[FAKE_BYTES];
    struct shmemi_place dest = {to_memory, NULL, to->base + 5}, source = {from_memory, NULL, from->base + 9};
    fill_pattern(from->bytes, FAKE_BYTES, 3);
    memset(to->bytes, GUARD, FAKE_BYTES);
    memset(wanted, GUARD, FAKE_BYTES);
    model_copy(wanted + 5, from->bytes + 9, shape);
    to->largest_copy = from->largest_copy = 0;
    CHECK(!shmemi_memory_copy(&dest, &source, shape));
    CHECK(!memcmp(to->bytes, wanted, FAKE_BYTES));
    CHECK(to->largest_copy <= 4 << 20 && from->largest_copy <= 4 << 20);
}

static const struct shmemi_shape shapes[] = {
    {.width = 1, .rows = 1, .dest_pitch = 0, .source_pitch = 0},
    {.width = 0, .rows = 1, .dest_pitch = 0, .source_pitch = 0},
    {.width = 8, .rows = 0, .dest_pitch = 8, .source_pitch = 8},
    {.width = 300 << 10, .rows = 1, .dest_pitch = 0, .source_pitch = 0},
    {.width = (23 << 20) + 77, .rows = 1, .dest_pitch = 0, .source_pitch = 0},
    {.width = 8, .rows = 4096, .dest_pitch = 32, .source_pitch = 4096},
    {.width = 1000, .rows = 7000, .dest_pitch = 1000, .source_pitch = 3000},
    {.width = (6 << 20) + 1, .rows = 2, .dest_pitch = 9 << 20, .source_pitch = 7 << 20}, /* rows larger than a buffer */
    {.width = (1 << 20) + 3, .rows = 10, .dest_pitch = 2 << 20, .source_pitch = (1 << 20) + 3},
};

static void check_copies(void)
{
    CHECK(shmemi_memory_of_type(OSHM_MEMTYPE_CUDA) && shmemi_memory_of_type(OSHM_MEMTYPE_OPENCL));
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        check_between(&cuda, &shmemi_memory_cuda, &opencl, &shmemi_memory_opencl, &shapes[i]);
        check_between(&opencl, &shmemi_memory_opencl, &cuda, &shmemi_memory_cuda, &shapes[i]);
        check_between(&cuda, &shmemi_memory_cuda, &cuda, &shmemi_memory_cuda,
                      &(struct shmemi_shape){.width = 4, .rows = 1, .dest_pitch = 0, .source_pitch = 0});
    }
    CHECK(cuda.n_pinned == 1); /* the buffers, once */
}

static void check_host_to_kind(void)
{
    char word[8] = "abcdefg", back[8] = "";
    struct shmemi_place host = shmemi_place_host(word), there = {&shmemi_memory_opencl, NULL, opencl.base + 64};
    struct shmemi_place result = shmemi_place_host(back);
    struct shmemi_shape shape = shmemi_shape_linear(sizeof word);
    CHECK(!shmemi_memory_copy(&there, &host, &shape));
    CHECK(!shmemi_memory_copy(&result, &there, &shape));
    CHECK(!strcmp(back, word));
}

/* A failure on either side is returned, and no copy remains in progress. */
static void check_failures(void)
{
    struct shmemi_place dest = {&shmemi_memory_cuda, NULL, cuda.base};
    struct shmemi_place source = {&shmemi_memory_opencl, NULL, opencl.base};
    struct shmemi_shape shape = shmemi_shape_linear(20 << 20);
    for (int i = 0; i < 5; i++) {
        cuda.fail_after = i;
        CHECK(shmemi_memory_copy(&dest, &source, &shape) == -EIO);
        cuda.fail_after = -1;
        opencl.fail_after = i;
        CHECK(shmemi_memory_copy(&dest, &source, &shape) == -EIO);
        opencl.fail_after = -1;
        for (int j = 0; j < PENDING_MAX; j++)
            CHECK(!pending[j].is_used);
    }
    CHECK(!shmemi_memory_copy(&dest, &source, &shape));
}

int main(void)
{
    cuda.bytes = malloc(FAKE_BYTES);
    opencl.bytes = malloc(FAKE_BYTES);
    CHECK(cuda.bytes && opencl.bytes);
    check_host();
    check_names();
    check_absent();
    check_present();
    check_copies();
    check_host_to_kind();
    check_failures();
    shmemi_memory_close();
    CHECK(cuda.n_pinned == 0);
    free(cuda.bytes);
    free(opencl.bytes);
    return 0;
}
