/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The processors (hardware threads, as Linux numbers them) that this PE is bound to, and those that threads of the
 * library may use.
 *
 * A launcher binds a PE to make it fast, and has more processors for the threads of the library. A user who confines a
 * job or a program (taskset, numactl, a control group) means all of it. The two are told apart by what the launcher
 * says that it has bound the PE to: only if the PE still has exactly that binding, it was the launcher's. Then threads
 * may use what the launcher itself may, which is the PE's parent process: the user's confinement of the whole job, and
 * that of a resource manager, hold for the launcher as well.
 */
#ifndef SHMEMI_BINDING_H
#define SHMEMI_BINDING_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

struct shmemi_binding {
    cpu_set_t own;     /* those of the thread that initialises; none: not known */
    cpu_set_t allowed; /* own, or more if the launcher has bound the PE */
};

/* Reads the binding of this process and that of its launcher; the binding of the calling thread is afterwards what it was.
 * reported is what the bootstrap knows of the launcher's binding, or NULL. */
void shmemi_binding_read(struct shmemi_binding *binding, const char *reported);

/* What the launcher says in variables of the environment that it has bound this PE to; an empty set: nothing.
 * reported is what the bootstrap knows, or NULL. */
void shmemi_binding_reported(const char *reported, cpu_set_t *cpus);

/* ---- Sets as text ------------------------------------------------------------------------------------------------ */

/* A list such as "0-3,8", with or without PMIx's "hwloc:" before it; false, and an empty set, if the text is something
 * else or has a number that is too large. */
bool shmemi_cpus_from_list(const char *text, cpu_set_t *cpus);

/* Hexadecimal digits, with or without 0x before them, of a text of so many characters. */
bool shmemi_cpus_from_mask(const char *text, size_t length, cpu_set_t *cpus);

/* Write a set as such a list, cut with "..." where it is too long; "none" for an empty set. Returns text. */
const char *shmemi_cpus_list(const cpu_set_t *cpus, char *text, size_t size);

#endif
