/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The one line about a job that has failed.
 */
#define _GNU_SOURCE
#include "tools/oshrun/failures.h"

#include "tools/complain.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const signal_texts[] = {
    [SIGHUP] = "Hangup",
    [SIGINT] = "Interrupt",
    [SIGQUIT] = "Quit",
    [SIGILL] = "Illegal instruction",
    [SIGTRAP] = "SIGTRAP",
    [SIGABRT] = "Aborted",
    [SIGBUS] = "Bus error",
    [SIGFPE] = "Floating point exception",
    [SIGKILL] = "Killed",
    [SIGUSR1] = "SIGUSR1",
    [SIGSEGV] = "Segmentation fault",
    [SIGUSR2] = "SIGUSR2",
    [SIGPIPE] = "Broken pipe",
    [SIGALRM] = "Alarm clock",
    [SIGTERM] = "Terminated",
    [SIGCHLD] = "SIGCHLD",
    [SIGCONT] = "SIGCONT",
    [SIGSTOP] = "SIGSTOP",
    [SIGTSTP] = "SIGTSTP",
    [SIGTTIN] = "SIGTTIN",
    [SIGTTOU] = "SIGTTOU",
    [SIGURG] = "SIGURG",
    [SIGXCPU] = "SIGXCPU",
    [SIGXFSZ] = "SIGXFSZ",
    [SIGVTALRM] = "SIGVTALRM",
    [SIGPROF] = "SIGPROF",
    [SIGWINCH] = "SIGWINCH",
    [SIGIO] = "SIGIO",
    [SIGPWR] = "SIGPWR",
    [SIGSYS] = "SIGSYS",
};

long failures_oom_kills(void)
{
    FILE *file = fopen("/proc/vmstat", "re");
    char line[200];
    long kills = 0;
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, "oom_kill ", 9))
            kills = atol(line + 9);
    if (file)
        fclose(file);
    return kills;
}

bool failures_is_signal(int signal)
{
    return signal > 0 && signal <= SIGRTMAX;
}

const char *failures_signal_text(const struct failures *failures, int signal)
{
    if (signal == SIGKILL && failures_oom_kills() != failures->oom_kills_before)
        return "Killed: out of memory?";
    if (signal > 0 && (size_t)signal < sizeof signal_texts / sizeof signal_texts[0] && signal_texts[signal])
        return signal_texts[signal];
    return word_text("SIG%d", signal);
}

void failures_say(const struct failures *failures, const char *format, ...)
{
    char *text;
    va_list arguments;
    if (failures->job->quiet)
        return;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) >= 0) {
        complain("%s", text);
        free(text);
    }
    va_end(arguments);
}

/* " (PE 1, 2)": those that run on a host, as far as the launcher has told. */
static const char *pes_of(const struct failures *failures, const char *node)
{
    const char *text = "";
    for (int pe = 0; pe < failures->n_pes; pe++)
        if (failures->pes[pe].node && !strcmp(failures->pes[pe].node, node))
            text = word_text(*text ? "%s, %d" : "%s (PE %d", text, pe);
    return *text ? word_text("%s)", text) : text;
}

/* What the PE has done, or what was done to it. */
static const char *failure_text(const struct failures *failures, int status)
{
    bool known = failures->status >= 0;
    int signal = status % 128;
    switch (failures->how) {
    case FAILED_SIGNAL:
        if (!known)
            return "was killed by a signal";
        return word_text("was killed by signal %d (%s)", signal, failures_signal_text(failures, signal));
    case FAILED_ABORT:
        return known ? word_text("ended the job with status %d", status) : "ended the job";
    case FAILED_UNFINISHED:
        return "exited without shmem_finalize";
    default:
        return known ? word_text("exited with status %d", status) : "exited with an error";
    }
}

/* The rest of the line. PEs that have all ended by themselves were not ended by the launcher. */
static const char *what_became_of_job(const struct failures *failures)
{
    int npes = failures->job->npes ? failures->job->npes : failures->n_placed;
    if (failures->hung)
        return word_text("; the job was ended, and %s, which hung", oshrun_launcher_name(failures->job));
    if (failures->how == FAILED_ABORT || (failures->n_ended > 0 && failures->n_ended >= npes))
        return "";
    return "; the job was ended";
}

static void print_notes(const struct failures *failures)
{
    for (size_t i = 0; i < failures->notes.n && !failures->job->quiet; i++)
        fprintf(stderr, "%s\n", failures->notes.all[i]);
}

/* The job failed, and the launcher has named no PE. */
static int report_no_pe(const struct failures *failures, int status)
{
    const char *launcher = oshrun_launcher_name(failures->job);
    int signal = status % 128;
    if (failures->told) {
        failures_say(failures, "%s refused the job with status %d, for the reason above", launcher, status);
        return status;
    }
    if (status > 128 && failures_is_signal(signal)) {
        failures_say(failures, "%s was killed by signal %d (%s); the job was ended", launcher, signal,
                     failures_signal_text(failures, signal));
    } else {
        print_notes(failures);
        failures_say(failures, "%s failed with status %d", launcher, status);
    }
    return status;
}

/* " on HOST", or nothing if that is not known. */
static const char *place_of(const struct failures *failures)
{
    static char host[256];
    if (failures->pe >= 0 && failures->pe < failures->n_pes && failures->pes[failures->pe].node)
        return word_text(" on %s", failures->pes[failures->pe].node);
    if (failures->job->kind == OSHRUN_SLURM || !oshrun_is_local(failures->job) ||
        gethostname(host, sizeof host - 1) < 0 || !host[0])
        return "";
    return word_text(" on %s", host);
}

/* The launcher ends the other PEs by signals when one has exited with an error, and may tell of these before. Its own status
 * is that of the PE that failed, 128 and more for a signal. */
static void prefer_exit(struct failures *failures, int status)
{
    if (failures->how != FAILED_SIGNAL || failures->status >= 0 || failures->exited_pe < 0 || status >= 128)
        return;
    failures->how = FAILED_EXIT;
    failures->pe = failures->exited_pe;
}

static int report_pe(struct failures *failures, int status)
{
    prefer_exit(failures, status);
    if (!failures->hung && failures->status < 0)
        failures->status = status;
    status = failures->status >= 0 ? failures->status : failures->how == FAILED_SIGNAL ? 137 : 1;
    if (failures_may_be_aftermath(failures)) /* what UCX wrote of the PE that has failed */
        print_notes(failures);
    failures_say(failures, "PE %d%s %s%s", failures->pe, place_of(failures), failure_text(failures, status),
                 what_became_of_job(failures));
    return status;
}

/* The job did not begin. */
static int report_no_start(const struct failures *failures)
{
    const char *host = host_list_unknown(&failures->job->hosts), *launcher = oshrun_launcher_name(failures->job);
    if (failures->how == FAILED_MISSING)
        failures_say(failures, "%s has no program '%s'; the job was ended", failures->missing_node, failures->missing);
    else if (failures->how == FAILED_EXEC)
        failures_say(failures, "cannot start %s: %s (a script needs a first line with #! and its interpreter)",
                     failures->missing, failures->exec_error);
    else if (host)
        failures_say(failures, "%s cannot start on host %s", launcher, host);
    else
        failures_say(failures,
                     "%s cannot start its daemon on a host: does 'ssh HOST true' work without a password for all "
                     "of them, and have they the same installation? (--verbose shows its message)",
                     launcher);
    return failures->how == FAILED_DAEMONS ? 1 : failures->how == FAILED_EXEC ? 126 : 127;
}

int failures_report(struct failures *failures, int status)
{
    if (!status)
        return 0;
    if (failures->lost_node) { /* the PEs that have failed before missed those of that node */
        failures_say(failures, "lost the connection to %s%s; the job was ended", failures->lost_node,
                     pes_of(failures, failures->lost_node));
        return 1;
    }
    if (!failures->how && failures->left_pe >= 0) {
        failures->pe = failures->left_pe;
        failures->how = FAILED_UNFINISHED;
        failures->status = 1;
    }
    if (!failures->how)
        return report_no_pe(failures, status);
    if (failures->how >= FAILED_MISSING)
        return report_no_start(failures);
    return report_pe(failures, status);
}

int failures_report_direct(struct failures *failures, int status)
{
    failures->pe = 0;
    failures->how = status > 128 && failures_is_signal(status - 128) ? FAILED_SIGNAL : FAILED_EXIT;
    return failures_report(failures, status);
}
