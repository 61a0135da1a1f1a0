/* SPDX-License-Identifier: BSD-3-Clause
 *
 * oshtypes: the debug information of the input files, and an index of the types in it.
 */
#ifndef OSHTYPES_DEBUG_H
#define OSHTYPES_DEBUG_H

#include "tools/oshtypes/util.h"

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>

#define uthash_malloc(size) osht_alloc(size)
#define uthash_free(memory, size) ((void)(memory))
#include <uthash.h>

struct osht_type;

enum osht_language { OSHT_C, OSHT_CXX, OSHT_FORTRAN };

/* A struct, class, union, derived type or typedef that has a name. */
struct osht_definition {
    const char *name; /* with namespaces, classes or module: "mesh::cell" */
    const char *last; /* the last part of name */
    Dwarf_Die die;
    bool is_typedef;
    bool is_scoped_by_module;
    bool is_private; /* private in a class, or inside of something private */
    enum osht_language language;
    const char *unit;             /* source file */
    struct osht_definition *next; /* with the same name */
};

/* Read a file: an ELF object, library or executable, or an archive. With a pattern, only units whose names match it.
 * Ends the program on failure. */
void osht_debug_open(const char *path, const char *unit_pattern);
void osht_debug_close(void);
/* Whether a unit was read. */
bool osht_debug_is_there(void);

/* All definitions of exactly this name; NULL when there is none. */
const struct osht_definition *osht_debug_named(const char *name);
/* All definitions of a name as users write it: "tree", "struct tree", without namespaces or module if it is unique. When
 * there is none, prints a message that begins with where (if where is not NULL) and returns NULL. */
const struct osht_definition *osht_debug_find(const char *name, const char *where);
/* What is noted about an entry (die) of the debug information. */
struct osht_entry {
    const void *address;
    const char *name; /* of a struct, class, union or typedef, even if it is only declared; NULL when it has none */
    struct osht_type *type; /* that has been made of it; NULL: none yet (model.c) */
    UT_hash_handle hh;
};
struct osht_entry *osht_debug_entry(const Dwarf_Die *die);
enum osht_language osht_debug_language(const Dwarf_Die *die);

/* The bytes of the i-th section of this name; false when there are not so many. */
bool osht_debug_section(const char *name, size_t i, const char **bytes_p, size_t *size_p);

#endif
