/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parameters of the model: their names, and how they are read.
 */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parameters model = {.cores = 1, .nodes_per_machine = 1, .slice = 3e-3, .slack = 50e-6};

static const char *const ways[WAYS] = {"host_far", "device_near", "device_far"};
static const struct {
    const char *name;
    size_t offset;
} of_way[] =
    {
        {"latency", offsetof(struct way, latency)},
        {"overhead", offsetof(struct way, overhead)},
        {"gap", offsetof(struct way, gap)},
        {"per_byte", offsetof(struct way, per_byte)},
        {"per_byte_cpu", offsetof(struct way, per_byte_cpu)},
        {"help", offsetof(struct way, help)},
        {"settle", offsetof(struct way, settle)},
},
  of_all[] = {
      {"store", offsetof(struct parameters, store)},
      {"load", offsetof(struct parameters, load)},
      {"copy_per_byte", offsetof(struct parameters, copy_per_byte)},
      {"call", offsetof(struct parameters, call)},
      {"turn", offsetof(struct parameters, turn)},
      {"look", offsetof(struct parameters, look)},
      {"wake", offsetof(struct parameters, wake)},
      {"slack", offsetof(struct parameters, slack)},
      {"slice", offsetof(struct parameters, slice)},
      {"cores", offsetof(struct parameters, cores)},
      {"nodes_per_machine", offsetof(struct parameters, nodes_per_machine)},
      {"gpu_launch", offsetof(struct parameters, gpu_launch)},
      {"gpu_copy", offsetof(struct parameters, gpu_copy)},
      {"gpu_copy_per_byte", offsetof(struct parameters, gpu_copy_per_byte)},
      {"gpu_cells", offsetof(struct parameters, gpu_cells)},
      {"gpu_edges", offsetof(struct parameters, gpu_edges)},
      {"gpu_is_cpu", offsetof(struct parameters, gpu_is_cpu)},
};
enum { OF_WAY = sizeof of_way / sizeof of_way[0], OF_ALL = sizeof of_all / sizeof of_all[0] };

/* The parameter with this name: a name, or way.name. */
static double *find(const char *name)
{
    for (int i = 0; i < OF_ALL; i++)
        if (!strcmp(of_all[i].name, name))
            return (double *)((char *)&model + of_all[i].offset);
    for (int way = 0; way < WAYS; way++) {
        size_t length = strlen(ways[way]);
        if (strncmp(name, ways[way], length) || name[length] != '.')
            continue;
        for (int i = 0; i < OF_WAY; i++)
            if (!strcmp(of_way[i].name, name + length + 1))
                return (double *)((char *)&model.way[way] + of_way[i].offset);
    }
    fprintf(stderr, "model: there is no parameter %s\n", name);
    exit(2);
}

static void set(const char *name, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || value < 0) {
        fprintf(stderr, "model: %s needs a number that is not negative\n", name);
        exit(2);
    }
    *find(name) = value;
}

void parameters_set(const char *assignment)
{
    char name[64] = "", value[64] = "";
    sscanf(assignment, "%63[^=]=%63s", name, value);
    set(name, value);
}

void parameters_read(const char *path)
{
    FILE *file = fopen(path, "r");
    char line[256], name[64], value[64];
    if (!file) {
        perror(path);
        exit(2);
    }
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "#")] = 0;
        if (sscanf(line, "%63s %63s", name, value) == 2)
            set(name, value);
    }
    fclose(file);
}
