/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sets of fields, from names "type.field".
 */
#include "deep/types/type_table.h"

#include "base/log.h"
#include "base/text/nearest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int refuse_field(const char *routine, const char *name, const char *cause, const char *nearest)
{
    shmemi_error("%s: \"%s\" is not a field to skip: %s" SHMEMI_MEANT, routine, name, cause,
                 SHMEMI_MEANT_ARGUMENTS(nearest));
    return -EINVAL;
}

static const struct shmemi_type_link *find_link(const struct shmemi_type *type, const char *name)
{
    for (size_t i = 0; i < type->n_links; i++)
        if (!strcmp(type->links[i].name, name))
            return &type->links[i];
    return NULL;
}

static const char *nearest_link(const struct shmemi_type *type, const char *name)
{
    struct shmemi_nearest nearest = {.unknown = name};
    for (size_t i = 0; i < type->n_links; i++)
        shmemi_nearest_offer(&nearest, type->links[i].name);
    return nearest.name;
}

static int add(const char *routine, const char *name, char *type_name, struct shmemi_field_set *set)
{
    char *dot = strrchr(type_name, '.');
    if (!dot)
        return refuse_field(routine, name, "the form is type.field", NULL);
    *dot = '\0';
    const struct shmemi_type_entry *entry = shmemi_type_table_find(type_name);
    if (!entry || !entry->created)
        return refuse_field(routine, name, "there is no such type", shmemi_type_table_nearest(type_name));
    const struct shmemi_type_link *link = find_link(&entry->type, dot + 1);
    if (!link)
        return refuse_field(routine, name, "the type has no such pointer", nearest_link(&entry->type, dot + 1));
    if (link->kind == SHMEMX_FIELD_VALUE)
        return refuse_field(routine, name, "it is not a pointer, but an object inside the type", NULL);
    set->words[link->id / 64] |= UINT64_C(1) << link->id % 64;
    return 0;
}

static int add_all(const char *routine, const char *const *names, struct shmemi_field_set *set)
{
    int rc = 0;
    set->n_words = shmemi_type_table_ids() / 64 + 1;
    set->words = calloc(set->n_words, sizeof *set->words);
    if (!set->words)
        rc = -ENOMEM;
    for (size_t i = 0; !rc && names[i]; i++) {
        char *copy = strdup(names[i]);
        rc = copy ? add(routine, names[i], copy, set) : -ENOMEM;
        free(copy);
    }
    return rc;
}

int shmemi_field_set_open(const char *routine, const char *const *names, struct shmemi_field_set *set)
{
    *set = (struct shmemi_field_set){0};
    if (!names || !names[0])
        return 0;
    shmemi_type_table_lock();
    int rc = add_all(routine, names, set);
    shmemi_type_table_unlock();
    if (rc == -ENOMEM)
        shmemi_error("%s: no memory for the list of fields to skip", routine);
    if (rc)
        shmemi_field_set_close(set);
    return rc;
}

void shmemi_field_set_close(struct shmemi_field_set *set)
{
    free(set->words);
    *set = (struct shmemi_field_set){0};
}
