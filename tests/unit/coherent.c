/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Machines on which a GPU reaches all host memory (HMM; Grace, by ATS): CUDA's driver then tells of any address, without an
 * error. Such memory stays host memory that nobody has page-locked. The driver is played, as both kinds of machine have it:
 * no GPU is needed.
 */
#include "gpu/cuda/cuda_calls.h"
#include "gpu/memory.h"
#include "unit.h"

#include <errno.h>
#include <string.h>

enum { SIZE = 4096 };

static _Alignas(64) char plain[SIZE], locked[SIZE], device[SIZE], managed[SIZE], evicted[SIZE];

/* What the driver knows of memory that it has allocated or registered. */
static const struct known {
    const char *start;
    CUmemorytype type;
    bool is_managed;
} table[] = {
    {locked, CU_MEMORYTYPE_HOST, false},
    {device, CU_MEMORYTYPE_DEVICE, false},
    {managed, CU_MEMORYTYPE_DEVICE, true},
    {evicted, CU_MEMORYTYPE_HOST, true}, /* managed memory that lies in the host's memory now */
};

/* How the driver answers for memory that is not in the table. */
static struct {
    bool succeeds;     /* cuPointerGetAttribute */
    CUmemorytype type; /* of that memory */
} machine;

static const struct known *find(CUdeviceptr address)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (address - (CUdeviceptr)table[i].start < SIZE)
            return &table[i];
    return NULL;
}

static void tell(void *value, CUpointer_attribute attribute, CUdeviceptr address)
{
    const struct known *known = find(address);
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(CUmemorytype *)value = known ? known->type : machine.type;
        break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(bool *)value = known && known->is_managed;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr *)value = address;
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *(CUdeviceptr *)value = known ? (CUdeviceptr)known->start : 0;
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *(size_t *)value = known ? SIZE : 0;
        break;
    default: /* a context, a device, an id: the test asks for no object of the GPU's that could be opened */
        break;
    }
}

static CUresult get_attribute(void *value, CUpointer_attribute attribute, CUdeviceptr address)
{
    if (!find(address) && !machine.succeeds)
        return CUDA_ERROR_INVALID_VALUE;
    tell(value, attribute, address);
    return CUDA_SUCCESS;
}

/* No error for memory that the driver does not know: that is so on every machine. */
static CUresult get_attributes(unsigned count, CUpointer_attribute *attributes, void **values, CUdeviceptr address)
{
    for (unsigned i = 0; i < count && (find(address) || machine.succeeds); i++)
        tell(values[i], attributes[i], address);
    return CUDA_SUCCESS;
}

static void play_driver(void)
{
    shmemi_cuda.cuPointerGetAttribute = get_attribute;
    shmemi_cuda.cuPointerGetAttributes = get_attributes;
    shmemi_cuda_calls_fill();
}

static enum shmemi_claim claim(const char *address)
{
    return shmemi_memory_cuda.addresses->claim(address);
}

static void check_refused(char *address, const char *why)
{
    struct shmemi_allocation allocation;
    char reason[160] = "";
    CHECK(shmemi_memory_cuda.open_object(address, 8, &allocation, reason, sizeof reason) == -EINVAL);
    CHECK(strstr(reason, why));
}

static void check_locks(void)
{
    uintptr_t address = 0;
    CHECK(shmemi_gpu.is_locked_range(locked, SIZE) && shmemi_gpu.is_locked_range(locked + SIZE - 1, 1));
    CHECK(!shmemi_gpu.is_locked_range(locked, SIZE + 1) && !shmemi_gpu.is_locked_range(locked + SIZE - 1, 2));
    CHECK(!shmemi_gpu.is_locked_range(plain, 1) && !shmemi_gpu.is_locked_range(device, 1));
    CHECK(!shmemi_gpu.address_on_device(&address, (uintptr_t)locked) && address == (uintptr_t)locked);
    CHECK(shmemi_gpu.address_on_device(&address, (uintptr_t)plain));
    CHECK(shmemi_gpu.address_on_device(&address, (uintptr_t)device));
}

/* What holds on each machine. */
static void check_machine(const char *refusal)
{
    char local = 0;
    CHECK(claim(device) == SHMEMI_CLAIM_OWN && claim(device + SIZE - 1) == SHMEMI_CLAIM_OWN);
    CHECK(claim(managed) == SHMEMI_CLAIM_OWN && claim(evicted) == SHMEMI_CLAIM_OWN);
    CHECK(claim(locked) == SHMEMI_CLAIM_LOCKED);
    CHECK(claim(plain) != SHMEMI_CLAIM_OWN && claim(&local) != SHMEMI_CLAIM_OWN);
    check_refused(plain, refusal);
    check_refused(locked, "is page-locked host memory, not CUDA device memory");
    check_locks();
}

int main(void)
{
    play_driver();
    machine.succeeds = false;
    check_machine("is not CUDA device memory");
    CHECK(claim(plain) == SHMEMI_CLAIM_NONE);
    machine.succeeds = true; /* of no type: memory that nobody has registered */
    check_machine("is not CUDA device memory");
    CHECK(claim(plain) == SHMEMI_CLAIM_NONE);
    machine.type = CU_MEMORYTYPE_HOST;
    check_machine("not CUDA device memory");
    puts("coherent: passed");
    return 0;
}
