/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program that may make a call that the mode does not watch, if it has arguments.
 */
#include <shmem.h>
#include <shmemx.h>

static int word;

int main(int argc, char **argv)
{
    (void)argv;
    shmem_init();
    if (argc > 1)
        shmemx_putmem_on_queue(&word, &word, sizeof word, 0, NULL, 0, NULL, NULL);
    shmem_finalize();
    return 0;
}
