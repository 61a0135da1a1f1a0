# SPDX-License-Identifier: BSD-3-Clause
"""What Python calls of the library, as cffi reads it: routines that are alike come from one line of a table."""

WORDS = {"int32": "int32_t", "int64": "int64_t", "uint32": "uint32_t", "uint64": "uint64_t"}
FLOATS = {"float": "float", "double": "double"}
SMALL = ["int8", "int16", "uint8", "uint16"]
BITS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
NUMBERS = BITS + ["float", "double", "longdouble"]
HALVES = ["half", "bfloat16"]
OPERATIONS = ["add", "and", "or", "xor"]

FIXED = """
typedef ... *shmem_team_t;
typedef ... *shmem_ctx_t;
typedef ... *shmemx_stream_t;
typedef ... *shmemx_queue_t;
typedef ... *shmemx_event_t;
typedef ... *shmemx_type_t;
typedef struct { int num_contexts; } shmem_team_config_t;
typedef struct { size_t total_ops; } shmem_ctx_session_config_t;
typedef struct { size_t size, used, largest_free; } shmemx_heap_info_t;
typedef struct { unsigned char bytes[128]; } shmemx_uniqueid_t;
typedef struct {
    size_t size;
    int thread_level, pe, n_pes;
    const shmemx_uniqueid_t *uniqueid;
} shmemx_init_attr_t;
typedef struct {
    size_t width, rows, layers;
    size_t dest_row_pitch, dest_layer_pitch;
    size_t source_row_pitch, source_layer_pitch;
} shmemx_box_t;
typedef struct { ...; } shmemx_device_view_t;
typedef struct { ...; } shmemx_device_team_t;
typedef struct { const char *name; size_t offset; int kind; const char *type; size_t n; const char *count; } shmemx_field_t;
typedef struct { size_t size, nobjects, nelems; uint64_t root; int has_offsets; } shmemx_deep_info_t;

const shmem_team_t SHMEM_TEAM_WORLD;
const shmem_team_t SHMEM_TEAM_SHARED;
const shmem_team_t SHMEM_TEAM_INVALID;
const shmem_ctx_t SHMEM_CTX_DEFAULT;
const shmem_ctx_t SHMEM_CTX_INVALID;

int mapshmem_py_running(void);
int mapshmem_py_check(shmem_ctx_t ctx, const void *address, size_t nbytes, int pe);
int mapshmem_py_put(shmem_ctx_t ctx, void *dest, const void *source, size_t n, int pe);
int mapshmem_py_put_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t n, int pe);
int mapshmem_py_get(shmem_ctx_t ctx, void *dest, const void *source, size_t n, int pe);
int mapshmem_py_get_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t n, int pe);
int mapshmem_py_check_team(shmem_team_t team);
void mapshmem_py_pcontrol(int level);
size_t mapshmem_py_work_bytes(int n_pes, size_t nbytes);
uintptr_t mapshmem_py_managed(void *tensor, int is_versioned, int *contiguous, int *code, int *bits,
                              int *lanes, int64_t *nelems, uint64_t *flags);

void shmem_init(void);
int shmem_init_thread(int requested, int *provided);
int shmemx_get_uniqueid(shmemx_uniqueid_t *id);
int shmemx_init_attr(const shmemx_init_attr_t *attr, int *provided);
void shmem_query_thread(int *provided);
void shmem_query_initialized(int *initialized);
void shmem_finalize(void);
void shmem_global_exit(int status);
int shmem_my_pe(void);
int shmem_n_pes(void);
int shmem_pe_accessible(int pe);
int shmem_addr_accessible(const void *addr, int pe);
void *shmem_ptr(const void *dest, int pe);
void *shmem_team_ptr(shmem_team_t team, const void *dest, int pe);
void shmem_info_get_version(int *major, int *minor);
void shmem_info_get_name(char *name);

void *shmem_malloc(size_t size);
void *shmem_calloc(size_t count, size_t size);
void *shmem_align(size_t alignment, size_t size);
void *shmem_realloc(void *ptr, size_t size);
void *shmem_malloc_with_hints(size_t size, long hints);
void shmem_free(void *ptr);

int shmem_team_my_pe(shmem_team_t team);
int shmem_team_n_pes(shmem_team_t team);
int shmem_team_get_config(shmem_team_t team, long mask, shmem_team_config_t *config);
int shmem_team_translate_pe(shmem_team_t src_team, int src_pe, shmem_team_t dest_team);
int shmem_team_split_strided(shmem_team_t parent, int start, int stride, int size, const shmem_team_config_t *config,
                             long mask, shmem_team_t *new_team);
int shmem_team_split_2d(shmem_team_t parent, int xrange, const shmem_team_config_t *xconfig, long xmask,
                        shmem_team_t *xteam, const shmem_team_config_t *yconfig, long ymask, shmem_team_t *yteam);
void shmem_team_destroy(shmem_team_t team);
int shmem_team_sync(shmem_team_t team);

int shmem_ctx_create(long options, shmem_ctx_t *ctx);
int shmem_team_create_ctx(shmem_team_t team, long options, shmem_ctx_t *ctx);
void shmem_ctx_destroy(shmem_ctx_t ctx);
int shmem_ctx_get_team(shmem_ctx_t ctx, shmem_team_t *team);
void shmem_ctx_session_start(shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t *config, long mask);
void shmem_ctx_session_stop(shmem_ctx_t ctx);

void shmem_ctx_putmem_signal(shmem_ctx_t ctx, void *dest, const void *source, size_t n, void *sig, uint64_t value,
                             int op, int pe);
void shmem_ctx_putmem_signal_nbi(shmem_ctx_t ctx, void *dest, const void *source, size_t n, void *sig, uint64_t value,
                                 int op, int pe);
void shmem_ctx_signal_add(shmem_ctx_t ctx, void *sig, uint64_t value, int pe);
void shmem_ctx_signal_set(shmem_ctx_t ctx, void *sig, uint64_t value, int pe);
uint64_t shmem_signal_fetch(const void *sig);
uint64_t shmem_signal_wait_until(void *sig, int cmp, uint64_t value);

void shmem_barrier_all(void);
void shmem_sync_all(void);

void shmem_ctx_fence(shmem_ctx_t ctx);
void shmem_ctx_quiet(shmem_ctx_t ctx);
void shmem_ctx_pe_quiet(shmem_ctx_t ctx, const int *pes, size_t npes);
void shmem_set_lock(void *lock);
int shmem_test_lock(void *lock);
void shmem_clear_lock(void *lock);

void *shmmap(void *obj, size_t size, int type);
void shmumap(void *ptr);
const char *shmemx_strerror(void);
const char *shmemx_last_error(void);
const char *shmemx_route(const void *addr, int pe);
int shmemx_my_device(int type);
int shmemx_kernels_may_wait(int type);
int shmemx_device_view(const void *symmetric, shmemx_device_view_t *view);
int shmemx_device_team_view(shmem_team_t team, void *work, size_t nbytes, shmemx_device_team_t *view);
int shmemx_device_sharers(void);
int shmemx_device_spare_blocks(void);
int shmemx_prepare(void *ptr, size_t size);
int shmemx_release(void *ptr);
int shmemx_prepared(const void *ptr, size_t size);
void shmemx_heap_info(shmemx_heap_info_t *info);
void shmemx_ctx_put_box(shmem_ctx_t ctx, void *dest, const void *source, const shmemx_box_t *box, int pe);
void shmemx_ctx_get_box(shmem_ctx_t ctx, void *dest, const void *source, const shmemx_box_t *box, int pe);
void shmemx_ctx_put_box_nbi(shmem_ctx_t ctx, void *dest, const void *source, const shmemx_box_t *box, int pe);
void shmemx_ctx_get_box_nbi(shmem_ctx_t ctx, void *dest, const void *source, const shmemx_box_t *box, int pe);

shmemx_type_t shmemx_type_create(const char *name, size_t size, size_t nfields, const shmemx_field_t *fields);
shmemx_type_t shmemx_type_find(const char *name);
int shmemx_type_destroy(shmemx_type_t type);
uint64_t shmemx_type_hash(shmemx_type_t type);
ptrdiff_t shmemx_put_deep(void *dest, size_t capacity, const void *source, shmemx_type_t type, size_t n, int pe);
ptrdiff_t shmemx_put_deep_signal(void *dest, size_t capacity, const void *source, shmemx_type_t type, size_t n,
                                 void *sig, uint64_t value, int op, int pe);
int shmemx_deep_info(const void *image, shmemx_type_t type, shmemx_deep_info_t *info, int pe);
ptrdiff_t shmemx_get_deep(void *dest, const void *image, shmemx_type_t type, size_t n, int pe);
void *shmemx_get_deep_new(const void *image, shmemx_type_t type, size_t *n, int pe);
void shmemx_deep_free(void *objects);
"""

# Operations on streams: name(arguments). Each has a form for CUDA streams and one for OpenCL queues.
STREAMS = ["putmem(void *dest, const void *source, size_t n, int pe)",
           "getmem(void *dest, const void *source, size_t n, int pe)",
           "putmem_signal(void *dest, const void *source, size_t n, void *sig, uint64_t value, int op, int pe)",
           "signal_op(void *sig, uint64_t value, int op, int pe)", "signal_fetch(void *fetch, const void *sig)",
           "signal_wait_until(void *sig, int cmp, uint64_t value)",
           "signal_wait_until_set(void *sig, int cmp, uint64_t value, uint64_t new_value)",
           "fence()", "quiet()", "sync_all()", "barrier_all()"]
SIZED_STREAMS = ["iput{0}(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t n, int pe)",
                 "iget{0}(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t n, int pe)"]
ANY_ATOMIC_STREAMS = ["{0}_atomic_fetch(void *fetch, const void *source, int pe)", "{0}_atomic_set(void *dest, {1} value, int pe)",
                      "{0}_atomic_swap(void *fetch, void *dest, {1} value, int pe)"]
WORD_STREAMS = ["{0}_atomic_compare_swap(void *fetch, void *dest, {1} cond, {1} value, int pe)",
                "{0}_atomic_fetch_inc(void *fetch, void *dest, int pe)", "{0}_atomic_inc(void *dest, int pe)",
                "{0}_wait_until(void *ivar, int cmp, {1} value)",
                "{0}_wait_until_all(void *ivars, size_t n, const int *status, int cmp, {1} value)",
                "{0}_wait_until_any(void *index, void *ivars, size_t n, const int *status, int cmp, {1} value)"]
OPERATION_STREAMS = ["{0}_atomic_fetch_{2}(void *fetch, void *dest, {1} value, int pe)",
                     "{0}_atomic_{2}(void *dest, {1} value, int pe)"]

# Collectives: shmem_NAME, or shmemx_NAME for types that OpenSHMEM does not have, and both forms on streams.
COLLECTIVES = ["broadcastmem(shmem_team_t team, void *dest, const void *source, size_t n, int root)",
               "collectmem(shmem_team_t team, void *dest, const void *source, size_t n)",
               "fcollectmem(shmem_team_t team, void *dest, const void *source, size_t n)",
               "alltoallmem(shmem_team_t team, void *dest, const void *source, size_t n)"]
ALLTOALLS = "{0}_alltoalls(shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t n)"
COMBINATION = "{0}_{1}(shmem_team_t team, void *dest, const void *source, size_t n)"

SIZED = """
void shmem_ctx_iput{0}(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t n, int pe);
void shmem_ctx_iget{0}(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t n, int pe);
void shmem_ctx_ibput{0}(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t b,
                        size_t n, int pe);
void shmem_ctx_ibget{0}(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t b,
                        size_t n, int pe);
"""

ANY_ATOMIC = """
{1} shmem_ctx_{0}_atomic_fetch(shmem_ctx_t ctx, const void *source, int pe);
void shmem_ctx_{0}_atomic_set(shmem_ctx_t ctx, void *dest, {1} value, int pe);
{1} shmem_ctx_{0}_atomic_swap(shmem_ctx_t ctx, void *dest, {1} value, int pe);
void shmem_ctx_{0}_atomic_fetch_nbi(shmem_ctx_t ctx, void *fetch, const void *source, int pe);
void shmem_ctx_{0}_atomic_swap_nbi(shmem_ctx_t ctx, void *fetch, void *dest, {1} value, int pe);
"""

WORD_ATOMIC = """
{1} shmem_ctx_{0}_atomic_compare_swap(shmem_ctx_t ctx, void *dest, {1} cond, {1} value, int pe);
{1} shmem_ctx_{0}_atomic_fetch_inc(shmem_ctx_t ctx, void *dest, int pe);
void shmem_ctx_{0}_atomic_inc(shmem_ctx_t ctx, void *dest, int pe);
void shmem_ctx_{0}_atomic_compare_swap_nbi(shmem_ctx_t ctx, void *fetch, void *dest, {1} cond, {1} value, int pe);
void shmem_ctx_{0}_atomic_fetch_inc_nbi(shmem_ctx_t ctx, void *fetch, void *dest, int pe);
"""

OPERATION_ATOMIC = """
{1} shmem_ctx_{0}_atomic_fetch_{2}(shmem_ctx_t ctx, void *dest, {1} value, int pe);
void shmem_ctx_{0}_atomic_{2}(shmem_ctx_t ctx, void *dest, {1} value, int pe);
void shmem_ctx_{0}_atomic_fetch_{2}_nbi(shmem_ctx_t ctx, void *fetch, void *dest, {1} value, int pe);
"""

WAIT = """
void shmem_{0}_wait_until(void *ivar, int cmp, {1} value);
int shmem_{0}_test(void *ivar, int cmp, {1} value);
"""

WAIT_SET = """
{3} shmem_{0}_{2}_all(void *ivars, size_t n, const int *status, int cmp, {1} value);
size_t shmem_{0}_{2}_any(void *ivars, size_t n, const int *status, int cmp, {1} value);
size_t shmem_{0}_{2}_some(void *ivars, size_t n, void *indices, const int *status, int cmp, {1} value);
{3} shmem_{0}_{2}_all_vector(void *ivars, size_t n, const int *status, int cmp, const void *values);
size_t shmem_{0}_{2}_any_vector(void *ivars, size_t n, const int *status, int cmp, const void *values);
size_t shmem_{0}_{2}_some_vector(void *ivars, size_t n, void *indices, const int *status, int cmp, const void *values);
"""


def combinations():
    """(operation, types) of all reductions and scans."""
    arithmetic = NUMBERS + ["complexf", "complexd"]
    yield from ((operation + "_reduce", BITS) for operation in ("and", "or", "xor"))
    yield from ((operation + "_reduce", NUMBERS + HALVES) for operation in ("max", "min"))
    yield from (("sum_reduce", arithmetic + HALVES), ("prod_reduce", arithmetic))
    yield from (("sum_" + scan, arithmetic) for scan in ("inscan", "exscan"))


def collectives():
    yield from COLLECTIVES
    yield from (ALLTOALLS.format(name) for name in ("uint8", "uint16", "uint32", "uint64", "longdouble"))
    yield from (COMBINATION.format(name, operation) for operation, types in combinations() for name in types)


def operations_on_streams():
    yield from STREAMS
    yield from (form.format(bits) for form in SIZED_STREAMS for bits in (8, 16, 32, 64, 128))
    yield from ("{0}_p(void *dest, {0}_t value, int pe)".format(name) for name in BITS if name[0] == "u")
    for name, type_ in {**WORDS, **FLOATS}.items():
        yield from (form.format(name, type_) for form in ANY_ATOMIC_STREAMS)
    for name, type_ in WORDS.items():
        yield from (form.format(name, type_) for form in WORD_STREAMS)
        yield from (form.format(name, type_, operation) for form in OPERATION_STREAMS
                    for operation in OPERATIONS)


def on_streams(result, operation):
    """Both forms of an operation."""
    name, arguments = operation[:-1].split("(")
    comma = ", " if arguments else ""
    return [result + " shmemx_" + name + form + "(" + arguments + comma + place + ");" for form, place in (
        ("_on_stream", "shmemx_stream_t stream"),
        ("_on_queue", "shmemx_queue_t queue, unsigned n_events, const shmemx_event_t *events, shmemx_event_t *event"))]


def declarations():
    parts = [FIXED]
    for operation in operations_on_streams():
        parts += on_streams("void", operation)
    for operation in collectives():
        is_standard = operation.split("_")[0] not in HALVES
        parts += ["int " + ("shmem_" if is_standard else "shmemx_") + operation + ";"] + on_streams("int", operation)
    parts += on_streams("int", "team_sync(shmem_team_t team)") + on_streams("int", "team_barrier(shmem_team_t team)")
    parts += [SIZED.format(bits) for bits in (8, 16, 32, 64, 128)]
    parts += [ANY_ATOMIC.format(name, type_) for name, type_ in {**WORDS, **FLOATS}.items()]
    for name, type_ in WORDS.items():
        parts.append(WORD_ATOMIC.format(name, type_))
        parts += [OPERATION_ATOMIC.format(name, type_, operation) for operation in OPERATIONS]
        parts.append(WAIT.format(name, type_))
        parts.append(WAIT_SET.format(name, type_, "wait_until", "void"))
        parts.append(WAIT_SET.format(name, type_, "test", "int"))
    return "\n".join(parts)
