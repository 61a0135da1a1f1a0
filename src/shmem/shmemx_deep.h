/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Deep copy: copies objects with everything that their pointers reach to another PE, or to this PE's GPU. Included by
 * shmemx.h.
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

#include "shmem.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Types ----------------------------------------------------------------------------------------------------------
 *
 * A type says how large an object is and where its pointers are. Members without pointers need no description, unless a
 * count refers to them. Each PE creates its own types; a transfer between two PEs needs the same types on both, and
 * checks this. oshtypes writes these descriptions from the debug information of a program. All routines on types are
 * local; any thread may call them, also before initialisation. */
typedef struct shmemx_type *shmemx_type_t;

/* What a member is. */
enum {
    SHMEMX_FIELD_VALUE,    /* an object of the type, or an array of n of them, inside the object */
    SHMEMX_FIELD_POINTER,  /* points to n objects of the type, or to as many as count says; or is null */
    SHMEMX_FIELD_STRING,   /* points to elements of an integer type ("char") up to the first that is 0; or is null */
    SHMEMX_FIELD_CFI,      /* the C descriptor of a Fortran allocatable or pointer array (ISO_Fortran_binding.h)
                            * of rank n, whose elements have the type; a scalar has rank 0 */
    SHMEMX_FIELD_GFORTRAN, /* the same, in the layout that gfortran uses inside derived types */
    SHMEMX_FIELD_WEAK,     /* a pointer that is not followed: the copy points to the copy of its target if the target is
                            * reached in another way, and is null otherwise */
    SHMEMX_FIELD_OPAQUE    /* a pointer that is not followed, and is copied unchanged */
};

typedef struct {
    const char *name;  /* of the member: for messages, counts and the lists of fields to skip */
    size_t offset;     /* bytes from the start of the object */
    int kind;          /* SHMEMX_FIELD_* */
    const char *type;  /* name of the member's type, or of the type that it points to; WEAK, OPAQUE: may be NULL */
    size_t n;          /* number of elements, or rank, as above; 0 means 1, except for a rank */
    const char *count; /* POINTER: number of elements as a sum of products of members and numbers, such as "n",
                        * "nx*ny", "n+1" or "2*shape.n"; the members are VALUE fields of integer types, of this object
                        * or, with dots, of objects inside it. NULL: n elements. If the result is 0 or less the pointer
                        * is not followed, and is null in the copy */
} shmemx_field_t;

typedef struct {
    const char *name; /* "node", "struct node": any text; unique on this PE */
    size_t size;      /* of one object, in bytes */
    size_t nfields;
    const shmemx_field_t *fields;
} shmemx_type_desc_t;

/* Make a type known on this PE. The fields may refer to the type itself and to types that exist. Predefined types have
 * their C names ("double", "unsigned long", "int32_t", "size_t", "float _Complex", ...); "void *" is one that is copied
 * unchanged. The arguments may be freed afterwards. Creating the same type again returns it, and it must then be
 * destroyed once more.
 *
 * On an error it logs the type, field and cause, changes nothing and returns NULL: a field past the size, fields that
 * overlap, a type that does not exist, a count that does not consist of numbers and members of integer types, a type
 * inside itself, or a name that a different type has. */
shmemx_type_t shmemx_type_create(const char *name, size_t size, size_t nfields, const shmemx_field_t *fields);
/* Creates several types that refer to each other. Returns 0, or logs the cause, creates none of them and returns -EINVAL,
 * -EEXIST or -ENOMEM. */
int shmemx_types_create(size_t ntypes, const shmemx_type_desc_t *types);
/* The type of that name, or NULL if there is none. */
shmemx_type_t shmemx_type_find(const char *name);
/* Returns 0, or logs the cause and returns -EBUSY if another type or a mapped object still needs the type, -EPERM if it
 * is predefined. shmem_finalize destroys the types that are left. */
int shmemx_type_destroy(shmemx_type_t type);
/* Number that identifies the layout of objects of the type and of all types that it reaches: equal on two PEs if the
 * descriptions are equal. Names of types and fields do not matter. */
uint64_t shmemx_type_hash(shmemx_type_t type);

/* A mark of shmemx_annotate.h, as oshtypes read it. */
typedef struct {
    const char *type, *members, *meaning; /* as in the source */
    size_t size;                          /* of the type */
    size_t n;                             /* number of members */
    const size_t *places;                 /* offset and size of each member */
} shmemx_mark_t;

/* For functions that oshtypes wrote: shmemx_types_create, after comparing the marks that oshtypes read with those in
 * the given section of the running program (of the executable or shared library that the function is linked into). If
 * the marks of a type differ (a size, an offset, an annotation that was added, changed or removed), logs this and
 * returns -ESTALE. With SHMEM_CHECK_TYPES=1 it does so too if oshtypes --check finds that the program's debug
 * information differs. Other errors are those of shmemx_types_create. */
int shmemx_types_register(size_t ntypes, const shmemx_type_desc_t *types, size_t nmarks, const shmemx_mark_t *marks,
                          const void *section, size_t section_bytes);

/* ---- To and from other PEs ------------------------------------------------------------------------------------------
 *
 * put_deep walks from nelems objects at source along all pointers, visits each object once, and writes an image of
 * everything it reached into the symmetric memory of pe: at most capacity bytes at dest. dest lies in the symmetric
 * heap, static data or a mapped GPU object and is a multiple of 16. What is shared or cyclic in the source is so in the
 * image, and a pointer into the middle of an object points there. The CPU of pe, or kernels on its GPU, can follow the
 * pointers of the image: they are addresses of pe, or, since OpenCL buffers have no addresses, offsets in bytes from
 * the start of the buffer. The image begins with a header of SHMEMX_DEEP_HEADER bytes (see shmemx_deep_info); the first
 * of the nelems objects follows it, unless that is part of a larger object of the graph.
 *
 * Result: the size of the image in bytes. If it is more than capacity, nothing was written; a call with capacity 0 only
 * finds the size and ignores dest. On an error they log the PE, type, field and cause and return: -EINVAL for an array
 * descriptor with gaps between its elements or with another rank or element size, and for a dest that is not a multiple
 * of 16; -EOVERFLOW for a count that no memory could hold; -ENOMEM.
 *
 * Completion is as for shmem_putmem: on return the source objects may be changed and freed; the image has arrived after
 * shmem_quiet or a barrier, or when the signal has. After the nbi forms, source objects must not change until
 * shmem_quiet. The signal is updated after the image is complete, and only if the image was written. Pointers in the
 * source must not change during the call. Any thread may call. The target PE takes no part, and needs the type only to
 * read the image with the routines below. */
enum { SHMEMX_DEEP_HEADER = 128 };

ptrdiff_t shmemx_put_deep(void *dest, size_t capacity, const void *source, shmemx_type_t type, size_t nelems, int pe);
ptrdiff_t shmemx_put_deep_nbi(void *dest, size_t capacity, const void *source, shmemx_type_t type, size_t nelems,
                              int pe);
ptrdiff_t shmemx_put_deep_signal(void *dest, size_t capacity, const void *source, shmemx_type_t type, size_t nelems,
                                 uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);
ptrdiff_t shmemx_put_deep_signal_nbi(void *dest, size_t capacity, const void *source, shmemx_type_t type, size_t nelems,
                                     uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);

/* Write an image of the root's objects into the memory of every member of a team, the root too: one walk for all of them.
 * Collective over the team; root is a number of the team. dest is the same symmetric address on all members, whose
 * memory there is ready to be written; capacity, source, type and nelems count on the root only. What they mean, and what
 * is written, is as for put_deep: pointers are addresses (or offsets) of the member that has the image.
 *
 * Result, the same on all members: what shmemx_put_deep returns, for the root's objects and capacity. If it is more than
 * that, or an error listed there, no member has an image. On return the member's image is complete, and the objects may be
 * changed and freed. One thread at a time may call collectives of a team. */
ptrdiff_t shmemx_broadcast_deep(shmem_team_t team, void *dest, size_t capacity, const void *source, shmemx_type_t type,
                                size_t nelems, int root);

/* Describe the image at a symmetric address on pe. Returns 0, or logs what is wrong with the header (no image, another
 * version, other types, a size past the end of the memory that holds it) and returns -EBADMSG. type may be NULL; then
 * it is not checked. */
typedef struct {
    size_t size;     /* of the image in bytes, including the header */
    size_t nobjects; /* objects in it */
    size_t nelems;   /* argument of the call that wrote it */
    uint64_t root;   /* its first object: address on that PE, or offset in the OpenCL buffer */
    int has_offsets; /* nonzero if pointers are offsets in the buffer */
} shmemx_deep_info_t;

int shmemx_deep_info(const void *image, shmemx_type_t type, shmemx_deep_info_t *info, int pe);

/* Copy an image on pe back into the objects that it was made from, or into objects of the same shape: everything but
 * the pointers is copied into dest and the objects that it reaches, and nothing outside them is written, whatever the
 * image holds. Returns the size of the image in bytes, or logs the cause, writes nothing and returns -EBADMSG as above,
 * or -ESTALE if the objects at dest are not linked as those of the image are. shmem_quiet completes the nbi form. */
ptrdiff_t shmemx_get_deep(void *dest, const void *image, shmemx_type_t type, size_t nelems, int pe);
ptrdiff_t shmemx_get_deep_nbi(void *dest, const void *image, shmemx_type_t type, size_t nelems, int pe);

/* Create the objects of an image in private memory. Returns the first of *nelems_p objects (nelems_p may be NULL), or
 * logs the cause and returns NULL if the image is damaged or memory is exhausted: every pointer and count is checked
 * before it is used. WEAK pointers are set like others; OPAQUE ones keep the values of the image. */
void *shmemx_get_deep_new(const void *image, shmemx_type_t type, size_t *nelems_p, int pe);
/* Free all objects that one shmemx_get_deep_new created. NULL does nothing. */
void shmemx_deep_free(void *objects);

/* ---- To this PE's GPU -----------------------------------------------------------------------------------------------
 *
 * A space holds copies of this PE's objects on a device, at most one of each object, and knows which copy belongs to
 * which object. shmemx_deep_map gives a copy to every object that the graph reaches, transfers the new ones to the
 * device with pointers to the copies, and counts the maps of each object. shmemx_deep_unmap counts down, and copies
 * back and frees what is no longer mapped. While objects are mapped their pointers must not change. A pointer in a copy
 * is set as long as a map that followed it exists, and is null otherwise. All calls return when the data are in place.
 * Kernels that write data must have ended before the data are copied back. Local: no other PE takes part. One thread at
 * a time may use a space. shmem_finalize destroys the spaces that are left. */
typedef struct shmemx_deep_space *shmemx_deep_space_t;

/* How copies are transferred; the last four are the techniques of the paper, for comparison. */
enum {
    SHMEMX_DEEP_IMAGE,     /* all new objects of a call together, packed, with their pointers already set */
    SHMEMX_DEEP_BASE,      /* each object in memory from the driver; first the object, then each of its pointers */
    SHMEMX_DEEP_BASE_PLUS, /* the same in memory that the library manages */
    SHMEMX_DEEP_TCPY,      /* each object through a temporary copy in which the pointers are set */
    SHMEMX_DEEP_PCPY       /* pointers are set in the object itself, which is transferred, and are then restored */
};

/* When copies end. */
enum {
    SHMEMX_DEEP_COUNTED,    /* with the last of the maps that reach the object */
    SHMEMX_DEEP_STRUCTURED, /* with the unmap of the map that made them; unmaps come in reverse order of maps */
    SHMEMX_DEEP_EXPLICIT    /* when shmemx_deep_release is called */
};

typedef struct {
    int memory_type;  /* OSHM_MEMTYPE_CUDA or OSHM_MEMTYPE_OPENCL */
    void *buffer;     /* memory for the copies, as shmmap takes it. CUDA: NULL allocates device memory as needed */
    size_t size;      /* of the buffer in bytes */
    int device;       /* if buffer is NULL: CUDA ordinal, or -1 for the result of shmemx_my_device */
    int technique;    /* SHMEMX_DEEP_IMAGE...; BASE needs CUDA and a NULL buffer */
    int lifetime;     /* SHMEMX_DEEP_COUNTED... */
    int asynchronous; /* BASE to PCPY: if nonzero, a call waits for all its transfers together at its end */
} shmemx_deep_space_attr_t;

/* Returns a new space, or logs the cause and returns NULL. */
shmemx_deep_space_t shmemx_deep_space_create(const shmemx_deep_space_attr_t *attr);
/* Free all copies without copying anything back. The buffer remains the user's; memory that the space took from the
 * driver is kept for later copies until then. NULL does nothing. */
void shmemx_deep_space_destroy(shmemx_deep_space_t space);

/* Flags of map, unmap, update and release. */
enum {
    SHMEMX_DEEP_TO = 1,     /* copy to the device */
    SHMEMX_DEEP_FROM = 2,   /* copy back everything but the pointers */
    SHMEMX_DEEP_ALWAYS = 4, /* map: also objects that already have a copy; unmap: also objects that keep theirs */
};

/* Map nelems objects at source and all that they reach; a NULL source maps nothing. flags: TO, or 0 for copies in which
 * only the pointers are defined. skip, unless NULL, is a list, ended by NULL, of fields "type.field" that this call
 * treats as WEAK. *device_p becomes the place where a kernel finds the first object: device address, or offset in the
 * OpenCL buffer. Returns 0, or logs the cause, changes nothing and returns -ENOMEM; -ENOSPC if the buffer is full;
 * -EINVAL if an object overlaps a mapped one without being inside it; or an error of shmemx_put_deep. */
int shmemx_deep_map(shmemx_deep_space_t space, const void *source, shmemx_type_t type, size_t nelems, int flags,
                    const char *const *skip, uint64_t *device_p);
/* Undo one map of source. flags: FROM, or 0. In an EXPLICIT space this only copies back, if flags has FROM and ALWAYS.
 * Returns 0, or logs the cause and returns -ENOENT if source is not mapped; -EBUSY if the space is STRUCTURED and this
 * is not its newest map. */
int shmemx_deep_unmap(shmemx_deep_space_t space, const void *source, int flags);
/* Copy the objects that were mapped from source: to the device (TO) or back (FROM), without pointers. */
int shmemx_deep_update(shmemx_deep_space_t space, const void *source, int flags);
/* End the copies of all objects that source reaches, whatever their counts and the lifetime of the space. flags as for
 * shmemx_deep_unmap. */
int shmemx_deep_release(shmemx_deep_space_t space, const void *source, int flags);
/* Where the copy of the byte at address is (as *device_p of shmemx_deep_map), or 0 if it has none. */
uint64_t shmemx_deep_device(shmemx_deep_space_t space, const void *address);

#ifdef __cplusplus
}
#endif

#endif
