/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The heap, static data, private memory, and buffers of each device, mapped and, where the library knows their
 * addresses, not mapped.
 */
#include "memories.h"

#include "check.h"
#include "map_check.h"

#include <shmemx.h>

enum { AREA = MEMORIES_AREA };

static _Alignas(16) char static_area[AREA], other_static_area[AREA];

static void add_host(struct memories *memories, const char *name, char *address)
{
    memories->memory[memories->n++] =
        (struct memory){.name = name, .address = address, .object = address, .device = &device_host};
}

static void add_mapped(struct memories *memories, struct device *device)
{
    struct memory memory = {.name = device->ops->name, .object = device_alloc(device, AREA), .device = device};
    memory.address = shmmap(memory.object, AREA, device->ops->memtype);
    CHECK_THAT(memory.address, "shmmap: %s", shmemx_strerror());
    memories->memory[memories->n++] = memory;
}

static void add_unmapped(struct memories *memories, struct device *device)
{
    void *buffer = device_alloc(device, AREA);
    memories->memory[memories->n++] = (struct memory){"unmapped device memory", buffer, buffer, device};
}

/* The heap comes first, private memory third: memories_close relies on it. */
void memories_open(struct memories *remotes, struct memories *locals)
{
    static const struct device_ops *const kinds[] = {&device_opencl_ops, &device_cuda_ops};
    remotes->n = locals->n = 0;
    add_host(remotes, "heap", check_shmem_malloc(AREA));
    add_host(remotes, "static data", static_area);
    add_host(locals, "heap", check_shmem_malloc(AREA));
    add_host(locals, "static data", other_static_area);
    add_host(locals, "private memory", check_malloc(AREA));
    for (int i = 0; i < 2; i++) {
        struct device *device = map_open_device(kinds[i]);
        if (!device)
            continue;
        add_mapped(remotes, device);
        add_mapped(locals, device);
        if (kinds[i]->local_pointer)
            add_unmapped(locals, device);
    }
}

static void discard(const struct memories *memories)
{
    for (int i = 0; i < memories->n; i++) {
        const struct memory *memory = &memories->memory[i];
        if (memory->device == &device_host)
            continue;
        if (memory->address != memory->object)
            shmumap(memory->address);
        device_free(memory->device, memory->object);
    }
}

void memories_close(struct memories *remotes, struct memories *locals)
{
    shmem_barrier_all();
    discard(remotes);
    discard(locals);
    shmem_free(locals->memory[0].address);
    shmem_free(remotes->memory[0].address);
    free(locals->memory[2].address);
}

void memories_fill(const struct memory *memory, unsigned seed)
{
    char *bytes = check_malloc(AREA);
    check_fill(bytes, AREA, seed);
    device_write(memory->device, memory->object, 0, bytes, AREA);
    free(bytes);
}

void memories_read(const struct memory *memory, char *bytes)
{
    device_read(memory->device, bytes, memory->object, 0, AREA);
}
