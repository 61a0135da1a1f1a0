/* SPDX-License-Identifier: BSD-3-Clause
 *
 * list: PE 0 puts a linked list, with the arrays that its nodes point to, into the memory of PE 1, where the pointers of the
 * copy lead to the copies.
 *
 *     oshcc -o list list.c
 *     oshrun -n 2 ./list
 */
#include <shmemx.h>
#include <stddef.h>
#include <stdio.h>

struct node {
    int n;
    double *data;
    struct node *next;
};

static const shmemx_field_t fields[] = {
    /* member, where, what it is, of which type, how many: constant or count */
    {"n", offsetof(struct node, n), SHMEMX_FIELD_VALUE, "int", 0, NULL},
    {"data", offsetof(struct node, data), SHMEMX_FIELD_POINTER, "double", 0, "n"},
    {"next", offsetof(struct node, next), SHMEMX_FIELD_POINTER, "node", 0, NULL},
};

int main(void)
{
    double few[] = {1, 2}, many[] = {3, 4, 5}, sum = 0;
    struct node last = {3, many, NULL}, first = {2, few, &last};
    shmem_init();
    int me = shmem_my_pe();
    shmemx_type_t type = shmemx_type_create("node", sizeof(struct node), 3, fields);
    void *image = shmem_malloc(4096);
    if (me == 0 && shmemx_put_deep(image, 4096, &first, type, 1, 1) < 0) shmem_global_exit(1);
    shmem_barrier_all();
    if (me == 1) {
        shmemx_deep_info_t info;
        if (shmemx_deep_info(image, type, &info, 1) != 0) shmem_global_exit(1);
        for (struct node *node = (struct node *)info.root; node; node = node->next)
            for (int i = 0; i < node->n; i++) sum += node->data[i];
        printf("PE 1: %zu objects, the sum is %g: %s\n", info.nobjects, sum, sum == 15 ? "verified" : "WRONG");
    }
    shmem_finalize();
    return me == 1 && sum != 15;
}
