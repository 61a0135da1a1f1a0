/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The command line of oshrun, and its help, from which completion reads the options, as does the test of the manual
 * page.
 */
#define _GNU_SOURCE
#include "tools/complain.h"
#include "tools/oshrun/oshrun.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

static const char help[] =
    "Usage: oshrun [options] PROGRAM [ARGUMENTS...] [-- LAUNCHER OPTIONS...]\n"
    "       oshrun [options] -- [LAUNCHER OPTIONS...] PROGRAM [ARGUMENTS...]\n"
    "\n"
    "Starts PROGRAM as the PEs of one OpenSHMEM job.\n"
    "\n"
    "  -n N, -np N, --np N   number of PEs (default: as many as the launcher has slots)\n"
    "  -N N, -ppn N, --npernode N   PEs on each host\n"
    "  -H LIST, --host LIST, --hosts LIST   hosts, with the number of PEs on each: A:2,B:2 (A alone: 1)\n"
    "  --hostfile FILE, --machinefile FILE  the same from a file: lines such as \"A\", \"A:2\" or \"A slots=2\"\n"
    "  -x VAR[=VALUE]        give the PEs an environment variable (any number of times)\n"
    "  --bind TYPE, --bind-to TYPE   bind each PE to: core, hwthread, numa, socket, none (default: core if there is "
    "one for\n"
    "                        each PE)\n"
    "  --map-by TYPE         place PEs one after the other by: slot, node, core, hwthread, numa, socket; ppr:N:node is "
    "-N N\n"
    "  -l, --tag-output      begin each line that a PE writes with its number\n"
    "  --timeout SECONDS     end the job after this time, with status 124\n"
    "  --wdir DIR            the PEs' working directory\n"
    "  --launcher NAME       mpirun, prterun, srun, mpiexec or the path of one; none: start a single PE without a "
    "launcher\n"
    "  --race                look for data races: between remote accesses of any program, and with loads and stores "
    "of one\n"
    "                        that oshcc --race has made; status 66 if there are any and the program succeeds\n"
    "  -v, --verbose         show all messages of the launcher\n"
    "  -q, --quiet           say nothing about a job that failed; Hydra still does\n"
    "  --dry-run             print the command and stop\n"
    "  -V, --version\n"
    "  -h, --help\n"
    "\n"
    "In the first form the last \"--\" ends the program's arguments: a program with \"--\" among its own arguments "
    "needs one\n"
    "more behind them. In the second form everything after the first \"--\" goes to the launcher unchanged.\n"
    "\n"
    "Launchers are tried in this order: srun with PMIx in an allocation of Slurm (SLURM_JOB_ID is set), mpirun of Open "
    "MPI,\n"
    "prterun of PRRTE, srun elsewhere, mpiexec of MPICH. --launcher or the variable MAPSHMEM_LAUNCHER chooses another "
    "one: a\n"
    "program that also uses MPICH needs --launcher=mpiexec.mpich. What the launcher cannot do is refused.\n"
    "\n"
    "Variables whose names begin with SHMEM_, SMA_, MAPSHMEM_, UCX_, POCL_, OCL_ or CUDA_ or end in SAN_OPTIONS are "
    "forwarded\n"
    "to all hosts. The exit status is that of the first PE that failed (128 + N for signal N), 127 if the program is "
    "not\n"
    "found, 2 for a wrong command line.\n";

/* Long options without a letter. */
enum { HOSTFILE = 256, BIND, MAP_BY, TIMEOUT, WDIR, LAUNCHER, DRY_RUN, RACE, AS_ALWAYS };

/* All may be given with one dash, as mpirun and mpiexec have them. */
static const struct option long_options[] = {
    {"np", required_argument, NULL, 'n'},
    {"npernode", required_argument, NULL, 'N'},
    {"ppn", required_argument, NULL, 'N'},
    {"host", required_argument, NULL, 'H'},
    {"hosts", required_argument, NULL, 'H'},
    {"hostfile", required_argument, NULL, HOSTFILE},
    {"machinefile", required_argument, NULL, HOSTFILE},
    {"bind", required_argument, NULL, BIND},
    {"bind-to", required_argument, NULL, BIND},
    {"map-by", required_argument, NULL, MAP_BY},
    {"tag-output", no_argument, NULL, 'l'},
    {"timeout", required_argument, NULL, TIMEOUT},
    {"wdir", required_argument, NULL, WDIR},
    {"oversubscribe", no_argument, NULL, AS_ALWAYS},
    {"allow-run-as-root", no_argument, NULL, AS_ALWAYS},
    {"launcher", required_argument, NULL, LAUNCHER},
    {"race", no_argument, NULL, RACE},
    {"verbose", no_argument, NULL, 'v'},
    {"quiet", no_argument, NULL, 'q'},
    {"dry-run", no_argument, NULL, DRY_RUN},
    {"version", no_argument, NULL, 'V'},
    {"help", no_argument, NULL, 'h'},
    {0},
};

enum { MOST_SECONDS = 999999999 };

static int number_of_pes(const char *text)
{
    int value;
    if (!word_is_count(text, strlen(text), OSHRUN_MOST_PES, &value))
        complain_and_exit(2, "'%.100s' is not a number of PEs: give 1 or more", text);
    return value;
}

static int number_per_node(const char *text)
{
    int value = 0;
    if (*text && !word_is_count(text, strlen(text), OSHRUN_MOST_PES, &value))
        complain_and_exit(2, "-N %.100s: must be a number of PEs, 1 or more", text);
    return value;
}

static int number_of_seconds(const char *text)
{
    int value = 0;
    if (*text && !word_is_count(text, strlen(text), MOST_SECONDS, &value))
        complain_and_exit(2, "--timeout %.100s: must be a number of seconds, 1 or more", text);
    return value;
}

/* What was given; an empty text is none. */
static const char *text_or_null(const char *text)
{
    return *text ? text : NULL;
}

static _Noreturn void print_version(void)
{
    puts("oshrun (MapSHMEM) " PACKAGE_VERSION);
    exit(0);
}

static _Noreturn void print_help(void)
{
    fputs(help, stdout);
    exit(0);
}

static void read_option(struct oshrun_job *job, int option, const char *word)
{
    switch (option) {
    case 'n':
        job->npes = number_of_pes(optarg);
        break;
    case 'N':
        job->per_node = number_per_node(optarg);
        break;
    case 'H':
        job->hosts_text = text_or_null(optarg);
        break;
    case HOSTFILE:
        job->hostfile = text_or_null(optarg);
        break;
    case 'x':
        word_list_add(&job->wanted, optarg);
        break;
    case BIND:
        job->bind = text_or_null(optarg);
        break;
    case MAP_BY:
        job->map_by = text_or_null(optarg);
        break;
    case 'l':
        job->tag = true;
        break;
    case TIMEOUT:
        job->time_limit = number_of_seconds(optarg);
        break;
    case WDIR:
        job->wdir = text_or_null(optarg);
        break;
    case LAUNCHER:
        job->asked_launcher = text_or_null(optarg);
        break;
    case 'v':
        job->verbose = true;
        break;
    case 'q':
        job->quiet = true;
        break;
    case DRY_RUN:
        job->dry_run = true;
        break;
    case RACE:
        job->race = true;
        break;
    case AS_ALWAYS:
        break;
    case 'V':
        print_version();
    case 'h':
        print_help();
    case ':':
        complain_and_exit(2, "%.100s needs a value (see oshrun --help)", word);
    default:
        complain_and_exit(2, "unknown option '%.100s' (see oshrun --help; the launcher's own options go after '--')",
                          word);
    }
}

static bool is_one_of(const char *text, const char *const words[])
{
    while (*words && strcmp(*words, text))
        words++;
    return *words != NULL;
}

/* ppr:N:node is another name of -N N. */
static void read_map_by(struct oshrun_job *job)
{
    size_t length = job->map_by ? strlen(job->map_by) : 0;
    if (length <= strlen("ppr::node") || strncmp(job->map_by, "ppr:", 4) || strcmp(job->map_by + length - 5, ":node"))
        return;
    char *text = word_text("%.*s", (int)length - 9, job->map_by + 4);
    if (job->per_node)
        complain_and_exit(2, "-N %d and --map-by %.100s: give one of them", job->per_node, job->map_by);
    job->per_node = number_per_node(text);
    job->map_by = NULL;
}

static void check_options(const struct oshrun_job *job)
{
    if (job->bind && !is_one_of(job->bind, (const char *const[]){"core", "hwthread", "numa", "socket", "none", NULL}))
        complain_and_exit(2, "--bind %.100s: must be core, hwthread, numa, socket or none", job->bind);
    if (job->map_by &&
        !is_one_of(job->map_by, (const char *const[]){"slot", "node", "core", "hwthread", "numa", "socket", NULL}))
        complain_and_exit(2, "--map-by %.100s: must be slot, node, core, hwthread, numa, socket or ppr:N:node",
                          job->map_by);
    if (job->hosts_text && job->hostfile)
        complain_and_exit(2, "--hosts and --hostfile: give one of them");
}

/* Without -n there are as many PEs as the hosts have. */
static void read_hosts(struct oshrun_job *job)
{
    struct host_fault fault;
    if (job->hosts_text && host_list_add_words(&job->hosts, job->hosts_text, &fault) < 0)
        complain_and_exit(2, "--hosts %.100s: must be a list such as node0:2,node1:2: %s", job->hosts_text, fault.text);
    if (job->hostfile)
        host_list_add_file(&job->hosts, job->hostfile);
    if (!job->hosts.n)
        return;
    if (job->per_node && host_list_set_slots(&job->hosts, job->per_node) < 0)
        complain_and_exit(2, "-N %d on %d hosts: these are more than %d PEs", job->per_node, job->hosts.n,
                          OSHRUN_MOST_PES);
    if (job->per_node && job->npes > job->hosts.slots)
        complain_and_exit(2, "-N %d leaves room for %d PEs on %d hosts, but -n asks for %d", job->per_node,
                          job->hosts.slots, job->hosts.n, job->npes);
    if (!job->npes)
        job->npes = job->hosts.slots;
    job->per_node = 0;
}

/* In the first form, what follows the last "--" are options of the launcher. */
static void split_program(struct oshrun_job *job, int argc, char *argv[])
{
    int end = argc;
    if (!job->verbatim)
        for (end = argc - 1; end > 0 && strcmp(argv[end], "--");)
            end--;
    if (end <= 0)
        end = argc;
    word_list_add_all(&job->program, argv, (size_t)end);
    if (end + 1 < argc)
        word_list_add_all(&job->launcher_args, argv + end + 1, (size_t)(argc - end - 1));
}

void oshrun_read_command_line(struct oshrun_job *job, int argc, char *argv[])
{
    const char *word, *launcher = getenv("MAPSHMEM_LAUNCHER");
    int option;
    job->asked_launcher = launcher ? text_or_null(launcher) : NULL;
    opterr = 0;
    do { /* the word, because getopt tells only the letter of what it does not know */
        word = optind < argc ? argv[optind] : "";
        option = getopt_long_only(argc, argv, "+:n:N:H:x:lvqVh", long_options, NULL);
        if (option >= 0)
            read_option(job, option, word);
    } while (option >= 0);
    job->verbatim = !strcmp(word, "--");
    read_map_by(job);
    check_options(job);
    if (optind >= argc)
        complain_and_exit(2, "no program given (see oshrun --help)");
    split_program(job, argc - optind, argv + optind);
    read_hosts(job);
}
