/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The bootstrap of a played job (played.h). It takes the place of the one without a launcher.
 */
#define _GNU_SOURCE
#include "played.h"

#include "bootstrap/bootstrap.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <signal.h>
#include <unistd.h>

enum { PUBLISHED_MAX = 16, KEY_BYTES = 64, VALUE_BYTES = 4096, PER_NODE_MAX = 64 };

/* What a PE has published. */
struct published {
    char key[KEY_BYTES];
    size_t size;
    unsigned char value[VALUE_BYTES];
};

/* Shared by the processes of the node. */
struct node {
    pthread_barrier_t fence;
    struct published published[PER_NODE_MAX][PUBLISHED_MAX];
};

static struct {
    int n_pes, per_node, pe;
    struct node *node;
} job;

static void share_node(void)
{
    pthread_barrierattr_t attributes;
    job.node = mmap(NULL, sizeof *job.node, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (job.node == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&job.node->fence, &attributes, (unsigned)job.per_node);
}

void played_job(int n_pes, int per_node)
{
    if (n_pes < 1 || per_node < 1 || per_node > PER_NODE_MAX || per_node > n_pes) {
        fprintf(stderr, "1 to %d PEs per node, and at least one node\n", PER_NODE_MAX);
        exit(2);
    }
    job.n_pes = n_pes;
    job.per_node = per_node;
    share_node();
    setenv("SHMEM_BOOTSTRAP", "single", 1);
    for (int pe = 1; pe < per_node && !job.pe; pe++)
        if (!fork()) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            job.pe = pe;
        }
}

static int played_open(int *pe_p, int *n_pes_p)
{
    *pe_p = job.pe;
    *n_pes_p = job.n_pes;
    return 0;
}

static void played_close(void)
{
}

static int played_nodes(int *node_of)
{
    for (int pe = 0; pe < job.n_pes; pe++)
        node_of[pe] = pe / job.per_node;
    return 0;
}

static const char *played_host_name(int node)
{
    static char name[32];
    snprintf(name, sizeof name, "host%d", node);
    return name;
}

static struct published *find(int pe, const char *key)
{
    for (int i = 0; i < PUBLISHED_MAX; i++) {
        struct published *published = &job.node->published[pe][i];
        if (!published->key[0] || !strcmp(published->key, key))
            return published;
    }
    return NULL;
}

static int played_put(const char *key, const void *value, size_t size)
{
    struct published *published = find(job.pe, key);
    if (!published || size > sizeof published->value || strlen(key) >= sizeof published->key)
        return -ENOSPC;
    strcpy(published->key, key);
    memcpy(published->value, value, size);
    published->size = size;
    return 0;
}

static int played_fence(void)
{
    pthread_barrier_wait(&job.node->fence);
    return 0;
}

/* A PE of another node has published what this one has. */
static int played_get(int pe, const char *key, void *value, size_t *size_p)
{
    const struct published *published = find(pe < job.per_node ? pe : job.pe, key);
    if (!published || !published->key[0])
        return -ENOENT;
    if (published->size > *size_p)
        return -ENOSPC;
    memcpy(value, published->value, published->size);
    *size_p = published->size;
    return 0;
}

static void played_abort(int status)
{
    fflush(NULL);
    _exit(status);
}

const struct shmemi_bootstrap shmemi_bootstrap_single = {
    .name = "played",
    .open = played_open,
    .close = played_close,
    .nodes = played_nodes,
    .host_name = played_host_name,
    .put = played_put,
    .fence = played_fence,
    .get = played_get,
    .abort = played_abort,
};
