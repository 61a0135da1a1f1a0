/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Asks the bootstrap at start-up how many PEs there are and on which hosts, and groups them into nodes.
 */
#include "bootstrap/job.h"

#include "base/holdings.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/thread/cores.h"
#include "bootstrap/bootstrap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct shmemi_job shmemi_job;

static int *node_of, *node_pes, *leaders;
static int *node_rank_of; /* by PE: its position among those of this node, or -1; NULL: their numbers are consecutive */
static size_t held;       /* bytes of these tables */
static int *host_of;      /* number of each PE's host: its node before SHMEM_NODE_SIZE splits that */

/* Split every node into nodes of SHMEM_NODE_SIZE consecutive PEs of it. */
static int split_nodes(int n_pes, size_t node_size)
{
    node_of = malloc((size_t)n_pes * sizeof *node_of);
    if (!node_of) {
        node_of = host_of;
        return -ENOMEM;
    }
    memcpy(node_of, host_of, (size_t)n_pes * sizeof *node_of);
    int *count = calloc((size_t)n_pes, sizeof *count); /* by real node: number of its PEs seen so far */
    int *part = calloc((size_t)n_pes, sizeof *part);   /* by real node: number of the part being filled */
    int next = 0, rc = count && part ? 0 : -ENOMEM;
    for (int pe = 0; !rc && pe < n_pes; pe++) {
        int node = node_of[pe];
        if (count[node]++ % (int)node_size == 0)
            part[node] = next++;
        node_of[pe] = part[node];
    }
    free(count);
    free(part);
    return rc;
}

static void collect_host(void)
{
    struct shmemi_job *job = &shmemi_job;
    job->host_rank = job->host_n_pes = 0;
    for (int pe = 0; pe < job->n_pes; pe++) {
        if (host_of[pe] != host_of[job->pe])
            continue;
        job->host_rank += pe < job->pe;
        job->host_n_pes++;
    }
}

static void collect_node(void)
{
    struct shmemi_job *job = &shmemi_job;
    job->node = node_of[job->pe];
    job->n_nodes = job->node_n_pes = 0;
    for (int pe = 0; pe < job->n_pes; pe++) {
        if (node_of[pe] == job->n_nodes)
            leaders[job->n_nodes++] = pe;
        if (node_of[pe] != job->node)
            continue;
        if (pe == job->pe)
            job->node_rank = job->node_n_pes;
        node_pes[job->node_n_pes++] = pe;
    }
    job->node_pes = node_pes;
    job->leaders = leaders;
    job->node_of = node_of;
}

/* Where PEs were dealt out to the nodes in turns, a table tells which of them are here. */
static int tabulate_ranks(void)
{
    const struct shmemi_job *job = &shmemi_job;
    node_rank_of = malloc((size_t)job->n_pes * sizeof *node_rank_of);
    if (!node_rank_of)
        return -ENOMEM;
    for (int pe = 0; pe < job->n_pes; pe++)
        node_rank_of[pe] = -1;
    for (int rank = 0; rank < job->node_n_pes; rank++)
        node_rank_of[job->node_pes[rank]] = rank;
    return 0;
}

int shmemi_job_index_node(void)
{
    struct shmemi_job *job = &shmemi_job;
    const int last = job->node_pes[job->node_n_pes - 1];
    free(node_rank_of);
    node_rank_of = NULL;
    job->node_first = job->node_pes[0];
    job->node_consecutive = last - job->node_first == job->node_n_pes - 1 ? (unsigned)job->node_n_pes : 0;
    return job->node_consecutive ? 0 : tabulate_ranks();
}

int shmemi_job_open(void)
{
    struct shmemi_job *job = &shmemi_job;
    int rc = shmemi_bootstrap_open(&job->pe, &job->n_pes);
    if (rc)
        return rc;
    size_t bytes = (size_t)job->n_pes * sizeof(int);
    node_of = malloc(bytes);
    node_pes = malloc(bytes);
    leaders = malloc(bytes);
    rc = node_of && node_pes && leaders ? 0 : -ENOMEM;
    if (!rc)
        rc = shmemi_bootstrap->nodes(node_of);
    if (!rc)
        rc = shmemi_key_make(&job->key); /* one that nobody has, until shmemi_job_learn brings that of PE 0 */
    if (rc) {
        shmemi_job_close();
        return rc;
    }
    job->host_of = host_of = node_of;
    collect_host();
    job->generation++;
    return 0;
}

/* The busy threads of so many PEs of a machine: one for each and, where PEs communicate as if over a network, their
 * service threads. */
static int n_busy_threads(int n_pes)
{
    return shmemi_settings.node_size ? 2 * n_pes : n_pes;
}

/* The tables were made before it was known how long they are. */
static void shrink(int **table, int n)
{
    int *smaller = realloc(*table, (size_t)n * sizeof *smaller);
    *table = smaller ? smaller : *table;
}

static void shrink_tables(void)
{
    struct shmemi_job *job = &shmemi_job;
    shrink(&node_pes, job->node_n_pes);
    shrink(&leaders, job->n_nodes);
    job->node_pes = node_pes;
    job->leaders = leaders;
}

static size_t count_bytes(void)
{
    const struct shmemi_job *job = &shmemi_job;
    size_t of_pe = 1 + (host_of != node_of) + (node_rank_of != NULL);
    return (of_pe * (size_t)job->n_pes + (size_t)job->node_n_pes + (size_t)job->n_nodes) * sizeof(int);
}

int shmemi_job_form_nodes(void)
{
    shmemi_cores_open(n_busy_threads(shmemi_job.host_n_pes));
    shmemi_binding_read(&shmemi_job.binding,
                        shmemi_bootstrap && shmemi_bootstrap->binding ? shmemi_bootstrap->binding() : NULL);
    int rc = shmemi_settings.node_size ? split_nodes(shmemi_job.n_pes, shmemi_settings.node_size) : 0;
    if (rc)
        return rc;
    collect_node();
    shrink_tables();
    rc = shmemi_job_index_node();
    held = count_bytes();
    shmemi_hold(SHMEMI_PART_NODE_TABLES, (ptrdiff_t)held);
    return rc;
}

void shmemi_job_close(void)
{
    shmemi_hold(SHMEMI_PART_NODE_TABLES, -(ptrdiff_t)held);
    held = 0;
    if (host_of != node_of)
        free(host_of);
    free(node_of);
    free(node_pes);
    free(leaders);
    free(node_rank_of);
    node_of = node_pes = leaders = host_of = node_rank_of = NULL;
    shmemi_bootstrap_close();
}

struct card {
    struct shmemi_key key; /* of PE 0 only */
    uint64_t socket;
    uint64_t machine; /* machine_name */
};

/* Hosts that are made of one machine have the same variable in their environment (scripts/vhosts). 0: there is none. */
static uint64_t machine_name(void)
{
    enum { START = 5381, FACTOR = 33 };
    const char *text = getenv("MAPSHMEM_MACHINE");
    uint64_t hash = text && *text ? START : 0;
    while (text && *text)
        hash = hash * FACTOR + (unsigned char)*text++;
    return hash;
}

static const char card_name[] = "mapshmem-job", binding_name[] = "mapshmem-binding";

/* The PEs of a node see each other's bindings in its segment; those of other nodes that are played on this host need
 * them as well. */
static int publish_binding(void)
{
    return shmemi_settings.node_size
               ? shmemi_bootstrap->put(binding_name, &shmemi_job.binding.own, sizeof shmemi_job.binding.own)
               : 0;
}

int shmemi_job_binding_of(int pe, cpu_set_t *cpus)
{
    size_t size = sizeof *cpus;
    int rc = shmemi_settings.node_size ? shmemi_bootstrap->get(pe, binding_name, cpus, &size) : -ENOENT;
    return rc || size == sizeof *cpus ? rc : -EPROTO;
}

int shmemi_job_publish(uint64_t socket, bool has_failed)
{
    struct card card = {.socket = has_failed ? 0 : socket, .machine = machine_name()};
    int rc = shmemi_job.pe == 0 ? shmemi_key_make(&shmemi_job.key) : 0;
    if (!rc && shmemi_job.n_pes > 1)
        rc = publish_binding();
    if (rc || shmemi_job.n_pes == 1 || (shmemi_job.pe && shmemi_job.node_rank && !has_failed))
        return rc;
    if (shmemi_job.pe == 0)
        card.key = shmemi_job.key;
    return shmemi_bootstrap->put(card_name, &card, sizeof card);
}

static int read_card(int pe, struct card *card)
{
    size_t size = sizeof *card;
    int rc = shmemi_bootstrap->get(pe, card_name, card, &size);
    if (rc || size == sizeof *card)
        return rc;
    shmemi_error("what PE %d has published is not usable: do all PEs run the same version of MapSHMEM?", pe);
    return -EPROTO;
}

/* Count the PEs of the nodes that are on this machine, which share its cores. */
static int learn_machine(void)
{
    struct shmemi_job *job = &shmemi_job;
    struct card card;
    int rc = 0;
    job->machine_rank = job->host_rank;
    job->machine_n_pes = job->host_n_pes;
    if (!machine_name() || job->n_nodes == 1)
        return 0;
    job->machine_rank = job->machine_n_pes = 0;
    for (int node = 0; !rc && node < job->n_nodes; node++) {
        rc = read_card(leaders[node], &card);
        for (int pe = 0; !rc && card.machine == machine_name() && pe < job->n_pes; pe++) {
            job->machine_rank += node_of[pe] == node && pe < job->pe;
            job->machine_n_pes += node_of[pe] == node;
        }
    }
    if (!rc && job->machine_n_pes > job->host_n_pes)
        shmemi_cores_open(2 * job->machine_n_pes); /* as in n_busy_threads */
    return rc;
}

int shmemi_job_learn(uint64_t *socket_p)
{
    struct card card;
    const int lowest = shmemi_job.node_pes[0];
    *socket_p = 0;
    int rc = learn_machine();
    if (!rc)
        shmemi_debug("number %d of the %d PEs on this machine", shmemi_job.machine_rank, shmemi_job.machine_n_pes);
    if (rc || shmemi_job.pe == 0)
        return rc;
    rc = read_card(0, &card);
    if (rc)
        return rc;
    shmemi_job.key = card.key;
    rc = lowest && lowest != shmemi_job.pe ? read_card(lowest, &card) : 0;
    *socket_p = card.socket;
    return rc;
}

const char *shmemi_job_host_name(int pe)
{
    return shmemi_bootstrap->host_name(host_of[pe]);
}

/* PEs of a host have consecutive numbers with the usual launchers; where they have not, this names the first of them and
 * their number. */
void shmemi_job_list_host(int pe, char *text, size_t size)
{
    int first = -1, last = -1, n = 0;
    for (int other = 0; other < shmemi_job.n_pes; other++)
        if (host_of[other] == host_of[pe]) {
            first = first < 0 ? other : first;
            last = other;
            n++;
        }
    if (n == 1)
        snprintf(text, size, "PE %d", first);
    else if (last - first == n - 1)
        snprintf(text, size, "PEs %d to %d", first, last);
    else
        snprintf(text, size, "PE %d and %d others", first, n - 1);
}

int shmemi_job_node_rank_of(int pe)
{
    if (node_rank_of)
        return node_rank_of[pe];
    const unsigned rank = (unsigned)(pe - shmemi_job.node_first);
    return rank < shmemi_job.node_consecutive ? (int)rank : -1;
}
