/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Atomic operations on words of every type, and waits for them, behind one signature each. Values are bits.
 */
#ifndef MODEL_WORD_CALLS_H
#define MODEL_WORD_CALLS_H

#include "tester.h"

enum amo {
    A_FETCH,
    A_SET,
    A_SWAP,
    A_CSWAP,
    A_FINC,
    A_INC,
    A_FADD,
    A_ADD,
    A_FAND,
    A_AND,
    A_FOR,
    A_OR,
    A_FXOR,
    A_XOR,
    N_AMOS
};
extern const char *const amo_names[N_AMOS];

static inline bool amo_fetches(enum amo amo)
{
    return amo == A_FETCH || amo == A_SWAP || amo == A_CSWAP || amo == A_FINC || amo == A_FADD || amo == A_FAND ||
           amo == A_FOR || amo == A_FXOR;
}

struct amo_call {
    enum amo amo;
    bool is_nbi; /* of those that fetch */
    shmem_ctx_t ctx;
    void *dest, *fetch; /* fetch: the old value, there after quiet if is_nbi */
    uint64_t value, cond;
    int pe;
};

enum wait_form { W_ONE, W_ALL, W_ANY, W_SOME, W_ALL_VECTOR, W_ANY_VECTOR, W_SOME_VECTOR, N_WAIT_FORMS };
extern const char *const wait_names[N_WAIT_FORMS];

struct wait_call {
    enum wait_form form;
    bool is_test;
    void *words;
    size_t n, *indices;
    const int *status;
    int cmp;
    uint64_t value;
    const void *values;
};

struct word_type {
    const char *name;
    size_t size;
    bool is_signed, has_arithmetic, has_bits;
    void (*amo)(const struct amo_call *call);
    size_t (*wait)(const struct wait_call *call); /* NULL for floating point */
};
extern const struct word_type word_types[];
extern const int n_word_types;

#endif
