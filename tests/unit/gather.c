/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Keys and nodes made from gathered bytes. The rows of the other PEs are derived from those of this one.
 */
#include "bootstrap/bootstrap.h"

#include "base/log.h"
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { N_PES = 6, ME = 2, SIZE = 3000 };

/* The row of a simulated PE, derived from that of this PE. */
static void (*make_row)(int pe, unsigned char *row, size_t *size_p);
static int gather_status;

static int gather(const void *mine, size_t size, struct shmemi_gathered *all)
{
    size_t end = 0;
    if (gather_status)
        return gather_status;
    all->bytes = malloc(N_PES * size + 1);
    CHECK(all->bytes);
    for (int pe = 0; pe < N_PES; pe++) {
        size_t row_size = size;
        all->offsets[pe] = end;
        if (size)
            memcpy(all->bytes + end, mine, size);
        if (pe != ME)
            make_row(pe, all->bytes + end, &row_size);
        end += row_size;
    }
    all->offsets[N_PES] = end;
    return 0;
}

/* Even PEs on this PE's node, odd ones on another. */
static void two_nodes(int pe, unsigned char *row, size_t *size_p)
{
    (void)size_p;
    row[0] = (unsigned char)(row[0] + pe % 2);
}

static void one_too_short(int pe, unsigned char *row, size_t *size_p)
{
    (void)row;
    *size_p -= pe == 1;
}

/* PE 0 publishes nothing, PE 1 a row that is cut off, PE 3 other keys, PE 4 a record that claims to be huge. */
static void faulty_rows(int pe, unsigned char *row, size_t *size_p)
{
    const unsigned char huge[4] = {0xff, 0xff, 0xff, 0xff};
    if (pe == 0)
        *size_p = 0;
    else if (pe == 1)
        *size_p -= 1;
    else if (pe == 3)
        memset(row + 8, 'x', 1);
    else if (pe == 4)
        memcpy(row + 4, huge, sizeof huge);
}

static void check_nodes(void)
{
    static const int expected[N_PES] = {0, 1, 0, 1, 0, 1};
    int node_of[N_PES];
    make_row = two_nodes;
    CHECK(shmemi_gather_open(ME, N_PES, gather) == 0);
    CHECK(shmemi_gather_nodes(node_of) == 0);
    CHECK(!memcmp(node_of, expected, sizeof expected));
    shmemi_gather_close();
}

static void check_refusals(void)
{
    make_row = one_too_short;
    CHECK(shmemi_gather_open(ME, N_PES, gather) == -EPROTO);
    gather_status = -ETIMEDOUT;
    CHECK(shmemi_gather_open(ME, N_PES, gather) == -ETIMEDOUT);
    gather_status = 0;
}

static void expect_value(int pe, const char *key, const unsigned char *value, size_t size)
{
    unsigned char found[SIZE];
    size_t found_size = sizeof found;
    CHECK(shmemi_gather_get(pe, key, found, &found_size) == 0);
    CHECK(found_size == size && !memcmp(found, value, size));
}

static void expect_none(int pe, const char *key, size_t room)
{
    unsigned char found[SIZE];
    CHECK(shmemi_gather_get(pe, key, found, &room) == -EPROTO);
}

static void check_keys(void)
{
    unsigned char value[SIZE];
    for (int i = 0; i < SIZE; i++)
        value[i] = (unsigned char)(i * 7 + i / 256);
    make_row = two_nodes;
    CHECK(shmemi_gather_open(ME, N_PES, gather) == 0);
    expect_none(ME, "address", SIZE); /* before any fence */
    make_row = faulty_rows;
    CHECK(shmemi_gather_put("address", value, SIZE) == 0);
    expect_none(ME, "address", SIZE); /* before the fence */
    CHECK(shmemi_gather_fence() == 0);
    expect_value(ME, "address", value, SIZE);
    expect_value(5, "address", value, SIZE);
    expect_none(ME, "addres", SIZE);
    expect_none(ME, "address", SIZE - 1);
    for (int pe = 0; pe < N_PES; pe++)
        if (pe != ME && pe != 5)
            expect_none(pe, "address", SIZE);
    CHECK(shmemi_gather_put("more", value, 0) == 0);
    CHECK(shmemi_gather_put("most", value, 9) == 0);
    CHECK(shmemi_gather_fence() == 0);
    expect_value(ME, "address", value, SIZE);
    expect_value(ME, "more", value, 0);
    expect_value(5, "most", value, 9);
    gather_status = -EIO;
    CHECK(shmemi_gather_fence() == -EIO);
    expect_value(ME, "address", value, SIZE); /* a fence that fails removes nothing */
    gather_status = 0;
    shmemi_gather_close();
}

int main(void)
{
    shmemi_log_hold(true); /* the refusals are expected */
    check_nodes();
    check_refusals();
    check_keys();
    return 0;
}
