/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What every benchmark does around its measurement: start, options, devices, buffers, time, errors, end.
 */
#ifndef OSU_SESSION_H
#define OSU_SESSION_H

#include "options.h"
#include "support/plain.h"
#include "support/util.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    OSU_EXIT_SKIP = 77, /* there is no device of the kind that was asked for */
    OSU_GUARD = 64,     /* bytes behind a message that validation expects untouched */
};

struct osu_session {
    const struct osu_program *program;
    struct osu_options options;
    struct device *device; /* of the D sides; without any, host memory */
    void *stream;          /* of the device: a CUstream or cl_command_queue; NULL: host memory */
    int me, n_pes;
};

/* One buffer. */
struct osu_memory {
    struct device *device;
    void *object;  /* what shmmap takes: host address, device pointer, cl_mem * */
    void *address; /* as OpenSHMEM calls name it                                */
    bool mapped;
    bool is_static;
    bool is_prepared; /* by shmemx_prepare, so it stays page-locked */
};

/* Static data that the option global places host buffers in. */
struct osu_static_area {
    char *bytes;
    size_t size;
};

/* Collective. Returns false when the program must end with *status_p; osu_session_end has been called then. */
bool osu_session_start(struct osu_session *session, const struct osu_program *program, int argc, char **argv,
                       int *status_p);

/* Collective. Returns status. */
int osu_session_end(int status);

/* The device that side 0 or 1 has its buffer on. */
struct device *osu_side_device(const struct osu_session *session, int side);

/* Collective: size bytes and the guard behind them. `symmetric` device buffers are mapped. Returns 0, or -1 on every
 * PE after PE 0 has said why. */
int osu_memory_create(const struct osu_session *session, struct osu_memory *memory, struct device *device,
                      struct osu_static_area area, size_t size, bool symmetric);
/* The same for a host buffer on the symmetric heap, independent of the options, and without a guard. */
int osu_stage_create(const struct osu_session *session, struct osu_memory *memory, size_t size);

void osu_memory_destroy(struct osu_memory *memory);

/* osu_memory_fill sets size bytes to the pattern of seed; osu_memory_clear sets them and the guard to bytes that differ
 * from the pattern everywhere. */
void osu_memory_fill(struct osu_memory *memory, size_t size, unsigned seed);
void osu_memory_clear(struct osu_memory *memory, size_t size, unsigned seed);

/* Whether size bytes hold the pattern of seed and the guard is as osu_memory_clear left it. */
bool osu_memory_check(struct osu_memory *memory, size_t size, unsigned seed);

/* The byte of a seed's pattern at a position. */
unsigned char osu_pattern(size_t position, unsigned seed);

/* Whether the bytes [from, to) hold the pattern where `written` says so, and the others are as osu_memory_clear left
 * them. NULL: none is written. */
bool osu_memory_holds(struct osu_memory *memory, size_t from, size_t to, unsigned seed,
                      bool (*written)(size_t position));

#endif
