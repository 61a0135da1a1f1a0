/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests, answers and keys from hostile PEs, through the ring of the node and through a network of our own in place of
 * UCX. Each is refused, or touches what it may touch and nothing else: the rows that it names in a region, the answer's
 * slot. Guards lie around the regions, and everything is compared with what was there before.
 */
#include "fuzz.h"

#include "base/log.h"
#include "bootstrap/job.h"
#include "transport/node.h"
#include "transport/service.h"
#include "transport/staged/owner.h"
#include "transport/staged/parts.h"
#include "network.h"
#include "records.h"
#include "request_rows.h"
#include "request_words.h"

#include <errno.h>
#include <stdbool.h>

/* This is PE 1. PE 0 is on its node; PEs 2 and 3 are on another one. */
enum { PES = 4, ME = 1, CHUNK = 1024, SLOTS = 4, STAGING = 2 * SLOTS * CHUNK, GUARD = 512, REGIONS = 4, SLOW = 3 };
static const size_t region_size[REGIONS] = {4096, 1001, 2048, 3000};

static char arena[16384], before[sizeof arena];
static bool may_change[sizeof arena];
static char *region[REGIONS];
static char *segment;
static size_t segment_size;
static int borrowed; /* regions that a request has found and not given back */

/* ---- Symmetric memory -------------------------------------------------------------------------------------------- */

static struct shmemi_memory slow_memory; /* its copies end when the input says so, as those of a GPU do */
static struct fuzz_input *present_input;

static int slow_start(const struct shmemi_place *dest, const struct shmemi_place *source,
                      const struct shmemi_shape *shape, struct shmemi_event *event_p)
{
    int rc = shmemi_memory_host.copy(dest, source, shape);
    *event_p = (struct shmemi_event){.memory = &slow_memory};
    return rc;
}

static int slow_test(struct shmemi_event *event)
{
    (void)event;
    uint8_t what = fuzz_byte(present_input);
    return what >= 128 ? -EAGAIN : what == 127 ? -EIO : 0;
}

static int slow_amo(const struct shmemi_place *place, const struct shmemi_amo *amo, uint64_t *old_p)
{
    (void)place, (void)amo, (void)old_p;
    return -ENOTSUP;
}

static int resolve(uint32_t number, uint64_t offset, uint64_t nbytes, struct shmemi_place *place_p)
{
    if (number >= REGIONS || offset > region_size[number] || nbytes > region_size[number] - offset)
        return -EINVAL;
    *place_p = shmemi_place_host(region[number] + offset);
    if (number == SLOW)
        place_p->memory = &slow_memory;
    borrowed++;
    return 0;
}

static void release(void)
{
    borrowed--;
}

static const struct shmemi_resolver resolver = {resolve, release};

/* ---- What a request may change ----------------------------------------------------------------------------------- */

static void allow(uint32_t number, uint64_t offset, uint64_t nbytes)
{
    if (number < REGIONS && offset <= region_size[number] && nbytes <= region_size[number] - offset)
        memset(may_change + (region[number] - arena) + offset, true, nbytes);
}

/* All rows, if all of them are in the region. */
static void allow_rows(const struct shmemi_request *request)
{
    uint64_t reach;
    if (request->region >= REGIONS || !request->rows || request->rows > CHUNK || request->width > CHUNK ||
        !find_reach(request, region_size[request->region], &reach) ||
        request->offset > region_size[request->region] - reach)
        return;
    for (uint64_t row = 0; row < request->rows; row++)
        allow(request->region, request->offset + row_at(request, row), request->width);
}

/* Are all rows in the region? */
static bool is_inside(const struct record *record, uint64_t pitch)
{
    if (record->region >= REGIONS || record->offset > region_size[record->region])
        return false;
    const size_t room = region_size[record->region] - record->offset;
    return record->nbytes <= room && (!record->more_rows || pitch <= (room - record->nbytes) / record->more_rows);
}

static bool next_record(const char *payload, size_t size, size_t *at_p, struct record *record, uint64_t *pitch_p)
{
    return record_parse(payload, size, at_p, record, pitch_p) && is_inside(record, *pitch_p);
}

/* A batch takes effect as a whole, or not at all. That of a neighbour lies in memory of its own, where its other
 * requests may change it meanwhile. */
static void allow_records(const char *payload, size_t size, bool is_private)
{
    struct record record;
    uint64_t pitch;
    size_t end = 0, at = 0;
    while (next_record(payload, size, &end, &record, &pitch))
        continue;
    while ((end == size || !is_private) && next_record(payload, size, &at, &record, &pitch))
        for (uint64_t row = 0; row <= record.more_rows; row++)
            allow(record.region, record.offset + row * pitch, record.nbytes);
}

static void allow_request(const struct shmemi_request *request, const char *payload, size_t size, bool is_private)
{
    if (request->type != SHMEMI_REQUEST_GET && request->type != SHMEMI_REQUEST_SCATTER)
        allow_rows(request);
    if (request->type == SHMEMI_REQUEST_PUT_SIGNAL)
        allow(request->u.signal.region, request->u.signal.offset, sizeof request->u.signal.value);
    if (request->type == SHMEMI_REQUEST_SCATTER)
        allow_records(payload, size, is_private);
}

/* The neighbour's slots: only its own requests change them. */
static bool slot_may_change[2 * SLOTS];

static char slot_byte(size_t at)
{
    return (char)(at * 7 + at / 256);
}

/* Who answers requests of this PE's slots in this input. A neighbour that settles slots which wait for the network, as
 * it can by writing into the node's memory, would only spoil the count of answers. */
static enum { NOBODY, NEIGHBOUR, NETWORK } answers[SLOTS];

static void check_slots(void)
{
    for (size_t at = 0; at < STAGING; at++)
        ALWAYS(slot_may_change[at / CHUNK] || shmemi_node_staging(0)[at] == slot_byte(at));
}

static void check_regions(void)
{
    for (int i = 0; i < REGIONS; i++)
        for (size_t at = 0; at < region_size[i]; at++) {
            size_t place = (size_t)(region[i] - arena) + at;
            ALWAYS(may_change[place] || arena[place] == before[place]);
        }
}

/* ---- The node ---------------------------------------------------------------------------------------------------- */

static void open_node(void)
{
    static const int node_of[PES] = {0, 0, 1, 1}, node_pes[] = {0, 1}, leaders[] = {0, 2};
    size_t control = sizeof(struct shmemi_node_header) + 2 * sizeof(struct shmemi_control);
    shmemi_job.pe = ME;
    shmemi_job.n_pes = PES;
    shmemi_job.n_nodes = 2;
    shmemi_job.node_rank = 1, shmemi_job.node_n_pes = 2;
    shmemi_job.node_pes = node_pes;
    shmemi_job.leaders = leaders;
    shmemi_job.node_of = node_of;
    shmemi_job_index_node();
    segment_size = control + 2 * STAGING;
    segment = aligned_alloc(SHMEMI_CACHE_LINE, (segment_size + 63) / 64 * 64);
    memset(segment, 0, segment_size);
    shmemi_node = (struct shmemi_node){.header = (void *)segment,
                                       .size = segment_size,
                                       .staging_offset = control,
                                       .staging_size = STAGING,
                                       .fd = -1,
                                       .doorbell = -1};
    shmemi_staging = (struct shmemi_staging){CHUNK, SLOTS, shmemi_node_staging(1)};
}

static void open_regions(void)
{
    char *at = arena;
    slow_memory = shmemi_memory_host;
    slow_memory.copy_start = slow_start;
    slow_memory.event_test = slow_test;
    slow_memory.amo = slow_amo;
    for (int i = 0; i < REGIONS; i++) {
        region[i] = at + GUARD;
        at = region[i] + (region_size[i] + 15) / 16 * 16;
    }
    ALWAYS(at + GUARD <= arena + sizeof arena);
}

static void guard_regions(void)
{
    for (int i = 0; i < REGIONS; i++) {
        char *end = i + 1 < REGIONS ? region[i + 1] : arena + sizeof arena;
        size_t size = region_size[i];
        if (!i)
            fuzz_forbid(arena, GUARD);
        fuzz_forbid(region[i] + size, (size_t)(end - region[i]) - size);
    }
}

static void reset_node(void)
{
    memset(segment, 0, segment_size);
    for (int rank = 0; rank < 2; rank++)
        for (uint64_t i = 0; i < SHMEMI_RING_ENTRIES; i++)
            atomic_init(&shmemi_node_control(rank)->ring.entry[i].sequence, i);
    for (size_t i = 0; i < 2 * STAGING; i++)
        segment[shmemi_node.staging_offset + i] = slot_byte(i);
    memset(slot_may_change, 0, sizeof slot_may_change);
    memset(answers, 0, sizeof answers);
    memset(may_change, 0, sizeof may_change);
    for (int i = 0; i < REGIONS; i++)
        for (size_t at = 0; at < region_size[i]; at++)
            region[i][at] = before[region[i] - arena + (ptrdiff_t)at] = (char)(at * 3 + (size_t)i);
}

/* ---- Making requests --------------------------------------------------------------------------------------------- */

static uint64_t choose_offset(struct fuzz_input *input)
{
    uint8_t kind = fuzz_byte(input);
    return kind < 160 ? fuzz_below(input, 4200) : kind < 224 ? fuzz_byte(input) * (uint64_t)8 : fuzz_number(input);
}

/* Mostly a request that could be one, with an oddity here and there. */
static struct shmemi_request make_request(struct fuzz_input *input, uint32_t origin)
{
    struct shmemi_request request = {0};
    request.job_key = shmemi_job.key;
    request.origin = origin;
    request.type = (uint8_t)(1 + fuzz_below(input, 4));
    request.region = (uint32_t)fuzz_below(input, REGIONS + 1);
    request.offset = choose_offset(input);
    request.rows = 1;
    request.width = fuzz_byte(input) < 224 ? fuzz_below(input, CHUNK + 1) : CHUNK + fuzz_below(input, 9);
    if (fuzz_byte(input) & 1 && request.type != SHMEMI_REQUEST_SCATTER) {
        request.rows = (uint32_t)(1 + fuzz_below(input, 64));
        request.width = fuzz_below(input, 40);
        request.pitch = request.width + fuzz_byte(input);
        make_layers(&request);
    }
    request.slot = (uint16_t)fuzz_below(input, SLOTS + 1);
    if (fuzz_byte(input) >= 192)
        request.slot = (uint16_t)(SHMEMI_SLOT_NONE + (fuzz_byte(input) & 1));
    for (int i = 0; i < SHMEMI_INLINE_MAX; i++)
        request.u.data[i] = (uint8_t)(i < 8 ? fuzz_byte(input) : i);
    if (request.slot >= SHMEMI_SLOT_NONE && request.type == SHMEMI_REQUEST_PUT)
        request.inline_size = (uint8_t)(request.width = fuzz_below(input, SHMEMI_INLINE_MAX + 1));
    if (request.type == SHMEMI_REQUEST_AMO)
        request_make_amo(input, &request);
    if (request.type == SHMEMI_REQUEST_PUT && request.slot < SLOTS && request.u.data[0] % 4 == 3)
        request_make_signal(&request, REGIONS);
    uint8_t odd = fuzz_byte(input);
    if (odd >= 240) /* any bytes of it may be anything */
        for (int n = odd - 240; n >= 0; n--)
            ((uint8_t *)&request)[fuzz_below(input, sizeof request)] = fuzz_byte(input);
    return request;
}

/* The payload of a batch of puts: records that are right most of the time. */
static void make_records(struct fuzz_input *input, char *payload, size_t size)
{
    size_t at = 0;
    while (at + 16 <= size) {
        uint64_t offset = choose_offset(input);
        uint32_t number = (uint32_t)fuzz_below(input, REGIONS + 1), nbytes = (uint32_t)fuzz_below(input, 64);
        if (fuzz_byte(input) >= 250)
            nbytes = (uint32_t)fuzz_number(input);
        if (size - at - 16 < 72 && nbytes < 64)
            nbytes = (uint32_t)(size - at - 16);
        memcpy(payload + at, &offset, 8);
        memcpy(payload + at + 8, &number, 4);
        memcpy(payload + at + 12, &nbytes, 4);
        if (nbytes > size - at - 16)
            return;
        if (nbytes && nbytes < 32 && size - at >= 64 && fuzz_byte(input) >= 160) {
            at += record_make_rows(input, payload + at, size - at, nbytes);
            continue;
        }
        at += 16 + (nbytes + (size_t)7) / 8 * 8;
    }
}

/* ---- The ring ---------------------------------------------------------------------------------------------------- */

static char *slot_of_origin(const struct shmemi_request *request)
{
    return shmemi_node_staging((int)request->origin) + request->slot * (size_t)CHUNK;
}

/* Answers land in slots other than those of batches, which would else be changed after what they may do was noted. */
static void keep_slots_apart(struct shmemi_request *request)
{
    if (request->slot < SLOTS)
        request->slot = (uint16_t)(request->slot % 2 + (request->type == SHMEMI_REQUEST_SCATTER ? 0 : 2));
}

/* Put a request into this PE's ring as PE 0 would, or any bytes with its name in them. */
static void send_by_ring(struct fuzz_input *input)
{
    struct shmemi_ring *ring = &shmemi_node_control(1)->ring;
    uint64_t ticket = atomic_fetch_add(&ring->tail, 1);
    struct shmemi_ring_entry *entry = &ring->entry[ticket % SHMEMI_RING_ENTRIES];
    if (atomic_load(&entry->sequence) != ticket)
        return;
    entry->request = make_request(input, (uint32_t)fuzz_below(input, 2));
    keep_slots_apart(&entry->request);
    const struct shmemi_request *request = &entry->request;
    const char *payload = NULL;
    size_t size = 0;
    if (request->origin == ME && request->slot < SLOTS && answers[request->slot] == NETWORK)
        entry->request.origin = 0;
    else if (request->origin == ME && request->slot < SLOTS)
        answers[request->slot] = NEIGHBOUR;
    if (request->origin < 2 && request->slot < SLOTS) {
        if (request->type == SHMEMI_REQUEST_SCATTER)
            make_records(input, slot_of_origin(request), CHUNK);
        payload = slot_of_origin(request);
        size = CHUNK; /* an earlier batch in this slot may be longer than this one */
        if (!request->origin && request->type != SHMEMI_REQUEST_PUT)
            slot_may_change[request->slot] = true;
    }
    allow_request(request, payload, size, false);
    atomic_store(&entry->sequence, ticket + 1);
}

/* A ring's numbers are written by its neighbours, so they may be anything as well. */
static void spoil_ring(struct fuzz_input *input)
{
    struct shmemi_ring *ring = &shmemi_node_control(1)->ring;
    uint64_t value = fuzz_number(input);
    if (fuzz_byte(input) & 1)
        atomic_store(&ring->tail, value);
    else
        atomic_store(&ring->entry[fuzz_byte(input)].sequence, ring->head + value % 3);
}

/* ---- The network ------------------------------------------------------------------------------------------------- */

static void send_by_network(struct fuzz_input *input)
{
    struct shmemi_request request = make_request(input, 2 + (uint32_t)fuzz_below(input, 2));
    bool has_payload = shmemi_request_is_put(request.type) && request.slot < SHMEMI_SLOT_NONE;
    size_t size = has_payload && request.width <= CHUNK && request.rows <= CHUNK ? request.width * request.rows : 0;
    if (fuzz_byte(input) >= 240)
        size = fuzz_below(input, 4096);
    char *payload = fuzz_memory(size);
    for (size_t i = 0; i < size; i++)
        payload[i] = (char)i;
    if (request.type == SHMEMI_REQUEST_SCATTER)
        make_records(input, payload, size);
    allow_request(&request, payload, size, true);
    size_t header = fuzz_byte(input) >= 250 ? fuzz_below(input, sizeof request + 8) : sizeof request;
    char *bytes = fuzz_memory(sizeof request + 8);
    memset(bytes, 0, sizeof request + 8);
    memcpy(bytes, &request, sizeof request);
    network_deliver(input, SHMEMI_UCX_AM_REQUEST, bytes, header, payload, size);
    free(bytes);
}

/* Requests that this PE has sent, so that there are answers to wait for. Their slots belong to it. */
static void ask_over_network(struct fuzz_input *input)
{
    struct shmemi_request request = {.job_key = shmemi_job.key, .origin = ME, .rows = 1, .region = 0};
    request.slot = (uint16_t)fuzz_below(input, SLOTS);
    request.type = (uint8_t)(1 + fuzz_below(input, 3));
    request.width = fuzz_below(input, CHUNK + 1);
    if (fuzz_byte(input) & 1)
        request.slot = SHMEMI_SLOT_NONE;
    if (request.type == SHMEMI_REQUEST_AMO)
        request.width = request.u.amo.size = 8;
    if (request.slot == SHMEMI_SLOT_NONE) {
        request.type = SHMEMI_REQUEST_PUT;
        request.width = request.inline_size = 8;
    } else if (answers[request.slot] == NEIGHBOUR ||
               atomic_load(&shmemi_node_control(1)->slot_state[request.slot]) != SHMEMI_SLOT_FREE) {
        return;
    } else {
        atomic_store(&shmemi_node_control(1)->slot_state[request.slot], SHMEMI_SLOT_BUSY);
        answers[request.slot] = NETWORK;
    }
    const struct shmemi_view view = {.pe = 2 + (int)fuzz_below(input, 2)};
    if (shmemi_link_ucx.send(&view, &request) && request.slot < SLOTS)
        atomic_store(&shmemi_node_control(1)->slot_state[request.slot], SHMEMI_SLOT_FREE);
}

static void free_slots(void)
{
    for (unsigned i = 0; i < SLOTS; i++)
        if (atomic_load(&shmemi_node_control(1)->slot_state[i]) != SHMEMI_SLOT_BUSY)
            atomic_store(&shmemi_node_control(1)->slot_state[i], SHMEMI_SLOT_FREE);
}

/* ---- One input --------------------------------------------------------------------------------------------------- */

static unsigned advance(void)
{
    shmemi_service_lock();
    unsigned done = shmemi_worker_ring.advance();
    done += shmemi_ucx_request_deliver();
    done += shmemi_worker_arrivals.advance();
    shmemi_service_unlock();
    free_slots();
    return done;
}

static void step(struct fuzz_input *input)
{
    switch (fuzz_byte(input) % 20) {
    case 0 ... 3:
        send_by_ring(input);
        break;
    case 4 ... 7:
        send_by_network(input);
        break;
    case 8:
        ask_over_network(input);
        break;
    case 9:
        network_answer(input);
        break;
    case 10:
        network_ask_key(input);
        break;
    case 11:
        network_fetch_key(input);
        break;
    case 12:
        spoil_ring(input);
        break;
    case 13:
        network_complete(input);
        break;
    case 14:
        network_store(input, allow);
        break;
    case 15:
        network_stores(input);
        break;
    default:
        advance();
    }
}

/* The end of an input: nothing stays under way. */
static void settle_all(void)
{
    struct fuzz_input nothing = {0};
    present_input = &nothing;
    network_lose_peers();
    do
        network_complete_all();
    while (advance());
    shmemi_parts_close();
    ALWAYS(!borrowed && !shmemi_parts_open());
    network_check_end();
}

static void open_all(void)
{
    open_node();
    open_regions();
    guard_regions();
    shmemi_arrivals_open(&resolver);
    network_open(region, region_size, REGIONS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    shmemi_log_hold(true); /* one line is enough of what is refused */
    if (!segment)
        open_all();
    present_input = &input;
    reset_node();
    network_reset(&input);
    for (int n = 0; input.size && n < 64; n++)
        step(&input);
    settle_all();
    check_regions();
    check_slots();
    return 0;
}
