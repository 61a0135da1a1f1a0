/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Breadth-first search with OpenSHMEM: outboxes are put into the owners' GPU memory, and the signal that tells of them
 * carries their length. See doc/porting.md.
 */
#include <shmemx.h>

#include "bfs.h"

static int mine_found, all_found = 1; /* symmetric, for the reductions */
static uint64_t mine[2], total[2];

/* Mapped boxes, and what has come: from each PE the level, in the upper half, and the number of vertices. */
struct mail {
    unsigned *outbox, *inbox;
    uint64_t *arrived;
};

static struct mail mail_make(struct part *p)
{
    struct mail m;

    m.outbox = (unsigned *)MAP(p->outbox, boxes_bytes(p));
    m.inbox = (unsigned *)MAP(p->inbox, boxes_bytes(p));
    m.arrived = (uint64_t *)shmem_calloc((size_t)p->n_processes, sizeof(uint64_t));
    if (!m.outbox || !m.inbox || !m.arrived)
        shmem_global_exit(1); /* shmmap has printed the reason */
    return m;
}

static void mail_free(struct mail *m)
{
    shmumap(m->outbox);
    shmumap(m->inbox);
    shmem_free(m->arrived);
}

static void exchange(struct part *p, struct mail *m, const int *n_out, int depth)
{
    const int me = shmem_my_pe();
    const uint64_t turn = (uint64_t)(depth + 1) << 32;

    for (int pe = 0; pe < p->n_processes; pe++)
        shmem_putmem_signal_nbi(m->inbox + me * p->block, m->outbox + pe * p->block,
                                (size_t)n_out[pe] * sizeof(unsigned), &m->arrived[me], turn + (uint64_t)n_out[pe],
                                SHMEM_SIGNAL_SET, pe);
    for (int pe = 0; pe < p->n_processes; pe++) {
        const uint64_t word = shmem_signal_wait_until(&m->arrived[pe], SHMEM_CMP_GE, turn);

        take(p, pe * p->block, (int)(word - turn), depth + 1);
    }
    shmem_quiet(); /* the outboxes may be filled again */
}

int main(void)
{
    struct part p;
    struct mail m;
    int depth = 0;

    shmem_init();
    gpu_open(shmemx_my_device(MAP_TYPE));
    cut(&p, shmem_n_pes(), shmem_my_pe());
    set_up(&p);
    m = mail_make(&p);
    int *n_out = (int *)calloc((size_t)p.n_processes, sizeof(int));

    for (; all_found > 0; depth++) {
        follow_edges(&p, depth, n_out);
        exchange(&p, &m, n_out, depth);
        mine_found = found(&p);
        shmem_int_sum_reduce(SHMEM_TEAM_WORLD, &all_found, &mine_found, 1);
    }

    sum_up(&p, mine);
    shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, total, mine, 2);
    if (shmem_my_pe() == 0)
        print_result(total, depth);
    free(n_out);
    mail_free(&m);
    tear_down(&p);
    shmem_finalize();
    return 0;
}
