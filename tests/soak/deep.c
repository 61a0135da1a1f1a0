/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The deep copies of the soak: lists of random length, whose nodes have arrays of random length.
 */
#include "soak.h"

struct node {
    uint64_t key;
    int n;
    double *data;
    struct node *next;
};

static const shmemx_field_t fields[] = {
    {"n", offsetof(struct node, n), SHMEMX_FIELD_VALUE, "int", 0, NULL},
    {"data", offsetof(struct node, data), SHMEMX_FIELD_POINTER, "double", 0, "n"},
    {"next", offsetof(struct node, next), SHMEMX_FIELD_POINTER, "soak node", 0, NULL},
};
static shmemx_type_t node_type;

static shmemx_type_t create_type(void)
{
    shmemx_type_t type = shmemx_type_create("soak node", sizeof(struct node), 3, fields);
    CHECK(type);
    return type;
}

void deep_prepare(void)
{
    node_type = create_type();
}

static struct node *make_list(struct random *random)
{
    struct node *list = NULL;
    for (size_t length = 1 + random_below(random, 12); length; length--) {
        struct node *node = check_malloc(sizeof *node);
        *node = (struct node){random_next(random), (int)random_below(random, 30), NULL, list};
        node->data = check_malloc((size_t)node->n * sizeof *node->data);
        for (int i = 0; i < node->n; i++)
            node->data[i] = (double)node->key + i;
        list = node;
    }
    return list;
}

static void free_list(struct node *list)
{
    for (struct node *next; list; list = next) {
        next = list->next;
        free(list->data);
        free(list);
    }
}

static bool are_equal(const struct node *a, const struct node *b)
{
    for (; a && b; a = a->next, b = b->next)
        if (a->key != b->key || a->n != b->n || (a->n && memcmp(a->data, b->data, (size_t)a->n * sizeof *a->data)))
            return false;
    return a == b;
}

void deep_round_trip(struct random *random, int number, int pe)
{
    unsigned char *image = soak.images + (size_t)(soak.me * soak.n_threads + number) * DEEP;
    struct node *list = make_list(random);
    if (random_below(random, 4) == 0)
        CHECK(create_type() == node_type);
    ptrdiff_t size = random_below(random, 2) ? shmemx_put_deep(image, DEEP, list, node_type, 1, pe)
                                             : shmemx_put_deep_nbi(image, DEEP, list, node_type, 1, pe);
    CHECK_THAT(size > 0, "phase %d, thread %d: put_deep to PE %d returned %td", soak.phase, number, pe, size);
    shmem_quiet();
    struct node *copy = shmemx_get_deep_new(image, node_type, NULL, pe);
    CHECK_THAT(copy && are_equal(list, copy), "phase %d, thread %d: a list that was put to PE %d came back changed",
               soak.phase, number, pe);
    shmemx_deep_free(copy);
    free_list(list);
}
