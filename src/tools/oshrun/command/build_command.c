/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The command line of the launcher: what is the same for all of them, and Open MPI 4 and 5 and PRRTE.
 */
#define _GNU_SOURCE
#include "tools/complain.h"
#include "tools/oshrun/oshrun.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool oshrun_given(const struct oshrun_job *job, const char *const patterns[])
{
    return word_list_matches(job->verbatim ? &job->program : &job->launcher_args, patterns);
}

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value && *value;
}

bool oshrun_is_local(const struct oshrun_job *job)
{
    return !job->hosts.n && !is_set("SLURM_JOB_ID") && !is_set("PBS_NODEFILE") && !is_set("LSB_HOSTS") &&
           !is_set("PE_HOSTFILE") && !is_set("COBALT_NODEFILE") &&
           !OSHRUN_GIVEN(job, "-host*", "--host*", "-H", "-machinefile", "--machinefile");
}

/* The largest number of PEs that a host will get. */
static int pes_per_host(const struct oshrun_job *job)
{
    int most = 0;
    if (!job->hosts.n)
        return job->npes;
    for (const struct host_entry *host = job->hosts.first; host; host = host->hh.next)
        most = host->slots > most ? host->slots : most;
    return job->npes > job->hosts.slots ? (job->npes + job->hosts.n - 1) / job->hosts.n + most : most;
}

const char *oshrun_binding(const struct oshrun_job *job)
{
    const char *to = job->bind;
    if (!to && !job->hosts.n && !(job->npes && oshrun_is_local(job)))
        return NULL;
    if (!to)
        to = pes_per_host(job) <= oshrun_usable_cores() ? "core" : "none";
    return strcmp(to, "none") ? word_text("%s:if-supported", to) : to;
}

const char *oshrun_users_sigkill_timeout(const struct oshrun_job *job)
{
    static const char name[] = "odls_base_sigkill_timeout";
    const struct word_list *words = job->verbatim ? &job->program : &job->launcher_args;
    for (size_t i = 1; i < words->n; i++)
        if (!strcmp(words->all[i - 1], name))
            return words->all[i];
    if (is_set("OMPI_MCA_odls_base_sigkill_timeout"))
        return getenv("OMPI_MCA_odls_base_sigkill_timeout");
    return is_set("PRTE_MCA_odls_base_sigkill_timeout") ? getenv("PRTE_MCA_odls_base_sigkill_timeout") : NULL;
}

/* ---- Open MPI 4 and 5, PRRTE ------------------------------------------------------------------------------------- */

static void add_setting(struct oshrun_job *job, const char *name, int value)
{
    word_list_add(&job->command, job->kind == OSHRUN_OMPI4 ? "--mca" : "--prtemca");
    word_list_add_two(&job->command, name, word_text("%d", value));
}

/* The daemons of the launcher notice a lost host or network some seconds before the PEs do (SHMEM_PEER_TIMEOUT), and
 * end what is left on both sides. With their own settings they take 8 minutes. */
static void keep_alive(struct oshrun_job *job)
{
    const char *text = oshrun_pe_value(job, "SHMEM_PEER_TIMEOUT");
    int seconds = 15;
    if (text && *text && !word_is_count(text, strlen(text), 99999, &seconds))
        return;
    add_setting(job, "oob_tcp_keepalive_time", seconds / 3 + 1);
    add_setting(job, "oob_tcp_keepalive_intvl", seconds / 8 + 1);
    add_setting(job, "oob_tcp_keepalive_probes", 3);
}

/* Daemons then end their PEs without pauses between the signals. By itself each daemon takes two seconds, and those on
 * other hosts begin when the one that tells them has done: an end could not be told from a hang. */
static void end_without_delay(struct oshrun_job *job)
{
    if (!oshrun_users_sigkill_timeout(job))
        add_setting(job, "odls_base_sigkill_timeout", 0);
}

/* In the words of Open MPI 5 and PRRTE a socket is a package. */
static const char *own_word(const struct oshrun_job *job, const char *word)
{
    if (job->kind == OSHRUN_OMPI4 || strncmp(word, "socket", 6))
        return word;
    return word_text("package%s", word + 6);
}

/* How PEs are placed. All may put more PEs on a host than it has cores. */
static void place(struct oshrun_job *job)
{
    const char *by = job->per_node ? word_text("ppr:%d:node", job->per_node) : job->map_by;
    bool ours = !OSHRUN_GIVEN(job, "*oversubscribe*", "*OVERSUBSCRIBE*");
    if (ours && job->kind != OSHRUN_OMPI4) {
        if (!OSHRUN_GIVEN(job, "-map-by", "--map-by*"))
            word_list_add_two(&job->command, "--map-by", word_text("%s:OVERSUBSCRIBE", own_word(job, by ? by : "")));
        return;
    }
    if (ours)
        word_list_add(&job->command, "--oversubscribe");
    if (by)
        word_list_add_two(&job->command, "--map-by", by);
}

static void add_variables(struct oshrun_job *job)
{
    for (size_t i = 0; i < job->n_forwarded; i++) {
        const struct oshrun_variable *variable = &job->forwarded[i];
        const char *value = variable->value;
        /* given with its value, because some builds of mpirun change the variable while they look for OpenCL devices */
        if (!value && !strncmp(variable->name, "OCL_ICD_", 8))
            value = getenv(variable->name);
        word_list_add_two(&job->command, "-x", value ? word_text("%s=%s", variable->name, value) : variable->name);
    }
}

/* prterun finds its parts on other hosts only when it is told. */
static void add_prefix(struct oshrun_job *job)
{
    const char *path = job->command.all[0], *name = strrchr(path, '/');
    const char *folder = name ? memrchr(path, '/', (size_t)(name - path)) : NULL;
    if (job->kind == OSHRUN_PRRTE && folder && folder > path && name - folder == 4 && !strncmp(folder, "/bin", 4) &&
        !OSHRUN_GIVEN(job, "--prefix"))
        word_list_add_two(&job->command, "--prefix", word_text("%.*s", (int)(folder - path), path));
}

void oshrun_openmpi_command(struct oshrun_job *job)
{
    struct word_list *command = &job->command;
    word_list_add(command, oshrun_launcher_path(job));
    add_prefix(job);
    if (geteuid() == 0)
        word_list_add(command, "--allow-run-as-root");
    if (job->npes)
        word_list_add_two(command, "-np", word_text("%d", job->npes));
    if (job->hosts.n)
        word_list_add_two(command, "--host", host_list_text(&job->hosts, true));
    place(job);
    if (!OSHRUN_GIVEN(job, "-bind-to*", "--bind-to*", "-cpu-*", "--cpu-*", "-rf", "--rankfile")) {
        const char *to = oshrun_binding(job);
        if (to)
            word_list_add_two(command, "--bind-to", own_word(job, to));
    }
    if (job->tag && job->kind == OSHRUN_OMPI4)
        word_list_add(command, "--tag-output");
    else if (job->tag)
        word_list_add_two(command, "--output", "tag");
    if (job->wdir)
        word_list_add_two(command, "--wdir", job->wdir);
    if (!oshrun_is_local(job)) {
        keep_alive(job);
        end_without_delay(job);
    }
    add_variables(job);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

/* One PE, no launcher. */
static void direct_command(const struct oshrun_job *job)
{
    if (job->npes > 1)
        complain_and_exit(2, "%d PEs need a launcher: omit --launcher=none", job->npes);
    if (job->launcher_args.n)
        complain_and_exit(2, "there is no launcher to take the options after '--'");
    if (job->hosts.n || job->map_by || job->tag)
        complain_and_exit(2, "hosts, --map-by and --tag-output need a launcher");
    if (job->wdir && chdir(job->wdir) < 0)
        complain_and_exit(2, "--wdir %.200s: %s", job->wdir, strerror(errno));
}

/* The other launchers get the values of -x as options. */
static void set_variables(struct oshrun_job *job)
{
    for (size_t i = 0; i < job->n_forwarded; i++)
        if (job->forwarded[i].value)
            word_list_add(&job->added, word_text("%s=%s", job->forwarded[i].name, job->forwarded[i].value));
}

void oshrun_build_command(struct oshrun_job *job)
{
    switch (job->kind) {
    case OSHRUN_DIRECT:
        direct_command(job);
        break;
    case OSHRUN_SLURM:
        oshrun_slurm_command(job);
        break;
    case OSHRUN_HYDRA:
        oshrun_hydra_command(job);
        break;
    default:
        oshrun_openmpi_command(job);
        return;
    }
    set_variables(job);
}

void oshrun_print_command(FILE *out, const struct oshrun_job *job)
{
    struct word_list words = {0};
    for (size_t i = 0; job->kind == OSHRUN_DIRECT || job->kind >= OSHRUN_SLURM ? i < job->n_forwarded : false; i++)
        if (job->forwarded[i].value)
            word_list_add(&words, word_text("%s=%s", job->forwarded[i].name, job->forwarded[i].value));
    word_list_add_all(&words, job->command.all, job->command.n);
    word_list_add_all(&words, job->launcher_args.all, job->launcher_args.n);
    word_list_add_all(&words, job->program.all, job->program.n);
    word_list_print(out, &words);
    fputc('\n', out);
    free(words.all);
}
