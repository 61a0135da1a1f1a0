/* SPDX-License-Identifier: BSD-3-Clause
 *
 * CUDA memory: what a pointer is, every kind of copy against a model in host memory, events, page-locked memory, and
 * the end of a program. Skipped (77) when there is no CUDA device. Sharing between processes: memory_cuda_ipc.c.
 */
#define _GNU_SOURCE
#include "base/log.h"
#include "cuda_user.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RANDOM_COPIES = 400, MANY_EVENTS = 200 };

static CUcontext primary;                                                /* the user's context on the main thread */
static enum shmemi_memory_class malloc_class = SHMEMI_CLASS_CUDA_MALLOC; /* OTHER where there is no legacy IPC */

/* ---- What a pointer is ------------------------------------------------------------------------------------------- */

static void check_before_start(void)
{
    struct shmemi_allocation allocation;
    char reason[160];
    CHECK(!owns(&allocation) && !owns((void *)0x7f0000000000));
    CHECK(open_object(0x7f0000000000, 8, &allocation, reason) == -EINVAL);
    CHECK(strstr(reason, "not started"));
}

static void check_class(CUdeviceptr pointer, size_t size, enum shmemi_memory_class class)
{
    struct shmemi_allocation whole, inner, refused = {0};
    char reason[160];
    CHECK(owns((void *)pointer) && owns((void *)(pointer + size - 1)));
    if (open_object(pointer, size, &whole, reason)) {
        CHECK(!"the whole object is accepted");
        fprintf(stderr, "  %s: %s\n", shmemi_memory_class_name(class), reason);
        return;
    }
    CHECK(whole.class == class);
    CHECK(whole.place.address == pointer && whole.place.object && whole.place.memory == memory);
    CHECK(whole.base <= pointer && whole.base + whole.size >= pointer + size && whole.device == 0);
    CHECK(!open_object(pointer + 100, size - 100, &inner, reason));
    CHECK(inner.place.address == pointer + 100 && inner.base == whole.base && inner.buffer_id == whole.buffer_id);
    CHECK(inner.place.object == whole.place.object);
    size_t room = whole.base + whole.size - pointer;
    CHECK(open_object(pointer, room + 7, &refused, reason) == -EINVAL && !refused.size);
    CHECK(strstr(reason, "7 past the end of the allocation"));
    memory->close_object(&inner);
    memory->close_object(&whole);
}

static void check_refused(void *pointer, const char *why)
{
    struct shmemi_allocation allocation;
    char reason[160] = "";
    CHECK(!owns(pointer));
    CHECK(memory->open_object(pointer, 8, &allocation, reason, sizeof reason) == -EINVAL);
    CHECK(strstr(reason, why));
}

static void check_classes(void)
{
    CUdeviceptr plain = user_alloc(BOX), small = user_alloc(512), other;
    void *locked = NULL, *heap = malloc(64);
    struct shmemi_allocation a, b;
    char reason[160];
    check_class(plain, BOX, malloc_class);
    check_class(small, 512, malloc_class);
    CHECK(!open_object(plain, 8, &a, reason) && !open_object(small, 8, &b, reason) && a.buffer_id != b.buffer_id);
    USE(user.cuMemAllocHost(&locked, 4096));
    check_refused(locked, "host memory");
    check_refused(heap, "is not CUDA device memory");
    check_refused(NULL, "is not CUDA device memory");
    if (user.cuMemAllocManaged(&other, BOX, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS) {
        check_class(other, BOX, SHMEMI_CLASS_CUDA_MANAGED);
        memset((void *)other, 1, BOX); /* now it lies on the host, and is still ours */
        check_class(other, BOX, SHMEMI_CLASS_CUDA_MANAGED);
        USE(cuda.cuMemFree(other));
    }
    if (user.cuMemAllocAsync(&other, BOX, NULL) == CUDA_SUCCESS) {
        USE(shmemi_cuda.cuStreamSynchronize(NULL));
        check_class(other, BOX, SHMEMI_CLASS_CUDA_POOL_PRIVATE);
        USE(user.cuMemFreeAsync(other, NULL));
    }
    USE(user.cuMemFreeHost(locked));
    USE(cuda.cuMemFree(plain));
    CHECK(!owns((void *)plain));
    USE(cuda.cuMemFree(small));
    free(heap);
}

/* Two pieces side by side in a reservation of four: one object may span both, and none may leave them. */
static void check_vmm(unsigned handle_types, enum shmemi_memory_class class)
{
    struct vmm vmm;
    if (!vmm_make(&vmm, 0, 2, 4, handle_types))
        return;
    check_class(vmm.base, 2 * vmm.piece, class);
    check_class(vmm.base + vmm.piece, vmm.piece, class);
    check_refused((void *)(vmm.base + 3 * vmm.piece), "");
    vmm_free(&vmm);
}

static void check_pool(void)
{
    CUmemoryPool pool;
    CUdeviceptr pointer;
    if (!pool_make(&pool, 0))
        return;
    USE(user.cuMemAllocFromPoolAsync(&pointer, BOX, pool, NULL));
    USE(shmemi_cuda.cuStreamSynchronize(NULL));
    check_class(pointer, BOX, SHMEMI_CLASS_CUDA_POOL);
    USE(user.cuMemFreeAsync(pointer, NULL));
    USE(shmemi_cuda.cuStreamSynchronize(NULL));
    USE(shmemi_cuda.cuMemPoolDestroy(pool));
}

static void check_devices(void)
{
    char text[256];
    CHECK(memory->device_pci(0, text, sizeof text) == 0 && strlen(text) == 12 && text[4] == ':' && text[10] == '.');
    CHECK(memory->device_name(0, text, sizeof text) == 0 && text[0]);
    printf("# device 0 of %d: %s\n", memory->device_count(), text);
    CHECK(memory->device_name(99, text, sizeof text) < 0);
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

/* Memory for copies, and a model of what it must hold. */
struct box {
    struct shmemi_place place;
    char *model;
};

static void model_copy(const struct box *dest, size_t to, const struct box *source, size_t from,
                       const struct shmemi_shape *shape)
{
    for (size_t row = 0; row < shape->rows; row++) {
        const size_t layer = shape->layer ? row / shape->layer : 0;
        memmove(dest->model + to + row * shape->dest_pitch + layer * shape->dest_gap,
                source->model + from + row * shape->source_pitch + layer * shape->source_gap, shape->width);
    }
}

static void load_box(const struct box *box, unsigned seed)
{
    fill(box->model, BOX, seed);
    if (box->place.memory == memory)
        USE(cuda.cuMemcpyHtoD(box->place.address, box->model, BOX));
    else
        memcpy((void *)box->place.address, box->model, BOX);
}

static bool box_is_right(const struct box *box)
{
    static char now[BOX];
    if (box->place.memory != memory)
        return !memcmp((void *)box->place.address, box->model, BOX);
    USE(cuda.cuMemcpyDtoH(now, box->place.address, BOX));
    return !memcmp(now, box->model, BOX);
}

/* Copy in one of the three ways. The object of a place may be unset, so that the library has to find it. */
static int run_copy(struct shmemi_place dest, struct shmemi_place source, const struct shmemi_shape *shape, int way)
{
    struct shmemi_event event;
    dest.object = way & 4 ? NULL : dest.object;
    source.object = way & 8 ? NULL : source.object;
    if (way % 4 < 2)
        return memory->copy(&dest, &source, shape);
    int rc = memory->copy_start(&dest, &source, shape, &event);
    if (rc)
        return rc;
    if (way % 4 == 2)
        return memory->event_wait(&event);
    do
        rc = memory->event_test(&event);
    while (rc == -EAGAIN);
    return rc;
}

/* Layers that are whole rows apart, as the driver wants them, or not. */
static struct shmemi_shape random_layers(size_t width)
{
    struct shmemi_shape shape = {
        .width = width, .dest_pitch = width + rand() % 50, .source_pitch = width + rand() % 50};
    shape.layer = 2 + rand() % 4;
    shape.rows = shape.layer * (2 + rand() % 4);
    shape.dest_gap = rand() % 3 ? rand() % 4 * shape.dest_pitch : (size_t)rand() % 100;
    shape.source_gap = rand() % 3 ? rand() % 4 * shape.source_pitch : (size_t)rand() % 100;
    return shape;
}

static struct shmemi_shape random_shape(void)
{
    static const size_t widths[] = {1, 3, 8, 64, 100, 1024};
    size_t width = widths[rand() % 6];
    switch (rand() % 5) {
    case 4:
        return random_layers(width);
    case 0:
        return shmemi_shape_linear((size_t)rand() % (BOX / 2));
    case 1:
        return (struct shmemi_shape){
            .width = width, .rows = 1 + rand() % 100, .dest_pitch = width, .source_pitch = width};
    case 2: /* source rows may overlap */
        return (struct shmemi_shape){.width = width,
                                     .rows = 1 + rand() % 20,
                                     .dest_pitch = width + rand() % 9,
                                     .source_pitch = 1 + rand() % width};
    default:
        return (struct shmemi_shape){.width = width,
                                     .rows = 1 + rand() % 100,
                                     .dest_pitch = width + rand() % 3000,
                                     .source_pitch = width + rand() % 3000};
    }
}

static void check_pair(const struct box *dest, const struct box *source, const char *what)
{
    int n_wrong = 0;
    for (int i = 0; i < RANDOM_COPIES && !n_wrong; i++) {
        struct shmemi_shape shape = random_shape();
        size_t to = rand() % (BOX / 2), from = rand() % (BOX / 2);
        struct shmemi_place to_place = dest->place, from_place = source->place;
        to_place.address += to;
        from_place.address += from;
        model_copy(dest, to, source, from, &shape);
        int rc = run_copy(to_place, from_place, &shape, rand() % 16);
        if (rc || (i % 20 == 0 && !box_is_right(dest)))
            n_wrong++, fprintf(stderr, "  %s: copy %d: rc %d\n", what, i, rc);
    }
    CHECK(!n_wrong && box_is_right(dest));
}

/* Every pair of: two device buffers of the current context, pageable and page-locked host memory, and one more. */
static void check_copies(const struct shmemi_place *extra)
{
    enum { N_BOXES = 5 };
    CUdeviceptr a = user_alloc(BOX), b = user_alloc(BOX);
    struct shmemi_allocation object_a, object_b;
    struct box box[N_BOXES];
    char reason[160];
    void *locked = NULL;
    CHECK(!open_object(a, BOX, &object_a, reason) && !open_object(b, BOX, &object_b, reason));
    USE(user.cuMemAllocHost(&locked, BOX));
    box[0].place = object_a.place;
    box[1].place = object_b.place;
    box[2].place = shmemi_place_host(host_a);
    box[3].place = shmemi_place_host(locked);
    box[4].place = extra ? *extra : object_a.place;
    for (int i = 0; i < N_BOXES - !extra; i++) {
        box[i].model = malloc(BOX);
        load_box(&box[i], i);
    }
    for (int i = 0; i < N_BOXES - !extra; i++)
        for (int j = 0; j < N_BOXES - !extra; j++)
            if (i != j && (box[i].place.memory == memory || box[j].place.memory == memory)) {
                char what[32];
                snprintf(what, sizeof what, "%d to %d", j, i);
                check_pair(&box[i], &box[j], what);
            }
    for (int i = 0; i < N_BOXES - !extra; i++)
        free(box[i].model);
    USE(user.cuMemFreeHost(locked));
    USE(cuda.cuMemFree(a));
    USE(cuda.cuMemFree(b));
}

/* Rows more than 2 GiB apart, which the driver's 2-D copy refuses. Needs no more memory than it touches on the host. */
static void check_far_rows(void)
{
    size_t pitch = (size_t)2200 << 20;
    char *far = mmap(NULL, pitch + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct shmemi_place dest = {memory, NULL, user_alloc(4096)}, source = shmemi_place_host(far);
    struct shmemi_shape shape = {.width = 8, .rows = 2, .dest_pitch = 16, .source_pitch = pitch};
    char back[24];
    if (far == MAP_FAILED)
        return;
    memcpy(far, "one-row", 8);
    memcpy(far + pitch, "two-row", 8);
    CHECK(!memory->copy(&dest, &source, &shape));
    USE(cuda.cuMemcpyDtoH(back, dest.address, sizeof back));
    CHECK(!strcmp(back, "one-row") && !strcmp(back + 16, "two-row"));
    USE(cuda.cuMemFree(dest.address));
    munmap(far, pitch + 4096);
}

/* A chain host -> x -> y -> host, started without waiting in between, with more events than are kept in reserve. */
static void check_order(const struct shmemi_place *x, const struct shmemi_place *y)
{
    static uint64_t out[MANY_EVENTS], in[MANY_EVENTS];
    static struct shmemi_event event[MANY_EVENTS][3];
    struct shmemi_shape shape = shmemi_shape_linear(8);
    for (int i = 0; i < MANY_EVENTS; i++) {
        struct shmemi_place from = shmemi_place_host(&out[i]), to = shmemi_place_host(&in[i]);
        out[i] = i * 0x0123456789abcdull;
        CHECK(!memory->copy_start(x, &from, &shape, &event[i][0]));
        CHECK(!memory->copy_start(y, x, &shape, &event[i][1]));
        CHECK(!memory->copy_start(&to, y, &shape, &event[i][2]));
    }
    for (int i = 0; i < MANY_EVENTS; i++)
        for (int j = 0; j < 3; j++)
            CHECK(!memory->event_wait(&event[i][j]));
    CHECK(!memcmp(in, out, sizeof in));
}

static void check_events(void)
{
    CUdeviceptr x = user_alloc(64), y = user_alloc(64);
    struct shmemi_allocation object_x, object_y;
    struct shmemi_event event;
    struct shmemi_shape none = {.width = 0, .rows = 1, .dest_pitch = 0, .source_pitch = 0};
    char reason[160];
    CHECK(!open_object(x, 64, &object_x, reason) && !open_object(y, 64, &object_y, reason));
    check_order(&object_x.place, &object_y.place);
    CHECK(!memory->copy_start(&object_x.place, &object_y.place, &none, &event));
    CHECK(!event.handle && !memory->event_test(&event) && !memory->event_wait(&event));
    USE(cuda.cuMemFree(x));
    USE(cuda.cuMemFree(y));
}

/* A thread without a context can copy, too, and has none afterwards. */
static void *copy_without_context(void *argument)
{
    const struct shmemi_place *x = argument;
    struct shmemi_place host = shmemi_place_host(host_a), back = shmemi_place_host(host_b);
    struct shmemi_shape shape = shmemi_shape_linear(BOX);
    CUcontext current = NULL;
    fill(host_a, BOX, 9);
    for (int way = 0; way < 16; way++) {
        memset(host_b, 0, BOX);
        CHECK(!run_copy(*x, host, &shape, way) && !run_copy(back, *x, &shape, way));
        CHECK(!memcmp(host_a, host_b, BOX));
    }
    USE(shmemi_cuda.cuCtxGetCurrent(&current));
    CHECK(!current && owns((void *)x->address));
    return NULL;
}

static void check_thread(void)
{
    CUdeviceptr x = user_alloc(BOX);
    struct shmemi_allocation object;
    char reason[160];
    pthread_t thread;
    CHECK(!open_object(x, BOX, &object, reason));
    CHECK(!pthread_create(&thread, NULL, copy_without_context, &object.place));
    pthread_join(thread, NULL);
    USE(cuda.cuMemFree(x));
}

/* Memory of a context that the user made, together with memory of the primary one. The user then destroys it, while
 * the library still has streams in it. */
static void check_own_context(void)
{
    CUcontext own, current;
    struct shmemi_allocation object, other;
    char reason[160];
    if (!user.create_context || user.create_context(&own, 0, 0) != CUDA_SUCCESS)
        return;
    CUdeviceptr x = user_alloc(BOX);
    USE(cuda.cuCtxSetCurrent(primary));
    CUdeviceptr y = user_alloc(BOX);
    CHECK(!open_object(x, BOX, &object, reason) && !open_object(y, BOX, &other, reason));
    CHECK(object.place.object != other.place.object);
    check_order(&object.place, &other.place);
    check_order(&other.place, &object.place);
    check_copies(&object.place);
    USE(shmemi_cuda.cuCtxGetCurrent(&current));
    CHECK(current == primary);
    USE(cuda.cuMemFree(x));
    USE(cuda.cuMemFree(y));
    USE(user.cuCtxDestroy(own));
    USE(cuda.cuCtxSetCurrent(primary));
}

/* ---- Page-locked memory ------------------------------------------------------------------------------------------ */

static bool is_locked(void *address)
{
    CUmemorytype type = 0;
    CUresult result = shmemi_cuda.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)address);
    return result == CUDA_SUCCESS && type == CU_MEMORYTYPE_HOST;
}

static void check_pin(void)
{
    int fd = memfd_create("memory_cuda", 0);
    CHECK(fd >= 0 && !ftruncate(fd, BOX));
    char *shared = mmap(NULL, BOX, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    void *theirs = NULL;
    CHECK(!memory->pinning->pin(shared, BOX) && is_locked(shared) && is_locked(shared + BOX - 1));
    CHECK(!memory->pinning->pin(shared, BOX)); /* again: nothing to do */
    CHECK(!owns(shared));
    memory->pinning->unpin(shared, BOX);
    CHECK(!is_locked(shared));
    memory->pinning->unpin(shared, BOX);
    USE(user.cuMemAllocHost(&theirs, 4096));
    CHECK(!memory->pinning->pin(theirs, 4096));
    memory->pinning->unpin(theirs, 4096);
    CHECK(is_locked(theirs));
    USE(user.cuMemFreeHost(theirs));
    munmap(shared, BOX);
    close(fd);
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

static struct shmemi_place left_over;

/* Registered before the driver is loaded, so this runs after its own clean-up. Nothing may crash or hang. */
static void after_shutdown(void)
{
    struct shmemi_place host = shmemi_place_host(host_a);
    struct shmemi_shape shape = shmemi_shape_linear(8);
    shmemi_log_level = SHMEMI_LOG_ERROR;
    if (!left_over.memory)
        return;
    bool is_owned = owns((void *)left_over.address);
    int rc = memory->copy(&host, &left_over, &shape);
    memory->pinning->pin(host_b, BOX);
    memory->pinning->unpin(host_b, BOX);
    memory->close();
    printf("# after exit: owns %d, copy %d\n", is_owned, rc);
}

/* Closed and opened again; and closed after the program has reset its device. */
static void check_reopen(void)
{
    CUdeviceptr x = user_alloc(BOX);
    struct shmemi_allocation object;
    char reason[160];
    memory->close();
    CHECK(!memory->open() && !open_object(x, BOX, &object, reason));
    check_thread();
    memory->close();
    CHECK(!memory->open() && !open_object(x, BOX, &object, reason));
    USE(shmemi_cuda.cuDevicePrimaryCtxRetain(&primary, 0));
    USE(user.cuDevicePrimaryCtxReset(0));
    memory->close();
    CHECK(!owns((void *)x));
    USE(shmemi_cuda.cuDevicePrimaryCtxRetain(&primary, 0));
    USE(cuda.cuCtxSetCurrent(primary));
    x = user_alloc(BOX);
    CHECK(!memory->open() && !open_object(x, BOX, &object, reason));
    left_over = object.place;
}

static void find_out_sharing(void)
{
    struct shmemi_allocation object;
    CUdeviceptr x = user_alloc(BOX);
    char reason[160];
    if (!open_object(x, BOX, &object, reason))
        malloc_class = object.class == SHMEMI_CLASS_CUDA_OTHER ? SHMEMI_CLASS_CUDA_OTHER : SHMEMI_CLASS_CUDA_MALLOC;
    printf("# cudaMalloc: class %s\n", shmemi_memory_class_name(malloc_class));
    USE(cuda.cuMemFree(x));
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    atexit(after_shutdown);
    if (memory->open()) {
        printf("# no CUDA driver: skipped\n");
        return SKIP;
    }
    check_before_start();
    load_user_functions(); /* starts CUDA */
    if (memory->device_count() == 0) {
        printf("# no CUDA device: skipped\n");
        return SKIP;
    }
    USE(shmemi_cuda.cuDevicePrimaryCtxRetain(&primary, 0));
    USE(cuda.cuCtxSetCurrent(primary));
    find_out_sharing();
    check_devices();
    check_classes();
    check_vmm(CU_MEM_HANDLE_TYPE_NONE, SHMEMI_CLASS_CUDA_VMM_PRIVATE);
    check_vmm(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, SHMEMI_CLASS_CUDA_VMM);
    check_pool();
    check_copies(NULL);
    check_far_rows();
    check_events();
    check_thread();
    check_own_context();
    check_pin();
    check_reopen();
    printf("# %d failures\n", n_failures);
    return n_failures ? 1 : 0;
}
