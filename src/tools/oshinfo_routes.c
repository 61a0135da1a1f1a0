/* SPDX-License-Identifier: BSD-3-Clause
 *
 * oshinfo: the routes between all PEs to an object, collected and printed as a table or as a summary.
 */
#include "tools/oshinfo.h"

#include "bootstrap/job.h"
#include "shmem/shmemx.h"
#include "transport/drivers/table.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Tables of routes -------------------------------------------------------------------------------------------- */

enum { NAMED_PES_MAX = 8, LETTERED_PES_MAX = 16, ROUTES_MAX = 16, SUMMARY_BYTES = 512 };

static unsigned char route_to(const void *address, int pe)
{
    const char *name = shmemx_route(address, pe), *known;
    for (unsigned i = 0; i < ROUTES_MAX && (known = shmemi_driver_name(i)); i++)
        if (!strcmp(name, known))
            return (unsigned char)i;
    return ROUTES_MAX;
}

int oshinfo_route_at(const struct oshinfo_matrix *matrix, int from, int to)
{
    return matrix->route[(size_t)from * (size_t)matrix->n + (size_t)to];
}

const char *oshinfo_route_name(int route)
{
    const char *name = shmemi_driver_name((unsigned)route);
    return name ? name : "?";
}

/* ---- Small jobs -------------------------------------------------------------------------------------------------- */

static void print_head(int n, int width)
{
    printf("%6s", "");
    for (int pe = 0; pe < n; pe++)
        printf(" %*d", width, pe);
}

static void print_names(const struct oshinfo_matrix *matrix)
{
    print_head(matrix->n, 11);
    for (int from = 0; from < matrix->n; from++) {
        printf("\n%6d", from);
        for (int to = 0; to < matrix->n; to++)
            printf(" %11s", oshinfo_route_name(oshinfo_route_at(matrix, from, to)));
    }
    printf("\n");
}

static void print_letters(const struct oshinfo_matrix *matrix)
{
    bool used[ROUTES_MAX + 1] = {false};
    print_head(matrix->n, 2);
    for (int from = 0; from < matrix->n; from++) {
        printf("\n%6d", from);
        for (int to = 0; to < matrix->n; to++) {
            int route = oshinfo_route_at(matrix, from, to);
            used[route] = true;
            printf("  %c", 'A' + route);
        }
    }
    printf("\n%5s", "");
    for (int route = 0; route <= ROUTES_MAX; route++)
        if (used[route])
            printf("  %c %s", 'A' + route, oshinfo_route_name(route));
    printf("\n");
}

/* ---- Large jobs -------------------------------------------------------------------------------------------------- */

enum relation { ITSELF, SAME_NODE, OTHER_NODE, RELATIONS };
static const char *const relation_names[] = {"itself", "the others of its node", "other nodes"};

static enum relation relation(int from, int to)
{
    if (from == to)
        return ITSELF;
    return shmemi_job.node_of[from] == shmemi_job.node_of[to] ? SAME_NODE : OTHER_NODE;
}

/* Which routes the PEs of a node take, and how many pairs of PEs take each. */
static void summarise(const struct oshinfo_matrix *matrix, int node, char *text, size_t size)
{
    unsigned long pairs[RELATIONS][ROUTES_MAX + 1] = {{0}};
    size_t length = 0;
    for (int from = 0; from < matrix->n; from++)
        for (int to = 0; to < matrix->n && shmemi_job.node_of[from] == node; to++)
            pairs[relation(from, to)][oshinfo_route_at(matrix, from, to)]++;
    text[0] = '\0';
    for (int i = 0; i < RELATIONS; i++) {
        const char *before = relation_names[i];
        for (int route = 0; route <= ROUTES_MAX && length < size; route++) {
            if (!pairs[i][route])
                continue;
            length += (size_t)snprintf(text + length, size - length, "%s%s %s (%lu)", length ? ", " : "to ", before,
                                       oshinfo_route_name(route), pairs[i][route]);
            before = "";
        }
    }
}

static void print_nodes(int first, int last, const char *text)
{
    if (first == last)
        printf("  node %d: %s\n", first, text);
    else
        printf("  nodes %d to %d, each: %s\n", first, last, text);
}

/* Consecutive nodes with the same routes share a line. */
static void print_summary(const struct oshinfo_matrix *matrix)
{
    char text[SUMMARY_BYTES], next[SUMMARY_BYTES];
    int first = 0;
    printf("  %d nodes, %d PEs; in brackets: pairs of PEs\n", shmemi_job.n_nodes, matrix->n);
    summarise(matrix, 0, text, sizeof text);
    for (int node = 1; node < shmemi_job.n_nodes; node++) {
        summarise(matrix, node, next, sizeof next);
        if (!strcmp(text, next))
            continue;
        print_nodes(first, node - 1, text);
        first = node;
        strcpy(text, next);
    }
    print_nodes(first, shmemi_job.n_nodes - 1, text);
}

/* ---- The routes between all PEs, in a form that fits the size of the job ----------------------------------------- */

void oshinfo_print_matrix(const char *title, const struct oshinfo_matrix *matrix)
{
    printf("\n%s, route from PE%s to PE%s:\n", title, matrix->n <= LETTERED_PES_MAX ? " (row)" : "",
           matrix->n <= LETTERED_PES_MAX ? " (column)" : "");
    if (matrix->n <= NAMED_PES_MAX)
        print_names(matrix);
    else if (matrix->n <= LETTERED_PES_MAX)
        print_letters(matrix);
    else
        print_summary(matrix);
    fflush(stdout);
}

/* Collective. address is symmetric; PE 0 shows. */
void oshinfo_show_matrix(const char *title, const void *address, oshinfo_show_t *show)
{
    struct oshinfo_matrix matrix = {.n = shmem_n_pes()};
    size_t n = (size_t)matrix.n;
    unsigned char *row = shmem_malloc(n);
    if (!row)
        return;
    for (int pe = 0; pe < matrix.n; pe++)
        row[pe] = route_to(address, pe);
    shmem_barrier_all();
    if (shmem_my_pe() == 0 && (matrix.route = malloc(n * n))) {
        for (int pe = 0; pe < matrix.n; pe++)
            shmem_getmem(matrix.route + (size_t)pe * n, row, n, pe);
        show(title, &matrix);
        free(matrix.route);
    }
    shmem_free(row);
}
