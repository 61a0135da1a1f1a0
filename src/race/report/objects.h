/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names for what reports are about: objects of symmetric memory, and places in the program.
 */
#ifndef RACE_OBJECTS_H
#define RACE_OBJECTS_H

#include "race/area.h"

/* Blocks of the heap and mapped buffers of this PE, which are the same on the others. */
void race_object_add(const void *address, size_t size, const char *kind, uintptr_t pc);
/* The object that begins at the address is mapped memory of this handle, a cl_mem. */
void race_object_set_handle(const void *address, const void *handle);
/* The symmetric address of size bytes from an offset of that memory on; 0: they are not mapped. */
uintptr_t race_object_of_handle(const void *handle, size_t offset, size_t size);
/* Forget it, and what is known of its memory; 0 when none begins there. Returns its size. */
size_t race_object_remove(const void *address);

/* Forget all. */
void race_objects_forget(void);

/* Text for a byte: the object, the offset in it and its size, the PE. */
void race_describe_object(char *text, size_t size, uint64_t word, unsigned first);

/* source_lines.c: "function file:line" of a place in a PE's program, or what is known of it. */
void race_describe_place(char *text, size_t size, int pe, uintptr_t pc);
/* The variable at an address of this process, and the offset in it; false: none is known. */
bool race_variable(char *text, size_t size, uintptr_t address);

#endif
