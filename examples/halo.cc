/* SPDX-License-Identifier: BSD-3-Clause
 *
 * halo: the exchange of halo.c in C++, by names without a type: the compiler takes the routine for the type.
 *
 *     oshc++ -o halo_cxx halo.cc
 *     oshrun -n 4 ./halo_cxx
 */
#include "halo.h"
#include <shmem.h>
#include <iostream>
#include <string>

namespace
{
enum { FROM_LEFT, FROM_RIGHT };

template <typename T> T *symmetric(std::size_t n)
{
    return static_cast<T *>(shmem_calloc(n, sizeof(T)));
}
} // namespace

int main()
{
    shmem_init();
    const int me = shmem_my_pe(), n = shmem_n_pes(), left = (me + n - 1) % n, right = (me + 1) % n;
    unsigned *field[] = {symmetric<unsigned>(CELLS + 2), symmetric<unsigned>(CELLS + 2)};
    auto *arrived = symmetric<uint64_t>(2); // the step whose cell has come from either side
    start(field[0], me * CELLS, CELLS);

    for (int s = 0; s < STEPS; s++) {
        unsigned *now = field[s % 2];
        const uint64_t turn = s + 1;
        shmem_put_signal(&now[CELLS + 1], &now[1], 1, &arrived[FROM_RIGHT], turn, SHMEM_SIGNAL_SET, left);
        shmem_put_signal(&now[0], &now[CELLS], 1, &arrived[FROM_LEFT], turn, SHMEM_SIGNAL_SET, right);
        shmem_signal_wait_until(&arrived[FROM_LEFT], SHMEM_CMP_GE, turn);
        shmem_signal_wait_until(&arrived[FROM_RIGHT], SHMEM_CMP_GE, turn);
        step(field[(s + 1) % 2], now, CELLS);
    }

    const bool wrong = !is_right(field[STEPS % 2], me, n);
    std::cout << "PE " + std::to_string(me) + ": cells after " + std::to_string(STEPS) +
                     " steps: " + (wrong ? "WRONG\n" : "verified\n");
    shmem_finalize();
    return wrong;
}
