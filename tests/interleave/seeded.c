/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads that sleep between the steps of a protocol, as base/wake/interleave.h has them.
 */
#include "tests/interleave/seeded.h"

#include "base/wake/interleave.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    PATIENCE = 60, /* seconds; a round takes some milliseconds */
    SHORT_NS = 1,  /* the kernel adds 50 microseconds */
    LONG_NS = 1000000,
};

static atomic_uint round_seed, n_rounds, n_threads;

static _Thread_local struct {
    unsigned number, round;
    uint64_t state;
} self;

/* splitmix64: close seeds give unrelated numbers. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

void seeded_begin(unsigned seed)
{
    atomic_store(&round_seed, seed);
    atomic_fetch_add(&n_rounds, 1);
}

void seeded_process(unsigned number)
{
    enum { THREADS_MOST = 1000 };
    atomic_store(&n_threads, number * THREADS_MOST);
}

static uint64_t next(void)
{
    if (!self.number)
        self.number = atomic_fetch_add(&n_threads, 1) + 1;
    if (self.round != atomic_load(&n_rounds)) {
        self.round = atomic_load(&n_rounds);
        self.state = mix((uint64_t)atomic_load(&round_seed) << 32 | self.number);
    }
    return self.state = mix(self.state);
}

unsigned seeded_number(unsigned most)
{
    return (unsigned)(next() % most);
}

/* In each round some places are favoured: there threads sleep often, and long. How often elsewhere differs from round to
 * round: where all sleep all the time, nobody is ever late. */
void shmemi_interleave(void)
{
    const uint64_t place = (uintptr_t)__builtin_return_address(0) - (uintptr_t)&seeded_begin;
    const unsigned seed = atomic_load(&round_seed), rarely[] = {2, 8, 32, 128};
    const uint64_t number = next();
    const int is_favoured = mix(place << 32 | seed) % 8 == 0;
    struct timespec nap = {.tv_nsec = SHORT_NS};
    if (number % (is_favoured ? 2 : rarely[seed % 4]))
        return;
    if (number >> 32 & 1 && (is_favoured || !(number >> 33 & 7)))
        nap.tv_nsec = (long)(number >> 40) % LONG_NS;
    nanosleep(&nap, NULL);
}

/* ---- The program ------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t watched;

static void on_alarm(int signal)
{
    char text[] = "seed            hangs\n";
    (void)signal;
    long left = watched;
    for (char *digit = text + 14; digit > text + 4 && (left || digit == text + 14); left /= 10)
        *digit-- = (char)('0' + left % 10);
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored;
    abort(); /* a core, or a debugger, shows where */
}

void seeded_watch(unsigned seed)
{
    watched = (sig_atomic_t)seed;
    signal(SIGALRM, on_alarm);
    alarm(PATIENCE);
}

int seeded_main(int argc, char **argv, void (*round)(unsigned seed))
{
    const unsigned first = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1;
    const unsigned n = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 20;
    for (unsigned seed = first; seed - first < n; seed++) {
        seeded_watch(seed);
        seeded_begin(seed);
        round(seed);
    }
    alarm(0);
    printf("%u rounds from seed %u on: right\n", n, first);
    return 0;
}
