/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What oshrun reads of launchers and programs: their messages, and stderr, of which the program's part is passed on as
 * it is. Any bytes in any pieces end in a status; what is passed on is what came, without some lines.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include <unistd.h>

static ssize_t take_output(int fd, const void *bytes, size_t size);

/* The real files, with one call replaced, and with what lives until the end of the process. */
#define write take_output
#include "tools/oshrun/stderr_filter.c"
#undef write
#include "tools/oshrun/word_list.c"

const char complain_name[] = "fuzz";

static struct {
    size_t n;
    char bytes[1 << 20];
} passed;

static ssize_t take_output(int fd, const void *bytes, size_t size)
{
    ALWAYS(fd == STDERR_FILENO && size <= sizeof passed.bytes - passed.n);
    memcpy(passed.bytes + passed.n, bytes, size);
    passed.n += size;
    return (ssize_t)size;
}

/* Of the parts of oshrun that the job's command line decides. */
bool oshrun_given(const struct oshrun_job *job, const char *const patterns[])
{
    return word_list_matches(&job->launcher_args, patterns);
}

bool oshrun_is_local(const struct oshrun_job *job)
{
    return !job->hosts.n;
}

const char *oshrun_launcher_name(const struct oshrun_job *job)
{
    return job->launcher;
}

/* Whole lines may be missing, and nothing else. */
static void check_passed(const struct fuzz_input *input)
{
    size_t at = 0;
    for (size_t i = 0; i < passed.n; i++, at++) {
        while (at < input->size && input->data[at] != (uint8_t)passed.bytes[i])
            at++;
        ALWAYS(at < input->size);
    }
    if (!memmem(input->data, input->size, "srun", 4) && !memmem(input->data, input->size, "slurmstepd", 10) &&
        !memmem(input->data, input->size, "---", 3) && !memmem(input->data, input->size, "oshrun", 6) &&
        !memmem(input->data, input->size, "[", 1))
        ALWAYS(passed.n == input->size);
}

static void read_stderr(struct failures *failures, struct fuzz_input input, size_t piece)
{
    static struct stderr_filter filter;
    struct fuzz_input all = input;
    filter = (struct stderr_filter){.failures = failures};
    passed.n = 0;
    while (input.size) {
        size_t n = piece < input.size ? piece : input.size;
        char *bytes = fuzz_memory(n);
        memcpy(bytes, input.data, n);
        stderr_filter_add(&filter, bytes, n);
        free(bytes);
        input.data += n;
        input.size -= n;
        if (piece % 7 == 0)
            stderr_filter_release(&filter);
    }
    stderr_filter_release(&filter);
    stderr_filter_release(&filter); /* a partial line behind one of dashes */
    check_passed(&all);
}

static void read_messages(struct failures *failures, struct fuzz_input input)
{
    char *text = fuzz_memory(input.size + 1), *line;
    memcpy(text, input.data, input.size);
    text[input.size] = 0;
    for (char *rest = text; (line = strsep(&rest, "\n"));)
        failures_read_line(failures, line);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct oshrun_job job;
    struct fuzz_input input = {data, size};
    struct failures failures;
    job = (struct oshrun_job){.quiet = true, .launcher = "launcher", .npes = (int)fuzz_below(&input, 3) * 3};
    job.kind = (enum oshrun_kind)(1 + fuzz_below(&input, 5));
    size_t piece = 1 + fuzz_below(&input, 256);
    failures_open(&failures, &job);
    if (piece % 2)
        read_messages(&failures, input);
    else
        read_stderr(&failures, input, piece);
    int status = (int)fuzz_below(&input, 256);
    ALWAYS(failures_report(&failures, 0) == 0 && failures_report(&failures, status) >= 0);
    failures_close(&failures);
    while (texts.n)
        free(texts.all[--texts.n]);
    return 0;
}
