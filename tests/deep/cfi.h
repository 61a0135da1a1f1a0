/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ISO_Fortran_binding.h, for tests: that of the compiler, or, since it comes with the Fortran compiler only, what these
 * tests use of it in GCC's layout.
 */
#ifndef TESTS_DEEP_CFI_H
#define TESTS_DEEP_CFI_H

#if __has_include(<ISO_Fortran_binding.h>)
#include <ISO_Fortran_binding.h>
#else

#include <stddef.h>
#include <stdint.h>

#define CFI_VERSION 1
#define CFI_attribute_allocatable 1
#define CFI_type_other (-1)

typedef ptrdiff_t CFI_index_t;
typedef int8_t CFI_rank_t;
typedef int8_t CFI_attribute_t;
typedef int16_t CFI_type_t;

typedef struct {
    CFI_index_t lower_bound, extent, sm;
} CFI_dim_t;

#define CFI_CDESC_T(r)                                                                                                 \
    struct {                                                                                                           \
        void *base_addr;                                                                                               \
        size_t elem_len;                                                                                               \
        int version;                                                                                                   \
        CFI_rank_t rank;                                                                                               \
        CFI_attribute_t attribute;                                                                                     \
        CFI_type_t type;                                                                                               \
        CFI_dim_t dim[r];                                                                                              \
    }

#endif

#endif
