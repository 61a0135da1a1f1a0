/* SPDX-License-Identifier: BSD-3-Clause
 *
 * mapshmem._quick: put and get with the arguments that most calls have, handles of map() and arrays of numpy, without
 * steps of the interpreter: a put of a few bytes takes less time than these. With other arguments, or if something is
 * wrong with them, nothing is done but to call the method of the same name in Python (_put...), which copes or complains.
 */
#include "quick.h"

#include <structmember.h>

#include <limits.h>
#include <stddef.h>

PyMODINIT_FUNC PyInit__quick(void);

/* ---- handles ----------------------------------------------------------------------------------------------------- */

static PyMemberDef state_members[] = {
    {"is_mapped", T_BOOL, offsetof(struct state, is_mapped), 0, NULL},
    {"is_writable", T_BOOL, offsetof(struct state, is_writable), 0, NULL},
    {0},
};

static PyType_Slot state_slots[] = {
    {Py_tp_doc, "What the handles of one call of map() share."},
    {Py_tp_members, state_members},
    {0, NULL},
};

static PyType_Spec state_spec = {
    "mapshmem._quick.State", sizeof(struct state), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, state_slots,
};

static PyObject *state_type, *memory_type, *context_type, *ndarray_type, *dtype_name, *kept_name;

static int memory_init(PyObject *self, PyObject *args, PyObject *keywords)
{
    struct memory *memory = (struct memory *)self;
    PyObject *mapping, *address, *dtype;
    Py_ssize_t nbytes;
    (void)keywords;
    if (memory->mapping) {
        PyErr_SetString(PyExc_TypeError, "a handle cannot be made twice");
        return -1;
    }
    if (!PyArg_ParseTuple(args, "O!OnO", state_type, &mapping, &address, &nbytes, &dtype))
        return -1;
    void *pointer = PyLong_AsVoidPtr(address);
    if (!pointer && PyErr_Occurred())
        return -1;
    Py_INCREF(mapping);
    Py_INCREF(dtype);
    memory->dtype = dtype;
    memory->mapping = mapping;
    memory->address = pointer;
    memory->nbytes = nbytes;
    return 0;
}

static int memory_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct memory *memory = (struct memory *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(memory->dtype);
    Py_VISIT(memory->mapping);
    return 0;
}

static int memory_clear(PyObject *self)
{
    struct memory *memory = (struct memory *)self;
    Py_CLEAR(memory->dtype);
    Py_CLEAR(memory->mapping);
    return 0;
}

static void memory_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    memory_clear(self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyMemberDef memory_members[] = {
    {"dtype", T_OBJECT_EX, offsetof(struct memory, dtype), READONLY, NULL},
    {"nbytes", T_PYSSIZET, offsetof(struct memory, nbytes), READONLY, NULL},
    {"_mapping", T_OBJECT_EX, offsetof(struct memory, mapping), READONLY, NULL},
    {0},
};

static PyType_Slot memory_slots[] = {
    {Py_tp_doc, "Memory(mapping, address, nbytes, dtype): a range of mapped memory."},
    {Py_tp_init, (void *)memory_init},
    {Py_tp_traverse, (void *)memory_traverse},
    {Py_tp_clear, (void *)memory_clear},
    {Py_tp_dealloc, (void *)memory_dealloc},
    {Py_tp_members, memory_members},
    {0, NULL},
};

static PyType_Spec memory_spec = {
    "mapshmem._quick.Memory",
    sizeof(struct memory),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    memory_slots,
};

/* ---- one side of a transfer -------------------------------------------------------------------------------------- */

static bool take_handle(const struct memory *memory, bool write, struct side *side)
{
    const struct state *state = (const struct state *)memory->mapping;
    if (!state || !(write ? state->is_writable : state->is_mapped))
        return false;
    side->address = memory->address;
    side->nbytes = memory->nbytes;
    side->dtype = memory->dtype;
    return true;
}

/* The buffer keeps the memory where it is for as long as the transfer takes. */
static bool take_array(PyObject *array, bool write, struct side *side)
{
    if (PyObject_GetBuffer(array, &side->buffer, write ? PyBUF_WRITABLE : PyBUF_SIMPLE)) {
        PyErr_Clear();
        return false;
    }
    side->is_array = true;
    side->address = side->buffer.buf;
    side->nbytes = side->buffer.len;
    side->dtype = PyObject_GetAttr(array, dtype_name);
    if (!side->dtype)
        PyErr_Clear();
    return side->dtype;
}

bool quick_take(PyObject *object, bool write, struct side *side)
{
    if ((PyObject *)Py_TYPE(object) == ndarray_type)
        return take_array(object, write, side);
    return PyObject_TypeCheck(object, (PyTypeObject *)memory_type) &&
           take_handle((const struct memory *)object, write, side);
}

void quick_give_back(struct side *side)
{
    if (!side->is_array)
        return;
    PyBuffer_Release(&side->buffer);
    Py_XDECREF(side->dtype);
}

/* ---- transfers --------------------------------------------------------------------------------------------------- */

struct kind {
    int (*routine)(shmem_ctx_t ctx, void *dest, const void *source, size_t n, int pe);
    bool is_put; /* the size is the source's, and must fit into dest; of a get the other way round */
};

static const struct kind put_kind = {mapshmem_py_put, true}, put_nbi_kind = {mapshmem_py_put_nbi, true};
static const struct kind get_kind = {mapshmem_py_get, false}, get_nbi_kind = {mapshmem_py_get_nbi, false};

bool quick_take_int(PyObject *number, int *value_p)
{
    int has_overflown = 0;
    if (!PyLong_Check(number))
        return false;
    long value = PyLong_AsLongAndOverflow(number, &has_overflown);
    *value_p = (int)value;
    return !has_overflown && value >= 0 && value <= INT_MAX;
}

/* Other threads of Python run meanwhile. */
static bool move(const struct kind *kind, shmem_ctx_t ctx, const struct side *dest, const struct side *source, int pe)
{
    const Py_ssize_t nbytes = kind->is_put ? source->nbytes : dest->nbytes;
    const Py_ssize_t room = kind->is_put ? dest->nbytes : source->nbytes;
    if (dest->dtype != source->dtype || nbytes > room)
        return false;
    int problem = 0;
    Py_BEGIN_ALLOW_THREADS;
    problem = kind->routine(ctx, dest->address, source->address, (size_t)nbytes, pe);
    Py_END_ALLOW_THREADS;
    return !problem;
}

/* Does the transfer, or nothing. */
static bool transfer(const struct kind *kind, shmem_ctx_t ctx, PyObject *dest_object, PyObject *source_object,
                     PyObject *number)
{
    struct side dest = {0}, source = {0};
    int pe = 0;
    bool is_done = quick_take_int(number, &pe) && quick_take(dest_object, true, &dest) &&
                   quick_take(source_object, false, &source) && move(kind, ctx, &dest, &source, pe);
    quick_give_back(&dest);
    quick_give_back(&source);
    return is_done;
}

/* ---- contexts ---------------------------------------------------------------------------------------------------- */

struct context {
    PyObject head;
    shmem_ctx_t handle;
};

static int context_set(PyObject *self, PyObject *address, void *closure)
{
    (void)closure;
    void *handle = address ? PyLong_AsVoidPtr(address) : NULL;
    if (!handle && PyErr_Occurred())
        return -1;
    ((struct context *)self)->handle = handle;
    return 0;
}

/* Calls a method of Python with the arguments of this one, the last names.length of which have names. */
static PyObject *call_in_python(PyObject *self, const char *method, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *names)
{
    const Py_ssize_t n_names = names ? PyTuple_Size(names) : 0;
    PyObject *callable = PyObject_GetAttrString(self, method), *words = PyTuple_New(nargs), *named = PyDict_New();
    PyObject *result = NULL;
    bool is_ready = callable && words && named;
    for (Py_ssize_t i = 0; is_ready && i < nargs; i++) {
        Py_INCREF(args[i]);
        is_ready = !PyTuple_SetItem(words, i, args[i]);
    }
    for (Py_ssize_t i = 0; is_ready && i < n_names; i++)
        is_ready = !PyDict_SetItem(named, PyTuple_GetItem(names, i), args[nargs + i]);
    if (is_ready)
        result = PyObject_Call(callable, words, named);
    Py_XDECREF(callable);
    Py_XDECREF(words);
    Py_XDECREF(named);
    return result;
}

/* args: dest, source, the PE. */
static bool try_to(const struct kind *kind, PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    return nargs == 3 && !names && transfer(kind, ((struct context *)self)->handle, args[0], args[1], args[2]);
}

static PyObject *none(void)
{
    Py_INCREF(Py_None);
    return Py_None;
}

/* Until quiet: context._kept is a list. The operation has been posted, so whoever finds it there may complete it. What
 * cannot be kept is never freed: the library reads or writes it. */
static PyObject *keep(PyObject *self, PyObject *local)
{
    PyObject *kept = PyObject_GetAttr(self, kept_name);
    const int failed = !kept || PyList_Append(kept, local);
    Py_XDECREF(kept);
    if (!failed)
        return none();
    Py_INCREF(local);
    return NULL;
}

static PyObject *context_put(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    return try_to(&put_kind, self, args, nargs, names) ? none() : call_in_python(self, "_put", args, nargs, names);
}

static PyObject *context_get(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    return try_to(&get_kind, self, args, nargs, names) ? none() : call_in_python(self, "_get", args, nargs, names);
}

static PyObject *context_put_nbi(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    return try_to(&put_nbi_kind, self, args, nargs, names) ? keep(self, args[1])
                                                           : call_in_python(self, "_put_nbi", args, nargs, names);
}

static PyObject *context_get_nbi(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    return try_to(&get_nbi_kind, self, args, nargs, names) ? keep(self, args[0])
                                                           : call_in_python(self, "_get_nbi", args, nargs, names);
}

#define METHOD(_function) (PyCFunction)(void (*)(void))(_function), METH_FASTCALL | METH_KEYWORDS
static PyMethodDef context_methods[] = {
    {"put", METHOD(context_put),
     "put($self, dest, source, pe)\n--\n\n"
     "Copy source into dest on that PE. Returns when source may be changed; arrived after `quiet`."},
    {"get", METHOD(context_get),
     "get($self, dest, source, pe)\n--\n\nCopy source of that PE into dest. Returns when the data are there."},
    {"put_nbi", METHOD(context_put_nbi),
     "put_nbi($self, dest, source, pe)\n--\n\nBegin `put`; source must not change before `quiet`."},
    {"get_nbi", METHOD(context_get_nbi),
     "get_nbi($self, dest, source, pe)\n--\n\nBegin `get`; the data are there after `quiet`."},
    {0},
};

static PyGetSetDef context_members[] = {{"_address", NULL, context_set, "of the context, for the methods in C", NULL},
                                        {0}};

static PyType_Slot context_slots[] = {
    {Py_tp_doc, "The transfers of a context that most programs make most often."},
    {Py_tp_methods, context_methods},
    {Py_tp_getset, context_members},
    {0, NULL},
};

static PyType_Spec context_spec = {
    "mapshmem._quick.Transfers", sizeof(struct context), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, context_slots,
};

/* ---- the module -------------------------------------------------------------------------------------------------- */

static struct PyModuleDef module_def = {PyModuleDef_HEAD_INIT, .m_name = "mapshmem._quick", .m_size = -1,
                                        .m_methods = quick_stream_methods};

/* Returns a new reference to numpy.ndarray, or NULL with an exception. */
static PyObject *find_ndarray(void)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *type = numpy ? PyObject_GetAttrString(numpy, "ndarray") : NULL;
    Py_XDECREF(numpy);
    return type;
}

static bool add_type(PyObject *module, const char *name, PyObject *type)
{
    Py_INCREF(type);
    return !PyModule_AddObject(module, name, type);
}

PyMODINIT_FUNC PyInit__quick(void)
{
    PyObject *module = PyModule_Create(&module_def);
    ndarray_type = find_ndarray();
    dtype_name = PyUnicode_InternFromString("dtype");
    state_type = PyType_FromSpec(&state_spec);
    kept_name = PyUnicode_InternFromString("_kept");
    memory_type = PyType_FromSpec(&memory_spec);
    context_type = PyType_FromSpec(&context_spec);
    if (!module || !quick_stream_init() || !ndarray_type || !dtype_name || !kept_name || !state_type || !memory_type ||
        !context_type || !add_type(module, "State", state_type) || !add_type(module, "Memory", memory_type) ||
        !add_type(module, "Transfers", context_type))
        return NULL;
    return module;
}
