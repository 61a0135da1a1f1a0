/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The objects of symmetric memory, for reports: blocks, mapped buffers, variables.
 */
#include "race/report/objects.h"
#include "race/private.h"
#include "race/shadow.h"

#include <stdio.h>
#include <stdlib.h>

static struct object {
    uintptr_t address;
    size_t size;
    const char *kind;
    uintptr_t pc;
    const void *handle; /* of mapped OpenCL memory */
    struct object *next;
} * objects;
static race_lock lock;

static void clear(uintptr_t address, size_t size)
{
    struct race_place place;
    if (race_locate(&place, address, race.pe))
        race_clear(place.word, place.first + size);
}

void race_object_add(const void *address, size_t size, const char *kind, uintptr_t pc)
{
    struct object *object = malloc(sizeof *object);
    if (!object)
        return;
    *object = (struct object){(uintptr_t)address, size, kind, pc, NULL, NULL};
    race_lock_take(&lock);
    object->next = objects;
    objects = object;
    race_lock_give(&lock);
}

void race_object_set_handle(const void *address, const void *handle)
{
    race_lock_take(&lock);
    for (struct object *object = objects; object; object = object->next)
        if (object->address == (uintptr_t)address)
            object->handle = handle;
    race_lock_give(&lock);
}

uintptr_t race_object_of_handle(const void *handle, size_t offset, size_t size)
{
    uintptr_t address = 0;
    race_lock_take(&lock);
    for (const struct object *object = objects; handle && object; object = object->next)
        if (object->handle == handle && offset < object->size && size <= object->size - offset)
            address = object->address + offset;
    race_lock_give(&lock);
    return address;
}

size_t race_object_remove(const void *address)
{
    race_lock_take(&lock);
    struct object **link = &objects;
    while (*link && (*link)->address != (uintptr_t)address)
        link = &(*link)->next;
    struct object *object = *link;
    if (object)
        *link = object->next;
    race_lock_give(&lock);
    if (!object)
        return 0;
    const size_t size = object->size;
    if (race.window_size)
        clear(object->address, size);
    free(object);
    return size;
}

void race_objects_forget(void)
{
    while (objects)
        (void)race_object_remove((const void *)objects->address);
}

static bool describe_block(char *text, size_t size, uintptr_t address)
{
    bool found = false;
    race_lock_take(&lock);
    for (const struct object *object = objects; object && !found; object = object->next) {
        char place[512];
        if (address - object->address >= object->size)
            continue;
        found = true;
        race_describe_place(place, sizeof place, race.pe, object->pc);
        (void)snprintf(text, size, "byte %zu of the %s of %zu bytes made in %s", (size_t)(address - object->address),
                       object->kind, object->size, place);
    }
    race_lock_give(&lock);
    return found;
}

void race_describe_object(char *text, size_t size, uint64_t word, unsigned first)
{
    int pe;
    bool is_static;
    size_t offset;
    char object[768], variable[256];
    if (!race_place_of_number(word, &pe, &is_static, &offset)) {
        (void)snprintf(text, size, "private memory of PE %d at %#lx", race.pe,
                       (unsigned long)(race_private_address(word) + first));
        return;
    }
    const uintptr_t address = (is_static ? race.static_base : race.window_base) + offset + first;
    if (is_static && race_variable(variable, sizeof variable, address))
        (void)snprintf(object, sizeof object, "%s", variable);
    else if (is_static || !describe_block(object, sizeof object, address))
        (void)snprintf(object, sizeof object, "byte %zu of the %s", offset + first, is_static ? "static data" : "heap");
    (void)snprintf(text, size, "%s, PE %d", object, pe);
}
