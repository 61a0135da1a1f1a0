/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What life.c does until the job is ended, by the calls of kernels, which are played on the CPU.
 */
#include <shmemx_device.h>

int main()
{
    enum { WORDS = 512 };
    static long local[WORDS];
    const shmemx_device_thread_t alone = shmemx_device_thread_t();
    shmem_init();
    const int next = (shmem_my_pe() + 1) % shmem_n_pes();
    long *words = static_cast<long *>(shmem_calloc(2 * WORDS, sizeof *words));
    unsigned long *signal = static_cast<unsigned long *>(shmem_calloc(1, sizeof *signal));
    shmemx_device_view_t view, signals;
    if (shmemx_device_view(words, &view) || shmemx_device_view(signal, &signals))
        shmem_global_exit(1);
    shmem_barrier_all();
    for (unsigned long turn = 1;; turn++) {
        shmemx_device_put(alone, view, words, local, WORDS, next);
        shmemx_device_get(alone, view, local, words, WORDS, next);
        shmemx_device_atomic_add(view, words + 1, 1l, next);
        shmemx_device_quiet(alone, view);
        shmemx_device_signal_set(signals, signal, turn, next);
        shmemx_device_quiet(alone, signals);
        shmemx_device_signal_wait_until(alone, signals, signal, SHMEM_CMP_GE, turn);
    }
}
