/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The entries of the predefined types, derived from their C types.
 */
#include "deep/types/type_table.h"

#include <sys/types.h>
#include <wchar.h>

#define IS_INTEGER_CHARACTER 1
#define IS_INTEGER_INTEGER 1
#define IS_INTEGER_OTHER 0
#define IS_CHARACTER_CHARACTER true
#define IS_CHARACTER_INTEGER false
#define IS_CHARACTER_OTHER false
#define ALIGNMENT(_ctype) (sizeof(_ctype) > 16 ? 16 : sizeof(_ctype)) /* all sizes are powers of two */
#define IS_SIGNED(_ctype)                                                                                              \
    _Generic((_ctype *)0,                                                                        \
    char *: (char)-1 < 0, signed char *: true, short *: true, int *: true, long *: true, long long *: true,            \
    default: false)

static struct shmemi_type_entry predefined[] = {
#define PREDEFINED(_name, _ctype, _what)                                                                               \
    {.type = {.name = _name, .size = sizeof(_ctype), .alignment = ALIGNMENT(_ctype)},                                  \
     .integer = {.size = IS_INTEGER_##_what * sizeof(_ctype), .is_signed = IS_SIGNED(_ctype)},                         \
     .is_character = IS_CHARACTER_##_what,                                                                             \
     .is_predefined = true,                                                                                            \
     .created = 1},
#include "deep/types/predefined_types.def"
#undef PREDEFINED
};

struct shmemi_type_entry *shmemi_predefined_types(size_t *n_p)
{
    *n_p = sizeof predefined / sizeof predefined[0];
    return predefined;
}
