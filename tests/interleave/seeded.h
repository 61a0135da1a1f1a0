/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rounds of a protocol in which each thread sleeps here and there between two steps: where, and for how long, follows
 * from the round's seed and the thread's number.
 */
#ifndef SEEDED_H
#define SEEDED_H

#include <stdint.h>

/* Begin a round. Threads that live through several rounds keep their numbers. */
void seeded_begin(unsigned seed);

/* Of several processes that take part this is number `number`: their threads differ. Before their first step. */
void seeded_process(unsigned number);

/* A number below `most`, the next of the calling thread in this round. */
unsigned seeded_number(unsigned most);

/* What every program does: "PROGRAM [FIRST [N]]" runs N rounds, from seed FIRST on (1, 20). A round that does not end
 * within a minute hangs: the program says so with the seed, and ends. */
int seeded_main(int argc, char **argv, void (*round)(unsigned seed));

/* The same for a program that has a loop of its own. */
void seeded_watch(unsigned seed);

#endif
