/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The route from every PE to every PE for one symmetric object, in a form that fits the size of the job: names, letters
 * with a legend, or a summary by node.
 */
#ifndef ROUTE_MATRIX_H
#define ROUTE_MATRIX_H

/* Collective. address is symmetric; PE 0 prints. */
void print_route_matrix(const char *title, const void *address);

#endif
