/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Setup, exit and query [9.1].
 */
#define SHMEMX_CRAY_NAMES
#include "base/limits.h"
#include "base/settings.h"
#include "base/thread/thread_start.h"
#include "deep/types/type.h"
#include "deep/pipeline.h"
#include "deep/space/space.h"
#include "device/device.h"
#include "gpu/memory.h"
#include "shmem/coll/choice.h"
#include "shmem/coll/collectives.h"
#include "shmem/setup/steps.h"
#include "shmem/team.h"
#include "shmmap/symmetric.h"
#include "bootstrap/bootstrap.h"
#include "bootstrap/deadline.h"
#include "transport/node.h"
#include "transport/prepared.h"
#include "instrument/measure.h"
#include "instrument/trace.h"
#include "transport/stream/stream.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"

static struct {
    unsigned depth; /* number of initialisations not yet finalised */
    int thread_level;
    pid_t pid;        /* of the process that initialised: a child that it forks is not a PE */
    bool is_watching; /* for the end of this process, and for forks */
    bool is_child;    /* a process that a PE has forked: no PE itself */
    bool ends_itself; /* initialised by start_pes, so finalised at exit */
} library;

bool shmemi_is_initialized(void)
{
    return library.depth > 0;
}

bool shmemi_is_forked_child(void)
{
    return library.is_child;
}

void shmemi_give_up(void)
{
    if (shmemi_log_last_words)
        shmemi_log_last_words();
    if (shmemi_log_abort)
        shmemi_log_abort(1);
    _exit(1);
}

static void introduce(void)
{
    if (shmemi_job.pe)
        return;
    if (shmemi_settings.version)
        fprintf(stderr, "%s\n", PACKAGE_STRING);
    if (!shmemi_settings.info)
        return;
    fprintf(stderr, "%s, settings:\n", PACKAGE_STRING);
    shmemi_settings_print(stderr, false);
}

/* Files and threads. UCX opens about 16 files, and some for each peer that it connects to; it aborts when it cannot. */
static int check_limits(void)
{
    const bool has_network = shmemi_job.n_nodes > 1;
    const size_t least = has_network ? 24 : 8, wanted = least + (has_network ? 2 * (size_t)shmemi_job.n_pes : 0);
    size_t left = shmemi_descriptors_reserve(wanted);
    if (has_network && access("/proc/sys/net", R_OK)) {
        shmemi_error("/proc is not there, and the network (UCX) needs it: mount it");
        return -ENOENT;
    }
    if (left >= least)
        return shmemi_threads_check(has_network ? 2 : 1); /* our own, and one of UCX */
    shmemi_error("only %zu more files can be opened, but %zu are needed%s", left, least, shmemi_remedy(EMFILE));
    return -EMFILE;
}

/* The steps that need no other PE. */
static int prepare(void)
{
    int rc = shmemi_settings_read();
    if (!rc)
        rc = shmemi_choices_read();
    if (!rc)
        introduce();
    if (!rc)
        rc = shmemi_job_form_nodes();
    if (!rc)
        rc = check_limits();
    if (!rc)
        rc = shmemi_node_bind(shmemi_symmetric_heap_bytes(), SHMEMI_RARELY_USED_BYTES);
    shmemi_step("network");
    shmemi_memory_prepare(shmemi_job.host_n_pes);
    if (!rc)
        rc = shmemi_symmetric_check();
    if (!rc)
        rc = shmemi_transport_prepare();
    return rc;
}

/* A PE whose preparation failed takes part in the fence, where the others wait, before it ends the job: launchers
 * cannot handle an abort in the middle of a fence. The cause is usually the same on all PEs, so PE 0 logs it, and the
 * others only if PE 0 does not. */
static int prepare_and_fence(void)
{
    shmemi_log_hold(shmemi_job.pe > 0);
    shmemi_step("settings and nodes");
    int rc = prepare();
    if (rc)
        shmemi_transport_excuse();
    int published = shmemi_job_publish(shmemi_node.handout, rc != 0);
    shmemi_step("fence of the launcher");
    int fenced = shmemi_job.n_pes > 1 ? shmemi_bootstrap->fence() : 0;
    rc = rc ? rc : published;
    if (!rc && !fenced) {
        shmemi_log_hold(false);
        return 0;
    }
    if (shmemi_job.pe > 0) {
        sleep(2);
        shmemi_log_release();
    }
    return rc ? rc : fenced;
}

static int open_parts(void)
{
    uint64_t handout;
    shmemi_standard_files_fill();
    int rc = shmemi_threads_check(1); /* of the launcher's library */
    if (!rc)
        rc = shmemi_job_open();
    if (!rc)
        rc = prepare_and_fence();
    shmemi_step("memory of the node");
    if (!rc)
        rc = shmemi_job_learn(&handout);
    if (!rc)
        rc = shmemi_node_join(handout);
    if (!rc)
        rc = shmemi_measure_open();
    if (!rc)
        rc = shmemi_transport_start(&shmemi_symmetric_resolver);
    shmemi_step("symmetric memory");
    if (!rc)
        rc = shmemi_symmetric_open();
    shmemi_step("teams and barrier");
    if (!rc)
        rc = shmemi_teams_open();
    if (!rc)
        rc = shmemi_exchange_barrier(); /* every team's workspace is ready */
    if (!rc)
        shmemi_transport_watch();
    return rc;
}

static int open_library(void)
{
    shmemi_steps_begin("launcher");
    int rc = open_parts();
    if (rc && !shmemi_log_has_error()) /* small things that did not fit into memory say nothing */
        shmemi_error("shmem_init: %s%s", strerror(-rc), shmemi_remedy(-rc));
    shmemi_steps_end();
    return rc;
}

static void close_library(void)
{
    shmemi_cpu_access_unwatch();
    shmemi_teams_close();
    shmemi_streams_close();
    shmemi_device_close();
    shmemi_transport_stop();
    shmemi_spaces_close();
    shmemi_pipeline_close();
    shmemi_prepared_close();
    shmemi_map_close();
    shmemi_symmetric_close();
    shmemi_types_close();
    shmemi_measure_close();
    shmemi_node_leave();
    shmemi_job_close();
    shmemi_job.n_pes = 0;
}

/* A PE that has left the last collective may be ahead of others that still expect acknowledgements of their messages,
 * so it must not close its connections yet. A fence of the bootstrap cannot be used, since MPI may be finalised
 * already. */
static int wait_until_all_sent(void)
{
    return shmemi_is_leader(&shmemi_team_world) ? shmemi_leaders_sync_last(&shmemi_team_world) : 0;
}

/* No PE closes its connections while another is still making one. */
static void settle(void)
{
    shmemi_transport_settle();
    if (shmemi_job.n_nodes > 1)
        shmemi_sync_world();
}

/* The last finalisation completes the operations of all contexts, not only of the default one: after the barrier their
 * targets may be gone. */
static void finalize(enum shmemi_presence presence)
{
    if (library.depth > 1) {
        shmemi_barrier_in("shmem_finalize");
        library.depth--;
        return;
    }
    shmemi_streams_drain();
    shmemi_teams_quiet();
    shmemi_locks_quiet();
    shmemi_tell_waits(false);
    shmemi_require(shmemi_report(presence));
    library.depth = 0;
    shmemi_require(shmemi_collect_session_end(&shmemi_default_ctx.transport));
    shmemi_default_ctx.transport.may_gather = false;
    shmemi_collect_close(&shmemi_default_ctx.transport);
    settle();
    shmemi_require(wait_until_all_sent());
    library.ends_itself = false;
    close_library();
}

/* Programs that begin with start_pes need not call shmem_finalize [9.1.13]. Any other that has not called it is
 * finalised as well, but warned. A PE that exits with an error does not wait for others. */
static void finalize_at_exit(int status, void *argument)
{
    (void)argument;
    if (!library.depth || getpid() != library.pid)
        return;
    if (status) {
        shmemi_trace_last();
        return;
    }
    if (!library.ends_itself)
        shmemi_require(shmemi_end_without_finalize());
    library.depth = 1;
    finalize(SHMEMI_HAS_RETURNED);
}

/* In a child that a PE forks: none of the library's threads and connections are the child's, so it must not use them,
 * nor end the job. No address is symmetric there: that brings every transfer to the check of its arguments. */
static void become_child(void)
{
    library.is_child = true;
    library.depth = 0;
    shmemi_log_abort = NULL;
    shmemi_log_last_words = NULL;
    shmemi_window.span = shmemi_window.static_size = 0;
}

static void watch_process(void)
{
    library.pid = getpid();
    if (library.is_watching)
        return;
    on_exit(finalize_at_exit, NULL);
    pthread_atfork(NULL, NULL, become_child);
    library.is_watching = true;
}

/* End a child that a PE has forked: a call in it would use the connections of the PE. */
static void refuse_in_child(const char *routine)
{
    if (!library.is_child)
        return;
    shmemi_error("%s: called in process %d, a child that this PE has forked; only the PE itself can, so the child ends",
                 routine, (int)getpid());
    _exit(1);
}

int shmemi_initialize(int thread_level)
{
    refuse_in_child("shmem_init");
    if (library.depth) {
        library.depth++;
        if (thread_level > library.thread_level)
            library.thread_level = thread_level;
        shmemi_tell_waits(true);
        return 0;
    }
    shmemi_init_begins();
    int rc = open_library();
    if (rc)
        return rc;
    shmemi_default_ctx = (struct shmemi_ctx){.transport.may_gather = true, .creator = (uintptr_t)pthread_self()};
    library.depth = 1;
    library.thread_level = thread_level;
    watch_process();
    shmemi_cpu_access_watch();
    shmemi_sync_world();
    shmemi_presence_tell(SHMEMI_TAKES_PART);
    shmemi_init_ends();
    shmemi_tell_waits(true);
    shmemi_measure_start(&shmemi_node.header->time_zero);
    shmemi_debug("PE %d of %d, node %d of %d, PE %d of %d on it, process %d", shmemi_job.pe, shmemi_job.n_pes,
                 shmemi_job.node, shmemi_job.n_nodes, shmemi_job.node_rank, shmemi_job.node_n_pes, (int)library.pid);
    return 0;
}

/* A PE that cannot start ends the job, since the others would wait for it. */
SHMEMI_API(void, init, (void))
{
    shmemi_require(shmemi_initialize(SHMEM_THREAD_SINGLE));
}

/* All levels cost the same, so the requested one is provided. */
SHMEMI_API(int, init_thread, (int requested, int *provided))
{
    if (requested < SHMEM_THREAD_SINGLE || requested > SHMEM_THREAD_MULTIPLE) {
        shmemi_error("shmem_init_thread: %d is not a thread level (SHMEM_THREAD_*)", requested);
        return -EINVAL;
    }
    shmemi_require_pointer("shmem_init_thread", "provided", provided);
    shmemi_require(shmemi_initialize(requested));
    *provided = library.thread_level;
    return 0;
}

int shmemi_thread_level(void)
{
    return library.thread_level;
}

SHMEMI_API(void, query_thread, (int *provided))
{
    shmemi_require_init("shmem_query_thread");
    shmemi_require_pointer("shmem_query_thread", "provided", provided);
    *provided = library.thread_level;
}

SHMEMI_API_OLD(void, start_pes, (int npes))
{
    (void)npes;
    if (library.depth)
        return;
    library.ends_itself = true;
    shmemi_require(shmemi_initialize(SHMEM_THREAD_SINGLE));
}

SHMEMI_API(void, finalize, (void))
{
    refuse_in_child("shmem_finalize");
    if (library.depth)
        finalize(SHMEMI_FINALIZES);
}

SHMEMI_API(void, query_initialized, (int *initialized))
{
    shmemi_require_pointer("shmem_query_initialized", "initialized", initialized);
    *initialized = shmemi_is_initialized();
}

/* A process has 8 bits of status. What has more, and none of them, must not look like success. */
static int process_status(int status)
{
    return status && !(status & 0xff) ? 1 : status & 0xff;
}

/* A child is no PE, but it may well end itself. */
SHMEMI_API(_Noreturn void, global_exit, (int status))
{
    status = process_status(status);
    fflush(NULL);
    if (library.is_child) {
        shmemi_warn("shmem_global_exit: called in process %d, a child that this PE has forked; only the child ends",
                    (int)getpid());
        _exit(status);
    }
    shmemi_trace_last();
    shmemi_bootstrap_abort(status);
}

void shmemi_require_init(const char *routine)
{
    if (shmemi_is_initialized())
        return;
    refuse_in_child(routine);
    shmemi_fatal("%s: called before shmem_init or after shmem_finalize", routine);
}
