/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Puts with a signal that come in several requests: the signal is due after the last, in whichever order they come.
 */
#include "transport/staged/parts.h"

#include "unit.h"

static struct shmemi_request part(uint32_t origin, uint32_t serial, uint32_t parts)
{
    struct shmemi_request request = {.origin = origin, .type = SHMEMI_REQUEST_PUT_SIGNAL};
    request.u.signal.serial = serial;
    request.u.signal.parts = parts;
    return request;
}

static bool is_due(uint32_t origin, uint32_t serial, uint32_t parts)
{
    const struct shmemi_request request = part(origin, serial, parts);
    return shmemi_parts_are_complete(&request, false);
}

static bool is_due_after_failure(uint32_t origin, uint32_t serial, uint32_t parts)
{
    const struct shmemi_request request = part(origin, serial, parts);
    return shmemi_parts_are_complete(&request, true);
}

static void check_single(void)
{
    CHECK(is_due(0, 7, 0));
    CHECK(is_due(0, 7, 1));
    CHECK(!is_due_after_failure(0, 7, 1));
    CHECK(shmemi_parts_open() == 0);
}

static void check_mixed(void)
{
    CHECK(!is_due(0, 7, 3));
    CHECK(!is_due(1, 7, 2)); /* the same number, of another PE */
    CHECK(!is_due(0, 8, 2));
    CHECK(!is_due(0, 7, 3));
    CHECK(shmemi_parts_open() == 3);
    CHECK(is_due(0, 8, 2));
    CHECK(is_due(0, 7, 3));
    CHECK(is_due(1, 7, 2));
    CHECK(shmemi_parts_open() == 0);
}

static void check_failure(void)
{
    CHECK(!is_due(0, 7, 3));
    CHECK(!is_due_after_failure(0, 7, 3));
    CHECK(!is_due(0, 7, 3));
    CHECK(shmemi_parts_open() == 0);
    CHECK(!is_due(0, 7, 2)); /* nothing is left of the failure */
    CHECK(is_due(0, 7, 2));
}

static void check_close(void)
{
    CHECK(!is_due(2, 1, 5));
    CHECK(!is_due(2, 2, UINT32_MAX));
    shmemi_parts_close();
    CHECK(shmemi_parts_open() == 0);
}

int main(void)
{
    check_single();
    check_mixed();
    check_failure();
    check_close();
    return 0;
}
