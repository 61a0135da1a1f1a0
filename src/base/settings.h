/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Settings from the environment. The rows of settings.def make this struct, the parser with its checks, the list that
 * oshinfo and SHMEM_INFO print, and doc/settings.md.
 */
#ifndef SHMEMI_SETTINGS_H
#define SHMEMI_SETTINGS_H

#include "base/choices.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef size_t shmemi_setting_size_t;
typedef size_t shmemi_setting_count_t;
typedef int shmemi_setting_flag_t;
typedef bool shmemi_setting_present_t;
typedef int shmemi_setting_choice_t;
typedef const char *shmemi_setting_text_t;
typedef const char *shmemi_setting_file_t;

struct shmemi_settings {
#define SETTING(field, name, type, allowed, value, audience, meaning) shmemi_setting_##type##_t field;
#include "base/settings.def"
#undef SETTING
};

extern struct shmemi_settings shmemi_settings;

/* Read the settings before the number of this PE is known, for the bootstrap. A setting with an invalid value keeps its
 * default. Reports nothing; shmemi_settings_read does that later. */
void shmemi_settings_preview(void);

/* Read the environment. Returns -EINVAL and logs one line when a value is invalid (the line names the variable, its
 * value and what is allowed) or when a variable is unknown that SHMEM_STRICT does not let pass (the line names the
 * nearest known name). May be called again. */
int shmemi_settings_read(void);

/* Print a line for every setting: name, value, default, meaning and what is allowed. */
void shmemi_settings_print(FILE *stream);

/* Print the page doc/settings.md. */
void shmemi_settings_print_page(FILE *stream);

/* Parse "3.1M" and the like [8]: 0, or -EINVAL. *size_p is set on success only. */
int shmemi_parse_size(const char *text, size_t *size_p);

#endif
