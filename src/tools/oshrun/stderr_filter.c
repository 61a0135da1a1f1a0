/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tells the launcher's lines from the program's.
 */
#define _GNU_SOURCE
#include "tools/oshrun/stderr_filter.h"

#include "tools/oshrun/patterns.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Programs write lines in pieces, but a launcher does not; it may have to wait for a core. */
enum { LINE_MS = 2000, BOX_MS = 200 };

long oshrun_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void oshrun_write(int fd, const char *bytes, size_t length)
{
    while (length) {
        ssize_t n = write(fd, bytes, length);
        if (n < 0 && errno == EAGAIN)
            poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
        else if (n < 0 && errno != EINTR)
            return;
        if (n > 0) {
            bytes += n;
            length -= (size_t)n;
        }
    }
}

static bool is_message(const char *text)
{
    return pattern_matches(PATTERN_SLURM_LINE, text, NULL) || pattern_matches(PATTERN_UCX_ABORT, text, NULL);
}

/* Without the label that srun --label puts in front of what a PE writes. */
static const char *without_label(const char *text)
{
    const char *mark = strchr(text, '\001');
    return mark ? mark : text;
}

static void pass_on(struct partial_line *line)
{
    oshrun_write(STDERR_FILENO, line->text, line->length);
    line->length = 0;
}

static void release_held(struct stderr_filter *filter, bool to_failures)
{
    if (to_failures)
        failures_read_line(filter->failures, filter->held);
    else
        oshrun_write(STDERR_FILENO, word_text("%s\n", filter->held), strlen(filter->held) + 1);
    filter->held = NULL;
    filter->expires = 0;
}

/* line->text is a whole line, with a 0 in place of its newline. */
static void take_line(struct stderr_filter *filter)
{
    struct partial_line *line = &filter->line;
    const char *text = line->text;
    bool fresh = !filter->mid && strlen(text) == line->length; /* the launcher writes no NUL */
    filter->mid = false;
    filter->expires = 0;
    if (filter->held) {
        filter->in_box = fresh && pattern_matches(PATTERN_BOX_BEGINS, text, NULL);
        release_held(filter, filter->in_box);
    }
    if (filter->in_box) {
        failures_read_line(filter->failures, text);
        filter->in_box = !pattern_matches(PATTERN_DASHES, text, NULL);
    } else if (fresh && pattern_matches(PATTERN_DASHES, text, NULL)) {
        filter->held = word_text("%s", text);
        filter->expires = oshrun_now() + BOX_MS;
    } else if (fresh && is_message(text)) {
        failures_read_line(filter->failures, without_label(text));
    } else {
        line->text[line->length++] = '\n';
        pass_on(line);
    }
    line->length = 0;
}

/* What has come of a line so far: is it to wait for its end? */
static void judge_partial(struct stderr_filter *filter)
{
    struct partial_line *line = &filter->line;
    if (!line->length || filter->held || filter->in_box)
        return;
    line->text[line->length] = 0;
    if (!filter->mid && strlen(line->text) == line->length && pattern_matches(PATTERN_MAY_BEGIN, line->text, NULL)) {
        if (!filter->expires)
            filter->expires = oshrun_now() + LINE_MS;
        return;
    }
    pass_on(line);
    filter->mid = true;
    filter->expires = 0;
}

void stderr_filter_add(struct stderr_filter *filter, const char *bytes, size_t length)
{
    struct partial_line *line = &filter->line;
    while (length) {
        size_t room = OSHRUN_MOST_LINE - line->length, n = length < room ? length : room;
        const char *newline = memchr(bytes, '\n', n);
        if (newline)
            n = (size_t)(newline - bytes);
        memcpy(line->text + line->length, bytes, n);
        line->length += n;
        line->text[line->length] = 0;
        if (newline)
            take_line(filter);
        else if (line->length == OSHRUN_MOST_LINE)
            stderr_filter_release(filter);
        n += newline != NULL;
        bytes += n;
        length -= n;
    }
    judge_partial(filter);
}

void stderr_filter_release(struct stderr_filter *filter)
{
    bool was_held = filter->held;
    if (was_held)
        release_held(filter, false);
    filter->in_box = false;
    filter->expires = 0;
    if (was_held)
        judge_partial(filter); /* a line of its own */
    else if (filter->line.length) {
        pass_on(&filter->line);
        filter->mid = true;
    }
}
