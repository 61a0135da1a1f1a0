/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The program and the environment of the PEs.
 */
#define _GNU_SOURCE
#include "tools/complain.h"
#include "tools/oshrun/oshrun.h"

#include <ctype.h>
#include <errno.h>
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

/* Hosts with another PATH or folder then find it, too. */
void oshrun_find_program(struct oshrun_job *job)
{
    const char *name = job->program.all[0], *path = name;
    struct stat status;
    if (job->verbatim && name[0] == '-') /* it comes after the launcher's options */
        return;
    if (!strchr(name, '/'))
        path = oshrun_find_in_path(name);
    if (!path && *name && !access(word_text("./%s", name), X_OK))
        complain_and_exit(127, "program '%.200s' is not in PATH: did you mean ./%.200s?", name, name);
    if (!path)
        complain_and_exit(127, "program '%.200s' not found in PATH", name);
    if (stat(path, &status) < 0)
        complain_and_exit(127, "program '%.200s' not found", name);
    if (S_ISDIR(status.st_mode))
        complain_and_exit(126, "'%.200s' is a directory, not a program", name);
    if (access(path, X_OK) < 0)
        complain_and_exit(126, "program '%.200s' is not executable", name);
    job->program.all[0] = oshrun_absolute_path(path);
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

void oshrun_forward_environment(struct oshrun_job *job)
{
    for (size_t i = 0; i < job->wanted.n; i++)
        forward_wanted(job, job->wanted.all[i]);
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
