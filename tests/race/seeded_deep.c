/* SPDX-License-Identifier: BSD-3-Clause
 *
 * As seeded.c, with deep copies: a list whose elements have arrays.
 */
#include "choose.h"

#include <shmemx.h>

#include <stdlib.h>

typedef struct element {
    double value;
    int n;
    double *data;
    struct element *next;
} element;

enum { ELEMENTS = 3, NUMBERS = 4, CAPACITY = 4096 };

static bool is_racy;
static shmemx_type_t type;
static char *image;
static uint64_t signal_word;
static volatile double sink;

/* The type, and symmetric memory for an image. */
static void begin(void)
{
    const shmemx_field_t fields[] = {
        {"n", offsetof(element, n), SHMEMX_FIELD_VALUE, "int", 0, NULL},
        {"data", offsetof(element, data), SHMEMX_FIELD_POINTER, "double", 0, "n"},
        {"next", offsetof(element, next), SHMEMX_FIELD_POINTER, "element", 0, NULL},
    };
    type = shmemx_type_create("element", sizeof(element), 3, fields);
    image = shmem_align(16, CAPACITY);
    if (!type || !image)
        shmem_global_exit(1);
    shmem_barrier_all();
}

static element *make_list(void)
{
    element *first = NULL;
    for (int i = 0; i < ELEMENTS; i++) {
        element *made = malloc(sizeof *made);
        *made = (element){i, NUMBERS, calloc(NUMBERS, sizeof(double)), first};
        first = made;
    }
    return first;
}

static void free_list(element *list)
{
    while (list) {
        element *next = list->next;
        free(list->data);
        free(list);
        list = next;
    }
}

/* The list that is in an image. */
static element *list_of(void *there)
{
    shmemx_deep_info_t info;
    if (shmemx_deep_info(there, type, &info, me))
        shmem_global_exit(1);
    return (element *)(uintptr_t)info.root;
}

/* The mistake: an array of the list is changed before quiet. */
static void changed_list(void)
{
    begin();
    element *list = make_list();
    shmemx_put_deep_nbi(image, CAPACITY, list, type, 1, right); // changed_list
    if (!is_racy)
        shmem_quiet();
    list->next->data[2] = 5; // changed_list
    shmem_quiet();
    free_list(list);
}

/* The mistake: the list is followed before it is there. What it reads then is not used. */
static void list_arrives(void)
{
    begin();
    if (me == 0) {
        element *list = make_list();
        shmemx_put_deep(image, CAPACITY, list, type, 1, 1); // list_arrives
        free_list(list);
    }
    if (!is_racy)
        shmem_barrier_all();
    if (me == 1 && is_racy)
        sink = image[200]; // list_arrives
    if (me == 1 && !is_racy)
        sink = list_of(image)->next->data[1];
    shmem_barrier_all();
}

/* The mistake: the next list comes before the one that is there has been read. */
static void lists_by_signal(void)
{
    begin();
    static uint64_t used;
    element *list = make_list();
    for (uint64_t i = 1; i <= 3; i++) {
        if (me == 0) {
            if (!is_racy && i > 1)
                shmem_signal_wait_until(&used, SHMEM_CMP_EQ, i - 1);
            list->value = (double)i;
            shmemx_put_deep_signal(image, CAPACITY, list, type, 1, &signal_word, i, SHMEM_SIGNAL_SET, // lists_by_signal
                                   1);
        }
        if (me == 1) {
            shmem_signal_wait_until(&signal_word, SHMEM_CMP_GE, i);
            sink = ((element *)(image + SHMEMX_DEEP_HEADER))->value; // lists_by_signal
            shmem_uint64_atomic_set(&used, i, 0);
        }
    }
    free_list(list);
}

/* The mistake: the owner changes a value of the image that another PE brings back. */
static void list_back(void)
{
    begin();
    element *list = make_list(), *there;
    shmemx_put_deep(image, CAPACITY, list, type, 1, right);
    shmem_barrier_all();
    there = list_of(image);
    if (!is_racy) {
        there->next->data[0] = me;
        shmem_barrier_all();
    }
    shmemx_get_deep(list, image, type, 1, right); // list_back
    if (is_racy)
        there->next->data[0] = me; // list_back
    sink = list->next->data[0];
    shmem_barrier_all();
    free_list(list);
}

/* The mistake: what a get without a wait brings is looked at before quiet. */
static void list_later(void)
{
    begin();
    element *list = make_list();
    shmemx_put_deep(image, CAPACITY, list, type, 1, right);
    shmem_barrier_all();
    shmemx_get_deep_nbi(list, image, type, 1, right); // list_later
    if (!is_racy)
        shmem_quiet();
    sink = list->next->next->data[3]; // list_later
    shmem_quiet();
    shmem_barrier_all();
    free_list(list);
}

/* The mistake: the root writes to a list that a member may still be given, or read. */
static void list_of_root(void)
{
    begin();
    element *list = make_list();
    if (shmemx_broadcast_deep(SHMEM_TEAM_WORLD, image, CAPACITY, list, type, 1, 0) < 0) // list_of_root
        shmem_global_exit(1);
    if (me == 1)
        sink = list_of(image)->next->data[1];
    if (!is_racy)
        shmem_barrier_all();
    if (me == 0)
        shmem_putmem(image + SHMEMX_DEEP_HEADER, &(double[40]){0}, 40 * sizeof(double), 1); // list_of_root
    shmem_barrier_all();
    free_list(list);
}

/* The mistake: an image is copied that may not be there yet. */
static void new_list(void)
{
    begin();
    element *list = make_list();
    shmemx_put_deep(image, CAPACITY, list, type, 1, right);
    shmem_barrier_all();
    element *copy = shmemx_get_deep_new(image, type, NULL, left); // new_list
    if (!is_racy)
        shmem_barrier_all();
    list->value = 9;
    shmemx_put_deep(image, CAPACITY, list, type, 1, right); // new_list
    shmem_barrier_all();
    shmemx_deep_free(copy);
    free_list(list);
}

static const struct program programs[] = {
    PROGRAM(changed_list), PROGRAM(list_arrives), PROGRAM(lists_by_signal), PROGRAM(list_back),
    PROGRAM(list_later),   PROGRAM(list_of_root), PROGRAM(new_list),
};

int main(int argc, char **argv)
{
    is_racy = argc > 2 && !strcmp(argv[2], "racy");
    return run_chosen(argc, argv, programs, sizeof programs / sizeof *programs);
}
