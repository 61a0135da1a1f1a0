/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/settings.h"

#include "base/log.h"
#include "base/nearest.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct shmemi_settings shmemi_settings;

typedef int (*parse_func_t)(const char *text, const char *allowed, void *value_p);

struct setting {
    const char *name;
    const char *kind;
    const char *value;   /* default */
    const char *allowed; /* words of a choice, separated by | */
    const char *meaning;
    parse_func_t parse;
    size_t offset; /* of the field in struct shmemi_settings */
};

/* Other spellings that are accepted; the first name that is set wins. The SMA_ forms are deprecated [annex F]. */
static const struct {
    const char *alias, *name;
} aliases[] = {
    {"SMA_SYMMETRIC_SIZE", "SHMEM_SYMMETRIC_SIZE"},
    {"SHMEM_SYMMETRIC_HEAP_SIZE", "SHMEM_SYMMETRIC_SIZE"},
    {"SMA_VERSION", "SHMEM_VERSION"},
    {"SMA_INFO", "SHMEM_INFO"},
    {"SMA_DEBUG", "SHMEM_DEBUG"},
};

int shmemi_parse_size(const char *text, size_t *size_p)
{
    static const char suffixes[] = "kmgt";
    if (!isdigit((unsigned char)text[0]) && text[0] != '.')
        return -EINVAL;
    char *end;
    long double number = strtold(text, &end);
    if (end == text || !isfinite(number) || strpbrk(text, "xX"))
        return -EINVAL;
    long double factor = 1;
    if (*end) {
        const char *suffix = strchr(suffixes, tolower((unsigned char)*end));
        if (!suffix)
            return -EINVAL; /* what follows the suffix is ignored [8] */
        factor = ldexpl(1, 10 * (int)(suffix - suffixes + 1));
    }
    long double size = ceill(number * factor);
    if (size > (long double)(SIZE_MAX / 2))
        return -EINVAL;
    *size_p = (size_t)size;
    return 0;
}

static int parse_size(const char *text, const char *allowed, void *value_p)
{
    (void)allowed;
    return shmemi_parse_size(text, value_p);
}

static int parse_count(const char *text, const char *allowed, void *value_p)
{
    (void)allowed;
    char *end;
    errno = 0;
    unsigned long count = strtoul(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end || errno || count > INT_MAX)
        return -EINVAL;
    *(size_t *)value_p = count;
    return 0;
}

static int parse_flag(const char *text, const char *allowed, void *value_p)
{
    (void)allowed;
    if (strcmp(text, "0") && strcmp(text, "1"))
        return -EINVAL;
    *(bool *)value_p = text[0] == '1';
    return 0;
}

static int parse_choice(const char *text, const char *allowed, void *value_p)
{
    size_t length = strcspn(text, "|");
    int position = 0;
    if (text[length])
        return -EINVAL;
    for (const char *word = allowed; word; position++) {
        if (!strncmp(word, text, length) && (word[length] == '|' || word[length] == '\0') && length) {
            *(int *)value_p = position;
            return 0;
        }
        word = strchr(word, '|');
        if (word)
            word++;
    }
    return -EINVAL;
}

/* What is allowed is for the reader of the setting to say. */
static int parse_text(const char *text, const char *allowed, void *value_p)
{
    (void)allowed;
    *(const char **)value_p = text;
    return 0;
}

/* The default of these is "not set", which parses as false. */
static int parse_present(const char *text, const char *allowed, void *value_p)
{
    (void)text;
    (void)allowed;
    *(bool *)value_p = true;
    return 0;
}

static const struct setting table[] = {
#define SETTING(field, name, kind, value, allowed, meaning)                                                            \
    {name, #kind, value, allowed, meaning, parse_##kind, offsetof(struct shmemi_settings, field)},
#include "base/settings.def"
#undef SETTING
};

enum { N_SETTINGS = sizeof table / sizeof table[0], N_ALIASES = sizeof aliases / sizeof aliases[0] };

static bool is_present_kind(const struct setting *setting)
{
    return !strcmp(setting->kind, "present");
}

/* The user's text for a setting and the variable that it came from, or NULL. */
static const char *user_text(const struct setting *setting, const char **variable_p)
{
    *variable_p = setting->name;
    const char *text = getenv(setting->name);
    for (int i = 0; !text && i < N_ALIASES; i++) {
        if (strcmp(aliases[i].name, setting->name))
            continue;
        *variable_p = aliases[i].alias;
        text = getenv(aliases[i].alias);
    }
    return text;
}

static const char *allowed_text(const struct setting *setting)
{
    if (setting->allowed[0])
        return setting->allowed;
    return strcmp(setting->kind, "size") ? "a whole number" : "a number with an optional suffix k, m, g or t";
}

static void *value_of(const struct setting *setting)
{
    return (char *)&shmemi_settings + setting->offset;
}

static void set_default(const struct setting *setting)
{
    if (is_present_kind(setting))
        *(bool *)value_of(setting) = false;
    else
        setting->parse(setting->value, setting->allowed, value_of(setting));
}

static int read_setting(const struct setting *setting)
{
    const char *variable;
    const char *text = user_text(setting, &variable);
    if (!text) {
        set_default(setting);
        return 0;
    }
    int rc = setting->parse(text, setting->allowed, value_of(setting));
    if (rc)
        shmemi_error("%s=%s is not valid; allowed: %s", variable, text, allowed_text(setting));
    return rc;
}

static const char *nearest_name(const char *unknown)
{
    struct shmemi_nearest nearest = {.unknown = unknown};
    for (int i = 0; i < N_SETTINGS; i++)
        shmemi_nearest_offer(&nearest, table[i].name);
    return nearest.name;
}

static bool is_known(const char *name)
{
    for (int i = 0; i < N_SETTINGS; i++)
        if (!strcmp(table[i].name, name))
            return true;
    for (int i = 0; i < N_ALIASES; i++)
        if (!strcmp(aliases[i].alias, name))
            return true;
    return false;
}

static int check_unknown(void)
{
    extern char **environ;
    int rc = 0;
    for (char **entry = environ; *entry; entry++) {
        char name[128];
        size_t length = strcspn(*entry, "=");
        if (strncmp(*entry, "SHMEM_", 6) || length >= sizeof name)
            continue;
        memcpy(name, *entry, length);
        name[length] = '\0';
        if (is_known(name))
            continue;
        shmemi_log_write(SHMEMI_LOG_ERROR, "unknown variable %s in the environment; did you mean %s?%s", name,
                         nearest_name(name), shmemi_settings.strict ? " (SHMEM_STRICT=0 carries on)" : "");
        rc = shmemi_settings.strict ? -EINVAL : rc;
    }
    return rc;
}

static int check_range(const char *name, size_t value, size_t least, size_t most)
{
    if (value >= least && value <= most)
        return 0;
    const char *text = getenv(name); /* a default is never out of range */
    shmemi_error("%s=%s is out of range; allowed: %zu to %zu", name, text ? text : "", least, most);
    return -EINVAL;
}

/* The heap lies in the window, and mapped objects need some room too. */
static int check_window(void)
{
    const size_t room = (size_t)64 << 20;
    if (shmemi_settings.symmetric_size <= shmemi_settings.map_window - room)
        return 0;
    shmemi_error(
        "SHMEM_SYMMETRIC_SIZE (%zu MiB) leaves no room for mapped objects in SHMEM_MAP_WINDOW (%zu MiB); set the "
        "latter to %zum or more",
        shmemi_settings.symmetric_size >> 20, shmemi_settings.map_window >> 20,
        (shmemi_settings.symmetric_size + 2 * room) >> 20);
    return -EINVAL;
}

static void set_log_level(void)
{
    shmemi_log_level = shmemi_settings.debug ? SHMEMI_LOG_DEBUG : (enum shmemi_log_level)shmemi_settings.log;
}

void shmemi_settings_preview(void)
{
    for (int i = 0; i < N_SETTINGS; i++) {
        const char *variable;
        const char *text = user_text(&table[i], &variable);
        set_default(&table[i]);
        if (text)
            table[i].parse(text, table[i].allowed, value_of(&table[i]));
    }
    set_log_level();
}

int shmemi_settings_read(void)
{
    int rc;
    for (int i = 0; i < N_SETTINGS; i++) {
        rc = read_setting(&table[i]);
        if (rc)
            return rc;
    }
    set_log_level();
    rc = check_unknown();
    if (!rc)
        rc = check_range("SHMEM_STAGING_SLOTS", shmemi_settings.staging_slots, 2, 64);
    if (!rc)
        rc = check_range("SHMEM_STAGING_CHUNK", shmemi_settings.staging_chunk, 4096, (size_t)1 << 30);
    if (!rc)
        rc = check_range("SHMEM_COPY_THREADS", shmemi_settings.copy_threads, 0, 32);
    if (!rc)
        rc = check_range("SHMEM_COPY_CHUNK", shmemi_settings.copy_chunk, 0, (size_t)64 << 20);
    if (!rc)
        rc = check_range("SHMEM_GPU_BATCH", shmemi_settings.gpu_batch, 0, 4096);
    if (!rc)
        rc = check_range("SHMEM_GPU_BATCH_SIZE", shmemi_settings.gpu_batch_size, 1, (size_t)32 << 10);
    if (!rc)
        rc = check_range("SHMEM_MAP_WINDOW", shmemi_settings.map_window, (size_t)64 << 20, (size_t)16 << 40);
    return rc ? rc : check_window();
}

void shmemi_settings_print(FILE *stream)
{
    for (int i = 0; i < N_SETTINGS; i++) {
        const char *variable;
        const char *text = user_text(&table[i], &variable);
        const char *fallback = is_present_kind(&table[i]) ? "(not set)" : table[i].value;
        fprintf(stream, "  %-22s %-10s default %-10s %s%s%s%s\n", table[i].name, text ? text : fallback, fallback,
                table[i].meaning, table[i].allowed[0] ? " [" : "", table[i].allowed, table[i].allowed[0] ? "]" : "");
    }
}
