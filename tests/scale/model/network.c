/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of the model: what each takes of CPUs, adapters and links, and when it has arrived.
 *
 * A node has an adapter, which sends one message at a time and receives one at a time; each PE has a link of its own to
 * the GPUs of its node. Inside a node host memory is written by the sender's CPU.
 */
#include "model.h"

#include <stdlib.h>

/* From where and to where one message at a time goes: the time at which it is free again. */
struct port {
    double sends, receives;
};

static struct {
    struct port *adapter, *link; /* by node, by PE */
} network;

struct flight {
    struct message message;
    const struct way *way;
    struct port *from, *to; /* of the bytes */
    int sender;
};

void network_open(void)
{
    network.adapter = calloc((size_t)(sim_n_pes - 1) / (size_t)sim_per_node + 1, sizeof *network.adapter);
    network.link = calloc((size_t)sim_n_pes, sizeof *network.link);
}

void network_close(void)
{
    free(network.adapter);
    free(network.link);
}

static double occupies(const struct flight *flight)
{
    const double time = (double)flight->message.bytes * flight->way->per_byte;
    return time > flight->way->gap ? time : flight->way->gap;
}

/* ---- The way of a message, backwards: each step begins the next at its time ----------------------------------------- */

static void settle(void *object, uint64_t value)
{
    struct pe *sender = object;
    (void)value;
    sim_store(&sender->pending, sender->pending - 1);
}

static void take_effect(void *object, uint64_t value)
{
    struct flight *flight = object;
    (void)value;
    if (flight->message.word)
        sim_store(flight->message.word, flight->message.value);
    sim_at(sim_now() + flight->way->settle, settle, sim_pe(flight->sender), 0);
    free(flight);
}

static double help_for(const struct flight *flight)
{
    return flight->way->help + (double)flight->message.bytes * flight->way->per_byte_cpu;
}

static void has_come(void *object, uint64_t value)
{
    struct flight *flight = object;
    if (flight->way->help > 0 && !flight->message.is_fetch)
        sim_help(flight->message.pe, help_for(flight), take_effect, flight, 0);
    else
        take_effect(flight, value);
}

static void comes(void *object, uint64_t value)
{
    struct flight *flight = object;
    const double begin = flight->to->receives > sim_now() ? flight->to->receives : sim_now();
    (void)value;
    flight->to->receives = begin + occupies(flight);
    sim_at(flight->to->receives, has_come, flight, 0);
}

static void leaves(void *object, uint64_t value)
{
    struct flight *flight = object;
    const double begin = flight->from->sends > sim_now() ? flight->from->sends : sim_now();
    (void)value;
    flight->from->sends = begin + occupies(flight);
    sim_at(begin + flight->way->latency, comes, flight, 0);
}

static void is_asked(void *object, uint64_t value)
{
    struct flight *flight = object;
    if (flight->way->help > 0)
        sim_help(flight->message.pe, help_for(flight), leaves, flight, 0);
    else
        leaves(flight, value);
}

/* ---- Sending ----------------------------------------------------------------------------------------------------- */

static void store_word(void *object, uint64_t value)
{
    sim_store(object, value);
}

static void send_in_node(const struct message *message)
{
    sim_cpu(model.load + (double)message->bytes * model.copy_per_byte);
    if (message->word)
        sim_at(sim_now() + model.store, store_word, message->word, message->value);
}

static struct flight *make_flight(const struct message *message, bool is_near)
{
    const int me = sim_me()->number, pe = message->pe;
    struct port *mine = is_near ? &network.link[me] : &network.adapter[sim_me()->node];
    struct port *theirs = is_near ? &network.link[pe] : &network.adapter[sim_pe(pe)->node];
    struct flight *flight = malloc(sizeof *flight);
    *flight = (struct flight){
        .message = *message,
        .way = &model.way[is_near                    ? DEVICE_NEAR
                          : message->to == TO_DEVICE ? DEVICE_FAR
                                                     : HOST_FAR],
        .from = message->is_fetch ? theirs : mine,
        .to = message->is_fetch ? mine : theirs,
        .sender = me,
    };
    return flight;
}

void network_send(const struct message *message)
{
    const bool is_near = sim_pe(message->pe)->node == sim_me()->node;
    if (is_near && message->to == TO_HOST) {
        send_in_node(message);
        return;
    }
    struct flight *flight = make_flight(message, is_near);
    if (!is_near) {
        sim_messages++;
        sim_me()->is_connected = sim_pe(message->pe)->is_connected = true;
    }
    sim_me()->pending++;
    sim_cpu(flight->way->overhead + (double)message->bytes * flight->way->per_byte_cpu);
    if (message->is_fetch)
        sim_at(sim_now() + flight->way->latency, is_asked, flight, 0);
    else
        leaves(flight, 0);
}

void network_quiet(void)
{
    unsigned spins = 0;
    struct pe *me = sim_me();
    while (me->pending) {
        me->watched = &me->pending;
        sim_wait_turn(&spins);
    }
}
