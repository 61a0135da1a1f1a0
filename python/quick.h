/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of mapshmem._quick share: handles of mapped memory, and one side of a transfer.
 */
#ifndef MAPSHMEM_PY_QUICK_H
#define MAPSHMEM_PY_QUICK_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>

#include "checked.h"

#include <stdbool.h>

#if PY_VERSION_HEX < 0x030b0000 || Py_LIMITED_API + 0 < 0x030b0000
/* The stable interface has it from Python 3.11 on; it is the same in all versions before. */
typedef struct {
    void *buf;
    PyObject *obj;
    Py_ssize_t len, itemsize;
    int readonly, ndim;
    char *format;
    Py_ssize_t *shape, *strides, *suboffsets;
    void *internal;
} Py_buffer;
enum { PyBUF_SIMPLE = 0, PyBUF_WRITABLE = 1 };
PyAPI_FUNC(int) PyObject_GetBuffer(PyObject *object, Py_buffer *buffer, int flags);
PyAPI_FUNC(void) PyBuffer_Release(Py_buffer *buffer);
#endif

/* The same with this form of calls, which is stable from Python 3.10 on. */
#ifndef METH_FASTCALL
#define METH_FASTCALL 0x0080
#endif

/* Of a call of shmmap: what its handles share. */
struct state {
    PyObject head;
    char is_mapped, is_writable;
};

/* A range of mapped memory. It never changes, so nothing in Python can make it longer than it is. */
struct memory {
    PyObject head;
    PyObject *dtype, *mapping; /* mapping: a state */
    void *address;
    Py_ssize_t nbytes;
};

struct side {
    void *address;
    Py_ssize_t nbytes;
    PyObject *dtype;
    Py_buffer buffer;
    bool is_array; /* buffer and dtype have to be given back */
};

/* Takes an argument of an ordinary kind as one side of a transfer; whatever the result is, it is given back after the call. */
bool quick_take(PyObject *object, bool write, struct side *side);
void quick_give_back(struct side *side);

/* Takes a number from 0 to INT_MAX. */
bool quick_take_int(PyObject *number, int *value_p);

/* Functions of the module for operations on streams, and what they need. */
extern PyMethodDef quick_stream_methods[];
bool quick_stream_init(void);

#endif
