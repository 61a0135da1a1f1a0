/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The service thread and its sleep. While awake it runs the workers, which do the actual work.
 */
#define _GNU_SOURCE
#include "transport/service.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/thread/cores.h"
#include "base/thread/patience.h"
#include "base/thread/thread_start.h"
#include "base/wake/interleave.h"
#include "base/tuning.h"
#include "bootstrap/job.h"
#include "gpu/thread_cores.h"
#include "transport/sockets/doorbell.h"
#include "transport/node.h"
#include "transport/progress.h"
#include "transport/threads.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

static struct {
    pthread_t thread;
    atomic_bool running;
    atomic_bool stop;
    int epoll;
    struct shmemi_place adopted; /* under the service lock */
    atomic_bool has_to_adopt;
} service;

void shmemi_service_notice(void)
{
    if (atomic_load_explicit(&service.running, memory_order_acquire))
        shmemi_node_wake(shmemi_job.node_rank);
}

bool shmemi_service_is_at_hand(void)
{
    return atomic_load_explicit(&service.running, memory_order_acquire) && !shmemi_node_sleeps(shmemi_job.node_rank) &&
           shmemi_threads_are_apart() && !shmemi_cores_are_shared();
}

uint64_t shmemi_service_cpu_time(void)
{
    clockid_t clock;
    struct timespec used;
    if (!atomic_load(&service.running) || pthread_getcpuclockid(service.thread, &clock) || clock_gettime(clock, &used))
        return 0;
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static int arm(const struct shmemi_wakeup *wakeup)
{
    return wakeup->arm();
}

static void sleep_until_event(void)
{
    struct epoll_event event;
    shmemi_node_sleep_begin();
    int limit = shmemi_workers_sleep_ms();
    if (limit && !shmemi_workers_visit(arm)) {
        shmemi_interleave();
        epoll_wait(service.epoll, &event, 1, limit);
    }
    shmemi_node_sleep_end();
}

void shmemi_service_adopt(const struct shmemi_place *place)
{
    shmemi_service_lock();
    service.adopted = *place;
    shmemi_service_unlock();
    atomic_store_explicit(&service.has_to_adopt, true, memory_order_release);
}

/* On the service thread. */
static void adopt(void)
{
    if (!atomic_exchange_explicit(&service.has_to_adopt, false, memory_order_acquire))
        return;
    shmemi_service_lock();
    struct shmemi_place place = service.adopted;
    shmemi_service_unlock();
    place.memory->addresses->make_current(&place);
}

/* Something is under way of which nothing tells the end. On the core of its PE, the thread must not spin meanwhile. */
static void look_again_soon(unsigned turn)
{
    if (shmemi_cores_are_crowded())
        shmemi_nap(turn);
    else if (shmemi_threads_are_guests())
        shmemi_nap_briefly();
    else
        shmemi_yield();
}

/* To wake the thread takes longer than most of what it does, and programs that exchange data step by step come back after
 * some 10 microseconds. Rounds between nodes take longer, and work comes there in idle jobs, too: signs of life. */
static enum shmemi_patience patience_here(bool has_worked)
{
    const bool has_core = shmemi_threads_are_apart() && !shmemi_cores_are_shared();
    return has_worked && has_core && shmemi_job.n_nodes == 1 ? SHMEMI_SERVICE_IDLE_APART : SHMEMI_SERVICE_IDLE;
}

static void *service_main(void *argument)
{
    (void)argument;
    unsigned idle = 0, rounds = 0;
    bool has_worked = false; /* since it slept */
    shmemi_threads_enter("service thread", "shmem-service");
    while (!atomic_load_explicit(&service.stop, memory_order_acquire)) {
        adopt();
        unsigned done = shmemi_work(SHMEMI_TURN_OF_SERVICE);
        if (++rounds % SHMEMI_SERVICE_ROUNDS_PER_SWEEP == 0)
            shmemi_workers_sweep(); /* a busy thread never gets to the sweep after the sleep */
        if (done) {
            idle = 0;
            has_worked = true;
        } else if (shmemi_rest(patience_here(has_worked), ++idle) != SHMEMI_PATIENCE_IS_OVER) {
            continue;
        } else if (shmemi_workers_sleep_ms() == 0) {
            look_again_soon(idle);
        } else {
            sleep_until_event();
            shmemi_workers_sweep();
            idle = 0;
            has_worked = false;
        }
    }
    return NULL;
}

static int watch(int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    if (fd < 0)
        return fd;
    return epoll_ctl(service.epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int watch_wakeup(const struct shmemi_wakeup *wakeup)
{
    return watch(wakeup->fd());
}

int shmemi_service_start(void)
{
    atomic_store(&service.stop, false);
    service.epoll = epoll_create1(EPOLL_CLOEXEC);
    int rc = service.epoll < 0 ? -errno : watch(shmemi_node.doorbell);
    if (!rc)
        rc = shmemi_workers_visit(watch_wakeup);
    if (!rc)
        rc = shmemi_thread_create(&service.thread, NULL, service_main, NULL);
    if (rc) {
        errno = -rc;
        shmemi_error("cannot start the service thread: %m%s", shmemi_remedy(-rc));
        return rc;
    }
    atomic_store_explicit(&service.running, true, memory_order_release);
    return 0;
}

void shmemi_service_stop(void)
{
    if (!atomic_load(&service.running))
        return;
    atomic_store_explicit(&service.stop, true, memory_order_release);
    shmemi_node_ring_doorbell(shmemi_job.node_rank);
    pthread_join(service.thread, NULL);
    atomic_store(&service.running, false);
    close(service.epoll);
}
