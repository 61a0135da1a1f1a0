/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Starts the command.
 */
#define _GNU_SOURCE
#include "tools/complain.h"
#include "tools/oshrun/keeper.h"
#include "tools/oshrun/stderr_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* The signals that oshrun handles: those by which a user ends or steers a job, SIGALRM, which has no meaning here and must not
 * end oshrun, and SIGCHLD. */
static const int heard[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD};

bool oshrun_is_in_foreground(void)
{
    return isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp();
}

static void make_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) < 0)
        complain_and_exit(1, "cannot make a pipe: %s", strerror(errno));
}

/* ---- signals ----------------------------------------------------------------------------------------------------- */

static bool is_ignored(int signal)
{
    struct sigaction action;
    return !sigaction(signal, NULL, &action) && action.sa_handler == SIG_IGN;
}

/* Signals come through a descriptor; those that were ignored when oshrun was started stay so (nohup). The attributes
 * give the command what oshrun has found, but for the SIGINT and SIGQUIT that background jobs of a script ignore. */
static int hear_signals(posix_spawnattr_t *attributes)
{
    sigset_t ours, found, defaults;
    sigemptyset(&ours);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGQUIT);
    for (size_t i = 0; i < sizeof heard / sizeof heard[0]; i++)
        if (heard[i] == SIGCHLD || !is_ignored(heard[i]))
            sigaddset(&ours, heard[i]);
    if (!is_ignored(SIGPIPE))
        sigaddset(&defaults, SIGPIPE);
    signal(SIGPIPE, SIG_IGN); /* somebody who no longer reads must not end oshrun */
    sigprocmask(SIG_BLOCK, &ours, &found);
    posix_spawnattr_setsigmask(attributes, &found);
    posix_spawnattr_setsigdefault(attributes, &defaults);
    int fd = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        complain_and_exit(1, "cannot hear signals: %s", strerror(errno));
    return fd;
}

/* ---- typed input ------------------------------------------------------------------------------------------------- */

static _Noreturn void pass_input_on(int to)
{
    char bytes[4096];
    ssize_t n;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while ((n = read(STDIN_FILENO, bytes, sizeof bytes)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0)
            oshrun_write(to, bytes, (size_t)n);
    _exit(0);
}

/* From now on stdin is a pipe if it was the terminal; of a job in the background it is nothing. */
static pid_t divert_input(void)
{
    int ends[2];
    pid_t pid = 0;
    if (!isatty(STDIN_FILENO))
        return 0;
    if (oshrun_is_in_foreground()) {
        make_pipe(ends);
        pid = fork();
        if (pid < 0)
            complain_and_exit(1, "cannot start a process: %s (too many processes: ulimit -u?)", strerror(errno));
        if (!pid) {
            close(ends[0]);
            pass_input_on(ends[1]);
        }
        close(ends[1]);
    } else {
        ends[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    return pid;
}

void oshrun_end_input(const struct started *started)
{
    if (started->input)
        kill(started->input, SIGKILL);
}

/* ---- the launcher's messages ------------------------------------------------------------------------------------- */

static void add_words(struct word_list *list, const char *const words[])
{
    for (; *words; words++)
        word_list_add(list, *words);
}
#define ADD_WORDS(_list, ...) add_words((_list), (const char *const[]){__VA_ARGS__, NULL})

/* Make the launcher report on a descriptor which PE changed its state, because its own summary does not name a PE that
 * failed before all had started. These settings must not reach the program, which may use MPI itself. */
static void ask_for_messages(struct oshrun_job *job, int descriptor)
{
    if (job->kind == OSHRUN_SLURM) {
        word_list_add(&job->added, "MAPSHMEM_TELL_END=1");
    } else if (job->kind == OSHRUN_OMPI4) {
        word_list_add(&job->added, word_text("OPAL_OUTPUT_STDERR_FD=%d", descriptor));
        ADD_WORDS(&job->command, "--mca", "state_base_verbose", "1", "-x", "OPAL_OUTPUT_STDERR_FD=2", "-x",
                  "OMPI_MCA_state_base_verbose=0");
        if (!job->verbose)
            ADD_WORDS(&job->command, "--mca", "rmaps_base_verbose", "5", "-x", "OMPI_MCA_rmaps_base_verbose=0");
    } else {
        word_list_add(&job->added, word_text("PMIX_OUTPUT_STDERR_FD=%d", descriptor));
        ADD_WORDS(&job->command, "--prtemca", "state_base_verbose", "1");
    }
}

/* The pipes from the launcher: *messages and *errors are our ends. srun says everything on stderr; with --verbose what
 * it says is shown again. */
static void open_pipes(struct oshrun_job *job, struct started *started, posix_spawn_file_actions_t *actions,
                       int launchers_ends[2])
{
    int ends[2];
    launchers_ends[0] = launchers_ends[1] = started->messages = started->errors = -1;
    if (job->kind == OSHRUN_DIRECT || job->kind == OSHRUN_HYDRA)
        return;
    if (job->kind != OSHRUN_SLURM) {
        make_pipe(ends);
        started->messages = ends[0];
        launchers_ends[0] = ends[1];
        fcntl(ends[1], F_SETFD, 0);
    }
    if (job->kind == OSHRUN_SLURM || (job->kind != OSHRUN_OMPI4 && !job->verbose)) {
        make_pipe(ends);
        started->errors = ends[0];
        launchers_ends[1] = ends[1];
        posix_spawn_file_actions_adddup2(actions, ends[1], STDERR_FILENO);
    }
    fcntl(started->messages, F_SETFL, O_NONBLOCK);
    fcntl(started->errors, F_SETFL, O_NONBLOCK);
    ask_for_messages(job, launchers_ends[0]);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static void spawn(struct started *started, struct oshrun_job *job, const posix_spawn_file_actions_t *actions,
                  const posix_spawnattr_t *attributes)
{
    struct word_list words = {0};
    char **environment = oshrun_command_environment(job);
    word_list_add_all(&words, job->command.all, job->command.n);
    word_list_add_all(&words, job->launcher_args.all, job->launcher_args.n);
    word_list_add_all(&words, job->program.all, job->program.n);
    int rc = posix_spawnp(&started->pid, words.all[0], actions, attributes, words.all, environment);
    if (rc)
        complain_and_exit(rc == ENOENT ? 127 : 126, "cannot start %.200s: %s%s", words.all[0], strerror(rc),
                          rc == EAGAIN ? " (too many processes: ulimit -u?)" : "");
    free(words.all);
    free(environment);
}

void oshrun_start(struct started *started, struct keeper *keeper, struct oshrun_job *job)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int launchers_ends[2];
    short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    started->signals = hear_signals(&attributes);
    if (job->kind != OSHRUN_DIRECT) {
        flags |= POSIX_SPAWN_SETSID;
        started->input = divert_input();
        keeper_open(keeper, job);
    }
    posix_spawnattr_setflags(&attributes, flags);
    if (job->verbose)
        oshrun_print_command(stderr, job);
    open_pipes(job, started, &actions, launchers_ends);
    spawn(started, job, &actions, &attributes);
    keeper_tell_launcher(keeper, started->pid);
    for (int i = 0; i < 2; i++)
        if (launchers_ends[i] >= 0)
            close(launchers_ends[i]);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
}
