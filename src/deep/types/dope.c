/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads descriptors of Fortran arrays. Their layouts are defined here, not taken from ISO_Fortran_binding.h, which
 * belongs to one compiler; the parts of the C descriptor that are used here are the same in GCC and LLVM.
 */
#include "deep/types/dope.h"

#include "deep/types/type_table.h"

#include <errno.h>
#include <string.h>

enum { MOST_RANKS = 15 };

struct cfi_dimension {
    int64_t lower_bound, extent, stride; /* the stride in bytes */
};

struct cfi_descriptor {
    uintptr_t address;
    uint64_t element_size;
    int32_t version;
    int8_t rank;
    int8_t others[3]; /* attribute and type, which compilers arrange differently */
    struct cfi_dimension dimensions[MOST_RANKS];
};

struct gfortran_dimension {
    int64_t stride, lower_bound, upper_bound; /* the stride in spans */
};

/* The array descriptor of gfortran since GCC 8. */
struct gfortran_descriptor {
    uintptr_t address;
    uint64_t offset;
    uint64_t element_size;
    int32_t version;
    int8_t rank, type;
    int16_t attribute;
    int64_t span;
    struct gfortran_dimension dimensions[MOST_RANKS];
};

static size_t cfi_size(size_t rank)
{
    return offsetof(struct cfi_descriptor, dimensions) + rank * sizeof(struct cfi_dimension);
}

/* For a scalar gfortran uses a plain pointer. */
static size_t gfortran_size(size_t rank)
{
    size_t size = offsetof(struct gfortran_descriptor, dimensions) + rank * sizeof(struct gfortran_dimension);
    return rank ? size : sizeof(uintptr_t);
}

size_t shmemi_dope_size(int kind, size_t rank)
{
    if (rank > MOST_RANKS || (kind != SHMEMX_FIELD_CFI && kind != SHMEMX_FIELD_GFORTRAN))
        return 0;
    return kind == SHMEMX_FIELD_CFI ? cfi_size(rank) : gfortran_size(rank);
}

/* An array as both descriptors give it. It is dense if each stride is the product of the element size and the extents
 * before it. */
struct array {
    uint64_t element_size;
    size_t rank;
    int64_t extents[MOST_RANKS],
        strides[MOST_RANKS]; /* strides in bytes; that of a dimension with one element is ignored */
};

static int refuse_descriptor(int rc, const char *cause, const char **cause_p)
{
    *cause_p = cause;
    return rc;
}

static int too_large(const char **cause_p)
{
    return refuse_descriptor(-EOVERFLOW, "the array is larger than memory", cause_p);
}

static bool is_empty(const struct array *array)
{
    for (size_t i = 0; i < array->rank; i++)
        if (!array->extents[i])
            return true;
    return !array->element_size;
}

static int measure(const struct array *array, uint64_t *nbytes_p, const char **cause_p)
{
    uint64_t nbytes = array->element_size;
    *nbytes_p = 0;
    if (is_empty(array))
        return 0;
    for (size_t i = 0; i < array->rank; i++) {
        if (array->extents[i] != 1 && (uint64_t)array->strides[i] != nbytes)
            return refuse_descriptor(
                -EINVAL, "there are gaps between the elements of the array section, or they run backwards", cause_p);
        if (__builtin_mul_overflow(nbytes, (uint64_t)array->extents[i], &nbytes))
            return too_large(cause_p);
    }
    *nbytes_p = nbytes;
    return nbytes > PTRDIFF_MAX ? too_large(cause_p) : 0;
}

/* An element of a character array is a string, whose length only the descriptor gives. */
static int count_elements(const struct array *array, const struct shmemi_type *element, size_t *n_p,
                          const char **cause_p)
{
    bool fits = shmemi_type_is_character(element) ? array->element_size % element->size == 0
                                                  : array->element_size == element->size;
    if (!fits)
        return refuse_descriptor(-EINVAL, "the elements of the array have another size than the type", cause_p);
    uint64_t nbytes = 0;
    int rc = measure(array, &nbytes, cause_p);
    *n_p = rc ? 0 : (size_t)(nbytes / element->size);
    return rc;
}

static const char wrong_rank[] = "the rank of the array differs from that of the field";

static int read_cfi(const void *bytes, struct array *array, const char **cause_p)
{
    struct cfi_descriptor descriptor;
    memcpy(&descriptor, bytes, cfi_size(array->rank));
    if (descriptor.rank < 0 || (size_t)descriptor.rank != array->rank)
        return refuse_descriptor(-EINVAL, wrong_rank, cause_p);
    array->element_size = descriptor.element_size;
    for (size_t i = 0; i < array->rank; i++) {
        array->extents[i] = descriptor.dimensions[i].extent;
        array->strides[i] = descriptor.dimensions[i].stride;
        if (array->extents[i] < 0)
            return refuse_descriptor(-EINVAL, "the array has a negative extent", cause_p);
    }
    return 0;
}

/* In Fortran an upper bound below the lower one means an empty array. False on overflow. */
static bool gfortran_extent(const struct gfortran_dimension *dimension, int64_t *extent_p)
{
    if (dimension->upper_bound < dimension->lower_bound) {
        *extent_p = 0;
        return true;
    }
    return !__builtin_sub_overflow(dimension->upper_bound, dimension->lower_bound, extent_p) &&
           !__builtin_add_overflow(*extent_p, 1, extent_p);
}

static int read_gfortran(const void *bytes, struct array *array, const char **cause_p)
{
    struct gfortran_descriptor descriptor;
    memcpy(&descriptor, bytes, gfortran_size(array->rank));
    if (descriptor.rank < 0 || (size_t)descriptor.rank != array->rank)
        return refuse_descriptor(-EINVAL, wrong_rank, cause_p);
    array->element_size = descriptor.element_size;
    for (size_t i = 0; i < array->rank; i++) {
        const struct gfortran_dimension *dimension = &descriptor.dimensions[i];
        if (!gfortran_extent(dimension, &array->extents[i]) ||
            __builtin_mul_overflow(dimension->stride, descriptor.span, &array->strides[i]))
            return too_large(cause_p);
    }
    return 0;
}

int shmemi_dope_read(int kind, size_t rank, const struct shmemi_type *element, const void *descriptor,
                     uintptr_t *address_p, size_t *n_p, const char **cause_p)
{
    memcpy(address_p, descriptor, sizeof *address_p);
    *n_p = 0;
    if (!*address_p)
        return 0;
    if (kind == SHMEMX_FIELD_GFORTRAN && !rank) {
        *n_p = 1;
        return 0;
    }
    struct array array = {.rank = rank};
    int rc =
        kind == SHMEMX_FIELD_CFI ? read_cfi(descriptor, &array, cause_p) : read_gfortran(descriptor, &array, cause_p);
    return rc ? rc : count_elements(&array, element, n_p, cause_p);
}
