/* SPDX-License-Identifier: BSD-3-Clause
 *
 * oshinfo: prints what this build of MapSHMEM has and what it finds on this machine, the routes between the PEs for each
 * kind of memory, and on demand the settings. Started by oshrun it prints the routes of that job, otherwise those of a
 * single PE.
 */
#include "tools/oshinfo.h"

#include "base/text/escape.h"
#include "base/log.h"
#include "base/settings.h"
#include "bootstrap/job.h"
#include "gpu/memory.h"
#include "shmem/shmemx.h"
#include "transport/drivers/table.h"
#include "shmmap/memory_use.h"
#include "transport/routes.h"
#include "transport/threads.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

enum { OBJECT_BYTES = 4096, FIRST_GPU_TYPE = SHMEMI_MEMTYPE_HOST + 1 };

static const char usage[] =
    "usage: oshinfo [OPTION]\n"
    "Prints what this build of MapSHMEM has, the devices that it finds on this machine, the routes between the PEs,\n"
    "where threads run, and what memory is used for. Under oshrun -n N it describes that job.\n"
    "  --settings       the settings, which are not printed without this option\n"
    "  --tuning         only what the library chooses by: constants, and settings for tests\n"
    "  --routes         only the routes between the PEs\n"
    "  --threads        only where the PEs and the library's threads run\n"
    "  --memory         only what the memory of PE 0 is used for\n"
    "  --json           all of it as JSON; oshinfo(1) describes the keys\n"
    "  --settings-page  the settings as a page in Markdown, doc/settings.md\n"
    "  --settings-man   the settings as a manual page, shmem_settings(7)\n"
    "  --version        only the version\n"
    "  -h, --help       this text\n";

static void print_version(void)
{
    printf("%s, OpenSHMEM %d.%d\n", PACKAGE_STRING, SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION);
}

static void print_devices(int type)
{
    char name[128], address[32];
    const struct shmemi_memory *memory = shmemi_memory_of_type(type);
    int count = memory ? memory->device_count() : 0;
    printf("  %-8s %d device%s%s\n", shmemi_memory_type_name(type), count, count == 1 ? "" : "s",
           shmemi_memory_is_built(type) ? "" : " (this build of the library has no support for it)");
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
    for (int type = FIRST_GPU_TYPE; type < SHMEMI_MEMTYPES; type++)
        print_devices(type);
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
    printf("\nvmm: memory of cuMemCreate, pool: of cudaMallocAsync; -private: other processes cannot open it. What the "
           "routes\n"
           "are: man 7 shmem_routes\n");
    fflush(stdout);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

enum { THREAD_PES_MAX = 16 };

static void print_thread_line(int pe, const char *line)
{
    if (pe == 0)
        printf("\nthe library's threads:\n");
    if (pe < THREAD_PES_MAX)
        printf("  PE %d%s\n", pe, line + strlen("PE")); /* "PE on processors ..." */
    if (pe == THREAD_PES_MAX)
        printf("  and %d other PEs\n", shmem_n_pes() - THREAD_PES_MAX);
}

void oshinfo_threads(void (*show)(int pe, const char *line))
{
    enum { LINE_BYTES = 320 };
    char line[LINE_BYTES];
    char *mine = shmem_malloc(LINE_BYTES);
    if (!mine)
        return;
    shmemi_threads_describe(mine, LINE_BYTES);
    shmem_barrier_all();
    for (int pe = 0; shmem_my_pe() == 0 && pe < shmem_n_pes(); pe++) {
        shmem_getmem(line, mine, LINE_BYTES, pe);
        show(pe, line);
    }
    fflush(stdout);
    shmem_barrier_all();
    shmem_free(mine);
}

/* ---- What is printed --------------------------------------------------------------------------------------------- */

/* Collective; after a map. */
static void print_sharers(const struct shmemi_memory *memory)
{
    const bool has_mps = memory->streams->commands;
    int *mine = shmem_malloc(2 * sizeof *mine), *most = shmem_malloc(2 * sizeof *most);
    mine[0] = shmemi_memory_sharers[memory->type];
    mine[1] = shmemi_memory_takes_turns(memory);
    shmem_int_max_reduce(SHMEM_TEAM_WORLD, most, mine, 2);
    const char *how = !most[1]  ? "beside each other (MPS)"
                      : has_mps ? "in turns, so kernels that wait for other PEs are avoided (MPS would let them run "
                                  "beside each other)"
                                : "in turns";
    if (shmem_my_pe() == 0 && most[0] > 1)
        printf("up to %d PEs share a device: %s\n", most[0], how);
    shmem_free(most);
    shmem_free(mine);
}

/* shmmap is collective, so the PEs agree first whether each of them has a device. */
static void show_gpu_matrix(int type, oshinfo_show_t *show)
{
    char title[64];
    void *object = NULL;
    int device = shmemx_my_device(type);
    const struct shmemi_memory *memory = device < 0 ? NULL : shmemi_memory_of_type(type);
    int *lacks = shmem_malloc(sizeof *lacks), *lacking = shmem_malloc(sizeof *lacking);
    *lacks = memory && !memory->allocate(device, OBJECT_BYTES, &object) ? 0 : 1;
    shmem_int_sum_reduce(SHMEM_TEAM_WORLD, lacking, lacks, 1); /* PEs without a device */
    snprintf(title, sizeof title, "%s memory", shmemi_memory_type_name(type));
    if (*lacking == 0) {
        void *address = shmmap(object, OBJECT_BYTES, type);
        if (address)
            oshinfo_show_matrix(title, address, show);
        if (show == oshinfo_print_matrix)
            print_sharers(memory);
        shmumap(address);
    } else if (shmem_my_pe() == 0 && show == oshinfo_print_matrix) {
        printf("\n%s: %s PE has a device\n", title, *lacking == shmem_n_pes() ? "no" : "not every");
    } else if (shmem_my_pe() == 0) {
        show(title, NULL);
    }
    if (object)
        memory->deallocate(object);
    shmem_free(lacking);
    shmem_free(lacks);
}

void oshinfo_routes(oshinfo_show_t *show)
{
    static int static_word;
    void *heap = shmem_malloc(8);
    oshinfo_show_matrix("symmetric heap", heap, show);
    oshinfo_show_matrix("static data", &static_word, show);
    shmem_free(heap);
    for (int type = FIRST_GPU_TYPE; type < SHMEMI_MEMTYPES; type++)
        show_gpu_matrix(type, show);
}

static void print_routes(void)
{
    oshinfo_routes(oshinfo_print_matrix);
    if (shmem_my_pe() == 0)
        print_table();
}

static void print_settings(void)
{
    printf("\nsettings (environment variables), present value first:\n");
    shmemi_settings_print(stdout, false);
}

static void print_memory(void)
{
    uint64_t bytes[SHMEMI_USES];
    shmemi_memory_use(bytes);
    printf("\nmemory of PE 0, KiB:\n");
    for (int use = 0; use < SHMEMI_USES; use++)
        printf("  %-32s %12.1f\n", shmemi_memory_use_name(use), (double)bytes[use] / 1024);
}

/* What an option asks for; each is printed by the job, after initialisation. */
static const struct {
    const char *option;
    bool build, settings, threads, routes, memory, json;
} views[] = {
    {"", true, false, true, true, true, false},
    {"--settings", false, true, false, false, false, false},
    {"--threads", false, false, true, false, false, false},
    {"--routes", false, false, false, true, false, false},
    {"--memory", false, false, false, false, true, false},
    {"--version", false, false, false, false, false, false},
    {"--json", false, false, false, false, false, true},
};

static void print_view(int view)
{
    if (shmem_my_pe() == 0) {
        print_version();
        if (views[view].build)
            print_build();
        if (views[view].settings)
            print_settings();
        fflush(stdout);
    }
    shmem_barrier_all();
    if (views[view].routes)
        print_routes();
    if (views[view].threads)
        oshinfo_threads(print_thread_line);
    if (views[view].memory && shmem_my_pe() == 0)
        print_memory();
    if (views[view].build && shmem_my_pe() == 0)
        printf("\nsettings: oshinfo --settings; more: oshinfo --help\n");
}

/* Options that need no job: returns the exit status, or -1 for another one. */
static int without_job(const char *option)
{
    if (!strcmp(option, "--help") || !strcmp(option, "-h"))
        fputs(usage, stdout);
    else if (!strcmp(option, "--settings-page"))
        shmemi_settings_print_page(stdout);
    else if (!strcmp(option, "--settings-man"))
        oshinfo_settings_man();
    else if (!strcmp(option, "--tuning"))
        oshinfo_tuning();
    else
        return -1;
    return 0;
}

int main(int argc, char **argv)
{
    const char *option = argc > 1 ? argv[1] : "";
    int rc = argc > 2 ? -1 : without_job(option), view = 0;
    const int n_views = sizeof views / sizeof views[0];
    if (rc >= 0)
        return rc;
    while (view < n_views && (strcmp(option, views[view].option) || argc > 2))
        view++;
    if (view == n_views) {
        shmemi_escape_line(argv[1], strlen(argv[1]));
        fprintf(stderr, "oshinfo: wrong arguments: '%s'%s; --help lists what there is\n", option,
                argc > 2 ? " and more" : "");
        return 2;
    }
    if (views[view].json)
        shmemi_log_last_words = oshinfo_json_failure;
    shmem_init();
    if (shmemi_log_last_words == oshinfo_json_failure)
        shmemi_log_last_words = NULL;
    if (views[view].json)
        oshinfo_json();
    else
        print_view(view);
    shmem_finalize();
    return 0;
}
