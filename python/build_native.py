# SPDX-License-Identifier: BSD-3-Clause
"""Declares the routines of MapSHMEM to cffi, which writes the extension module mapshmem._native.

Pointers are void * for Python, so that any buffer can be passed; the C compiler knows the true prototypes from
shmem.h, and checks the rest. cffi lets other Python threads run while a routine does.

Where MapSHMEM is, in this order: MAPSHMEM_INCLUDEDIR and MAPSHMEM_LIBDIR (a library that is not installed, as for oshcc),
pkg-config, the oshcc of the PATH. MAPSHMEM_RUNPATH: where programs look for it, instead of there. Other libraries of
OpenSHMEM have an oshcc, too, which may be the first.
"""

import os
import shutil
import subprocess
import sys

from cffi import FFI

# ---- where the library is -------------------------------------------------------------------------------------------


def from_pkg_config(variable):
    command = [os.environ.get("PKG_CONFIG", "pkg-config"), "--variable=" + variable, "mapshmem"]
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def from_oshcc(option):
    """The last directory that oshcc passes with -I or -L."""
    if not shutil.which("oshcc"):
        return ""
    shown = subprocess.run(["oshcc", "-show", "x.c"], check=True, capture_output=True, text=True).stdout.split()
    found = [word[2:] for word in shown if word.startswith(option)]
    return found[-1] if found else ""


def find(variable, option):
    """A list of one directory; of none if there is no MapSHMEM, which sdist does not need."""
    found = os.environ.get("MAPSHMEM_" + variable.upper()) or from_pkg_config(variable) or from_oshcc(option)
    return [found] if found else []


def what_is_missing():
    """One line, if no extension module can be built; nothing if one can."""
    remedy = "put MapSHMEM's oshcc first into the PATH, or its mapshmem.pc into PKG_CONFIG_PATH"
    if not includedir or not libdir:
        return "mapshmem: found no MapSHMEM: " + remedy
    if not os.path.isdir(os.path.join(includedir[0], "mapshmem")):  # headers that no other library has
        return "mapshmem: {} is not of MapSHMEM (oshcc is {}): {}".format(
            includedir[0], shutil.which("oshcc") or "not in the PATH", remedy)
    return ""


def run_path(directories):
    """Programs find what lies in the system's directories without a path; others are told where the library was.
    MAPSHMEM_RUNPATH says otherwise; empty: without a path."""
    if "MAPSHMEM_RUNPATH" in os.environ:
        return [found for found in os.environ["MAPSHMEM_RUNPATH"].split(":") if found]
    return [found for found in directories if not found.startswith(("/usr/lib", "/lib"))]


# ---- what Python calls ----------------------------------------------------------------------------------------------

WORDS = {"int32": "int32_t", "int64": "int64_t", "uint32": "uint32_t", "uint64": "uint64_t"}
FLOATS = {"float": "float", "double": "double"}
SMALL = ["int8", "int16", "uint8", "uint16"]
BITS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
NUMBERS = BITS + ["float", "double", "longdouble"]

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
typedef struct {
    size_t width, rows, layers;
    size_t dest_row_pitch, dest_layer_pitch;
    size_t source_row_pitch, source_layer_pitch;
} shmemx_box_t;
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
uintptr_t mapshmem_py_managed(void *tensor, int is_versioned, int *contiguous, int *code, int *bits,
                              int *lanes, int64_t *nelems, uint64_t *flags);

void shmem_init(void);
int shmem_init_thread(int requested, int *provided);
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
int shmem_broadcastmem(shmem_team_t team, void *dest, const void *source, size_t n, int root);
int shmem_collectmem(shmem_team_t team, void *dest, const void *source, size_t n);
int shmem_fcollectmem(shmem_team_t team, void *dest, const void *source, size_t n);
int shmem_alltoallmem(shmem_team_t team, void *dest, const void *source, size_t n);

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

STREAMS = """
void shmemx_putmem_on_{0}(void *dest, const void *source, size_t n, int pe, {1});
void shmemx_getmem_on_{0}(void *dest, const void *source, size_t n, int pe, {1});
void shmemx_putmem_signal_on_{0}(void *dest, const void *source, size_t n, void *sig, uint64_t value, int op, int pe,
                                 {1});
void shmemx_signal_op_on_{0}(void *sig, uint64_t value, int op, int pe, {1});
void shmemx_signal_wait_until_on_{0}(void *sig, int cmp, uint64_t value, {1});
void shmemx_quiet_on_{0}({1});
void shmemx_sync_all_on_{0}({1});
void shmemx_barrier_all_on_{0}({1});
"""

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


def declarations():
    parts = [FIXED]
    parts.append(STREAMS.format("stream", "shmemx_stream_t stream"))
    parts.append(STREAMS.format("queue", "shmemx_queue_t queue, unsigned n, const shmemx_event_t *events, shmemx_event_t *event"))
    parts += [SIZED.format(bits) for bits in (8, 16, 32, 64, 128)]
    parts += [ANY_ATOMIC.format(name, type_) for name, type_ in {**WORDS, **FLOATS}.items()]
    for name, type_ in WORDS.items():
        parts.append(WORD_ATOMIC.format(name, type_))
        parts += [OPERATION_ATOMIC.format(name, type_, operation) for operation in ("add", "and", "or", "xor")]
        parts.append(WAIT.format(name, type_))
        parts.append(WAIT_SET.format(name, type_, "wait_until", "void"))
        parts.append(WAIT_SET.format(name, type_, "test", "int"))
    for operation, types in (("and", BITS), ("or", BITS), ("xor", BITS), ("max", NUMBERS), ("min", NUMBERS),
                             ("sum", NUMBERS + ["complexf", "complexd"]), ("prod", NUMBERS + ["complexf", "complexd"])):
        parts += ["int shmem_{}_{}_reduce(shmem_team_t team, void *dest, const void *source, size_t n);".format(
            name, operation) for name in types]
    for name in NUMBERS + ["complexf", "complexd"]:
        parts += ["int shmem_{}_sum_{}(shmem_team_t team, void *dest, const void *source, size_t n);".format(name, scan)
                  for scan in ("inscan", "exscan")]
    parts += ["int shmem_{}_alltoalls(shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, "
              "size_t n);".format(name) for name in ("uint8", "uint16", "uint32", "uint64", "longdouble")]
    return "\n".join(parts)


SOURCE = r"""
#include "checked.h"
#include <shmemx.h>
#include <stdint.h>

static int mapshmem_py_check_team(shmem_team_t team)
{
    return !mapshmem_py_running() ? 1 : team == SHMEM_TEAM_INVALID ? 2 : 0;
}

static void mapshmem_py_pcontrol(int level)
{
    shmem_pcontrol(level);
}

/* A tensor as DLPack's header describes it (versions 0 and 1). */
struct dl_tensor {
    void *data;
    int32_t device_type, device_id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
};

struct dl_versioned {
    uint32_t major, minor;
    void *manager;
    void (*deleter)(void *);
    uint64_t flags;
    struct dl_tensor tensor;
};

/* Where its first element is. *contiguous: its elements follow each other in the order of C. */
static uintptr_t mapshmem_py_managed(void *managed, int is_versioned, int *contiguous, int *code, int *bits, int *lanes,
                                     int64_t *nelems, uint64_t *flags)
{
    const struct dl_versioned *versioned = managed;
    const struct dl_tensor *tensor = is_versioned ? &versioned->tensor : managed;
    int64_t expected = 1;
    *contiguous = 1;
    for (int i = tensor->ndim - 1; i >= 0; i--) {
        if (tensor->strides && tensor->shape[i] != 1 && tensor->strides[i] != expected)
            *contiguous = 0;
        expected *= tensor->shape[i];
    }
    *nelems = expected;
    *contiguous |= !expected;
    *code = tensor->code;
    *bits = tensor->bits;
    *lanes = tensor->lanes;
    *flags = is_versioned ? versioned->flags : 0;
    return (uintptr_t)tensor->data + tensor->byte_offset;
}
"""

libdir = find("libdir", "-L")
includedir = find("includedir", "-I")
here = os.path.dirname(os.path.abspath(__file__))
options = {"include_dirs": [here] + includedir, "library_dirs": libdir, "libraries": ["mapshmem"],
           "runtime_library_dirs": run_path(libdir)}
ffibuilder = FFI()
ffibuilder.cdef(declarations())
ffibuilder.set_source("mapshmem._native", SOURCE, py_limited_api=True, **options)

if __name__ == "__main__":
    ffibuilder.compile(verbose=True)
