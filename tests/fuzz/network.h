/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A network in place of UCX, for fuzz_requests.c: what arrives, and when operations end, is up to the input. It also
 * checks how the library uses UCX: that data lands in a staging slot and fits, and that every message is released.
 */
#ifndef FUZZ_NETWORK_H
#define FUZZ_NETWORK_H

#include "fuzz.h"
#include "transport/ucx/ucx_internal.h"

/* Open the links, and expose all regions but the last. */
void network_open(char *const *region, const size_t *size, int n);
/* Before an input: nothing is under way, and the choices come from it. */
void network_reset(struct fuzz_input *input);

/* A message arrives. Takes the payload, which is from fuzz_memory. */
void network_deliver(struct fuzz_input *input, unsigned id, const void *header, size_t header_size, char *payload,
                     size_t size);
/* An answer to a request that this PE may have sent. */
void network_answer(struct fuzz_input *input);
/* network_stores.c: a peer's small put, which may write what is allowed by the function; small puts of this PE, and
 * answers to them; at the end none is left. */
void network_store(struct fuzz_input *input, void (*allow)(uint32_t region, uint64_t offset, uint64_t nbytes));
void network_stores(struct fuzz_input *input);
void network_check_stores(void);
/* A peer asks for a key; this PE asks for one, and answers arrive that may be right. */
void network_ask_key(struct fuzz_input *input);
void network_fetch_key(struct fuzz_input *input);

/* One of the operations under way ends. */
void network_complete(struct fuzz_input *input);

/* The end: all operations end, without a choice of the input, and no message is left. */
void network_lose_peers(void);
void network_complete_all(void);
void network_check_end(void);

#endif
