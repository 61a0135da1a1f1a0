/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Deprecated place of the header [annex F]. */
#include <shmemx.h>
