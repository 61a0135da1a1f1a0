/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Settings from the environment. The table is settings.def; it feeds this struct, the parser, oshinfo and SHMEM_INFO.
 */
#ifndef SHMEMI_SETTINGS_H
#define SHMEMI_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef size_t shmemi_setting_size_t;
typedef size_t shmemi_setting_count_t;
typedef bool shmemi_setting_flag_t;
typedef bool shmemi_setting_present_t;
typedef int shmemi_setting_choice_t;
typedef const char *shmemi_setting_text_t;

struct shmemi_settings {
#define SETTING(field, name, kind, value, allowed, meaning) shmemi_setting_##kind##_t field;
#include "base/settings.def"
#undef SETTING
};

/* The words of SHMEM_GPU_ROUTE, in its order. */
enum shmemi_gpu_route {
    SHMEMI_ROUTE_AUTO,
    SHMEMI_ROUTE_IPC,
    SHMEMI_ROUTE_SHADOW,
    SHMEMI_ROUTE_GDR,
    SHMEMI_ROUTE_STAGED,
    SHMEMI_ROUTE_NAIVE,
};

/* How the PEs find each other; SHMEMI_BOOTSTRAP_AUTO and the words of the setting, in its order. */
enum shmemi_bootstrap_choice {
    SHMEMI_BOOTSTRAP_AUTO,
    SHMEMI_BOOTSTRAP_PMIX,
    SHMEMI_BOOTSTRAP_MPI,
    SHMEMI_BOOTSTRAP_PMI,
    SHMEMI_BOOTSTRAP_SINGLE,
};

/* The words of SHMEM_YIELD, in its order. */
enum shmemi_yield_choice {
    SHMEMI_YIELD_AUTO,
    SHMEMI_YIELD_NEVER,
    SHMEMI_YIELD_ALWAYS,
};

/* The words of SHMEM_STREAM_PUT, in its order. */
enum shmemi_stream_put_choice {
    SHMEMI_STREAM_PUT_AUTO,
    SHMEMI_STREAM_PUT_ENGINE,
    SHMEMI_STREAM_PUT_KERNEL,
};

extern struct shmemi_settings shmemi_settings;

/* What the bootstrap needs before the PE is known: every setting whose value is valid, the others at their default.
 * Reports nothing; shmemi_settings_read does that later, with the PE's number. */
void shmemi_settings_preview(void);

/* Read the environment. Returns -EINVAL after one line that names variable, value and what is allowed, or (when
 * SHMEM_STRICT is on) an unknown variable and the nearest known name. Idempotent. */
int shmemi_settings_read(void);

/* Print name, value, default and meaning of every setting, a line each. */
void shmemi_settings_print(FILE *stream);

/* Parse "3.1M" and the like [8]: 0, or -EINVAL. *size_p is set on success only. */
int shmemi_parse_size(const char *text, size_t *size_p);

#endif
