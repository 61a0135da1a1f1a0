/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The command lines of srun and of MPICH's mpiexec. Both forward the environment themselves.
 */
#define _GNU_SOURCE
#include "tools/complain.h"
#include "tools/oshrun/oshrun.h"

#include <stdlib.h>
#include <string.h>

static bool is(const char *word, const char *other)
{
    return word && !strcmp(word, other);
}

/* ---- Slurm ------------------------------------------------------------------------------------------------------- */

/* The host of each PE, in order. More PEs than the hosts have go round again. */
static char *places(const struct oshrun_job *job)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        complain_and_exit(1, "no memory is left");
    for (int pe = 0; pe < job->npes;) {
        for (const struct host_entry *host = job->hosts.first; host; host = host->hh.next) {
            int slots = is(job->map_by, "node") ? 1 : host->slots;
            for (int i = 0; i < slots && pe < job->npes; i++, pe++)
                fprintf(out, pe ? ",%s" : "%s", host->name);
        }
    }
    fclose(out);
    char *kept = word_text("%s", text);
    free(text);
    return kept;
}

/* srun's word for --map-by. */
static const char *distribution(const struct oshrun_job *job)
{
    if (!job->map_by)
        return NULL;
    if (is(job->map_by, "slot") || is(job->map_by, "core"))
        return "block";
    if (is(job->map_by, "node"))
        return "cyclic";
    if (is(job->map_by, "socket"))
        return "block:cyclic";
    complain_and_exit(2, "srun cannot place PEs by %s: --map-by takes slot, core, socket or node there", job->map_by);
}

/* srun's word for --bind. */
static const char *cpu_bind(const char *bind)
{
    return is(bind, "none")       ? "none"
           : is(bind, "numa")     ? "ldoms"
           : is(bind, "hwthread") ? "threads"
                                  : word_text("%ss", bind);
}

void oshrun_slurm_command(struct oshrun_job *job)
{
    struct word_list *command = &job->command;
    const char *distributed = distribution(job), *step = getenv("SLURM_STEP_ID");
    word_list_add(command, is(job->launcher, "srun") ? job->launcher : oshrun_launcher_path(job));
    word_list_add_two(command, "--mpi=pmix", "--kill-on-bad-exit=1");
    if (step && *step && !OSHRUN_GIVEN(job, "--overlap")) /* inside a step, which has all processors */
        word_list_add(command, "--overlap");
    if (job->npes)
        word_list_add_two(command, "--ntasks", word_text("%d", job->npes));
    if (job->hosts.n) {
        word_list_add_two(command, "--nodelist", places(job));
        word_list_add_two(command, "--distribution", "arbitrary");
    } else if (distributed) {
        word_list_add_two(command, "--distribution", distributed);
    }
    if (job->per_node)
        word_list_add_two(command, "--ntasks-per-node", word_text("%d", job->per_node));
    if (job->bind)
        word_list_add(command, word_text("--cpu-bind=%s", cpu_bind(job->bind)));
    if (job->tag)
        word_list_add(command, "--label");
    if (job->wdir)
        word_list_add_two(command, "--chdir", job->wdir);
    if (!OSHRUN_GIVEN(job, "--overcommit", "-O"))
        word_list_add(command, "--overcommit");
}

/* ---- MPICH ------------------------------------------------------------------------------------------------------- */

/* Hydra maps by parts of a host only what it binds. */
static void place(struct oshrun_job *job)
{
    if (is(job->map_by, "node")) {
        word_list_add_two(&job->command, "-ppn", "1");
    } else if (job->map_by && !is(job->map_by, "slot")) {
        if (is(job->bind, "none"))
            complain_and_exit(2, "mpiexec of MPICH places PEs by %s only if it binds them: omit --bind none",
                              job->map_by);
        word_list_add_two(&job->command, "-map-by", job->map_by);
    } else if (job->per_node) {
        word_list_add_two(&job->command, "-ppn", word_text("%d", job->per_node));
    }
}

/* Hydra does not tell a PE that it has bound it. The PE must not take what a program such as taskset does for it. */
static void tell_binding(struct oshrun_job *job, const char *to)
{
    static const char *const binders[] = {"taskset", "numactl", "hwloc-bind", "chrt", "sh", "bash"};
    const char *path = job->program.all[0], *slash = strrchr(path, '/');
    bool binds = false;
    for (size_t i = 0; i < sizeof binders / sizeof binders[0]; i++)
        binds = binds || is(slash ? slash + 1 : path, binders[i]);
    word_list_add(&job->added, !binds && is(to, "core") ? "MAPSHMEM_BOUND_TO=core" : "MAPSHMEM_BOUND_TO");
}

static void bind_and_place(struct oshrun_job *job)
{
    const char *to = oshrun_binding(job);
    if (job->map_by && !job->bind && !is(job->map_by, "slot") && !is(job->map_by, "node"))
        to = job->map_by;
    if (to) {
        to = word_text("%.*s", (int)strcspn(to, ":"), to);
        word_list_add_two(&job->command, "-bind-to", to);
    }
    tell_binding(job, to);
    place(job);
}

void oshrun_hydra_command(struct oshrun_job *job)
{
    struct word_list *command = &job->command;
    word_list_add(command, oshrun_launcher_path(job));
    if (job->npes)
        word_list_add_two(command, "-n", word_text("%d", job->npes));
    if (job->hosts.n) /* -ppn counts only where hosts have no numbers */
        word_list_add_two(command, "-hosts", host_list_text(&job->hosts, !is(job->map_by, "node")));
    if (!OSHRUN_GIVEN(job, "-bind-to*", "--bind-to*", "-map-by*", "--map-by*"))
        bind_and_place(job);
    if (job->tag)
        word_list_add(command, "-prepend-rank");
    if (job->wdir)
        word_list_add_two(command, "-wdir", job->wdir);
}
