/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OpenCL memory: every kind of copy against a model in host memory, which the test's own queue checks, on the first
 * device, by load and store where that is possible and by queues, also as if PEs used the device in turns. Skipped when
 * there is no OpenCL device.
 */
#include "memory_opencl_box.h"
#include "memory_opencl_order.h"

#include <malloc.h>
#include <pthread.h>

enum {
    SKIP = 77,
    LARGE_BYTES = (10 << 20) + 12345, /* more than two pieces of a copy through the host */
    RANDOM_COPIES = 1500,
    THREADS = 4,
    REOPENS = 1000,
};

/* Layers that are whole rows apart, as OpenCL wants them, or not. */
static void add_layers(struct shmemi_shape *shape)
{
    shape->layer = 2 + (size_t)rand() % 3;
    shape->rows = shape->layer * (2 + (size_t)rand() % 3);
    shape->dest_gap = rand() % 3 ? (size_t)rand() % 4 * shape->dest_pitch : (size_t)rand() % 100;
    shape->source_gap = rand() % 3 ? (size_t)rand() % 4 * shape->source_pitch : (size_t)rand() % 100;
}

static struct shmemi_shape random_shape(void)
{
    static const size_t widths[] = {1, 3, 4, 7, 8, 8, 16, 64, 100, 256, 1000};
    struct shmemi_shape shape = {.width = widths[rand() % 11], .rows = 1};
    if (rand() % 3 == 0)
        return shape;
    shape.rows = 1 + (size_t)rand() % 16;
    shape.dest_pitch = shape.width + (rand() % 2 ? (size_t)rand() % 200 : 0);
    shape.source_pitch = shape.width + (rand() % 2 ? (size_t)rand() % 200 : 0);
    if (rand() % 3 == 0)
        add_layers(&shape);
    return shape;
}

/* Any offset at which it fits, sometimes the last. */
static size_t random_offset(size_t size, size_t length)
{
    size_t last = size - length, alignment = rand() % 2 ? 1 : 8;
    return rand() % 4 == 0 ? last : (size_t)rand() % (last + 1) / alignment * alignment;
}

static int ranges_overlap(const struct box *a, size_t a_offset, size_t a_length, const struct box *b, size_t b_offset,
                          size_t b_length)
{
    size_t a_start = a->origin + a_offset, b_start = b->origin + b_offset;
    return a->root == b->root && a_start < b_start + b_length && b_start < a_start + a_length;
}

static void test_random(struct fixture *fixture)
{
    enum { HOST, FIRST, SECOND, SUB, OTHER_CONTEXT, BOXES };
    struct box box[BOXES];
    open_host_box(&box[HOST], BOX_BYTES);
    open_box(&box[FIRST], make_buffer(fixture->context[0], 0, BOX_BYTES, NULL), BOX_BYTES);
    open_box(&box[SECOND], make_buffer(fixture->context[0], CL_MEM_ALLOC_HOST_PTR, BOX_BYTES, NULL), BOX_BYTES);
    open_sub_box(&box[SUB], &box[FIRST]);
    open_box(&box[OTHER_CONTEXT], make_buffer(fixture->context[1], 0, BOX_BYTES, NULL), BOX_BYTES);
    for (int i = 0; i < BOXES; i++)
        fill(&box[i]);
    for (int i = 0; i < RANDOM_COPIES; i++) {
        int d = rand() % BOXES, s = rand() % BOXES;
        struct shmemi_shape shape = random_shape();
        size_t to_length = extent(&shape, shape.dest_pitch, shape.dest_gap);
        size_t from_length = extent(&shape, shape.source_pitch, shape.source_gap);
        if (to_length > box[d].size || from_length > box[s].size || (d == HOST && s == HOST))
            continue;
        size_t to = random_offset(box[d].size, to_length), from = random_offset(box[s].size, from_length);
        if (ranges_overlap(&box[d], to, to_length, &box[s], from, from_length))
            continue;
        transfer(&box[d], to, &box[s], from, &shape, rand() % 3);
        check_box(box[d].root, fixture->queue[d == OTHER_CONTEXT]);
    }
    for (int i = BOXES - 1; i >= 0; i--)
        check_box(&box[i], fixture->queue[i == OTHER_CONTEXT]);
    for (int i = BOXES - 1; i >= 0; i--)
        close_box(&box[i]);
}

/* Ranges of one buffer that overlap, and interleaved columns. */
static void test_overlap(struct fixture *fixture)
{
    struct box box, sub;
    open_box(&box, make_buffer(fixture->context[0], 0, LARGE_BYTES, NULL), LARGE_BYTES);
    open_sub_box(&sub, &box);
    fill(&box);
    struct shmemi_shape shape = shmemi_shape_linear(LARGE_BYTES - 1000);
    transfer(&box, 1000, &box, 0, &shape, 0);
    transfer(&box, 0, &box, 999, &shape, 1);
    transfer(&box, 5, &box, 5, &shape, 2);
    shape = shmemi_shape_linear(1000);
    transfer(&sub, 100, &box, SUB_ORIGIN + 50, &shape, 0);
    transfer(&box, SUB_ORIGIN + 50, &sub, 100, &shape, 0);
    shape = (struct shmemi_shape){.width = 8, .rows = 1000, .dest_pitch = 64, .source_pitch = 64};
    transfer(&box, 8, &box, 0, &shape, 0);
    transfer(&box, 64000, &box, 0, &shape, 1);
    transfer(&box, 24, &box, 24 + 64 * 4000, &shape, 2);
    shape.dest_pitch = 32;
    transfer(&box, 1 << 20, &box, 3, &shape, 0);
    check_box(&box, fixture->queue[0]);
    close_box(&sub);
    close_box(&box);
}

static void test_large(struct fixture *fixture)
{
    struct box host, near, far;
    open_host_box(&host, LARGE_BYTES);
    open_box(&near, make_buffer(fixture->context[0], 0, LARGE_BYTES, NULL), LARGE_BYTES);
    open_box(&far, make_buffer(fixture->context[1], 0, LARGE_BYTES, NULL), LARGE_BYTES);
    fill(&host);
    struct shmemi_shape all = shmemi_shape_linear(LARGE_BYTES);
    struct shmemi_shape columns = {.width = 5000, .rows = 1000, .dest_pitch = 10007, .source_pitch = 6001};
    struct shmemi_shape rows = {.width = 5 << 20, .rows = 2, .dest_pitch = 5 << 20, .source_pitch = (5 << 20) + 7};
    transfer(&near, 0, &host, 0, &all, 1);
    transfer(&far, 0, &near, 0, &all, 1);
    transfer(&far, 77, &near, 3, &columns, 2);
    transfer(&near, 0, &far, 1, &rows, 0);
    transfer(&host, 0, &far, 0, &all, 0);
    check_box(&host, NULL);
    check_box(&near, fixture->queue[0]);
    check_box(&far, fixture->queue[1]);
    close_box(&host);
    close_box(&near);
    close_box(&far);
}

/* Nothing to copy, one byte repeated by a pitch of zero, and a source whose rows overlap. */
static void test_degenerate(struct fixture *fixture)
{
    struct box host, box;
    open_host_box(&host, 4096);
    open_box(&box, make_buffer(fixture->context[0], 0, 4096, NULL), 4096);
    fill(&host);
    struct shmemi_place to = place_in(&box, 0), from = place_in(&host, 0);
    struct shmemi_event event;
    CHECK(memory->copy(&to, &from, &(struct shmemi_shape){.width = 0, .rows = 1}) == 0);
    CHECK(memory->copy(&to, &from, &(struct shmemi_shape){.width = 8, .rows = 0}) == 0);
    CHECK(memory->copy_start(&to, &from, &(struct shmemi_shape){.width = 0, .rows = 1}, &event) == 0);
    CHECK(memory->event_test(&event) == 0 && memory->event_wait(&event) == 0);
    transfer(&box, 16, &host, 8, &(struct shmemi_shape){.width = 8, .rows = 100, .dest_pitch = 16, .source_pitch = 0},
             1);
    transfer(&box, 2000, &host, 8, &(struct shmemi_shape){.width = 8, .rows = 9, .dest_pitch = 8, .source_pitch = 1},
             0);
    transfer(&host, 1, &box, 16, &(struct shmemi_shape){.width = 8, .rows = 9, .dest_pitch = 8, .source_pitch = 3}, 2);
    check_box(&box, fixture->queue[0]);
    check_box(&host, NULL);
    close_box(&box);
    close_box(&host);
}

struct worker {
    struct box *box;
    int number;
};

/* Each thread works in its own quarter, of the same buffer. */
static void *work(void *argument)
{
    const struct worker *worker = argument;
    enum { QUARTER = BOX_BYTES / THREADS };
    unsigned char sent[QUARTER], got[QUARTER];
    struct shmemi_place place = place_in(worker->box, (size_t)worker->number * QUARTER);
    struct shmemi_place from = shmemi_place_host(sent), to = shmemi_place_host(got);
    struct shmemi_shape shape = {.width = 64, .rows = QUARTER / 64, .dest_pitch = 64, .source_pitch = 64};
    for (int i = 0; i < 100; i++) {
        struct shmemi_event event;
        struct shmemi_allocation again;
        memset(sent, worker->number * 50 + i, sizeof sent);
        open_buffer(&worker->box->buffer, BOX_BYTES, &again);
        CHECK(memory->copy_start(&place, &from, &shape, &event) == 0);
        CHECK(memory->copy(&to, &place, &shape) == 0);
        CHECK(memcmp(sent, got, sizeof got) == 0);
        CHECK(memory->event_wait(&event) == 0);
        memory->close_object(&again);
    }
    memcpy(worker->box->model + (size_t)worker->number * QUARTER, sent, sizeof sent);
    return NULL;
}

static void test_threads(struct fixture *fixture)
{
    struct box box;
    pthread_t thread[THREADS];
    struct worker worker[THREADS];
    open_box(&box, make_buffer(fixture->context[0], 0, BOX_BYTES, NULL), BOX_BYTES);
    for (int i = 0; i < THREADS; i++) {
        worker[i] = (struct worker){&box, i};
        CHECK(pthread_create(&thread[i], NULL, work, &worker[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    check_box(&box, fixture->queue[0]);
    close_box(&box);
}

/* Kernels see what was copied, and copies see what kernels wrote. Buffers over the user's memory included. */
static void run_kernel(struct fixture *fixture, cl_mem buffer)
{
    static const char *source = "__kernel void twice(__global uint *x) { x[get_global_id(0)] *= 2; }";
    cl_int status;
    size_t n = 1024;
    cl_program program = user.clCreateProgramWithSource(fixture->context[0], 1, &source, NULL, &status);
    CHECK(status == CL_SUCCESS && user.clBuildProgram(program, 1, &fixture->device, "", NULL, NULL) == CL_SUCCESS);
    cl_kernel kernel = user.clCreateKernel(program, "twice", &status);
    CHECK(status == CL_SUCCESS && user.clSetKernelArg(kernel, 0, sizeof buffer, &buffer) == CL_SUCCESS);
    CHECK(user.clEnqueueNDRangeKernel(fixture->queue[0], kernel, 1, NULL, &n, NULL, 0, NULL, NULL) == CL_SUCCESS);
    CHECK(cl->clFinish(fixture->queue[0]) == CL_SUCCESS);
    user.clReleaseKernel(kernel);
    user.clReleaseProgram(program);
}

static void test_kernel(struct fixture *fixture)
{
    static uint32_t users[1024 + 1], value[1024];
    cl_mem buffer[] = {
        make_buffer(fixture->context[0], CL_MEM_READ_WRITE, sizeof value, NULL),
        make_buffer(fixture->context[0], CL_MEM_USE_HOST_PTR, sizeof value, users + 1),
        make_buffer(fixture->context[0], CL_MEM_COPY_HOST_PTR, sizeof value, users),
    };
    for (int i = 0; i < 3; i++) {
        struct box box;
        open_box(&box, buffer[i], sizeof value);
        fill(&box);
        for (int round = 0; round < 3; round++) {
            run_kernel(fixture, box.buffer);
            memcpy(value, box.model, sizeof value);
            for (int k = 0; k < 1024; k++)
                value[k] *= 2;
            memcpy(box.model, value, sizeof value);
            struct shmemi_place to = shmemi_place_host(value), place = place_in(&box, 0),
                                from = shmemi_place_host("42");
            CHECK(memory->copy(&to, &place, &(struct shmemi_shape){.width = sizeof value, .rows = 1}) == 0);
            CHECK(memcmp(value, box.model, sizeof value) == 0);
            CHECK(memory->copy(&place, &from, &(struct shmemi_shape){.width = 2, .rows = 1}) == 0);
            memcpy(box.model, "42", 2);
        }
        check_box(&box, fixture->queue[0]);
        close_box(&box);
    }
}

static void check_refused(void *object, size_t size, const char *cause)
{
    char reason[200] = "";
    struct shmemi_allocation allocation = {.device = -7};
    int rc = memory->open_object(object, size, &allocation, reason, sizeof reason);
    if (rc != -EINVAL || !strstr(reason, cause))
        fprintf(stderr, "expected a refusal with \"%s\": %d \"%s\"\n", cause, rc, reason);
    CHECK(rc == -EINVAL && strstr(reason, cause) && allocation.device == -7);
}

static void test_refusals(struct fixture *fixture)
{
    cl_int status;
    cl_mem null = NULL, buffer = make_buffer(fixture->context[0], 0, 1000, NULL);
    check_refused(NULL, 8, "is NULL");
    check_refused(&null, 8, "NULL cl_mem");
    check_refused(&buffer, 1001, "size 1001 is larger than the buffer (1000 bytes)");
    check_refused((void *)64, 8, "cannot be read");
    check_refused((void *)UINTPTR_MAX, 8, "cannot be read");
    check_refused(&(double){1.5}, 8, "is not the address of a cl_mem");
    if (shmemi_opencl_is_dispatch(*(uintptr_t *)buffer))
        check_refused(buffer, 8, "pass the address");
    const struct {
        cl_mem_flags flag;
        const char *name;
    } flags[] = {
        {CL_MEM_HOST_NO_ACCESS, "CL_MEM_HOST_NO_ACCESS"},
        {CL_MEM_HOST_READ_ONLY, "CL_MEM_HOST_READ_ONLY"},
        {CL_MEM_HOST_WRITE_ONLY, "CL_MEM_HOST_WRITE_ONLY"},
    };
    for (int i = 0; i < 3; i++) {
        cl_mem closed = make_buffer(fixture->context[0], flags[i].flag, 1000, NULL);
        check_refused(&closed, 8, flags[i].name);
        cl->clReleaseMemObject(closed);
    }
    cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    cl_image_desc describe = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 16, .image_height = 16};
    cl_mem image = user.clCreateImage(fixture->context[0], 0, &format, &describe, NULL, &status);
    if (status == CL_SUCCESS) {
        check_refused(&image, 8, "is an image");
        cl->clReleaseMemObject(image);
    }
    cl->clReleaseMemObject(buffer);
}

/* A copy past the end fails with one line that names the call and the error. With queues only: loads and stores are not
 * checked. */
static void test_failed_copy(struct fixture *fixture)
{
    char line[400] = "";
    struct box box;
    open_box(&box, make_buffer(fixture->context[0], 0, 4096, NULL), 4096);
    struct shmemi_place place = place_in(&box, 4000), host = shmemi_place_host(line);
    struct shmemi_shape shape = shmemi_shape_linear(200);
    FILE *capture = tmpfile();
    int screen = dup(STDERR_FILENO);
    CHECK(capture && screen >= 0 && dup2(fileno(capture), STDERR_FILENO) >= 0);
    int rc = memory->copy(&place, &host, &shape);
    CHECK(dup2(screen, STDERR_FILENO) >= 0);
    rewind(capture);
    CHECK(rc == -EINVAL && fread(line, 1, sizeof line - 1, capture) > 0);
    CHECK(strstr(line, "clEnqueueWriteBuffer: CL_INVALID_VALUE (-30)\n"));
    close(screen);
    fclose(capture);
    close_box(&box);
}

static cl_uint references(cl_mem buffer)
{
    cl_uint count = 0;
    CHECK(cl->clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof count, &count, NULL) == CL_SUCCESS);
    return count;
}

/* Release the test's own reference, the last. Wait a little before and after, since an implementation may release a
 * command's objects after it has reported the command as complete. */
static void release_last(cl_mem buffer, cl_context context, cl_uint context_expected)
{
    for (int i = 0; i < 1000 && references(buffer) != 1; i++)
        usleep(1000);
    CHECK(references(buffer) == 1);
    cl->clReleaseMemObject(buffer);
    for (int i = 0; i < 1000 && context_references(context) != context_expected; i++)
        usleep(1000);
    CHECK(context_references(context) == context_expected);
}

/* Opening and closing leaves nothing behind, whether the context's record is shared or made anew. */
static void test_reopen(cl_device_id device)
{
    struct fixture fixture = make_fixture(device);
    struct shmemi_allocation first, allocation;
    cl_uint before = context_references(fixture.context[0]);
    cl_mem buffer = make_buffer(fixture.context[0], 0, 4096, NULL);
    struct shmemi_place word = shmemi_place_host(&before);
    struct shmemi_shape shape = shmemi_shape_linear(sizeof before);
    struct shmemi_event event;
    size_t used = 0;
    open_buffer(&buffer, 4096, &first);
    for (int i = 0; i < REOPENS; i++) {
        open_buffer(&buffer, 4096, &allocation);
        CHECK(allocation.buffer_id == first.buffer_id && allocation.buffer_id != 0);
        memory->close_object(&allocation);
    }
    memory->close_object(&first);
    for (int i = 0; i < REOPENS; i++) {
        open_buffer(&buffer, 4096, &allocation);
        CHECK(memory->copy_start(&allocation.place, &word, &shape, &event) == 0);
        wait_by_test(&event);
        memory->close_object(&allocation);
        if (i == REOPENS / 10)
            used = mallinfo2().uordblks;
    }
    CHECK(mallinfo2().uordblks < used + (256 << 10));
    release_last(buffer, fixture.context[0], before);
    free_fixture(&fixture);
}

/* The user may release buffer, queue and context while the buffer is open. */
static void test_released_by_user(cl_device_id device)
{
    char text[16] = "still there", seen[16] = "";
    struct shmemi_allocation allocation;
    struct fixture fixture = make_fixture(device);
    cl_mem buffer = make_buffer(fixture.context[0], 0, 4096, NULL);
    open_buffer(&buffer, 4096, &allocation);
    cl->clReleaseMemObject(buffer);
    free_fixture(&fixture);
    struct shmemi_place from = shmemi_place_host(text), to = shmemi_place_host(seen);
    struct shmemi_shape shape = shmemi_shape_linear(sizeof text);
    CHECK(memory->copy(&allocation.place, &from, &shape) == 0);
    CHECK(memory->copy(&to, &allocation.place, &shape) == 0);
    CHECK(strcmp(seen, text) == 0);
    memory->close_object(&allocation);
}

static void test_devices(void)
{
    int count = memory->device_count();
    char text[300];
    CHECK(count > 0);
    for (int i = 0; i < count; i++) {
        CHECK(memory->device_name(i, text, sizeof text) == 0 && text[0]);
        printf("device %d: %s", i, text);
        int rc = memory->device_pci(i, text, sizeof text);
        CHECK(rc == -ENODEV || (rc == 0 && strlen(text) == strlen("0000:3b:00.0")));
        printf(", %s\n", rc == 0 ? text : "no PCI address");
    }
    CHECK(memory->device_name(count, text, sizeof text) == -EINVAL);
    CHECK(memory->device_pci(-1, text, sizeof text) == -EINVAL);
}

/* While one context's buffers are copied by load and store and the other's by queues, order still holds. */
static void test_mixed_order(struct fixture *fixture)
{
    struct box near, far, next;
    struct shmemi_event event;
    struct shmemi_shape all = shmemi_shape_linear(LARGE_BYTES);
    open_box(&near, make_buffer(fixture->context[0], 0, LARGE_BYTES, NULL), LARGE_BYTES);
    open_box(&far, make_buffer(fixture->context[1], 0, LARGE_BYTES, NULL), LARGE_BYTES);
    open_host_box(&next, LARGE_BYTES);
    fill(&near);
    fill(&next);
    struct shmemi_place near_place = place_in(&near, 0), far_place = place_in(&far, 0), next_place = place_in(&next, 0);
    CHECK(memory->copy_start(&far_place, &near_place, &all, &event) == 0);
    CHECK(memory->copy(&near_place, &next_place, &all) == 0); /* must not reach the copy under way */
    CHECK(memory->event_wait(&event) == 0);
    memcpy(far.model, near.model, LARGE_BYTES);
    memcpy(near.model, next.model, LARGE_BYTES);
    check_box(&far, fixture->queue[1]);
    check_box(&near, fixture->queue[0]);
    close_box(&near);
    close_box(&far);
    close_box(&next);
}

/* Keep a context's record, and with it the way of copying. Returns whether that is by load and store. */
static bool keep_context(cl_context context, bool direct, struct shmemi_opencl_context **kept_p)
{
    cl_int status;
    shmemi_settings.opencl_copy = direct ? SHMEMI_OPENCL_COPY_AUTO : SHMEMI_OPENCL_COPY_QUEUE;
    *kept_p = shmemi_opencl_context_get(context, &status);
    CHECK(*kept_p && (direct || !(*kept_p)->direct));
    return (*kept_p)->direct;
}

static void test_all(cl_device_id device, bool first_direct, bool second_direct, int sharers)
{
    struct shmemi_opencl_context *kept[2];
    shmemi_memory_sharers[SHMEMI_MEMTYPE_OPENCL] = sharers;
    struct fixture fixture = make_fixture(device);
    first_direct = keep_context(fixture.context[0], first_direct, &kept[0]);
    second_direct = keep_context(fixture.context[1], second_direct, &kept[1]);
    printf("copies by %s and by %s, PEs on the device: %d\n", first_direct ? "load and store" : "queues",
           second_direct ? "load and store" : "queues", sharers);
    test_random(&fixture);
    test_overlap(&fixture);
    test_large(&fixture);
    test_degenerate(&fixture);
    test_order(&fixture);
    test_mixed_order(&fixture);
    test_directions(&fixture);
    test_pinned(&fixture);
    test_threads(&fixture);
    test_kernel(&fixture);
    test_turn(&fixture);
    test_refusals(&fixture);
    test_reopen(device);
    test_released_by_user(device);
    if (!first_direct)
        test_failed_copy(&fixture);
    for (int i = 0; i < 2; i++)
        shmemi_opencl_context_put(kept[i]);
    free_fixture(&fixture);
}

int main(void)
{
    setenv("POCL_MAX_PTHREAD_COUNT", "1", 0); /* a worker per core is more than a test needs */
    int rc = memory->open();
    if (rc == -ENODEV) {
        puts("skipped: no OpenCL device");
        return SKIP;
    }
    CHECK(rc == 0);
    load_user_functions();
    test_devices();
    test_all(shmemi_opencl_device(0), true, true, 1);
    test_all(shmemi_opencl_device(0), false, false, 1);
    test_all(shmemi_opencl_device(0), false, false, 2);
    test_all(shmemi_opencl_device(0), true, false, 1);
    memory->close();
    return 0;
}
