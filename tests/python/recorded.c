/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two routines of the library that only note their arguments: loaded before it where there is no GPU, for
 * stream_arguments.py.
 */
#include <shmemx.h>

struct recorded {
    uint64_t dest, source, nbytes, sig, value, op, pe, cmp, stream, n_calls;
} recorded_last;

void shmemx_putmem_signal_on_stream(void *dest, const void *source, size_t nbytes, uint64_t *sig_addr, uint64_t signal,
                                    int sig_op, int pe, shmemx_stream_t stream)
{
    recorded_last =
        (struct recorded){(uintptr_t)dest,  (uintptr_t)source, nbytes, (uintptr_t)sig_addr, signal,
                          (uint64_t)sig_op, (uint64_t)pe,      0,      (uintptr_t)stream,   recorded_last.n_calls + 1};
}

void shmemx_signal_wait_until_on_stream(uint64_t *sig_addr, int cmp, uint64_t cmp_value, shmemx_stream_t stream)
{
    recorded_last = (struct recorded){.sig = (uintptr_t)sig_addr,
                                      .value = cmp_value,
                                      .cmp = (uint64_t)cmp,
                                      .stream = (uintptr_t)stream,
                                      .n_calls = recorded_last.n_calls + 1};
}
