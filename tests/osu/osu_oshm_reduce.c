/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Latency of a sum over all PEs.
 */
#include "collective.h"

#include <string.h>

enum { VALUES = 7 };

/* What depends on the type of the elements. Sums are of small whole numbers, which every type holds exactly. */
struct element_type {
    const char *name;
    size_t size;
    size_t routine; /* offset into struct collective_calls */
    void (*set)(void *array, size_t i, int value);
    bool (*equals)(const void *array, size_t i, int value);
};

#define DEFINE_TYPE(TYPE)                                                                                              \
    static void set_##TYPE(void *array, size_t i, int value)                                                           \
    {                                                                                                                  \
        ((TYPE *)array)[i] = (TYPE)value;                                                                              \
    }                                                                                                                  \
    static bool equals_##TYPE(const void *array, size_t i, int value)                                                  \
    {                                                                                                                  \
        return ((const TYPE *)array)[i] == (TYPE)value;                                                                \
    }

DEFINE_TYPE(int)
DEFINE_TYPE(long)
DEFINE_TYPE(float)
DEFINE_TYPE(double)

#define TYPE_ROW(TYPE)                                                                                                 \
    {                                                                                                                  \
#TYPE, sizeof(TYPE), offsetof(struct collective_calls, sum_##TYPE), set_##TYPE, equals_##TYPE                  \
    }

static const struct element_type types[] = {TYPE_ROW(int), TYPE_ROW(long), TYPE_ROW(float), TYPE_ROW(double)};

static const struct element_type *type_of(const struct osu_options *options)
{
    const struct element_type *type = types;
    while (strcmp(type->name, options->type))
        type++;
    return type;
}

static collective_func_t routine(const struct collective_calls *calls, const struct osu_options *options)
{
    return *(const collective_func_t *)((const char *)calls + type_of(options)->routine);
}

static size_t element(const struct osu_options *options)
{
    return type_of(options)->size;
}

static void fill(const struct osu_session *session, void *source, size_t size)
{
    const struct element_type *type = type_of(&session->options);
    for (size_t i = 0; i < size / type->size; i++)
        type->set(source, i, (session->me + 1) * (int)(i % VALUES + 1));
}

static bool check(const struct osu_session *session, const void *dest, size_t size)
{
    const struct element_type *type = type_of(&session->options);
    int sum_of_ranks = session->n_pes * (session->n_pes + 1) / 2;
    bool right = true;
    for (size_t i = 0; i < size / type->size; i++)
        right &= type->equals(dest, i, sum_of_ranks * (int)(i % VALUES + 1));
    return right;
}

static const struct collective_test test = {
    .program =
        {
            .name = "osu_oshm_reduce",
            .title = "OSU OpenSHMEM Reduce Latency Test",
            .summary = "Latency of a sum over all PEs.",
            COLLECTIVE_OF_BUFFERS,
            .typed = true,
        },
    .routine = routine,
    .element = element,
    .fill = fill,
    .check = check,
};

int main(int argc, char **argv)
{
    return collective_main(&test, argc, argv);
}
