/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Strided copies that the driver's own 2-D copy refuses, or is slow at (rows.c of gpu/device): one thread for each unit of a
 * row.
 */

template <typename Unit> static __device__ void copy_rows(const struct shmemi_row_copy &copy)
{
    const uint64_t each = copy.width / sizeof(Unit), n = each * copy.rows;
    const uint64_t threads = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
        const uint64_t row = each == 1 ? i : i / each, column = (i - row * each) * sizeof(Unit);
        const uint64_t layer = copy.layer ? row / copy.layer : 0;
        *(Unit *)(copy.dest + row * copy.dest_pitch + layer * copy.dest_gap + column) =
            *(const Unit *)(copy.source + row * copy.source_pitch + layer * copy.source_gap + column);
    }
}

extern "C" __global__ void shmemi_kernel_copy_rows(const struct shmemi_row_copy copy)
{
    switch (copy.unit) {
    case 16:
        copy_rows<uint4>(copy);
        break;
    case 8:
        copy_rows<uint64_t>(copy);
        break;
    case 4:
        copy_rows<uint32_t>(copy);
        break;
    case 2:
        copy_rows<uint16_t>(copy);
        break;
    default:
        copy_rows<uint8_t>(copy);
    }
    if (!copy.end.done)
        order_after_block();
    else if (is_last_block(copy.end.arrivals) && threadIdx.x == 0)
        tell_end(copy.end);
}
