/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Between two steps of a protocol in which threads or PEs wake each other, hand something over or count: another one may
 * come here. A thread hardly ever loses its core just there, so tests/interleave builds the files with such steps once
 * more, and lets it sleep. In the library the function is empty.
 */
#ifndef SHMEMI_INTERLEAVE_H
#define SHMEMI_INTERLEAVE_H

#ifdef SHMEMI_INTERLEAVED
void shmemi_interleave(void); /* tests/interleave/seeded.c */
#else
static inline void shmemi_interleave(void)
{
}
#endif

#endif
