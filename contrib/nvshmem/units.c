/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What kernels know of the job: the state that mapshmem_nvshmem/unit_state.h describes, for all units of the program and for
 * modules that it has loaded itself.
 */
#include "library.h"

#include "driver.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT_TABLES = 3 }; /* the present ones and those that running kernels may have begun with */

/* A variable of the state in a module. */
struct module_variable {
    CUmodule module;
    nvs_device_address address;
    struct module_variable *next;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of all that follows */
static struct nvshmemi_mapshmem_unit *units;
static struct module_variable *variables;
static struct nvshmemi_mapshmem_state state;
static bool has_state;
static nvs_device_address tables[KEPT_TABLES]; /* the newest first */

atomic_bool nvs_units_behind;

/* ---- The state --------------------------------------------------------------------------------------------------- */

static void *device_pointer(nvs_device_address address)
{
    return (void *)(uintptr_t)address;
}

static void keep_tables(nvs_device_address newest)
{
    if (tables[KEPT_TABLES - 1])
        (void)nvs_driver.release(tables[KEPT_TABLES - 1]);
    memmove(tables + 1, tables, sizeof tables - sizeof tables[0]);
    tables[0] = newest;
}

/* What kernels see of memory that is in no object: it is this PE's own, and reached as it is. */
struct own_memory {
    shmemx_device_view_t view;      /* in the table behind those of the objects */
    struct shmemi_device_ring ring; /* without entries: for views while no object has made a ring */
};

static struct own_memory own_memory(struct shmemi_device_ring *ring)
{
    return (struct own_memory){
        .view =
            {
                .ring = ring,
                .size = ULLONG_MAX,
                .first_pe = shmem_my_pe(),
                .n_near = 1,
                .pe = shmem_my_pe(),
                .n_pes = shmem_n_pes(),
            },
    };
}

/* Views of teams, buffers and other memory, in one allocation on the GPU. */
static int upload_tables(const shmemx_device_view_t *objects, unsigned n_objects, const shmemx_device_team_t *teams)
{
    static const char routine[] = "nvshmem: what kernels know";
    const size_t team_bytes = NVS_TEAMS * sizeof *teams, object_bytes = n_objects * sizeof *objects;
    nvs_device_address memory = 0;
    int error = nvs_driver.allocate(&memory, team_bytes + object_bytes + sizeof(struct own_memory));
    if (error)
        return nvs_driver_failed(routine, "get memory for it on the GPU", error) ? -ENOMEM : 0;
    keep_tables(memory);
    const nvs_device_address behind = memory + team_bytes + object_bytes;
    if (!state.slab.ring)
        state.slab.ring = n_objects ? objects[0].ring : device_pointer(behind + offsetof(struct own_memory, ring));
    const struct own_memory own = own_memory(state.slab.ring);
    error = nvs_driver.copy_in(memory, teams, team_bytes);
    if (!error && n_objects)
        error = nvs_driver.copy_in(memory + team_bytes, objects, object_bytes);
    if (!error)
        error = nvs_driver.copy_in(behind, &own, sizeof own);
    state.teams = device_pointer(memory);
    state.objects = device_pointer(memory + team_bytes);
    state.n_teams = NVS_TEAMS;
    state.n_objects = n_objects;
    return nvs_driver_failed(routine, "store it on the GPU", error) ? -EIO : 0;
}

static int build_state(void)
{
    const shmemx_device_view_t *objects = NULL;
    shmemx_device_team_t teams[NVS_TEAMS];
    unsigned n_objects = 0;
    if (nvs_slab.size && !nvs_slab.view.size && shmemx_device_view(nvs_slab.mapped, &nvs_slab.view))
        return -EIO;
    if (nvs_objects_views(&objects, &n_objects) || nvs_teams_views(teams))
        return -EIO;
    state.slab = nvs_slab.view;
    state.slab.pe = shmem_my_pe();
    state.slab.n_pes = shmem_n_pes();
    state.complaint = nvs_complaint_place();
    return upload_tables(objects, n_objects, teams);
}

/* ---- Telling ----------------------------------------------------------------------------------------------------- */

static bool tell_unit(struct nvshmemi_mapshmem_unit *unit)
{
    const int rc = unit->set_state(&state);
    if (rc > 0)
        nvs_complaint_tell();
    if (rc > 0)
        shmemi_fatal("CUDA cannot store what the kernels of %s need: error %d of its runtime", unit->file, rc);
    unit->is_behind = rc != 0;
    return !unit->is_behind;
}

static void tell_variable(const struct module_variable *variable)
{
    const int error = nvs_driver.copy_in(variable->address, &state, sizeof state);
    if (nvs_driver_failed("nvshmem: what kernels know", "store it in a module", error))
        shmem_global_exit(1);
}

/* All units that are behind; the mutex is held. */
static void tell_units(void)
{
    bool all = true;
    for (struct nvshmemi_mapshmem_unit *unit = units; unit; unit = unit->next)
        all &= !unit->is_behind || tell_unit(unit);
    atomic_store(&nvs_units_behind, !all);
}

/* Make what there is to tell, if somebody wants to know and there is a GPU to keep it. The mutex is held. */
static bool has_news(void)
{
    if ((!units && !variables) || !nvs_has_context())
        return false;
    if (!has_state && build_state())
        shmem_global_exit(1);
    has_state = true;
    return true;
}

void nvs_units_refresh(void)
{
    pthread_mutex_lock(&mutex);
    has_state = false;
    for (struct nvshmemi_mapshmem_unit *unit = units; unit; unit = unit->next)
        unit->is_behind = 1;
    atomic_store(&nvs_units_behind, units != NULL);
    if (has_news()) {
        tell_units();
        for (struct module_variable *variable = variables; variable; variable = variable->next)
            tell_variable(variable);
    }
    pthread_mutex_unlock(&mutex);
}

void nvs_units_catch_up(void)
{
    pthread_mutex_lock(&mutex);
    if (has_news())
        tell_units();
    pthread_mutex_unlock(&mutex);
}

/* A state of zeros, since the memory that it leads to is going to be freed. */
void nvs_units_close(void)
{
    pthread_mutex_lock(&mutex);
    memset(&state, 0, sizeof state);
    if (has_state && nvs_has_context())
        for (struct nvshmemi_mapshmem_unit *unit = units; unit; unit = unit->next)
            (void)unit->set_state(&state); /* the program may have reset the GPU */
    for (int i = 0; i < KEPT_TABLES; i++)
        keep_tables(0);
    while (variables) {
        struct module_variable *next = variables->next;
        free(variables);
        variables = next;
    }
    has_state = false;
    atomic_store(&nvs_units_behind, false);
    pthread_mutex_unlock(&mutex);
}

/* ---- Units that come and go --------------------------------------------------------------------------------------- */

NVS_EXPORT void nvshmemi_mapshmem_register_unit(struct nvshmemi_mapshmem_unit *unit)
{
    if (unit->version != NVSHMEMI_MAPSHMEM_STATE_VERSION || unit->state_bytes != sizeof state)
        shmemi_fatal("%s was compiled with the nvshmem.h of another release of MapSHMEM: compile it again", unit->file);
    pthread_mutex_lock(&mutex);
    unit->is_behind = 1;
    unit->next = units;
    units = unit;
    atomic_store(&nvs_units_behind, true);
    pthread_mutex_unlock(&mutex);
}

NVS_EXPORT void nvshmemi_mapshmem_unregister_unit(struct nvshmemi_mapshmem_unit *unit)
{
    pthread_mutex_lock(&mutex);
    struct nvshmemi_mapshmem_unit **link = &units;
    while (*link && *link != unit)
        link = &(*link)->next;
    if (*link)
        *link = unit->next;
    pthread_mutex_unlock(&mutex);
}

/* ---- Modules ------------------------------------------------------------------------------------------------------ */

static bool add_variable(CUmodule module, const char *name)
{
    nvs_device_address address;
    size_t size = 0;
    if (nvs_driver.module_variable(&address, &size, module, name) || size != sizeof state)
        return false;
    struct module_variable *variable = malloc(sizeof *variable);
    if (!variable)
        return false;
    *variable = (struct module_variable){module, address, variables};
    variables = variable;
    return true;
}

/* The variable that belongs to the mark "P_Z22nvshmemi_mapshmem_markv" of a unit: "Pnvshmemi_mapshmem_state". */
static bool add_marked(CUmodule module, struct CUfunc_st *function)
{
    static const char mark[] = NVSHMEMI_MAPSHMEM_MARK_NAME, variable[] = NVSHMEMI_MAPSHMEM_STATE_NAME;
    const char *name;
    if (nvs_driver.function_name(&name, function))
        return false;
    const size_t length = strlen(name);
    if (length < sizeof mark - 1 || strcmp(name + length - (sizeof mark - 1), mark))
        return false;
    const size_t prefix = length - (sizeof mark - 1);
    char *full = malloc(prefix + sizeof variable);
    if (!full)
        return false;
    memcpy(full, name, prefix);
    memcpy(full + prefix, variable, sizeof variable);
    const bool added = add_variable(module, full);
    free(full);
    return added;
}

static bool add_all_marked(CUmodule module)
{
    unsigned count = 0;
    bool added = false;
    if (!nvs_driver.module_count || !nvs_driver.module_functions || !nvs_driver.function_name ||
        nvs_driver.module_count(&count, module) || !count)
        return false;
    struct CUfunc_st **functions = calloc(count, sizeof *functions);
    if (functions && !nvs_driver.module_functions(functions, count, module))
        for (unsigned i = 0; i < count; i++)
            added |= add_marked(module, functions[i]);
    free(functions);
    return added;
}

NVS_EXPORT int nvshmemx_cumodule_init(CUmodule module)
{
    static const char routine[] = "nvshmemx_cumodule_init";
    nvs_enter(routine);
    if (!nvs_has_context()) {
        shmemi_error("%s: no CUDA context is current", routine);
        return NVSHMEMX_ERROR_GPU_NOT_SELECTED;
    }
    pthread_mutex_lock(&mutex);
    const bool added = add_variable(module, NVSHMEMI_MAPSHMEM_STATE_NAME) || add_all_marked(module);
    if (added && has_news())
        for (struct module_variable *variable = variables; variable; variable = variable->next)
            tell_variable(variable);
    pthread_mutex_unlock(&mutex);
    if (!added)
        shmemi_error("%s: the module has no device calls of this nvshmem.h", routine);
    return added ? NVSHMEMX_SUCCESS : NVSHMEMX_ERROR_INVALID_VALUE;
}

NVS_EXPORT int nvshmemx_cumodule_finalize(CUmodule module)
{
    nvs_enter("nvshmemx_cumodule_finalize");
    bool found = false;
    pthread_mutex_lock(&mutex);
    for (struct module_variable **link = &variables; *link;) {
        struct module_variable *variable = *link;
        if (variable->module != module) {
            link = &variable->next;
            continue;
        }
        *link = variable->next;
        free(variable);
        found = true;
    }
    pthread_mutex_unlock(&mutex);
    return found ? NVSHMEMX_SUCCESS : NVSHMEMX_ERROR_INVALID_VALUE;
}

static int module_of(const char *routine, CUlibrary library, CUmodule *module)
{
    nvs_enter(routine);
    if (!nvs_has_cuda() || !nvs_driver.library_module) {
        shmemi_error("%s: the CUDA driver has no libraries", routine);
        return NVSHMEMX_ERROR_NOT_SUPPORTED;
    }
    const int error = nvs_driver.library_module(module, library);
    return nvs_driver_failed(routine, "load the library", error) ? NVSHMEMX_ERROR_INVALID_VALUE : NVSHMEMX_SUCCESS;
}

NVS_EXPORT int nvshmemx_culibrary_init(CUlibrary library)
{
    CUmodule module;
    const int status = module_of("nvshmemx_culibrary_init", library, &module);
    return status ? status : nvshmemx_cumodule_init(module);
}

NVS_EXPORT int nvshmemx_culibrary_finalize(CUlibrary library)
{
    CUmodule module;
    const int status = module_of("nvshmemx_culibrary_finalize", library, &module);
    return status ? status : nvshmemx_cumodule_finalize(module);
}
