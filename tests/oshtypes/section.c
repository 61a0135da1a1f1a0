/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For oshtypes.test: puts an object with a C descriptor of a Fortran array to the same PE.
 */
#include <ISO_Fortran_binding.h>
#include <shmemx.h>
#include <shmemx_annotate.h>

typedef struct {
    int n;
    CFI_CDESC_T(2) values;
} section;

SHMEMX_CFI(section, values, "2 of double");

int section_register(void);

int main(void)
{
    double values[6] = {1, 2, 3, 4, 5, 6};
    CFI_index_t extents[2] = {2, 3};
    section source = {.n = 1};
    shmemx_deep_info_t info;
    shmem_init();
    int me = shmem_my_pe(), failed = section_register();
    shmemx_type_t type = shmemx_type_find("section");
    void *image = shmem_align(16, 4096);
    CFI_cdesc_t *descriptor = (CFI_cdesc_t *)&source.values;
    failed |= CFI_establish(descriptor, values, CFI_attribute_pointer, CFI_type_double, 0, 2, extents);
    failed |= shmemx_put_deep(image, 4096, &source, type, 1, me) <= 0;
    shmem_quiet();
    failed |= shmemx_deep_info(image, type, &info, me);
    const section *copy = failed ? &source : (const section *)(uintptr_t)info.root;
    const double *its_values = ((const CFI_cdesc_t *)&copy->values)->base_addr;
    failed |= copy == &source || its_values == values || copy->values.dim[1].extent != 3 || (int)its_values[5] != 6;
    shmem_finalize();
    return failed != 0;
}
