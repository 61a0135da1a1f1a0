/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the generator and the checker of random graphs share.
 */
#ifndef RANDOM_MODEL_H
#define RANDOM_MODEL_H

#include "random_graph.h"

enum { MAX_TYPES = 6, MAX_FIELDS = 16, NAME_SIZE = 40, NO_TARGET = -100, MAX_RANK = 3, IMAGE_HEADER = 128 };

enum role { ROLE_DATA, ROLE_COUNT, ROLE_EMBEDDED, ROLE_POINTER, ROLE_STRING, ROLE_DOPE, ROLE_WEAK, ROLE_OPAQUE };

struct basic_type {
    const char *name;
    size_t size;
    bool is_integer, is_signed;
};
extern const struct basic_type basic_types[];
extern const int n_basic_types;

/* coefficient * product of factors + constant; a factor is a field, or (inner >= 0) a field of an embedded one */
struct count_model {
    int coefficient, constant, n_factors;
    struct {
        int field, inner;
    } factors[2];
};

struct field_model {
    enum role role;
    int kind;   /* SHMEMX_FIELD_* */
    int target; /* number of a type, ~number of a basic type, or NO_TARGET */
    size_t offset, n, size, alignment;
    bool is_counted;
    struct count_model count;
    char name[NAME_SIZE], count_text[NAME_SIZE];
};

struct type_model {
    char name[NAME_SIZE];
    size_t size, alignment;
    int n_fields;
    struct field_model fields[MAX_FIELDS];
};

/* Memory with n elements of a type, between guards. */
struct block {
    char *memory, *start;
    size_t whole; /* bytes of memory */
    int type;
    size_t n;
    bool is_string;
    bool is_used;
};

struct random_model {
    uint64_t random; /* state */
    int n_types;
    struct type_model types[MAX_TYPES];
    shmemx_field_t texts[MAX_TYPES][MAX_FIELDS];
    shmemx_type_desc_t type_texts[MAX_TYPES];
    struct block *blocks;
    size_t n_blocks, max_blocks;
    size_t enough_blocks; /* from then on pointers to nothing new */
    struct array *arrays; /* what pointers can point to */
    size_t n_arrays, max_arrays;
};

uint64_t random_next(uint64_t *state);
void *must_have(void *memory);

/* Of types.c */
void random_types_make(struct random_model *model, uint64_t seed);
size_t random_size_of(const struct random_model *model, int type);
/* Elements that a pointer in an object points to. */
size_t random_count(const struct random_model *model, const struct type_model *type, const struct field_model *field,
                    const char *object);
size_t random_dope_size(int kind, size_t rank);
/* The number of elements that a descriptor gives. */
size_t random_dope_count(int kind, size_t rank, const char *descriptor);
void random_dope_write(int kind, size_t rank, char *descriptor, const void *address, const size_t *extents,
                       size_t element_size, uint64_t lower_bound);

#endif
