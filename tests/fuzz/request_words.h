/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The words of requests that fuzz_requests makes: of atomic operations, and signals.
 */
#ifndef FUZZ_REQUEST_WORDS_H
#define FUZZ_REQUEST_WORDS_H

#include "fuzz.h"
#include "gpu/list_entry.h"
#include "transport/request.h"

#include <string.h>

static inline void request_make_amo(struct fuzz_input *input, struct shmemi_request *request)
{
    request->u.amo.op = (uint32_t)fuzz_below(input, 14);
    request->u.amo.size = fuzz_byte(input) & 1 ? 8 : 4;
    if (fuzz_byte(input) >= 240)
        request->u.amo.size = (uint32_t)fuzz_number(input);
    request->u.amo.operand = fuzz_word(input);
    request->u.amo.compare = fuzz_number(input);
    uint8_t odd = fuzz_byte(input);
    request->width = odd >= 248 ? fuzz_number(input) : odd >= 208 ? 12 - request->u.amo.size : request->u.amo.size;
}

/* By bytes that a put with a slot does not need. */
static inline void request_make_signal(struct shmemi_request *request, uint32_t regions)
{
    uint8_t byte[8];
    memcpy(byte, request->u.data, sizeof byte);
    request->type = SHMEMI_REQUEST_PUT_SIGNAL;
    request->u.signal.region = byte[1] % (regions + 1);
    request->u.signal.offset = byte[2] < 240 ? byte[2] % 64 * (uint64_t)8 : byte[3];
    request->u.signal.value = byte[4];
    request->u.signal.op = byte[5] < 240 ? SHMEMI_AMO_SET + byte[5] % 2 : byte[5];
    request->u.signal.serial = byte[6] % 4;
    request->u.signal.parts = byte[7] < 240 ? byte[7] % 3 : byte[7];
}

#endif
