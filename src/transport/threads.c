/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gathers the bindings of the PEs of this machine and places the threads of this one.
 */
#define _GNU_SOURCE
#include "transport/threads.h"

#include "base/log.h"
#include "base/settings.h"
#include "bootstrap/job.h"
#include "gpu/thread_cores.h"
#include "instrument/trace.h"
#include "transport/node.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { LIST_BYTES = 80, TEXT_BYTES = 300 };

/* The binding of a PE of this machine; empty if it is not known. */
static void binding_of(int pe, cpu_set_t *cpus)
{
    const int rank = shmemi_job_node_rank_of(pe);
    if (rank >= 0)
        *cpus = *shmemi_node_binding(rank);
    else if (shmemi_job_binding_of(pe, cpus))
        CPU_ZERO(cpus);
}

static void ask(const cpu_set_t *bound, int n_pes, int me)
{
    static struct shmemi_machine machine; /* too large for a stack */
    struct shmemi_thread_question question = {
        .bound = bound, .allowed = &shmemi_job.binding.allowed, .n_pes = n_pes, .me = me};
    if (shmemi_settings.thread_cores == SHMEMI_THREAD_CORES_BOUND)
        question.allowed = &shmemi_job.binding.own;
    if (shmemi_thread_cores_may_be_free(&question) && shmemi_machine_read(&machine, NULL))
        question.machine = &machine;
    shmemi_thread_cores_choose(&question, &shmemi_thread_cores);
}

void shmemi_threads_place(void)
{
    char text[TEXT_BYTES];
    int n = 0, me = 0;
    shmemi_thread_cores = (struct shmemi_thread_cores){.place = SHMEMI_THREADS_UNKNOWN};
    cpu_set_t *bound = malloc((size_t)shmemi_job.host_n_pes * sizeof *bound);
    if (!bound || !CPU_COUNT(&shmemi_job.binding.own)) {
        free(bound);
        return;
    }
    for (int pe = 0; pe < shmemi_job.n_pes; pe++) {
        if (shmemi_job.host_of[pe] != shmemi_job.host_of[shmemi_job.pe])
            continue;
        me = pe == shmemi_job.pe ? n : me;
        binding_of(pe, &bound[n++]);
    }
    ask(bound, n, me);
    free(bound);
    shmemi_threads_describe(text, sizeof text);
    shmemi_trace_label(text);
    shmemi_info("threads of the library: %s", text);
}

void shmemi_threads_describe(char *text, size_t size)
{
    char own[LIST_BYTES], theirs[LIST_BYTES];
    const struct shmemi_thread_cores *cores = &shmemi_thread_cores;
    shmemi_cpus_list(&shmemi_job.binding.own, own, sizeof own);
    shmemi_cpus_list(cores->place == SHMEMI_THREADS_UNKNOWN ? &shmemi_job.binding.own : &cores->cpus, theirs,
                     sizeof theirs);
    snprintf(text, size, "PE on processors %s, threads on %s: %s", own, theirs,
             shmemi_threads_place_name(cores->place));
}

static _Thread_local bool has_entered;

void shmemi_threads_enter(const char *name, const char *short_name)
{
    has_entered = true;
    shmemi_thread_cores_enter();
    pthread_setname_np(pthread_self(), short_name);
    shmemi_trace_name_thread(name);
}

bool shmemi_thread_is_librarys(void)
{
    return has_entered;
}
