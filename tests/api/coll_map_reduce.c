/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every reduction and scan of 1.6 on mapped GPU memory, from and to mapped memory and the heap, in place, at interior
 * addresses that need not have the alignment of the type, in objects at different offsets on different PEs; by the CPU
 * and by the GPU, over the direct route and the staged one. Contents are written and read through the vendor's API.
 */
#include "map_check.h"
#include "reduce_forms.h"

#include <shmemx.h>

enum { ELEMENT = 32, LONGEST = 5000, FEW = 33, BYTES = (LONGEST + 4) * ELEMENT + CHECK_GUARD };

struct setting {
    const char *collective, *route; /* the route is used only if the environment names none */
};

/* The first with all forms, the others with some. */
static const struct setting settings[] = {
    {"", "auto"},   {"reduce=segment,scan=segment", "auto"}, {"reduce=tree,scan=flat", "auto"},
    {"", "staged"}, {"leaders_reduce=halving", "staged"},
};
enum { N_SETTINGS = sizeof settings / sizeof settings[0] };

/* Memory that takes part: a mapped object or the heap. */
struct object {
    struct device *device; /* NULL: the heap */
    void *buffer;
    size_t skipped; /* of the buffer's bytes, before the mapped object */
    char *address;
};

static char *scratch;

static void write_object(const struct object *object, size_t at, size_t nbytes)
{
    if (object->device)
        device_write(object->device, object->buffer, object->skipped + at, scratch, nbytes);
    else
        memcpy(object->address + at, scratch, nbytes);
}

static void read_object(const struct object *object, size_t at, size_t nbytes)
{
    if (object->device)
        device_read(object->device, scratch, object->buffer, object->skipped + at, nbytes);
    else
        memcpy(scratch, object->address + at, nbytes);
}

static void prepare(const struct form *form, const struct object *source, size_t at, size_t nelems)
{
    _Alignas(ELEMENT) char element[ELEMENT] = {0};
    for (size_t i = 0; i < nelems; i++) {
        form->set(element, contribution(form, shmem_my_pe(), i));
        memcpy(scratch + i * form->size, element, form->size);
    }
    write_object(source, at, nelems * form->size);
}

static void check_found(const struct form *form, const struct object *dest, size_t at, size_t nelems, const char *where)
{
    read_object(dest, at, nelems * form->size + CHECK_GUARD);
    check_result(form, (unsigned char *)scratch, nelems, where);
}

/* at: of dest and source in their objects. */
static void check_one(const struct form *form, const struct object *dest, const struct object *source, size_t at,
                      size_t nelems)
{
    char where[64];
    size_t nbytes = nelems * form->size;
    snprintf(where, sizeof where, ", %s to %s at %zu", source->device ? source->device->ops->name : "heap",
             dest->device ? dest->device->ops->name : "heap", at);
    memset(scratch, 0xa5, nbytes + CHECK_GUARD);
    write_object(dest, at, nbytes + CHECK_GUARD);
    prepare(form, source, at, nelems);
    shmem_sync_all();
    CHECK(form->reduce(SHMEM_TEAM_WORLD, dest->address + at, source->address + at, nelems) == 0);
    check_found(form, dest, at, nelems, where);
    check_untouched(form->name, (unsigned char *)scratch + nbytes, CHECK_GUARD, 0xa5);
    if (!source->device)
        return;
    CHECK(form->reduce(SHMEM_TEAM_WORLD, source->address + at, source->address + at, nelems) == 0);
    check_found(form, source, at, nelems, " in place");
}

struct objects {
    struct object mapped[2], heap;
};

static void check_form(const struct form *form, const struct objects *objects, int number)
{
    const struct object *one = &objects->mapped[0], *other = &objects->mapped[1], *heap = &objects->heap;
    check_one(form, one, other, form->size, FEW);
    switch (number % 5) {
    case 0:
        check_one(form, one, other, 3 * form->size, 1);
        break;
    case 1:
        check_one(form, other, one, 3, FEW);
        break;
    case 2:
        check_one(form, one, heap, 64, 300);
        break;
    case 3:
        check_one(form, heap, other, 64, 300);
        break;
    default:
        check_one(form, one, other, 2 * form->size, LONGEST);
    }
}

static void make_objects(struct device *device, struct objects *objects)
{
    for (int i = 0; i < 2; i++) {
        struct object *object = &objects->mapped[i];
        /* an address within the allocation, of another alignment on each PE, where the kind has addresses */
        *object = (struct object){.device = device,
                                  .skipped = device->ops->local_pointer ? 48 + 8 * (size_t)(shmem_my_pe() % 3) : 0};
        object->buffer = device_alloc(device, BYTES + 128);
        object->address = shmmap((char *)object->buffer + object->skipped, BYTES, device->ops->memtype);
        CHECK_THAT(object->address, "shmmap: %s", shmemx_strerror());
    }
    objects->heap = (struct object){.address = check_shmem_malloc(BYTES)};
}

static void free_objects(struct objects *objects)
{
    shmem_barrier_all();
    for (int i = 0; i < 2; i++) {
        shmumap(objects->mapped[i].address);
        device_free(objects->mapped[i].device, objects->mapped[i].buffer);
    }
    shmem_free(objects->heap.address);
}

static bool check_kind(const struct device_ops *kind, bool is_thorough)
{
    struct device *device = map_open_device(kind);
    struct objects objects;
    if (!device)
        return false;
    make_objects(device, &objects);
    for (int i = 0; i < N_FORMS; i++)
        if (is_thorough || i % 3 == 0)
            check_form(&forms[i], &objects, i);
    free_objects(&objects);
    return true;
}

static bool check_setting(const struct setting *setting, bool keeps_route, bool is_thorough)
{
    setenv("SHMEM_COLLECTIVE", setting->collective, 1);
    if (!keeps_route)
        setenv("SHMEM_GPU_ROUTE", setting->route, 1);
    shmem_init();
    sync_words = shmem_calloc(SHMEM_REDUCE_SYNC_SIZE, sizeof *sync_words);
    work = check_shmem_malloc((LONGEST / 2 + 1) * ELEMENT);
    bool opencl = check_kind(&device_opencl_ops, is_thorough), cuda = check_kind(&device_cuda_ops, is_thorough);
    shmem_free(work);
    shmem_free(sync_words);
    return opencl || cuda;
}

int main(void)
{
    const bool keeps_route = getenv("SHMEM_GPU_ROUTE");
    scratch = check_malloc(BYTES);
    for (int i = 0; i < N_SETTINGS; i++) {
        if (!check_setting(&settings[i], keeps_route, i == 0)) {
            if (shmem_my_pe() == 0)
                printf("%s, %s\n", device_opencl_ops.absent, device_cuda_ops.absent);
            shmem_finalize();
            return CHECK_SKIP;
        }
        if (i + 1 < N_SETTINGS)
            shmem_finalize();
    }
    free(scratch);
    return check_end();
}
