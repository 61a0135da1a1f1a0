/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of routes names only drivers, and gives memory that other processes can open a better route than staging.
 * Slow routes are logged once for each cause, and the first cause of a map is kept.
 */
#include "base/log.h"
#include "base/settings.h"
#include "transport/drivers/table.h"
#include "transport/routes.h"
#include "unit.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static bool is_driver(const char *name)
{
    unsigned i = 0;
    while (shmemi_driver_name(i) && strcmp(shmemi_driver_name(i), name))
        i++;
    return shmemi_driver_name(i);
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

/* Which of ipc, shadow and staged a word leaves open, in the node and then to other nodes. */
static void check_allowed(enum shmemi_gpu_route forced, const char *in_node, const char *beyond)
{
    static const enum shmemi_gpu_route routes[] = {SHMEMI_ROUTE_IPC, SHMEMI_ROUTE_SHADOW, SHMEMI_ROUTE_STAGED};
    shmemi_settings.gpu_route = (int)forced;
    for (int i = 0; i < 3; i++) {
        CHECK(shmemi_route_is_allowed(routes[i], true) == (in_node[i] == 'y'));
        CHECK(shmemi_route_is_allowed(routes[i], false) == (beyond[i] == 'y'));
    }
    shmemi_settings.gpu_route = SHMEMI_ROUTE_AUTO;
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
    check_allowed(SHMEMI_ROUTE_AUTO, "yyy", "yyy");
    check_allowed(SHMEMI_ROUTE_IPC, "ynn", "ynn");
    check_allowed(SHMEMI_ROUTE_SHADOW, "nyn", "nyn");
    check_allowed(SHMEMI_ROUTE_GDR, "yyy", "nnn");
    check_allowed(SHMEMI_ROUTE_STAGED, "nny", "nny");
    capture();
    check_notes();
    return 0;
}
