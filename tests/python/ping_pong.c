/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The calls that tensor_times.py makes from Python: put_signal and wait in a stream, between PEs 0 and 1 in turns.
 */
#include <shmemx.h>

void ping_pong(void *dest, const void *source, uint64_t *signal, size_t nbytes, uint64_t before, int rounds,
               void *stream);

void ping_pong(void *dest, const void *source, uint64_t *signal, size_t nbytes, uint64_t before, int rounds,
               void *stream)
{
    const int me = shmem_my_pe();
    for (uint64_t turn = before + 1; turn <= before + (uint64_t)rounds; turn++) {
        if (me == 0)
            shmemx_putmem_signal_on_stream(dest, source, nbytes, signal, turn, SHMEM_SIGNAL_SET, 1, stream);
        shmemx_signal_wait_until_on_stream(signal, SHMEM_CMP_GE, turn, stream);
        if (me == 1)
            shmemx_putmem_signal_on_stream(dest, source, nbytes, signal, turn, SHMEM_SIGNAL_SET, 0, stream);
    }
}
