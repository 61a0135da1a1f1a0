/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the messages of launchers look like, as extended regular expressions. All texts are bytes, of any encoding.
 */
#ifndef PATTERNS_H
#define PATTERNS_H

#include <regex.h>
#include <stdbool.h>

/* PATTERN(NAME, expression), in the order in which they are tried where that matters */
#define PATTERNS(PATTERN)                                                                                              \
    PATTERN(DASHES, "^-{60,}$")                                                                                        \
    /* what UCX writes before it aborts its process */                                                                 \
    PATTERN(UCX_ABORT, "^([0-9]+: )?\\[[^] ]+:[0-9]+ *:[^]]*\\] +[a-z0-9_]+\\.[a-z]+:[0-9]+ +(Assertion|Fatal:)")      \
    /* what a PE writes that ends the job: its number, the status, its host */                                         \
    PATTERN(PE_ABORT, "^\001oshrun-abort ([0-9]+) ([0-9]+) (.*)$")                                                     \
    /* of Open MPI and PRRTE */                                                                                        \
    PATTERN(PE_NODE, "assigning rank ([0-9]+) to node (.*)$")                                                          \
    PATTERN(PE_STATE, "ACTIVATE PROC \\[[^ ]*[,@][1-9][0-9]*\\]?,([0-9]+)\\] STATE (.*) AT ")                          \
    PATTERN(NOTE, "[Ww]arning|ERROR|[Ee]rror")                                                                         \
    PATTERN(BOX_NO_NEWS, "Primary job .* terminated normally|You were supposed to get help about: .*prun:")            \
    PATTERN(BOX_RANK, "process rank ([0-9]+) with PID [0-9]+ on +node ([^ ]+) (exited on|exiting improperly|calling)") \
    PATTERN(BOX_SIGNAL, "exited on signal ([0-9]+)")                                                                   \
    PATTERN(BOX_STATUS, "exited with non-zero status.*Process name: \\[[^ ]*,([0-9]+)\\].*Exit code:  *([0-9]+)")      \
    PATTERN(BOX_LOST, "lost communication with a remote daemon.*Remote daemon: [^ ]+ on node ([^ ]+)")                 \
    PATTERN(BOX_MISSING, "unable to launch the specified application.*Executable: ([^ ]+).*Node: ([^ ]+)")             \
    PATTERN(BOX_DAEMONS, "unable to reliably start one or more daemons")                                               \
    PATTERN(BOX_EXEC, "via the \"execve\".*Application name: +([^ ]+) +Error: +(.*[^ ]) *$")                           \
    PATTERN(BOX_EXEC_AGAIN, "unable to start the specified application as it encountered an error")                    \
    PATTERN(BOX_BEGINS,                                                                                                \
            "^((prterun|mpirun|mpiexec|orterun) (noticed|detected|has exited|was unable)|PRTE was unable)")            \
    /* of Slurm */                                                                                                     \
    PATTERN(SLURM_ENDING, "Job step aborted|STEP .* CANCELLED|: Terminating ")                                         \
    PATTERN(SLURM_LEFT, "Error handler invoked: .*:([0-9]+)\\]")                                                       \
    PATTERN(SLURM_TASK, "^srun: error: ([^ :]+): tasks? ([0-9]+)[-,0-9]*: (.*)$")                                      \
    PATTERN(SLURM_STATUS, "^Exited with exit code ([0-9]+)")                                                           \
    PATTERN(SLURM_LINE, "^([0-9]+: )?(srun: error: .* task|srun: (Job step aborted|Terminating|Force Terminated|"      \
                        "forcing job|launch/slurm|job [0-9]+ (queued|has been))|"                                      \
                        "slurmstepd[^ ]*: error: (\\*\\*\\*| *mpi/pmix)|\001oshrun-abort )")                           \
    /* perhaps the beginning of a message that is to be taken out of the program's output */                           \
    PATTERN(MAY_BEGIN, "^([0-9]+(:( ?)|)$|([0-9]+: )?(s|\\[[^ ]*(:[0-9]|$)|\001)|-)")

enum message_pattern {
#define PATTERN(_name, _expression) PATTERN_##_name,
    PATTERNS(PATTERN)
#undef PATTERN
        N_PATTERNS
};

struct pattern_match {
    const char *text;
    regmatch_t at[5];
};

/* *match, which may be NULL, then has the parts in parentheses, from 1 on. */
bool pattern_matches(enum message_pattern pattern, const char *text, struct pattern_match *match);

/* A text that lives until the process ends. */
char *pattern_part(const struct pattern_match *match, int part);

/* A number below 10^9; -1 if it is larger. */
int pattern_number(const struct pattern_match *match, int part);

#endif
