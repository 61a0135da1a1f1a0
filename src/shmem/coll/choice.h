/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which algorithm serves a collective: the table shmem/coll/choice.def, and the setting SHMEM_COLLECTIVE that overrules
 * it.
 */
#ifndef SHMEMI_COLL_CHOICE_H
#define SHMEMI_COLL_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* SHMEMI_COLLECTIVE_sync, ... */
enum shmemi_collective {
#define COLLECTIVE(collective) SHMEMI_COLLECTIVE_##collective,
#define ALGORITHM(collective, algorithm, least, limit, bytes, device, members)
#define AGAIN(collective, algorithm, least, limit, bytes, device, members)
#include "shmem/coll/choice.def"
#undef COLLECTIVE
#undef ALGORITHM
#undef AGAIN
    SHMEMI_COLLECTIVES
};

/* SHMEMI_sync_flat, SHMEMI_sync_tree, ... */
enum shmemi_algorithm {
#define COLLECTIVE(collective)
#define ALGORITHM(collective, algorithm, least, limit, bytes, device, members) SHMEMI_##collective##_##algorithm,
#define AGAIN(collective, algorithm, least, limit, bytes, device, members)
#include "shmem/coll/choice.def"
#undef COLLECTIVE
#undef ALGORITHM
#undef AGAIN
    SHMEMI_ALGORITHMS
};

/* Columns of the table. */
enum { SHMEMI_IN_HOST, SHMEMI_IN_DEVICE, SHMEMI_PLACES };

/* A team's algorithms for each collective and column: each serves sizes up to a limit, the last up to SIZE_MAX. */
struct shmemi_choices {
    struct shmemi_step {
        size_t most_bytes;
        enum shmemi_algorithm algorithm;
    } step[SHMEMI_COLLECTIVES][SHMEMI_PLACES][4];
};

/* Read SHMEM_COLLECTIVE. Returns 0, or logs what is allowed and returns -EINVAL. */
int shmemi_choices_read(void);

/* For a team whose nodes and leaders are known. */
struct shmemi_team;
void shmemi_choices_make(struct shmemi_choices *choices, const struct shmemi_team *team);

static inline enum shmemi_algorithm shmemi_choose_for(const struct shmemi_choices *choices,
                                                      enum shmemi_collective collective, bool is_device, size_t nbytes)
{
    const struct shmemi_step *step = choices->step[collective][is_device ? SHMEMI_IN_DEVICE : SHMEMI_IN_HOST];
    while (nbytes > step->most_bytes)
        step++;
    return step->algorithm;
}

static inline enum shmemi_algorithm shmemi_choose(const struct shmemi_choices *choices,
                                                  enum shmemi_collective collective, size_t nbytes)
{
    return shmemi_choose_for(choices, collective, false, nbytes);
}

#endif
