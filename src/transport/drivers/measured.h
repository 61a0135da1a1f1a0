/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Drivers that measure. With SHMEM_TRACE or SHMEM_STATS every view gets one in front of its real driver, and
 * view->mapped stays NULL, so that the fast paths of the API are not taken and every transfer passes through here.
 */
#ifndef SHMEMI_MEASURED_H
#define SHMEMI_MEASURED_H

#include "base/likely.h"
#include "instrument/measure.h"
#include "transport/driver.h"

/* The measuring driver in front of `real`, which has this number in the table of drivers; `real` itself when nothing is
 * measured. */
const struct shmemi_driver *shmemi_measured_driver(const struct shmemi_driver *real, unsigned number);

/* Around the enqueueing of a transfer in a stream of the program; begin: 0 when nothing is measured. */
static inline uint64_t shmemi_measure_begin(void)
{
    return shmemi_unlikely(shmemi_measure.is_on) ? shmemi_clock() : 0;
}
void shmemi_measure_enqueued(const struct shmemi_view *view, size_t offset, size_t nbytes, uint64_t begin);

#endif
