/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For measure.test: a kernel of PE 0 waits for a signal, which a kernel of PE 1 sends three seconds late.
 */
#include <shmemx_device.h>

#include <unistd.h>

int main()
{
    shmem_init();
    unsigned long *signal = static_cast<unsigned long *>(shmem_calloc(1, sizeof *signal));
    shmemx_device_view_t view;
    if (shmemx_device_view(signal, &view))
        shmem_global_exit(1);
    shmem_barrier_all();
    if (shmem_my_pe() == 0)
        shmemx_device_signal_wait_until(shmemx_device_thread_t(), view, signal, SHMEM_CMP_EQ, 5ul);
    if (shmem_my_pe() == 1) {
        sleep(3);
        shmemx_device_signal_set(view, signal, 5ul, 0);
        shmemx_device_quiet(shmemx_device_thread_t(), view);
    }
    shmem_barrier_all();
    shmem_finalize();
}
