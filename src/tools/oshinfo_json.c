/* SPDX-License-Identifier: BSD-3-Clause
 *
 * oshinfo --json: all that oshinfo tells, for programs. PE 0 prints; the keys are documented in oshinfo(1) and stay.
 */
#include "tools/oshinfo.h"

#include "base/text/escape.h"
#include "base/log.h"
#include "base/settings.h"
#include "bootstrap/job.h"
#include "gpu/memory.h"
#include "shmem/shmemx.h"
#include "transport/routes.h"

#include <stdbool.h>
#include <stdio.h>

#include "config.h"

static bool first; /* no element of the present array or object has been printed */

static void separate(void)
{
    fputs(first ? "" : ",", stdout);
    first = false;
}

/* text may be NULL. */
static void print_string(const char *text)
{
    if (!text) {
        fputs("null", stdout);
        return;
    }
    char part[64];
    putchar('"');
    while (*text)
        fwrite(part, shmemi_escape_json(part, sizeof part, &text), 1, stdout);
    putchar('"');
}

/* Key and string, the latter of the same object. */
static void print_pair(const char *key, const char *text)
{
    separate();
    print_string(key);
    fputs(": ", stdout);
    print_string(text);
}

static void begin(const char *key, const char *bracket)
{
    separate();
    printf("\n  ");
    print_string(key);
    printf(": %s", bracket);
    first = true;
}

static void end(const char *bracket)
{
    fputs(bracket, stdout);
    first = false;
}

static void begin_element(void)
{
    separate();
    fputs("\n    {", stdout);
    first = true;
}

static void print_devices(void)
{
    char name[128], address[32];
    begin("devices", "[");
    for (int type = SHMEMI_MEMTYPE_HOST + 1; type < SHMEMI_MEMTYPES; type++) {
        const struct shmemi_memory *memory = shmemi_memory_of_type(type);
        for (int i = 0; memory && i < memory->device_count(); i++) {
            begin_element();
            print_pair("type", shmemi_memory_type_name(type));
            printf(", \"index\": %d", i);
            print_pair("name", memory->device_name(i, name, sizeof name) ? NULL : name);
            print_pair("pci", memory->device_pci(i, address, sizeof address) ? NULL : address);
            end("}");
        }
    }
    end("]");
}

static void print_settings(void)
{
    struct shmemi_setting_info info;
    begin("settings", "[");
    for (int i = 0; shmemi_setting_at(i, &info); i++) {
        begin_element();
        print_pair("name", info.name);
        print_pair("value", info.value);
        print_pair("default", info.usual);
        print_pair("set_by", info.set_by);
        print_pair("allowed", info.allowed);
        print_pair("audience", info.tuning ? "tuning" : "user");
        print_pair("meaning", info.meaning);
        end("}");
    }
    end("]");
}

static void print_job(void)
{
    begin("job", "{");
    printf("\"pes\": %d, \"nodes\": %d, \"node_of\": [", shmem_n_pes(), shmemi_job.n_nodes);
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        printf("%s%d", pe ? ", " : "", shmemi_job.node_of[pe]);
    end("]}");
}

/* Which route each class of memory takes, unless SHMEM_GPU_ROUTE forces one. */
static void print_memory_routes(void)
{
    begin("memory_routes", "[");
    for (int class = 0; class < SHMEMI_MEMORY_CLASSES; class ++) {
        begin_element();
        print_pair("memory", shmemi_memory_class_name((enum shmemi_memory_class) class));
        fputs(", \"routes\": {", stdout);
        first = true;
        for (int relation = 0; relation < SHMEMI_RELATIONS; relation++)
            print_pair(shmemi_relation_name((enum shmemi_relation)relation),
                       shmemi_route_of((enum shmemi_memory_class) class, (enum shmemi_relation)relation));
        end("}}");
    }
    end("]");
}

static void print_head(void)
{
    first = true;
    putchar('{');
    print_pair("version", PACKAGE_VERSION);
    begin("openshmem", "{");
    printf("\"major\": %d, \"minor\": %d", SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION);
    end("}");
    begin("build", "{");
    print_pair("ucx", MAPSHMEM_UCX_VERSION);
    end("}");
    print_devices();
    print_settings();
    print_job();
    print_memory_routes();
    begin("threads", "[");
}

static void show_thread(int pe, const char *line)
{
    (void)pe;
    separate();
    fputs("\n    ", stdout);
    print_string(line);
}

/* Memory that not every PE has is left out. */
static void show_matrix(const char *title, const struct oshinfo_matrix *matrix)
{
    if (!matrix)
        return;
    begin_element();
    print_pair("memory", title);
    fputs(", \"matrix\": [", stdout);
    for (int from = 0; from < matrix->n; from++) {
        fputs(from ? ", [" : "[", stdout);
        first = true;
        for (int to = 0; to < matrix->n; to++) {
            separate();
            print_string(oshinfo_route_name(oshinfo_route_at(matrix, from, to)));
        }
        end("]");
    }
    end("]}");
}

void oshinfo_json_failure(void)
{
    if (shmemi_job.pe > 0)
        return;
    first = true;
    putchar('{');
    print_pair("version", PACKAGE_VERSION);
    print_pair("error", shmemi_log_take_error());
    print_settings();
    puts("\n}");
    fflush(stdout);
}

void oshinfo_json(void)
{
    const bool prints = shmem_my_pe() == 0;
    if (prints)
        print_head();
    oshinfo_threads(show_thread);
    if (prints) {
        end("]");
        begin("routes", "[");
    }
    oshinfo_routes(show_matrix);
    if (prints) {
        end("]");
        puts("\n}");
        fflush(stdout);
    }
}
