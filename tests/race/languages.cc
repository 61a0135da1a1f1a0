// SPDX-License-Identifier: BSD-3-Clause
//
// A C++ program with a race if its argument is racy, and without one otherwise.
#include <shmem.h>

#include <string>
#include <vector>

namespace grid
{
struct cell {
    int value;
    int load() const
    {
        return value; // racy
    }
};
} // namespace grid

static grid::cell cells[8];
static volatile int sink;

int main(int, char **argv)
{
    const bool is_racy = std::string(argv[1]) == "racy";
    shmem_init();
    shmem_barrier_all();
    if (shmem_my_pe() == 0) {
        const std::vector<int> source(8, 3);
        shmem_put(&cells[0].value, source.data(), source.size(), 1); // racy
    }
    if (!is_racy)
        shmem_barrier_all();
    if (shmem_my_pe() == 1)
        sink = cells[5].load();
    shmem_finalize();
    return 0;
}
