/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Creation and destruction of spaces; look-up of copies.
 */
#include "deep/space/space.h"

#include "base/log.h"
#include "deep/space/technique.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <utlist.h>

static const struct shmemi_technique *const techniques[] = {
    [SHMEMX_DEEP_IMAGE] = &shmemi_technique_image,         [SHMEMX_DEEP_BASE] = &shmemi_technique_base,
    [SHMEMX_DEEP_BASE_PLUS] = &shmemi_technique_base_plus, [SHMEMX_DEEP_TCPY] = &shmemi_technique_tcpy,
    [SHMEMX_DEEP_PCPY] = &shmemi_technique_pcpy,
};

static pthread_mutex_t spaces_lock = PTHREAD_MUTEX_INITIALIZER;
static struct shmemi_space *spaces;

/* ---- Beginning and end ------------------------------------------------------------------------------------------- */

static int refuse_attributes(const char *cause)
{
    shmemi_error("shmemx_deep_space_create: %s", cause);
    return -EINVAL;
}

static int check_attributes(const shmemx_deep_space_attr_t *attr)
{
    if ((unsigned)attr->technique > SHMEMX_DEEP_PCPY)
        return refuse_attributes("the technique is none of SHMEMX_DEEP_IMAGE, BASE, BASE_PLUS, TCPY, PCPY");
    if ((unsigned)attr->lifetime > SHMEMX_DEEP_EXPLICIT)
        return refuse_attributes("the lifetime is none of SHMEMX_DEEP_COUNTED, STRUCTURED, EXPLICIT");
    if (!shmemi_memory_type_exists(attr->memory_type)) {
        char cause[128];
        snprintf(cause, sizeof cause, "the memory type is none of %s", shmemi_memory_types());
        return refuse_attributes(cause);
    }
    if (!attr->buffer && attr->memory_type == SHMEMI_MEMTYPE_OPENCL)
        return refuse_attributes("OpenCL needs a buffer: kernels reach only memory that they are given");
    if (attr->buffer && attr->technique == SHMEMX_DEEP_BASE)
        return refuse_attributes("the technique BASE takes memory from the driver: the buffer must be NULL");
    return 0;
}

static int open_memory(struct shmemi_space *space, const shmemx_deep_space_attr_t *attr)
{
    const struct shmemi_memory *kind = shmemi_memory_of_type(attr->memory_type);
    if (!kind) {
        shmemi_error("shmemx_deep_space_create: this machine or build has no %s",
                     shmemi_memory_type_name(attr->memory_type));
        return -ENODEV;
    }
    int n_devices = attr->buffer ? 0 : kind->device_count();
    if (!attr->buffer && (attr->device < 0 || attr->device >= n_devices)) {
        shmemi_error("shmemx_deep_space_create: there is no %s device %d; this PE sees %d",
                     shmemi_memory_type_name(attr->memory_type), attr->device, n_devices);
        return -ENODEV;
    }
    int rc = shmemi_space_memory_open(&space->memory, kind, attr->buffer, attr->size, attr->device,
                                      space->technique->is_per_object);
    if (rc == -ENOMEM)
        shmemi_error("shmemx_deep_space_create: no memory");
    return rc;
}

bool shmemi_space_exists(const struct shmemi_space *space)
{
    pthread_mutex_lock(&spaces_lock);
    const struct shmemi_space *found = spaces;
    while (found && found != space)
        found = found->next;
    pthread_mutex_unlock(&spaces_lock);
    return found;
}

int shmemi_space_open(const shmemx_deep_space_attr_t *attr, struct shmemi_space **space_p)
{
    int rc = check_attributes(attr);
    if (rc)
        return rc;
    struct shmemi_space *space = calloc(1, sizeof *space);
    if (!space)
        return -ENOMEM;
    space->technique = techniques[attr->technique];
    space->lifetime = attr->lifetime;
    space->is_asynchronous = attr->asynchronous;
    rc = open_memory(space, attr);
    if (rc) {
        free(space);
        return rc;
    }
    pthread_mutex_lock(&spaces_lock);
    space->next = spaces;
    spaces = space;
    pthread_mutex_unlock(&spaces_lock);
    *space_p = space;
    return 0;
}

static void forget(const struct shmemi_space *space)
{
    pthread_mutex_lock(&spaces_lock);
    struct shmemi_space **link = &spaces;
    while (*link && *link != space)
        link = &(*link)->next;
    if (*link)
        *link = space->next;
    pthread_mutex_unlock(&spaces_lock);
}

/* Also frees device memory that the driver allocated for single copies. */
static void free_set(struct shmemi_space *space, struct shmemi_copy_set *set)
{
    for (size_t i = 0; space->memory.is_per_object && i < set->n_copies; i++)
        if (set->copies[i].is_live)
            shmemi_copy_set_release(space, &(struct shmemi_space_copy *){&set->copies[i]}, 1);
    shmemi_copy_set_free(space, set);
}

void shmemi_space_close(struct shmemi_space *space)
{
    struct shmemi_copy_set *set, *next;
    forget(space);
    for (size_t i = 0; i < space->n_mappings; i++)
        shmemi_mapping_close(space->mappings[i]);
    DL_FOREACH_SAFE (space->sets, set, next)
        free_set(space, set);
    shmemi_copy_set_free_spare(space);
    free(space->scratch);
    shmemi_index_close(&space->index);
    shmemi_space_memory_close(&space->memory);
    free(space->mappings);
    free(space);
}

void shmemi_spaces_close(void)
{
    while (spaces)
        shmemi_space_close(spaces);
}

uint64_t shmemi_space_device(struct shmemi_space *space, uintptr_t address)
{
    const struct shmemi_space_copy *copy = shmemi_index_find(&space->index, address, 1);
    return copy ? copy->device + (address - copy->address) : 0;
}
