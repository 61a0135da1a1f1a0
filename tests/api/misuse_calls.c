/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes every call of misuse_calls.def in a process of its own, which is a job of one PE, and looks at how it ends and
 * at what it says. Usage: misuse_calls [LINE]: only that row, in this process.
 */
#include <shmem.h>
#include <shmemx.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AT_ONCE = 4, TEXT = 4096, SECONDS = 60, GOOD = 64 };
enum outcome { ENDS, REFUSES, SUCCEEDS };

static long psync[SHMEM_SYNC_SIZE], word_lock_object;
static long *good, *end, *of_library, *outside, *on_stack, *word_lock = &word_lock_object;
static long *const is_missing = NULL;
static const shmemx_box_t box = {8, 2, 2, 16, 64, 16, 64};
static uint64_t *word;
static size_t indices[4];
static int pes[2];
static shmem_ctx_t ctx, some_ctx;
static shmem_team_t team;
static shmem_team_config_t config;
static shmemx_deep_info_t info;

static shmem_team_t gone_team(void)
{
    shmem_team_t made;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, &made);
    shmem_team_destroy(made);
    return made;
}

static shmem_ctx_t gone_ctx(void)
{
    shmem_ctx_t made;
    shmem_ctx_create(0, &made);
    shmem_ctx_destroy(made);
    return made;
}

static shmem_ctx_t ctx_of_gone_team(void)
{
    shmem_team_t made;
    shmem_ctx_t of_team;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, &made);
    shmem_team_create_ctx(made, 0, &of_team);
    shmem_team_destroy(made);
    return of_team;
}

static shmemx_type_t gone_type(void)
{
    const shmemx_field_t fields[] = {{.name = "a", .offset = 0, .kind = SHMEMX_FIELD_VALUE, .type = "long"}};
    shmemx_type_t type = shmemx_type_create("gone", sizeof(long), 1, fields);
    if (!type || shmemx_type_destroy(type))
        abort();
    return type;
}

/* The library's part of the heap is right before the first block that a program gets. */
static void prepare(long *stack)
{
    shmemx_heap_info_t heap;
    shmem_init();
    char *first = shmem_malloc(GOOD * sizeof *good);
    shmemx_heap_info(&heap);
    good = (long *)(void *)first;
    end = (long *)(void *)(first + heap.size - sizeof *end);
    of_library = (long *)(void *)(first - 4096);
    outside = calloc(64, sizeof *outside);
    on_stack = stack;
    word = shmem_calloc(1, sizeof *word);
    shmem_ctx_create(0, &ctx);
}

static void make_call(int number)
{
    int i = 0;
#define BAD(routine, text, call)                                                                                       \
    if (i++ == number)                                                                                                 \
        call;
#define REFUSED BAD
#define FINE(call) BAD(, "", call)
#include "misuse_calls.def"
#undef BAD
#undef REFUSED
#undef FINE
}

static const struct row {
    enum outcome outcome;
    const char *routine, *text, *call;
} rows[] = {
#define BAD(routine, text, call) {ENDS, #routine, text, #call},
#define REFUSED(routine, text, call) {REFUSES, #routine, text, #call},
#define FINE(call) {SUCCEEDS, "", "", #call},
#include "misuse_calls.def"
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

/* ---- one process per row ----------------------------------------------------------------------------------------- */

static int carry_out(int number)
{
    long stack[GOOD] = {0};
    prepare(stack);
    make_call(number);
    shmem_finalize();
    return 0;
}

struct child {
    pid_t pid;
    FILE *said;
};

static struct child start(int number)
{
    struct child child = {.said = tmpfile()};
    fflush(NULL);
    child.pid = child.said ? fork() : -1;
    if (child.pid < 0)
        abort();
    if (child.pid)
        return child;
    dup2(fileno(child.said), STDERR_FILENO);
    alarm(SECONDS);
    exit(carry_out(number));
}

/* What is wrong with how a row ended, or NULL. */
static const char *objection(const struct row *row, int status, const char *text)
{
    const char *newline = strchr(text, '\n'), *found = strstr(text, row->routine);
    if (WIFSIGNALED(status))
        return "it ended by a signal";
    if ((WEXITSTATUS(status) != 0) != (row->outcome == ENDS))
        return row->outcome == ENDS ? "nothing was done about it" : "the process ended";
    if (row->outcome == SUCCEEDS)
        return *text ? "something was said" : NULL;
    if (!newline || newline[1])
        return "there is not one line";
    if (!found || found[strlen(row->routine)] != ':')
        return "the line does not name the routine";
    return strstr(text, row->text) ? NULL : "the line does not say what is wrong";
}

static int finish(int number, struct child child)
{
    char text[TEXT] = "";
    int status;
    waitpid(child.pid, &status, 0);
    rewind(child.said);
    size_t n = fread(text, 1, sizeof text - 1, child.said);
    text[n] = '\0';
    fclose(child.said);
    const char *wrong = objection(&rows[number], status, text);
    if (!wrong)
        return 0;
    printf("row %d, %s: %s (status %#x): %s\n", number, rows[number].call, wrong, (unsigned)status, text);
    return 1;
}

int main(int argc, char **argv)
{
    struct child children[AT_ONCE];
    int failures = 0;
    if (argc > 1)
        return carry_out(atoi(argv[1]));
    for (int i = 0; i < N_ROWS + AT_ONCE; i++) {
        if (i >= AT_ONCE)
            failures += finish(i - AT_ONCE, children[i % AT_ONCE]);
        if (i < N_ROWS)
            children[i % AT_ONCE] = start(i);
    }
    printf("%d calls, %d not as they should be\n", N_ROWS, failures);
    return failures != 0;
}
