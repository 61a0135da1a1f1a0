/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The check that every request from another PE passes: good ones pass, and each field with a value out of range is
 * caught, also where sums and products would overflow.
 */
#include "transport/staged/owner.h"

#include "bootstrap/job.h"
#include "unit.h"

#include <errno.h>

enum { CHUNK = 4096, SLOTS = 8, PES = 4 };

static struct shmemi_request good_put(void)
{
    return (struct shmemi_request){.job_key = {{77, 78}},
                                   .origin = 3,
                                   .region = 2,
                                   .offset = 100,
                                   .width = CHUNK,
                                   .rows = 1,
                                   .slot = SLOTS - 1,
                                   .type = SHMEMI_REQUEST_PUT};
}

static struct shmemi_request good_inline(void)
{
    struct shmemi_request request = good_put();
    request.slot = SHMEMI_SLOT_NONE;
    request.width = request.inline_size = SHMEMI_INLINE_MAX;
    return request;
}

static struct shmemi_request good_rows(void)
{
    struct shmemi_request request = good_put();
    request.type = SHMEMI_REQUEST_GET;
    request.rows = 64;
    request.width = request.pitch = CHUNK / 64;
    return request;
}

/* Two layers of two rows. */
static struct shmemi_request good_layers(void)
{
    struct shmemi_request request = good_put();
    request.rows = 4;
    request.width = request.pitch = CHUNK / 4;
    request.layer = 2;
    request.gap = 100;
    return request;
}

#define PASSES(_request) CHECK(shmemi_request_check(&(_request)) == 0)
#define CAUGHT(_make, _field, _value)                                                                                  \
    do {                                                                                                               \
        struct shmemi_request request_ = _make();                                                                      \
        request_._field = (_value);                                                                                    \
        CHECK(shmemi_request_check(&request_) == -EINVAL);                                                             \
    } while (0)

static void check_good(void)
{
    struct shmemi_request put = good_put(), in_line = good_inline(), rows = good_rows();
    PASSES(put);
    PASSES(in_line);
    PASSES(rows);
    CHECK(shmemi_request_payload_size(&rows) == CHUNK);
    rows.pitch = UINT32_MAX;
    PASSES(rows);
    put.offset = UINT64_MAX - CHUNK; /* in the address range, whether or not in the region */
    PASSES(put);
}

static void check_identity(void)
{
    CAUGHT(good_put, job_key.word[0], 78);
    CAUGHT(good_put, job_key.word[1], 77);
    CAUGHT(good_put, job_key.word[1], 78 ^ (uint64_t)1 << 63);
    CAUGHT(good_put, origin, PES);
    CAUGHT(good_put, origin, UINT32_MAX);
    CAUGHT(good_put, type, 0);
    CAUGHT(good_put, type, SHMEMI_REQUEST_PUT_SIGNAL + 1);
    CAUGHT(good_put, type, UINT8_MAX);
}

static void check_extent(void)
{
    CAUGHT(good_put, width, CHUNK + 1);
    CAUGHT(good_put, width, UINT64_MAX);
    CAUGHT(good_put, rows, 0);
    CAUGHT(good_put, rows, 2); /* twice the chunk, and a pitch of 0 */
    CAUGHT(good_put, offset, UINT64_MAX - CHUNK + 1);
    CAUGHT(good_rows, pitch, CHUNK / 64 - 1); /* rows that overlap */
    CAUGHT(good_rows, rows, 65);
    CAUGHT(good_rows, width, (uint64_t)1 << 58); /* times 64 is 0 */
    CAUGHT(good_rows, pitch, (uint64_t)1 << 60);
    CAUGHT(good_rows, pitch, UINT64_MAX);
}

/* A signal travels in the place of inline data. */
static void check_signal(void)
{
    struct shmemi_request request = good_put();
    request.type = SHMEMI_REQUEST_PUT_SIGNAL;
    PASSES(request);
    request = good_inline();
    request.type = SHMEMI_REQUEST_PUT_SIGNAL;
    CHECK(shmemi_request_check(&request) == -EINVAL);
}

static void check_layers(void)
{
    struct shmemi_request request = good_layers();
    PASSES(request);
    request.gap = 0;
    PASSES(request);
    CAUGHT(good_rows, gap, 1); /* between which layers? */
    CAUGHT(good_layers, layer, 1);
    CAUGHT(good_layers, layer, 3);
    CAUGHT(good_layers, layer, 4);
    CAUGHT(good_layers, layer, UINT64_MAX);
    CAUGHT(good_layers, rows, 3);
    CAUGHT(good_layers, gap, UINT64_MAX);
    CAUGHT(good_layers, gap, UINT64_MAX - CHUNK);
    CAUGHT(good_layers, offset, UINT64_MAX - CHUNK - 99);
}

static void check_slot(void)
{
    CAUGHT(good_put, slot, SLOTS);
    CAUGHT(good_put, slot, SHMEMI_SLOT_NONE - 1);
    CAUGHT(good_inline, width, SHMEMI_INLINE_MAX + 1);
    CAUGHT(good_inline, inline_size, SHMEMI_INLINE_MAX - 1);
    CAUGHT(good_inline, inline_size, UINT8_MAX);
    CAUGHT(good_inline, type, SHMEMI_REQUEST_GET); /* an answer has nowhere to go */
}

/* An atomic operation's word is what its operands say; an answer needs a slot. */
static void check_amo(void)
{
    struct shmemi_request request = good_put();
    request.type = SHMEMI_REQUEST_AMO;
    request.width = 8;
    request.u.amo.size = 8;
    PASSES(request);
    request.slot = SHMEMI_SLOT_NONE;
    PASSES(request);
    request.slot = SLOTS;
    CHECK(shmemi_request_check(&request) == -EINVAL);
}

/* Only puts with a slot can say that more of them comes; where the bytes are in the request itself, these stay whole. */
static void check_followed(void)
{
    static const uint8_t types[] = {SHMEMI_REQUEST_PUT, SHMEMI_REQUEST_PUT_SIGNAL, SHMEMI_REQUEST_GET,
                                    SHMEMI_REQUEST_AMO, SHMEMI_REQUEST_SCATTER};
    for (unsigned i = 0; i < sizeof types; i++) {
        struct shmemi_request request = good_put();
        request.type = types[i];
        CHECK(!shmemi_request_is_followed(&request));
        shmemi_request_announce_more(&request);
        CHECK(shmemi_request_is_followed(&request) == (i < 2));
    }
    struct shmemi_request request = good_inline();
    shmemi_request_announce_more(&request);
    CHECK(!shmemi_request_is_followed(&request) && !request.u.data[0]);
    request.u.data[0] = 1;
    CHECK(!shmemi_request_is_followed(&request));
}

int main(void)
{
    shmemi_job.key = (struct shmemi_key){{77, 78}};
    shmemi_job.n_pes = PES;
    shmemi_staging.chunk = CHUNK;
    shmemi_staging.slots = SLOTS;
    check_good();
    check_identity();
    check_extent();
    check_signal();
    check_layers();
    check_slot();
    check_followed();
    check_amo();
    return 0;
}
