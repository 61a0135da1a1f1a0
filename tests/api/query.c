/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Queries: number and count of PEs, what is accessible, shmem_ptr, version and name, the team of all PEs.
 */
#include "check.h"

#include <shmemx.h>
#include <stdbool.h>

static long static_word;
static const long constant = 5;

static void check_numbers(void)
{
    int me = shmem_my_pe(), n = shmem_n_pes(), initialized = 0;
    long seen = 0;
    CHECK(me >= 0 && me < n);
    CHECK(shmem_team_my_pe(SHMEM_TEAM_WORLD) == me && shmem_team_n_pes(SHMEM_TEAM_WORLD) == n);
    CHECK(shmem_team_my_pe(SHMEM_TEAM_INVALID) == -1 && shmem_team_n_pes(SHMEM_TEAM_INVALID) == -1);
    shmem_query_initialized(&initialized);
    CHECK(initialized);
    /* every number occurs once */
    shmem_long_atomic_add(&static_word, 1L << (me % 60), 0);
    shmem_barrier_all();
    seen = shmem_long_g(&static_word, 0);
    CHECK_THAT(n > 60 || seen == (1L << n) - 1, "the PEs that answered are %#lx", seen);
    shmem_barrier_all();
}

static void check_info(void)
{
    char name[SHMEM_MAX_NAME_LEN];
    int major = 0, minor = 0;
    shmem_info_get_version(&major, &minor);
    CHECK(major == SHMEM_MAJOR_VERSION && minor == SHMEM_MINOR_VERSION);
    memset(name, 1, sizeof name);
    shmem_info_get_name(name);
    CHECK(!strcmp(name, SHMEM_VENDOR_STRING));
}

static void check_accessible(const char *what, const void *address, bool expected)
{
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        CHECK_THAT(!!shmem_addr_accessible(address, pe) == expected, "shmem_addr_accessible(%s, %d) is %d", what, pe,
                   shmem_addr_accessible(address, pe));
    CHECK(!shmem_addr_accessible(address, -1) && !shmem_addr_accessible(address, shmem_n_pes()));
}

static void check_addresses(char *block, size_t nbytes)
{
    long on_stack = 0;
    char *private = check_malloc(100);
    check_accessible("heap", block, true);
    check_accessible("end of a heap block", block + nbytes - 1, true);
    check_accessible("static data", &static_word, true);
    check_accessible("stack", &on_stack, false);
    check_accessible("malloc", private, false);
    check_accessible("code", (const void *)(uintptr_t)check_addresses, false);
    check_accessible("constant", &constant, false);
    check_accessible("NULL", NULL, false);
    free(private);
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        CHECK(shmem_pe_accessible(pe));
    CHECK(!shmem_pe_accessible(-1) && !shmem_pe_accessible(shmem_n_pes()));
}

/* Through the pointer, loads and stores reach the same memory that put and get do. */
static void check_pointer(long *word, int pe)
{
    long *direct = shmem_ptr(word, pe);
    if (!direct)
        return;
    long value = 1000L * (shmem_my_pe() + 1) + pe;
    shmem_long_p(word, value, pe);
    shmem_quiet();
    CHECK_THAT(*direct == value, "shmem_ptr for PE %d: found %ld, expected %ld", pe, *direct, value);
    *direct = value + 1;
    CHECK(shmem_long_g(word, pe) == value + 1);
}

static void check_pointers(long *word)
{
    int me = shmem_my_pe();
    CHECK_THAT(shmem_ptr(word, me) == word, "shmem_ptr of this PE's own heap is not the address itself");
    CHECK_THAT(shmem_ptr(&static_word, me) == &static_word, "shmem_ptr of this PE's own static data is not itself");
    CHECK(!shmem_ptr(&me, me) && !shmem_ptr(word, shmem_n_pes()) && !shmem_ptr(word, -1));
    for (int round = 0; round < shmem_n_pes(); round++) {
        check_pointer(word, check_target(round));
        check_pointer(&static_word, check_target(round));
        shmem_barrier_all();
    }
}

static void check_routes(const long *word)
{
    for (int pe = 0; pe < shmem_n_pes(); pe++) {
        CHECK(shmemx_route(word, pe) && shmemx_route(&static_word, pe));
        CHECK_THAT(!shmem_ptr(word, pe) == !!strcmp(shmemx_route(word, pe), "shm"),
                   "the route to PE %d is %s, but shmem_ptr gives %p", pe, shmemx_route(word, pe), shmem_ptr(word, pe));
    }
}

int main(void)
{
    int initialized = 1;
    shmem_query_initialized(&initialized);
    if (initialized) {
        fprintf(stderr, "shmem_query_initialized says yes before shmem_init\n");
        return 1;
    }
    shmem_init();
    enum { BYTES = 1000 };
    char *block = check_shmem_malloc(BYTES);
    check_numbers();
    check_info();
    check_addresses(block, BYTES);
    check_pointers((long *)block);
    check_routes((long *)block);
    shmem_free(block);
    CHECK(!strcmp(shmemx_strerror(), ""));
    check_end();
    shmem_query_initialized(&initialized);
    return initialized;
}
