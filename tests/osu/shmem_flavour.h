/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which OpenSHMEM library the benchmarks are built for. With -DOSU_PLAIN_SHMEM they use nothing but the standard API,
 * so that the same source measures another library; GPU buffers and routes need the extensions of MapSHMEM.
 */
#ifndef OSU_SHMEM_FLAVOUR_H
#define OSU_SHMEM_FLAVOUR_H

#include <shmem.h>

#include <stddef.h>
#include <stdint.h>

/* Teams and nonblocking atomic operations came with OpenSHMEM 1.5. */
#define OSU_FOLLOWS_1_5 (SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION >= 5)
#define OSU_HAS_TEAMS OSU_FOLLOWS_1_5
#define OSU_HAS_NBI_ATOMICS OSU_FOLLOWS_1_5

/* Blocks with strides came with OpenSHMEM 1.6: shmem_ibputBITS, or NULL. */
#if SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION >= 6
#define OSU_IBPUT(BITS) shmem_ibput##BITS
#else
#define OSU_IBPUT(BITS) NULL
#endif

#ifdef OSU_PLAIN_SHMEM

enum { OSU_CAN_MAP = 0 };

static inline void *osu_map(void *object, size_t size, int type)
{
    (void)object;
    (void)size;
    (void)type;
    return NULL;
}

static inline void osu_unmap(void *address)
{
    (void)address;
}

static inline const char *osu_map_error(void)
{
    return "this OpenSHMEM library cannot map GPU memory";
}

static inline const char *osu_route(const void *address, int pe)
{
    (void)address;
    (void)pe;
    return NULL;
}

static inline int osu_prepare(void *memory, size_t size)
{
    (void)memory;
    (void)size;
    return -1;
}

static inline void osu_release(void *memory)
{
    (void)memory;
}

static inline int osu_my_device(int type)
{
    (void)type;
    return -1;
}

/* Never called: without osu_map there are no buffers on a device. */
static inline void osu_put_on_stream(void *dest, const void *source, size_t size, int pe, int type, void *stream)
{
    (void)dest, (void)source, (void)size, (void)pe, (void)type, (void)stream;
}

static inline void osu_put_signal_on_stream(void *dest, const void *source, size_t size, uint64_t *signal,
                                            uint64_t value, int pe, int type, void *stream)
{
    (void)dest, (void)source, (void)size, (void)signal, (void)value, (void)pe, (void)type, (void)stream;
}

static inline void osu_wait_on_stream(uint64_t *signal, uint64_t value, int type, void *stream)
{
    (void)signal, (void)value, (void)type, (void)stream;
}

#else

#include <shmemx.h>

enum { OSU_CAN_MAP = 1 };

static inline void *osu_map(void *object, size_t size, int type)
{
    return shmmap(object, size, type);
}

static inline void osu_unmap(void *address)
{
    shmumap(address);
}

static inline const char *osu_map_error(void)
{
    return shmemx_strerror();
}

static inline const char *osu_route(const void *address, int pe)
{
    return shmemx_route(address, pe);
}

static inline int osu_prepare(void *memory, size_t size)
{
    return shmemx_prepare(memory, size);
}

static inline void osu_release(void *memory)
{
    shmemx_release(memory);
}

static inline int osu_my_device(int type)
{
    return shmemx_my_device(type);
}

/* In a CUDA stream, or in an OpenCL queue. */
static inline void osu_put_on_stream(void *dest, const void *source, size_t size, int pe, int type, void *stream)
{
    if (type == OSHM_MEMTYPE_CUDA)
        shmemx_putmem_on_stream(dest, source, size, pe, stream);
    else
        shmemx_putmem_on_queue(dest, source, size, pe, stream, 0, NULL, NULL);
}

/* Sets the signal to the value. */
static inline void osu_put_signal_on_stream(void *dest, const void *source, size_t size, uint64_t *signal,
                                            uint64_t value, int pe, int type, void *stream)
{
    if (type == OSHM_MEMTYPE_CUDA)
        shmemx_putmem_signal_on_stream(dest, source, size, signal, value, SHMEM_SIGNAL_SET, pe, stream);
    else
        shmemx_putmem_signal_on_queue(dest, source, size, signal, value, SHMEM_SIGNAL_SET, pe, stream, 0, NULL, NULL);
}

/* Waits until the signal is at least the value. */
static inline void osu_wait_on_stream(uint64_t *signal, uint64_t value, int type, void *stream)
{
    if (type == OSHM_MEMTYPE_CUDA)
        shmemx_signal_wait_until_on_stream(signal, SHMEM_CMP_GE, value, stream);
    else
        shmemx_signal_wait_until_on_queue(signal, SHMEM_CMP_GE, value, stream, 0, NULL, NULL);
}

#endif

#endif
