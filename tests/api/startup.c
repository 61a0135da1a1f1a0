/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Initialisation and finalisation [9.1, 9.2]: nesting, thread levels, start_pes together with them, effects of an inner
 * finalisation, contexts and teams that are left at the last one, name and version. startup.test checks what is visible
 * outside the program.
 */
#include "check.h"

enum { BLOCK = 20000, PES_MAX = 64 };

static unsigned char static_block[BLOCK];
static long static_word;

static void expect_initialized(int expected, const char *when)
{
    int initialized = -1;
    shmem_query_initialized(&initialized);
    if (!initialized == !expected)
        return;
    fprintf(stderr, "shmem_query_initialized says %d %s\n", initialized, when);
    exit(1);
}

static int level_now(void)
{
    int level = -1;
    shmem_query_thread(&level);
    return level;
}

/* An inner finalisation is a barrier that completes: earlier puts have arrived after it. */
static void check_inner_finalize(void)
{
    static unsigned char block[BLOCK];
    unsigned char *heap_block = check_shmem_malloc(BLOCK);
    memset(heap_block, 0, BLOCK);
    memset(static_block, 0, BLOCK);
    check_fill(block, BLOCK, (unsigned)shmem_my_pe());
    shmem_barrier_all();
    shmem_init();
    shmem_putmem_nbi(heap_block, block, BLOCK, check_target(1));
    shmem_putmem_nbi(static_block, block, BLOCK, check_target(1));
    shmem_finalize();
    expect_initialized(1, "after a finalisation that is not the last");
    check_bytes("put before an inner shmem_finalize", heap_block, BLOCK, (unsigned)check_origin(1));
    check_bytes("put before an inner shmem_finalize", static_block, BLOCK, (unsigned)check_origin(1));
    shmem_free(heap_block);
}

static void check_use(long value)
{
    long *word = check_shmem_malloc(sizeof *word);
    *word = 0;
    static_word = 0;
    shmem_barrier_all();
    shmem_long_atomic_add(word, value, check_target(1));
    shmem_long_p(&static_word, value, check_target(1));
    shmem_barrier_all();
    CHECK_THAT(*word == value && static_word == value, "words are %ld and %ld, expected %ld", *word, static_word,
               value);
    shmem_free(word);
}

/* Every level by itself. */
static void check_level(int requested)
{
    int provided = -1;
    expect_initialized(0, "before shmem_init_thread");
    if (shmem_init_thread(requested, &provided)) {
        fprintf(stderr, "shmem_init_thread(%d) failed\n", requested);
        exit(1);
    }
    expect_initialized(1, "after shmem_init_thread");
    CHECK_THAT(provided >= SHMEM_THREAD_SINGLE && provided <= SHMEM_THREAD_MULTIPLE, "level %d is provided", provided);
    CHECK_THAT(provided >= requested, "level %d is provided for %d", provided, requested);
    CHECK(level_now() == provided);
    check_use(requested + 1);
    shmem_finalize();
}

/* Later initialisations may raise the level; the level that they return is in force. */
static void check_nested_levels(void)
{
    int outer = -1, inner = -1, again = -1;
    CHECK(!shmem_init_thread(SHMEM_THREAD_FUNNELED, &outer) && level_now() == outer);
    CHECK(!shmem_init_thread(SHMEM_THREAD_MULTIPLE, &inner) && inner >= outer && level_now() == inner);
    CHECK(!shmem_init_thread(SHMEM_THREAD_SINGLE, &again) && again == level_now());
    shmem_init();
    start_pes(0); /* no effect */
    for (int i = 0; i < 3; i++) {
        check_inner_finalize();
        shmem_finalize();
        expect_initialized(1, "inside");
        check_use(i + 10);
    }
    shmem_finalize();
    expect_initialized(0, "after as many finalisations as initialisations");
}

static void check_refused_level(int level)
{
    int provided = 77;
    if (!shmem_init_thread(level, &provided)) {
        fprintf(stderr, "shmem_init_thread(%d) succeeded\n", level);
        exit(1);
    }
    expect_initialized(0, "after a refused level");
}

/* Contexts and teams that are left are destroyed with the library and do not disturb the next initialisation. */
static void check_leftovers(void)
{
    for (int i = 0; i < 3; i++) {
        shmem_ctx_t context, of_team;
        shmem_team_t team, child;
        shmem_init();
        const int n = shmem_n_pes();
        CHECK(!shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &team));
        CHECK(!shmem_team_split_strided(team, 0, 1, n, NULL, 0, &child));
        CHECK(!shmem_ctx_create(SHMEM_CTX_SERIALIZED, &context) && !shmem_team_create_ctx(child, 0, &of_team));
        static_word = 0;
        shmem_barrier_all();
        shmem_ctx_long_atomic_add(of_team, &static_word, 5, (shmem_team_my_pe(child) + 1) % n);
        shmem_ctx_long_atomic_add(context, &static_word, 7, check_target(1));
        shmem_finalize();
        if (static_word == 12)
            continue;
        fprintf(stderr, "operations on contexts before shmem_finalize: %ld, expected 12\n", static_word);
        exit(1);
    }
}

static void check_names(void)
{
    char name[SHMEM_MAX_NAME_LEN + 8];
    int major = -1, minor = -1;
    memset(name, 0x5a, sizeof name);
    shmem_info_get_name(name);
    CHECK(!strcmp(name, SHMEM_VENDOR_STRING));
    check_untouched("shmem_info_get_name", name + SHMEM_MAX_NAME_LEN, 8, 0x5a);
    shmem_info_get_version(&major, &minor);
    CHECK(major == 1 && minor == 6);
    CHECK(_my_pe() == shmem_my_pe() && _num_pes() == shmem_n_pes());
    shmem_pcontrol(0);
    shmem_pcontrol(3, "more", 1.5);
}

int main(void)
{
    expect_initialized(0, "before the first initialisation");
    check_refused_level(SHMEM_THREAD_SINGLE - 1);
    check_refused_level(SHMEM_THREAD_MULTIPLE + 1);
    for (int level = SHMEM_THREAD_SINGLE; level <= SHMEM_THREAD_MULTIPLE; level++)
        check_level(level);
    check_nested_levels();
    check_leftovers();
    shmem_init();
    check_names();
    return check_end();
}
