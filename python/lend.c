/* SPDX-License-Identifier: BSD-3-Clause
 *
 * mapshmem._lend: memory as a tensor of DLPack, which keeps its owner until the library that took the tensor is done.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>

#include "dlpack.h"

#include <stdlib.h>

PyMODINIT_FUNC PyInit__lend(void);

static const char untaken[] = "dltensor"; /* who takes the tensor gives the capsule another name */

struct lent {
    struct dl_managed managed;
    int64_t nelems;
};

/* Any thread calls it, at any time; at the end of the process there may be no interpreter any more. */
static void take_back(struct dl_managed *managed)
{
    if (Py_IsInitialized()) {
        const PyGILState_STATE state = PyGILState_Ensure();
        Py_DECREF((PyObject *)managed->manager);
        PyGILState_Release(state);
    }
    free(managed);
}

static void forget(PyObject *capsule)
{
    struct dl_managed *managed = PyCapsule_IsValid(capsule, untaken) ? PyCapsule_GetPointer(capsule, untaken) : NULL;
    if (managed)
        managed->deleter(managed);
}

static PyObject *lend(PyObject *module, PyObject *args)
{
    PyObject *owner;
    unsigned long long address;
    long long nelems;
    int device, device_type, code, bits;
    (void)module;
    if (!PyArg_ParseTuple(args, "OKLiiii", &owner, &address, &nelems, &device_type, &device, &code, &bits))
        return NULL;
    struct lent *lent = calloc(1, sizeof *lent);
    if (!lent)
        return PyErr_NoMemory();
    lent->nelems = nelems;
    lent->managed = (struct dl_managed){
        .tensor = {.data = (void *)(uintptr_t)address,
                   .device_type = device_type,
                   .device_id = device,
                   .ndim = 1,
                   .code = (uint8_t)code,
                   .bits = (uint8_t)bits,
                   .lanes = 1,
                   .shape = &lent->nelems},
        .manager = owner,
        .deleter = take_back,
    };
    PyObject *capsule = PyCapsule_New(lent, untaken, forget);
    if (capsule)
        Py_INCREF(owner);
    else
        free(lent);
    return capsule;
}

static PyMethodDef methods[] = {
    {"lend", lend, METH_VARARGS,
     "lend(owner, address, nelems, device_type, device, code, bits): a capsule of DLPack of one dimension."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module_def = {PyModuleDef_HEAD_INIT, .m_name = "mapshmem._lend", .m_size = -1,
                                        .m_methods = methods};

PyMODINIT_FUNC PyInit__lend(void)
{
    return PyModule_Create(&module_def);
}
