/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The library's src/shmem/coll/levels/within_node.c, compiled so that its loads and stores of words take simulated
 * time. The program is linked with this in place of the library's own object.
 */
#include "model.h"

#include "base/likely.h"
#include "gpu/copy_threads/processor.h"
#include "shmem/coll/collectives.h"

static void store_later(void *word, uint64_t value)
{
    sim_store(word, value);
}

static inline uint64_t model_load(const void *word)
{
    sim_me()->watched = word;
    return *(const uint64_t *)word;
}

static inline void model_store(void *word, uint64_t value)
{
    sim_cpu(model.load);
    sim_at(sim_now() + model.store, store_later, word, value);
}

#undef atomic_load_explicit
#undef atomic_store_explicit
#define atomic_load_explicit(word, order) model_load((const void *)(word))
#define atomic_store_explicit(word, value, order) model_store((void *)(word), value)

#include "../../../src/shmem/coll/levels/within_node.c"
