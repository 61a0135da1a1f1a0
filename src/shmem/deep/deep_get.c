/* SPDX-License-Identifier: BSD-3-Clause
 *
 * shmemx_get_deep checks an image on a PE and copies it into objects that are linked in the same way;
 * shmemx_get_deep_new makes new objects of it; shmemx_deep_info describes it.
 *
 * The walk of this PE's own objects determines where get_deep writes; the image only supplies the bytes. get_deep_new
 * checks the whole image before it uses it (image.h).
 */
#include "shmem/deep/deep.h"

#include "base/system/cache_line.h"

#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

static struct shmemi_deep_target reach(const char *routine, const void *image, size_t nbytes, int pe)
{
    struct shmemi_deep_target target = {.routine = routine, .address = (void *)image, .pe = pe};
    target.view = shmemi_reach(routine, image, nbytes, pe, &target.offset);
    return target;
}

static void fetch(const struct shmemi_deep_target *target, void *dest, size_t nbytes)
{
    shmemi_rma(SHMEMI_GET, &shmemi_default_ctx.transport, target->routine, dest, target->address, nbytes, target->pe);
}

static int refuse_image(const struct shmemi_deep_target *target, int rc, const char *cause)
{
    shmemi_error("%s: image at %p on PE %d: %s", target->routine, target->address, target->pe, cause);
    return rc;
}

static int check_header(const struct shmemi_deep_target *target, const struct shmemi_image_header *header,
                        shmemx_type_t type)
{
    const char *cause = "";
    int rc = shmemi_image_check_header(header, target->view->size - target->offset, shmemi_deep_type(type), &cause);
    return rc ? refuse_image(target, rc, cause) : 0;
}

/* ---- Into existing objects --------------------------------------------------------------------------------------- */

/* A call of get_deep: the image, and the graph of the objects into which it is copied. */
struct deep_get {
    struct shmemi_deep_target target;
    struct shmemi_graph graph;
    shmemx_type_t type;
    size_t nelems;
    bool is_blocking;
};

static int check_shape(const struct deep_get *get, const struct shmemi_image_header *header)
{
    int rc = check_header(&get->target, header, get->type);
    if (rc)
        return rc;
    if (header->n_elems != get->nelems)
        return refuse_image(&get->target, -ESTALE, "it was made from another number of objects");
    if (header->size != get->graph.size || header->shape != get->graph.shape)
        return refuse_image(&get->target, -ESTALE, "its objects are not linked as those it would be copied into are");
    return 0;
}

static int scatter(const struct deep_get *get, const char *bytes)
{
    struct shmemi_image_header header;
    memcpy(&header, bytes, sizeof header);
    int rc = check_shape(get, &header);
    if (!rc)
        shmemi_image_scatter(&get->graph, 0, bytes, get->graph.size);
    return rc;
}

static void unpack(const void *graph, size_t at, const char *bytes, size_t nbytes)
{
    shmemi_image_scatter(graph, at, bytes, nbytes);
}

/* Header and data in one transfer. */
static int get_whole(const struct deep_get *get, char *buffer)
{
    fetch(&get->target, buffer, get->graph.size);
    return scatter(get, buffer);
}

static int get_in_pieces(const struct deep_get *get)
{
    struct shmemi_image_header header;
    fetch(&get->target, &header, sizeof header);
    int rc = check_shape(get, &header);
    return rc ? rc
              : shmemi_deep_by_pipeline(&get->target, &get->graph,
                                        (struct shmemi_pipeline_data){.unpack = unpack, .argument = &get->graph});
}

static int get_image(const struct deep_get *get)
{
    const struct shmemi_deep_target *target = &get->target;
    const size_t size = get->graph.size;
    _Alignas(SHMEMI_CACHE_LINE) char bytes[SHMEMI_DEEP_SHORT];
    const struct shmemi_far_side far = shmemi_deep_far(target);
    char *buffer = NULL;
    if (size > target->view->size - target->offset) /* smaller than the graph, so the header cannot match */
        return get_in_pieces(get);
    if (!target->view->mapped && size <= sizeof bytes)
        return get_whole(get, bytes);
    if (!target->view->mapped && size <= SHMEMI_PIPELINE_SMALL)
        buffer = shmemi_pipeline_take_buffer(&far);
    if (!buffer)
        return get_in_pieces(get);
    int rc = get_whole(get, buffer);
    shmemi_pipeline_give_buffer(buffer);
    return rc;
}

/* Checks the header now, so that errors reach the caller; quiet completes the rest, and closes the graph. */
static int get_nbi(const struct deep_get *get, bool *is_left_p)
{
    struct shmemi_image_header header;
    struct shmemi_deep_left *left = shmemi_deep_leave(&get->target, get->graph.size);
    size_t nbytes;
    char *bytes;
    if (!left)
        return get_in_pieces(get);
    fetch(&get->target, &header, sizeof header);
    int rc = check_shape(get, &header);
    if (rc) {
        shmemi_deep_finish(left);
        return rc;
    }
    for (size_t at = 0; (bytes = shmemi_deep_left_piece(left, at, &nbytes)); at += nbytes)
        shmemi_rma(SHMEMI_GET_NBI, &shmemi_default_ctx.transport, get->target.routine, bytes,
                   (char *)get->target.address + at, nbytes, get->target.pe);
    shmemi_deep_left_is_get(left, &get->graph);
    shmemi_deep_hand_over(&shmemi_default_ctx, left);
    *is_left_p = true;
    return 0;
}

static bool is_for_quiet(const struct deep_get *get)
{
    const struct shmemi_view *view = get->target.view;
    return !view->mapped && get->graph.size > SHMEMI_DEEP_SHORT && get->graph.size <= view->size - get->target.offset;
}

/* Closes the graph. */
static int get_into_graph(struct deep_get *get)
{
    bool is_left = false;
    int rc = get->is_blocking || !is_for_quiet(get) ? get_image(get) : get_nbi(get, &is_left);
    if (!is_left)
        shmemi_graph_close(&get->graph);
    return rc;
}

static ptrdiff_t get_deep(const char *routine, void *dest, const void *image, shmemx_type_t type, size_t nelems, int pe,
                          bool is_blocking)
{
    struct deep_get get = {.type = type, .nelems = nelems, .is_blocking = is_blocking};
    struct shmemi_call call = {.routine = routine, .activity = SHMEMI_AT_DEEP};
    shmemi_require_init(routine);
    get.target = reach(routine, image, SHMEMX_DEEP_HEADER, pe);
    shmemi_span_begin(&call);
    ptrdiff_t result = shmemi_deep_walk(routine, dest, type, nelems, &get.graph);
    if (!result) {
        ptrdiff_t size = (ptrdiff_t)get.graph.size;
        int rc = get_into_graph(&get);
        result = rc ? rc : size;
    }
    shmemi_span_end(&call);
    return result;
}

SHMEMI_EXPORT ptrdiff_t shmemx_get_deep(void *dest, const void *image, shmemx_type_t type, size_t nelems, int pe)
{
    return get_deep("shmemx_get_deep", dest, image, type, nelems, pe, true);
}

SHMEMI_EXPORT ptrdiff_t shmemx_get_deep_nbi(void *dest, const void *image, shmemx_type_t type, size_t nelems, int pe)
{
    return get_deep("shmemx_get_deep_nbi", dest, image, type, nelems, pe, false);
}

/* ---- Into new objects -------------------------------------------------------------------------------------------- */

/* Objects that get_deep_new has made, found by the address of the first. */
struct made {
    void *objects;
    char *bytes;
};

static struct {
    pthread_mutex_t lock;
    void *tree;
} made = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int compare(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const struct made *)a)->objects, y = (uintptr_t)((const struct made *)b)->objects;
    return (x > y) - (x < y);
}

static int remember(char *bytes, void *objects)
{
    struct made *entry = malloc(sizeof *entry);
    if (!entry)
        return -ENOMEM;
    *entry = (struct made){objects, bytes};
    pthread_mutex_lock(&made.lock);
    bool is_there = tsearch(entry, &made.tree, compare);
    pthread_mutex_unlock(&made.lock);
    if (!is_there)
        free(entry);
    return is_there ? 0 : -ENOMEM;
}

/* Removes the entry of these objects. Returns their memory, or NULL if there is no such entry. */
static char *forget(void *objects)
{
    struct made key = {objects, NULL}, *entry = NULL;
    pthread_mutex_lock(&made.lock);
    struct made **found = tfind(&key, &made.tree, compare);
    if (found) {
        entry = *found;
        tdelete(&key, &made.tree, compare);
    }
    pthread_mutex_unlock(&made.lock);
    char *bytes = entry ? entry->bytes : NULL;
    free(entry);
    return bytes;
}

/* Fetches the header too, since it may have changed after the first check. */
static int fetch_all(const struct shmemi_deep_target *target, const struct shmemi_image_header *header,
                     shmemx_type_t type, char *bytes)
{
    fetch(target, bytes, header->size);
    if (memcmp(bytes, header, sizeof *header))
        return refuse_image(target, -EBADMSG, "it changed while it was read");
    return shmemi_image_relocate(target->routine, bytes, shmemi_deep_type(type), (uintptr_t)bytes);
}

/* An image without objects has its root at its end; one more byte makes the address of that end unique. */
static int make(const struct shmemi_deep_target *target, const struct shmemi_image_header *header, shmemx_type_t type,
                void **objects_p)
{
    void *bytes;
    if (posix_memalign(&bytes, SHMEMI_CACHE_LINE, header->size + 1))
        return refuse_image(target, -ENOMEM, "there is no memory for its objects");
    *objects_p = (char *)bytes + header->root;
    int rc = fetch_all(target, header, type, bytes);
    if (!rc && remember(bytes, *objects_p))
        rc = refuse_image(target, -ENOMEM, "there is no memory for its objects");
    if (rc)
        free(bytes);
    return rc;
}

SHMEMI_EXPORT void *shmemx_get_deep_new(const void *image, shmemx_type_t type, size_t *nelems_p, int pe)
{
    static const char routine[] = "shmemx_get_deep_new";
    struct shmemi_call call = {.routine = routine, .activity = SHMEMI_AT_DEEP};
    struct shmemi_image_header header;
    void *objects = NULL;
    shmemi_require_init(routine);
    struct shmemi_deep_target target = reach(routine, image, sizeof header, pe);
    if (shmemi_deep_check_type(routine, type))
        return NULL;
    shmemi_span_begin(&call);
    fetch(&target, &header, sizeof header);
    int rc = check_header(&target, &header, type);
    if (!rc)
        rc = make(&target, &header, type, &objects);
    shmemi_span_end(&call);
    if (rc)
        return NULL;
    if (nelems_p)
        *nelems_p = header.n_elems;
    return objects;
}

SHMEMI_EXPORT void shmemx_deep_free(void *objects)
{
    if (!objects)
        return;
    char *bytes = forget(objects);
    if (!bytes)
        shmemi_fatal("shmemx_deep_free: %p was not returned by shmemx_get_deep_new, or has been freed", objects);
    free(bytes);
}

/* ---- Description of an image ------------------------------------------------------------------------------------- */

SHMEMI_EXPORT int shmemx_deep_info(const void *image, shmemx_type_t type, shmemx_deep_info_t *info, int pe)
{
    static const char routine[] = "shmemx_deep_info";
    struct shmemi_image_header header;
    shmemi_require_init(routine);
    shmemi_require_pointer(routine, "info", info);
    struct shmemi_deep_target target = reach(routine, image, sizeof header, pe);
    int rc = type ? shmemi_deep_check_type(routine, type) : 0;
    if (rc)
        return rc;
    fetch(&target, &header, sizeof header);
    rc = check_header(&target, &header, type);
    if (rc)
        return rc;
    *info = (shmemx_deep_info_t){
        .size = header.size,
        .nobjects = header.n_extents,
        .nelems = header.n_elems,
        .root = header.base + header.root,
        .has_offsets = !!(header.flags & SHMEMI_IMAGE_OFFSETS),
    };
    return 0;
}
