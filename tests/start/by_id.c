/* SPDX-License-Identifier: BSD-3-Clause
 *
 * by_id PE N_PES ID_FILE [ACTION]: a PE that a shell has started. PE 0 writes the unique id to the file, from which the
 * others take it; as "maker 0" a process does only that. With "-" for the file shmem_init starts it, as under torchrun.
 *
 * The PEs exchange data by puts, a get, an atomic operation and collectives, and compare them. Then ACTION: nothing, or
 * again (finalise, and start once more), or kill N, exit N, global_exit N: PE N does it, the others wait for ever;
 * kill_parent N: it forks a child that lives on, and is killed.
 *
 * by_id launched N_PES ID_FILE: a PE of a launcher with PMIx, which gives their numbers. All but the last first start by the
 * id, among themselves; then all by the launcher.
 *
 * by_id refusals 0 0: attributes that are refused, before and after a start, and the start that is right in spite of them.
 */
#include <errno.h>
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS = 1000, STATUS = 3, PATIENCE_SECONDS = 60 };

#define CHECK(_condition)                                                                                              \
    do {                                                                                                               \
        if (!(_condition)) {                                                                                           \
            fprintf(stderr, "%s:%d: PE %d: %s\n", __FILE__, __LINE__, pe, #_condition);                                \
            exit(2);                                                                                                   \
        }                                                                                                              \
    } while (0)

static int pe, n_pes;

static void write_id(const char *path)
{
    char other[4096];
    shmemx_uniqueid_t id;
    CHECK(!shmemx_get_uniqueid(&id));
    snprintf(other, sizeof other, "%s.new", path);
    FILE *file = fopen(other, "w");
    CHECK(file && fwrite(&id, sizeof id, 1, file) == 1 && !fclose(file) && !rename(other, path));
}

static void read_id(const char *path, shmemx_uniqueid_t *id)
{
    FILE *file;
    for (int i = 0; !(file = fopen(path, "r")) && i < PATIENCE_SECONDS * 100; i++)
        usleep(10000);
    CHECK(file && fread(id, sizeof *id, 1, file) == 1);
    fclose(file);
}

static void start(const char *path)
{
    shmemx_uniqueid_t id;
    shmemx_init_attr_t attr = SHMEMX_INIT_ATTR_INITIALIZER;
    int provided = -1;
    if (!strcmp(path, "-")) {
        shmem_init();
        return;
    }
    if (!pe && access(path, R_OK))
        write_id(path);
    read_id(path, &id);
    attr.pe = pe;
    attr.n_pes = n_pes;
    attr.uniqueid = &id;
    attr.thread_level = SHMEM_THREAD_MULTIPLE;
    CHECK(!shmemx_init_attr(&attr, &provided) && provided == SHMEM_THREAD_MULTIPLE);
}

static void exchange(void)
{
    static long mine[WORDS], got[WORDS], sum, all, counter;
    CHECK(shmem_my_pe() == pe && shmem_n_pes() == n_pes);
    long *heap = shmem_calloc(WORDS, sizeof *heap);
    for (int i = 0; i < WORDS; i++)
        mine[i] = 1000L * pe + i;
    sum = pe + 1;
    counter = 0;
    shmem_barrier_all();
    shmem_long_put(heap, mine, WORDS, (pe + 1) % n_pes);
    shmem_long_atomic_add(&counter, pe + 1, 0);
    shmem_barrier_all();
    const int left = (pe + n_pes - 1) % n_pes;
    for (int i = 0; i < WORDS; i++)
        CHECK(heap[i] == 1000L * left + i);
    shmem_long_get(got, heap, WORDS, left);
    CHECK(got[1] == 1000L * ((left + n_pes - 1) % n_pes) + 1);
    CHECK(pe || counter == (long)n_pes * (n_pes + 1) / 2);
    CHECK(!shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &all, &sum, 1) && all == (long)n_pes * (n_pes + 1) / 2);
    shmem_barrier_all();
    shmem_free(heap);
}

/* 77: this launcher has no PMIx. */
static int start_by_both(int n_launched, const char *path)
{
    const char *rank = getenv("PMIX_RANK");
    if (!rank)
        return 77;
    pe = atoi(rank);
    n_pes = n_launched - 1;
    if (pe < n_pes) {
        start(path);
        exchange();
        shmem_finalize();
    }
    n_pes = n_launched;
    start("-");
    exchange();
    shmem_finalize();
    printf("PE %d of %d: ok\n", pe, n_pes);
    return 0;
}

static void end(const char *action)
{
    if (!strcmp(action, "kill_parent")) {
        if (!fork()) {
            sleep(PATIENCE_SECONDS / 4);
            _exit(0);
        }
        action = "kill";
    }
    if (!strcmp(action, "kill"))
        raise(SIGKILL);
    if (!strcmp(action, "exit"))
        exit(STATUS);
    if (!strcmp(action, "global_exit"))
        shmem_global_exit(STATUS);
    pause();
}

/* A process that only makes the id lives until its input is closed. */
static int make(const char *path)
{
    char byte;
    write_id(path);
    return read(STDIN_FILENO, &byte, 1) != 0;
}

/* ---- Refusals ---------------------------------------------------------------------------------------------------- */

static void refuse(const shmemx_init_attr_t *attr)
{
    int is_initialized_before, is_initialized, provided = -1;
    shmem_query_initialized(&is_initialized_before);
    CHECK(shmemx_init_attr(attr, &provided) == -EINVAL && provided == -1);
    CHECK(strstr(shmemx_last_error(), "shmemx_init_attr: attr"));
    shmem_query_initialized(&is_initialized);
    CHECK(is_initialized == is_initialized_before);
}

static void refuse_numbers(shmemx_init_attr_t attr)
{
    static const int wrong[][2] = {{-1, 1}, {1, 1}, {0, 0}, {0, -1}, {2, 2}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        attr.pe = wrong[i][0];
        attr.n_pes = wrong[i][1];
        refuse(&attr);
    }
}

static void refuse_bytes(shmemx_init_attr_t attr)
{
    shmemx_uniqueid_t changed;
    attr.uniqueid = &changed;
    memset(&changed, 0, sizeof changed);
    refuse(&attr);
    memset(&changed, 0xff, sizeof changed);
    refuse(&attr);
}

static void refuse_shapes(shmemx_init_attr_t attr)
{
    struct {
        shmemx_init_attr_t attr;
        long more;
    } later = {attr, 1};
    later.attr.size = sizeof later;
    refuse(&later.attr);
    attr.size = 0;
    refuse(&attr);
    attr.size = sizeof attr - 1;
    refuse(&attr);
    attr.size = sizeof attr;
    attr.thread_level = SHMEM_THREAD_MULTIPLE + 1;
    refuse(&attr);
    attr.thread_level = SHMEM_THREAD_SINGLE;
    attr.uniqueid = NULL;
    attr.n_pes = 1;
    refuse(&attr);
    refuse(NULL);
}

static int check_refusals(void)
{
    shmemx_uniqueid_t id, other;
    shmemx_init_attr_t attr = SHMEMX_INIT_ATTR_INITIALIZER;
    CHECK(shmemx_get_uniqueid(NULL) == -EINVAL);
    CHECK(!shmemx_get_uniqueid(&id) && !shmemx_get_uniqueid(&other) && memcmp(&id, &other, sizeof id));
    attr.n_pes = n_pes = 1;
    attr.uniqueid = &id;
    for (int i = 0; i < 2; i++) { /* before the start, and after it */
        refuse_numbers(attr);
        refuse_bytes(attr);
        refuse_shapes(attr);
        CHECK(!shmemx_init_attr(&attr, NULL));
    }
    attr.n_pes = 2; /* other numbers than those of the start */
    refuse(&attr);
    exchange();
    shmem_finalize();
    exchange(); /* there were two */
    shmem_finalize();
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    if (!strcmp(argv[1], "refusals"))
        return check_refusals();
    if (!strcmp(argv[1], "maker"))
        return make(argv[3]);
    if (!strcmp(argv[1], "launched"))
        return start_by_both(atoi(argv[2]), argv[3]);
    pe = atoi(argv[1]);
    n_pes = atoi(argv[2]);
    start(argv[3]);
    exchange();
    if (argc == 5) { /* again */
        shmem_finalize();
        if (!pe && strcmp(argv[3], "-"))
            unlink(argv[3]);
        char path[4096];
        snprintf(path, sizeof path, "%s%s", argv[3], strcmp(argv[3], "-") ? ".again" : "");
        start(path);
        exchange();
    }
    if (argc == 6 && atoi(argv[5]) == pe)
        end(argv[4]);
    static long never;
    if (argc == 6)
        shmem_long_wait_until(&never, SHMEM_CMP_NE, 0);
    shmem_finalize();
    printf("PE %d of %d: ok\n", pe, n_pes);
    return 0;
}
