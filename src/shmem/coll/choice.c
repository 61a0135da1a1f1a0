/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads SHMEM_COLLECTIVE, and selects from the table of algorithms the lines that suit a team.
 */
#include "shmem/coll/choice.h"

#include "base/copy_bytes.h"
#include "base/log.h"
#include "base/settings.h"
#include "shmem/coll/collectives.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const collective_names[] = {
#define COLLECTIVE(collective) #collective,
#define ALGORITHM(collective, algorithm, least, limit, bytes, device, members)
#define AGAIN(collective, algorithm, least, limit, bytes, device, members)
#include "shmem/coll/choice.def"
#undef COLLECTIVE
#undef ALGORITHM
#undef AGAIN
};

struct row {
    enum shmemi_collective collective;
    enum shmemi_algorithm algorithm;
    const char *name;
    size_t least, limit, bytes[SHMEMI_PLACES], members;
    bool is_again;
};

static const struct row table[] = {
#define ANY SIZE_MAX
#define PARTS (SHMEMI_WHOLE_WORDS_MAX + 1)
#define LINE(collective, algorithm, least, limit, bytes, device, members, is_again)                                    \
    {SHMEMI_COLLECTIVE_##collective,                                                                                   \
     SHMEMI_##collective##_##algorithm,                                                                                \
     #algorithm,                                                                                                       \
     least,                                                                                                            \
     limit,                                                                                                            \
     {bytes, device},                                                                                                  \
     members,                                                                                                          \
     is_again},
#define COLLECTIVE(collective)
#define ALGORITHM(collective, algorithm, least, limit, bytes, device, members)                                         \
    LINE(collective, algorithm, least, limit, bytes, device, members, false)
#define AGAIN(collective, algorithm, least, limit, bytes, device, members)                                             \
    LINE(collective, algorithm, least, limit, bytes, device, members, true)
#include "shmem/coll/choice.def"
#undef COLLECTIVE
#undef ALGORITHM
#undef AGAIN
#undef LINE
#undef PARTS
#undef ANY
};
enum { N_ROWS = sizeof table / sizeof table[0] };

/* The algorithm that SHMEM_COLLECTIVE names for each collective; NULL if the table decides. Set while the library
 * starts. */
static const struct row *forced[SHMEMI_COLLECTIVES];

static void list_allowed(char *text, size_t size)
{
    size_t length = 0;
    for (int i = 0; i < N_ROWS && length < size; i++) {
        bool first = i == 0 || table[i].collective != table[i - 1].collective;
        if (table[i].is_again)
            continue;
        length += (size_t)snprintf(text + length, size - length, "%s%s%s%s",
                                   !first ? "|"
                                   : i    ? ", "
                                          : "",
                                   first ? collective_names[table[i].collective] : "", first ? "=" : "", table[i].name);
    }
}

/* The row that "collective=algorithm" names, or NULL. */
static const struct row *find_row(const char *word, size_t length)
{
    for (int i = 0; i < N_ROWS; i++) {
        char name[64];
        int n = snprintf(name, sizeof name, "%s=%s", collective_names[table[i].collective], table[i].name);
        if ((size_t)n == length && !strncmp(name, word, length))
            return &table[i];
    }
    return NULL;
}

int shmemi_choices_read(void)
{
    const char *text = shmemi_settings.collective;
    memset(forced, 0, sizeof forced);
    for (const char *word = text; *word;) {
        size_t length = strcspn(word, ",");
        const struct row *row = find_row(word, length);
        if (!row) {
            char allowed[1024];
            list_allowed(allowed, sizeof allowed);
            shmemi_error("SHMEM_COLLECTIVE=%s is not valid: '%.*s'; allowed, separated by commas: %s", text,
                         (int)length, word, allowed);
            return -EINVAL;
        }
        forced[row->collective] = row;
        word += length;
        word += *word == ',';
    }
    return 0;
}

/* A column of the table for a collective of a team with so many members, up to `covered` bytes so far. */
struct column {
    struct shmemi_step *step; /* the next */
    enum shmemi_collective collective;
    int place;
    size_t members, covered;
};

static void add(struct column *column, enum shmemi_algorithm algorithm, size_t most)
{
    *column->step++ = (struct shmemi_step){most, algorithm};
    column->covered = most;
}

/* What the table says for up to `most` bytes. */
static void add_rows(struct column *column, size_t most)
{
    for (int i = 0; i < N_ROWS && column->covered < most; i++) {
        const size_t bytes = table[i].bytes[column->place];
        if (table[i].collective == column->collective && table[i].members >= column->members && bytes > column->covered)
            add(column, table[i].algorithm, bytes < most ? bytes : most);
    }
}

static void make(struct column column)
{
    const struct row *row = forced[column.collective];
    if (row) {
        add_rows(&column, column.place == SHMEMI_IN_HOST ? row->least - 1 : 0);
        add(&column, row->algorithm, row->limit);
    }
    add_rows(&column, SIZE_MAX);
}

/* Whose number counts for a collective's lines: in leaders_alltoall all members send over the network. */
static int counted(int collective, const struct shmemi_team *team)
{
    if (collective == SHMEMI_COLLECTIVE_leaders_alltoall)
        return team->n_pes;
    return strncmp(collective_names[collective], "leaders_", 8) ? team->node.n : team->leaders.n;
}

void shmemi_choices_make(struct shmemi_choices *choices, const struct shmemi_team *team)
{
    for (int i = 0; i < SHMEMI_COLLECTIVES * SHMEMI_PLACES; i++) {
        int collective = i / SHMEMI_PLACES, place = i % SHMEMI_PLACES;
        make((struct column){.step = choices->step[collective][place],
                             .collective = (enum shmemi_collective)collective,
                             .place = place,
                             .members = (size_t)counted(collective, team)});
    }
}
