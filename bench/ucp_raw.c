/* SPDX-License-Identifier: BSD-3-Clause
 *
 * UCX alone, with the loops of osu_oshm_put, get, put_mr and atomics: what an OpenSHMEM library between two hosts is
 * measured against. A put counts when a flush has completed it at the target, which ucx_perftest does not measure.
 *
 *     ucp_raw PORT                                                  the target; ends with its one client
 *     ucp_raw HOST PORT put|get|put_mr|fadd SIZE COUNT WARMUP       prints the size and the figure
 *
 * The target spins in ucp_worker_progress, as an idle PE of a program would not. No OpenSHMEM library is used:
 *     cc -std=gnu11 -O2 -o ucp_raw ucp_raw.c $(pkg-config --cflags --libs ucx)
 */
#include <ucp/api/ucp.h>

#include <netdb.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER_BYTES = 4 << 20, POLL_EVERY = 4096 };

/* One process: its UCX objects and, on the client, the way to the target's buffer. */
struct process {
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_mem_h memory;
    char *buffer;
    ucp_ep_h endpoint;
    ucp_rkey_h key;
    uint64_t remote;
    int socket;
};

static void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

static void fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("ucp_raw: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(EXIT_FAILURE);
}

static void must(ucs_status_t status, const char *call)
{
    if (status != UCS_OK)
        fail("%s: %s", call, ucs_status_string(status));
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

/* ---- UCX objects ----------------------------------------------------------------------------------------------- */

static void open_ucx(struct process *process)
{
    ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_RMA | UCP_FEATURE_AMO64};
    ucp_worker_params_t worker = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                  .thread_mode = UCS_THREAD_MODE_SINGLE};
    ucp_mem_map_params_t map = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS,
                                .length = BUFFER_BYTES,
                                .flags = UCP_MEM_MAP_ALLOCATE};
    ucp_mem_attr_t attributes = {.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS};
    ucp_config_t *config;
    must(ucp_config_read(NULL, NULL, &config), "ucp_config_read");
    must(ucp_init(&params, config, &process->context), "ucp_init");
    ucp_config_release(config);
    must(ucp_worker_create(process->context, &worker, &process->worker), "ucp_worker_create");
    must(ucp_mem_map(process->context, &map, &process->memory), "ucp_mem_map");
    must(ucp_mem_query(process->memory, &attributes), "ucp_mem_query");
    process->buffer = attributes.address;
    memset(process->buffer, 0, BUFFER_BYTES);
}

static void wait_for(struct process *process, ucs_status_ptr_t request, const char *call)
{
    ucs_status_t status = UCS_PTR_IS_ERR(request) ? UCS_PTR_STATUS(request) : UCS_OK;
    if (UCS_PTR_IS_PTR(request)) {
        while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS)
            ucp_worker_progress(process->worker);
        ucp_request_free(request);
    }
    must(status, call);
}

static void flush(struct process *process)
{
    ucp_request_param_t param = {0};
    wait_for(process, ucp_worker_flush_nbx(process->worker, &param), "ucp_worker_flush_nbx");
}

static void close_ucx(struct process *process)
{
    ucp_request_param_t param = {0};
    if (process->key)
        ucp_rkey_destroy(process->key);
    if (process->endpoint)
        wait_for(process, ucp_ep_close_nbx(process->endpoint, &param), "ucp_ep_close_nbx");
    must(ucp_mem_unmap(process->context, process->memory), "ucp_mem_unmap");
    ucp_worker_destroy(process->worker);
    ucp_cleanup(process->context);
}

/* ---- Exchange over a socket ------------------------------------------------------------------------------------ */

static int open_socket(const char *host, const char *port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = host ? 0 : AI_PASSIVE, .ai_family = AF_INET};
    struct addrinfo *address;
    int rc = getaddrinfo(host, port, &hints, &address), on = 1, fd, accepted;
    if (rc)
        fail("%s:%s: %s", host ? host : "*", port, gai_strerror(rc));
    fd = socket(AF_INET, SOCK_STREAM, 0);
    if (host) {
        if (connect(fd, address->ai_addr, address->ai_addrlen))
            fail("connect to %s:%s: %m", host, port);
        freeaddrinfo(address);
        return fd;
    }
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, address->ai_addr, address->ai_addrlen) || listen(fd, 1) || (accepted = accept(fd, NULL, NULL)) < 0)
        fail("wait at port %s: %m", port);
    freeaddrinfo(address);
    close(fd);
    return accepted;
}

static void send_block(int fd, const void *data, size_t size)
{
    if (send(fd, &size, sizeof size, 0) != sizeof size || send(fd, data, size, 0) != (ssize_t)size)
        fail("send: %m");
}

static void *receive_block(int fd)
{
    size_t size;
    if (recv(fd, &size, sizeof size, MSG_WAITALL) != sizeof size)
        fail("the other process is gone");
    void *data = malloc(size);
    if (!data || recv(fd, data, size, MSG_WAITALL) != (ssize_t)size)
        fail("the other process is gone");
    return data;
}

/* ---- The two processes ----------------------------------------------------------------------------------------- */

static int serve(struct process *process)
{
    struct pollfd gone = {.fd = process->socket, .events = POLLIN};
    uint64_t buffer = (uintptr_t)process->buffer;
    ucp_address_t *address;
    size_t size;
    void *key;
    must(ucp_worker_get_address(process->worker, &address, &size), "ucp_worker_get_address");
    send_block(process->socket, address, size);
    ucp_worker_release_address(process->worker, address);
    must(ucp_rkey_pack(process->context, process->memory, &key, &size), "ucp_rkey_pack");
    send_block(process->socket, key, size);
    ucp_rkey_buffer_release(key);
    send_block(process->socket, &buffer, sizeof buffer);
    while (poll(&gone, 1, 0) == 0) {
        for (int i = 0; i < POLL_EVERY; i++)
            ucp_worker_progress(process->worker);
    }
    return EXIT_SUCCESS;
}

static void connect_to_target(struct process *process)
{
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS};
    ucp_address_t *address = receive_block(process->socket);
    params.address = address;
    must(ucp_ep_create(process->worker, &params, &process->endpoint), "ucp_ep_create");
    void *key = receive_block(process->socket);
    must(ucp_ep_rkey_unpack(process->endpoint, key, &process->key), "ucp_ep_rkey_unpack");
    uint64_t *remote = receive_block(process->socket);
    process->remote = *remote;
    free(remote);
    free(key);
    free(address);
}

static void put(struct process *process, size_t size)
{
    ucp_request_param_t param = {0};
    wait_for(process, ucp_put_nbx(process->endpoint, process->buffer, size, process->remote, process->key, &param),
             "ucp_put_nbx");
}

static void repeat_put(struct process *process, size_t size, long count)
{
    for (long i = 0; i < count; i++) {
        put(process, size);
        flush(process);
    }
}

static void repeat_put_mr(struct process *process, size_t size, long count)
{
    for (long i = 0; i < count; i++)
        put(process, size);
    flush(process);
}

static void repeat_get(struct process *process, size_t size, long count)
{
    ucp_request_param_t param = {0};
    for (long i = 0; i < count; i++)
        wait_for(process, ucp_get_nbx(process->endpoint, process->buffer, size, process->remote, process->key, &param),
                 "ucp_get_nbx");
}

static void repeat_fadd(struct process *process, size_t size, long count)
{
    const ucp_atomic_op_t add = UCP_ATOMIC_OP_ADD;
    uint64_t one = 1, before;
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER,
                                 .datatype = ucp_dt_make_contig(size),
                                 .reply_buffer = &before};
    for (long i = 0; i < count; i++)
        wait_for(process, ucp_atomic_op_nbx(process->endpoint, add, &one, 1, process->remote, process->key, &param),
                 "ucp_atomic_op_nbx");
}

static const struct {
    const char *name;
    void (*repeat)(struct process *process, size_t size, long count);
    int is_rate; /* the figure is bytes per microsecond, which are MB/s, after messages per second */
} operations[] = {
    {"put", repeat_put, 0}, {"get", repeat_get, 0}, {"put_mr", repeat_put_mr, 1}, {"fadd", repeat_fadd, 0}};

static int measure(struct process *process, const char *name, size_t size, long count, long warmup)
{
    size_t i = 0, n = sizeof operations / sizeof operations[0];
    while (i < n && strcmp(operations[i].name, name))
        i++;
    if (i == n || size == 0 || size > BUFFER_BYTES || count < 1)
        fail("%s of %zu bytes, %ld times: cannot do that", name, size, count);
    connect_to_target(process);
    operations[i].repeat(process, size, warmup);
    flush(process);
    double start = now();
    operations[i].repeat(process, size, count);
    double time = (now() - start) / (double)count;
    if (operations[i].is_rate)
        printf("%zu %.2f %.2f\n", size, 1e6 / time, (double)size / time);
    else
        printf("%zu %.4f\n", size, time);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct process process = {0};
    int status;
    if (argc != 2 && argc != 7)
        fail("usage: ucp_raw PORT, and ucp_raw HOST PORT put|get|put_mr|fadd SIZE COUNT WARMUP");
    open_ucx(&process);
    process.socket = open_socket(argc == 2 ? NULL : argv[1], argc == 2 ? argv[1] : argv[2]);
    status = argc == 2 ? serve(&process)
                       : measure(&process, argv[3], strtoul(argv[4], NULL, 10), strtol(argv[5], NULL, 10),
                                 strtol(argv[6], NULL, 10));
    close_ucx(&process);
    close(process.socket);
    return status;
}
