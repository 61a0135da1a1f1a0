/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Keys and nodes for bootstraps that can only gather. What a PE publishes is a row of records; a fence gathers the
 * rows of all PEs, and a PE that gets a key finds it in its own memory. So no PE depends on the launcher, or on MPI,
 * once the job has started.
 */
#define _GNU_SOURCE
#include "bootstrap/bootstrap.h"

#include "base/log.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HOST_BYTES = 65 };

/* Processes with equal texts are on the same node: they can share memory and use Unix sockets. */
struct identity {
    char node[208];
};

/* Head of a record in a row; key (with its final zero) and value follow. */
struct published_record {
    uint32_t key_size, value_size;
};

static struct {
    int pe, n_pes;
    shmemi_gather_func_t gather;
    int *node_of;
    char (*host_name)[HOST_BYTES]; /* by node */
    unsigned char *row;            /* what this PE has published */
    size_t row_size;
    struct shmemi_gathered rows; /* what all PEs had published at the last fence */
} job;

static void release_gathered(struct shmemi_gathered *all)
{
    free(all->bytes);
    free(all->offsets);
    *all = (struct shmemi_gathered){0};
}

static int gather_rows(const void *mine, size_t size, struct shmemi_gathered *all)
{
    *all = (struct shmemi_gathered){.offsets = calloc((size_t)job.n_pes + 1, sizeof *all->offsets)};
    int rc = all->offsets ? job.gather(mine, size, all) : -ENOMEM;
    if (rc)
        release_gathered(all);
    return rc;
}

/* First line of a file, or nothing. */
static void read_line(const char *path, char *line, int size)
{
    FILE *file = fopen(path, "re");
    line[0] = '\0';
    if (!file)
        return;
    if (fgets(line, size, file))
        line[strcspn(line, "\n")] = '\0';
    fclose(file);
}

/* Host names may repeat (containers), so the running kernel and its network namespace count too. */
static void identify(struct identity *self)
{
    char host[HOST_BYTES] = "", boot[48], network[48] = "";
    gethostname(host, sizeof host - 1);
    read_line("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    ssize_t ignored = readlink("/proc/self/ns/net", network, sizeof network - 1);
    (void)ignored;
    *self = (struct identity){0};
    snprintf(self->node, sizeof self->node, "%s %s %s", host, boot, network);
}

/* The host's name is the first word of a node's text. */
static int name_hosts(const struct identity *identities, const int *first, int n_nodes)
{
    job.host_name = calloc((size_t)n_nodes, sizeof *job.host_name);
    for (int node = 0; job.host_name && node < n_nodes; node++) {
        const char *text = identities[first[node]].node;
        snprintf(job.host_name[node], HOST_BYTES, "%.*s", (int)strcspn(text, " "), text);
    }
    return job.host_name ? 0 : -ENOMEM;
}

/* Nodes numbered by their lowest PE. */
static int number_nodes(const struct identity *identities)
{
    int *first = malloc((size_t)job.n_pes * sizeof *first), n_nodes = 0;
    if (!first)
        return -ENOMEM;
    for (int pe = 0; pe < job.n_pes; pe++) {
        int node = 0;
        while (node < n_nodes && strncmp(identities[pe].node, identities[first[node]].node, sizeof identities->node))
            node++;
        if (node == n_nodes)
            first[n_nodes++] = pe;
        job.node_of[pe] = node;
    }
    int rc = name_hosts(identities, first, n_nodes);
    free(first);
    return rc;
}

/* One of each PE, and each of them a text that ends. */
static bool are_identities(const struct shmemi_gathered *all)
{
    bool are = true;
    for (size_t pe = 0; pe < (size_t)job.n_pes; pe++)
        are = are && all->offsets[pe + 1] - all->offsets[pe] == sizeof(struct identity) &&
              memchr(all->bytes + all->offsets[pe], '\0', sizeof(struct identity));
    return are;
}

static int learn_nodes(void)
{
    struct identity self;
    struct shmemi_gathered all = {0};
    identify(&self);
    int rc = gather_rows(&self, sizeof self, &all);
    if (rc)
        return rc;
    if (are_identities(&all)) {
        rc = number_nodes((const struct identity *)(const void *)all.bytes);
    } else {
        shmemi_error("the PEs do not all run the same version of MapSHMEM");
        rc = -EPROTO;
    }
    release_gathered(&all);
    return rc;
}

int shmemi_gather_open(int pe, int n_pes, shmemi_gather_func_t gather)
{
    job.pe = pe;
    job.n_pes = n_pes;
    job.gather = gather;
    job.node_of = malloc((size_t)n_pes * sizeof *job.node_of);
    int rc = job.node_of ? learn_nodes() : -ENOMEM;
    if (rc)
        shmemi_gather_close();
    return rc;
}

void shmemi_gather_close(void)
{
    release_gathered(&job.rows);
    free(job.row);
    free(job.node_of);
    free(job.host_name);
    memset(&job, 0, sizeof job);
}

int shmemi_gather_nodes(int *node_of)
{
    memcpy(node_of, job.node_of, (size_t)job.n_pes * sizeof *node_of);
    return 0;
}

const char *shmemi_gather_host_name(int node)
{
    return job.host_name[node];
}

int shmemi_gather_put(const char *key, const void *value, size_t size)
{
    struct published_record record = {(uint32_t)strlen(key) + 1, (uint32_t)size};
    unsigned char *row = realloc(job.row, job.row_size + sizeof record + record.key_size + size);
    if (!row)
        return -ENOMEM;
    unsigned char *end = row + job.row_size;
    memcpy(end, &record, sizeof record);
    memcpy(end + sizeof record, key, record.key_size);
    memcpy(end + sizeof record + record.key_size, value, size);
    job.row = row;
    job.row_size += sizeof record + record.key_size + size;
    return 0;
}

int shmemi_gather_fence(void)
{
    struct shmemi_gathered rows;
    int rc = gather_rows(job.row, job.row_size, &rows);
    if (rc)
        return rc;
    release_gathered(&job.rows);
    job.rows = rows;
    return 0;
}

/* The value of a key in the row that ends at end, or NULL; *size_p is its size. */
static const unsigned char *find_value(const unsigned char *row, const unsigned char *end, const char *key,
                                       size_t *size_p)
{
    size_t key_size = strlen(key) + 1;
    struct published_record record;
    while ((size_t)(end - row) >= sizeof record) {
        memcpy(&record, row, sizeof record);
        row += sizeof record;
        size_t room = (size_t)(end - row);
        if (record.key_size > room || record.value_size > room - record.key_size)
            return NULL;
        *size_p = record.value_size;
        if (record.key_size == key_size && !memcmp(row, key, key_size))
            return row + record.key_size;
        row += record.key_size + record.value_size;
    }
    return NULL;
}

int shmemi_gather_get(int pe, const char *key, void *value, size_t *size_p)
{
    size_t size = 0;
    const unsigned char *found = NULL;
    if (job.rows.offsets)
        found =
            find_value(job.rows.bytes + job.rows.offsets[pe], job.rows.bytes + job.rows.offsets[pe + 1], key, &size);
    if (!found || size > *size_p) {
        shmemi_error("PE %d has not published a usable address", pe);
        return -EPROTO;
    }
    memcpy(value, found, size);
    *size_p = size;
    return 0;
}
