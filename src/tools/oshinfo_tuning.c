/* SPDX-License-Identifier: BSD-3-Clause
 *
 * oshinfo --tuning: the settings that users have no reason to touch, and the constants by which the library chooses, from
 * the rows of settings.def and tuning.def.
 */
#include "tools/oshinfo.h"

#include "base/thread/patience.h"
#include "base/settings.h"
#include "base/tuning.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    long value;
    const char *unit, *meaning, *measured;
} constants[] = {
#define PATIENCE(name, spins, spins_per_yield, yields, short_naps, short_ns, long_ns, meaning)
#define TUNING(name, value, unit, meaning, measured) {#name, value, unit, meaning, measured},
#include "base/tuning.def"
#undef PATIENCE
#undef TUNING
};

static const struct {
    const char *name;
    long value[6];
    const char *meaning;
} waits[] = {
#define PATIENCE(name, spins, spins_per_yield, yields, short_naps, short_ns, long_ns, meaning)                         \
    {#name, {spins, spins_per_yield, yields, short_naps, short_ns, long_ns}, meaning},
#define TUNING(name, value, unit, meaning, measured)
#include "base/tuning.def"
#undef PATIENCE
#undef TUNING
};

static void print_constants(void)
{
    puts("constants, what they are, and the page of bench/log that has the measurement, if there was one:");
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++) {
        const char *page = constants[i].measured;
        printf("  %-32s %9ld %s %s%s%s%s\n", constants[i].name, constants[i].value, constants[i].unit,
               constants[i].meaning, *page ? " [" : "", page, *page ? "]" : "");
    }
}

static void print_naps(const long *value)
{
    if (value[4] == SHMEMI_LONGER_NAPS)
        printf(", then naps that grow");
    else if (value[4] != SHMEMI_NO_NAPS && value[3] == SHMEMI_FOR_EVER)
        printf(", then naps of %ld ns", value[4]);
    else if (value[4] != SHMEMI_NO_NAPS)
        printf(", then %ld naps of %ld ns, then of %ld ns", value[3], value[4], value[5]);
}

static void print_waits(void)
{
    puts("\nthreads that wait, and how:");
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
        const long *value = waits[i].value;
        printf("  %-36s %ld spins", waits[i].name, value[0]);
        if (value[1])
            printf(", a yield every %ld", value[1]);
        if (value[2] == SHMEMI_FOR_EVER)
            printf(", then yields");
        else
            printf(", %ld yields", value[2]);
        print_naps(value);
        printf(": %s\n", waits[i].meaning);
    }
}

/* Variables by which programs of the library talk to each other; no program of a user has to set them. */
static const struct {
    const char *name, *meaning;
} variables[] = {
    {"MAPSHMEM_LAUNCHER", "the launcher that oshrun uses: oshrun(1)"},
    {"MAPSHMEM_BOUND_TO", "set by oshrun under Hydra: what it has asked the PEs to be bound to"},
    {"MAPSHMEM_MACHINE", "hosts that have the same text here are one machine, whose devices their PEs share"},
    {"MAPSHMEM_TELL_END", "set by oshrun under Slurm: the PE that ends the job writes a line for it"},
};

static void print_settings(void)
{
    puts("settings for tests and measurements, which are chosen well without them:");
    shmemi_settings_print(stdout, true);
    puts("\nvariables of the commands:");
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        printf("  %-22s %s\n", variables[i].name, variables[i].meaning);
}

void oshinfo_tuning(void)
{
    print_settings();
    putchar('\n');
    print_constants();
    print_waits();
}
