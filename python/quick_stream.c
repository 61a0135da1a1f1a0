/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations on streams of mapshmem._quick: put_signal and the wait for it, of handles and in streams of PyTorch. They return
 * True, or do nothing and return False where an argument is of another kind or wrong: then the function in Python does it, or
 * complains.
 */
#include "quick.h"

#include <shmemx.h>

static PyObject *stream_name, *uint64_type;

/* The cudaStream_t of a stream of PyTorch. */
static bool take_stream(PyObject *object, shmemx_stream_t *stream_p)
{
    PyObject *number = PyObject_GetAttr(object, stream_name);
    if (number)
        *stream_p = PyLong_AsVoidPtr(number);
    const bool is_taken = number && (*stream_p || !PyErr_Occurred());
    Py_XDECREF(number);
    PyErr_Clear();
    return is_taken;
}

static bool take_uint64(PyObject *number, uint64_t *value_p)
{
    if (!PyLong_Check(number))
        return false;
    *value_p = PyLong_AsUnsignedLongLong(number);
    const bool is_taken = *value_p != UINT64_MAX || !PyErr_Occurred();
    PyErr_Clear();
    return is_taken;
}

/* A handle of one word, whatever may be done with its memory. */
static bool take_signal(PyObject *object, uint64_t **sig_p)
{
    struct side side = {0};
    const bool is_taken = quick_take(object, false, &side) && !side.is_array && side.nbytes == sizeof(uint64_t) &&
                          side.dtype == uint64_type;
    *sig_p = side.address;
    quick_give_back(&side);
    return is_taken;
}

struct put_signal {
    struct side dest, source;
    uint64_t *sig, value;
    int op, pe;
    shmemx_stream_t stream;
};

/* args: dest, source, sig, value, pe, op, stream */
static bool take_put_signal(PyObject *const *args, struct put_signal *put)
{
    return quick_take(args[0], true, &put->dest) && quick_take(args[1], false, &put->source) &&
           put->dest.dtype == put->source.dtype && put->source.nbytes <= put->dest.nbytes &&
           take_signal(args[2], &put->sig) && take_uint64(args[3], &put->value) && quick_take_int(args[4], &put->pe) &&
           quick_take_int(args[5], &put->op) && (put->op == SHMEM_SIGNAL_SET || put->op == SHMEM_SIGNAL_ADD) &&
           take_stream(args[6], &put->stream) &&
           !mapshmem_py_check(SHMEM_CTX_DEFAULT, put->dest.address, (size_t)put->source.nbytes, put->pe) &&
           !mapshmem_py_check(SHMEM_CTX_DEFAULT, put->sig, sizeof *put->sig, put->pe);
}

static PyObject *put_signal_on_stream(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    struct put_signal put = {0};
    const bool is_taken = nargs == 7 && take_put_signal(args, &put);
    (void)self;
    if (is_taken) {
        Py_BEGIN_ALLOW_THREADS;
        shmemx_putmem_signal_on_stream(put.dest.address, put.source.address, (size_t)put.source.nbytes, put.sig,
                                       put.value, put.op, put.pe, put.stream);
        Py_END_ALLOW_THREADS;
    }
    quick_give_back(&put.dest);
    quick_give_back(&put.source);
    return PyBool_FromLong(is_taken);
}

/* args: sig, cmp (a number), value, stream */
static PyObject *signal_wait_until_on_stream(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    uint64_t *sig = NULL, value = 0;
    int cmp = 0;
    shmemx_stream_t stream = NULL;
    (void)self;
    const bool is_taken = nargs == 4 && take_signal(args[0], &sig) && quick_take_int(args[1], &cmp) &&
                          cmp >= SHMEM_CMP_EQ && cmp <= SHMEM_CMP_LE && take_uint64(args[2], &value) &&
                          take_stream(args[3], &stream) && mapshmem_py_running() &&
                          !mapshmem_py_check(SHMEM_CTX_DEFAULT, sig, sizeof *sig, shmem_my_pe());
    if (is_taken) {
        Py_BEGIN_ALLOW_THREADS;
        shmemx_signal_wait_until_on_stream(sig, cmp, value, stream);
        Py_END_ALLOW_THREADS;
    }
    return PyBool_FromLong(is_taken);
}

#define FUNCTION(_function) #_function, (PyCFunction)(void (*)(void))(_function), METH_FASTCALL
PyMethodDef quick_stream_methods[] = {
    {FUNCTION(put_signal_on_stream), "put_signal_on_stream(dest, source, sig, value, pe, op, stream, /)"},
    {FUNCTION(signal_wait_until_on_stream), "signal_wait_until_on_stream(sig, cmp, value, stream, /)"},
    {0},
};

/* Numpy has one object for each of its usual types. */
bool quick_stream_init(void)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    stream_name = PyUnicode_InternFromString("cuda_stream");
    uint64_type = numpy ? PyObject_CallMethod(numpy, "dtype", "s", "uint64") : NULL;
    Py_XDECREF(numpy);
    return stream_name && uint64_type;
}
