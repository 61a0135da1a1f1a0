/* SPDX-License-Identifier: BSD-3-Clause
 *
 * oshtypes: messages, and memory that lives as long as the program.
 */
#ifndef OSHTYPES_UTIL_H
#define OSHTYPES_UTIL_H

#include "base/text/nearest.h"

#include <stddef.h>
#include <stdint.h>

/* Memory filled with zeros. Ends the program when there is none. */
void *osht_alloc(size_t size);
char *osht_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Make room for one more element after the first n of an array. Only this function may have grown the array. */
void *osht_room(void *array, size_t n, size_t element_size);
#define OSHT_APPEND(array, n) (*((array) = osht_room((array), (n), sizeof *(array)), &(array)[(n)++]))

/* Print a line on stderr. After an error the C file is not written. */
void osht_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void osht_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void osht_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
int osht_errors(void);

/* "; did you mean ...?", or "" when no name is similar. */
const char *osht_did_you_mean(const struct shmemi_nearest *nearest);
uint64_t osht_hash(const char *text);

#endif
