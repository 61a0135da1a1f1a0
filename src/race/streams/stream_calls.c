/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Wrappers of the transfers, signals and order on streams and queues.
 */
#include "race/streams/stream_calls.h"

#define WRAP(NAME, PARAMETERS, PASSED, ...) RACE_WRAP_ENQUEUED(void, , NAME, PARAMETERS, PASSED, __VA_ARGS__)

#define WRAP_COPY(NAME, HOW, ELEMENT, BYTES)                                                                           \
    WRAP(NAME, (ELEMENT * dest, const ELEMENT *source, size_t nelems, int pe, ), (dest, source, nelems, pe, ),         \
         .begin = race_begin_##HOW, .dest = dest, .source = source, .dest_size = nelems * (BYTES), .pe = pe)

#define WRAP_PUT_SIGNAL(NAME, ELEMENT, BYTES)                                                                          \
    WRAP(NAME,                                                                                                         \
         (ELEMENT * dest, const ELEMENT *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op,       \
          int pe, ),                                                                                                   \
         (dest, source, nelems, sig_addr, signal, sig_op, pe, ), .begin = race_begin_put_signal, .dest = dest,         \
         .source = source, .dest_size = nelems * (BYTES), .signal = sig_addr, .pe = pe)

#define WRAP_STRIDED(NAME, HOW, ELEMENT, BYTES)                                                                        \
    WRAP(NAME, (ELEMENT * dest, const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe, ),         \
         (dest, source, dst, sst, nelems, pe, ), .begin = race_begin_##HOW##_blocks, .dest = dest, .source = source,   \
         .dest_size = (BYTES), .n = nelems, .dest_stride = dst * (ptrdiff_t)(BYTES),                                   \
         .source_stride = sst * (ptrdiff_t)(BYTES), .pe = pe)

#define WRAP_TRANSFERS(PUT, GET, IPUT, IGET, ELEMENT, BYTES)                                                           \
    WRAP_COPY(PUT, put, ELEMENT, BYTES)                                                                                \
    WRAP_COPY(GET, get, ELEMENT, BYTES)                                                                                \
    WRAP_PUT_SIGNAL(PUT##_signal, ELEMENT, BYTES)                                                                      \
    WRAP_STRIDED(IPUT, put, ELEMENT, BYTES)                                                                            \
    WRAP_STRIDED(IGET, get, ELEMENT, BYTES)

/* p passes a value, g gets into dest. */
#define WRAP_TYPE(NAME, TYPE, ...)                                                                                     \
    WRAP_TRANSFERS(NAME##_put, NAME##_get, NAME##_iput, NAME##_iget, TYPE, sizeof(TYPE))                               \
    WRAP(NAME##_p, (TYPE * dest, TYPE value, int pe, ), (dest, value, pe, ), .begin = race_begin_put, .dest = dest,    \
         .dest_size = sizeof *dest, .pe = pe)                                                                          \
    WRAP(NAME##_g, (TYPE * dest, const TYPE *source, int pe, ), (dest, source, pe, ), .begin = race_begin_get,         \
         .dest = dest, .source = source, .dest_size = sizeof *dest, .pe = pe)
#define WRAP_SIZE(BITS, BYTES, ...) WRAP_TRANSFERS(put##BITS, get##BITS, iput##BITS, iget##BITS, void, BYTES)

SHMEMI_FOR_RMA_TYPES(WRAP_TYPE, )
SHMEMI_FOR_SIZES(WRAP_SIZE, )
WRAP_COPY(putmem, put, void, 1)
WRAP_COPY(getmem, get, void, 1)
WRAP_PUT_SIGNAL(putmem_signal, void, 1)

/* ---- signals and order ------------------------------------------------------------------------------------------- */

WRAP(signal_op, (uint64_t * sig_addr, uint64_t signal, int sig_op, int pe, ), (sig_addr, signal, sig_op, pe, ),
     .begin = race_begin_put_signal, .signal = sig_addr, .pe = pe)
WRAP(signal_wait_until, (uint64_t * sig_addr, int cmp, uint64_t cmp_value, ), (sig_addr, cmp, cmp_value, ),
     .end = race_end_wait, .source = sig_addr, .source_size = sizeof *sig_addr, .n = 1)
WRAP(signal_wait_until_set, (uint64_t * sig_addr, int cmp, uint64_t cmp_value, uint64_t new_value, ),
     (sig_addr, cmp, cmp_value, new_value, ), .begin = race_begin_wait, .end = race_end_wait, .source = sig_addr,
     .source_size = sizeof *sig_addr, .n = 1, .signal = sig_addr)
WRAP(signal_fetch, (uint64_t * fetch, const uint64_t *sig_addr, ), (fetch, sig_addr, ), .begin = race_begin_fetch,
     .end = race_end_fetch, .dest = fetch, .dest_size = sizeof *fetch, .source = sig_addr,
     .source_size = sizeof *sig_addr, .pe = race.pe)
WRAP(quiet, (), (), .end = race_end_quiet)
WRAP(fence, (), (), .end = race_end_quiet)
