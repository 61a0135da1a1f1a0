/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Descriptors of Fortran arrays: reading them for arrays of any rank, and refusals. This program makes the descriptors;
 * deep_dope_fortran reads those of a Fortran compiler.
 */
#include "deep/types/dope.h"

#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 15, LARGEST = 8 * (5 + 3 * MOST) };

/* A descriptor in 8-byte words. It is read from a buffer of its exact size at an odd address, so that sanitizers detect
 * reads past its end. */
struct descriptor {
    int kind;
    size_t rank;
    int64_t words[LARGEST / 8];
};

static struct descriptor cfi(size_t rank, int64_t address, int64_t element_size)
{
    struct descriptor d = {.kind = SHMEMX_FIELD_CFI, .rank = rank};
    d.words[0] = address;
    d.words[1] = element_size;
    d.words[2] = (int64_t)rank << 32 | 1; /* version 1; the high 24 bits are attribute and type */
    d.words[2] |= (int64_t)0x7f << 40;
    return d;
}

static struct descriptor gfortran(size_t rank, int64_t address, int64_t element_size)
{
    struct descriptor d = {.kind = SHMEMX_FIELD_GFORTRAN, .rank = rank};
    d.words[0] = address;
    d.words[1] = -1; /* offset: not used */
    d.words[2] = element_size;
    d.words[3] = (int64_t)rank << 32 | (int64_t)3 << 40;
    d.words[4] = element_size; /* span */
    return d;
}

/* Bounds lower to lower + extent - 1; the stride in elements. */
static void set_dimension(struct descriptor *d, size_t i, int64_t lower, int64_t extent, int64_t stride)
{
    int64_t *words = &d->words[(d->kind == SHMEMX_FIELD_CFI ? 3 : 5) + 3 * i];
    bool is_cfi = d->kind == SHMEMX_FIELD_CFI;
    words[0] = is_cfi ? lower : stride;
    words[1] = is_cfi ? extent : lower;
    words[2] = is_cfi ? stride * d->words[1] : lower + extent - 1;
}

static int read(const struct descriptor *d, const char *type, uintptr_t *address_p, size_t *n_p, const char **cause_p)
{
    size_t size = shmemi_dope_size(d->kind, d->rank);
    char *bytes = malloc(size + 1);
    CHECK(bytes && size <= sizeof d->words);
    memcpy(bytes + 1, d->words, size);
    int rc = shmemi_dope_read(d->kind, d->rank, shmemi_type_find(type), bytes + 1, address_p, n_p, cause_p);
    free(bytes);
    return rc;
}

static void check(const struct descriptor *d, const char *type, size_t n)
{
    uintptr_t address = 1;
    size_t found = 4711;
    const char *cause = "";
    int rc = read(d, type, &address, &found, &cause);
    if (rc || found != n)
        fprintf(stderr, "rank %zu: %d %s, %zu instead of %zu\n", d->rank, rc, cause, found, n);
    CHECK(!rc && found == n && address == (uintptr_t)d->words[0]);
}

static void check_bad(const struct descriptor *d, const char *type, int error, const char *words)
{
    uintptr_t address;
    size_t n;
    const char *cause = "";
    int rc = read(d, type, &address, &n, &cause);
    if (rc != error || !strstr(cause, words))
        fprintf(stderr, "rank %zu: %d %s\n", d->rank, rc, cause);
    CHECK(rc == error && strstr(cause, words));
}

static void check_sizes(void)
{
    CHECK(shmemi_dope_size(SHMEMX_FIELD_CFI, 0) == 24 && shmemi_dope_size(SHMEMX_FIELD_CFI, 15) == 24 + 15 * 24);
    CHECK(shmemi_dope_size(SHMEMX_FIELD_GFORTRAN, 0) == 8 && shmemi_dope_size(SHMEMX_FIELD_GFORTRAN, 1) == 64);
    CHECK(!shmemi_dope_size(SHMEMX_FIELD_CFI, 16) && !shmemi_dope_size(SHMEMX_FIELD_GFORTRAN, SIZE_MAX));
    CHECK(!shmemi_dope_size(SHMEMX_FIELD_POINTER, 1));
}

typedef struct descriptor (*maker)(size_t rank, int64_t address, int64_t element_size);

static void check_ranks(maker make)
{
    for (size_t rank = 0; rank <= MOST; rank++) {
        struct descriptor d = make(rank, 4096, 8);
        int64_t stride = 1;
        for (size_t i = 0; i < rank; i++, stride *= 3)
            set_dimension(&d, i, (int64_t)i - 5, 3, stride);
        check(&d, "double", (size_t)stride);
        if (rank)
            check_bad(&d, "float", -EINVAL, "another size");
        d.words[0] = 0; /* not allocated: nothing else is read */
        memset(d.words + 1, 0xff, sizeof d.words - 8);
        check(&d, "float", 0);
    }
}

/* If the extent is 1 the stride does not matter; in an empty array nothing does. */
static void check_strides(maker make)
{
    struct descriptor d = make(3, 4096, 4);
    set_dimension(&d, 0, 1, 5, 1);
    set_dimension(&d, 1, 1, 1, 777);
    set_dimension(&d, 2, 1, 7, 5);
    check(&d, "int", 35);
    set_dimension(&d, 2, 1, 7, 6);
    check_bad(&d, "int", -EINVAL, "gaps");
    set_dimension(&d, 2, 1, 7, 4);
    check_bad(&d, "int", -EINVAL, "gaps");
    set_dimension(&d, 2, 1, 7, -5);
    check_bad(&d, "int", -EINVAL, "backwards");
    set_dimension(&d, 2, 1, 0, 6);
    check(&d, "int", 0);
    set_dimension(&d, 0, 1, 5, 2);
    check(&d, "int", 0);
    set_dimension(&d, 2, 1, 7, 5);
    check_bad(&d, "int", -EINVAL, "gaps");
}

static void check_rank_and_size(maker make)
{
    struct descriptor d = make(2, 4096, 4);
    set_dimension(&d, 0, 1, 5, 1);
    set_dimension(&d, 1, 1, 3, 5);
    check(&d, "float", 15);
    d.rank = 1;
    check_bad(&d, "float", -EINVAL, "rank of the array differs");
    d.rank = 3;
    check_bad(&d, "float", -EINVAL, "rank of the array differs");
    d.rank = 2;
    d.words[d.kind == SHMEMX_FIELD_CFI ? 2 : 3] |= (int64_t)0xff << 32; /* a rank of -1 */
    check_bad(&d, "float", -EINVAL, "rank of the array differs");
}

static void check_characters(maker make)
{
    struct descriptor d = make(1, 4096, 12);
    set_dimension(&d, 0, 1, 5, 1);
    check(&d, "char", 60);
    check(&d, "character(kind=4)", 15);
    check_bad(&d, "signed char", -EINVAL, "another size");
    check_bad(&d, "int", -EINVAL, "another size");
    d = make(1, 4096, 10);
    set_dimension(&d, 0, 1, 5, 1);
    check_bad(&d, "character(kind=4)", -EINVAL, "another size");
    d = make(1, 4096, 0); /* strings without letters */
    set_dimension(&d, 0, 1, 5, 1);
    check(&d, "char", 0);
    check_bad(&d, "int", -EINVAL, "another size");
}

static void check_overflows(maker make)
{
    struct descriptor d = make(2, 4096, 4);
    set_dimension(&d, 0, 0, (int64_t)1 << 31, 1);
    set_dimension(&d, 1, 0, (int64_t)1 << 31, (int64_t)1 << 31);
    check_bad(&d, "int", -EOVERFLOW, "larger than memory");
    set_dimension(&d, 1, 0, (int64_t)1 << 29, (int64_t)1 << 31);
    check(&d, "int", (size_t)1 << 60);
    set_dimension(&d, 1, 0, (int64_t)1 << 30, (int64_t)1 << 31);
    check_bad(&d, "int", -EOVERFLOW, "larger than memory");
}

static void check_odd_bounds(void)
{
    struct descriptor d = cfi(0, 4096, INT64_MIN); /* one string that is longer than memory */
    check_bad(&d, "char", -EOVERFLOW, "larger than memory");
    d = cfi(1, 4096, 4);
    set_dimension(&d, 0, 0, -1, 1); /* an array of unknown extent */
    check_bad(&d, "int", -EINVAL, "negative extent");
    d = gfortran(1, 4096, 4);
    set_dimension(&d, 0, 1, -7, 1); /* allocate(a(1:-7)) */
    check(&d, "int", 0);
    d.words[5] = 1; /* stride and bounds are set directly */
    d.words[6] = INT64_MIN;
    d.words[7] = INT64_MAX;
    check_bad(&d, "int", -EOVERFLOW, "larger than memory");
    d.words[6] = -2;
    check_bad(&d, "int", -EOVERFLOW, "larger than memory");
    d.words[7] = 1;
    d.words[5] = INT64_MAX;
    check_bad(&d, "int", -EOVERFLOW, "larger than memory");
    /* Components of the elements of an array: the span is that of the whole element. */
    set_dimension(&d, 0, 1, 5, 1);
    d.words[4] = 16;
    check_bad(&d, "int", -EINVAL, "gaps");
}

static void check_all(maker make)
{
    check_ranks(make);
    check_strides(make);
    check_rank_and_size(make);
    check_characters(make);
    check_overflows(make);
}

int main(void)
{
    check_sizes();
    check_all(cfi);
    check_all(gfortran);
    check_odd_bounds();
    return 0;
}
