/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which launcher there is, and of what kind.
 */
#define _GNU_SOURCE
#include "tools/complain.h"
#include "tools/oshrun/oshrun.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { REFUSED = -1, MOST_OUTPUT = 65536 };

/* What "LAUNCHER OPTION" writes, as far as anybody needs it; empty if it cannot be run. */
static char *output_of(const char *launcher, const char *option)
{
    static char output[MOST_OUTPUT];
    char *words[] = {(char *)launcher, (char *)option, NULL};
    posix_spawn_file_actions_t actions;
    size_t length = 0;
    ssize_t n;
    int ends[2];
    pid_t pid;
    if (pipe2(ends, O_CLOEXEC) < 0)
        complain_and_exit(1, "cannot make a pipe: %s", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    int rc = posix_spawnp(&pid, launcher, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (rc == EAGAIN)
        complain_and_exit(1, "cannot start %.200s: %s (too many processes: ulimit -u?)", launcher, strerror(rc));
    while (!rc && length < sizeof output - 1 &&
           ((n = read(ends[0], output + length, sizeof output - 1 - length)) > 0 || (n < 0 && errno == EINTR)))
        length += n > 0 ? (size_t)n : 0;
    close(ends[0]);
    while (!rc && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    output[length] = 0;
    return output;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The kind of a launcher, by what it prints as its version. */
static int kind_by_version(const char *text)
{
    static const char open_mpi[] = "(Open MPI) ";
    const char *version = strstr(text, open_mpi);
    if (version) {
        version += strlen(open_mpi);
        if (*version >= '1' && *version <= '3' && version[1] == '.')
            return REFUSED;
        return strncmp(version, "4.", 2) ? OSHRUN_OMPI5 : OSHRUN_OMPI4;
    }
    if (strcasestr(text, "prrte"))
        return OSHRUN_PRRTE;
    return strcasestr(text, "hydra") ? OSHRUN_HYDRA : REFUSED;
}

/* An enum oshrun_kind, or REFUSED if the launcher has no PMIx. */
static int kind_of(const char *launcher)
{
    const char *name = base_name(launcher);
    if (!strncmp(name, "prterun", 7))
        return OSHRUN_PRRTE;
    if (!strncmp(name, "srun", 4))
        return strstr(output_of(launcher, "--mpi=list"), "pmix") ? OSHRUN_SLURM : REFUSED;
    return kind_by_version(output_of(launcher, "--version"));
}

/* Nothing with PMIx or PMI was found; refused are those that have neither. */
static void do_without(struct oshrun_job *job, const char *refused)
{
    if (refused && (job->asked_launcher || job->npes != 1))
        complain_and_exit(
            1, "%s has no PMIx, through which MapSHMEM starts: install Open MPI 4 or later (openmpi-bin) or PRRTE",
            refused);
    if (job->npes > 1)
        complain_and_exit(127, "no launcher found for %d PEs: install Open MPI (openmpi-bin), PRRTE or Slurm",
                          job->npes);
    job->kind = OSHRUN_DIRECT;
}

/* Takes the first that serves. Hydra is the last choice: it does not report which PE failed. */
static void try_launchers(struct oshrun_job *job, const char *const names[])
{
    const char *hydra = NULL, *refused = NULL;
    for (; *names && !job->launcher; names++) {
        if (!oshrun_find_in_path(*names))
            continue;
        int kind = kind_of(*names);
        if (kind == REFUSED) {
            refused = refused ? word_text("%s, %s", refused, *names) : *names;
        } else if (kind == OSHRUN_HYDRA) {
            hydra = hydra ? hydra : *names;
        } else {
            job->launcher = *names;
            job->kind = (enum oshrun_kind)kind;
        }
    }
    if (!job->launcher && hydra) {
        job->launcher = hydra;
        job->kind = OSHRUN_HYDRA;
    } else if (!job->launcher) {
        do_without(job, refused);
    }
}

void oshrun_find_launcher(struct oshrun_job *job)
{
    static const char *const names[] = {
        "srun", /* in an allocation only, Slurm's own */
        "mpirun", "mpirun.openmpi", "orterun", "prterun", "srun", "mpiexec", "mpiexec.hydra", NULL,
    };
    const char *asked = job->asked_launcher, *allocation = getenv("SLURM_JOB_ID");
    if (asked && !strcmp(asked, "none"))
        job->kind = OSHRUN_DIRECT;
    else if (asked && !oshrun_find_in_path(asked))
        complain_and_exit(127, "launcher '%.200s' not found", asked);
    else if (asked)
        try_launchers(job, (const char *const[]){asked, NULL});
    else
        try_launchers(job, allocation && *allocation ? names : names + 1);
}

/* With its full path if it is outside the system's folders: Open MPI then finds its own parts on the other hosts,
 * too. */
char *oshrun_launcher_path(const struct oshrun_job *job)
{
    static const char *const system_folders[] = {"/bin", "/usr/bin", "/usr/local/bin"};
    char *path = oshrun_find_in_path(job->launcher);
    size_t length = (size_t)(base_name(path) - path);
    for (size_t i = 0; i < sizeof system_folders / sizeof system_folders[0]; i++)
        if (length == strlen(system_folders[i]) + 1 && !strncmp(path, system_folders[i], length - 1))
            return (char *)job->launcher;
    return oshrun_absolute_path(path);
}

const char *oshrun_launcher_name(const struct oshrun_job *job)
{
    return base_name(job->launcher);
}

/* Open MPI's own message is seven lines, and ours then blames mpirun. Its variables cannot be taken out of the
 * environment: nobody can tell those of the launcher from the user's. */
void oshrun_refuse_nested(const struct oshrun_job *job)
{
    if (job->kind == OSHRUN_OMPI4 && getenv("OMPI_UNIVERSE_SIZE"))
        complain_and_exit(
            1,
            "this is a process of a job that Open MPI has started (OMPI_UNIVERSE_SIZE is set), and %.100s "
            "starts no job inside another: take mpiexec of MPICH (--launcher), or one PE with "
            "--launcher none",
            oshrun_launcher_name(job));
}
