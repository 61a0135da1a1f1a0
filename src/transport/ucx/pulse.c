/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Signs of life between hosts, because neither the launcher nor UCX notices for many minutes that a host or the network
 * to it has vanished.
 *
 * The hosts form a ring: a PE of each host sends a pulse, a small message, to the first PE of the next host, several
 * times in SHMEM_PEER_TIMEOUT. Both neighbours of a gap notice it, on both sides of a cut network, and end the job.
 *
 * The first PE of a host sends. If it does not, because it is stopped or in a debugger, another PE of its node takes its
 * place after a while: a host is alive as long as any PE of its first node is. The service threads see to it while the
 * programs compute; a thread that waits helps, since on a busy machine it may hold the service lock most of the time.
 * Jobs on a single host send no pulses, whatever SHMEM_NODE_SIZE says.
 *
 * A pulse may be the first message to its receiver. UCX then makes a connection in both directions, and a process that
 * closes its side meanwhile may fail an assertion in the other (seen with 1.13). So pulses are answered until the
 * connection is known to be made, and before any PE closes its connections, all have awaited their answers
 * (shmemi_ucx_pulse_settle). From then on pulses go over connections only that are made.
 */
#include "transport/ucx/ucx_internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "bootstrap/bootstrap.h"
#include "bootstrap/job.h"
#include "transport/sockets/doorbell.h"
#include "transport/node.h"
#include "transport/service.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    PULSES_PER_TIMEOUT = 5,
    ROUNDS_PER_LOOK = 64, /* of a busy thread: to look at the clock in each would be too often */
    LAUNCHER_SECONDS = 3, /* that a launcher gets to end this process once a host is lost */
    MS_WHILE_CONNECTING = 10,
    SETTLE_SECONDS = 5,
};

/* The connection to the next host. It is made when an answer has come over it. */
enum { UNTRIED, CONNECTING, CONNECTED };

struct pulse {
    struct shmemi_key job_key;
    uint32_t origin;
};

/* What is not atomic is used under the service lock. Times are nanoseconds of a clock that all PEs of a host share. */
static struct {
    _Atomic unsigned is_on;
    uint64_t interval, patience, my_turn;
    int next;     /* first PE of the next host */
    int previous; /* first PE of the host from which this PE expects pulses; -1: it expects none */
    _Atomic uint64_t heard;
    uint64_t looked;
    unsigned rounds;
    struct pulse message, answer;
    struct shmemi_ucx_batch sends;
    _Atomic int connection;
    bool is_settled; /* make no connection any more */
} pulse;

static void on_answer_sent(void *request, ucs_status_t status, void *user_data)
{
    (void)status, (void)user_data;
    ucp_request_free(request);
}

/* All answers are the same, so that none needs memory of its own. What fails is no error here either. */
static void answer(ucp_ep_h reply)
{
    const ucp_request_param_t param = shmemi_ucx_message_param(NULL, on_answer_sent, UCP_AM_SEND_FLAG_EAGER);
    pulse.answer = (struct pulse){.job_key = shmemi_job.key, .origin = (uint32_t)shmemi_job.pe};
    ucp_am_send_nbx(reply, SHMEMI_UCX_AM_PULSE_ANSWER, &pulse.answer, sizeof pulse.answer, NULL, 0, &param);
}

/* Does the message come from this job? */
static bool is_ours(const void *header, size_t header_length)
{
    struct pulse received;
    return shmemi_ucx_read_header(&received, sizeof received, header, header_length);
}

/* Inside progress of the service worker. */
static ucs_status_t on_pulse(void *user_data, const void *header, size_t header_length, void *data, size_t length,
                             const ucp_am_recv_param_t *param)
{
    (void)user_data, (void)data, (void)length;
    if (!is_ours(header, header_length))
        return UCS_OK;
    atomic_store_explicit(&pulse.heard, shmemi_clock(), memory_order_relaxed);
    if (param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP)
        answer(param->reply_ep);
    return UCS_OK;
}

/* Inside progress of the initiator worker. */
static ucs_status_t on_pulse_answer(void *user_data, const void *header, size_t header_length, void *data,
                                    size_t length, const ucp_am_recv_param_t *param)
{
    (void)user_data, (void)data, (void)length, (void)param;
    if (is_ours(header, header_length))
        atomic_store(&pulse.connection, CONNECTED);
    return UCS_OK;
}

/* ---- A lost host ------------------------------------------------------------------------------------------------- */

/* The other PEs of this node must not stay behind: the launcher may be on the other side. */
static void tell_node(void)
{
    atomic_store(&shmemi_node.header->is_cut_off, 1);
    for (int rank = 0; rank < shmemi_job.node_n_pes; rank++)
        if (rank != shmemi_job.node_rank)
            shmemi_node_ring_doorbell(rank);
}

static _Noreturn void end_job(void)
{
    char pes[128];
    shmemi_job_list_host(pulse.previous, pes, sizeof pes);
    tell_node();
    shmemi_end_within(LAUNCHER_SECONDS, 1);
    shmemi_fatal(
        "no sign of life from %s (%s) for %zu s (SHMEM_PEER_TIMEOUT): the host or the network to it is lost, so "
        "the job ends",
        shmemi_job_host_name(pulse.previous), pes, shmemi_settings.peer_timeout);
}

/* Another PE of the node has said why. */
static _Noreturn void follow(void)
{
    sleep(LAUNCHER_SECONDS);
    _exit(1);
}

/* ---- Sending and listening --------------------------------------------------------------------------------------- */

static void on_sent(void *request, ucs_status_t status, void *user_data)
{
    (void)status, (void)user_data;
    ucp_request_free(request);
    atomic_fetch_add(&pulse.sends.completed, 1);
}

static void start_send(ucp_ep_h endpoint)
{
    ucp_request_param_t param = shmemi_ucx_message_param(NULL, on_sent, UCP_AM_SEND_FLAG_EAGER);
    if (atomic_load(&pulse.connection) != CONNECTED) {
        param.flags |= UCP_AM_SEND_FLAG_REPLY;
        atomic_store(&pulse.connection, CONNECTING);
    }
    pulse.message = (struct pulse){.job_key = shmemi_job.key, .origin = (uint32_t)shmemi_job.pe};
    pthread_mutex_lock(&shmemi_ucx.initiator_lock);
    ucs_status_ptr_t sent =
        ucp_am_send_nbx(endpoint, SHMEMI_UCX_AM_PULSE, &pulse.message, sizeof pulse.message, NULL, 0, &param);
    if (UCS_PTR_IS_PTR(sent))
        atomic_fetch_add(&pulse.sends.issued, 1);
    pthread_mutex_unlock(&shmemi_ucx.initiator_lock);
}

static bool is_connecting(void)
{
    return !shmemi_ucx_batch_is_complete(&pulse.sends) || atomic_load(&pulse.connection) == CONNECTING;
}

/* While a pulse is still on its way no other follows. What fails is no error here: the receiver notices. */
static void send_pulse(void)
{
    ucp_ep_h endpoint;
    if (!shmemi_ucx_batch_is_complete(&pulse.sends) || shmemi_ucx_peer_is_lost(pulse.next))
        return;
    if (pulse.is_settled && atomic_load(&pulse.connection) != CONNECTED)
        return;
    if (!shmemi_ucx_endpoint(pulse.next, &endpoint))
        start_send(endpoint);
}

bool shmemi_ucx_pulse_goes_to(int pe)
{
    return pulse.next == pe;
}

/* Times that have passed at a service thread which did not run for long, since its process was stopped, do not count. */
static void forgive_pause(uint64_t time)
{
    if (time - pulse.looked > pulse.patience / 2)
        atomic_store(&pulse.heard, time);
    pulse.looked = time;
}

static bool is_over(uint64_t since, uint64_t time, uint64_t span)
{
    return time > since && time - since > span;
}

static void look(void)
{
    uint64_t time = shmemi_clock();
    struct shmemi_node_header *header = shmemi_node.header;
    if (!atomic_load(&pulse.is_on))
        return;
    forgive_pause(time);
    if (atomic_load(&header->is_cut_off))
        follow();
    if (is_connecting())
        shmemi_ucx_progress(); /* the first one has to connect, and the program may not progress that itself */
    if (is_over(atomic_load(&header->pulse_sent), time, pulse.my_turn)) {
        atomic_store(&header->pulse_sent, time);
        send_pulse();
    }
    if (pulse.previous >= 0 && is_over(atomic_load(&pulse.heard), time, pulse.patience))
        end_job();
}

/* ---- Start and end ----------------------------------------------------------------------------------------------- */

static int first_of_host(int host)
{
    int pe = 0;
    while (shmemi_job.host_of[pe] != host)
        pe++;
    return pe;
}

static int count_hosts(void)
{
    int n = 0;
    for (int pe = 0; pe < shmemi_job.n_pes; pe++)
        if (shmemi_job.host_of[pe] >= n)
            n = shmemi_job.host_of[pe] + 1;
    return n;
}

/* Only the first node of a host takes part, when SHMEM_NODE_SIZE has split the host. */
static bool takes_part(int host)
{
    return shmemi_job.node_of[first_of_host(host)] == shmemi_job.node;
}

/* The higher the rank, the later a PE takes the place of those below it; all do within three fifths of the timeout. */
static uint64_t turn_of(int rank)
{
    enum { RANKS = 8 };
    int later = rank < RANKS ? rank : RANKS;
    return rank == 0 ? pulse.interval : pulse.interval * 2 + pulse.interval * (uint64_t)later / RANKS;
}

void shmemi_ucx_pulse_start(void)
{
    const int host = shmemi_job.host_of[shmemi_job.pe], n_hosts = count_hosts();
    if (!shmemi_settings.peer_timeout || n_hosts == 1 || !takes_part(host))
        return;
    pulse.patience = (uint64_t)shmemi_settings.peer_timeout * 1000000000u;
    pulse.interval = pulse.patience / PULSES_PER_TIMEOUT;
    pulse.my_turn = turn_of(shmemi_job.node_rank);
    pulse.next = first_of_host((host + 1) % n_hosts);
    pulse.previous = shmemi_job.node_rank == 0 ? first_of_host((host + n_hosts - 1) % n_hosts) : -1;
    pulse.looked = shmemi_clock();
    atomic_store(&pulse.heard, pulse.looked);
    atomic_store(&shmemi_node.header->pulse_sent,
                 pulse.looked); /* a short job needs no pulse, and no connection for it */
    atomic_store(&pulse.is_on, 1);
    shmemi_service_notice();
}

void shmemi_ucx_pulse_settle(void)
{
    const uint64_t begin = shmemi_clock();
    unsigned spins = 0;
    shmemi_service_lock();
    pulse.is_settled = true;
    shmemi_service_unlock();
    while (atomic_load(&pulse.is_on) && is_connecting() && !shmemi_ucx_peer_is_lost(pulse.next) &&
           !is_over(begin, shmemi_clock(), SETTLE_SECONDS * (uint64_t)1000000000))
        shmemi_ucx_turn(&spins);
}

void shmemi_ucx_pulse_stop(void)
{
    atomic_store(&pulse.is_on, 0);
}

int shmemi_ucx_pulse_open(void)
{
    atomic_store(&pulse.sends.issued, 0);
    atomic_store(&pulse.sends.completed, 0);
    atomic_store(&pulse.connection, UNTRIED);
    pulse.is_settled = false;
    int rc = shmemi_ucx_set_handler(shmemi_ucx.service, SHMEMI_UCX_AM_PULSE, on_pulse);
    return rc ? rc : shmemi_ucx_set_handler(shmemi_ucx.initiator, SHMEMI_UCX_AM_PULSE_ANSWER, on_pulse_answer);
}

/* ---- The worker of transport/progress.h -------------------------------------------------------------------------- */

static unsigned advance(void)
{
    if (++pulse.rounds % ROUNDS_PER_LOOK == 0)
        look();
    return 0;
}

static void sweep(void)
{
    shmemi_service_lock();
    look();
    shmemi_service_unlock();
}

static int ms_until(uint64_t since, uint64_t span, uint64_t time)
{
    return since + span > time ? (int)((since + span - time) / 1000000) + 1 : 1;
}

static int sleep_ms(void)
{
    uint64_t time = shmemi_clock();
    if (!atomic_load(&pulse.is_on))
        return -1;
    if (is_connecting())
        return MS_WHILE_CONNECTING;
    int to_send = ms_until(atomic_load(&shmemi_node.header->pulse_sent), pulse.my_turn, time);
    int to_hear = ms_until(atomic_load(&pulse.heard), pulse.patience, time);
    return pulse.previous < 0 || to_send < to_hear ? to_send : to_hear;
}

const struct shmemi_worker shmemi_worker_pulse = {
    .name = "signs of life",
    .is_exclusive = true,
    .is_for_network = true,
    .work = &pulse.is_on,
    .has_work = shmemi_has_work_always,
    .advance = advance,
    .sleep_ms = sleep_ms,
    .sweep = sweep,
};
