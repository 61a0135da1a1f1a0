/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs the command, passes signals on to it, and ends with the status of the job.
 *
 * One loop waits for all there is: signals, messages of the launcher, its stderr, and times. The launcher gets each
 * signal once (at the second one Open MPI gives up without cleaning up): it has a session of its own, which the
 * terminal's signals do not reach, and typed input comes to it through a pipe.
 */
#define _GNU_SOURCE
#include "tools/complain.h"
#include "tools/oshrun/failures.h"
#include "tools/oshrun/keeper.h"
#include "tools/oshrun/stderr_filter.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TIMED_OUT_TWICE_MS = 3000 };

struct supervision {
    struct oshrun_job *job;
    struct started started;
    struct keeper keeper;
    struct failures failures;
    struct stderr_filter filter;
    struct partial_line message; /* of the launcher */
    bool has_ended;              /* the command */
    int status;                  /* of it: 128 + N for signal N */
    int interrupted;             /* the last signal of the user that is to end the job */
    bool timed_out;
    long expires; /* in ms, of --timeout; 0: never */
};

static void send_signal(struct supervision *all, int signal)
{
    if (!all->has_ended)
        kill(all->started.pid, signal);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static void on_user_signal(struct supervision *all, int signal)
{
    enum oshrun_kind kind = all->job->kind;
    if (signal != SIGUSR1 && signal != SIGUSR2)
        all->interrupted = signal;
    /* without a launcher the program has had the terminal's SIGINT already */
    if (signal == SIGINT && kind == OSHRUN_DIRECT && oshrun_is_in_foreground())
        return;
    /* srun ends a job at the second SIGINT only */
    send_signal(all, kind == OSHRUN_SLURM && signal == SIGINT ? SIGTERM : signal);
    if (all->interrupted)
        keeper_order(&all->keeper, KEEPER_END);
}

/* A program without a launcher may ignore the first signal. */
static void on_timeout(struct supervision *all)
{
    send_signal(all, all->timed_out ? SIGKILL : SIGTERM);
    all->timed_out = true;
    all->expires = all->job->kind == OSHRUN_DIRECT ? oshrun_now() + TIMED_OUT_TWICE_MS : 0;
    keeper_order(&all->keeper, KEEPER_END);
}

static int status_of(int wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

static void look_for_ends(struct supervision *all)
{
    int status;
    if (!all->has_ended && waitpid(all->started.pid, &status, WNOHANG) == all->started.pid) {
        all->has_ended = true;
        all->status = status_of(status);
        keeper_order(&all->keeper, all->status ? KEEPER_FAILED : KEEPER_DONE);
    }
    if (all->keeper.pid && waitpid(all->keeper.pid, &status, WNOHANG) == all->keeper.pid) {
        all->failures.hung = status_of(status) == 1;
        close(all->keeper.orders);
        all->keeper.pid = 0;
    }
}

static void read_signals(struct supervision *all)
{
    struct signalfd_siginfo info;
    while (read(all->started.signals, &info, sizeof info) == sizeof info)
        if (info.ssi_signo != SIGCHLD && info.ssi_signo != SIGALRM)
            on_user_signal(all, (int)info.ssi_signo);
    look_for_ends(all);
}

/* Whole lines; what is longer than any message of a launcher is cut. */
static void take_messages(struct supervision *all, const char *bytes, size_t length)
{
    struct partial_line *line = &all->message;
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] == '\n') {
            line->text[line->length] = 0;
            failures_read_line(&all->failures, line->text);
            line->length = 0;
        } else if (line->length < OSHRUN_MOST_LINE) {
            line->text[line->length++] = bytes[i];
        }
    }
}

/* All that is there. The descriptor is -1 from its end on. */
static void drain(struct supervision *all, int *fd, bool is_stderr)
{
    char bytes[16384];
    ssize_t n = 0;
    while (*fd >= 0 && ((n = read(*fd, bytes, sizeof bytes)) > 0 || (n < 0 && errno == EINTR)))
        if (n > 0 && is_stderr)
            stderr_filter_add(&all->filter, bytes, (size_t)n);
        else if (n > 0)
            take_messages(all, bytes, (size_t)n);
    if (*fd >= 0 && n == 0) {
        close(*fd);
        *fd = -1;
    }
    if (all->failures.must_end) {
        all->failures.must_end = false;
        keeper_order(&all->keeper, KEEPER_END);
    }
}

static void look_at_times(struct supervision *all)
{
    long now = oshrun_now();
    if (all->filter.expires && now >= all->filter.expires)
        stderr_filter_release(&all->filter);
    if (all->expires && now >= all->expires && !all->has_ended)
        on_timeout(all);
}

static int milliseconds_left(const struct supervision *all)
{
    long next = all->filter.expires, left;
    if (all->expires && !all->has_ended && (!next || all->expires < next))
        next = all->expires;
    if (!next)
        return -1;
    left = next - oshrun_now();
    return left < 0 ? 0 : left > 1000000 ? 1000000 : (int)left;
}

/* ---- from start to end ------------------------------------------------------------------------------------------- */

static void attend(struct supervision *all)
{
    struct started *started = &all->started;
    while (!all->has_ended || all->keeper.pid) {
        struct pollfd wanted[] = {
            {.fd = started->signals, .events = POLLIN},
            {.fd = started->messages, .events = POLLIN},
            {.fd = started->errors, .events = POLLIN},
        };
        poll(wanted, 3, milliseconds_left(all));
        drain(all, &started->messages, false);
        drain(all, &started->errors, true);
        read_signals(all);
        look_at_times(all);
    }
    drain(all, &started->messages, false);
    drain(all, &started->errors, true);
    stderr_filter_release(&all->filter);
}

/* Print the line about the job, if there is one to print; the status. */
static int report(struct supervision *all)
{
    struct failures *failures = &all->failures;
    bool is_ours = all->interrupted || all->timed_out; /* nobody has failed */
    enum oshrun_kind kind = all->job->kind;
    int status = all->status;
    if (!is_ours && kind != OSHRUN_HYDRA)
        status = kind == OSHRUN_DIRECT ? failures_report_direct(failures, status) : failures_report(failures, status);
    else if (is_ours && failures->hung && kind != OSHRUN_HYDRA)
        failures_say(failures, "%s hung and was ended", oshrun_launcher_name(all->job));
    if (all->timed_out) {
        failures_say(failures, "the job was ended after %d s (--timeout)", all->job->time_limit);
        status = 124;
    }
    return all->interrupted ? 128 + all->interrupted : status;
}

int oshrun_supervise(struct oshrun_job *job)
{
    static struct supervision all;
    all.job = job;
    all.filter.failures = &all.failures;
    failures_open(&all.failures, job);
    oshrun_start(&all.started, &all.keeper, job);
    if (job->time_limit)
        all.expires = oshrun_now() + 1000L * job->time_limit;
    attend(&all);
    oshrun_end_input(&all.started);
    int status = report(&all);
    failures_close(&all.failures);
    return status;
}
