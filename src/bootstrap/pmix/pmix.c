/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bootstrap over PMIx: Open MPI 4 and 5 (mpirun), PRRTE (prterun), Slurm (srun --mpi=pmix).
 *
 * The connection to the server stays until the process ends, because servers do not let a client come back: a later
 * open finds it again.
 */
#include "bootstrap/bootstrap.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/tuning.h"
#include "bootstrap/job.h"
#include "bootstrap/pmix/pmix_client.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool connected;
static unsigned n_starts; /* by PMIx, as many on all PEs; a PE may have had others, by unique ids */
static pid_t owner;       /* process that connected; forked children must not disconnect */
struct shmemi_pmix shmemi_pmix;
static struct {
    char *list;         /* their names, one after the other */
    const char **names; /* by node */
} hosts;

int shmemi_pmix_report(const char *phase, pmix_status_t status)
{
    shmemi_error("PMIx failed in %s: %s; is the program started by a launcher with PMIx (oshrun, mpirun, "
                 "srun --mpi=pmix)?",
                 phase, PMIx_Error_string(status));
    return -EIO;
}

/* ---- Leaving ----------------------------------------------------------------------------------------------------- */

static const double QUICK_ANSWER = 0.2, FINALIZE_SECONDS = 1.9, LINGER_MAX = 60;

void shmemi_pmix_pause(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

bool shmemi_pmix_await(sem_t *answered, int milliseconds)
{
    struct timespec end;
    int failed;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += milliseconds / 1000;
    end.tv_nsec += milliseconds % 1000 * 1000000L;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    do
        failed = milliseconds < 0 ? sem_wait(answered) : sem_timedwait(answered, &end);
    while (failed && errno == EINTR);
    return !failed;
}

static void on_answer(pmix_status_t status, pmix_info_t *info, size_t n_info, void *data, pmix_release_cbfunc_t release,
                      void *release_data)
{
    (void)status, (void)info, (void)n_info;
    if (release)
        release(release_data);
    sem_post(data);
}

/* Seconds that the server takes to answer a question; what it answers does not matter. */
static double server_delay(void)
{
    static sem_t answered; /* static: the answer may come after the wait */
    static pmix_query_t question;
    pmix_status_t status;
    const double begin = shmemi_seconds();
    sem_init(&answered, 0, 0);
    PMIX_QUERY_CONSTRUCT(&question);
    PMIX_ARGV_APPEND(status, question.keys, PMIX_QUERY_NAMESPACES);
    if (status != PMIX_SUCCESS || PMIx_Query_info_nb(&question, 1, on_answer, &answered) != PMIX_SUCCESS)
        return 0;
    shmemi_pmix_await(&answered, SHMEMI_PMIX_ANSWER_SECONDS * 1000);
    return shmemi_seconds() - begin;
}

/* PMIx_Finalize tells the server that this PE leaves, and waits for no more than 2 s for the answer. If the process ends
 * before the server has read that, the launcher takes it for an error. So with a server that is slow to answer the PEs
 * of a node leave one after the other, and one that has got no answer stays for some time. */
static void leave_slowly(void)
{
    double delay = server_delay();
    if (delay > QUICK_ANSWER)
        shmemi_pmix_pause(4 * delay * shmemi_job.host_rank / shmemi_job.host_n_pes);
    const double begin = shmemi_seconds();
    PMIx_Finalize(NULL, 0);
    double took = shmemi_seconds() - begin;
    shmemi_debug("leaving: the launcher took %.3f s to answer, PMIx_Finalize %.3f s", delay, took);
    if (took > FINALIZE_SECONDS)
        shmemi_pmix_pause(4 * delay + 4 < LINGER_MAX ? 4 * delay + 4 : LINGER_MAX);
}

/* A PE that exits in the middle of the job must not appear to have finished: the others would wait for it for ever. */
static void disconnect(void)
{
    if (connected && shmemi_bootstrap != &shmemi_bootstrap_pmix && getpid() == owner) {
        if (shmemi_job.host_n_pes > SHMEMI_PMIX_MANY_PES)
            leave_slowly();
        else
            PMIx_Finalize(NULL, 0);
    }
    connected = false;
}

/* ---- Joining ----------------------------------------------------------------------------------------------------- */

void shmemi_pmix_process(pmix_proc_t *proc, pmix_rank_t rank)
{
    PMIX_LOAD_PROCID(proc, shmemi_pmix.self.nspace, rank);
}

static int read_job_size(void)
{
    pmix_proc_t job;
    pmix_value_t *value = NULL;
    shmemi_pmix_process(&job, PMIX_RANK_WILDCARD);
    pmix_status_t status = PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value);
    if (status != PMIX_SUCCESS)
        return shmemi_pmix_report("reading the job size", status);
    shmemi_pmix.n_pes = value->type == PMIX_UINT32 && value->data.uint32 <= INT_MAX ? (int)value->data.uint32 : 0;
    PMIX_VALUE_RELEASE(value);
    return 0;
}

/* The launcher was killed: nothing else would end this PE, which may be waiting for others that are gone. */
static void on_lost_server(size_t handler, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
                           size_t n_info, pmix_info_t results[], size_t n_results,
                           pmix_event_notification_cbfunc_fn_t done, void *done_data)
{
    (void)handler, (void)status, (void)source, (void)info, (void)n_info, (void)results, (void)n_results;
    if (shmemi_bootstrap == &shmemi_bootstrap_pmix && getpid() == owner) {
        shmemi_error("the launcher is gone, so this PE ends");
        _exit(1);
    }
    if (done)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, done_data);
}

static void watch_server(void)
{
    pmix_status_t lost = PMIX_ERR_LOST_CONNECTION;
    if (PMIx_Register_event_handler(&lost, 1, NULL, 0, on_lost_server, NULL, NULL) < 0)
        shmemi_info("PMIx does not tell when the launcher is gone");
}

static int pmix_open(int *pe_p, int *n_pes_p)
{
    if (!connected) {
        if (!getenv("PMIX_NAMESPACE") || !getenv("PMIX_RANK"))
            return -ENODEV;
        pmix_status_t status = PMIx_Init(&shmemi_pmix.self, NULL, 0);
        if (status == PMIX_ERR_UNREACH)
            return -EHOSTUNREACH;
        if (status != PMIX_SUCCESS)
            return shmemi_pmix_report("PMIx_Init", status);
        connected = true;
        owner = getpid();
        atexit(disconnect);
        watch_server();
        int rc = read_job_size();
        if (rc)
            return rc;
    }
    if (shmemi_pmix.n_pes < 1 || shmemi_pmix.self.rank >= (pmix_rank_t)shmemi_pmix.n_pes) {
        shmemi_error("PMIx: process %u of a job of %d", shmemi_pmix.self.rank, shmemi_pmix.n_pes);
        return -EPROTO;
    }
    n_starts++;
    *pe_p = (int)shmemi_pmix.self.rank;
    *n_pes_p = shmemi_pmix.n_pes;
    return 0;
}

static void pmix_close(void)
{
    free(hosts.list);
    free(hosts.names);
    hosts.list = NULL;
    hosts.names = NULL;
}

static int mark_node(const char *host, int node, int *node_of)
{
    pmix_proc_t *procs = NULL;
    size_t n_procs = 0;
    pmix_status_t status = PMIx_Resolve_peers(host, shmemi_pmix.self.nspace, &procs, &n_procs);
    if (status != PMIX_SUCCESS)
        return shmemi_pmix_report("listing the processes of a node", status);
    for (size_t i = 0; i < n_procs; i++)
        if (procs[i].rank < (pmix_rank_t)shmemi_pmix.n_pes)
            node_of[procs[i].rank] = node;
    PMIX_PROC_FREE(procs, n_procs);
    return 0;
}

/* The server numbers nodes in any order; number them by their lowest PE. */
static int renumber(int *node_of, const char *const *listed, int n_nodes)
{
    int *number = malloc((size_t)n_nodes * sizeof *number), next = 0;
    if (!number)
        return -ENOMEM;
    for (int i = 0; i < n_nodes; i++)
        number[i] = -1;
    for (int pe = 0; pe < shmemi_pmix.n_pes; pe++) {
        int node = node_of[pe];
        if (node < 0) {
            shmemi_error("PMIx does not know the node of PE %d", pe);
            free(number);
            return -EPROTO;
        }
        if (number[node] < 0) {
            hosts.names[next] = listed[node];
            number[node] = next++;
        }
        node_of[pe] = number[node];
    }
    free(number);
    return 0;
}

static int mark_nodes(char *list, int *node_of)
{
    int n_nodes = 1, node = 0, rc = 0;
    for (const char *at = list; *at; at++)
        n_nodes += *at == ',';
    const char **listed = calloc((size_t)n_nodes, sizeof *listed);
    hosts.names = calloc((size_t)n_nodes, sizeof *hosts.names);
    if (!listed || !hosts.names)
        rc = -ENOMEM;
    for (char *host; !rc && (host = strsep(&list, ",")); node++) {
        listed[node] = host;
        rc = mark_node(host, node, node_of);
    }
    if (!rc)
        rc = renumber(node_of, listed, n_nodes);
    free(listed);
    return rc;
}

static int pmix_nodes(int *node_of)
{
    pmix_status_t status = PMIx_Resolve_nodes(shmemi_pmix.self.nspace, &hosts.list);
    if (status != PMIX_SUCCESS)
        return shmemi_pmix_report("listing the nodes", status);
    for (int pe = 0; pe < shmemi_pmix.n_pes; pe++)
        node_of[pe] = -1;
    return mark_nodes(hosts.list, node_of);
}

static const char *pmix_host_name(int node)
{
    return hosts.names[node];
}

/* The launcher's own knowledge, which needs no other PE. */
static const char *pmix_binding(void)
{
    static char text[4096];
    pmix_info_t at_once;
    pmix_value_t *value = NULL;
    bool yes = true;
    PMIX_INFO_LOAD(&at_once, PMIX_OPTIONAL, &yes, PMIX_BOOL);
    if (PMIx_Get(&shmemi_pmix.self, PMIX_CPUSET, &at_once, 1, &value) != PMIX_SUCCESS)
        return NULL;
    const bool is_text = value->type == PMIX_STRING && value->data.string;
    if (is_text)
        snprintf(text, sizeof text, "%s", value->data.string);
    PMIX_VALUE_RELEASE(value);
    return is_text ? text : NULL;
}

/* The launcher keeps what earlier starts have published. */
static void name_key(pmix_key_t name, const char *key)
{
    snprintf(name, sizeof(pmix_key_t), "%s-%u", key, n_starts);
}

static int pmix_put(const char *key, const void *bytes, size_t size)
{
    pmix_value_t value;
    pmix_key_t name;
    name_key(name, key);
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo.bytes = (char *)bytes;
    value.data.bo.size = size;
    pmix_status_t status = PMIx_Put(PMIX_GLOBAL, name, &value);
    if (status == PMIX_SUCCESS)
        status = PMIx_Commit();
    return status == PMIX_SUCCESS ? 0 : shmemi_pmix_report("publishing an address", status);
}

static int pmix_get(int pe, const char *key, void *bytes, size_t *size_p)
{
    pmix_proc_t proc;
    pmix_value_t *value = NULL;
    pmix_key_t name;
    name_key(name, key);
    shmemi_pmix_process(&proc, (pmix_rank_t)pe);
    pmix_status_t status = PMIx_Get(&proc, name, NULL, 0, &value);
    if (status != PMIX_SUCCESS)
        return shmemi_pmix_report("fetching a PE's address", status);
    int rc = -EPROTO;
    if (value->type == PMIX_BYTE_OBJECT && value->data.bo.size <= *size_p) {
        memcpy(bytes, value->data.bo.bytes, value->data.bo.size);
        *size_p = value->data.bo.size;
        rc = 0;
    } else {
        shmemi_error("the address that PE %d has published is not usable", pe);
    }
    PMIX_VALUE_RELEASE(value);
    return rc;
}

/* Slurm does not say which PE has ended the job. oshrun asks for this line there, and takes it out of the output. */
static void tell_oshrun(int status)
{
    const char *node = getenv("SLURMD_NODENAME");
    if (getenv("MAPSHMEM_TELL_END"))
        dprintf(STDERR_FILENO, "\001oshrun-abort %u %d %s\n", shmemi_pmix.self.rank, status, node ? node : "");
}

static void pmix_abort(int status)
{
    fflush(NULL);
    tell_oshrun(status);
    PMIx_Abort(status, "", NULL, 0);
    sleep(10); /* the launcher ends this process */
    _exit(status);
}

const struct shmemi_bootstrap shmemi_bootstrap_pmix = {
    .name = "pmix",
    .open = pmix_open,
    .close = pmix_close,
    .nodes = pmix_nodes,
    .host_name = pmix_host_name,
    .binding = pmix_binding,
    .put = pmix_put,
    .fence = shmemi_pmix_fence,
    .get = pmix_get,
    .abort = pmix_abort,
};
