/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Litmus tests: small programs whose outcomes tell in which order operations took effect (doc/memory-model.md). Each is
 * made of steps on words of two symmetric objects, by issuers: a thread of the host, a queue, a kernel.
 */
#ifndef LITMUS_H
#define LITMUS_H

#include <cstddef>
#include <cstdint>

#include <shmemx.h>
#include <shmemx_device.h>

enum {
    LITMUS_WORDS = 4096,               /* tries of one batch, each with words of its own */
    LITMUS_X_BYTES = 256 << 10,        /* the data of tries; behind them in each object: */
    LITMUS_Y_BYTES = LITMUS_WORDS * 8, /* the words that tell of data */
    LITMUS_BYTES = LITMUS_X_BYTES + LITMUS_Y_BYTES
};

struct litmus_object {
    const char *name;
    char *address; /* symmetric */
    bool is_host;  /* the own copy is read by load */
    bool has_view; /* kernels played by threads of the CPU use it */
    shmemx_device_view_t view;
};

enum litmus_form { FORM_PUT, FORM_PUT_NBI, FORM_P, FORM_ATOMIC, FORM_SIGNAL };
enum litmus_order { ORDER_NONE, ORDER_FENCE, ORDER_QUIET };

/* One place: at what offset of an object, on which PE. */
struct litmus_place {
    const litmus_object *object;
    size_t offset;
    int pe;
    uint64_t *word() const
    {
        return reinterpret_cast<uint64_t *>(object->address + offset);
    }
};

/* Who carries out steps. Results of reads are there when run has returned; all else is as the routine of that name. */
struct litmus_issuer {
    const char *name;
    bool completes_by_itself; /* its quiet is its own: it completes nothing that others have put */
    bool signals_follow;      /* a signal by itself comes after earlier puts to that PE */
    int batch; /* tries of a batch, at most: starting a kernel or finishing a queue takes the time of many */
    bool (*reaches)(const litmus_object &object);
    void (*run)(void (*body)(void *), void *argument);
    void (*write)(litmus_form form, const litmus_place &to, uint64_t value, size_t nbytes);
    void (*put_signal)(const litmus_place &to, uint64_t value, size_t nbytes, const litmus_place &signal);
    void (*order)(litmus_order order, const litmus_object &object);
    void (*read)(const litmus_place &from, uint64_t *result);
    void (*wait)(const litmus_place &own, uint64_t value); /* for at least this value */
};

/* issuers.cc: those of this machine, the same on all PEs; result: how many. Collective. */
int litmus_issuers(const litmus_issuer **issuers, int most);
/* objects.cc: likewise. */
int litmus_objects(litmus_object *objects, int most);
/* The queue of the device that was opened, 0 if none. */
void *litmus_stream();
void *litmus_queue();
void litmus_finish(void *queue);

/* programs.cc: what is tried. */
struct litmus_case {
    const struct litmus_program *program;
    const litmus_object *x, *y;
    const litmus_issuer *first, *second, *reader; /* of x, of what follows, and of the other PE */
};
struct litmus_program {
    const char *name;  /* as doc/memory-model.md has it */
    int pes;           /* how many take part */
    bool is_forbidden; /* the outcome that is counted */
    litmus_form form, told;
    litmus_order order;
    bool by_put_signal;
    size_t nbytes;
    /* One batch, on every PE; returns how often the outcome came, on PE 0. */
    long (*batch)(const litmus_case &c, int n, uint64_t value);
};
extern const litmus_program litmus_programs[];
extern const int litmus_n_programs;
/* Is the outcome forbidden with these issuers? */
bool litmus_is_forbidden(const litmus_case &c);
/* Can it be tried? */
bool litmus_applies(const litmus_case &c);

#endif
