/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Words arrive whole and once. Each PE sends flags to the next one, which looks for them all the time and takes away
 * what it finds, as a program does that waits for a flag and resets it: no flag may be found in parts, or again after it
 * has been taken. An argument gives the number of rounds.
 */
#include "check.h"

enum { FLAGS = 240, APART = 2, MANY = 8, ROUNDS = 2 };

static const uint64_t value = 0x0102030405060708;

/* Flag i is element i * APART. */
static uint64_t static_words[FLAGS * APART];
static struct inbox {
    const char *name;
    char *words;
} inboxes[2];

static struct count {
    unsigned char taken[FLAGS];
    unsigned left, twice, in_parts;
} count;

/* ---- sending: flags from number i on, to a PE -------------------------------------------------------------------- */

#define DEST(TYPE) ((TYPE *)(void *)words + (size_t)i * APART)

#define DEFINE_SENDERS(NAME, TYPE, BITS)                                                                               \
    static void NAME##_p(char *words, int i, int pe)                                                                   \
    {                                                                                                                  \
        shmem_##NAME##_p(DEST(TYPE), (TYPE)value, pe);                                                                 \
    }                                                                                                                  \
    static void put##BITS(char *words, int i, int pe)                                                                  \
    {                                                                                                                  \
        TYPE source = (TYPE)value;                                                                                     \
        shmem_put##BITS(DEST(TYPE), &source, 1, pe);                                                                   \
    }                                                                                                                  \
    static void put##BITS##_nbi(char *words, int i, int pe)                                                            \
    {                                                                                                                  \
        static TYPE source = (TYPE)value;                                                                              \
        shmem_put##BITS##_nbi(DEST(TYPE), &source, 1, pe);                                                             \
    }                                                                                                                  \
    static void iput##BITS(char *words, int i, int pe)                                                                 \
    {                                                                                                                  \
        TYPE source[2] = {(TYPE)value, (TYPE)value};                                                                   \
        shmem_iput##BITS(DEST(TYPE), source, APART, 1, 2, pe);                                                         \
    }                                                                                                                  \
    static void iput##BITS##_many(char *words, int i, int pe)                                                          \
    {                                                                                                                  \
        TYPE source[MANY];                                                                                             \
        for (int k = 0; k < MANY; k++)                                                                                 \
            source[k] = (TYPE)value;                                                                                   \
        shmem_iput##BITS(DEST(TYPE), source, APART, 1, MANY, pe);                                                      \
    }                                                                                                                  \
    static void put##BITS##_many(char *words, int i, int pe)                                                           \
    {                                                                                                                  \
        TYPE source[MANY * APART] = {0};                                                                               \
        for (int k = 0; k < MANY; k++)                                                                                 \
            source[k * APART] = (TYPE)value;                                                                           \
        shmem_put##BITS(DEST(TYPE), source, MANY *APART - 1, pe);                                                      \
    }

DEFINE_SENDERS(short, short, 16)
DEFINE_SENDERS(int, int, 32)
DEFINE_SENDERS(long, long, 64)

static const struct way {
    const char *name;
    size_t size;
    int flags; /* in a call */
    void (*send)(char *words, int i, int pe);
} ways[] = {
#define WAYS(NAME, TYPE, BITS)                                                                                         \
    {"shmem_" #NAME "_p", sizeof(TYPE), 1, NAME##_p}, {"shmem_put" #BITS, sizeof(TYPE), 1, put##BITS},                 \
        {"shmem_put" #BITS "_nbi", sizeof(TYPE), 1, put##BITS##_nbi},                                                  \
        {"shmem_iput" #BITS " of 2 elements", sizeof(TYPE), 2, iput##BITS},                                            \
        {"shmem_iput" #BITS " of 8 elements", sizeof(TYPE), MANY, iput##BITS##_many},                                  \
        {"shmem_put" #BITS " of 15 elements", sizeof(TYPE), MANY, put##BITS##_many},
    WAYS(short, short, 16) WAYS(int, int, 32) WAYS(long, long, 64)};

/* ---- receiving --------------------------------------------------------------------------------------------------- */

static uint64_t load(const char *word, size_t size)
{
    return size == 8   ? __atomic_load_n((const uint64_t *)(const void *)word, __ATOMIC_RELAXED)
           : size == 4 ? __atomic_load_n((const uint32_t *)(const void *)word, __ATOMIC_RELAXED)
                       : __atomic_load_n((const uint16_t *)(const void *)word, __ATOMIC_RELAXED);
}

static void reset(char *word, size_t size)
{
    if (size == 8)
        __atomic_store_n((uint64_t *)(void *)word, 0, __ATOMIC_RELAXED);
    else if (size == 4)
        __atomic_store_n((uint32_t *)(void *)word, 0, __ATOMIC_RELAXED);
    else
        __atomic_store_n((uint16_t *)(void *)word, 0, __ATOMIC_RELAXED);
}

static void take(char *words, size_t size)
{
    const uint64_t whole = size == 8 ? value : value & (((uint64_t)1 << 8 * size) - 1);
    for (int i = 0; i < FLAGS; i++) {
        char *word = words + (size_t)i * APART * size;
        uint64_t found = load(word, size);
        if (!found)
            continue;
        reset(word, size);
        count.in_parts += found != whole;
        count.twice += count.taken[i];
        count.left -= !count.taken[i];
        count.taken[i] = 1;
    }
}

static void play_round(const struct way *way, char *words)
{
    const int next = check_target(1);
    memset(count.taken, 0, sizeof count.taken);
    count.left = FLAGS;
    for (int i = 0; i < FLAGS; i += way->flags) {
        way->send(words, i, next);
        take(words, way->size);
    }
    shmem_fence(); /* starts what has only been gathered */
    while (count.left)
        take(words, way->size);
    shmem_barrier_all();
    take(words, way->size);
    shmem_barrier_all();
}

static void check_way(const struct way *way, const struct inbox *inbox, int rounds)
{
    count.twice = count.in_parts = 0;
    for (int round = 0; round < rounds; round++)
        play_round(way, inbox->words);
    CHECK_THAT(!count.twice && !count.in_parts, "%s, %s: of %d words %u came twice and %u in parts", way->name,
               inbox->name, FLAGS * rounds, count.twice, count.in_parts);
}

/* ---- collectives: what they write into dest does not come again once they have returned --------------------------- */

static void check_broadcast(int rounds)
{
    static long source;
    long *dest = check_shmem_malloc(sizeof *dest);
    unsigned again = 0;
    for (int round = 0; round < rounds; round++) {
        source = 1;
        shmem_long_broadcast(SHMEM_TEAM_WORLD, dest, &source, 1, round % shmem_n_pes());
        CHECK(*(volatile long *)dest == 1);
        *(volatile long *)dest = 0;
        shmem_barrier_all();
        again += *(volatile long *)dest != 0;
        shmem_barrier_all();
    }
    CHECK_THAT(!again, "shmem_long_broadcast: %u of %d words came twice", again, rounds);
    shmem_free(dest);
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;
    shmem_init();
    char *heap = check_shmem_malloc(sizeof static_words);
    memset(heap, 0, sizeof static_words);
    inboxes[0] = (struct inbox){"symmetric heap", heap};
    inboxes[1] = (struct inbox){"static data", (char *)static_words};
    shmem_barrier_all();
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        for (int memory = 0; memory < 2; memory++)
            check_way(&ways[i], &inboxes[memory], rounds);
    check_broadcast(rounds * 10);
    return check_end();
}
