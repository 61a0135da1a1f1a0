/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Choice of the bootstrap, and the check that launcher and bootstrap agree about the size of the job.
 */
#include "bootstrap/bootstrap.h"

#include "base/log.h"
#include "base/settings.h"
#include "base/thread/thread_start.h"
#include "base/tuning.h"
#include "bootstrap/rendezvous/unique_id.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

const struct shmemi_bootstrap *shmemi_bootstrap;

/* In the order of enum shmemi_bootstrap_choice, which is the order in which they are tried. */
static const struct shmemi_bootstrap *const table[] = {
    &shmemi_bootstrap_pmix,     &shmemi_bootstrap_mpi,    &shmemi_bootstrap_pmi,
    &shmemi_bootstrap_torchrun, &shmemi_bootstrap_single,
};

/* Hydra checks for processes that a signal has ended only when one of their pipes closes: a child closes them last. */
static void close_pipes_later(void)
{
    const struct timespec until_seen_dead = {.tv_nsec = 300000000};
    if (fork() != 0)
        return;
    nanosleep(&until_seen_dead, NULL);
    _exit(0);
}

_Noreturn void shmemi_bootstrap_fail_alone(int status)
{
    sigset_t term;
    fflush(NULL);
    close_pipes_later();
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    signal(SIGTERM, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &term, NULL);
    raise(SIGTERM);
    _Exit(status);
}

/* With a unique id the program itself says how many PEs there are. */
static int check_launcher_size(const struct shmemi_bootstrap *bootstrap, int n_pes)
{
    const char *variable;
    int size = shmemi_launcher_size(&variable);
    if (n_pes > 1 || !size || shmemi_settings.bootstrap == SHMEMI_BOOTSTRAP_SINGLE ||
        bootstrap == &shmemi_bootstrap_unique_id)
        return 0;
    shmemi_error("the launcher started %d processes (%s), but this one finds itself alone: the launcher offers neither "
                 "PMIx nor PMI, nor does MPI connect them; start the program with 'oshrun -n %d' or 'srun --mpi=pmix'",
                 size, variable, size);
    return -EPROTO;
}

struct forced_end {
    unsigned seconds;
    int status;
};

static void *end_later(void *argument)
{
    const struct forced_end *ending = argument;
    sleep(ending->seconds);
    _exit(ending->status);
}

void shmemi_end_within(unsigned seconds, int status)
{
    pthread_t thread;
    struct forced_end *ending = malloc(sizeof *ending); /* for good: the process ends */
    if (!ending)
        return;
    *ending = (struct forced_end){seconds, status};
    if (shmemi_thread_create(&thread, NULL, end_later, ending))
        free(ending);
}

_Noreturn void shmemi_bootstrap_abort(int status)
{
    shmemi_end_within(SHMEMI_ABORT_SECONDS, status); /* if the launcher hangs */
    if (shmemi_bootstrap)
        shmemi_bootstrap->abort(status);
    _Exit(status);
}

static void abort_job(int status)
{
    shmemi_bootstrap_abort(status);
}

static int use(const struct shmemi_bootstrap *bootstrap, int pe, int n_pes)
{
    int rc = check_launcher_size(bootstrap, n_pes);
    if (rc)
        return rc;
    shmemi_bootstrap = bootstrap;
    shmemi_log_set_pe(pe);
    shmemi_log_abort = abort_job;
    shmemi_debug("start-up by %s", bootstrap->name);
    return 0;
}

/* A PE whose launcher is gone would run alone, and seem to succeed. */
static int report_unreachable(void)
{
    const char *job = getenv("PMIX_NAMESPACE"), *rank = getenv("PMIX_RANK");
    shmemi_error("the environment says that a launcher started this process (PMIX_NAMESPACE=%s, PMIX_RANK=%s), but the "
                 "launcher does not answer: has it ended? Start the program with oshrun, or, to run a single PE, set "
                 "SHMEM_BOOTSTRAP=single",
                 job ? job : "", rank ? rank : "");
    return -EHOSTUNREACH;
}

/* Another bootstrap may serve where a launcher does not answer, as with MPICH's under a launcher with PMIx. */
static int open_first(int *pe_p, int *n_pes_p)
{
    bool is_unreachable = false;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (is_unreachable && table[i] == &shmemi_bootstrap_single)
            return report_unreachable();
        int rc = table[i]->open(pe_p, n_pes_p);
        is_unreachable |= rc == -EHOSTUNREACH;
        if (rc != -ENODEV && rc != -EHOSTUNREACH)
            return rc ? rc : use(table[i], *pe_p, *n_pes_p);
    }
    return -ENODEV;
}

static int open_chosen(const struct shmemi_bootstrap *bootstrap, int *pe_p, int *n_pes_p)
{
    int rc = bootstrap->open(pe_p, n_pes_p);
    if (rc == -ENODEV)
        shmemi_error("SHMEM_BOOTSTRAP=%s is not possible here; unset the variable to use what is", bootstrap->name);
    if (rc == -EHOSTUNREACH)
        return report_unreachable();
    return rc ? rc : use(bootstrap, *pe_p, *n_pes_p);
}

int shmemi_bootstrap_open(int *pe_p, int *n_pes_p)
{
    shmemi_settings_preview();
    if (shmemi_unique_id_is_used())
        return open_chosen(&shmemi_bootstrap_unique_id, pe_p, n_pes_p);
    int choice = shmemi_settings.bootstrap;
    if (choice == SHMEMI_BOOTSTRAP_MPI_FILE)
        choice = SHMEMI_BOOTSTRAP_MPI;
    return choice == SHMEMI_BOOTSTRAP_AUTO ? open_first(pe_p, n_pes_p)
                                           : open_chosen(table[choice - SHMEMI_BOOTSTRAP_PMIX], pe_p, n_pes_p);
}

void shmemi_bootstrap_close(void)
{
    if (shmemi_bootstrap)
        shmemi_bootstrap->close();
    shmemi_bootstrap = NULL;
    shmemi_log_abort = NULL;
}
