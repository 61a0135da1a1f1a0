/* SPDX-License-Identifier: BSD-3-Clause
 *
 * model [-p FILE] [NAME=VALUE]... COMMAND ...: predictions (model.h). -p reads parameters.
 *
 * collectives PES PER_NODE NAME:BYTES:CALLS...   microseconds for one call
 * stencil PES PER_NODE ...                       stencil.c
 * bfs PES PER_NODE ...                           bfs.c
 */
#include "model.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
    } commands[] = {{"collectives", model_collectives}, {"stencil", model_stencil}, {"bfs", model_bfs}};
    int at = 1;
    for (; at < argc; at++) {
        if (!strcmp(argv[at], "-p") && at + 1 < argc)
            parameters_read(argv[++at]);
        else if (strchr(argv[at], '='))
            parameters_set(argv[at]);
        else
            break;
    }
    for (size_t i = 0; at < argc && i < sizeof commands / sizeof commands[0]; i++)
        if (!strcmp(argv[at], commands[i].name))
            return commands[i].run(argc - at - 1, argv + at + 1);
    fprintf(stderr, "model [-p FILE] [NAME=VALUE]... collectives|stencil|bfs ...\n");
    return 2;
}
