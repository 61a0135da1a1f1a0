/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The routines of every type behind one signature.
 */
#ifndef MODEL_TYPED_H
#define MODEL_TYPED_H

#include "tester.h"

struct rma_type {
    const char *name;
    size_t size, value_bytes; /* that travel by value; an x87 number has padding */
    bool has_value, has_strides;
    bool is_bare; /* put and get, blocking or not, without a context or signal: numbers of 16 bits */
    void (*call)(const struct typed_call *call);
};
extern const struct rma_type rma_types[];
extern const int n_rma_types;

extern const char *const verb_names[N_VERBS];

#endif
