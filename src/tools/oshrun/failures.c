/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads the launcher's messages.
 */
#define _GNU_SOURCE
#include "tools/oshrun/failures.h"

#include "tools/complain.h"
#include "tools/oshrun/patterns.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NOTES = 20, MOST_PES_UNKNOWN = 1 << 20, MOST_BOX = 1 << 20 };

void failures_open(struct failures *failures, const struct oshrun_job *job)
{
    *failures = (struct failures){
        .job = job, .pe = -1, .status = -1, .exited_pe = -1, .left_pe = -1, .oom_kills_before = failures_oom_kills()};
}

void failures_close(struct failures *failures)
{
    free(failures->pes);
    free(failures->box);
    free(failures->notes.all);
}

/* What is known of the PE; NULL for a number that no PE of this job has. */
static struct pe_notice *notice_of(struct failures *failures, int pe)
{
    int most = failures->job->npes ? failures->job->npes : MOST_PES_UNKNOWN;
    if (pe < 0 || pe >= most)
        return NULL;
    if (pe >= failures->n_pes) {
        int n = 2 * pe + 16;
        struct pe_notice *pes = realloc(failures->pes, (size_t)n * sizeof *pes);
        if (!pes)
            return NULL;
        memset(pes + failures->n_pes, 0, (size_t)(n - failures->n_pes) * sizeof *pes);
        failures->pes = pes;
        failures->n_pes = n;
    }
    return &failures->pes[pe];
}

static void note_node(struct failures *failures, int pe, char *node)
{
    struct pe_notice *notice = notice_of(failures, pe);
    if (!notice)
        return;
    failures->n_placed += !notice->node;
    notice->node = node;
}

static void note_ended(struct failures *failures, int pe)
{
    struct pe_notice *notice = notice_of(failures, pe);
    if (!notice)
        return;
    failures->n_ended += !notice->ended;
    notice->ended = true;
}

static void add_note(struct failures *failures, const char *line)
{
    if (failures->notes.n < MOST_NOTES)
        word_list_add(&failures->notes, word_text("%s", line));
}

/* Whether the user's launcher options let the other PEs go on after a failure. */
static bool goes_on(const struct failures *failures)
{
    return OSHRUN_GIVEN(failures->job, "*recover*", "*continuous*", "*abort*non*zero*", "-K0", "--kill-on-bad-exit=0");
}

/* Note the first failure; the launcher has to end the job now. */
static void fail(struct failures *failures, int pe, enum failed_how how)
{
    if (failures->how)
        return;
    failures->pe = pe;
    failures->how = how;
    failures->must_end = !goes_on(failures);
}

static void fail_by_exit(struct failures *failures, int pe)
{
    if (failures->exited_pe < 0)
        failures->exited_pe = pe;
    fail(failures, pe, FAILED_EXIT);
}

/* The PE that failed first, as far as told, has aborted in UCX. It may only have answered, over a connection that it
 * had not finished, a PE that failed before (uct_tcp_ep_connect asserts then), of which the other node tells later. */
bool failures_may_be_aftermath(const struct failures *failures)
{
    return failures->how == FAILED_SIGNAL && failures->status == 134 && failures->notes.n > 0;
}

/* ---- Open MPI and PRRTE ------------------------------------------------------------------------------------------ */

static bool begins(const char *text, const char *beginning)
{
    return !strncmp(text, beginning, strlen(beginning));
}

/* A line that the launcher was asked for (supervise.c). */
static void read_state(struct failures *failures, const char *line)
{
    struct pattern_match match;
    if (pattern_matches(PATTERN_PE_NODE, line, &match)) {
        note_node(failures, pattern_number(&match, 1), pattern_part(&match, 2));
    } else if (pattern_matches(PATTERN_PE_STATE, line, &match)) {
        int pe = pattern_number(&match, 1);
        const char *state = line + match.at[2].rm_so;
        if (begins(state, "EXITED") || (begins(state, "NORMALLY") && !failures->how))
            note_ended(failures, pe);
        if (begins(state, "ABORTED BY SIGNAL"))
            fail(failures, pe, FAILED_SIGNAL);
        else if (begins(state, "EXITED WITH NON-ZERO"))
            fail_by_exit(failures, pe);
        else if (begins(state, "CALLED ABORT"))
            fail(failures, pe, FAILED_ABORT);
        else if (begins(state, "TERMINATED WITHOUT SYNC"))
            fail(failures, pe, FAILED_UNFINISHED);
    } else if (pattern_matches(PATTERN_NOTE, line, NULL)) {
        add_note(failures, line);
    }
}

static void read_rank_box(struct failures *failures, const char *text, const struct pattern_match *match)
{
    struct pattern_match signal;
    int pe = pattern_number(match, 1);
    const char *how = text + match->at[3].rm_so;
    note_node(failures, pe, pattern_part(match, 2));
    if (begins(how, "exited on")) {
        fail(failures, pe, FAILED_SIGNAL);
        if (failures->pe == pe && pattern_matches(PATTERN_BOX_SIGNAL, text, &signal))
            failures->status = 128 + pattern_number(&signal, 1);
    } else {
        fail(failures, pe, begins(how, "exiting") ? FAILED_UNFINISHED : FAILED_ABORT);
    }
}

/* A message that the launcher put between two lines of dashes, with blanks in place of newlines. The one about prun is
 * of a PRRTE that does not find its own texts; what they say is in the lines that it has been asked for. */
static bool understand_box(struct failures *failures, const char *text)
{
    struct pattern_match match;
    if (pattern_matches(PATTERN_BOX_NO_NEWS, text, NULL))
        return true;
    if (pattern_matches(PATTERN_BOX_RANK, text, &match)) {
        read_rank_box(failures, text, &match);
    } else if (pattern_matches(PATTERN_BOX_STATUS, text, &match)) {
        fail(failures, pattern_number(&match, 1), FAILED_EXIT);
        if (failures->pe == pattern_number(&match, 1))
            failures->status = pattern_number(&match, 2);
    } else if (pattern_matches(PATTERN_BOX_LOST, text, &match)) {
        if (!failures->lost_node)
            failures->lost_node = pattern_part(&match, 1);
        fail(failures, -1, FAILED_HOST);
    } else if (pattern_matches(PATTERN_BOX_MISSING, text, &match)) {
        failures->how = FAILED_MISSING;
        failures->missing = pattern_part(&match, 1);
        failures->missing_node = pattern_part(&match, 2);
    } else if (pattern_matches(PATTERN_BOX_EXEC, text, &match)) {
        failures->how = FAILED_EXEC;
        failures->missing = pattern_part(&match, 1);
        failures->exec_error = pattern_part(&match, 2);
    } else if (pattern_matches(PATTERN_BOX_DAEMONS, text, NULL)) {
        failures->how = FAILED_DAEMONS;
    } else if (!pattern_matches(PATTERN_BOX_EXEC_AGAIN, text, NULL) || failures->how != FAILED_EXEC) {
        return false;
    }
    return true;
}

static void end_box(struct failures *failures)
{
    char *text = word_text("%s", failures->box ? failures->box : "");
    for (char *c = text; *c; c++)
        if (isspace((unsigned char)*c))
            *c = ' ';
    if (!understand_box(failures, text)) {
        failures->told = true;
        if (!failures->job->verbose && !failures->job->quiet)
            fprintf(stderr, "%s\n%s%s\n", failures->dashes, failures->box ? failures->box : "", failures->dashes);
    }
    failures->dashes = NULL;
    free(failures->box);
    failures->box = NULL;
    failures->box_length = 0;
}

static void add_to_box(struct failures *failures, const char *line)
{
    size_t length = strlen(line);
    if (failures->box_length + length > MOST_BOX)
        return;
    char *box = realloc(failures->box, failures->box_length + length + 2);
    if (!box)
        return;
    failures->box = box;
    memcpy(box + failures->box_length, line, length);
    strcpy(box + failures->box_length + length, "\n");
    failures->box_length += length + 1;
}

/* ---- Slurm ------------------------------------------------------------------------------------------------------- */

/* The number of the signal that srun describes so; -1 if it is none. */
static int signal_of(const struct failures *failures, const char *text)
{
    size_t length = strcspn(text, "(");
    if (begins(text, "Out Of Memory")) {
        text = "Killed";
        length = strlen(text);
    }
    while (length && text[length - 1] == ' ')
        length--;
    for (int n = 1; n < 16 && length; n++)
        if (!strncmp(failures_signal_text(failures, n), text, length))
            return n;
    return -1;
}

static bool is_killed(const char *how, bool aborts_too)
{
    return begins(how, "Killed") || begins(how, "Terminated") || (aborts_too && begins(how, "Aborted"));
}

/* srun tells of each PE that ends with an error; after it has begun to end the job, those that are killed are its own
 * doing. A PE that calls shmem_global_exit is in none of its messages: that PE itself writes a line where
 * MAPSHMEM_TELL_END is set. */
static void read_task(struct failures *failures, int pe, const char *how)
{
    struct pattern_match match;
    if (failures->how && !failures_may_be_aftermath(failures))
        return;
    if (pattern_matches(PATTERN_SLURM_STATUS, how, &match)) {
        failures->how = FAILED_NOT;
        failures->status = pattern_number(&match, 1);
        fail(failures, pe, FAILED_EXIT);
    } else if ((!failures->ending && !failures->how) || !is_killed(how, failures->how != FAILED_NOT)) {
        int signal = signal_of(failures, how);
        failures->how = FAILED_NOT;
        failures->status = signal < 0 ? -1 : 128 + signal;
        fail(failures, pe, FAILED_SIGNAL);
    }
}

static void read_slurm(struct failures *failures, const char *line)
{
    struct pattern_match match;
    if (pattern_matches(PATTERN_SLURM_ENDING, line, NULL))
        failures->ending = true;
    if (failures->left_pe < 0 && pattern_matches(PATTERN_SLURM_LEFT, line, &match))
        failures->left_pe = pattern_number(&match, 1);
    if (!pattern_matches(PATTERN_SLURM_TASK, line, &match))
        return;
    char *node = pattern_part(&match, 1);
    if (!strpbrk(node, "[,"))
        note_node(failures, pattern_number(&match, 2), node);
    read_task(failures, pattern_number(&match, 2), line + match.at[3].rm_so);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

/* The line of a PE that has ended the job. */
static void read_abort(struct failures *failures, const struct pattern_match *match)
{
    int pe = pattern_number(match, 1);
    note_node(failures, pe, pattern_part(match, 3));
    if (failures->how && !failures_may_be_aftermath(failures))
        return;
    failures->how = FAILED_NOT;
    failures->status = pattern_number(match, 2);
    fail(failures, pe, FAILED_ABORT);
}

void failures_read_line(struct failures *failures, const char *line)
{
    struct pattern_match match;
    if (failures->job->verbose && line[0] != '\001' && !strstr(line, "] ACTIVATE "))
        fprintf(stderr, "%s\n", line);
    if (pattern_matches(PATTERN_DASHES, line, NULL)) {
        if (failures->dashes)
            end_box(failures);
        else
            failures->dashes = word_text("%s", line);
    } else if (failures->dashes) {
        add_to_box(failures, line);
    } else if (pattern_matches(PATTERN_PE_ABORT, line, &match)) {
        read_abort(failures, &match);
    } else if (pattern_matches(PATTERN_UCX_ABORT, line, NULL)) {
        add_note(failures, line);
    } else if (failures->job->kind == OSHRUN_SLURM) {
        read_slurm(failures, line);
    } else {
        read_state(failures, line);
    }
}
