/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Deep copy: whole pointer-linked objects travel to another PE, or to this PE's GPU, in one piece. Included by shmemx.h.
 *
 *     typedef struct tree { double key; int n; double *data; struct tree *left, *right; } tree;
 *
 *     const shmemx_field_t fields[] = {
 *         {"n", offsetof(tree, n), SHMEMX_FIELD_VALUE, "int"},
 *         {"data", offsetof(tree, data), SHMEMX_FIELD_POINTER, "double", .count = "n"},
 *         {"left", offsetof(tree, left), SHMEMX_FIELD_POINTER, "tree"},
 *         {"right", offsetof(tree, right), SHMEMX_FIELD_POINTER, "tree"},
 *     };
 *     shmemx_type_t type = shmemx_type_create("tree", sizeof(tree), 4, fields);
 *     shmemx_put_deep(dest, capacity, root, type, 1, pe);
 *
 * Source: Chen, Sura, Sung, "Automatic Copying of Pointer-Based Data Structures", LCPC 2016.
 */
#ifndef SHMEMX_DEEP_H
#define SHMEMX_DEEP_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Types ----------------------------------------------------------------------------------------------------------
 *
 * A type says how large an object is and where its pointers are. What is no pointer need not be described, unless a
 * count refers to it or pointers lie inside it. Each PE creates its own types; for a transfer between two PEs both need
 * the same ones, which is checked. oshtypes writes these descriptions from the debug information of a program. */
typedef struct shmemx_type *shmemx_type_t;

/* What a member is. */
enum {
    SHMEMX_FIELD_VALUE,    /* an object of the type, or an array of n of them, inside the object                 */
    SHMEMX_FIELD_POINTER,  /* points to n objects of the type, or to as many as count says; or is null            */
    SHMEMX_FIELD_STRING,   /* points to elements of an integer type ("char") up to the first that is 0; or is null */
    SHMEMX_FIELD_CFI,      /* the C descriptor of a Fortran allocatable or pointer array (ISO_Fortran_binding.h)
                              * of rank n, whose elements have the type; a scalar has rank 0                       */
    SHMEMX_FIELD_GFORTRAN, /* the same as gfortran lays it out inside of derived types                          */
    SHMEMX_FIELD_WEAK,     /* a pointer that is not followed: in the copy it points to the copy of what it points
                              * to, if that is reached in another way, and is null otherwise                       */
    SHMEMX_FIELD_OPAQUE    /* a pointer that is not followed, and is copied as it is                            */
};

typedef struct {
    const char *name;  /* of the member: for messages, counts and selections                                     */
    size_t offset;     /* bytes from the start of the object                                                      */
    int kind;          /* SHMEMX_FIELD_*                                                                          */
    const char *type;  /* name of the member's type, or of the type that it points to; WEAK, OPAQUE: may be NULL    */
    size_t n;          /* elements, or rank, as above; 0 means 1, except for a rank                               */
    const char *count; /* POINTER: elements as a sum of products of members and numbers, such as "n", "nx*ny",
                        * "n+1" or "2*shape.n"; the members are VALUE fields of integer types, of this object or,
                        * with dots, of objects inside of it. NULL: n elements. 0 and less: none is followed, and the
                        * copy has a null pointer                                                                */
} shmemx_field_t;

typedef struct {
    const char *name; /* "node", "struct node": any text; unique on this PE */
    size_t size;      /* of one object, in bytes                            */
    size_t nfields;
    const shmemx_field_t *fields;
} shmemx_type_desc_t;

/* Make a type known on this PE. The fields may refer to the type itself and to types that exist; of the predefined types
 * the names are those of C ("double", "unsigned long", "int32_t", "size_t", "float _Complex", ...) and "void *", which
 * is copied as it is. Everything is copied from the arguments.
 *
 * NULL, after a line that names type, field and cause, and nothing is changed: a field past the size, fields that
 * overlap, a type that does not exist, a count that is no number of members of integer types, a type inside itself, or a
 * name that is taken by a different type. The same description again gives the same type, and has to be destroyed as often.
 * Local; any thread. */
shmemx_type_t shmemx_type_create(const char *name, size_t size, size_t nfields, const shmemx_field_t *fields);
/* The same for several types that refer to each other, all or none: 0, or -EINVAL, -EEXIST, -ENOMEM after such a line. */
int shmemx_types_create(size_t ntypes, const shmemx_type_desc_t *types);
/* NULL when there is none. */
shmemx_type_t shmemx_type_find(const char *name);
/* 0; -EBUSY, after a line, when another type or something that is mapped still needs it, and -EPERM when it is predefined.
 * What is left at shmem_finalize is destroyed there. */
int shmemx_type_destroy(shmemx_type_t type);
/* Number that says how objects of the type, and of all types that it reaches, are laid out: equal on two PEs when the
 * descriptions are. Names of types and fields do not count. */
uint64_t shmemx_type_hash(shmemx_type_t type);

/* What the functions that oshtypes writes call: shmemx_types_create, after a comparison of the marks of shmemx_annotate.h
 * that oshtypes has seen with those in a section of the program that runs (of the executable or shared library that the
 * function is linked into). -ESTALE, after a line, when the marks of one of the types differ: a size, an offset, an
 * annotation that has come, changed or gone. With SHMEM_CHECK_TYPES=1 also when oshtypes --check finds that the debug
 * information of the program differs. The other errors are those of shmemx_types_create. */
typedef struct {
    const char *type, *members, *meaning; /* as in the source          */
    size_t size;                          /* of the type               */
    size_t n;                             /* members                   */
    const size_t *places;                 /* offset and size of each   */
} shmemx_mark_t;

int shmemx_types_register(size_t ntypes, const shmemx_type_desc_t *types, size_t nmarks, const shmemx_mark_t *marks,
                          const void *section, size_t section_bytes);

/* ---- To and from other PEs ------------------------------------------------------------------------------------------
 *
 * put_deep walks from nelems objects at source along all pointers, each object once, and writes an image of all that it
 * has met into the symmetric memory of pe: at most capacity bytes at dest, the symmetric heap, static data or a mapped
 * GPU object; dest is a multiple of 16. Shared objects are shared in the image, cycles are cycles, pointers into the
 * middle of an object point there. The pointers in the image are what pe's own CPU, or kernels on its GPU, can follow:
 * its own addresses; in OpenCL buffers, which have none, offsets in bytes from the start of the buffer. The image begins
 * with a header of SHMEMX_DEEP_HEADER bytes (shmemx_deep_info); the first of the nelems objects follows it, unless it
 * is part of a larger object of the graph.
 *
 * Result: bytes of the image. If they are more than capacity nothing was written: a call with capacity 0 only tells the
 * size (dest is not looked at). Negative errno values after a line that names PE, type, field and cause: -EINVAL for an
 * array descriptor with gaps between its elements or of another rank or element size, and for a dest that is no multiple
 * of 16; -ENOMEM; -EOVERFLOW for a count that no memory could hold.
 *
 * Completion is as for shmem_putmem: on return the source objects may be changed and freed; the image is there after
 * shmem_quiet or a barrier, or when the signal is. The nbi forms need the source objects unchanged until shmem_quiet.
 * The signal is updated after the image is complete, only if it was written. Pointers in the source must not change
 * during the call. Any thread; the target PE takes no part, and needs the type only to read the image with the routines
 * below. */
enum { SHMEMX_DEEP_HEADER = 128 };

ptrdiff_t shmemx_put_deep(void *dest, size_t capacity, const void *source, shmemx_type_t type, size_t nelems, int pe);
ptrdiff_t shmemx_put_deep_nbi(void *dest, size_t capacity, const void *source, shmemx_type_t type, size_t nelems,
                              int pe);
ptrdiff_t shmemx_put_deep_signal(void *dest, size_t capacity, const void *source, shmemx_type_t type, size_t nelems,
                                 uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
ptrdiff_t shmemx_put_deep_signal_nbi(void *dest, size_t capacity, const void *source, shmemx_type_t type, size_t nelems,
                                     uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);

/* What the image at a symmetric address on pe is. 0; or -EBADMSG after a line that says what is wrong with the header
 * (no image, another version, other types, a size past the end of the object that it is in). The type may be NULL, and
 * is then not checked. */
typedef struct {
    size_t size;     /* of the image, header included                                            */
    size_t nobjects; /* objects in it                                                             */
    size_t nelems;   /* of the call that made it                                                  */
    uint64_t root;   /* its first object: address on that PE, or offset in the OpenCL buffer       */
    int has_offsets; /* pointers are offsets in the buffer                                        */
} shmemx_deep_info_t;

int shmemx_deep_info(const void *image, shmemx_type_t type, shmemx_deep_info_t *info, int pe);

/* Bring an image on pe into the objects that it was made from, or into objects of the same shape: everything but the
 * pointers is copied into dest and what it reaches. Result: bytes of the image, or -EBADMSG as above, or -ESTALE, after a
 * line, when the objects at dest are not linked like those in the image; nothing is written then. Nothing is ever written
 * outside of these objects, whatever the image holds. The nbi form completes at shmem_quiet. */
ptrdiff_t shmemx_get_deep(void *dest, const void *image, shmemx_type_t type, size_t nelems, int pe);
ptrdiff_t shmemx_get_deep_nbi(void *dest, const void *image, shmemx_type_t type, size_t nelems, int pe);

/* Make the objects of an image anew in private memory. Every pointer and count is checked before it is used. The first
 * object, *nelems_p of them (may be NULL); NULL, after a line, when the image is damaged or there is no memory.
 * WEAK pointers are like any other, OPAQUE ones are as in the image. */
void *shmemx_get_deep_new(const void *image, shmemx_type_t type, size_t *nelems_p, int pe);
/* Free what shmemx_get_deep_new has made, all of it. NULL does nothing. */
void shmemx_deep_free(void *objects);

/* ---- To this PE's own GPU -------------------------------------------------------------------------------------------
 *
 * A space holds copies of this PE's objects on a device, each at most once, and knows which copy belongs to which object.
 * map gives every object that the graph reaches a copy, counting those that have one already, and copies the new ones
 * to the device with their pointers set to the copies; unmap counts down, and copies back and frees what is no longer
 * mapped. While objects are mapped their pointers must not change. A pointer in a copy is set while a map is there that
 * has followed it, and is null otherwise. All calls return when the data is in place; what kernels write has to be
 * complete before it is asked for. Local: no other PE takes part. A space is for one thread at a time. What is left at
 * shmem_finalize is destroyed there. */
typedef struct shmemx_deep_space *shmemx_deep_space_t;

/* How the bytes travel; the last four are those of the paper, for comparison. */
enum {
    SHMEMX_DEEP_IMAGE,     /* all new objects of a call together, packed with their pointers set         */
    SHMEMX_DEEP_BASE,      /* memory for each object from the driver; the object, then each pointer       */
    SHMEMX_DEEP_BASE_PLUS, /* the same with memory that the library manages                               */
    SHMEMX_DEEP_TCPY,      /* each object by way of a temporary copy in which the pointers are set        */
    SHMEMX_DEEP_PCPY       /* pointers are set in the object itself, which travels, and then set back      */
};

/* When copies end. */
enum {
    SHMEMX_DEEP_COUNTED,    /* with the last of the maps that reach the object                                        */
    SHMEMX_DEEP_STRUCTURED, /* with the unmap that belongs to the map that made them; unmaps come in reverse order    */
    SHMEMX_DEEP_EXPLICIT    /* when they are released                                                                */
};

typedef struct {
    int memory_type; /* OSHM_MEMTYPE_CUDA or OSHM_MEMTYPE_OPENCL                                                  */
    void *buffer;    /* the memory for the copies, as shmmap takes it, and its size. CUDA: may be NULL; memory is
                      * then allocated as needed on the device                                                     */
    size_t size;
    int device;       /* for a NULL buffer: CUDA ordinal; -1: shmemx_my_device                                    */
    int technique;    /* SHMEMX_DEEP_IMAGE...; BASE needs CUDA and a NULL buffer                                   */
    int lifetime;     /* SHMEMX_DEEP_COUNTED...                                                                    */
    int asynchronous; /* BASE to PCPY: transfers are only waited for together, at the end of the call             */
} shmemx_deep_space_attr_t;

/* NULL after a line that says why. */
shmemx_deep_space_t shmemx_deep_space_create(const shmemx_deep_space_attr_t *attr);
/* Frees all copies without copying anything back. The buffer stays the user's. NULL does nothing. Until then a space
 * keeps the memory that it has taken from the driver, for the next copies. */
void shmemx_deep_space_destroy(shmemx_deep_space_t space);

/* What map and update do. */
enum {
    SHMEMX_DEEP_TO = 1,     /* copy to the device                                        */
    SHMEMX_DEEP_FROM = 2,   /* copy back, everything but the pointers                      */
    SHMEMX_DEEP_ALWAYS = 4, /* map: also objects that have a copy already; unmap: also objects that keep theirs */
};

/* Map nelems objects at source and all that they reach; a NULL source maps nothing. flags: TO, or 0 for copies with
 * pointers only, whose other bytes are undefined. skip, which may be NULL, lists fields that are treated as WEAK in this call, as "type.field", and ends
 * with NULL. *device_p: where a kernel finds the first object: device address, or offset in the OpenCL buffer.
 * 0; or, after a line, and nothing is changed: -ENOMEM, -ENOSPC when the buffer is full, -EINVAL when an object overlaps a
 * part of a mapped one but is not inside of it, and as for put_deep. */
int shmemx_deep_map(shmemx_deep_space_t space, const void *source, shmemx_type_t type, size_t nelems, int flags,
                    const char *const *skip, uint64_t *device_p);
/* Undo one map of source. flags: FROM, or 0. -ENOENT, after a line, when it is not mapped; -EBUSY for a structured
 * space when it is not the newest. EXPLICIT: only copies back, if FROM and ALWAYS are there. */
int shmemx_deep_unmap(shmemx_deep_space_t space, const void *source, int flags);
/* Copy what source reaches, as it was mapped, to the device or back without its pointers; exactly one of TO and FROM. */
int shmemx_deep_update(shmemx_deep_space_t space, const void *source, int flags);
/* End the copies of what source reaches whatever their counts, in any space. flags as for unmap. */
int shmemx_deep_release(shmemx_deep_space_t space, const void *source, int flags);
/* Where the copy of the byte at address is; 0 when it has none. */
uint64_t shmemx_deep_device(shmemx_deep_space_t space, const void *address);

#ifdef __cplusplus
}
#endif

#endif
