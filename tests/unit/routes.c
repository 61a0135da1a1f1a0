/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of routes names only drivers, and gives memory that other processes can open a better route than staging.
 * Slow routes are logged once for each cause, and the first cause of a map is kept.
 */
#include "base/log.h"
#include "base/settings.h"
#include "transport/driver.h"
#include "transport/routes.h"
#include "unit.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static bool is_driver(const char *name)
{
    const struct shmemi_driver *const drivers[] = {&shmemi_driver_ipc, &shmemi_driver_shadow, &shmemi_driver_staged};
    for (size_t i = 0; i < sizeof drivers / sizeof drivers[0]; i++)
        if (!strcmp(drivers[i]->name, name))
            return true;
    return false;
}

static void check_table(void)
{
    for (int class = 0; class < SHMEMI_MEMORY_CLASSES; class ++) {
        bool is_slow = shmemi_memory_class_remedy((enum shmemi_memory_class) class)[0] || class == SHMEMI_CLASS_OPENCL;
        CHECK(shmemi_memory_class_name((enum shmemi_memory_class) class)[0]);
        for (int relation = 0; relation < SHMEMI_RELATIONS; relation++) {
            const char *route = shmemi_route_of((enum shmemi_memory_class) class, (enum shmemi_relation)relation);
            CHECK(is_driver(route) && shmemi_relation_name((enum shmemi_relation)relation)[0]);
            if (relation != SHMEMI_OTHER_NODE)
                CHECK(!strcmp(route, "staged") == is_slow);
        }
    }
}

static FILE *lines;

static void capture(void)
{
    lines = tmpfile();
    CHECK(lines && dup2(fileno(lines), STDERR_FILENO) >= 0);
}

static int count_lines(void)
{
    int n = 0;
    rewind(lines);
    for (int c; (c = getc(lines)) != EOF;)
        n += c == '\n';
    return n;
}

static void check_notes(void)
{
    shmemi_log_level = SHMEMI_LOG_WARN;
    shmemi_slow_route_begin();
    CHECK(!shmemi_slow_route_cause()[0]);
    shmemi_slow_route_note(3, "first");
    shmemi_slow_route_note(4, "second");
    shmemi_slow_route_note(5, "first");
    CHECK(!strcmp(shmemi_slow_route_cause(), "first") && count_lines() == 2);
    shmemi_slow_route_begin();
    CHECK(!shmemi_slow_route_cause()[0]);
    shmemi_slow_route_note(5, "second");
    CHECK(!strcmp(shmemi_slow_route_cause(), "second") && count_lines() == 2);
    shmemi_settings.gpu_route = SHMEMI_ROUTE_STAGED;
    shmemi_slow_route_note(5, "third, but the user wants it so");
    shmemi_settings.gpu_route = SHMEMI_ROUTE_AUTO;
    shmemi_settings.gpu_strict = true;
    shmemi_slow_route_note(5, "fourth, an error");
    CHECK(count_lines() == 2);
    shmemi_settings.gpu_strict = false;
    for (int i = 0; i < 100; i++) {
        char cause[16];
        snprintf(cause, sizeof cause, "many %d", i);
        shmemi_slow_route_note(0, cause);
    }
    CHECK(count_lines() > 2 && count_lines() < 100);
}

int main(void)
{
    check_table();
    capture();
    check_notes();
    return 0;
}
