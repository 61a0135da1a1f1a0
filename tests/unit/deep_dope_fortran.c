/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Descriptors that a Fortran compiler makes (deep_dope_arrays.f90): components of derived types as gfortran lays them
 * out, and the C descriptors of arguments.
 */
#include "deep/types/dope.h"

#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

extern int is_gfortran(void);
extern const char *empty_holder(void);
extern void fill_holder(void);
extern void point_to_gaps(void);
extern void point_to_components(void);
extern void point_to_little(void);
extern void pass_arrays(void);
void take_vector(const void *descriptor);
void take_allocatable(const void *descriptor);
void take_pointer(const void *descriptor);

/* The components of the type holder, in its order. */
static const struct component {
    const char *name, *type;
    size_t rank, n; /* elements once it is filled */
} components[] = {
    {"vector", "real(kind=8)", 1, 11}, {"cube", "integer(kind=2)", 3, 30},    {"plane", "complex(kind=4)", 2, 24},
    {"objects", "inner", 1, 3},        {"words", "character(kind=1)", 1, 20}, {"lines", "character(kind=1)", 1, 42},
    {"many", "real(kind=4)", 15, 24},  {"scalar", "real(kind=8)", 0, 1},      {"box", "inner", 0, 1},
    {"part", "real(kind=8)", 1, 20},
};
enum { N_COMPONENTS = sizeof components / sizeof components[0] };

static int read_component(const char *name, size_t *n_p, const char **cause_p)
{
    const char *at = empty_holder();
    const struct component *component = components;
    for (; strcmp(component->name, name); component++)
        at += shmemi_dope_size(SHMEMX_FIELD_GFORTRAN, component->rank);
    uintptr_t address;
    int rc = shmemi_dope_read(SHMEMX_FIELD_GFORTRAN, component->rank, shmemi_type_find(component->type), at, &address,
                              n_p, cause_p);
    fprintf(stderr, "# %s: %d, %zu at %#zx\n", name, rc, *n_p, (size_t)address);
    return rc;
}

static void check(const char *name, size_t n)
{
    size_t found;
    const char *cause;
    CHECK(!read_component(name, &found, &cause) && found == n);
}

static void check_gaps(const char *name)
{
    size_t found;
    const char *cause;
    CHECK(read_component(name, &found, &cause) == -EINVAL && strstr(cause, "gaps"));
}

static void check_components(void)
{
    for (size_t i = 0; i < N_COMPONENTS; i++)
        check(components[i].name, 0);
    fill_holder();
    for (size_t i = 0; i < N_COMPONENTS; i++)
        check(components[i].name, components[i].n);
    point_to_gaps();
    check_gaps("plane");
    check_gaps("part");
    point_to_components();
    check_gaps("plane");
    check_gaps("part");
    point_to_little();
    check("part", 1);
    check("plane", 12);
    check("vector", 0);
    check("objects", 2);
    check("words", 10);
}

/* Arguments, in the order of pass_arrays. */
static size_t calls;

static int read_argument(const char *type, size_t rank, const void *descriptor, size_t *n_p)
{
    uintptr_t address;
    const char *cause = "";
    int rc = shmemi_dope_read(SHMEMX_FIELD_CFI, rank, shmemi_type_find(type), descriptor, &address, n_p, &cause);
    fprintf(stderr, "# argument %zu: %d, %zu at %#zx %s\n", calls, rc, *n_p, (size_t)address, cause);
    calls++;
    return rc;
}

void take_vector(const void *descriptor)
{
    size_t n;
    CHECK(read_argument("double", 1, descriptor, &n) == (calls == 1 ? 0 : -EINVAL));
    CHECK(calls != 1 || n == 100);
}

void take_allocatable(const void *descriptor)
{
    size_t n;
    CHECK(!read_argument("int", 2, descriptor, &n) && n == (calls == 3 ? 0 : 20));
}

void take_pointer(const void *descriptor)
{
    size_t n;
    CHECK(read_argument("double", 1, descriptor, &n) == (calls == 7 ? -EINVAL : 0));
    CHECK(calls == 7 || n == (calls == 5 ? 0 : 10));
}

int main(void)
{
    const shmemx_field_t fields[] = {{"v", 8, SHMEMX_FIELD_GFORTRAN, "int", 1, NULL}};
    const shmemx_type_desc_t inner = {"inner", 72, 1, fields};
    CHECK(!shmemi_types_create("test", 1, &inner, NULL));
    if (is_gfortran())
        check_components();
    pass_arrays();
    CHECK(calls == 7);
    return 0;
}
