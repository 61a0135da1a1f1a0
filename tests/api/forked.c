/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PE 1 forks a child that makes one call, chosen by name, and prints how the child has ended; then the job goes on.
 * forked.test checks what is printed. Usage: forked CASE.
 */
#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

static long word;
static int target, n_pes, array[64], result[64];

static void call_finalize(void)
{
    shmem_finalize();
}

static void call_init(void)
{
    shmem_init();
}

static void call_barrier(void)
{
    shmem_barrier_all();
}

static void call_put(void)
{
    shmem_long_p(&word, 5, target);
}

static void call_atomic(void)
{
    shmem_long_atomic_inc(&word, target);
}

static void call_malloc(void)
{
    shmem_malloc(64);
}

static void call_reduce(void)
{
    shmem_int_sum_reduce(SHMEM_TEAM_WORLD, result, array, 64);
}

static void call_sync(void)
{
    shmem_team_sync(SHMEM_TEAM_WORLD);
}

static void call_global_exit(void)
{
    shmem_global_exit(7);
}

static void call_exit(void)
{
    exit(0);
}

static void call_my_pe(void)
{
    exit(shmem_my_pe() == 1 && shmem_n_pes() == n_pes ? 9 : 0);
}

static const struct {
    const char *name;
    void (*call)(void);
} cases[] = {
    {"finalize", call_finalize}, {"init", call_init},     {"barrier", call_barrier},         {"put", call_put},
    {"atomic", call_atomic},     {"malloc", call_malloc}, {"reduce", call_reduce},           {"sync", call_sync},
    {"exit", call_exit},         {"my_pe", call_my_pe},   {"global_exit", call_global_exit},
};

static void run_child(const char *name)
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    for (size_t i = 0; !child && i < sizeof cases / sizeof cases[0]; i++)
        if (!strcmp(name, cases[i].name))
            cases[i].call();
    if (!child)
        _exit(100); /* the call has returned, or there is none of this name */
    CHECK(waitpid(child, &status, 0) == child);
    if (WIFSIGNALED(status))
        printf("child: signal %d\n", WTERMSIG(status));
    else
        printf("child: status %d\n", WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
    shmem_init();
    n_pes = shmem_n_pes();
    target = check_target(1);
    shmem_long_atomic_inc(&word, target); /* the connection is there when the child is made */
    shmem_barrier_all();
    if (shmem_my_pe() == 1 % n_pes)
        run_child(argc > 1 ? argv[1] : "");
    shmem_barrier_all();
    shmem_long_atomic_inc(&word, target);
    shmem_barrier_all();
    CHECK(word == 2);
    return check_end();
}
