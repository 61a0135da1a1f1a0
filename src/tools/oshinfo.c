/* SPDX-License-Identifier: BSD-3-Clause
 *
 * oshinfo: what this build of MapSHMEM has, all settings, and, under oshrun, the routes between the PEs.
 */
#include "base/settings.h"
#include "shmem/shmemx.h"

#include <stdio.h>

#include "config.h"

int main(void)
{
    printf("%s\n", PACKAGE_STRING);
    shmemi_settings_print(stdout);
    return 0;
}
