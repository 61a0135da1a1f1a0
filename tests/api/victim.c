/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A job in which something happens to a PE, chosen by name; robust.test checks how the job ends.
 *   run           start, a barrier, end
 *   exit STATUS   PE 1 leaves with exit(STATUS), the others wait in a barrier
 *   global STATUS PE 1 calls shmem_global_exit(STATUS), the others compute or wait
 *   work FILE     PEs put to each other until they are ended; the last PE writes its pid to FILE
 *   turn SECONDS  the same for so many seconds, then end
 *   idle          sleep for 2 s and print the CPU time of this PE's threads meanwhile, in milliseconds
 */
#include "check.h"

#include <dirent.h>
#include <time.h>
#include <unistd.h>

static long word;

static void wait_for_ever(void)
{
    shmem_barrier_all();
    shmem_barrier_all();
}

static int leave(int status)
{
    shmem_barrier_all();
    if (shmem_my_pe() == 1 % shmem_n_pes())
        exit(status);
    wait_for_ever();
    return 0;
}

static int end_all(int status)
{
    shmem_barrier_all();
    if (shmem_my_pe() == 1 % shmem_n_pes())
        shmem_global_exit(status);
    if (shmem_my_pe() == 0)
        for (volatile unsigned long turns = 0;; turns++)
            ; /* computes, outside of the library */
    shmem_long_wait_until(&word, SHMEM_CMP_EQ, 1);
    return 0;
}

enum { BYTES = 1 << 16 };
static char *target, *source;

static void begin_work(void)
{
    target = check_shmem_malloc(BYTES);
    source = check_malloc(BYTES);
    memset(source, 1, BYTES);
    shmem_barrier_all();
}

static void work_once(void)
{
    shmem_putmem(target, source, BYTES, check_target(1));
    shmem_long_atomic_inc(&word, check_target(1));
    shmem_barrier_all();
}

static int work(const char *file)
{
    begin_work();
    if (shmem_my_pe() == shmem_n_pes() - 1) {
        FILE *stream = fopen(file, "w");
        CHECK_THAT(stream && fprintf(stream, "%d\n", (int)getpid()) > 0 && !fclose(stream), "cannot write %s", file);
    }
    for (;;)
        work_once();
    return 0;
}

/* PE 0 looks at the clock. */
static int turn(int seconds)
{
    static int is_over, all_over;
    const time_t end = time(NULL) + seconds;
    begin_work();
    while (!all_over) {
        work_once();
        is_over = shmem_my_pe() == 0 && time(NULL) >= end;
        shmem_int_max_reduce(SHMEM_TEAM_WORLD, &all_over, &is_over, 1);
    }
    return check_end();
}

/* User and system time of a thread, in clock ticks: fields 14 and 15 of its stat, counted behind the name. */
static long thread_ticks(const char *thread)
{
    char path[300], text[1024];
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/self/task/%s/stat", thread);
    FILE *stream = fopen(path, "r");
    if (!stream)
        return 0; /* it has ended */
    size_t length = fread(text, 1, sizeof text - 1, stream);
    fclose(stream);
    text[length] = '\0';
    char *rest = strrchr(text, ')');
    CHECK_THAT(rest && sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) == 2,
               "cannot read %s", path);
    return (long)(user + system);
}

static long all_ticks(void)
{
    long ticks = 0;
    DIR *directory = opendir("/proc/self/task");
    CHECK(directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        if (entry->d_name[0] != '.')
            ticks += thread_ticks(entry->d_name);
    closedir(directory);
    return ticks;
}

static int idle(void)
{
    shmem_barrier_all();
    usleep(200000); /* time for work that start-up has left */
    long before = all_ticks();
    usleep(2000000);
    printf("PE %d used %ld ms\n", shmem_my_pe(), (all_ticks() - before) * 1000 / sysconf(_SC_CLK_TCK));
    fflush(stdout);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "run", *argument = argc > 2 ? argv[2] : "0";
    shmem_init();
    if (!strcmp(name, "exit"))
        return leave(atoi(argument));
    if (!strcmp(name, "global"))
        return end_all(atoi(argument));
    if (!strcmp(name, "work"))
        return work(argument);
    if (!strcmp(name, "turn"))
        return turn(atoi(argument));
    if (!strcmp(name, "idle"))
        return idle();
    return check_end();
}
