/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A network in place of UCX: the functions of UCX that the links call, and hostile peers.
 */
#include "network.h"

#include "transport/ucx/key.c" /* for its messages */

enum { MOST_PENDING = 256, HANDLERS = SHMEMI_UCX_AM_STORED + 1, PEERS = 4 };

/* A message that has arrived, until it is released. */
struct message {
    struct message *next;
    char *payload;
    size_t size;
    bool is_rendezvous;
};

/* An operation under way. */
struct operation {
    ucp_request_param_t param;
    const void *header, *payload; /* of a send */
    size_t header_size, size;
    struct message *message; /* of a receive, with its buffer */
    void *buffer;
};

static struct {
    struct fuzz_input *input;
    struct {
        ucp_am_recv_callback_t call;
        void *argument;
    } handler[HANDLERS];
    struct message *messages;
    struct operation operation[MOST_PENDING];
    unsigned n_operations;
    int turns; /* of the wait for a key */
} network;

static const struct fuzz_input no_input;

/* ---- Operations -------------------------------------------------------------------------------------------------- */

/* Read all of it, so that the sanitizers notice memory that is not there. */
static void touch(const void *memory, size_t size)
{
    static volatile unsigned char sum;
    for (size_t i = 0; i < size; i++)
        sum += ((const unsigned char *)memory)[i];
}

static void forget_message(struct message *message)
{
    struct message **link = &network.messages;
    while (*link != message) {
        ALWAYS(*link); /* released twice, or never seen */
        link = &(*link)->next;
    }
    *link = message->next;
    free(message->payload);
    free(message);
}

static void complete(unsigned i, ucs_status_t status)
{
    struct operation operation = network.operation[i];
    network.operation[i] = network.operation[--network.n_operations];
    void *request = fuzz_memory(1); /* freed by the callback */
    touch(operation.header, operation.header_size);
    touch(operation.payload, operation.size);
    if (!operation.message) {
        operation.param.cb.send(request, status, operation.param.user_data);
        return;
    }
    size_t size = operation.message->size;
    if (status == UCS_OK)
        memcpy(operation.buffer, operation.message->payload, size);
    forget_message(operation.message);
    operation.param.cb.recv_am(request, status, size, operation.param.user_data);
}

static bool in_staging(const char *buffer, size_t size)
{
    size_t at = (size_t)(buffer - shmemi_staging.memory);
    return at < 2 * shmemi_staging.slots * shmemi_staging.chunk && at % shmemi_staging.chunk == 0 &&
           size <= shmemi_staging.chunk;
}

static ucs_status_ptr_t start(const struct operation *operation)
{
    network.operation[network.n_operations++] = *operation;
    return &network; /* any address that is no error */
}

ucs_status_ptr_t ucp_am_send_nbx(ucp_ep_h endpoint, unsigned id, const void *header, size_t header_size,
                                 const void *payload, size_t size, const ucp_request_param_t *param)
{
    (void)endpoint;
    uint8_t choice = fuzz_byte(network.input);
    touch(header, header_size);
    touch(payload, size);
    if (id == SHMEMI_UCX_AM_KEY_REQUEST || choice < 128 || network.n_operations == MOST_PENDING)
        return NULL;
    if (choice < 144)
        return UCS_STATUS_PTR(UCS_ERR_CONNECTION_RESET);
    return start(&(struct operation){*param, header, payload, header_size, size, NULL, NULL});
}

ucs_status_ptr_t ucp_am_recv_data_nbx(ucp_worker_h worker, void *descriptor, void *buffer, size_t size,
                                      const ucp_request_param_t *param)
{
    (void)worker;
    struct message *message = descriptor;
    uint8_t choice = fuzz_byte(network.input);
    ALWAYS(message->is_rendezvous && message->size == size && in_staging(buffer, size));
    if (choice >= 144 && network.n_operations < MOST_PENDING)
        return start(&(struct operation){*param, NULL, NULL, 0, 0, message, buffer});
    if (choice < 128)
        memcpy(buffer, message->payload, size);
    forget_message(message);
    return choice < 128 ? NULL : UCS_STATUS_PTR(UCS_ERR_CONNECTION_RESET);
}

void ucp_am_data_release(ucp_worker_h worker, void *data)
{
    (void)worker;
    struct message *message = network.messages;
    while (message && (message->is_rendezvous ? (void *)message : (void *)message->payload) != data)
        message = message->next;
    forget_message(message);
}

void ucp_request_free(void *request)
{
    free(request);
}

/* ---- Memory and keys --------------------------------------------------------------------------------------------- */

ucs_status_t ucp_worker_set_am_recv_handler(ucp_worker_h worker, const ucp_am_handler_param_t *param)
{
    (void)worker;
    ALWAYS(param->id < HANDLERS);
    network.handler[param->id].call = param->cb;
    network.handler[param->id].argument = param->field_mask & UCP_AM_HANDLER_PARAM_FIELD_ARG ? param->arg : NULL;
    return UCS_OK;
}

ucs_status_t ucp_mem_map(ucp_context_h context, const ucp_mem_map_params_t *params, ucp_mem_h *memory_p)
{
    (void)context;
    *memory_p = params->address;
    return UCS_OK;
}

ucs_status_t ucp_mem_unmap(ucp_context_h context, ucp_mem_h memory)
{
    (void)context, (void)memory;
    return UCS_OK;
}

ucs_status_t ucp_rkey_pack(ucp_context_h context, ucp_mem_h memory, void **key_p, size_t *size_p)
{
    (void)context, (void)memory;
    *size_p = 100;
    *key_p = calloc(1, *size_p);
    ALWAYS(*key_p);
    return UCS_OK;
}

void ucp_rkey_buffer_release(void *key)
{
    free(key);
}

/* It is not told how long the key is, so it may look at all that a key can have: a set of 64 parts, a type of memory,
 * and the parts, each with its length before it. */
ucs_status_t ucp_ep_rkey_unpack(ucp_ep_h endpoint, const void *bytes, ucp_rkey_h *key_p)
{
    (void)endpoint;
    touch(bytes, 64 / 8 + 1 + 64 * 256);
    *key_p = fuzz_memory(1);
    if (fuzz_byte(network.input) < 200)
        return UCS_OK;
    free(*key_p);
    return UCS_ERR_UNREACHABLE;
}

void ucp_rkey_destroy(ucp_rkey_h key)
{
    free(key);
}

const char *ucs_status_string(ucs_status_t status)
{
    return status == UCS_OK ? "good" : "bad";
}

/* ---- What the links take from ucx.c that would open connections: the linker puts these in its place -------------- */

int __wrap_shmemi_ucx_endpoint(int pe, ucp_ep_h *endpoint_p);
int __wrap_shmemi_ucx_endpoint_locked(int pe, ucp_ep_h *endpoint_p);
ucp_ep_h __wrap_shmemi_ucx_endpoint_made(int pe);
bool __wrap_shmemi_ucx_peer_is_lost(int pe);
void __wrap_shmemi_ucx_turn(unsigned *spins);
enum shmemi_ucx_rdma __wrap_shmemi_ucx_is_rdma(ucp_ep_h endpoint);

int __wrap_shmemi_ucx_endpoint(int pe, ucp_ep_h *endpoint_p)
{
    (void)pe;
    *endpoint_p = (ucp_ep_h)&network;
    return 0;
}

int __wrap_shmemi_ucx_endpoint_locked(int pe, ucp_ep_h *endpoint_p)
{
    pthread_mutex_lock(&shmemi_ucx.initiator_lock);
    return __wrap_shmemi_ucx_endpoint(pe, endpoint_p);
}

ucp_ep_h __wrap_shmemi_ucx_endpoint_made(int pe)
{
    (void)pe;
    return (ucp_ep_h)&network;
}

bool __wrap_shmemi_ucx_peer_is_lost(int pe)
{
    (void)pe;
    return false;
}

enum shmemi_ucx_rdma __wrap_shmemi_ucx_is_rdma(ucp_ep_h endpoint)
{
    (void)endpoint;
    return fuzz_byte(network.input) & 1 ? SHMEMI_UCX_RDMA : SHMEMI_UCX_NO_RDMA;
}

/* ---- Peers ------------------------------------------------------------------------------------------------------- */

/* The data is in a buffer that is gone after the call, or one to be kept, or still with the sender. */
static ucs_status_t call_handler(unsigned id, const void *header, size_t header_size, struct message *message,
                                 uint8_t choice)
{
    ucp_am_recv_param_t param = {.recv_attr = UCP_AM_RECV_ATTR_FIELD_REPLY_EP, .reply_ep = (ucp_ep_h)&network};
    if (choice == 255)
        param.recv_attr = 0;
    if (message->is_rendezvous)
        param.recv_attr |= UCP_AM_RECV_ATTR_FLAG_RNDV;
    else if (choice & 1)
        param.recv_attr |= UCP_AM_RECV_ATTR_FLAG_DATA;
    ucs_status_t status =
        network.handler[id].call(network.handler[id].argument, header, header_size,
                                 message->is_rendezvous ? (void *)message : message->payload, message->size, &param);
    ALWAYS(status == UCS_OK || status == UCS_INPROGRESS);
    ALWAYS(status == UCS_OK || param.recv_attr & (UCP_AM_RECV_ATTR_FLAG_RNDV | UCP_AM_RECV_ATTR_FLAG_DATA));
    return status;
}

static bool is_for_initiator(unsigned id)
{
    return id == SHMEMI_UCX_AM_ANSWER || id == SHMEMI_UCX_AM_KEY_ANSWER || id == SHMEMI_UCX_AM_STORED;
}

void network_deliver(struct fuzz_input *input, unsigned id, const void *header, size_t header_size, char *payload,
                     size_t size)
{
    uint8_t choice = fuzz_byte(input);
    pthread_mutex_t *lock = is_for_initiator(id) ? &shmemi_ucx.initiator_lock : &shmemi_ucx.service_lock;
    struct message *message = fuzz_memory(sizeof *message);
    *message = (struct message){network.messages, payload, size, size && choice % 8 >= 5};
    network.messages = message;
    pthread_mutex_lock(lock);
    if (call_handler(id, header, header_size, message, choice) == UCS_OK)
        forget_message(message);
    pthread_mutex_unlock(lock);
}

void network_answer(struct fuzz_input *input)
{
    struct shmemi_ucx_answer answer;
    memset(&answer, 0, sizeof answer);
    answer.job_key = shmemi_job.key;
    answer.owner = (uint32_t)fuzz_below(input, PEERS + 1);
    answer.slot = (uint16_t)fuzz_below(input, shmemi_staging.slots + 1);
    if (fuzz_byte(input) & 1)
        answer.slot = (uint16_t)(SHMEMI_SLOT_NONE + (fuzz_byte(input) & 1));
    answer.status = fuzz_byte(input) >= 200 ? -EIO : 0;
    size_t size = fuzz_byte(input) & 1   ? fuzz_below(input, shmemi_staging.chunk * 2)
                  : fuzz_byte(input) & 1 ? 8 + fuzz_below(input, 8) / 4
                                         : 0;
    uint8_t odd = fuzz_byte(input);
    if (odd >= 240)
        ((uint8_t *)&answer)[fuzz_below(input, sizeof answer)] = fuzz_byte(input);
    char *data = fuzz_memory(size);
    memset(data, 5, size);
    network_deliver(input, SHMEMI_UCX_AM_ANSWER, &answer, odd == 239 ? fuzz_below(input, sizeof answer) : sizeof answer,
                    data, size);
}

void network_ask_key(struct fuzz_input *input)
{
    struct key_request request;
    memset(&request, 0, sizeof request);
    request.job_key = shmemi_job.key;
    request.token = fuzz_byte(input);
    request.origin = (uint32_t)fuzz_below(input, PEERS + 1);
    request.region = (uint32_t)(fuzz_byte(input) < 200 ? fuzz_below(input, 5) : fuzz_number(input));
    uint8_t odd = fuzz_byte(input);
    size_t size = odd >= 250 ? fuzz_below(input, sizeof request) : sizeof request;
    if (odd < 16)
        ((uint8_t *)&request)[fuzz_below(input, sizeof request)] = fuzz_byte(input);
    size_t extra = odd == 249 ? 8 : 0;
    network_deliver(input, SHMEMI_UCX_AM_KEY_REQUEST, &request, size, calloc(1, extra + 1), extra);
}

static void answer_with_key(struct fuzz_input *input)
{
    uint8_t odd = fuzz_byte(input);
    size_t size = odd & 1 ? fuzz_below(input, 200) : odd & 2 ? KEY_SIZE_MAX + fuzz_below(input, 3) - 1 : 100;
    struct key_answer answer;
    memset(&answer, 0, sizeof answer);
    answer.job_key = shmemi_job.key;
    answer.token = fetch.token;
    answer.address = fuzz_word(input);
    answer.size = odd & 4 ? fuzz_number(input) : 4096;
    answer.status = odd & 8 ? -(int)fuzz_below(input, 200) : 0;
    answer.key_size = (uint32_t)size;
    if (odd >= 192)
        ((uint8_t *)&answer)[fuzz_below(input, sizeof answer)] = fuzz_byte(input);
    char *key = fuzz_memory(size);
    memset(key, 1, size);
    network_deliver(input, SHMEMI_UCX_AM_KEY_ANSWER, &answer,
                    odd == 255 ? fuzz_below(input, sizeof answer) : sizeof answer, key, size);
}

void network_fetch_key(struct fuzz_input *input)
{
    struct shmemi_view view = {.pe = 2 + (int)(fuzz_byte(input) & 1), .region = 0, .size = 4096};
    view.data = calloc(1, sizeof(struct shmemi_ucx_target));
    ALWAYS(view.data);
    network.turns = 0;
    struct shmemi_ucx_target *target = view.data;
    int rc = shmemi_ucx_target_open(&view);
    ALWAYS(!rc == atomic_load(&target->ready));
    shmemi_ucx_target_close(target);
}

static void refuse_key(void)
{
    struct fuzz_input nothing = no_input;
    const struct key_answer answer = {.job_key = shmemi_job.key, .token = fetch.token, .status = -ENOTSUP};
    network_deliver(&nothing, SHMEMI_UCX_AM_KEY_ANSWER, &answer, sizeof answer, fuzz_memory(0), 0);
}

/* Called while a key is awaited: an answer comes, in the end one that is right. */
void __wrap_shmemi_ucx_turn(unsigned *spins)
{
    ++*spins;
    if (++network.turns < 8 && network.input->size)
        answer_with_key(network.input);
    else
        refuse_key();
}

/* ---- Begin and end ----------------------------------------------------------------------------------------------- */

void network_open(char *const *region, const size_t *size, int n)
{
    pthread_mutexattr_t recursive;
    const char *cause;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&shmemi_ucx.service_lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    ALWAYS(!shmemi_ucx_request_open() && !shmemi_ucx_key_open() && !shmemi_ucx_store_open());
    for (int i = 0; i < n - 1; i++)
        ALWAYS(!shmemi_ucx_expose_typed((uint32_t)i, region[i], size[i], UCS_MEMORY_TYPE_HOST, &cause));
}

void network_reset(struct fuzz_input *input)
{
    network.input = input;
}

void network_complete(struct fuzz_input *input)
{
    if (!network.n_operations)
        return;
    unsigned i = (unsigned)fuzz_below(input, network.n_operations);
    complete(i, fuzz_byte(input) < 200 ? UCS_OK : UCS_ERR_CONNECTION_RESET);
}

void network_lose_peers(void)
{
    static struct fuzz_input nothing;
    nothing = no_input;
    network.input = &nothing;
    for (int pe = 2; pe < PEERS; pe++) {
        pthread_mutex_lock(&shmemi_ucx.initiator_lock);
        shmemi_ucx_request_peer_lost(pe);
        shmemi_ucx_stores_peer_lost(pe);
        pthread_mutex_unlock(&shmemi_ucx.initiator_lock);
    }
}

void network_complete_all(void)
{
    while (network.n_operations)
        complete(0, UCS_OK);
}

void network_check_end(void)
{
    ALWAYS(!network.messages && !network.n_operations && !shmemi_ucx_request_pending());
    network_check_stores();
}
