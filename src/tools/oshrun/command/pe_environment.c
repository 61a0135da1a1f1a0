/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The program and the environment of the PEs.
 */
#define _GNU_SOURCE
#include "tools/complain.h"
#include "tools/oshrun/oshrun.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static const char *const forwarded_prefixes[] = {"SHMEM_", "SMA_", "MAPSHMEM_", "UCX_", "POCL_", "OCL_", "CUDA_"};
static const char forwarded_ending[] = "SAN_OPTIONS"; /* of the sanitizers */

/* ---- the program ------------------------------------------------------------------------------------------------- */

static bool is_file(const char *path)
{
    struct stat status;
    return !stat(path, &status) && S_ISREG(status.st_mode);
}

/* The first executable file of that name, or else the first that is none. */
char *oshrun_find_in_path(const char *name)
{
    const char *path = getenv("PATH");
    char *found = NULL;
    if (strchr(name, '/'))
        return is_file(name) && !access(name, X_OK) ? word_text("%s", name) : NULL;
    if (!*name)
        return NULL;
    for (const char *at = path ? path : "/usr/local/bin:/usr/bin:/bin";; at++) {
        size_t length = strcspn(at, ":");
        char *file = length ? word_text("%.*s/%s", (int)length, at, name) : word_text("./%s", name);
        if (is_file(file) && (!found || !access(file, X_OK)))
            found = file;
        if (found && !access(found, X_OK))
            return found;
        at += length;
        if (!*at)
            return found;
    }
}

char *oshrun_absolute_path(const char *path)
{
    if (path[0] == '/')
        return (char *)path;
    char *folder = get_current_dir_name(); /* as the user knows it, links and all */
    if (!folder)
        complain_and_exit(1, "the current folder has no path: %s", strerror(errno));
    char *absolute = word_text("%s/%s", folder, strncmp(path, "./", 2) ? path : path + 2);
    free(folder);
    return absolute;
}

/* A program in Python is started by its interpreter, if the file does not name that itself. */
static _Noreturn void refuse_python(const char *name)
{
    complain_and_exit(126, "'%.200s' is a program for Python: did you mean oshrun python3 %.200s?", name, name);
}

static bool is_python(const char *name)
{
    size_t length = strlen(name);
    return length > 3 && !strcmp(name + length - 3, ".py");
}

/* The file as far as the names of libraries and symbols reach that the loader needs. */
static char *read_head(const char *path, size_t *length_p)
{
    enum { MOST_HEAD = 16 << 20 };
    FILE *file = fopen(path, "re");
    char *head = malloc(MOST_HEAD);
    *length_p = file && head ? fread(head, 1, MOST_HEAD, file) : 0;
    if (file)
        fclose(file);
    return head;
}

/* The libraries of other OpenSHMEMs. Their compiler wrapper has the name of ours, too. */
static void look_for_others(const char *name, const char *head, size_t length)
{
    static const char *const libraries[] = {"liboshmem.so.", "libsma.so."};
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++)
        if (memmem(head, length, libraries[i], strlen(libraries[i])) && !memmem(head, length, "libmapshmem", 11))
            complain(
                "%.200s is linked with another OpenSHMEM (%s*), and runs with that: compile it with MapSHMEM's oshcc, "
                "which lies beside this oshrun; another one comes first in the PATH",
                name, libraries[i]);
}

static struct oshrun_variable *find_variable(const struct oshrun_job *job, const char *name, size_t length)
{
    for (size_t i = 0; i < job->n_forwarded; i++)
        if (!strncmp(job->forwarded[i].name, name, length) && !job->forwarded[i].name[length])
            return &job->forwarded[i];
    return NULL;
}

static void add_variable(struct oshrun_job *job, const char *name, size_t length, char *value)
{
    struct oshrun_variable *variable = find_variable(job, name, length);
    if (!variable) {
        job->forwarded = realloc(job->forwarded, (job->n_forwarded + 1) * sizeof job->forwarded[0]);
        if (!job->forwarded)
            complain_and_exit(1, "no memory is left");
        variable = &job->forwarded[job->n_forwarded++];
        variable->name = word_text("%.*s", (int)length, name);
    }
    variable->value = value;
}

/* The memory hooks of UCX, which it sets while it is loaded, crash in threads that end under ThreadSanitizer. */
static void look_into_program(struct oshrun_job *job, const char *name)
{
    static const char ucx_events[] = "UCX_MEM_EVENTS";
    size_t length;
    char *head = read_head(job->program.all[0], &length);
    bool is_script = length > 2 && !memcmp(head, "#!", 2), is_elf = length > 4 && !memcmp(head, "\177ELF", 4);
    if (is_python(name) && !is_script && !is_elf)
        refuse_python(name);
    if (is_elf)
        look_for_others(name, head, length);
    if (is_elf && memmem(head, length, "__tsan_init", sizeof "__tsan_init") && !getenv(ucx_events))
        add_variable(job, ucx_events, strlen(ucx_events), word_text("no")); /* which -x overrides */
    free(head);
}

/* Hosts with another PATH or folder then find it, too. */
void oshrun_find_program(struct oshrun_job *job)
{
    const char *name = job->program.all[0], *path = name;
    struct stat status;
    if (job->verbatim && name[0] == '-') /* it comes after the launcher's options */
        return;
    if (!strchr(name, '/'))
        path = oshrun_find_in_path(name);
    if (!path && is_python(name) && is_file(name))
        refuse_python(name);
    if (!path && *name && !access(word_text("./%s", name), X_OK))
        complain_and_exit(127, "program '%.200s' is not in PATH: did you mean ./%.200s?", name, name);
    if (!path)
        complain_and_exit(127, "program '%.200s' not found in PATH", name);
    if (stat(path, &status) < 0)
        complain_and_exit(127, "program '%.200s' not found", name);
    if (S_ISDIR(status.st_mode))
        complain_and_exit(126, "'%.200s' is a directory, not a program", name);
    if (access(path, X_OK) < 0 && is_python(name))
        refuse_python(name);
    if (access(path, X_OK) < 0)
        complain_and_exit(126, "program '%.200s' is not executable", name);
    job->program.all[0] = oshrun_absolute_path(path);
    if (S_ISREG(status.st_mode)) /* a pipe would have to be written first */
        look_into_program(job, name);
}

/* ---- the environment --------------------------------------------------------------------------------------------- */

static bool is_variable_name(const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!isalpha((unsigned char)name[i]) && name[i] != '_' && !(i && isdigit((unsigned char)name[i])))
            return false;
    return length > 0;
}

static bool is_always_forwarded(const char *name, size_t length)
{
    size_t ending = strlen(forwarded_ending), i = 0;
    for (size_t k = 0; k < sizeof forwarded_prefixes / sizeof forwarded_prefixes[0]; k++)
        if (!strncmp(name, forwarded_prefixes[k], strlen(forwarded_prefixes[k])))
            return true;
    if (length <= ending || strncmp(name + length - ending, forwarded_ending, ending))
        return false;
    while (i < length - ending && name[i] >= 'A' && name[i] <= 'Z')
        i++;
    return i == length - ending;
}

static void forward_wanted(struct oshrun_job *job, char *word)
{
    size_t length = strcspn(word, "=");
    if (!is_variable_name(word, length))
        complain_and_exit(2, "-x %.100s: '%.*s' is not the name of a variable", word, length < 100 ? (int)length : 100,
                          word);
    if (word[length])
        add_variable(job, word, length, word + length + 1);
    else if (getenv(word))
        add_variable(job, word, length, NULL);
    else
        complain("-x %.100s: not set, so it is not forwarded", word);
}

/* The library of --race: beside this program as it is installed or built, or where the loader finds it. */
static const char *race_library(void)
{
    static const char *const folders[] = {"/../lib", "/../lib64", "/.libs"};
    static const char name[] = "libmapshmem_race.so.0";
    char self[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self);
    const char *slash = length > 0 ? memrchr(self, '/', (size_t)length) : NULL;
    for (size_t i = 0; slash && i < sizeof folders / sizeof folders[0]; i++) {
        char *path = word_text("%.*s%s/%s", (int)(slash - self), self, folders[i], name);
        if (is_file(path))
            return path;
        free(path);
    }
    return name;
}

/* It comes before what the program is linked with. */
static void preload_race(struct oshrun_job *job)
{
    static const char preload[] = "LD_PRELOAD";
    const char *others = oshrun_pe_value(job, preload), *library = race_library();
    char *all = others && *others ? word_text("%s:%s", library, others) : word_text("%s", library);
    struct oshrun_variable *variable = find_variable(job, preload, strlen(preload));
    if (variable)
        variable->value = all;
    else
        add_variable(job, preload, strlen(preload), all);
}

void oshrun_forward_environment(struct oshrun_job *job)
{
    for (size_t i = 0; i < job->wanted.n; i++)
        forward_wanted(job, job->wanted.all[i]);
    if (job->race)
        preload_race(job);
    for (char **word = environ; *word; word++) {
        size_t length = strcspn(*word, "=");
        if (is_variable_name(*word, length) && is_always_forwarded(*word, length) && !find_variable(job, *word, length))
            add_variable(job, *word, length, NULL);
    }
}

const char *oshrun_pe_value(const struct oshrun_job *job, const char *name)
{
    const struct oshrun_variable *variable = find_variable(job, name, strlen(name));
    return variable && variable->value ? variable->value : getenv(name);
}

/* Whether two texts NAME=VALUE or NAME have the same name. */
static bool same_name(const char *a, const char *b)
{
    size_t length = strcspn(a, "=");
    return length == strcspn(b, "=") && !memcmp(a, b, length);
}

char **oshrun_command_environment(const struct oshrun_job *job)
{
    struct word_list words = {0};
    for (char **word = environ; *word; word++) {
        size_t i = 0;
        while (i < job->added.n && !same_name(*word, job->added.all[i]))
            i++;
        if (i == job->added.n)
            word_list_add(&words, *word);
    }
    for (size_t i = 0; i < job->added.n; i++)
        if (strchr(job->added.all[i], '='))
            word_list_add(&words, job->added.all[i]);
    if (!words.n)
        word_list_add(&words, NULL);
    return words.all;
}
