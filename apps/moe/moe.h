/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A mixture of experts: a layer as kernels see it, and what main.c has of the GPU, or of threads that play one.
 */
#ifndef MOE_MOE_H
#define MOE_MOE_H

#include <shmemx_device.h>

enum { MOE_TOP = 2, MOE_EXPERTS = 4 }; /* experts that a token goes to; of each PE: expert e is on PE e / MOE_EXPERTS */

/* A PE has tokens * MOE_TOP choices. All memory is that of the GPU; what the last five point to is one symmetric object. */
struct moe_layer {
    int tokens, size;                            /* of each PE; elements of a token */
    const float *x;                              /* tokens * size */
    float *y;                                    /* tokens * size */
    const int *expert;                           /* of each choice */
    const int *slot;                             /* of each choice: how many earlier ones go to the same PE */
    const int *counts;                           /* of each PE: choices that go there */
    const float *weight;                         /* of each choice */
    unsigned long *expected, *filled, *returned; /* n_pes; n_pes * choices; 1 */
    float *rows, *results;                       /* n_pes * choices * size; choices * size */
};

#ifdef __cplusplus
extern "C" {
#endif

/* Chooses the device. Returns 0, or -1 where kernels cannot wait for those of other PEs, with a line that says why. */
int moe_open(void);

/* Memory of the GPU with zeros. Ends the job if there is none. */
void *moe_memory(size_t nbytes);
/* All PEs: one piece of symmetric memory of it, and its view. moe_end, by all PEs, gives it back. */
void *moe_symmetric(size_t nbytes, shmemx_device_view_t *view);
void moe_end(void *memory);
void moe_free(void *memory);
void moe_copy(void *dest, const void *source, size_t nbytes); /* to the GPU, or from it */

/* How many blocks can wait at a time. */
int moe_blocks(void);
/* Enqueues layers with numbers from first on. moe_finish waits for them. */
void moe_run(const struct moe_layer *layer, const shmemx_device_view_t *view, int n_blocks, unsigned long first,
             int n_layers);
void moe_finish(void);

extern const char moe_name[];

#ifdef __cplusplus
}
#endif
#endif
