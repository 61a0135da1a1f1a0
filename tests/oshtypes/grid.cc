// SPDX-License-Identifier: BSD-3-Clause
//
// Puts objects of grid.h to the last PE, which checks all of them. Linked with the output of oshtypes.
#include "grid.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <shmemx.h>

extern "C" int grid_register();

#ifdef VIRTUAL
square a_square;
#endif

static void expect(bool holds, const char *what)
{
    if (holds)
        return;
    std::fprintf(stderr, "PE %d: %s\n", shmem_my_pe(), what);
    std::exit(1);
}

int main()
{
    shmem_init();
    expect(!grid_register(), "register");
    int me = shmem_my_pe(), last = shmem_n_pes() - 1;
    shmemx_type_t type = shmemx_type_find("grid::node");
    void *image = shmem_align(16, 4096);
    double values[3] = {1, 2, 3};
    float floats[2] = {4, 5};
    short shorts[3] = {6, 7, 8};
    grid::node right(nullptr), root(&right);
    root.n = 3;
    root.values = values;
    root.a.n = 2;
    root.a.data = floats;
    root.in.k = 2;
    root.in.list = shorts;
    if (me == 0)
        expect(shmemx_put_deep(image, 4096, &root, type, 1, last) > 0, "put_deep");
    shmem_barrier_all();
    if (me == last) {
        shmemx_deep_info_t info;
        expect(!shmemx_deep_info(image, type, &info, me), "deep_info");
        const grid::node *node = reinterpret_cast<const grid::node *>(static_cast<std::uintptr_t>(info.root));
        expect(node->n == 3 && node->values[2] > 2.5 && &node->me == node, "base class");
        expect(node->a.n == 2 && node->a.data[1] > 4.5F, "template");
        expect(node->in.k == 2 && node->in.list[2] == 8 && node->get() == 7, "nested, private");
        expect(node->left && node->left != node && !node->left->values && &node->left->me == node->left, "next node");
        expect(node->now == grid::node::state::busy, "enumeration");
    }
    shmem_free(image);
    shmem_finalize();
    return 0;
}
