/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What all PEs do to memory together while transfers of other threads go on: objects that are allocated or mapped anew,
 * blocks that change their size, and calls that are refused and must leave everything as it was.
 */
#include "mapped.h"

#include "support/device.h"

#include <stdlib.h>

enum occasion {
    RENEW,
    REALLOC,
    NO_ROOM_IN_HEAP,
    MAP_FULL_WINDOW,
    MAP_NOTHING,
    MAP_UNKNOWN_TYPE,
    MAP_DIFFERING_SIZES,
    MAP_TWICE,
    MAP_TOO_MUCH,
    N_OCCASIONS
};
static const char *const names[N_OCCASIONS] = {"renew",
                                               "realloc",
                                               "shmem_malloc without room",
                                               "shmmap in a full window",
                                               "shmmap of nothing",
                                               "shmmap of an unknown type",
                                               "shmmap of sizes that differ",
                                               "shmmap of what is mapped",
                                               "shmmap of too much on one PE"};

enum { SMALL = 4096, UNKNOWN_TYPE = 77 };

/* The window, if it is so small that a buffer can be as large; else 0. */
static size_t small_window(void)
{
    const char *text = getenv("SHMEM_MAP_WINDOW");
    const size_t mib = text && strchr(text, 'm') ? strtoul(text, NULL, 10) : 0;
    return mib <= 256 ? mib << 20 : 0;
}

static bool claim_all(const struct drawn_occasion *o)
{
    const struct byte_shape shape = shape_of(program.objects[o->object].size);
    for (int pe = 0; pe < job.n; pe++)
        if (!claim(o->object, pe, 0, &shape, CLAIM_WRITE))
            return false;
    return true;
}

static bool draw(struct drawn_step *step, struct random_numbers *numbers)
{
    struct drawn_occasion *o = &step->occasion;
    step->lane = 0;
    o->what = (int)below(numbers, N_OCCASIONS);
    o->object = (int)below(numbers, (size_t)program.n_objects);
    const enum object_kind kind = program.objects[o->object].kind;
    if (o->what <= REALLOC)
        return (kind == IN_HEAP || (o->what == RENEW && kind == IN_MAPPED)) && claim_all(o);
    if (o->what == NO_ROOM_IN_HEAP)
        return true;
    return job.has_device && (o->what != MAP_TWICE || kind == IN_MAPPED) &&
           (o->what != MAP_FULL_WINDOW || small_window());
}

static void foresee(const struct drawn_step *step)
{
    if (step->occasion.what == RENEW)
        object_foresee_renewal(step->occasion.object, step_key(step, 0));
}

static void expect_refusal(const struct drawn_step *step, void *buffer, size_t nbytes, int type)
{
    void *mapped = shmmap(buffer, nbytes, type);
    EXPECT(step, !mapped && *shmemx_strerror(), "shmmap returned %p, and says '%s'", mapped, shmemx_strerror());
}

static void try_to_map(const struct drawn_step *step)
{
    struct device *device = mapped_device();
    const enum occasion what = (enum occasion)step->occasion.what;
    const bool is_odd = step->actor == job.me;
    const size_t whole = what == MAP_FULL_WINDOW ? small_window() : SMALL;
    struct buffer *buffer = device_alloc(device, what == MAP_TOO_MUCH && !is_odd ? whole + 8192 : whole);
    size_t nbytes = what == MAP_NOTHING ? 0 : whole;
    if (is_odd && what == MAP_DIFFERING_SIZES)
        nbytes = SMALL / 2;
    if (what == MAP_TOO_MUCH)
        nbytes = whole + 8192; /* the others' buffers are as long as that */
    expect_refusal(step, buffer, nbytes, what == MAP_UNKNOWN_TYPE ? UNKNOWN_TYPE : device->ops->memtype);
    mapped_free_buffer(buffer);
}

static void play(struct drawn_step *step)
{
    const struct drawn_occasion *o = &step->occasion;
    struct drawn_object *object = &program.objects[o->object];
    switch (o->what) {
    case RENEW:
        object_renew(o->object, step_key(step, 0));
        break;
    case REALLOC:
        object_realloc(o->object);
        break;
    case NO_ROOM_IN_HEAP:
        EXPECT(step, !shmem_malloc((size_t)1 << 40) && !shmem_malloc(0), "shmem_malloc did not return NULL");
        break;
    case MAP_DIFFERING_SIZES:
        if (job.n > 1)
            try_to_map(step);
        break;
    case MAP_TWICE:
        expect_refusal(step, mapped_argument(object), object->size, mapped_device()->ops->memtype);
        break;
    default:
        try_to_map(step);
    }
}

static void print(const struct drawn_step *step, FILE *out)
{
    fprintf(out, "%s (%s, PE %d)", names[step->occasion.what], object_text(step->occasion.object), step->actor);
}

const struct step_family occasions = {"occasion", 1, draw, foresee, play, NULL, print};
