/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of oshinfo share: how it collects what the PEs know, and its other forms of output.
 */
#ifndef OSHINFO_H
#define OSHINFO_H

/* The number of the route from PE to PE, n * n entries. */
struct oshinfo_matrix {
    int n;
    unsigned char *route;
};

int oshinfo_route_at(const struct oshinfo_matrix *matrix, int from, int to);
const char *oshinfo_route_name(int route);

/* Called on PE 0; title names the memory, and matrix is NULL if not every PE has such memory. */
typedef void oshinfo_show_t(const char *title, const struct oshinfo_matrix *matrix);

void oshinfo_print_matrix(const char *title, const struct oshinfo_matrix *matrix);

/* Collective: hand to show, on PE 0, the routes to an object at this symmetric address. */
void oshinfo_show_matrix(const char *title, const void *address, oshinfo_show_t *show);
/* Collective: hand to show the routes for each kind of memory. */
void oshinfo_routes(oshinfo_show_t *show);

/* Collective: hand to show, on PE 0, a line for each PE that says where it and the library's threads run. */
void oshinfo_threads(void (*show)(int pe, const char *line));

/* Collective: print everything as one JSON object; its keys are those that oshinfo(1) lists. */
void oshinfo_json(void);
/* What it prints instead when the library cannot start: the cause, and the settings. By PE 0, before the job ends. */
void oshinfo_json_failure(void);

/* Print the page shmem_settings(7). */
void oshinfo_settings_man(void);

/* Print the rows of tuning.def. */
void oshinfo_tuning(void);

#endif
