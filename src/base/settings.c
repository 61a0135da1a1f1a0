/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads the settings from the environment by the rows of settings.def, and checks them.
 */
#define _GNU_SOURCE
#include "base/settings.h"

#include "base/log.h"
#include "base/text/nearest.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALLOWED_BYTES = 128 };

struct shmemi_settings shmemi_settings;
bool shmemi_watches_streams;

struct setting;

struct type {
    int (*parse)(const struct setting *setting, const char *text, void *value_p);
    const char *noun; /* what a number counts, for messages */
};

struct setting {
    const char *name;
    const struct type *type;
    const char *value; /* default */
    enum { USER, INTERNAL } audience;
    const char *meaning;
    size_t offset;            /* of the field in struct shmemi_settings */
    const char *least, *most; /* limits of numbers; most may be NULL: no limit */
    const char *words;        /* choices of other settings, each after a |; NULL for numbers */
};

/* Other names that are accepted; the first one that is set counts. The SMA_ forms are deprecated [annex F]. */
static const struct {
    const char *alias, *name;
} aliases[] = {
    {"SMA_SYMMETRIC_SIZE", "SHMEM_SYMMETRIC_SIZE"},
    {"SHMEM_SYMMETRIC_HEAP_SIZE", "SHMEM_SYMMETRIC_SIZE"},
    {"SMA_VERSION", "SHMEM_VERSION"},
    {"SMA_INFO", "SHMEM_INFO"},
    {"SMA_DEBUG", "SHMEM_DEBUG"},
};

/* Names that are no longer read. */
static const struct {
    const char *name, *instead;
} replaced[] = {
    {"SHMEM_MPI_MODULE", "SHMEM_BOOTSTRAP=mpi:FILE"},
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

static int parse_whole(const char *text, size_t *value_p)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end || errno || value > INT_MAX)
        return -EINVAL;
    *value_p = value;
    return 0;
}

/* Parse text as a number that lies in the range of the setting. */
static int parse_number(const struct setting *setting, const char *text, int (*parse)(const char *, size_t *),
                        size_t *value_p)
{
    size_t value, least = 0, most = SIZE_MAX;
    parse(setting->least, &least);
    if (setting->most)
        parse(setting->most, &most);
    if (parse(text, &value) || value < least || value > most)
        return -EINVAL;
    *value_p = value;
    return 0;
}

static int parse_size(const struct setting *setting, const char *text, void *value_p)
{
    return parse_number(setting, text, shmemi_parse_size, value_p);
}

static int parse_count(const struct setting *setting, const char *text, void *value_p)
{
    return parse_number(setting, text, parse_whole, value_p);
}

/* A word such as "mpi:FILE" stands for all texts with its beginning. */
static bool is_word(const char *word, const char *text)
{
    const size_t length = strcspn(word, "|"), beginning = strcspn(word, ":|") + 1;
    if (beginning < length)
        return !strncmp(word, text, beginning) && text[beginning];
    return strlen(text) == length && !strncmp(word, text, length);
}

static int parse_choice(const struct setting *setting, const char *text, void *value_p)
{
    int position = 0;
    for (const char *word = setting->words; word; word = strchr(word + 1, '|'), position++) {
        if (!is_word(word + 1, text))
            continue;
        *(int *)value_p = position;
        return 0;
    }
    return -EINVAL;
}

/* The code that uses the setting checks the text. */
static int parse_text(const struct setting *setting, const char *text, void *value_p)
{
    (void)setting;
    *(const char **)value_p = text;
    return 0;
}

/* Any value that the user sets means true, even an empty one; only the default means false. */
static int parse_present(const struct setting *setting, const char *text, void *value_p)
{
    *(bool *)value_p = text != setting->value;
    return 0;
}

static const struct type type_size = {parse_size, "bytes with an optional suffix k, m, g or t, "};
static const struct type type_count = {parse_count, "a whole number, "};
static const struct type type_flag = {parse_choice, ""};
static const struct type type_choice = {parse_choice, ""};
static const struct type type_text = {parse_text, ""};
static const struct type type_file = {parse_text, ""};
static const struct type type_present = {parse_present, ""};

#define RANGE(_least, _most) .least = _least, .most = _most
#define AT_LEAST(_least) .least = _least
#define ONE_OF(_choices) .words = _choices(WORD)
#define WORD(_value, _word) "|" _word
#define ON_OFF .words = "|0|1"
#define ANYTHING .words = "|"

static const struct setting table[] = {
#define SETTING(field, name, type, allowed, value, audience, meaning)                                                  \
    {name, &type_##type, value, audience, meaning, offsetof(struct shmemi_settings, field), allowed},
#include "base/settings.def"
#undef SETTING
};

enum { N_SETTINGS = sizeof table / sizeof table[0], N_ALIASES = sizeof aliases / sizeof aliases[0] };

/* In a set-uid program the user must not choose a file that it writes, or loads, with its rights. */
static const char *variable_text(const struct setting *setting, const char *variable)
{
    return setting->type == &type_file ? secure_getenv(variable) : getenv(variable);
}

/* The value that the user has given to a setting, and the variable that holds it; NULL when there is none. */
static const char *user_text(const struct setting *setting, const char **variable_p)
{
    *variable_p = setting->name;
    const char *text = variable_text(setting, setting->name);
    for (int i = 0; !text && i < N_ALIASES; i++) {
        if (strcmp(aliases[i].name, setting->name))
            continue;
        *variable_p = aliases[i].alias;
        text = variable_text(setting, aliases[i].alias);
    }
    return text;
}

/* What a setting may be: "2 to 64", "0 or more", "auto|ipc", or "" for anything. */
static const char *allowed(const struct setting *setting, char *text)
{
    if (setting->words)
        return setting->words + 1;
    if (setting->most)
        snprintf(text, ALLOWED_BYTES, "%s to %s", setting->least, setting->most);
    else
        snprintf(text, ALLOWED_BYTES, "%s or more", setting->least);
    return text;
}

static void *value_of(const struct setting *setting)
{
    return (char *)&shmemi_settings + setting->offset;
}

static void set_default(const struct setting *setting)
{
    setting->type->parse(setting, setting->value, value_of(setting));
}

static int read_setting(const struct setting *setting)
{
    char range[ALLOWED_BYTES];
    const char *variable, *text = user_text(setting, &variable);
    set_default(setting);
    int rc = text ? setting->type->parse(setting, text, value_of(setting)) : 0;
    if (rc)
        shmemi_error("%s=%s is not valid; allowed: %s%s", variable, text, setting->type->noun, allowed(setting, range));
    return rc;
}

static struct shmemi_nearest nearest_to(const char *unknown)
{
    struct shmemi_nearest nearest = {.unknown = unknown};
    for (int i = 0; i < N_SETTINGS; i++)
        shmemi_nearest_offer(&nearest, table[i].name);
    for (int i = 0; i < N_ALIASES; i++)
        shmemi_nearest_offer(&nearest, aliases[i].alias);
    return nearest;
}

/* A variable may be meant for others, such as a benchmark suite that has settings of its own. One letter beside a known
 * name it is more likely mistyped, and the program would run with other settings than its author thinks. */
static int check_name(const char *name)
{
    const struct shmemi_nearest nearest = nearest_to(name);
    const bool is_typo = nearest.distance <= 1;
    if (!nearest.distance)
        return 0;
    if (shmemi_settings.strict == SHMEMI_STRICT_ALWAYS || (shmemi_settings.strict == SHMEMI_STRICT_TYPOS && is_typo)) {
        shmemi_error("unknown variable %s in the environment; did you mean %s? (with SHMEM_STRICT=0 it is only "
                     "reported)",
                     name, nearest.name);
        return -EINVAL;
    }
    if (is_typo)
        shmemi_warn("unknown variable %s in the environment; did you mean %s?", name, nearest.name);
    else
        shmemi_warn("variable %s in the environment is no setting of MapSHMEM and has no effect (oshinfo lists them)",
                    name);
    return 0;
}

static int report_replaced(const char *name)
{
    for (size_t i = 0; i < sizeof replaced / sizeof replaced[0]; i++) {
        if (strcmp(replaced[i].name, name))
            continue;
        const bool is_wrong = shmemi_settings.strict != SHMEMI_STRICT_NEVER;
        shmemi_log(is_wrong ? SHMEMI_LOG_ERROR : SHMEMI_LOG_WARN, "%s is no longer read; use %s", name,
                   replaced[i].instead);
        return is_wrong ? -EINVAL : 0;
    }
    return check_name(name);
}

static int check_unknown(void)
{
    extern char **environ;
    int rc = 0;
    for (char **entry = environ; entry && *entry; entry++) { /* NULL after clearenv */
        char name[128];
        size_t length = strcspn(*entry, "=");
        if (strncmp(*entry, "SHMEM_", 6) || length >= sizeof name)
            continue;
        memcpy(name, *entry, length);
        name[length] = '\0';
        if (report_replaced(name))
            rc = -EINVAL;
    }
    return rc;
}

/* The heap lies in the window, and mapped objects need some room, too. */
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
        const char *variable, *text = user_text(&table[i], &variable);
        set_default(&table[i]);
        if (text)
            table[i].type->parse(&table[i], text, value_of(&table[i]));
    }
    set_log_level();
}

int shmemi_settings_read(void)
{
    for (int i = 0; i < N_SETTINGS; i++) {
        int rc = read_setting(&table[i]);
        if (rc)
            return rc;
    }
    set_log_level();
    shmemi_watches_streams = shmemi_settings.watchdog && getenv("SHMEM_WATCHDOG");
    int rc = check_unknown();
    return rc ? rc : check_window();
}

const char *shmemi_settings_mpi_module(void)
{
    const char *text = secure_getenv("SHMEM_BOOTSTRAP");
    return text && shmemi_settings.bootstrap == SHMEMI_BOOTSTRAP_MPI_FILE ? text + strlen("mpi:") : "";
}

/* ---- telling ----------------------------------------------------------------------------------------------------- */

bool shmemi_setting_at(int i, struct shmemi_setting_info *info)
{
    if (i >= N_SETTINGS)
        return false;
    const char *variable, *text = user_text(&table[i], &variable);
    info->name = table[i].name;
    info->usual = table[i].value;
    info->meaning = table[i].meaning;
    info->value = text ? text : table[i].value;
    info->set_by = text ? variable : NULL;
    info->allowed = allowed(&table[i], info->text);
    info->tuning = table[i].audience == INTERNAL;
    return true;
}

bool shmemi_setting_alias_at(int i, const char **alias_p, const char **name_p)
{
    if (i >= N_ALIASES)
        return false;
    *alias_p = aliases[i].alias;
    *name_p = aliases[i].name;
    return true;
}
