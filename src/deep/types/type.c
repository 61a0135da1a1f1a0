/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of types. Creation enters new types at once, so that they find each other by name, and removes them again
 * on an error; the lock hides them from other threads until then.
 */
#include "deep/types/type_table.h"

#include "base/log.h"
#include "base/text/nearest.h"
#include "base/pool.h"
#include "deep/types/count.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { TYPES_MAX = 1 << 16 };

static struct shmemi_pool entries = SHMEMI_POOL(struct shmemi_type_entry, TYPES_MAX);

static struct {
    pthread_mutex_t lock;
    struct shmemi_type_entry *types; /* by name; the predefined ones first */
    uint32_t n_ids;                  /* of fields; the highest numbers are reused when their types are destroyed */
    uint64_t n_circles;              /* numbers given so far */
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* What one call creates. */
struct creation {
    const shmemx_type_desc_t *texts;
    size_t n;                           /* number of texts that have an entry */
    struct shmemi_type_entry **entries; /* one for each text */
    struct shmemi_new_types new_types;  /* the new ones */
};

/* False if there is no memory. */
static bool insert(struct shmemi_type_entry *entry)
{
    HASH_ADD_KEYPTR(hh, table.types, entry->type.name, strlen(entry->type.name), entry);
    return entry->hh.tbl;
}

static void insert_predefined(void)
{
    size_t n;
    struct shmemi_type_entry *types = shmemi_predefined_types(&n);
    for (size_t i = 0; i < n; i++) {
        insert(&types[i]);
        types[i].visit = SHMEMI_VISITED;
        types[i].circle = table.n_circles++;
        types[i].type.layout = shmemi_type_hash_alone(&types[i].type);
    }
}

void shmemi_type_table_lock(void)
{
    pthread_mutex_lock(&table.lock);
    if (!table.types)
        insert_predefined();
}

void shmemi_type_table_unlock(void)
{
    pthread_mutex_unlock(&table.lock);
}

struct shmemi_type_entry *shmemi_type_table_find(const char *name)
{
    struct shmemi_type_entry *entry;
    HASH_FIND_STR(table.types, name, entry);
    return entry;
}

const char *shmemi_type_table_nearest(const char *name)
{
    struct shmemi_nearest nearest = {.unknown = name};
    for (int pass = 0; pass < 2; pass++) /* the program's own types first */
        for (struct shmemi_type_entry *entry = table.types; entry; entry = entry->hh.next)
            if (entry->created && entry->is_predefined == pass)
                shmemi_nearest_offer(&nearest, entry->type.name);
    return nearest.name && nearest.distance <= 1 + strlen(name) / 3 ? nearest.name : NULL;
}

uint32_t shmemi_type_table_ids(void)
{
    return table.n_ids;
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

static void free_entry(struct shmemi_type_entry *entry)
{
    for (size_t i = 0; i < entry->n_fields; i++) {
        free(entry->fields[i].name);
        free(entry->fields[i].type_name);
        free(entry->fields[i].count);
    }
    for (size_t i = 0; i < entry->type.n_links; i++)
        shmemi_count_free((struct shmemi_count_expression *)(uintptr_t)entry->type.links[i].count);
    free(entry->type.links);
    free(entry->fields);
    free((char *)(uintptr_t)entry->type.name);
    shmemi_pool_give_back(&entries, entry);
}

static bool copy_text(const char *text, char **copy_p)
{
    *copy_p = text ? strdup(text) : NULL;
    return *copy_p || !text;
}

static bool copy_field(const shmemx_field_t *text, struct shmemi_field *field)
{
    field->offset = text->offset;
    field->n = text->n;
    field->kind = text->kind;
    bool copied = copy_text(text->name, &field->name);
    copied = copy_text(text->type, &field->type_name) && copied;
    return copy_text(text->count, &field->count) && copied;
}

static struct shmemi_type_entry *copy_type(const shmemx_type_desc_t *text)
{
    struct shmemi_type_entry *entry = shmemi_pool_take(&entries);
    if (!entry)
        return NULL;
    entry->type.name = strdup(text->name);
    entry->type.size = text->size;
    entry->fields = calloc(text->nfields + 1, sizeof *entry->fields);
    bool copied = entry->type.name && entry->fields;
    for (size_t i = 0; copied && i < text->nfields; i++) {
        entry->n_fields++;
        copied = copy_field(&text->fields[i], &entry->fields[i]);
    }
    if (copied && insert(entry))
        return entry;
    free_entry(entry);
    return NULL;
}

static bool is_same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static bool is_same_type(const struct shmemi_type_entry *entry, const shmemx_type_desc_t *text)
{
    bool same = entry->type.size == text->size && entry->n_fields == text->nfields && !entry->is_predefined;
    for (size_t i = 0; same && i < entry->n_fields; i++) {
        const struct shmemi_field *field = &entry->fields[i];
        const shmemx_field_t *other = &text->fields[i];
        same = is_same_text(field->name, other->name) && field->offset == other->offset && field->kind == other->kind &&
               is_same_text(field->type_name, other->type) && field->n == other->n &&
               is_same_text(field->count, other->count);
    }
    return same;
}

/* Find or create the entry for a text, and count its creation. */
static int add_type(struct creation *creation, const shmemx_type_desc_t *text)
{
    if (!text->name || !*text->name || (text->nfields && !text->fields)) {
        shmemi_error("%s: a type needs a name, and its fields", creation->new_types.routine);
        return -EINVAL;
    }
    struct shmemi_type_entry *entry = shmemi_type_table_find(text->name);
    if (entry && !is_same_type(entry, text)) {
        shmemi_error("%s: type %s: %s", creation->new_types.routine, text->name,
                     entry->is_predefined ? "the name is that of a predefined type"
                                          : "there is another type of this name; destroy it first");
        return -EEXIST;
    }
    if (!entry) {
        entry = copy_type(text);
        if (!entry)
            return -ENOMEM;
        creation->new_types.entries[creation->new_types.n++] = entry;
    }
    entry->created++;
    creation->entries[creation->n++] = entry;
    return 0;
}

static int find_target(const struct creation *creation, const struct shmemi_type_entry *entry,
                       struct shmemi_field *field)
{
    if (!field->type_name)
        return 0;
    field->target = shmemi_type_table_find(field->type_name);
    if (field->target && field->target->created)
        return 0;
    const char *nearest = shmemi_type_table_nearest(field->type_name);
    shmemi_error("%s: type %s, field %s: there is no type %s" SHMEMI_MEANT, creation->new_types.routine,
                 entry->type.name, field->name ? field->name : "without a name", field->type_name,
                 SHMEMI_MEANT_ARGUMENTS(nearest));
    return -EINVAL;
}

static int find_targets(const struct creation *creation)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < creation->new_types.n; i++) {
        struct shmemi_type_entry *entry = creation->new_types.entries[i];
        for (size_t j = 0; !rc && j < entry->n_fields; j++)
            rc = find_target(creation, entry, &entry->fields[j]);
    }
    return rc;
}

static int number_fields(const struct shmemi_new_types *new_types)
{
    uint32_t n = table.n_ids;
    for (size_t i = 0; i < new_types->n; i++) {
        struct shmemi_type *type = &new_types->entries[i]->type;
        if (type->n_links > UINT32_MAX - n)
            return -ENOMEM;
        new_types->entries[i]->first_id = n;
        for (size_t j = 0; j < type->n_links; j++)
            type->links[j].id = n++;
    }
    table.n_ids = n;
    return 0;
}

static int build(struct creation *creation, size_t n)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < n; i++)
        rc = add_type(creation, &creation->texts[i]);
    if (!rc)
        rc = find_targets(creation);
    if (!rc)
        rc = shmemi_types_check(&creation->new_types);
    if (!rc)
        rc = shmemi_types_hash(&creation->new_types, table.n_circles);
    if (!rc)
        rc = number_fields(&creation->new_types);
    if (!rc)
        table.n_circles += creation->new_types.n;
    return rc;
}

static void undo(struct creation *creation)
{
    for (size_t i = 0; i < creation->n; i++)
        creation->entries[i]->created--;
    for (size_t i = 0; i < creation->new_types.n; i++) {
        HASH_DEL(table.types, creation->new_types.entries[i]);
        free_entry(creation->new_types.entries[i]);
    }
}

int shmemi_types_create(const char *routine, size_t n, const shmemx_type_desc_t *texts,
                        const struct shmemi_type **types_p)
{
    struct creation creation = {.texts = texts, .new_types = {.routine = routine}};
    creation.entries = calloc(n + 1, sizeof *creation.entries);
    creation.new_types.entries = calloc(n + 1, sizeof *creation.new_types.entries);
    int rc = -ENOMEM;
    if (creation.entries && creation.new_types.entries) {
        shmemi_type_table_lock();
        rc = build(&creation, n);
        if (rc)
            undo(&creation);
        for (size_t i = 0; !rc && types_p && i < n; i++)
            types_p[i] = &creation.entries[i]->type;
        shmemi_type_table_unlock();
    }
    if (rc == -ENOMEM)
        shmemi_error("%s: no memory for %zu types", routine, n);
    free(creation.entries);
    free(creation.new_types.entries);
    return rc;
}

const struct shmemi_type *shmemi_type_find(const char *name)
{
    if (!name)
        return NULL;
    shmemi_type_table_lock();
    const struct shmemi_type_entry *entry = shmemi_type_table_find(name);
    const struct shmemi_type *type = entry && entry->created ? &entry->type : NULL;
    shmemi_type_table_unlock();
    return type;
}

bool shmemi_type_exists(const struct shmemi_type *type)
{
    size_t n;
    const struct shmemi_type_entry *predefined = shmemi_predefined_types(&n);
    size_t offset = (size_t)((uintptr_t)type - (uintptr_t)predefined);
    return shmemi_pool_holds(&entries, type) || (offset < n * sizeof *predefined && offset % sizeof *predefined == 0);
}

/* ---- destruction ------------------------------------------------------------------------------------------------- */

/* Whether a type outside a circle refers to one in it. */
static bool needs_circle(const struct shmemi_type_entry *entry, uint64_t circle)
{
    for (size_t i = 0; entry->circle != circle && i < entry->n_fields; i++)
        if (entry->fields[i].target && entry->fields[i].target->circle == circle)
            return true;
    return false;
}

static int check_unneeded(const struct shmemi_type_entry *entry)
{
    for (struct shmemi_type_entry *other = table.types; other; other = other->hh.next) {
        bool is_held = other->circle == entry->circle && other->held;
        if (!is_held && !needs_circle(other, entry->circle))
            continue;
        shmemi_error("shmemx_type_destroy: type %s: %s%s still needs it", entry->type.name,
                     is_held ? "a mapped object or a transfer in progress" : "type ", is_held ? "" : other->type.name);
        return -EBUSY;
    }
    return 0;
}

/* Types that refer to each other are freed together, when the last of them is destroyed. */
static void free_circle(uint64_t circle)
{
    struct shmemi_type_entry *entry, *next;
    for (entry = table.types; entry; entry = entry->hh.next)
        if (entry->circle == circle && entry->created)
            return;
    HASH_ITER(hh, table.types, entry, next)
    {
        if (entry->circle != circle)
            continue;
        HASH_DEL(table.types, entry);
        free_entry(entry);
    }
}

static void count_ids(void)
{
    table.n_ids = 0;
    for (struct shmemi_type_entry *entry = table.types; entry; entry = entry->hh.next)
        if (entry->type.n_links && entry->first_id + entry->type.n_links > table.n_ids)
            table.n_ids = entry->first_id + (uint32_t)entry->type.n_links;
}

static int destroy(const struct shmemi_type *type)
{
    if (!shmemi_type_exists(type) || !shmemi_type_entry(type)->created) {
        shmemi_error("shmemx_type_destroy: there is no such type, or it has been destroyed");
        return -EINVAL;
    }
    struct shmemi_type_entry *entry = shmemi_type_entry(type);
    if (entry->is_predefined) {
        shmemi_error("shmemx_type_destroy: type %s is predefined", entry->type.name);
        return -EPERM;
    }
    int rc = entry->created > 1 ? 0 : check_unneeded(entry);
    if (rc)
        return rc;
    if (!--entry->created) {
        free_circle(entry->circle);
        count_ids();
    }
    return 0;
}

int shmemi_type_destroy(const struct shmemi_type *type)
{
    shmemi_type_table_lock();
    int rc = destroy(type);
    shmemi_type_table_unlock();
    return rc;
}

void shmemi_type_hold(const struct shmemi_type *type)
{
    shmemi_type_table_lock();
    shmemi_type_entry(type)->held++;
    shmemi_type_table_unlock();
}

void shmemi_type_let_go(const struct shmemi_type *type)
{
    shmemi_type_table_lock();
    shmemi_type_entry(type)->held--;
    shmemi_type_table_unlock();
}

void shmemi_types_close(void)
{
    shmemi_type_table_lock();
    struct shmemi_type_entry *entry, *next;
    HASH_ITER(hh, table.types, entry, next)
    {
        if (entry->is_predefined)
            continue;
        HASH_DEL(table.types, entry);
        free_entry(entry);
    }
    table.n_ids = 0;
    shmemi_type_table_unlock();
}
