/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the parts of oshrun share: the job as the command line describes it, the launcher, and the command that starts
 * it.
 *
 * Whatever comes from the user, from files, from the launcher and from the program is data: nothing of it is evaluated.
 * The environment is handed on as it is; what -x sets is set for the PEs alone.
 */
#ifndef OSHRUN_H
#define OSHRUN_H

#include "tools/oshrun/host_list.h"
#include "tools/oshrun/word_list.h"

#include <stdbool.h>
#include <sys/types.h>

enum oshrun_kind {
    OSHRUN_DIRECT, /* no launcher, one PE */
    OSHRUN_OMPI4,
    OSHRUN_OMPI5,
    OSHRUN_PRRTE,
    OSHRUN_SLURM,
    OSHRUN_HYDRA, /* MPICH, with PMI */
};

/* A variable for the PEs. */
struct oshrun_variable {
    char *name;
    char *value; /* of -x NAME=VALUE; NULL: that of our environment */
};

struct keeper;

struct oshrun_job {
    /* of the command line; what is not given is 0, NULL or empty */
    int npes, per_node, time_limit;
    const char *bind, *map_by, *wdir, *asked_launcher, *hosts_text, *hostfile;
    bool tag, verbose, quiet, dry_run, race;
    bool verbatim;           /* program begins with options of the launcher */
    struct word_list wanted; /* of -x, as they were given */
    struct word_list program, launcher_args;

    struct host_list hosts;
    struct oshrun_variable *forwarded;
    size_t n_forwarded;

    enum oshrun_kind kind;
    const char *launcher;     /* as found: a name or a path */
    struct word_list command; /* the launcher and our options; launcher_args and program follow */
    struct word_list added;   /* to the launcher's environment, all of which it forwards: NAME=VALUE; NAME: removed */
};

/* command_line.c: read the command line; ends the process if it is wrong, or asks for help only. */
void oshrun_read_command_line(struct oshrun_job *job, int argc, char *argv[]);

/* pe_environment.c: where a command is, as a shell would find it; NULL if it is nowhere. */
char *oshrun_find_in_path(const char *name);
char *oshrun_absolute_path(const char *path);
/* Make the program's path absolute; ends the process if there is no such program. */
void oshrun_find_program(struct oshrun_job *job);
/* Fill in what is forwarded. */
void oshrun_forward_environment(struct oshrun_job *job);
/* What a PE will find in its environment; NULL if nothing. */
const char *oshrun_pe_value(const struct oshrun_job *job, const char *name);
/* The environment of the command. */
char **oshrun_command_environment(const struct oshrun_job *job);

/* find_launcher.c: set kind and launcher; ends the process if there is none. */
void oshrun_find_launcher(struct oshrun_job *job);
char *oshrun_launcher_path(const struct oshrun_job *job);
/* The launcher's name without its folder. */
const char *oshrun_launcher_name(const struct oshrun_job *job);
/* Ends the process with a line if this is a PE of a job whose launcher starts no other job. */
void oshrun_refuse_nested(const struct oshrun_job *job);

/* build_command.c */
void oshrun_build_command(struct oshrun_job *job);
/* The words that the command begins with, for Open MPI 4 and 5 and PRRTE, and for Slurm, MPICH and none. */
void oshrun_openmpi_command(struct oshrun_job *job);
void oshrun_slurm_command(struct oshrun_job *job);
void oshrun_hydra_command(struct oshrun_job *job);
/* Whether one of the user's launcher options matches. */
bool oshrun_given(const struct oshrun_job *job, const char *const patterns[]);
#define OSHRUN_GIVEN(_job, ...) oshrun_given((_job), (const char *const[]){__VA_ARGS__, NULL})
/* Whether all PEs will run on this host. */
bool oshrun_is_local(const struct oshrun_job *job);
/* What to bind PEs to; NULL leaves that to the launcher. */
const char *oshrun_binding(const struct oshrun_job *job);
/* The pause that the user wants the launcher to make between the signals by which it ends PEs; NULL: none is given. */
const char *oshrun_users_sigkill_timeout(const struct oshrun_job *job);
void oshrun_print_command(FILE *out, const struct oshrun_job *job);

/* usable_cores.c: the number of cores to which PEs may be bound. 0 when something that the launcher does not see, such
 * as taskset, confines this process: binding would then break out of it. */
int oshrun_usable_cores(void);

/* start.c: the command as it is started, and what oshrun hears of it. */
struct started {
    pid_t pid;
    pid_t input;          /* the process that passes typed input on; 0: there is none */
    int signals;          /* a signalfd */
    int messages, errors; /* pipes from the launcher: its messages, its stderr; -1: there is none */
};

/* Start the command, with a keeper if it is a launcher; ends the process if that fails. */
void oshrun_start(struct started *started, struct keeper *keeper, struct oshrun_job *job);

void oshrun_end_input(const struct started *started);

/* Whether stdin is the terminal and this is its foreground job. */
bool oshrun_is_in_foreground(void);

/* supervise.c: run the command, pass signals on, report; the exit status of oshrun. */
int oshrun_supervise(struct oshrun_job *job);

#endif
