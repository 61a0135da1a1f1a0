/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kinds of memory: host, cuda, opencl. The rest of the library sees GPUs through this header. Beside it, other folders
 * may include list.h, meeting_call.h, arithmetic.h, half_floats.h, placement.h, thread_cores.h, memory_kinds.def and
 * what is in copy_threads, which know no vendor, and what these include; nothing of src/gpu/cuda and src/gpu/opencl.
 *
 * A kind knows its own memory: whether a local address belongs to it, how to copy to and from host memory and within
 * the kind, how another process of the node can open an allocation. All functions may be called by several threads at
 * the same time (user threads and the service thread).
 */
#ifndef SHMEMI_MEMORY_H
#define SHMEMI_MEMORY_H

#include "gpu/arithmetic.h"
#include "gpu/list_entry.h"
#include "gpu/meeting.h"
#include "gpu/place.h"
#include "gpu/shape.h"
#include "gpu/stream_table.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shmemi_list;

/* OSHM_MEMTYPE_* of shmemx.h; host memory has no public type. */
enum {
    SHMEMI_MEMTYPE_HOST,
#define MEMORY_KIND(type, ...) SHMEMI_MEMTYPE_##type,
#include "gpu/memory_kinds.def"
    SHMEMI_MEMTYPES
};

/* What made an allocation. */
enum shmemi_memory_class {
#define MEMORY_CLASS(id, ...) SHMEMI_CLASS_##id,
#include "gpu/memory_kinds.def"
    SHMEMI_MEMORY_CLASSES
};

/* A copy under way. Made by copy_start; completed, and only then reusable, by event_test or event_wait. */
struct shmemi_event {
    const struct shmemi_memory *memory;
    void *object; /* record of the device or queue that runs the copy */
    void *handle; /* the kind's own event; NULL when the copy was done at once */
};

/* Identifies where copies of one thread without events of their own are under way. Made by bursts->copy. */
struct shmemi_burst {
    const struct shmemi_memory *memory;
    void *object, *handle; /* as of an event */
};

/* A thread's access to one object, for many copies that it waits for together. Made by channels->open. */
struct shmemi_channel {
    const struct shmemi_memory *memory;
    void *object, *handle; /* as of an event */
    bool is_entered;       /* closing leaves what opening has entered */
    void *words;           /* stores that have not been started; NULL: none yet */
};

/* Arrays of nelems elements that are combined element by element, the sources from left to right. Arrays are the same
 * memory or do not overlap. */
struct shmemi_combination {
    enum shmemi_operation op;
    enum shmemi_kind kind;
    enum shmemi_combine_form form; /* prefixes: one dest for each source */
    size_t size, nelems;           /* of an element */
    const struct shmemi_place *source, *dest;
    int n_sources, n_dests; /* 1 to SHMEMI_COMBINE_ARRAYS */
};

/* A GPU buffer as its owner sees it. Filled in by open_object. */
struct shmemi_allocation {
    struct shmemi_place place; /* of the first mapped byte */
    uintptr_t base;            /* start of the whole allocation: device pointer; opencl: 0 */
    size_t size;               /* of the whole allocation */
    uint64_t buffer_id;        /* unique for the allocation's life; 0 when the kind has none */
    int device;                /* ordinal */
    enum shmemi_memory_class class;
};

/* Lets another process open an allocation. Sent between the PEs of a node, hence of fixed size and without pointers.
 * File descriptors are sent separately. */
struct shmemi_memory_handle {
    uint64_t buffer_id;
    uint64_t base;   /* owner's address of the allocation */
    uint64_t size;   /* of the allocation */
    uint64_t offset; /* of the mapped object in it */
    int32_t device;
    int32_t type; /* OSHM_MEMTYPE_* */
    uint8_t opaque[128];
};

/* File descriptors that belong to a handle, in the order of the addresses of the memory that they stand for. */
enum { SHMEMI_DESCRIPTORS_MAX = 64 };
struct shmemi_descriptors {
    unsigned count;
    int fd[SHMEMI_DESCRIPTORS_MAX];
    uint64_t size[SHMEMI_DESCRIPTORS_MAX]; /* of the memory, in bytes; 0 when it does not matter */
};
void shmemi_descriptors_close(struct shmemi_descriptors *descriptors);

/* The one unit, of a GPU, that carries out the atomic operations on that GPU's memory: they are atomic with each other,
 * whichever process requests them. Sent between the PEs of a node. */
struct shmemi_atomic_unit {
    int32_t exists; /* 0: there is none; the owner loads, modifies and stores for all PEs, one operation at a time */
    uint8_t device[16]; /* the same device in all processes, whether it has the unit or not; zeros: unknown, or a CPU */
};

/* ---- The table of a kind ------------------------------------------------------------------------------------------
 * A function is always there, unless its comment begins with "Optional": then it is NULL in kinds that have no such thing,
 * and callers ask for that. Features that only some kinds have are in sub-tables, which are optional as a whole; what
 * a sub-table has, if there is one, follows the same rule. Host memory has no devices and no objects to open: of what the
 * table has for these, its own has only a device_count of 0. In a build without a kind, its table has the name, the title,
 * the type, and an open that refuses; nothing else of it is ever called.
 *
 * There are four ways to copy. They differ in which thread waits, and for what:
 *
 *      copy             one copy; the caller waits until the data is in place
 *      copy_start       one copy; the caller goes on, and tests the copy's own event
 *      bursts           nonblocking puts and gets: cheap to start; one event, set later, stands for many
 *      channels         many small copies to one object in a row; the caller waits for all of them
 */

/* What a kind says of a local address that is not of a mapped object. */
enum shmemi_claim {
    SHMEMI_CLAIM_NONE,   /* it knows nothing of it, or the process has not used the kind */
    SHMEMI_CLAIM_LOCKED, /* host memory that it has allocated or page-locked */
    SHMEMI_CLAIM_OWN,    /* memory of the kind */
};

/* The kind's memory has addresses that a program can pass where the library expects a pointer. */
struct shmemi_addresses {
    enum shmemi_claim (*claim)(const void *address); /* fast */

    /* Prepare the place of such an address for a transfer: fill in its object, and wait until synchronous calls of the
     * program that write there (cudaMemset) have taken effect. */
    void (*adopt)(struct shmemi_place *place);

    /* Make a context of this memory current in a thread of the library that has none, so that other libraries (UCX) can
     * use the memory there. */
    void (*make_current)(const struct shmemi_place *place);
};

/* Copies that share events. */
struct shmemi_bursts {
    /* copy_start without an event. -ENOTSUP, with nothing started, when only copy_start can. */
    int (*copy)(const struct shmemi_place *dest, const struct shmemi_place *source, const struct shmemi_shape *shape,
                struct shmemi_burst *burst_p);
    /* Make an event for all copies of the burst that have been started. */
    int (*mark)(const struct shmemi_burst *burst, struct shmemi_event *event_p);
};

/* Many copies between host memory and the object of a place: context and stream are looked up once for all. */
struct shmemi_channels {
    int (*open)(const struct shmemi_place *place, struct shmemi_channel *channel_p);
    /* Start a copy, in order with earlier ones; host memory must not change until wait. */
    int (*copy)(const struct shmemi_channel *channel, const struct shmemi_place *dest,
                const struct shmemi_place *source, size_t nbytes);
    /* Optional. The same for an aligned word of 4 or 8 bytes, which may change at once: many take less time than as many
     * copies. -ENOTSUP: copy it. */
    int (*store)(struct shmemi_channel *channel, const struct shmemi_place *dest, const void *word, size_t nbytes);
    int (*wait)(const struct shmemi_channel *channel); /* for all copies and stores */
    /* Called by the thread that has opened the channel, with nothing under way. */
    void (*close)(struct shmemi_channel *channel);
};

/* Lists of small operations (list.h), which the device carries out at once. */
struct shmemi_lists {
    /* An empty list for memory with the object of this place. NULL when all are in use, or when this build or device
     * has no lists: then the caller copies. */
    struct shmemi_list *(*take)(const struct shmemi_place *place);
    /* Returns at once. The list runs after everything that its thread has started for the object before. */
    int (*start)(struct shmemi_list *list);
    /* 0 when all is in place, -EAGAIN when it is not yet, or another -errno. After 0 or an error the caller gives the
     * list back, or fills and starts it again. */
    int (*test)(struct shmemi_list *list);
    void (*give)(struct shmemi_list *list);
};

struct shmemi_atomic_units {
    /* That of this process's own memory. */
    void (*find)(const struct shmemi_place *own, struct shmemi_atomic_unit *unit_p);
    /* Do lists for this place, which is memory of another PE, leave atomic operations to that memory's unit, which
     * exists? NULL if none does. */
    bool (*reaches)(const struct shmemi_place *imported, const struct shmemi_atomic_unit *unit);
};

/* How processes of a node open each other's allocations. On failure `reason` is a phrase that names the obstacle, if a
 * user can do something about it; otherwise it is left empty. */
struct shmemi_sharing {
    /* The caller closes the descriptors when they have been sent. */
    int (*export_handle)(const struct shmemi_allocation *allocation, struct shmemi_memory_handle *handle_p,
                         struct shmemi_descriptors *descriptors_p, char *reason, size_t reason_size);
    /* Maps the allocation once per process and counts its users; the place is that of the mapped object. The caller
     * still owns the descriptors. It is opened in the context of `user`, memory of this process from which kernels and
     * copies will use it, or, if that is NULL, in a context of this process on the owner's device, for copies between
     * the two contexts. -ENOTSUP when this process cannot open it (no peer access): then the memory takes another
     * route. */
    int (*import_handle)(const struct shmemi_memory_handle *handle, const struct shmemi_descriptors *descriptors,
                         const struct shmemi_place *user, struct shmemi_place *place_p, char *reason,
                         size_t reason_size);
    void (*release_handle)(const struct shmemi_memory_handle *handle, const struct shmemi_place *place);
};

/* Page-locked host memory makes copies faster. */
struct shmemi_pinning {
    int (*pin)(void *address, size_t size); /* failure is not fatal: copies are only slower */
    void (*unpin)(void *address, size_t size);
    bool (*is_pinned)(const void *address, size_t size); /* is all of it in one pinned range, whoever pinned that? */
    bool (*helps)(const struct shmemi_place *place);     /* copies of this place? not where the CPU does them */
    bool is_independent; /* pin does not wait for streams, which may be waiting for the caller */
};

struct shmemi_memory {
    const char *name;
    const char *title; /* the name as users write it: "CUDA" */
    int type;          /* OSHM_MEMTYPE_*, 0 for host */

    /* Before anything is opened that may start the vendor's driver. NULL: nothing is to be done. */
    void (*prepare)(void);
    /* Load the vendor's library. -ENODEV, not logged, when this machine has none. Called once, before anything else. */
    int (*open)(void);
    void (*close)(void);

    int (*device_count)(void);
    /* PCI address of a device as "0000:3b:00.0"; -ENODEV when it has none (PoCL). */
    int (*device_pci)(int device, char *text, size_t size);
    int (*device_name)(int device, char *text, size_t size);

    /* A buffer on a device for the library's own programs, made as a user would make it; *object_p is what shmmap
     * takes. */
    int (*allocate)(int device, size_t size, void **object_p);
    void (*deallocate)(void *object);

    /* Validate a user's object and describe it. The object pointer is what shmmap got. Logs nothing; on refusal
     * returns -errno and a cause in reason (one phrase, e.g. "is not CUDA device memory"). */
    int (*open_object)(void *object, size_t size, struct shmemi_allocation *allocation_p, char *reason,
                       size_t reason_size);
    void (*close_object)(struct shmemi_allocation *allocation);
    /* Optional. Whether this is a handle of the kind, which a program may take for an address. */
    bool (*is_object)(const void *address);

    /* Optional. If operations on this memory are slower than they need be: a phrase that says why and what to do about
     * it; otherwise NULL. */
    const char *(*handicap)(const struct shmemi_allocation *allocation);

    /* Copy between two places, at least one of this kind, the other of this kind or in host memory. copy returns when
     * the data is in place. copy_start returns at once; host memory must then not change until the event completes.
     * Copies started by one thread for the same object take effect in order. */
    int (*copy)(const struct shmemi_place *dest, const struct shmemi_place *source, const struct shmemi_shape *shape);
    int (*copy_start)(const struct shmemi_place *dest, const struct shmemi_place *source,
                      const struct shmemi_shape *shape, struct shmemi_event *event_p);
    /* Optional. The same as copy_start within the kind, but beside the thread's other copies, in no order with them. */
    int (*copy_beside)(const struct shmemi_place *dest, const struct shmemi_place *source,
                       const struct shmemi_shape *shape, struct shmemi_event *event_p);
    /* 0: done (the event is released); -EAGAIN: not yet; other -errno: the copy failed (released). */
    int (*event_test)(struct shmemi_event *event);
    int (*event_wait)(struct shmemi_event *event);

    /* An atomic operation on a word of this process's own memory, by the memory's atomic unit (host memory: the CPU); the
     * old value is there on return. -ENOTSUP when the memory has none. */
    int (*amo)(const struct shmemi_place *word, const struct shmemi_amo *amo, uint64_t *old_p);

    /* Optional. Combine arrays of this kind on a device. Returns when the result is in place. -ENOTSUP, with
     * nothing done, when one device does not reach all arrays, or cannot compute with this kind of number: then the CPU
     * does it. */
    int (*combine)(const struct shmemi_combination *combination);

    /* Optional. Report to shmemi_copy_observer the copies that are complete. */
    void (*report_copies)(void);

    /* The sub-tables; NULL when the kind has no such thing. */
    const struct shmemi_addresses *addresses; /* opencl has none: its memory has handles */
    const struct shmemi_bursts *bursts;
    const struct shmemi_channels *channels;
    const struct shmemi_lists *lists;
    const struct shmemi_atomic_units *atomic_units;
    const struct shmemi_sharing *sharing;
    const struct shmemi_pinning *pinning;
    const struct shmemi_streams *streams;
};

extern const struct shmemi_memory shmemi_memory_host;
#define MEMORY_KIND(type, table, ...) extern const struct shmemi_memory shmemi_memory_##table;
#include "gpu/memory_kinds.def"

/* The kind with this OSHM_MEMTYPE_*, opened; NULL when this build or machine has none. */
const struct shmemi_memory *shmemi_memory_of_type(int type);
bool shmemi_memory_type_exists(int type);            /* is it an OSHM_MEMTYPE_*, whether opened or not? */
const char *shmemi_memory_type_name(int type);       /* "CUDA", "OpenCL", "unknown"; of any type, opened or not */
bool shmemi_memory_is_built(int type);               /* has this build the kind of this type? */
bool shmemi_memory_is_unmapped(const void *address); /* is it memory or an object of a kind, as shmmap takes it? */
const char *shmemi_memory_types(void);               /* all that a program can name: "OSHM_MEMTYPE_CUDA, ..." */

const char *shmemi_memory_class_name(enum shmemi_memory_class class);
/* Why other PEs cannot open memory of the class, and what to do; empty when they can. */
const char *shmemi_memory_class_remedy(enum shmemi_memory_class class);

/* A copy, or a kernel in place of copies, as the device carried it out, by CLOCK_MONOTONIC in nanoseconds. */
struct shmemi_device_copy {
    const struct shmemi_memory *memory;
    int device;       /* ordinal */
    unsigned queue;   /* number of the stream or the like, from 0 */
    const char *what; /* its direction, or the kernel */
    uint64_t nbytes, begin, end;
};

/* Called for each copy of GPU memory whose begin and end on the device are known, by any thread, some time after the
 * end. NULL: copies are not observed. Set while nothing is under way. */
extern void (*shmemi_copy_observer)(const struct shmemi_device_copy *copy);
/* Report to the observer the copies that are complete by now. */
void shmemi_memory_report_copies(void);

/* Close all opened kinds. */
void shmemi_memory_close(void);

/* True when some kind may own addresses outside of mapped objects, so that shmemi_memory_locate must ask the kinds.
 * Read on the fast path. */
extern bool shmemi_memory_probe;
/* Before the network is opened: UCX's modules start the CUDA driver, which reads its settings then. host_pes: those on this
 * host, as far as the launcher knows. */
void shmemi_memory_prepare(int host_pes);
/* Find out which kinds are present, without starting them; sets shmemi_memory_probe. Cheap. */
void shmemi_memory_discover(void);

/* Page-lock host memory for all kinds that are open, as far as they can, and undo it. Nothing happens for kinds that
 * have page-locked this range already. */
void shmemi_memory_pin(void *address, size_t size);
void shmemi_memory_unpin(void *address, size_t size);
/* Is all of it page-locked for a kind that is in use, whoever has done that? */
bool shmemi_memory_is_pinned(const void *address, size_t size);

/* PEs among which the cores and devices of this machine are divided, at least 1, and this one's number: those of all
 * nodes that are played on it. Set at start. */
extern int shmemi_memory_machine_pes, shmemi_memory_machine_rank;

/* How many PEs use a device (ordinal) that this PE has mapped memory of, at least 1; and by type, the most of any such
 * device. Set by shmmap and shmumap. */
int shmemi_memory_sharers_of(int type, int device);
extern int shmemi_memory_sharers[SHMEMI_MEMTYPES];
void shmemi_memory_set_sharers(int type, int device, int sharers);
/* Do they use it in turns? Then what the processors of the device do, short writes by the driver included, waits for the
 * turn of its process; what the copy engines do does not. */
bool shmemi_memory_takes_turns(const struct shmemi_memory *memory);

/* Kernels of this process may fill its device and wait there for what other PEs send: data go there by copies, since a
 * kernel of the library might never start. */
extern atomic_bool shmemi_memory_kernels_wait;

/* The place of a local address that is neither symmetric nor known to be host memory, and the most that any kind says
 * of the address. */
enum shmemi_claim shmemi_memory_locate(const void *address, struct shmemi_place *place_p);
/* The place of such an address for an operation that is enqueued in a stream. Does not wait for synchronous calls of the
 * program, which may wait for the stream. */
enum shmemi_claim shmemi_memory_find(const void *address, struct shmemi_place *place_p);

/* Copy between any two places, of any kinds, and return when the data is in place. Between two GPU kinds it goes
 * through host memory in pieces. */
int shmemi_memory_copy(const struct shmemi_place *dest, const struct shmemi_place *source,
                       const struct shmemi_shape *shape);

/* An atomic operation by the CPU on a word that it can address. Returns the old value. */
uint64_t shmemi_amo_apply(void *word, const struct shmemi_amo *amo);

static inline struct shmemi_place shmemi_place_host(const void *pointer)
{
    return (struct shmemi_place){.memory = &shmemi_memory_host, .address = (uintptr_t)pointer};
}

#endif
