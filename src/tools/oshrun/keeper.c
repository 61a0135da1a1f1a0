/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The keeper's process.
 */
#define _GNU_SOURCE
#include "tools/oshrun/keeper.h"

#include "tools/complain.h"
#include "tools/oshrun/stderr_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Seconds that a launcher has until SIGTERM, and then until SIGKILL. */
struct grace_period {
    int to_end, to_die;
};

/* Daemons of Open MPI end their PEs within two seconds, and those on other hosts at once (end_without_delay) if the
 * user does not want it otherwise; they take another two when mpirun is gone; it does nothing at a SIGTERM while it
 * ends a job. Slurm waits longer before it kills, and its daemons need srun for that. */
static struct grace_period patience_with(const struct oshrun_job *job)
{
    const char *text = oshrun_users_sigkill_timeout(job);
    struct grace_period patience = {3 + job->npes / 100, 0};
    int pause;
    if (text && word_is_count(text, strlen(text), 9999, &pause))
        patience.to_end += 4 * pause;
    if (job->kind == OSHRUN_HYDRA)
        patience.to_die = 1;
    else if (job->kind == OSHRUN_SLURM)
        patience = (struct grace_period){5, 40};
    return patience;
}

static bool ends_within(pid_t pid, int seconds)
{
    for (long limit = oshrun_now() + 1000L * seconds; !oshrun_has_ended(pid); oshrun_sleep_ms(20))
        if (oshrun_now() > limit)
            return false;
    return true;
}

/* Whether the launcher had to be ended. If oshrun was killed, nobody has told the launcher yet. */
static bool end_launcher(pid_t launcher, struct grace_period patience, bool is_killed)
{
    if (is_killed)
        kill(launcher, SIGTERM);
    if (ends_within(launcher, patience.to_end))
        return false;
    if (patience.to_die) {
        kill(launcher, SIGTERM);
        if (ends_within(launcher, patience.to_die))
            return true;
    }
    kill(launcher, SIGKILL);
    return true;
}

/* 0 at the end, which is that of oshrun. */
static int next_order(int orders)
{
    char order;
    ssize_t n;
    do
        n = read(orders, &order, 1);
    while (n < 0 && errno == EINTR);
    return n == 1 ? order : 0;
}

static bool keep(int orders, struct grace_period patience)
{
    pid_t launcher;
    bool hung = false;
    if (read(orders, &launcher, sizeof launcher) != sizeof launcher)
        return false;
    int order = next_order(orders);
    if (order == KEEPER_END || !order)
        hung = end_launcher(launcher, patience, !order);
    while (order == KEEPER_END)
        order = next_order(orders);
    if (order != KEEPER_DONE)
        oshrun_sweep(launcher);
    return hung;
}

void keeper_open(struct keeper *keeper, const struct oshrun_job *job)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        complain_and_exit(1, "cannot make a pipe: %s", strerror(errno));
    keeper->pid = fork();
    if (keeper->pid < 0)
        complain_and_exit(1, "cannot start a process: %s (too many processes: ulimit -u?)", strerror(errno));
    if (!keeper->pid) {
        close(ends[1]);
        setsid(); /* whoever ends our group of processes does not end this one */
        _exit(keep(ends[0], patience_with(job)));
    }
    close(ends[0]);
    keeper->orders = ends[1];
}

void keeper_tell_launcher(const struct keeper *keeper, pid_t launcher)
{
    if (keeper->pid)
        oshrun_write(keeper->orders, (const char *)&launcher, sizeof launcher);
}

void keeper_order(const struct keeper *keeper, enum keeper_order order)
{
    char letter = (char)order;
    if (keeper->pid)
        oshrun_write(keeper->orders, &letter, 1);
}
