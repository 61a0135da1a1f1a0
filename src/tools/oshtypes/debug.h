/* SPDX-License-Identifier: BSD-3-Clause
 *
 * oshtypes: the debug information of the files that are read, and an index of the types in it.
 */
#ifndef OSHTYPES_DEBUG_H
#define OSHTYPES_DEBUG_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>

enum osht_language { OSHT_C, OSHT_CXX, OSHT_FORTRAN };

/* A struct, class, union, derived type or typedef that has a name. */
struct osht_definition {
    const char *name; /* with namespaces, classes or module: "mesh::cell" */
    const char *last; /* the last part of it */
    Dwarf_Die die;
    bool is_typedef;
    bool is_scoped_by_module;
    bool is_private; /* to a class, or inside of what is */
    enum osht_language language;
    const char *unit;             /* source file */
    struct osht_definition *next; /* of the same name */
};

/* Read a file: ELF objects, libraries, executables, archives. Only units whose name matches the pattern, unless NULL.
 * Ends the program on failure. */
void osht_debug_open(const char *path, const char *unit_pattern);
void osht_debug_close(void);
/* Whether a unit was read. */
bool osht_debug_is_there(void);

/* All definitions of exactly this name; NULL when there is none. */
const struct osht_definition *osht_debug_named(const char *name);
/* The same for a name as users write it: "tree", "struct tree", without namespaces or module if that is clear. NULL
 * after a message that begins with where the name is written; where NULL: no message. */
const struct osht_definition *osht_debug_find(const char *name, const char *where);
/* The whole name of a struct, class, union or typedef, also of one that is only declared; NULL when it has none. */
const char *osht_debug_name(const Dwarf_Die *die);
enum osht_language osht_debug_language(const Dwarf_Die *die);

/* Bytes of all sections of this name, in turn; false after the last. */
bool osht_debug_section(const char *name, size_t i, const char **bytes_p, size_t *size_p);

#endif
