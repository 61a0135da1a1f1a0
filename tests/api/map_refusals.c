/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls that shmmap refuses: every PE gets NULL, shmemx_strerror names the PE and cause on every PE, nothing is
 * changed, and a correct map works afterwards. Runs with each kind of device of this machine.
 */
#include "check.h"
#include "map_check.h"

#include <shmemx.h>

enum { BYTES = 100000 };

static struct device *device;
static void *object;

/* One refused call. culprit: the PE that caused it, or -1 if the message names none. */
static void expect_refusal(const char *what, void *obj, size_t size, int type, int culprit, const char *cause)
{
    char who[32];
    snprintf(who, sizeof who, "PE %d", culprit);
    void *address = shmmap(obj, size, type);
    CHECK_THAT(!address, "%s: shmmap gave %p", what, address);
    const char *text = shmemx_strerror();
    CHECK_THAT(strstr(text, cause), "%s: shmemx_strerror says \"%s\", expected something with \"%s\"", what, text,
               cause);
    CHECK_THAT(culprit < 0 || strstr(text, who), "%s: shmemx_strerror says \"%s\", expected it to name %s", what, text,
               who);
}

static void expect_map(const char *what)
{
    unsigned char byte = 0, expected = (unsigned char)(check_origin(1) + 1);
    char *address = shmmap(object, BYTES, device->ops->memtype);
    CHECK_THAT(address, "a good map after %s: %s", what, shmemx_strerror());
    shmem_uchar_p((unsigned char *)address + BYTES - 1, (unsigned char)(shmem_my_pe() + 1), check_target(1));
    shmem_barrier_all();
    device_read(device, &byte, object, BYTES - 1, 1);
    CHECK_THAT(byte == expected, "a put after %s arrived as %d, expected %d", what, byte, expected);
    shmumap(address);
}

/* ---- the same fault on all PEs ----------------------------------------------------------------------------------- */

static void check_common_faults(void)
{
    expect_refusal("an unknown type", object, BYTES, 99, 0, "type");
    expect_refusal("type 0", object, BYTES, 0, 0, "type");
    expect_refusal("a negative type", object, BYTES, -1, 0, "type");
    expect_map("unknown types");
    expect_refusal("size 0", object, 0, device->ops->memtype, 0, "size is 0");
    expect_refusal("a size past the end", object, (size_t)1 << 40, device->ops->memtype, 0, "");
    expect_refusal("the greatest size", object, SIZE_MAX, device->ops->memtype, 0, "");
    expect_refusal("a NULL object", NULL, BYTES, device->ops->memtype, 0, "");
    expect_map("bad sizes and objects");
}

/* ---- one PE is at fault ------------------------------------------------------------------------------------------ */

static void check_single_faults(int culprit)
{
    bool guilty = shmem_my_pe() == culprit;
    bool alone = shmem_n_pes() == 1;
    void *nothing = NULL;
    expect_refusal("a NULL object on one PE", guilty ? NULL : object, BYTES, device->ops->memtype, culprit, "");
    expect_refusal("an object that is not device memory on one PE", guilty ? (void *)&nothing : object, BYTES,
                   device->ops->memtype, culprit, "");
    expect_refusal("size 0 on one PE", object, guilty ? 0 : BYTES, device->ops->memtype, culprit, "size is 0");
    expect_refusal("a size past the end on one PE", object, guilty ? (size_t)1 << 40 : BYTES, device->ops->memtype,
                   culprit, "");
    expect_refusal("an unknown type on one PE", object, BYTES, guilty ? 99 : device->ops->memtype, culprit, "type");
    if (!alone)
        expect_refusal("sizes that differ", object, guilty ? BYTES - 8 : BYTES, device->ops->memtype, culprit,
                       "size or type differs");
    expect_refusal("a PE that has nothing to map", guilty ? NULL : object, guilty ? 0 : BYTES,
                   guilty ? 0 : device->ops->memtype, culprit, "nothing to map");
    expect_map("a fault of one PE");
}

static void check_types_that_differ(void)
{
    int other = device->ops->memtype == OSHM_MEMTYPE_CUDA ? OSHM_MEMTYPE_OPENCL : OSHM_MEMTYPE_CUDA;
    if (shmem_n_pes() == 1)
        return;
    /* the other type may be missing here, or may not recognise the object; whichever is reported first, no PE gets a
     * map */
    expect_refusal("types that differ", object, BYTES, shmem_my_pe() == 0 ? other : device->ops->memtype, -1, "");
    expect_map("types that differ");
}

/* ---- mapped already ---------------------------------------------------------------------------------------------- */

static void check_mapped_already(void)
{
    char *address = shmmap(object, BYTES, device->ops->memtype);
    CHECK_THAT(address, "shmmap: %s", shmemx_strerror());
    expect_refusal("an object that is mapped already", object, BYTES, device->ops->memtype, 0, "already mapped");
    expect_refusal("a part that is mapped already", object, BYTES / 2, device->ops->memtype, 0, "already mapped");
    int culprit = shmem_n_pes() - 1;
    void *other = device_alloc(device, BYTES);
    expect_refusal("one PE's object is mapped already", shmem_my_pe() == culprit ? object : other, BYTES,
                   device->ops->memtype, culprit, "already mapped");
    if (device->ops->local_pointer)
        expect_refusal("an overlap", (char *)object + BYTES / 2, BYTES / 2, device->ops->memtype, 0, "already mapped");
    /* the first map is as it was */
    shmem_uchar_p((unsigned char *)address, 7, check_target(1));
    shmem_barrier_all();
    unsigned char byte = 0;
    device_read(device, &byte, object, 0, 1);
    CHECK_THAT(byte == 7, "after refusals the first map delivers %d, expected 7", byte);
    shmumap(address);
    device_free(device, other);
    expect_map("overlaps");
}

static void check_device(void)
{
    object = device_alloc(device, BYTES);
    check_common_faults();
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        check_single_faults(pe);
    check_types_that_differ();
    check_mapped_already();
    shmumap(NULL);
    device_free(device, object);
}

int main(void)
{
    static const struct device_ops *const kinds[] = {&device_opencl_ops, &device_cuda_ops};
    int n_checked = 0;
    shmem_init();
    for (int i = 0; i < 2; i++) {
        device = map_open_device(kinds[i]);
        if (!device)
            continue;
        check_device();
        n_checked++;
    }
    if (n_checked)
        return check_end();
    if (shmem_my_pe() == 0)
        puts("no device of any kind on this machine");
    shmem_finalize();
    return CHECK_SKIP;
}
