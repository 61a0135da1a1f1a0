/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bootstrap over MPI: for programs that have initialised MPI, under launchers without PMIx. The MPI that the program
 * uses is called through a module, because the library itself is linked with no MPI.
 *
 * MPI serves start-up only: later the program may finalise it, before or after shmem_finalize. If MPI has not been
 * initialised, the launcher's own PMI-1 is preferred: calling MPI_Init is left to the program.
 */
#define _GNU_SOURCE
#include "base/log.h"
#include "base/settings.h"
#include "bootstrap/bootstrap.h"
#include "bootstrap/deadline.h"
#include "bootstrap/mpi_library.h"
#include "bootstrap/mpi_module.h"
#include "bootstrap/rendezvous/torchrun.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct shmemi_mpi_module *mpi; /* function table of the loaded module; NULL before */
static int n_processes;
static bool is_hybrid; /* the program itself uses MPI */
static pid_t owner;    /* process that registered leave_mpi; forked children must not run it */

static bool is_demanded(void)
{
    return shmemi_settings.bootstrap == SHMEMI_BOOTSTRAP_MPI || shmemi_settings.bootstrap == SHMEMI_BOOTSTRAP_MPI_FILE;
}

/* Without a module the job may still start by other means: then the message is only useful for debugging. */
static enum shmemi_log_level refusal_level(void)
{
    const char *variable;
    if (is_demanded())
        return SHMEMI_LOG_ERROR;
    return shmemi_launcher_size(&variable) && !shmemi_launcher_has_pmi() ? SHMEMI_LOG_WARN : SHMEMI_LOG_DEBUG;
}

static int report(const char *phase, int rc)
{
    if (rc == -ETIMEDOUT)
        shmemi_init_is_over("");
    else if (rc == -EPROTO || rc == -E2BIG)
        shmemi_error("what the PEs publish through MPI is not usable: do all run the same version of MapSHMEM?");
    else
        shmemi_error("MPI failed in %s: %s", phase, mpi->error());
    return rc;
}

/* The family of the launcher's MPI, for programs that do not use MPI. */
static const char *launcher_family(void)
{
    if (getenv("OMPI_COMM_WORLD_SIZE"))
        return "openmpi";
    return getenv("PMI_SIZE") || getenv("PMI_PORT") || getenv("PALS_SIZE") ? "mpich" : NULL;
}

/* The family of the MPI to start with; NULL: start by other means. */
static const char *wanted_family(void)
{
    const char *variable, *family = shmemi_mpi_family();
    enum shmemi_mpi_state state = shmemi_mpi_state();
    if (state == SHMEMI_MPI_ACTIVE)
        return family;
    if (state == SHMEMI_MPI_FINALIZED)
        return NULL;
    if (is_demanded())
        return family ? family : launcher_family();
    bool needed = shmemi_launcher_size(&variable) && !getenv("OMPI_COMM_WORLD_SIZE") && !shmemi_launcher_has_pmi();
    return needed && launcher_family() ? family ? family : launcher_family() : NULL;
}

/* The path of a module near the library: in its folder mapshmem when installed, in its own folder in a build tree. */
static int find_module(const char *family, char *path, size_t size)
{
    static const char *const folders[] = {"mapshmem/", ""};
    Dl_info self;
    if (*shmemi_settings_mpi_module()) {
        snprintf(path, size, "%s", shmemi_settings_mpi_module());
        return 0;
    }
    if (!dladdr((const void *)&shmemi_bootstrap_mpi, &self) || !self.dli_fname)
        return -ENOENT;
    const char *slash = strrchr(self.dli_fname, '/');
    int length = slash ? (int)(slash + 1 - self.dli_fname) : 0;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        snprintf(path, size, "%.*s%sbootstrap_%s.so", length, self.dli_fname, folders[i], family);
        if (!access(path, R_OK))
            return 0;
    }
    snprintf(path, size, "%.*smapshmem/bootstrap_%s.so", length, self.dli_fname, family);
    return -ENOENT;
}

/* What is wrong with an opened module, or NULL. Any version of the family is accepted, provided the module resolved to
 * the program's own MPI library. */
static const char *module_fault(void *handle, const void *program_mpi, const char *family)
{
    const struct shmemi_mpi_module *found = dlsym(handle, SHMEMI_MPI_MODULE_SYMBOL);
    if (!found)
        return "it is not a module of MapSHMEM";
    if (found->version != SHMEMI_MPI_MODULE_VERSION)
        return "it belongs to another version of MapSHMEM";
    if (program_mpi && (strcmp(found->family, family) || (const void *)found->initialized != program_mpi))
        return "it is linked with another MPI than the program";
    return NULL;
}

/* A link might lead to a file that is not the user's, who has named the link. */
static bool is_link(const char *path)
{
    struct stat status;
    return !lstat(path, &status) && S_ISLNK(status.st_mode);
}

static const char *open_module(const char *path, void **handle_p)
{
    if (*shmemi_settings_mpi_module() && is_link(path))
        return "it is a symbolic link, which is not followed";
    *handle_p = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return *handle_p ? NULL : dlerror();
}

static int load_module(const char *family)
{
    char path[PATH_MAX];
    const void *program_mpi = shmemi_mpi_symbol("MPI_Initialized");
    if (mpi)
        return 0;
    is_hybrid = program_mpi;
    if (find_module(family, path, sizeof path)) {
        shmemi_log(refusal_level(),
                   "no start-up by MPI: there is no %s; configure MapSHMEM where mpicc is found, or "
                   "set SHMEM_BOOTSTRAP=mpi:FILE",
                   path);
        return -ENOENT;
    }
    void *handle = NULL;
    const char *fault = open_module(path, &handle);
    if (!fault)
        fault = module_fault(handle, program_mpi, family);
    if (fault) {
        shmemi_log(refusal_level(),
                   "no start-up by MPI: %s: %s; set SHMEM_BOOTSTRAP=mpi:FILE with a module that is built "
                   "with the program's mpicc",
                   path, fault);
        if (handle)
            dlclose(handle);
        return -ENOENT;
    }
    mpi = dlsym(handle, SHMEMI_MPI_MODULE_SYMBOL);
    return 0;
}

/* After an exit in the middle of the job the launcher must treat this exit as a failure. It does so while MPI is not
 * finalised; after that, end by a signal. */
static void leave_mpi(void)
{
    if (getpid() != owner)
        return;
    if (shmemi_bootstrap != &shmemi_bootstrap_mpi)
        mpi->leave();
    else if (shmemi_mpi_state() == SHMEMI_MPI_FINALIZED)
        shmemi_bootstrap_fail_alone(EXIT_FAILURE);
}

static int gather(const void *mine, size_t size, struct shmemi_gathered *all)
{
    size_t total = 0, n = (size_t)n_processes;
    int *sizes = malloc(2 * n * sizeof *sizes), *offsets = sizes + n;
    if (!sizes)
        return -ENOMEM;
    int rc = mpi->gather_size((int)size, sizes, shmemi_init_seconds_left());
    for (size_t i = 0; !rc && i < n; i++) {
        offsets[i] = (int)total;
        all->offsets[i] = total;
        rc = sizes[i] < 0 || sizes[i] > SHMEMI_PUBLISHED_MAX ? -EPROTO : 0;
        total += rc ? 0 : (size_t)sizes[i];
        rc = total > INT_MAX ? -E2BIG : rc;
    }
    all->offsets[n] = total;
    if (!rc) {
        all->bytes = malloc(total + 1);
        rc = all->bytes ? mpi->gather_bytes(mine, all->bytes, sizes, offsets) : -ENOMEM;
    }
    free(sizes);
    return rc ? report("exchanging addresses", rc) : 0;
}

static int join(int *pe_p)
{
    const char *variable;
    bool initialized_here;
    int rc = mpi->open(pe_p, &n_processes, &initialized_here);
    if (rc)
        return report("MPI_Init or MPI_Comm_dup", rc);
    if (!owner)
        atexit(leave_mpi);
    owner = getpid();
    const bool has_launcher =
        (initialized_here && shmemi_launcher_size(&variable)) || (!is_demanded() && shmemi_torchrun_size() > 1);
    if (n_processes == 1 && has_launcher) { /* this MPI ignores it */
        mpi->close();
        return -ENODEV;
    }
    if (*pe_p == 0 && initialized_here && is_hybrid)
        shmemi_warn("shmem_init has initialised MPI, because it had no other way to start (SHMEM_BOOTSTRAP=mpi, or a "
                    "launcher without PMIx and PMI); here MPI_Init must come before shmem_init, or not at all");
    return 0;
}

static int mpi_open(int *pe_p, int *n_pes_p)
{
    const char *family = wanted_family();
    if (!family)
        return -ENODEV;
    int rc = load_module(family);
    if (rc)
        return is_demanded() ? rc : -ENODEV;
    rc = join(pe_p);
    if (!rc)
        rc = shmemi_gather_open(*pe_p, n_processes, gather);
    if (rc)
        return rc;
    *n_pes_p = n_processes;
    return 0;
}

static void mpi_close(void)
{
    shmemi_gather_close();
    mpi->close();
}

static void mpi_abort(int status)
{
    fflush(NULL);
    mpi->abort(status);
    shmemi_bootstrap_fail_alone(status);
}

const struct shmemi_bootstrap shmemi_bootstrap_mpi = {
    .name = "mpi",
    .open = mpi_open,
    .close = mpi_close,
    SHMEMI_GATHER_MEMBERS,
    .abort = mpi_abort,
};
