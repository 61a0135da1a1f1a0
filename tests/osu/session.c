/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What every benchmark does around its measurement: start, options, devices, buffers, time, errors, end.
 *
 * PE 0 reports a failure that all PEs see alike, and all exit normally; one that a single PE sees goes through agree()
 * or die(), so that no PE waits for another that has left.
 */
#include "session.h"
#include "osu_report.h"
#include "shmem_flavour.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 20, RUN = 256 };

static char chunk[CHUNK];
static int refusing_pe = -1; /* symmetric */

int osu_session_end(int status)
{
    fflush(stdout);
    shmem_barrier_all();
    shmem_finalize();
    return status;
}

static void say(const struct osu_session *session, const char *text)
{
    if (session->me == 0)
        fprintf(stderr, "%s: %s\n", session->program->name, text);
}

/* Returns -1 on every PE if all are content; else a PE that is not, preferably this one. */
static int agree(const struct osu_session *session, bool content)
{
    for (int pe = 0; !content && pe < session->n_pes; pe++)
        shmem_int_p(&refusing_pe, session->me, pe);
    shmem_barrier_all();
    return content ? refusing_pe : session->me;
}

static bool parse(struct osu_session *session, int argc, char **argv, int *status_p)
{
    char message[256];
    enum osu_parse parsed = osu_options_parse(&session->options, session->program, argc, argv, message, sizeof message);
    *status_p = parsed == OSU_BAD ? EXIT_FAILURE : EXIT_SUCCESS;
    if (parsed == OSU_BAD)
        say(session, message);
    if (parsed == OSU_HELP && session->me == 0)
        osu_options_help(session->program);
    if (parsed == OSU_VERSION && session->me == 0)
        printf("%s %s\n", session->program->name, OSU_REPORT_VERSION);
    return parsed == OSU_RUN;
}

static bool check_pes(const struct osu_session *session)
{
    bool right = session->program->two_pes ? session->n_pes == 2 : session->n_pes >= 2;
    if (!right)
        say(session, session->program->two_pes ? "this test requires exactly two PEs, for example oshrun -np 2"
                                               : "this test requires at least two PEs, for example oshrun -np 2");
    return right;
}

static bool open_device(struct osu_session *session)
{
    const struct osu_options *options = &session->options;
    char line[256];
    if (options->side[0] != 'D' && options->side[1] != 'D')
        return true;
    if (!OSU_CAN_MAP) {
        say(session, osu_map_error());
        return false;
    }
    const struct device_ops *ops = device_find(options->device);
    struct device *device = ops->open(osu_my_device(ops->memtype), NULL);
    int refusing = agree(session, device != NULL);
    snprintf(line, sizeof line, "%s (seen by PE %d)", ops->absent, refusing);
    if (refusing >= 0) {
        say(session, refusing == 0 ? ops->absent : line);
        return false;
    }
    session->device = device;
    session->stream = plain_stream(device);
    return true;
}

bool osu_session_start(struct osu_session *session, const struct osu_program *program, int argc, char **argv,
                       int *status_p)
{
    program_name = program->name;
    shmem_init();
    session->program = program;
    session->device = &device_host;
    session->stream = NULL;
    session->me = shmem_my_pe();
    session->n_pes = shmem_n_pes();
    bool run = parse(session, argc, argv, status_p);
    if (run && !check_pes(session)) {
        *status_p = EXIT_FAILURE;
        run = false;
    }
    if (run && !open_device(session)) {
        *status_p = OSU_EXIT_SKIP;
        run = false;
    }
    if (!run)
        osu_session_end(*status_p);
    return run;
}

/* ---- Buffers --------------------------------------------------------------------------------------------------- */

struct device *osu_side_device(const struct osu_session *session, int side)
{
    switch (session->options.side[side]) {
    case 'D':
        return session->device;
    case 'P':
        return &device_pageable;
    default:
        return &device_host;
    }
}

static int create_static(const struct osu_session *session, struct osu_memory *memory, struct osu_static_area area,
                         size_t size)
{
    char line[256];
    if (size > area.size) {
        snprintf(line, sizeof line, "global buffers hold %zu bytes and this test needs %zu: use heap, or a smaller -m",
                 area.size, size);
        say(session, line);
        return -1;
    }
    memory->object = memory->address = area.bytes;
    memory->is_static = true;
    return 0;
}

static int create_heap(const struct osu_session *session, struct osu_memory *memory, size_t size)
{
    char line[256];
    memory->object = memory->address = device_alloc(memory->device, size);
    snprintf(line, sizeof line, "the symmetric heap has no room for %zu bytes: raise SHMEM_SYMMETRIC_SIZE", size);
    if (!memory->object)
        say(session, line);
    return memory->object ? 0 : -1;
}

static int create_device(const struct osu_session *session, struct osu_memory *memory, size_t size, bool symmetric)
{
    char line[512];
    memory->object = memory->address = device_alloc(memory->device, size);
    if (!memory->object)
        die("no room for a buffer of %zu bytes", size);
    memory->mapped = symmetric || !memory->device->ops->local_pointer;
    memory->is_prepared = memory->device == &device_pageable && session->options.prepare;
    if (memory->is_prepared && osu_prepare(memory->object, size))
        die("%zu bytes of private memory cannot be prepared", size);
    if (!memory->mapped)
        return 0;
    memory->address = osu_map(memory->object, size, memory->device->ops->memtype);
    if (memory->address)
        return 0;
    snprintf(line, sizeof line, "shmmap refused: %s", osu_map_error());
    say(session, line);
    device_free(memory->device, memory->object);
    return -1;
}

int osu_memory_create(const struct osu_session *session, struct osu_memory *memory, struct device *device,
                      struct osu_static_area area, size_t size, bool symmetric)
{
    *memory = (struct osu_memory){.device = device};
    if (device != &device_host)
        return create_device(session, memory, size + OSU_GUARD, symmetric);
    if (session->options.use_global)
        return create_static(session, memory, area, size + OSU_GUARD);
    return create_heap(session, memory, size + OSU_GUARD);
}

int osu_stage_create(const struct osu_session *session, struct osu_memory *memory, size_t size)
{
    *memory = (struct osu_memory){.device = &device_host};
    return create_heap(session, memory, size);
}

void osu_memory_destroy(struct osu_memory *memory)
{
    if (memory->mapped)
        osu_unmap(memory->address);
    if (memory->is_prepared)
        osu_release(memory->object);
    if (!memory->is_static)
        device_free(memory->device, memory->object);
}

/* ---- Contents: a pattern of position and seed ------------------------------------------------------------------ */

unsigned char osu_pattern(size_t position, unsigned seed)
{
    return (unsigned char)(position + (position >> 8) * 7 + (position >> 16) * 13 + seed * 31);
}

/* n bytes of the pattern, each exclusive-or'ed with `flip`: inside of 256 bytes it counts upwards. */
static void make_pattern(char *bytes, size_t from, size_t n, unsigned seed, unsigned char flip)
{
    static unsigned char counting[2 * RUN];
    for (size_t i = 0; i < sizeof counting; i++)
        counting[i] = (unsigned char)(i ^ flip);
    for (size_t i = 0, run; i < n; i += run) {
        run = RUN - (from + i) % RUN;
        run = run < n - i ? run : n - i;
        memcpy(bytes + i, counting + osu_pattern(from + i, seed), run);
    }
}

/* Write [from, to) of the pattern, each byte exclusive-or'ed with `flip`. */
static void write_pattern(struct osu_memory *memory, size_t from, size_t to, unsigned seed, unsigned char flip)
{
    for (size_t at = from; at < to; at += CHUNK) {
        size_t n = to - at < CHUNK ? to - at : CHUNK;
        make_pattern(chunk, at, n, seed, flip);
        plain_write(memory->device, memory->object, at, chunk, n);
    }
}

static bool holds_pattern(struct osu_memory *memory, size_t from, size_t to, unsigned seed, unsigned char flip)
{
    static char expected[CHUNK];
    bool same = true;
    for (size_t at = from; at < to && same; at += CHUNK) {
        size_t n = to - at < CHUNK ? to - at : CHUNK;
        plain_read(memory->device, chunk, memory->object, at, n);
        make_pattern(expected, at, n, seed, flip);
        same = !memcmp(chunk, expected, n);
    }
    return same;
}

bool osu_memory_holds(struct osu_memory *memory, size_t from, size_t to, unsigned seed,
                      bool (*written)(size_t position))
{
    bool same = true;
    if (!written)
        return holds_pattern(memory, from, to, seed, 0xff);
    for (size_t at = from; at < to && same; at += CHUNK) {
        size_t n = to - at < CHUNK ? to - at : CHUNK;
        plain_read(memory->device, chunk, memory->object, at, n);
        for (size_t i = 0; i < n; i++)
            same &= (unsigned char)chunk[i] == (osu_pattern(at + i, seed) ^ (written(at + i) ? 0 : 0xff));
    }
    return same;
}

void osu_memory_fill(struct osu_memory *memory, size_t size, unsigned seed)
{
    write_pattern(memory, 0, size, seed, 0);
}

void osu_memory_clear(struct osu_memory *memory, size_t size, unsigned seed)
{
    write_pattern(memory, 0, size + OSU_GUARD, seed, 0xff);
}

bool osu_memory_check(struct osu_memory *memory, size_t size, unsigned seed)
{
    return holds_pattern(memory, 0, size, seed, 0) && holds_pattern(memory, size, size + OSU_GUARD, seed, 0xff);
}
