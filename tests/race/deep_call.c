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
        (void)shmemx_put_deep(&word, sizeof word, &word, NULL, 1, 0);
    shmem_finalize();
    return 0;
}
