// SPDX-License-Identifier: BSD-3-Clause
//
// What kernels take from CUDA's own headers, for clang without them: its wrapper fits only some versions of CUDA.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __host__ __attribute__((host))
#define __forceinline__ inline __attribute__((always_inline))

struct three {
    unsigned x, y, z;
};
#define threadIdx                                                                                                      \
    (three{(unsigned)__nvvm_read_ptx_sreg_tid_x(), (unsigned)__nvvm_read_ptx_sreg_tid_y(),                             \
           (unsigned)__nvvm_read_ptx_sreg_tid_z()})
#define blockDim                                                                                                       \
    (three{(unsigned)__nvvm_read_ptx_sreg_ntid_x(), (unsigned)__nvvm_read_ptx_sreg_ntid_y(),                           \
           (unsigned)__nvvm_read_ptx_sreg_ntid_z()})
#define blockIdx                                                                                                       \
    (three{(unsigned)__nvvm_read_ptx_sreg_ctaid_x(), (unsigned)__nvvm_read_ptx_sreg_ctaid_y(),                         \
           (unsigned)__nvvm_read_ptx_sreg_ctaid_z()})
#define gridDim                                                                                                        \
    (three{(unsigned)__nvvm_read_ptx_sreg_nctaid_x(), (unsigned)__nvvm_read_ptx_sreg_nctaid_y(),                       \
           (unsigned)__nvvm_read_ptx_sreg_nctaid_z()})
#define __syncthreads() __nvvm_bar_sync(0)
#define __syncwarp(members) __nvvm_bar_warp_sync(members)

static __device__ inline unsigned long long __shfl_sync(unsigned members, unsigned long long value, int lane)
{
    const int low = __nvvm_shfl_sync_idx_i32(members, (int)value, lane, 31);
    const int high = __nvvm_shfl_sync_idx_i32(members, (int)(value >> 32), lane, 31);
    return (unsigned long long)(unsigned)high << 32 | (unsigned)low;
}
