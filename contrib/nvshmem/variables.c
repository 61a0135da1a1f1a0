/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The variables NVSHMEM_*: some have a counterpart in MapSHMEM, the rest are told once.
 */
#include "library.h"

#include "driver.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

extern char **environ;

enum { HOST_HEAP_SPARE = 64 << 20 }; /* of the host's heap, for what is not the slab */

size_t nvs_symmetric_size = (size_t)1 << 30;

static const char *const known[] = {
#define NAME(SUFFIX) #SUFFIX,
#include "settings_names.def"
#undef NAME
};

/* A number, which may have a fraction, and K, M, G or T. */
static int parse_size(const char *text, size_t *size)
{
    static const char units[] = "kmgt";
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    const char *unit = *end ? strchr(units, *end | 0x20) : NULL;
    if (unit) {
        value *= pow(1024, (double)(unit - units + 1));
        end++;
        end += (*end | 0x20) == 'b';
    }
    if (errno || end == text || *end || !(value >= 1) || value > (double)(SIZE_MAX / 4))
        return -EINVAL;
    *size = (size_t)value;
    return 0;
}

static int read_size(void)
{
    const char *text = getenv("NVSHMEM_SYMMETRIC_SIZE");
    if (!text || !parse_size(text, &nvs_symmetric_size))
        return 0;
    shmemi_error("NVSHMEM_SYMMETRIC_SIZE is '%s', not a number of bytes such as 1073741824, 1G or 512M", text);
    return -EINVAL;
}

/* The symmetric heap is on the host if there is no GPU; then MapSHMEM's own heap has to hold it. */
static void make_room_on_host(void)
{
    char size[32];
    if (nvs_has_cuda())
        return;
    snprintf(size, sizeof size, "%zu", nvs_symmetric_size + HOST_HEAP_SPARE);
    setenv("SHMEM_SYMMETRIC_SIZE", size, 0);
}

static void follow(const char *name, const char *value, const char *ours, const char *setting)
{
    const char *text = getenv(name);
    if (text && !strcasecmp(text, value))
        setenv(ours, setting, 0);
}

int nvs_settings_read(void)
{
    const int rc = read_size();
    if (rc)
        return rc;
    /* Loading a kernel at its first launch waits for streams, and these may wait for what this PE does next. */
    setenv("CUDA_MODULE_LOADING", "EAGER", 0);
    make_room_on_host();
    follow("NVSHMEM_DEBUG", "INFO", "SHMEM_LOG", "info");
    follow("NVSHMEM_DEBUG", "TRACE", "SHMEM_LOG", "debug");
    follow("NVSHMEM_BOOTSTRAP", "MPI", "SHMEM_BOOTSTRAP", "mpi");
    follow("NVSHMEM_BOOTSTRAP_PMI", "PMIX", "SHMEM_BOOTSTRAP", "pmix");
    follow("NVSHMEM_BOOTSTRAP_PMI", "PMI", "SHMEM_BOOTSTRAP", "pmi");
    return 0;
}

static bool is_known(const char *suffix, size_t length)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strlen(known[i]) == length && !strncmp(known[i], suffix, length))
            return true;
    return false;
}

void nvs_settings_tell(void)
{
    static const char prefix[] = "NVSHMEM_";
    char names[512] = "";
    size_t length = 0;
    for (char **variable = environ; variable && *variable; variable++) {
        const size_t all = strcspn(*variable, "=");
        if (strncmp(*variable, prefix, sizeof prefix - 1) || length + all + 3 > sizeof names ||
            is_known(*variable + sizeof prefix - 1, all - (sizeof prefix - 1)))
            continue;
        length +=
            (size_t)snprintf(names + length, sizeof names - length, "%s%.*s", length ? ", " : "", (int)all, *variable);
    }
    if (length && shmem_my_pe() == 0)
        shmemi_warn("no effect with MapSHMEM: %s (its own settings: oshinfo --settings)", names);
}
