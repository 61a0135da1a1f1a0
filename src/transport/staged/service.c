/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The owner's end of requests. Arrivals are checked against the region table, their copies started at once and
 * settled in order of completion of the oldest; everything here runs under one lock, taken by trying, by the service
 * thread and by threads that wait in the library.
 */
#define _GNU_SOURCE
#include "transport/staged/service.h"

#include "base/cores.h"
#include "base/log.h"
#include "base/sanitizer.h"
#include "transport/staged/batch.h"
#include "transport/direct/list.h"
#include "transport/driver.h"
#include "bootstrap/job.h"
#include "transport/node.h"
#include "transport/request.h"
#include "transport/staged/request_check.h"
#include "transport/staged/ring.h"
#include "instrument/measure.h"
#include "transport/staged/slots.h"
#include "instrument/trace.h"
#include "transport/ucx/ucx.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum {
    COPIES_MAX = 256,       /* under way; further requests wait where they are */
    AT_ONCE_MAX = 64 << 10, /* bytes of a copy that is better waited for than watched */
    IDLE_ROUNDS_BEFORE_SLEEP = 200,
    ROUNDS_PER_SWEEP = 8192,
    PENDING_POLL_MS = 1, /* while this PE's own operations are under way on the network */
};

static struct {
    pthread_t thread;
    atomic_bool running;
    atomic_bool stop;
    atomic_bool sleeps; /* shmemi_service_notice has to wake it */
    int epoll;
    pthread_mutex_t lock; /* recursive: an arrival may be accepted within progress or from a network callback */
    _Atomic(struct shmemi_arrival *) oldest; /* copies under way, in order; others may look whether there are any */
    struct shmemi_arrival *newest;
    unsigned copies;             /* in that list */
    struct shmemi_place adopted; /* under the lock */
    atomic_bool has_to_adopt;
    bool networked;
} service = {.lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP};

int shmemi_request_check(const struct shmemi_request *request)
{
    uint64_t payload, end;
    if (request->job_key != shmemi_job.key || request->origin >= (uint32_t)shmemi_job.n_pes)
        return -EINVAL;
    if (request->type < SHMEMI_REQUEST_PUT || request->type > SHMEMI_REQUEST_SCATTER)
        return -EINVAL;
    if (request->rows == 0 || (request->rows > 1 && request->pitch < request->width))
        return -EINVAL;
    if (__builtin_mul_overflow((uint64_t)request->rows, request->width, &payload) || payload > shmemi_staging.chunk)
        return -EINVAL;
    if (__builtin_mul_overflow((uint64_t)(request->rows - 1), request->pitch, &end) ||
        __builtin_add_overflow(end, request->width, &end) || __builtin_add_overflow(end, request->offset, &end))
        return -EINVAL;
    if (request->type == SHMEMI_REQUEST_SCATTER && request->rows != 1)
        return -EINVAL;
    if (shmemi_is_slotless(request->slot))
        return request->type == SHMEMI_REQUEST_GET || request->type == SHMEMI_REQUEST_SCATTER ||
                       (request->type == SHMEMI_REQUEST_PUT &&
                        (payload > SHMEMI_INLINE_MAX || request->inline_size != payload))
                   ? -EINVAL
                   : 0;
    return request->slot < shmemi_staging.slots ? 0 : -EINVAL;
}

static const char *const operations[] = {
    [SHMEMI_REQUEST_PUT] = "put",
    [SHMEMI_REQUEST_GET] = "get",
    [SHMEMI_REQUEST_AMO] = "atomic",
    [SHMEMI_REQUEST_SCATTER] = "batch of puts",
};

static void note_served(const struct shmemi_arrival *arrival)
{
    const struct shmemi_request *request = &arrival->request;
    if (arrival->begin)
        shmemi_sight_served(operations[request->type], arrival->begin, (int)request->origin, request->region,
                            request->offset, request->rows * request->width);
}

static void settle(struct shmemi_arrival *arrival, int status)
{
    note_served(arrival);
    arrival->settle(arrival, status);
    shmemi_resolver.release();
}

static struct shmemi_arrival *oldest_copy(void)
{
    return atomic_load_explicit(&service.oldest, memory_order_relaxed);
}

static void queue(struct shmemi_arrival *arrival)
{
    arrival->next = NULL;
    if (service.newest)
        service.newest->next = arrival;
    else
        atomic_store_explicit(&service.oldest, arrival, memory_order_relaxed);
    service.newest = arrival;
    service.copies++;
}

bool shmemi_service_has_room(void)
{
    return service.copies < COPIES_MAX;
}

/* Settle the copies that are done, from the oldest on. */
static unsigned poll_copies(void)
{
    unsigned done = 0;
    struct shmemi_arrival *arrival;
    while ((arrival = oldest_copy())) {
        int rc = arrival->event.memory->event_test(&arrival->event);
        if (rc == -EAGAIN)
            break;
        atomic_store_explicit(&service.oldest, arrival->next, memory_order_relaxed);
        if (!arrival->next)
            service.newest = NULL;
        service.copies--;
        settle(arrival, rc);
        done++;
    }
    return done;
}

/* A short copy that nothing waits behind: to watch it by an event would take longer. */
static bool is_done_at_once(const struct shmemi_arrival *arrival)
{
    return shmemi_request_payload_size(&arrival->request) <= AT_ONCE_MAX && !oldest_copy() && !shmemi_ring_has_work();
}

/* Copy the arrival's data; the event is without memory when that is done already. */
static int start_copy(struct shmemi_arrival *arrival, const struct shmemi_place *mine)
{
    const struct shmemi_request *request = &arrival->request;
    struct shmemi_place payload = shmemi_place_host(arrival->payload);
    bool is_put = request->type == SHMEMI_REQUEST_PUT;
    const struct shmemi_place *dest = is_put ? mine : &payload, *source = is_put ? &payload : mine;
    struct shmemi_shape shape = {
        .width = request->width,
        .rows = request->rows,
        .dest_pitch = is_put ? request->pitch : request->width,
        .source_pitch = is_put ? request->width : request->pitch,
    };
    arrival->event = (struct shmemi_event){0};
    if (is_done_at_once(arrival))
        return mine->memory->copy(dest, source, &shape);
    return mine->memory->copy_start(dest, source, &shape, &arrival->event);
}

/* Memory without an agent: its words change under the service lock only, so that no update is lost. With that lock
 * held. */
static int update_by_copies(const struct shmemi_place *place, const struct shmemi_amo *amo, uint64_t *old_p)
{
    uint64_t word = 0, before;
    struct shmemi_place here = shmemi_place_host(&word);
    struct shmemi_shape shape = shmemi_shape_linear(amo->size);
    const bool depends_on_old = amo->op != SHMEMI_AMO_SET;
    int rc = depends_on_old ? place->memory->copy(&here, place, &shape) : 0;
    if (rc)
        return rc;
    before = word;
    *old_p = shmemi_amo_apply(&word, amo);
    return depends_on_old && word == before ? 0 : place->memory->copy(place, &here, &shape);
}

/* With the service lock held. */
static int update_word(const struct shmemi_place *place, const struct shmemi_amo *amo, uint64_t *old_p)
{
    int rc = place->memory->amo(place, amo, old_p);
    return rc == -ENOTSUP ? update_by_copies(place, amo, old_p) : rc;
}

int shmemi_service_amo(const struct shmemi_place *place, const struct shmemi_amo *amo, void *fetch_p)
{
    uint64_t old = 0;
    pthread_mutex_lock(&service.lock);
    int rc = update_word(place, amo, &old);
    pthread_mutex_unlock(&service.lock);
    if (!rc && fetch_p)
        memcpy(fetch_p, &old, amo->size);
    return rc;
}

static int apply_amo(struct shmemi_arrival *arrival, const struct shmemi_place *mine)
{
    const struct shmemi_request *request = &arrival->request;
    uint64_t old = 0, alignment = mine->memory == &shmemi_memory_host ? mine->address : request->offset;
    struct shmemi_amo amo = {
        .op = request->u.amo.op,
        .size = request->u.amo.size,
        .operand = request->u.amo.operand,
        .compare = request->u.amo.compare,
    };
    if ((amo.size != 4 && amo.size != 8) || amo.size != request->width || alignment % amo.size ||
        amo.op > SHMEMI_AMO_COMPARE_SWAP) {
        shmemi_error("PE %u asked for an atomic operation that does not exist, or on a word of region %u that is not "
                     "aligned to its size",
                     request->origin, request->region);
        return -EINVAL;
    }
    shmemi_access_for_peer_begin();
    int rc = update_word(mine, &amo, &old);
    shmemi_access_for_peer_end();
    if (!rc && !shmemi_is_slotless(request->slot))
        memcpy(arrival->payload, &old, amo.size);
    return rc;
}

static uint64_t reach(const struct shmemi_request *request)
{
    return (request->rows - 1) * request->pitch + request->width;
}

void shmemi_service_accept(struct shmemi_arrival *arrival)
{
    const struct shmemi_request *request = &arrival->request;
    struct shmemi_place mine;
    arrival->begin = __builtin_expect(shmemi_sight.is_on, 0) ? shmemi_clock() : 0;
    if (request->type == SHMEMI_REQUEST_SCATTER) {
        int status = shmemi_batch_scatter(request, arrival->payload);
        note_served(arrival);
        arrival->settle(arrival, status);
        return;
    }
    int rc = shmemi_resolver.resolve(request->region, request->offset, reach(request), &mine);
    if (rc) {
        shmemi_error("PE %u asked for %llu bytes at offset %llu of region %u, which this PE does not have",
                     request->origin, (unsigned long long)reach(request), (unsigned long long)request->offset,
                     request->region);
        arrival->settle(arrival, rc);
        return;
    }
    if (request->type == SHMEMI_REQUEST_AMO) {
        settle(arrival, apply_amo(arrival, &mine));
        return;
    }
    shmemi_access_for_peer_begin();
    rc = start_copy(arrival, &mine);
    shmemi_access_for_peer_end();
    if (rc || !arrival->event.memory)
        settle(arrival, rc);
    else
        queue(arrival);
}

static bool has_work(void)
{
    return service.networked || oldest_copy() || shmemi_ring_has_work() || shmemi_slots_are_loading();
}

static unsigned progress_locked(void)
{
    unsigned done = shmemi_ring_drain();
    if (service.networked)
        done += shmemi_ucx_service_progress();
    return done + poll_copies();
}

unsigned shmemi_service_progress(void)
{
    unsigned done = 0;
    if (!atomic_load_explicit(&service.running, memory_order_acquire) || !has_work())
        return 0;
    if (!pthread_mutex_trylock(&service.lock)) {
        done = progress_locked();
        bool copying = oldest_copy();
        pthread_mutex_unlock(&service.lock);
        if (copying) /* this thread may not come back: the service thread must finish it */
            shmemi_service_notice();
    }
    done += shmemi_slots_progress();
    if (service.networked)
        done += shmemi_ucx_progress();
    return done;
}

void shmemi_service_notice(void)
{
    if (atomic_load_explicit(&service.sleeps, memory_order_seq_cst))
        shmemi_node_ring_doorbell(shmemi_job.node_rank);
}

uint64_t shmemi_service_cpu_time(void)
{
    clockid_t clock;
    struct timespec used;
    if (!atomic_load(&service.running) || pthread_getcpuclockid(service.thread, &clock) || clock_gettime(clock, &used))
        return 0;
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static void sleep_until_event(void)
{
    struct epoll_event event;
    if (!shmemi_ring_announce_sleep())
        return;
    atomic_store_explicit(&service.sleeps, true, memory_order_seq_cst);
    int limit = service.networked && shmemi_ucx_has_pending() ? PENDING_POLL_MS : shmemi_direct_list_sleep_ms();
    if (!oldest_copy() && !shmemi_slots_are_loading() && (!service.networked || shmemi_ucx_service_arm() == 0))
        epoll_wait(service.epoll, &event, 1, limit);
    atomic_store_explicit(&service.sleeps, false, memory_order_relaxed);
    shmemi_ring_announce_awake();
    shmemi_node_clear_doorbell();
}

void shmemi_service_adopt(const struct shmemi_place *place)
{
    pthread_mutex_lock(&service.lock);
    service.adopted = *place;
    pthread_mutex_unlock(&service.lock);
    atomic_store_explicit(&service.has_to_adopt, true, memory_order_release);
}

/* On the service thread. */
static void adopt(void)
{
    if (!atomic_exchange_explicit(&service.has_to_adopt, false, memory_order_acquire))
        return;
    pthread_mutex_lock(&service.lock);
    struct shmemi_place place = service.adopted;
    pthread_mutex_unlock(&service.lock);
    place.memory->addresses->make_current(&place);
}

static void *service_main(void *argument)
{
    (void)argument;
    unsigned idle = 0, rounds = 0;
    shmemi_trace_name_thread("service thread");
    while (!atomic_load_explicit(&service.stop, memory_order_acquire)) {
        adopt();
        pthread_mutex_lock(&service.lock);
        unsigned done = progress_locked();
        pthread_mutex_unlock(&service.lock);
        done += shmemi_slots_progress();
        bool copying = oldest_copy() || shmemi_slots_are_loading();
        if (service.networked && shmemi_ucx_has_pending())
            done += shmemi_ucx_progress();
        if (++rounds % ROUNDS_PER_SWEEP == 0)
            shmemi_direct_list_flush_old(); /* there may be no time to sleep */
        if (done) {
            idle = 0;
        } else if (copying || ++idle < IDLE_ROUNDS_BEFORE_SLEEP) {
            shmemi_yield();
        } else {
            sleep_until_event();
            shmemi_direct_list_flush_old();
            idle = 0;
        }
    }
    return NULL;
}

static int watch(int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    return epoll_ctl(service.epoll, EPOLL_CTL_ADD, fd, &event);
}

static int start_thread(void)
{
    sigset_t all, before;
    /* the program's signals are not for this thread */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&service.thread, NULL, service_main, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -rc;
}

int shmemi_service_start(void)
{
    service.networked = shmemi_job.n_nodes > 1;
    atomic_store(&service.stop, false);
    shmemi_slots_open();
    if (shmemi_job.n_pes == 1)
        return 0;
    service.epoll = epoll_create1(EPOLL_CLOEXEC);
    int rc = service.epoll < 0 || watch(shmemi_node.doorbell) || (service.networked && watch(shmemi_ucx_event_fd()))
                 ? -errno
                 : start_thread();
    if (rc) {
        errno = -rc;
        shmemi_error("cannot start the service thread: %m");
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
    shmemi_ring_close();
}
