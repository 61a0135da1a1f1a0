/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds out whether the launcher has bound this PE, and which processors the launcher has itself. Of this folder it needs
 * launcher.c alone, since it serves programs without a bootstrap, too (oshcopy).
 */
#define _GNU_SOURCE
#include "bootstrap/binding.h"

#include "bootstrap/bootstrap.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Sets as text ------------------------------------------------------------------------------------------------ */

/* A number at *text, which then points behind it; -1: there is none, or it is too large. */
static int read_number(const char **text)
{
    char *end;
    if (!isdigit((unsigned char)**text))
        return -1;
    long number = strtol(*text, &end, 10);
    *text = end;
    return number < CPU_SETSIZE ? (int)number : -1;
}

/* A number or a range. */
static bool read_range(const char **text, cpu_set_t *cpus)
{
    int first = read_number(text), last = first;
    if (**text == '-') {
        ++*text;
        last = read_number(text);
    }
    for (int cpu = first; first >= 0 && cpu <= last; cpu++)
        CPU_SET(cpu, cpus);
    return first >= 0 && last >= first;
}

bool shmemi_cpus_from_list(const char *text, cpu_set_t *cpus)
{
    static const char prefix[] = "hwloc:";
    CPU_ZERO(cpus);
    if (!strncmp(text, prefix, sizeof prefix - 1))
        text += sizeof prefix - 1;
    while (read_range(&text, cpus)) {
        if (!*text || *text == '\n')
            return true;
        if (*text++ != ',')
            break;
    }
    CPU_ZERO(cpus);
    return false;
}

static int digit_value(char digit)
{
    return isdigit((unsigned char)digit) ? digit - '0' : tolower((unsigned char)digit) - 'a' + 10;
}

bool shmemi_cpus_from_mask(const char *text, size_t length, cpu_set_t *cpus)
{
    enum { BITS = 4 };
    CPU_ZERO(cpus);
    if (length > 2 && text[0] == '0' && tolower((unsigned char)text[1]) == 'x') {
        text += 2;
        length -= 2;
    }
    if (!length || length > CPU_SETSIZE / BITS)
        return false;
    for (size_t i = 0; i < length; i++) {
        const char digit = text[length - 1 - i];
        for (size_t bit = 0; isxdigit((unsigned char)digit) && bit < BITS; bit++)
            if (digit_value(digit) >> bit & 1)
                CPU_SET(i * BITS + bit, cpus);
        if (!isxdigit((unsigned char)digit)) {
            CPU_ZERO(cpus);
            return false;
        }
    }
    return CPU_COUNT(cpus);
}

const char *shmemi_cpus_list(const cpu_set_t *cpus, char *text, size_t size)
{
    size_t length = 0;
    snprintf(text, size, "none");
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        int last = cpu;
        if (!CPU_ISSET(cpu, cpus))
            continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, cpus))
            last++;
        char range[32];
        const char *comma = length ? "," : "";
        int n = last > cpu ? snprintf(range, sizeof range, "%s%d-%d", comma, cpu, last)
                           : snprintf(range, sizeof range, "%s%d", comma, cpu);
        if (length + (size_t)n + sizeof "..." > size) {
            snprintf(text + length, size - length, "...");
            return text;
        }
        memcpy(text + length, range, (size_t)n + 1);
        length += (size_t)n;
        cpu = last;
    }
    return text;
}

/* ---- What the launcher says -------------------------------------------------------------------------------------- */

/* Slurm: a mask for each task of the node, separated by commas, or one for all. */
static bool read_slurm(cpu_set_t *cpus)
{
    const char *type = getenv("SLURM_CPU_BIND_TYPE"), *list = getenv("SLURM_CPU_BIND_LIST");
    const char *local_id = getenv("SLURM_LOCALID");
    if (!type || strncmp(type, "mask_cpu", sizeof "mask_cpu" - 1) || !list || !local_id)
        return false;
    int left = atoi(local_id);
    while (left-- > 0 && strchr(list, ','))
        list = strchr(list, ',') + 1;
    return shmemi_cpus_from_mask(list, strcspn(list, ","), cpus);
}

/* Hydra says nothing to the PEs, so oshrun does: that it has asked for a binding, and that the program is not one that
 * binds. A PE on one core then has that binding. */
static bool read_oshrun(cpu_set_t *cpus)
{
    enum { CPUS_OF_A_CORE = 2 };
    const char *asked = getenv("MAPSHMEM_BOUND_TO");
    return asked && !strcmp(asked, "core") && shmemi_launcher_has_pmi() && !sched_getaffinity(0, sizeof *cpus, cpus) &&
           CPU_COUNT(cpus) <= CPUS_OF_A_CORE;
}

void shmemi_binding_reported(const char *reported, cpu_set_t *cpus)
{
    const char *open_mpi = getenv("OMPI_MCA_orte_base_applied_binding");
    if (reported && shmemi_cpus_from_list(reported, cpus))
        return;
    if (open_mpi && shmemi_cpus_from_list(open_mpi, cpus))
        return;
    if (!read_slurm(cpus) && !read_oshrun(cpus))
        CPU_ZERO(cpus);
}

/* ---- What the launcher has --------------------------------------------------------------------------------------- */

/* The value behind a word at the start of a line of /proc/PID/status, up to the line's end; false: there is none. */
static bool read_status(pid_t pid, const char *word, char *value, size_t size)
{
    char path[64], line[4096];
    bool is_found = false;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && !is_found && fgets(line, sizeof line, file)) {
        is_found = !strncmp(line, word, strlen(word));
        if (is_found)
            snprintf(value, size, "%s", line + strlen(word) + strspn(line + strlen(word), " \t"));
    }
    if (file)
        fclose(file);
    return is_found;
}

/* Whether a process was started with a variable of the value that it has here. */
static bool has_variable(pid_t pid, const char *name)
{
    char path[64], *word = NULL;
    size_t size = 0;
    bool is_found = false;
    const char *value = getenv(name);
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    FILE *file = value ? fopen(path, "re") : NULL;
    while (file && !is_found && getdelim(&word, &size, '\0', file) > 0)
        is_found =
            !strncmp(word, name, strlen(name)) && word[strlen(name)] == '=' && !strcmp(word + strlen(name) + 1, value);
    free(word);
    if (file)
        fclose(file);
    return is_found;
}

/* Whether a process is this PE as well: a script of the user that the launcher has started in place of the program. */
static bool is_this_pe(pid_t pid)
{
    return (has_variable(pid, "PMIX_NAMESPACE") && has_variable(pid, "PMIX_RANK")) ||
           (has_variable(pid, "PMI_FD") && has_variable(pid, "PMI_RANK"));
}

/* The processors of the process that has started this PE. */
static bool read_launcher(cpu_set_t *cpus)
{
    enum { SCRIPTS_MAX = 8 };
    char text[4096];
    pid_t pid = getppid();
    for (int i = 0; i < SCRIPTS_MAX && pid > 0 && is_this_pe(pid); i++)
        pid = read_status(pid, "PPid:", text, sizeof text) ? (pid_t)atoi(text) : 0;
    return pid > 0 && read_status(pid, "Cpus_allowed_list:", text, sizeof text) && shmemi_cpus_from_list(text, cpus);
}

/* Slurm may give a job a part of the machine by binding its tasks alone, without a control group that would keep others
 * out of it: its daemon, the parent, then has more than the job has. */
static bool is_whole_job(const cpu_set_t *cpus)
{
    const char *of_job = getenv("SLURM_CPUS_ON_NODE");
    return !of_job || CPU_COUNT(cpus) <= atoi(of_job);
}

static bool contains(const cpu_set_t *all, const cpu_set_t *part)
{
    cpu_set_t both;
    CPU_AND(&both, all, part);
    return CPU_EQUAL(&both, part);
}

/* What the kernel leaves of a set, because of control groups: tried out. */
static bool try_out(const cpu_set_t *wanted, const cpu_set_t *own, cpu_set_t *got)
{
    bool is_ok = !sched_setaffinity(0, sizeof *wanted, wanted);
    if (is_ok) {
        is_ok = !sched_getaffinity(0, sizeof *got, got);
        is_ok = !sched_setaffinity(0, sizeof *own, own) && is_ok;
    }
    return is_ok;
}

void shmemi_binding_read(struct shmemi_binding *binding, const char *reported)
{
    cpu_set_t bound, launcher, got;
    *binding = (struct shmemi_binding){0};
    if (sched_getaffinity(0, sizeof binding->own, &binding->own)) {
        CPU_ZERO(&binding->own); /* more processors than a set has */
        return;
    }
    binding->allowed = binding->own;
    shmemi_binding_reported(reported, &bound);
    if (!CPU_EQUAL(&bound, &binding->own) || !read_launcher(&launcher) || !contains(&launcher, &binding->own) ||
        CPU_EQUAL(&launcher, &binding->own))
        return;
    if (try_out(&launcher, &binding->own, &got) && contains(&got, &binding->own) && is_whole_job(&got))
        binding->allowed = got;
}
