/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of routes as text, when a direct route is not used, and a list of the causes of slow routes that were reported already.
 */
#include "transport/routes.h"

#include "base/log.h"
#include "base/settings.h"

#include <stdio.h>
#include <string.h>

enum { CAUSE_BYTES = 224, CAUSES_MAX = 16 };

static const char *const relation_names[SHMEMI_RELATIONS] = {
    [SHMEMI_SAME_GPU] = "same GPU",       [SHMEMI_SAME_GPU_BESIDE] = "same GPU, MPS",
    [SHMEMI_PEER_ACCESS] = "peer access", [SHMEMI_NO_PEER_ACCESS] = "no peer access",
    [SHMEMI_OTHER_NODE] = "other node",
};

static const char *const routes[SHMEMI_MEMORY_CLASSES][SHMEMI_RELATIONS] = {
#define ROUTES(class, ...) [SHMEMI_CLASS_##class] = {__VA_ARGS__},
#include "transport/routes.def"
#undef ROUTES
};

const char *shmemi_relation_name(enum shmemi_relation relation)
{
    return relation_names[relation];
}

const char *shmemi_route_of(enum shmemi_memory_class class, enum shmemi_relation relation)
{
    return routes[class][relation];
}

bool shmemi_route_is_allowed(enum shmemi_gpu_route route, bool in_node)
{
    const int forced = shmemi_settings.gpu_route;
    return forced == SHMEMI_ROUTE_AUTO || forced == (int)route || (forced == SHMEMI_ROUTE_GDR && in_node);
}

/* Written by the collective calls only, one thread at a time. */
static char first_cause[CAUSE_BYTES];
static char told[CAUSES_MAX][CAUSE_BYTES];
static int n_told;

void shmemi_slow_route_begin(void)
{
    first_cause[0] = '\0';
}

const char *shmemi_slow_route_cause(void)
{
    return first_cause;
}

static bool is_told(const char *cause)
{
    for (int i = 0; i < n_told; i++)
        if (!strncmp(told[i], cause, CAUSE_BYTES - 1))
            return true;
    return n_told == CAUSES_MAX;
}

void shmemi_slow_route_note(int pe, const char *cause)
{
    if (!first_cause[0])
        snprintf(first_cause, sizeof first_cause, "%s", cause);
    if (shmemi_settings.gpu_strict || shmemi_settings.gpu_route != SHMEMI_ROUTE_AUTO || is_told(cause))
        return;
    snprintf(told[n_told++], CAUSE_BYTES, "%s", cause);
    shmemi_warn("mapped memory of PE %d is slower to reach than need be: %s (SHMEM_GPU_STRICT=1 makes this an error)",
                pe, cause);
}
