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

/* Is the watchdog on because the user has set it? Only then it looks at streams and kernels, for which these have to write
 * words; calls of the host are looked at in any case, which costs nothing. */
extern bool shmemi_watches_streams;

/* Read the settings before the number of this PE is known, for the bootstrap. A setting with an invalid value keeps its
 * default. Reports nothing; shmemi_settings_read does that later. */
void shmemi_settings_preview(void);

/* Read the environment. Returns -EINVAL and logs one line when a value is invalid (the line names the variable, its
 * value and what is allowed) or when a variable is unknown that SHMEM_STRICT does not let pass (the line names the
 * nearest known name). May be called again. */
int shmemi_settings_read(void);

/* The file that SHMEM_BOOTSTRAP=mpi:FILE names, or "": a set-uid program does not read it. */
const char *shmemi_settings_mpi_module(void);

/* Print a line for every setting: name, value, default, meaning and what is allowed. Those for users, with the others that
 * are set, or only those that tests and measurements need. */
void shmemi_settings_print(FILE *stream, bool internal);

/* What there is to tell about a setting. */
struct shmemi_setting_info {
    const char *name, *usual, *meaning; /* usual: the default, as a user would write it */
    const char *value;                  /* as the user wrote it, or the default */
    const char *set_by;                 /* the variable that gave the value; NULL: the default */
    const char *allowed;                /* "2 to 64", "0 or more", "auto|ipc"; "" for any text */
    bool tuning;                        /* only for tests and measurements */
    char text[128];                     /* memory for allowed */
};

/* The setting with the number i, in the order of settings.def, and the other names that are read for settings. False
 * behind the last one. */
bool shmemi_setting_at(int i, struct shmemi_setting_info *info);
bool shmemi_setting_alias_at(int i, const char **alias_p, const char **name_p);

/* Print the page doc/settings.md. */
void shmemi_settings_print_page(FILE *stream);

/* Parse "3.1M" and the like [8]: 0, or -EINVAL. *size_p is set on success only. */
int shmemi_parse_size(const char *text, size_t *size_p);

#endif
