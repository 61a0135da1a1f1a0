/* SPDX-License-Identifier: BSD-3-Clause
 *
 * oshinfo: prints what this build of MapSHMEM has and what it finds on this machine, all settings, and the routes
 * between the PEs for each kind of memory. Started by oshrun it prints the routes of that job, otherwise those of a
 * single PE.
 */
#include "base/settings.h"
#include "gpu/memory.h"
#include "shmem/shmemx.h"
#include "tools/route_matrix.h"
#include "transport/routes.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "config.h"

enum { OBJECT_BYTES = 4096 };

static const char usage[] = "usage: oshinfo [--settings | --settings-page | --routes | --version]\n"
                            "  --settings       only the settings\n"
                            "  --settings-page  the settings as a page in Markdown, doc/settings.md\n"
                            "  --routes         only the routes between the PEs; run it under oshrun -n N\n";

static void print_version(void)
{
    printf("%s, OpenSHMEM %d.%d\n", PACKAGE_STRING, SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION);
}

static void print_devices(int type)
{
    char name[128], address[32];
    const struct shmemi_memory *memory = shmemi_memory_of_type(type);
    int count = memory ? memory->device_count() : 0;
    printf("  %-8s %d device%s\n", shmemi_memory_type_name(type), count, count == 1 ? "" : "s");
    for (int i = 0; i < count; i++) {
        if (memory->device_name(i, name, sizeof name))
            strcpy(name, "unknown");
        bool has_address = !memory->device_pci(i, address, sizeof address);
        printf("           %d: %s%s%s\n", i, name, has_address ? ", PCI " : "", has_address ? address : "");
    }
}

static void print_build(void)
{
    printf("\nbuilt with UCX %s\n", MAPSHMEM_UCX_VERSION);
    printf("found on this machine:\n");
    print_devices(OSHM_MEMTYPE_CUDA);
    print_devices(OSHM_MEMTYPE_OPENCL);
}

/* Which route each class of memory takes, unless SHMEM_GPU_ROUTE forces one. */
static void print_table(void)
{
    printf("\nmapped memory, route by what made it and where the PEs' GPUs are:\n%14s", "");
    for (int relation = 0; relation < SHMEMI_RELATIONS; relation++)
        printf(" %-14s", shmemi_relation_name((enum shmemi_relation)relation));
    for (int class = 0; class < SHMEMI_MEMORY_CLASSES; class ++) {
        printf("\n  %-12s", shmemi_memory_class_name((enum shmemi_memory_class) class));
        for (int relation = 0; relation < SHMEMI_RELATIONS; relation++)
            printf(" %-14s", shmemi_route_of((enum shmemi_memory_class) class, (enum shmemi_relation)relation));
    }
    printf("\n");
    fflush(stdout);
}

/* shmmap is collective, so the PEs agree first whether each of them has a device. */
static void print_gpu_matrix(int type)
{
    char title[64];
    void *object = NULL;
    int device = shmemx_my_device(type);
    const struct shmemi_memory *memory = device < 0 ? NULL : shmemi_memory_of_type(type);
    int *have = shmem_malloc(sizeof *have), *least = shmem_malloc(sizeof *least);
    *have = memory && !memory->allocate(device, OBJECT_BYTES, &object) ? 0 : 1;
    shmem_int_max_reduce(SHMEM_TEAM_WORLD, least, have, 1); /* 1: some PE has none */
    snprintf(title, sizeof title, "%s memory", shmemi_memory_type_name(type));
    if (*least == 0) {
        void *address = shmmap(object, OBJECT_BYTES, type);
        if (address)
            print_route_matrix(title, address);
        shmumap(address);
    } else if (shmem_my_pe() == 0) {
        printf("\n%s: not every PE has a device\n", title);
    }
    if (object)
        memory->deallocate(object);
    shmem_free(least);
    shmem_free(have);
}

static void print_routes(void)
{
    static int static_word;
    void *heap = shmem_malloc(8);
    if (shmem_my_pe() == 0)
        print_table();
    print_route_matrix("symmetric heap", heap);
    print_route_matrix("static data", &static_word);
    shmem_free(heap);
    print_gpu_matrix(OSHM_MEMTYPE_CUDA);
    print_gpu_matrix(OSHM_MEMTYPE_OPENCL);
}

static void print_settings(void)
{
    printf("\nsettings (environment variables), present value first:\n");
    shmemi_settings_print(stdout);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    const bool all = !*what, routes = !strcmp(what, "--routes"), settings = !strcmp(what, "--settings");
    const bool page = !strcmp(what, "--settings-page"), version = !strcmp(what, "--version");
    if (argc > 2 || !(all || routes || settings || page || version)) {
        fputs(usage, stderr);
        return strcmp(what, "--help") ? 2 : 0;
    }
    if (page) {
        shmemi_settings_print_page(stdout);
        return 0;
    }
    shmem_init();
    if (shmem_my_pe() == 0) {
        print_version();
        if (all)
            print_build();
        if (all || settings)
            print_settings();
        fflush(stdout);
    }
    shmem_barrier_all();
    if (all || routes)
        print_routes();
    shmem_finalize();
    return 0;
}
