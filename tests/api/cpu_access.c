/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Mistakes that concern mapped memory, one chosen by name, made by the last PE; cpu_access.test looks at what is said.
 * Ends with status 77 where a PE has no device. Usage: cpu_access CASE.
 */
#include "map_check.h"

#include <shmemx.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BYTES = 1000 };

static void end(int signal)
{
    (void)signal;
    _exit(5);
}

static struct sigaction before;

static void call_one_before(int signal, siginfo_t *info, void *context)
{
    before.sa_sigaction(signal, info, context);
}

/* The library ends and begins again, with a handler of the program above its own. */
static void chain_and_restart(void)
{
    struct sigaction ours = {.sa_sigaction = call_one_before, .sa_flags = SA_SIGINFO};
    sigemptyset(&ours.sa_mask);
    sigaction(SIGSEGV, &ours, &before);
    shmem_finalize();
    shmem_init();
}

int main(int argc, char **argv)
{
    static long word;
    const char *name = argc > 1 ? argv[1] : "";
    if (!strcmp(name, "handler"))
        signal(SIGSEGV, end);
    shmem_init();
    if (!strcmp(name, "chained"))
        chain_and_restart();
    if (!strcmp(name, "sent") && shmem_my_pe() == shmem_n_pes() - 1)
        raise(SIGSEGV); /* before OpenCL's driver, which may handle the signal as well */
    struct device *device = map_open_device(&device_opencl_ops);
    if (!device)
        _exit(77);
    void *object = device_alloc(device, BYTES);
    char *mapped = shmmap(object, BYTES, OSHM_MEMTYPE_OPENCL);
    if (!strcmp(name, "unmapped") || !strcmp(name, "put_unmapped"))
        shmumap(mapped);
    if (shmem_my_pe() == shmem_n_pes() - 1) {
        if (!strcmp(name, "elsewhere"))
            mapped = NULL;
        if (!strcmp(name, "put_unmapped"))
            shmem_long_p((long *)(void *)mapped, 1, 0);
        if (!strcmp(name, "put_to_buffer"))
            shmem_putmem(*(void **)object, &word, 8, 0);
        if (!strcmp(name, "put_anywhere")) /* where nothing can be read */
            shmem_long_p(mmap(NULL, sizeof word, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 0);
        mapped[24] = 1;
    }
    shmem_barrier_all();
    return 0;
}
