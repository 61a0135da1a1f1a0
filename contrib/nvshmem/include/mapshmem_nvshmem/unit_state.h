/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What device calls with NVSHMEM's names find without an argument: the state, which every translation unit of a program
 * that nvcc or clang compiles has as a variable of its own in constant memory, and how the host library fills it in.
 *
 * The variable is static. So units need no relocatable device code, do not clash with it, and a shared library has its own.
 * Reading it costs no more than reading an argument of the kernel. A program that is linked with -rdc=true has one for each
 * unit among its 64 KiB of constant memory; see the assertion below.
 *
 * REGISTRATION. A static object of the unit tells the library a callback when the program or a shared library is loaded,
 * and takes it back when that is unloaded. The callback copies a state into the variable, for the GPU that the calling
 * thread has chosen, by the unit's own CUDA runtime. The library
 *   - calls it for all units whenever the state has changed: at the start, and by what makes or ends teams and objects;
 *   - calls it when a unit registers after the start. That may be before the CUDA runtime knows the unit (with -rdc=true it
 *     learns of all units together, behind the last one's registration); the callback then says
 *     NVSHMEMI_MAPSHMEM_UNIT_LATER, and the library calls again in whatever nvshmem call of the host comes next;
 *   - at the end gives units a state of zeros.
 *
 * MODULES that the program loads by itself (cuModuleLoad, NVRTC) register nothing: nvshmemx_cumodule_init finds the variable
 * with cuModuleGetGlobal under the name NVSHMEMI_MAPSHMEM_STATE_NAME and copies the state there. In modules of nvcc
 * -rdc=true the names of static variables and kernels have a prefix that is the unit's own: there is a variable
 * "P" NVSHMEMI_MAPSHMEM_STATE_NAME for each kernel "P" NVSHMEMI_MAPSHMEM_MARK_NAME that cuModuleEnumerateFunctions lists,
 * with the same P.
 */
#ifndef MAPSHMEM_NVSHMEM_UNIT_STATE_H
#define MAPSHMEM_NVSHMEM_UNIT_STATE_H

#include <mapshmem/device_types.h>

enum { NVSHMEMI_MAPSHMEM_STATE_VERSION = 2 }; /* grows when the structure changes */

enum { /* what a kernel has called with a wrong argument */
       NVSHMEMI_CALL_NONE,
       NVSHMEMI_CALL_PUT,
       NVSHMEMI_CALL_GET,
       NVSHMEMI_CALL_STRIDED,
       NVSHMEMI_CALL_PUT_SIGNAL,
       NVSHMEMI_CALL_ATOMIC,
       NVSHMEMI_CALL_WAIT,
       NVSHMEMI_CALL_TEAM
};

/* In page-locked memory of the host: what a kernel says before it ends itself by a trap. The first that does so takes the
 * place, and the others wait until it has written. */
struct nvshmemi_mapshmem_complaint {
    unsigned is_taken, call;    /* NVSHMEMI_CALL_NONE: nothing is written yet */
    unsigned long long address; /* or the number of the team */
    int pe;
};

/* A table is in memory that kernels of this PE's GPU read. A new one takes the place of an old one; the old one stays until
 * no kernel can be running that has begun with it (the next change but one, or the end). */
struct nvshmemi_mapshmem_state {
    shmemx_device_view_t slab; /* the symmetric heap of nvshmem_malloc; its size is 0 before the start */
    const shmemx_device_view_t
        *objects; /* other symmetric memory (registered buffers), sorted by `own`; and one more, for any
                                          * other memory: through it kernels reach what is this PE's own */
    const shmemx_device_team_t *teams; /* by nvshmem_team_t; n_pes is 0 where this PE has no such team. The work area of
                                          * each lies in the slab */
    unsigned n_objects, n_teams;
    struct nvshmemi_mapshmem_complaint *complaint;
};

#define NVSHMEMI_MAPSHMEM_STATE_NAME "nvshmemi_mapshmem_state"
#define NVSHMEMI_MAPSHMEM_MARK_NAME "_Z22nvshmemi_mapshmem_markv"

enum { NVSHMEMI_MAPSHMEM_UNIT_LATER = -1 };

struct nvshmemi_mapshmem_unit {
    unsigned version;     /* NVSHMEMI_MAPSHMEM_STATE_VERSION of the headers with which it was compiled */
    unsigned state_bytes; /* sizeof(struct nvshmemi_mapshmem_state) there */
    const char *file;     /* of the unit, for messages */
    /* Copy a state into the unit's variable, for the GPU that the calling thread has chosen, and wait for the copy, not for
     * kernels. Returns 0, NVSHMEMI_MAPSHMEM_UNIT_LATER, or a positive cudaError_t. */
    int (*set_state)(const struct nvshmemi_mapshmem_state *state);
    /* The library's own. */
    struct nvshmemi_mapshmem_unit *next;
    unsigned is_behind; /* the state has changed since the unit has got it */
};

#if !defined(__CUDACC_RTC__)
#ifdef __cplusplus
extern "C" {
#endif

/* Exported by libnvshmem_host. Any thread may call; the structure stays where it is until it is taken back. */
void nvshmemi_mapshmem_register_unit(struct nvshmemi_mapshmem_unit *unit);
void nvshmemi_mapshmem_unregister_unit(struct nvshmemi_mapshmem_unit *unit);

#ifdef __cplusplus
}
#endif
#endif

/* ---- The unit ---------------------------------------------------------------------------------------------------- */

#if defined(__CUDACC__) || defined(__CUDA__) || defined(__CUDACC_RTC__)

static __constant__ struct nvshmemi_mapshmem_state nvshmemi_mapshmem_state;

static_assert(sizeof(struct nvshmemi_mapshmem_state) <= 160, "400 units of a program share 64 KiB of constant memory");

#if defined(__CUDACC_RDC__)
/* Never started. It shows in a loaded module how the unit's static names begin. */
static __global__ __attribute__((used)) void nvshmemi_mapshmem_mark()
{
}
#endif

#if !defined(__CUDACC_RTC__)

/* On a stream of its own: neither a kernel that is running nor the capture of a graph is in the way. */
static inline cudaError_t nvshmemi_mapshmem_copy_state(const struct nvshmemi_mapshmem_state *state)
{
    cudaStream_t stream;
    cudaError_t rc = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (rc != cudaSuccess)
        return rc;
    rc = cudaMemcpyToSymbolAsync(nvshmemi_mapshmem_state, state, sizeof *state, 0, cudaMemcpyHostToDevice, stream);
    const cudaError_t end = cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
    return rc != cudaSuccess ? rc : end;
}

static inline int nvshmemi_mapshmem_set_state(const struct nvshmemi_mapshmem_state *state)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaThreadExchangeStreamCaptureMode(&mode);
    const cudaError_t rc = nvshmemi_mapshmem_copy_state(state);
    cudaThreadExchangeStreamCaptureMode(&mode);
    if (rc != cudaSuccess)
        (void)cudaGetLastError(); /* the program does not find an error that it has not made */
    return rc == cudaErrorInvalidSymbol ? static_cast<int>(NVSHMEMI_MAPSHMEM_UNIT_LATER) : static_cast<int>(rc);
}

/* A constructor of C++, since nvcc's own that makes the unit known to the CUDA runtime comes before those, but behind
 * functions with __attribute__((constructor)). */
namespace
{
struct nvshmemi_mapshmem_registration {
    nvshmemi_mapshmem_unit unit;
    nvshmemi_mapshmem_registration()
    {
        unit.version = NVSHMEMI_MAPSHMEM_STATE_VERSION;
        unit.state_bytes = sizeof(struct nvshmemi_mapshmem_state);
        unit.file = __BASE_FILE__;
        unit.set_state = nvshmemi_mapshmem_set_state;
        unit.next = 0;
        unit.is_behind = 0;
        nvshmemi_mapshmem_register_unit(&unit);
    }
    ~nvshmemi_mapshmem_registration()
    {
        nvshmemi_mapshmem_unregister_unit(&unit);
    }
};
nvshmemi_mapshmem_registration nvshmemi_mapshmem_this_unit;
} // namespace

#endif
#endif

#endif
