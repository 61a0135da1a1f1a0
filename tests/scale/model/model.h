/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A model of large jobs: predicts times of collectives and of the applications' communication. In one process every PE
 * is a coroutine that runs the library's real code (shmem/coll) and the applications' real exchange of messages; what
 * lies below, the transport, is a model in simulated time.
 *
 * The model is like LogGP. A message takes its sender's CPU for `overhead` and `per_byte_cpu`; the adapter of its node for
 * `gap` and `per_byte`; `latency` on the way; the adapter of the other node, and then, where the CPU has to help, the
 * CPU there. There is a set of these numbers for each kind of way (struct way). Beyond LogGP: machines have cores, and
 * PEs that share them wait for each other and sleep between looks, as in transport/progress.c.
 *
 * All of it is a prediction, and every line that is printed says so. Times are in seconds.
 */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Parameters (parameters.c) ----------------------------------------------------------------------------------- */

struct way {
    double latency, overhead, gap; /* per message                                                        */
    double per_byte;               /* of the adapter or link                                             */
    double per_byte_cpu;           /* of the sender's CPU; of the owner's too, if that has to help        */
    double help;                   /* of the owner's CPU for each message; 0: it need not do anything     */
    double settle;                 /* until the sender knows that a message is complete, after it is      */
};

/* The kinds of way: host memory of the same node is load and store (struct parameters, store). */
enum { HOST_FAR, DEVICE_NEAR, DEVICE_FAR, WAYS };

struct parameters {
    struct way way[WAYS];
    double store;                                   /* until a PE of the same node sees a store                  */
    double load;                                    /* CPU for each word looked at or stored in a node           */
    double copy_per_byte;                           /* CPU: copying and combining in host memory                 */
    double call;                                    /* CPU: beginning and ending a collective or a transfer      */
    double turn;                                    /* CPU: one look of a PE that waits                          */
    double look;                                    /* CPU: the same at the network, by a PE that has connections */
    double wake;                                    /* CPU: a thread sleeps and is woken again                   */
    double slack;                                   /* by which the kernel may lengthen each sleep               */
    double slice;                                   /* after which a thread gives its core to one that waits     */
    double cores;                                   /* of a machine                                              */
    double nodes_per_machine;                       /* 1, or all of them where one machine plays several     */
    double gpu_launch, gpu_copy, gpu_copy_per_byte; /* kernel launch and its end; copies between host and GPU */
    double gpu_cells, gpu_edges;                    /* per second: cells of the stencil, edges of the search */
    double gpu_is_cpu;                              /* not 0: kernels and these copies take the PE's core    */
};
extern struct parameters model;

/* Reads "name value" lines; '#' begins a comment. Ends the program on a mistake. */
void parameters_read(const char *path);
void parameters_set(const char *assignment);
void parameters_print(void);

/* ---- Simulated time (sim.c) -------------------------------------------------------------------------------------- */

struct shmemi_call;

struct pe {
    int number, node, machine;
    bool has_core, is_connected; /* to PEs of other nodes */
    const void *watched;         /* the word that this PE has looked at last           */
    uint64_t pending;            /* messages that are not complete                     */
    struct shmemi_call *call;    /* the library's innermost call, while others run     */
};

/* Runs `body` as each of n PEs until all have returned. Returns the simulated seconds. */
double sim_run(int n_pes, int per_node, void (*body)(struct pe *pe));
struct pe *sim_me(void);
struct pe *sim_pe(int number);
double sim_now(void);
extern int sim_n_pes, sim_per_node;
extern uint64_t sim_messages; /* between nodes */

/* This PE uses its core; sleeps; waits for a device, which leaves its core to others. */
void sim_cpu(double seconds);
void sim_sleep(double seconds);

/* `act` is called with these arguments at that time; with help: after a thread of that PE's machine has used a core for
 * so long. */
void sim_at(double time, void (*act)(void *, uint64_t), void *object, uint64_t value);
void sim_help(int pe, double seconds, void (*act)(void *, uint64_t), void *object, uint64_t value);

/* One turn of a PE that waits for the word `watched`: returns after some time, or when the word has changed. */
void sim_wait_turn(unsigned *spins);
/* Store a word that a PE may wait for, now. */
void sim_store(void *word, uint64_t value);

/* ---- Messages (network.c) ---------------------------------------------------------------------------------------- */

/* A message to a PE; when it is there, `value` is stored in word, unless that is NULL. fetch: the bytes come from there. */
struct message {
    int pe;
    enum { TO_HOST, TO_DEVICE } to;
    size_t bytes;
    uint64_t *word;
    uint64_t value;
    bool is_fetch;
};
void network_open(void);
void network_close(void);
void network_send(const struct message *message); /* nonblocking */
void network_quiet(void);

/* ---- The library's code (library.c) and the applications' -------------------------------------------------------- */

void library_open(int n_pes, int per_node);
void library_close(void);
void library_switch(const struct pe *pe); /* the library's state becomes that of this PE */
/* Memory of this PE that programs may use, and the copy that another PE has of a place in it. */
char *library_memory(void);
void *library_copy_of(const void *mine, int pe);

struct shmemi_team;
struct shmemi_team *library_team(const struct pe *pe);

/* Microseconds for one call of a collective in a loop of so many. */
double collective_time(const char *name, size_t bytes, int calls);

int model_collectives(int argc, char **argv);
int model_stencil(int argc, char **argv);
int model_bfs(int argc, char **argv);

#endif
