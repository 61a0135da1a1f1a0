/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Settings from the environment: known names, wrong names and others, with values of any bytes. They are read without
 * an error, and then lie in their ranges, or refused; printing them works either way. Sizes are the same when they are
 * written as a number.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include "base/log.h"
#include "base/text/nearest.h"
#include "base/settings.h"

#include <errno.h>

enum { MOST_VARIABLES = 12, MOST_TEXT = 200 };

static const char *const names[] = {
#define SETTING(field, name, type, allowed, value, audience, meaning) name,
#include "base/settings.def"
#undef SETTING
    "SMA_SYMMETRIC_SIZE",
    "SHMEM_SYMMETRIC_HEAP_SIZE",
    "SMA_VERSION",
    "SMA_INFO",
    "SMA_DEBUG",
    "SHMEM_NO_SUCH",
    "SHMEM_",
    "SHMEMX_OTHER",
};
static const char *const words[] = {"0",          "1",
                                    "2",          "64",
                                    "k",          "m",
                                    "g",          "t",
                                    ".",          "e",
                                    "-",          "x",
                                    "nan",        "inf",
                                    "auto",       "ipc",
                                    "staged",     "pmix",
                                    "debug",      "|",
                                    "16t",        "4095",
                                    "1e400",      "0x1p3",
                                    "%p",         "%n",
                                    " ",          "99999999999999999999",
                                    "2147483648", "18446744073709551615"};
#define N_OF(_array) (sizeof(_array) / sizeof(_array)[0])

/* Bytes for a name or a value: words that mean something, or anything but zero and, in a name, =. */
static void make_text(struct fuzz_input *input, char *text, size_t room, bool is_name)
{
    size_t length = 0;
    for (size_t n = fuzz_below(input, 8); n; n--) {
        uint8_t what = fuzz_byte(input);
        const char *word = words[what % N_OF(words)];
        char letter[2] = {(char)(fuzz_byte(input) | 1), 0};
        if (what >= 160)
            word = letter;
        if (length + strlen(word) < room && !(is_name && strchr(word, '=')))
            length += strlen(strcpy(text + length, word));
    }
    text[length] = 0;
}

static void make_variable(struct fuzz_input *input)
{
    char name[MOST_TEXT], value[MOST_TEXT];
    size_t which = fuzz_below(input, N_OF(names) + 8);
    if (which < N_OF(names)) {
        strcpy(name, names[which]);
    } else {
        strcpy(name, "SHMEM_");
        make_text(input, name + 6, sizeof name - 6, true);
    }
    make_text(input, value, sizeof value, false);
    ALWAYS(!setenv(name, value, 1));
}

static void check_settings(void)
{
    const struct shmemi_settings *s = &shmemi_settings;
    ALWAYS(s->staging_slots >= 2 && s->staging_slots <= 64);
    ALWAYS(s->staging_chunk >= 4096 && s->staging_chunk <= (size_t)1 << 30);
    ALWAYS(s->map_window >= (size_t)64 << 20 && s->map_window <= (size_t)16 << 40);
    ALWAYS(s->symmetric_size < s->map_window && s->stats <= 2 && s->copy_threads <= 32);
    ALWAYS((unsigned)s->log <= SHMEMI_LOG_DEBUG && (unsigned)s->gpu_route <= SHMEMI_ROUTE_NAIVE);
    ALWAYS((unsigned)s->bootstrap <= SHMEMI_BOOTSTRAP_MPI_FILE);
}

static void print_settings(void)
{
    static char text[1 << 16];
    FILE *stream = fmemopen(text, sizeof text, "w");
    ALWAYS(stream);
    shmemi_settings_print(stream, false);
    shmemi_settings_print(stream, true);
    shmemi_settings_print_page(stream);
    fclose(stream);
}

static void check_size(struct fuzz_input *input)
{
    char text[MOST_TEXT], again[32];
    size_t size = 42, same = 0;
    make_text(input, text, sizeof text, false);
    int rc = shmemi_parse_size(text, &size);
    ALWAYS(rc == 0 || (rc == -EINVAL && size == 42));
    snprintf(again, sizeof again, "%zu", size);
    ALWAYS(!shmemi_parse_size(again, &same) && same == size);
    struct shmemi_nearest nearest = {.unknown = text};
    for (size_t i = 0; i < N_OF(names); i++)
        shmemi_nearest_offer(&nearest, names[i]);
    ALWAYS(nearest.name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    shmemi_log_level = SHMEMI_LOG_ERROR;
    shmemi_log_hold(true); /* one line is enough of what is refused */
    clearenv();
    check_size(&input);
    for (size_t n = fuzz_below(&input, MOST_VARIABLES); n; n--)
        make_variable(&input);
    shmemi_settings_preview();
    int rc = shmemi_settings_read();
    ALWAYS(rc == 0 || rc == -EINVAL);
    if (!rc)
        check_settings();
    print_settings();
    clearenv();
    return 0;
}
