/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Contexts, their queues, and the test whether a CPU's buffers can be copied by load and store.
 */
#include "gpu/opencl/opencl_context.h"

#include "base/log.h"
#include "base/settings.h"
#include "gpu/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { PROOF_BYTES = 4096 };

static struct shmemi_opencl *const cl = &shmemi_opencl;
static pthread_mutex_t contexts_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t map_lock = PTHREAD_MUTEX_INITIALIZER;
static struct shmemi_opencl_context *contexts;

static cl_int map_and_unmap(cl_command_queue queue, cl_mem buffer, size_t size, void **address_p)
{
    cl_int status;
    *address_p = cl->clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ, 0, size, 0, NULL, NULL, &status);
    if (status == CL_SUCCESS)
        status = cl->clEnqueueUnmapMemObject(queue, buffer, *address_p, 0, NULL, NULL);
    if (status == CL_SUCCESS)
        status = cl->clFinish(queue);
    return status;
}

/* Under a lock: PoCL 3.1 corrupts its list of maps when several threads map the same buffer at once. */
char *shmemi_opencl_map_address(cl_command_queue queue, cl_mem buffer, size_t size)
{
    void *address = NULL;
    pthread_mutex_lock(&map_lock);
    cl_int status = map_and_unmap(queue, buffer, size, &address);
    pthread_mutex_unlock(&map_lock);
    return status == CL_SUCCESS ? address : NULL;
}

/* Does the address show what the device writes, and does the device read what is stored at the address? */
static bool is_storage(cl_command_queue queue, cl_mem buffer, char *address)
{
    char pattern[PROOF_BYTES], seen[PROOF_BYTES];
    memset(pattern, 0x5a, sizeof pattern);
    if (cl->clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof pattern, pattern, 0, NULL, NULL) != CL_SUCCESS ||
        memcmp(address, pattern, sizeof pattern) != 0)
        return false;
    memset(pattern, 0xc3, sizeof pattern);
    memcpy(address, pattern, sizeof pattern);
    return cl->clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof seen, seen, 0, NULL, NULL) == CL_SUCCESS &&
           memcmp(seen, pattern, sizeof seen) == 0;
}

/* Test on a new buffer whether maps in this context return the device's storage, the same every time. */
static bool prove_direct(const struct shmemi_opencl_context *context, cl_mem_flags flags, void *host)
{
    cl_int status;
    cl_command_queue queue = context->lane[0].queue[SHMEMI_OPENCL_WRITE];
    cl_mem buffer = cl->clCreateBuffer(context->context, CL_MEM_READ_WRITE | flags, PROOF_BYTES, host, &status);
    if (status != CL_SUCCESS)
        return false;
    char *address = shmemi_opencl_map_address(queue, buffer, PROOF_BYTES);
    bool proved = address && address == shmemi_opencl_map_address(queue, buffer, PROOF_BYTES) &&
                  is_storage(queue, buffer, address);
    cl->clReleaseMemObject(buffer);
    return proved;
}

/* Is this a CPU, whose memory is the host's? */
static bool is_host_device(cl_device_id device)
{
    cl_device_type type = 0;
    cl_bool unified = CL_FALSE;
    cl->clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    cl->clGetDeviceInfo(device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof unified, &unified, NULL);
    return (type & CL_DEVICE_TYPE_CPU) && unified;
}

/* Decide whether buffers may be copied by load and store. Only with a single device: a buffer of several moves between
 * their memories. User-supplied memory may be badly aligned, so such a buffer is tested, too. */
static void choose_direct(struct shmemi_opencl_context *context, size_t n_devices)
{
    if (shmemi_settings.opencl_copy == SHMEMI_OPENCL_COPY_QUEUE || n_devices != 1 || !is_host_device(context->device))
        return;
    char host[PROOF_BYTES + 8] __attribute__((aligned(8)));
    context->direct = prove_direct(context, 0, NULL) && prove_direct(context, CL_MEM_ALLOC_HOST_PTR, NULL) &&
                      prove_direct(context, CL_MEM_USE_HOST_PTR, host + 4);
    shmemi_debug("OpenCL buffers of this context are copied %s", context->direct ? "by load and store" : "by queues");
}

/* Make queues on the first of the context's devices on which that succeeds. */
static cl_int choose_device(struct shmemi_opencl_context *context)
{
    size_t nbytes = 0;
    cl_int status = cl->clGetContextInfo(context->context, CL_CONTEXT_DEVICES, 0, NULL, &nbytes);
    cl_device_id *devices = malloc(nbytes + 1);
    if (!devices)
        return CL_OUT_OF_HOST_MEMORY;
    if (status == CL_SUCCESS)
        status = cl->clGetContextInfo(context->context, CL_CONTEXT_DEVICES, nbytes, devices, NULL);
    size_t n_devices = status == CL_SUCCESS ? nbytes / sizeof *devices : 0;
    for (size_t i = 0; i < n_devices; i++) {
        context->device = devices[i];
        status = shmemi_opencl_lanes_open(context, devices[i]);
        if (status == CL_SUCCESS)
            break;
    }
    free(devices);
    if (status == CL_SUCCESS)
        choose_direct(context, n_devices);
    return status;
}

static struct shmemi_opencl_context *make_context(cl_context user, cl_int *status_p)
{
    struct shmemi_opencl_context *context = calloc(1, sizeof *context);
    if (!context) {
        *status_p = CL_OUT_OF_HOST_MEMORY;
        return NULL;
    }
    cl_int status;
    context->context = user;
    *status_p = choose_device(context);
    if (*status_p == CL_SUCCESS)
        *status_p = cl->clRetainContext(user);
    if (*status_p != CL_SUCCESS) {
        shmemi_opencl_lanes_close(context);
        free(context);
        return NULL;
    }
    shmemi_opencl_pin_context(context);
    if (!context->direct)
        context->word = cl->clCreateBuffer(user, CL_MEM_READ_WRITE, SHMEMI_OPENCL_WORD, NULL, &status);
    context->next = contexts;
    contexts = context;
    return context;
}

/* With the lock held. */
static struct shmemi_opencl_context *find(cl_context user)
{
    struct shmemi_opencl_context *context = contexts;
    while (context && context->context != user)
        context = context->next;
    return context;
}

struct shmemi_opencl_context *shmemi_opencl_context_find(cl_context user)
{
    pthread_mutex_lock(&contexts_lock);
    struct shmemi_opencl_context *context = find(user);
    if (context)
        context->references++;
    pthread_mutex_unlock(&contexts_lock);
    return context;
}

bool shmemi_opencl_takes_turns(const struct shmemi_opencl_context *context)
{
    return !context->direct && shmemi_memory_takes_turns(&shmemi_memory_opencl);
}

struct shmemi_opencl_context *shmemi_opencl_context_get(cl_context user, cl_int *status_p)
{
    *status_p = CL_SUCCESS;
    pthread_mutex_lock(&contexts_lock);
    struct shmemi_opencl_context *context = find(user);
    if (!context)
        context = make_context(user, status_p);
    if (context)
        context->references++;
    pthread_mutex_unlock(&contexts_lock);
    return context;
}

void shmemi_opencl_context_put(struct shmemi_opencl_context *context)
{
    pthread_mutex_lock(&contexts_lock);
    if (--context->references == 0) {
        struct shmemi_opencl_context **link = &contexts;
        while (*link != context)
            link = &(*link)->next;
        *link = context->next;
        shmemi_opencl_short_writes_end();
        if (context->word)
            cl->clReleaseMemObject(context->word);
        shmemi_opencl_unpin_context(context);
        shmemi_opencl_lanes_close(context);
        cl->clReleaseContext(context->context);
        free(context);
    }
    pthread_mutex_unlock(&contexts_lock);
}

void shmemi_opencl_contexts_visit(void (*visit)(struct shmemi_opencl_context *context))
{
    pthread_mutex_lock(&contexts_lock);
    for (struct shmemi_opencl_context *context = contexts; context; context = context->next)
        visit(context);
    pthread_mutex_unlock(&contexts_lock);
}
