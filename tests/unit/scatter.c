/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the owner of GPU memory takes a batch of small puts apart where kernels may fill the GPU: words are stored, longer
 * pieces copied, and rows with gaps are a copy of their own only if there are many. The GPU is made up.
 */
#include "transport/staged/scatter.h"

#include "transport/staged/owner.h"
#include "unit.h"

#include <errno.h>
#include <string.h>

enum { BYTES = 8192 };

static struct {
    _Alignas(16) char memory[BYTES];
    int n_channels, n_open, n_stores, n_copies, n_waits; /* of channels */
    int n_blocking;
    bool refuses_words;
} device;

static int copy(const struct shmemi_place *dest, const struct shmemi_place *source, const struct shmemi_shape *shape)
{
    for (size_t i = 0; i < shape->rows; i++)
        memcpy((char *)dest->address + i * shape->dest_pitch, (char *)source->address + i * shape->source_pitch,
               shape->width);
    device.n_blocking++;
    return 0;
}

static const struct shmemi_memory kind;
static int channel_open(const struct shmemi_place *place, struct shmemi_channel *channel_p)
{
    CHECK(place->object == &device);
    *channel_p = (struct shmemi_channel){.memory = &kind, .object = place->object};
    device.n_channels++;
    device.n_open++;
    return 0;
}

static int channel_copy(const struct shmemi_channel *channel, const struct shmemi_place *dest,
                        const struct shmemi_place *source, size_t nbytes)
{
    (void)channel;
    memcpy((void *)dest->address, (const void *)source->address, nbytes);
    device.n_copies++;
    return 0;
}

static int channel_store(struct shmemi_channel *channel, const struct shmemi_place *dest, const void *word,
                         size_t nbytes)
{
    (void)channel;
    if (device.refuses_words || (nbytes != 4 && nbytes != 8))
        return -ENOTSUP;
    memcpy((void *)dest->address, word, nbytes);
    device.n_stores++;
    return 0;
}

static int channel_wait(const struct shmemi_channel *channel)
{
    (void)channel;
    device.n_waits++;
    return 0;
}

static void channel_close(struct shmemi_channel *channel)
{
    (void)channel;
    device.n_open--;
}

static const struct shmemi_channels channels = {channel_open, channel_copy, channel_store, channel_wait, channel_close};
static const struct shmemi_memory kind = {.name = "made up", .copy = copy, .channels = &channels};

static int resolve(uint32_t region, uint64_t offset, uint64_t nbytes, struct shmemi_place *place_p)
{
    if (region != 1 || offset > BYTES || nbytes > BYTES - offset)
        return -EINVAL;
    *place_p = (struct shmemi_place){
        .memory = &kind, .object = &device, .address = (uintptr_t)device.memory + (uintptr_t)offset};
    return 0;
}

static void release(void)
{
}

/* ---- Batches ----------------------------------------------------------------------------------------------------- */

static struct {
    size_t size;
    _Alignas(8) char bytes[BYTES];
} payload;

static void add(const void *bytes, size_t nbytes)
{
    memcpy(payload.bytes + payload.size, bytes, nbytes);
    payload.size += (nbytes + 7) / 8 * 8;
}

/* A record of rows, the bytes of which tell the row. */
static void add_rows(uint64_t offset, uint16_t nbytes, uint16_t rows, uint64_t pitch)
{
    const struct {
        uint64_t offset;
        uint32_t region;
        uint16_t nbytes, more_rows;
    } record = {offset, 1, nbytes, (uint16_t)(rows - 1)};
    char bytes[2048];
    add(&record, sizeof record);
    if (rows > 1)
        add(&pitch, sizeof pitch);
    for (int i = 0; i < rows; i++)
        memset(bytes + i * nbytes, 'a' + i % 26, nbytes);
    add(bytes, (size_t)nbytes * rows);
}

static void scatter(void)
{
    const struct shmemi_request request = {.width = payload.size};
    memset(&device, 0, offsetof(__typeof__(device), refuses_words));
    CHECK(!shmemi_scatter(&request, payload.bytes));
    CHECK(!device.n_open && device.n_waits == device.n_channels);
    payload.size = 0;
}

static void expect_rows(uint64_t offset, uint16_t nbytes, uint16_t rows, uint64_t pitch)
{
    for (uint64_t at = 0; at < pitch * (rows - 1u) + nbytes; at++) {
        const char expected = at % pitch < nbytes ? (char)('a' + at / pitch % 26) : '\0';
        CHECK(device.memory[offset + at] == expected);
    }
}

static void check_words(void)
{
    add_rows(8, 8, 1, 0);
    add_rows(64, 4, 2, 1000); /* any two puts of one length, one behind the other */
    add_rows(2048, 8, 3, 16);
    scatter();
    CHECK(device.n_stores == 6 && !device.n_copies && !device.n_blocking && device.n_channels == 1);
    expect_rows(8, 8, 1, 8);
    expect_rows(64, 4, 2, 1000);
    expect_rows(2048, 8, 3, 16);
}

static void check_pieces(void)
{
    add_rows(0, 8, 32, 8); /* side by side */
    add_rows(512, 100, 1, 0);
    add_rows(1024, 100, 3, 200);
    scatter();
    CHECK(!device.n_stores && device.n_copies == 5 && !device.n_blocking && device.n_channels == 1);
    expect_rows(0, 8, 32, 8);
    expect_rows(512, 100, 1, 100);
    expect_rows(1024, 100, 3, 200);
}

static void check_many_rows(void)
{
    add_rows(0, 8, 100, 16);
    scatter();
    CHECK(device.n_blocking == 1 && !device.n_stores && !device.n_channels);
    expect_rows(0, 8, 100, 16);
}

static void check_refused_words(void)
{
    device.refuses_words = true;
    add_rows(8, 8, 2, 800);
    scatter();
    CHECK(device.n_copies == 2 && !device.n_stores && !device.n_blocking);
    expect_rows(8, 8, 2, 800);
}

int main(void)
{
    static const struct shmemi_resolver resolver = {resolve, release};
    shmemi_arrivals_open(&resolver);
    atomic_store(&shmemi_memory_kernels_wait, true);
    check_words();
    check_pieces();
    check_many_rows();
    check_refused_words();
    return 0;
}
