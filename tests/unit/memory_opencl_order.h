/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For the test of OpenCL memory: the order of copies that are under way at once, page-locked host memory, and turns in the
 * program's queues.
 */
#ifndef MEMORY_OPENCL_ORDER_H
#define MEMORY_OPENCL_ORDER_H

#include "memory_opencl_box.h"

/* Copies of one thread to one buffer take effect in order, and many may be in progress. */
static void test_order(struct fixture *fixture)
{
    enum { COPIES = 200 };
    static uint64_t value[COPIES], seen[COPIES];
    static struct shmemi_event event[2 * COPIES];
    struct box box;
    struct shmemi_shape word = shmemi_shape_linear(8);
    open_box(&box, make_buffer(fixture->context[0], 0, 4096, NULL), 4096);
    for (int i = 0; i < COPIES; i++) {
        struct shmemi_place from = shmemi_place_host(&value[i]), to = shmemi_place_host(&seen[i]);
        struct shmemi_place place = place_in(&box, 64);
        value[i] = (uint64_t)i * 0x0101010101010101u;
        CHECK(memory->copy_start(&place, &from, &word, &event[2 * i]) == 0);
        CHECK(memory->copy_start(&to, &place, &word, &event[2 * i + 1]) == 0);
    }
    for (int i = 2 * COPIES - 1; i >= 0; i--)
        CHECK(memory->event_wait(&event[i]) == 0);
    CHECK(memcmp(value, seen, sizeof seen) == 0);
    memcpy(box.model + 64, &value[COPIES - 1], 8);
    check_box(&box, fixture->queue[0]);
    close_box(&box);
}

/* Copies of one thread in both directions, all of them under way at once, at ranges that often overlap. */
static void test_directions(struct fixture *fixture)
{
    enum { COPIES = 300, MOST = 3000 };
    static unsigned char sent[COPIES][MOST], got[COPIES][MOST], expected[COPIES][MOST];
    static struct shmemi_event event[COPIES];
    static size_t length[COPIES];
    struct box box, other;
    open_box(&box, make_buffer(fixture->context[0], 0, BOX_BYTES, NULL), BOX_BYTES);
    open_box(&other, make_buffer(fixture->context[0], 0, BOX_BYTES, NULL), BOX_BYTES);
    for (int i = 0; i < COPIES; i++) {
        struct box *from = rand() % 2 ? &box : &other;
        size_t offset = (size_t)rand() % (4 * MOST);
        length[i] = 1 + (size_t)rand() % MOST;
        struct shmemi_place place = place_in(from, offset), here = shmemi_place_host(sent[i]);
        struct shmemi_shape shape = shmemi_shape_linear(length[i]);
        bool is_read = rand() % 2;
        if (is_read) {
            here = shmemi_place_host(got[i]);
            memcpy(expected[i], from->model + offset, length[i]);
        } else {
            memset(sent[i], i % 251, sizeof sent[i]);
            memset(from->model + offset, i % 251, length[i]);
        }
        CHECK(memory->copy_start(is_read ? &here : &place, is_read ? &place : &here, &shape, &event[i]) == 0);
    }
    for (int i = 0; i < COPIES; i++)
        CHECK(memory->event_wait(&event[i]) == 0);
    CHECK(memcmp(got, expected, sizeof got) == 0);
    check_box(&box, fixture->queue[0]);
    check_box(&other, fixture->queue[0]);
    close_box(&box);
    close_box(&other);
}

static cl_uint context_references(cl_context context)
{
    cl_uint count = 0;
    CHECK(cl->clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count, NULL) == CL_SUCCESS);
    return count;
}

/* Page-locked host memory: ranges that come before and after a context, and leave with either. */
static void test_pinned(struct fixture *fixture)
{
    const struct shmemi_pinning *pinning = memory->pinning;
    struct box host, box;
    char *page = aligned_alloc(4096, 2 * BOX_BYTES);
    CHECK(page);
    memset(page, 1, 2 * BOX_BYTES);
    cl_uint before = context_references(fixture->context[0]);
    CHECK(!pinning->is_pinned(page, 1));
    CHECK(pinning->pin(page, BOX_BYTES) == 0 && pinning->pin(page, BOX_BYTES) == 0);
    open_box(&box, make_buffer(fixture->context[0], 0, BOX_BYTES, NULL), BOX_BYTES);
    CHECK(pinning->pin(page + BOX_BYTES, BOX_BYTES) == 0);
    CHECK(pinning->is_pinned(page, BOX_BYTES) && pinning->is_pinned(page + BOX_BYTES + 10, BOX_BYTES - 10));
    CHECK(!pinning->is_pinned(page + 1, BOX_BYTES) && !pinning->is_pinned(page + 2 * BOX_BYTES, 1));
    struct shmemi_opencl_buffer *record = box.allocation.place.object;
    CHECK(pinning->helps(&box.allocation.place) == !record->context->direct);
    host = (struct box){.root = &host, .size = BOX_BYTES, .host = (unsigned char *)page, .model = malloc(BOX_BYTES)};
    CHECK(host.model);
    fill(&host);
    struct shmemi_shape all = shmemi_shape_linear(BOX_BYTES);
    transfer(&box, 0, &host, 0, &all, 1);
    check_box(&box, fixture->queue[0]);
    pinning->unpin(page, BOX_BYTES);
    CHECK(!pinning->is_pinned(page, 1) && pinning->is_pinned(page + BOX_BYTES, BOX_BYTES));
    fill(&box);
    transfer(&host, 0, &box, 0, &all, 2);
    check_box(&host, NULL);
    pinning->unpin(page + BOX_BYTES, BOX_BYTES);
    pinning->unpin(page + BOX_BYTES, BOX_BYTES);
    close_box(&box);
    CHECK(context_references(fixture->context[0]) == before);
    free(host.model);
    free(page);
}

static bool is_complete(cl_event event)
{
    cl_int state;
    CHECK(cl->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL) == CL_SUCCESS);
    return state == CL_COMPLETE;
}

/* A turn comes when what is before it has ended, and the queue goes on when the turn has. */
static void test_turn(struct fixture *fixture)
{
    uint64_t sent = 0x0123456789abcdef, seen = 0;
    cl_int status;
    cl_event user_event = cl->clCreateUserEvent(fixture->context[0], &status), read;
    void *turn, *const events[] = {user_event};
    char reason[100];
    struct box box;
    struct shmemi_stream stream = {.handle = fixture->queue[0]};
    const struct shmemi_shape word = shmemi_shape_linear(sizeof sent);
    CHECK(status == CL_SUCCESS);
    open_box(&box, make_buffer(fixture->context[0], 0, BOX_BYTES, NULL), BOX_BYTES);
    CHECK(memory->streams->open(&stream, reason, sizeof reason) == 0 && stream.is_in_order);
    stream.n_events = 1;
    stream.events = events;
    CHECK(memory->streams->turn_begin(&stream, &turn) == 0);
    CHECK(cl->clEnqueueReadBuffer(fixture->queue[0], box.buffer, CL_FALSE, 64, sizeof seen, &seen, 0, NULL, &read) ==
          CL_SUCCESS);
    CHECK(cl->clFlush(fixture->queue[0]) == CL_SUCCESS);
    CHECK(memory->streams->turn_state(turn) == -EAGAIN);
    CHECK(cl->clSetUserEventStatus(user_event, CL_COMPLETE) == CL_SUCCESS);
    while (memory->streams->turn_state(turn) == -EAGAIN)
        usleep(100);
    CHECK(memory->streams->turn_state(turn) == 0 && !is_complete(read));
    const struct shmemi_place from = shmemi_place_host(&sent), to = place_in(&box, 64);
    CHECK(memory->copy(&to, &from, &word) == 0);
    memcpy(box.model + 64, &sent, sizeof sent);
    CHECK(!is_complete(read));
    memory->streams->turn_end(turn, 0);
    CHECK(cl->clFinish(fixture->queue[0]) == CL_SUCCESS && seen == sent);
    cl->clReleaseEvent(read);
    cl->clReleaseEvent(user_event);
    check_box(&box, fixture->queue[0]);
    close_box(&box);
}

#endif
