/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages from the network without the job's key: of every kind, of every length, with a key that is wrong in one bit
 * or in all, they are refused as a stranger's, nothing is answered and nothing waits to be carried out. UCX is not
 * opened: its handlers are caught when they are set, and called as UCX would.
 */
#include "transport/ucx/ucx_internal.h"

#include "base/log.h"
#include "bootstrap/job.h"
#include "unit.h"

#include <string.h>

enum { KINDS = SHMEMI_UCX_AM_STORED + 1, HEADER_MAX = 512 };

static ucp_am_recv_callback_t handlers[KINDS];

int __wrap_shmemi_ucx_set_handler(ucp_worker_h worker, unsigned id, ucp_am_recv_callback_t handler);
ucs_status_ptr_t __wrap_ucp_am_send_nbx(ucp_ep_h endpoint, unsigned id, const void *header, size_t header_length,
                                        const void *data, size_t length, const ucp_request_param_t *param);

int __wrap_shmemi_ucx_set_handler(ucp_worker_h worker, unsigned id, ucp_am_recv_callback_t handler)
{
    (void)worker;
    CHECK(id < KINDS);
    handlers[id] = handler;
    return 0;
}

ucs_status_ptr_t __wrap_ucp_am_send_nbx(ucp_ep_h endpoint, unsigned id, const void *header, size_t header_length,
                                        const void *data, size_t length, const ucp_request_param_t *param)
{
    (void)endpoint, (void)id, (void)header, (void)header_length, (void)data, (void)length, (void)param;
    CHECK(!"a stranger gets no answer");
    return NULL;
}

/* A message of zeros behind its key, from a peer that could be answered. True if it was refused as a stranger's. */
static bool is_refused(unsigned id, struct shmemi_key key, size_t length, uint64_t attributes)
{
    static uint64_t header[HEADER_MAX / 8];
    const ucp_am_recv_param_t param = {.recv_attr = attributes, .reply_ep = NULL};
    unsigned long before = shmemi_foreign_messages();
    memcpy(header, &key, sizeof key);
    CHECK(handlers[id](NULL, header, length, NULL, 0, &param) == UCS_OK);
    return shmemi_foreign_messages() == before + 1;
}

static void check_kind(unsigned id)
{
    const struct shmemi_key key = shmemi_job.key;
    const struct shmemi_key wrong[] = {{{0, 0}},
                                       {{key.word[0] ^ 1, key.word[1]}},
                                       {{key.word[0], key.word[1] ^ (uint64_t)1 << 63}},
                                       {{key.word[1], key.word[0]}},
                                       {{~key.word[0], ~key.word[1]}}};
    unsigned n_known = 0;
    CHECK(handlers[id]);
    for (size_t length = 0; length <= HEADER_MAX; length++) {
        for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
            CHECK(is_refused(id, wrong[i], length, UCP_AM_RECV_ATTR_FIELD_REPLY_EP));
        n_known += !is_refused(id, key, length, 0); /* who has the key is damaged at most */
    }
    CHECK(n_known);
}

int main(void)
{
    shmemi_job.n_pes = shmemi_job.n_nodes = 2;
    CHECK(!shmemi_key_make(&shmemi_job.key));
    CHECK(!shmemi_ucx_request_open() && !shmemi_ucx_key_open() && !shmemi_ucx_store_open() && !shmemi_ucx_pulse_open());
    shmemi_log_hold(true); /* what is damaged is told each time */
    for (unsigned id = SHMEMI_UCX_AM_KEY_REQUEST; id < KINDS; id++)
        check_kind(id);
    CHECK(shmemi_ucx_request_deliver() == 0 && shmemi_ucx_request_pending() == 0);
    return 0;
}
