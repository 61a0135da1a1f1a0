/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a job failed, as far as the launcher's messages tell. They are kept apart from what the program writes: Open MPI
 * sends its messages to the descriptor in OPAL_OUTPUT_STDERR_FD (PRRTE: PMIX_OUTPUT_STDERR_FD), which leaves the
 * program's output untouched. PRRTE and srun write some to stderr as well: only there a filter takes them out of the
 * stream (stderr_filter.h). Hydra, the launcher of MPICH, reports failures itself.
 */
#ifndef FAILURES_H
#define FAILURES_H

#include "tools/oshrun/oshrun.h"

enum failed_how {
    FAILED_NOT, /* nobody has failed, as far as told */
    FAILED_EXIT,
    FAILED_SIGNAL,
    FAILED_ABORT,      /* the PE has ended the job */
    FAILED_UNFINISHED, /* it left without shmem_finalize */
    FAILED_HOST,       /* is lost */
    FAILED_MISSING,    /* a host has no such program */
    FAILED_EXEC,       /* the system does not start the program */
    FAILED_DAEMONS,    /* the launcher does not reach a host */
};

/* What is known of a PE. */
struct pe_notice {
    char *node;
    bool ended; /* and not because the launcher ended it */
};

struct failures {
    const struct oshrun_job *job;
    enum failed_how how; /* of what failed first */
    int pe, status;      /* of that; -1 if not told */
    char *missing, *missing_node, *exec_error, *lost_node;
    int exited_pe; /* the first told to have exited with an error; -1: none */
    int left_pe;   /* that has left PMIx without a word, as Slurm's server says; -1: none */
    bool told;     /* the user has seen a message of the launcher */
    bool hung;     /* the launcher had to be ended */
    bool ending;   /* srun has begun to end the job */
    bool must_end; /* the launcher has to end the job now */
    struct pe_notice *pes;
    int n_pes, n_ended, n_placed;
    struct word_list notes;
    char *box, *dashes; /* of a message between two lines of dashes */
    size_t box_length;
    long oom_kills_before;
};

void failures_open(struct failures *failures, const struct oshrun_job *job);
void failures_close(struct failures *failures);

/* A line of the launcher, without its newline. */
void failures_read_line(struct failures *failures, const char *line);

/* Print the one line about a job that has ended with this status of the launcher; the exit status of oshrun. */
int failures_report(struct failures *failures, int status);

/* Print the one line about a PE that ran without a launcher and ended with this status; the exit status of oshrun. */
int failures_report_direct(struct failures *failures, int status);

/* Print a line for the user, unless oshrun is to be quiet. */
void failures_say(const struct failures *failures, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The failure may be what another one has caused. */
bool failures_may_be_aftermath(const struct failures *failures);

/* "Killed", "Segmentation fault". */
const char *failures_signal_text(const struct failures *failures, int signal);
bool failures_is_signal(int signal);

/* How many processes the kernel of this machine has killed for want of memory, in control groups or altogether. */
long failures_oom_kills(void);

#endif
