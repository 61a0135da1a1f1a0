/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Once kernels may wait for copies of the library, the driver is asked for nothing new, whatever threads come: it would
 * make a stream or an event only when no thread of the program waits in it for a kernel. Holds in each context, also in
 * one that is found later; and the thread that serves kernels shares its streams with no other. The driver is made up: it counts what it makes.
 */
#include "gpu/device/streams/program_streams.h"
#include "unit.h"

enum { THREADS = 20, TWO = 2 };

static struct shmemi_memory memory = {.title = "made-up GPU"};
static atomic_size_t n_made;
static _Thread_local void *current;

static int make(void **object_p)
{
    *object_p = (void *)(atomic_fetch_add(&n_made, 1) + 1);
    return 0;
}

static int make_stream(void **stream_p, unsigned flags, int priority)
{
    (void)flags, (void)priority;
    return make(stream_p);
}

static int make_event(void **event_p, unsigned flags)
{
    (void)flags;
    return make(event_p);
}

static int allocate_host(void **address_p, size_t size, unsigned flags)
{
    (void)size, (void)flags;
    return make(address_p);
}

static int allocate(uintptr_t *address_p, size_t nbytes)
{
    (void)nbytes;
    return make((void **)address_p);
}

static int get_id(unsigned long long *id_p, uintptr_t address)
{
    *id_p = address;
    return 0;
}

static int get_device(int *handle_p, int device)
{
    *handle_p = device;
    return 0;
}

static int get_state(int device, unsigned *flags_p, int *is_active_p)
{
    (void)device;
    *flags_p = 0;
    *is_active_p = 0;
    return 0;
}

static int get_priorities(int *least_p, int *highest_p)
{
    *least_p = *highest_p = 0;
    return 0;
}

static void get_abilities(int device, struct shmemi_gpu_abilities *abilities_p)
{
    (void)device;
    *abilities_p = (struct shmemi_gpu_abilities){.has_word_operations = true};
}

static int set_words(void *stream, const struct shmemi_gpu_word *words, unsigned n)
{
    (void)stream, (void)words, (void)n;
    return 0;
}

static int get_current(void **context_p)
{
    *context_p = current;
    return 0;
}

static int push(void *context)
{
    current = context;
    return 0;
}

static int pop(void **context_p)
{
    *context_p = current;
    current = NULL;
    return 0;
}

static int copy_in(uintptr_t dest, const void *source, size_t nbytes, void *stream)
{
    (void)dest, (void)source, (void)nbytes, (void)stream;
    return 0;
}

static int copy_out(void *dest, uintptr_t source, size_t nbytes, void *stream)
{
    (void)dest, (void)source, (void)nbytes, (void)stream;
    return 0;
}

static int copy_within(uintptr_t dest, uintptr_t source, size_t nbytes, void *stream)
{
    (void)dest, (void)source, (void)nbytes, (void)stream;
    return 0;
}

static int record(void *event, void *stream)
{
    (void)event, (void)stream;
    return 0;
}

static int synchronize(void *event)
{
    (void)event;
    return 0;
}

static int exchange_mode(int *mode)
{
    (void)mode;
    return 0;
}

static int reserve(uintptr_t *address_p, size_t size, size_t alignment, uintptr_t wanted, unsigned long long flags)
{
    (void)address_p, (void)size, (void)alignment, (void)wanted, (void)flags;
    return -1;
}

static void open_driver(void)
{
    shmemi_gpu.memory = &memory;
    shmemi_gpu.stream_create_with_priority = make_stream;
    shmemi_gpu.event_create = make_event;
    shmemi_gpu.host_allocate = allocate_host;
    shmemi_gpu.allocate = allocate;
    shmemi_gpu.address_id = get_id;
    shmemi_gpu.addresses_reserve = reserve;
    shmemi_gpu.device_get = get_device;
    shmemi_gpu.primary_state = get_state;
    shmemi_gpu.priority_range = get_priorities;
    shmemi_gpu.device_abilities = get_abilities;
    shmemi_gpu.stream_words = set_words;
    shmemi_gpu.context_current = get_current;
    shmemi_gpu.context_push = push;
    shmemi_gpu.context_pop = pop;
    shmemi_gpu.copy_in = copy_in;
    shmemi_gpu.copy_out = copy_out;
    shmemi_gpu.copy_within = copy_within;
    shmemi_gpu.event_record = record;
    shmemi_gpu.event_synchronize = synchronize;
    shmemi_gpu.capture_mode_exchange = exchange_mode;
}

static struct shmemi_gpu_context *found[TWO];
static void *of_kernels[TWO]; /* the streams of the thread that serves them */
static size_t n_wrong;

static void *serve_kernels(void *unused)
{
    (void)unused;
    shmemi_gpu_serve_kernels();
    for (int i = 0; i < TWO; i++)
        n_wrong += shmemi_gpu_stream(found[i], &of_kernels[i]) || !of_kernels[i];
    return NULL;
}

/* What another thread of the library uses that copies. */
static bool is_right(int i)
{
    void *stream = NULL, *beside = NULL, *again = NULL, *event = NULL;
    return !shmemi_gpu_stream(found[i], &stream) && !shmemi_gpu_stream_beside(found[i], &beside) &&
           !shmemi_gpu_stream(found[i], &again) && !shmemi_gpu_event_take(found[i], &event) && stream && beside &&
           event && stream == again && stream != beside && stream != of_kernels[i] && beside != of_kernels[i];
}

static void *use(void *unused)
{
    (void)unused;
    for (int i = 0; i < TWO; i++)
        n_wrong += !is_right(i);
    return NULL;
}

static void run_thread(void *(*run)(void *))
{
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, run, NULL));
    pthread_join(thread, NULL);
}

static struct shmemi_gpu_context *context_of(size_t number)
{
    struct shmemi_gpu_context *context = NULL;
    CHECK(!shmemi_gpu_context_find((void *)(number << 20), (int)number, &context));
    return context;
}

int main(void)
{
    void *stream = NULL;
    open_driver();
    found[0] = context_of(1);
    CHECK(!shmemi_gpu_stream(found[0], &stream) && stream);
    CHECK(!shmemi_gpu_make_ready());
    found[1] = context_of(2); /* a context that comes later */
    CHECK(!shmemi_gpu_make_ready());
    const size_t n_before = atomic_load(&n_made);
    run_thread(serve_kernels);
    for (int i = 0; i < THREADS; i++)
        run_thread(use);
    CHECK(n_wrong == 0);
    CHECK(atomic_load(&n_made) == n_before);
    CHECK(!shmemi_gpu_make_ready() && atomic_load(&n_made) == n_before);
    return 0;
}
