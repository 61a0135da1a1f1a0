/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What UCX would write itself: its lines, which name addresses inside of UCX but no PE, become lines of this library's
 * log; and its backtraces, which it writes when the program crashes, are left out. A user who sets UCX_LOG_LEVEL or
 * UCX_HANDLE_ERRORS gets what UCX writes.
 */
#define _GNU_SOURCE
#include "transport/ucx/ucx_internal.h"

#include "base/log.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <ucs/config/global_opts.h>
#include <ucs/debug/debug.h>
#include <ucs/debug/log_def.h>

enum { LAUNCHER_SECONDS = 10 };

/* Does UCX handle this signal? If the program does, its handler must stay. */
static bool is_handled(int number)
{
    struct sigaction action;
    Dl_info handler, library;
    return !sigaction(number, NULL, &action) && action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN &&
           dladdr((void *)(uintptr_t)action.sa_handler, &handler) &&
           dladdr((void *)(uintptr_t)ucs_debug_disable_signal, &library) && handler.dli_fbase == library.dli_fbase;
}

void shmemi_ucx_leave_signals(void)
{
    static const int numbers[] = {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
    if (getenv("UCX_HANDLE_ERRORS") || getenv("UCX_ERROR_SIGNALS"))
        return;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (is_handled(numbers[i]))
            ucs_debug_disable_signal(numbers[i]);
    (void)ucs_global_opts_set_value("HANDLE_ERRORS", "none"); /* as newer versions of UCX have it by themselves */
}

/* An error of UCX is no error of the job before an operation fails, which is then reported with the PE concerned: a peer
 * that has ended normally leaves some, too. */
static enum shmemi_log_level level_of(ucs_log_level_t level)
{
    if (atomic_load(&shmemi_ucx.is_closing))
        return SHMEMI_LOG_DEBUG;
    return level == UCS_LOG_LEVEL_WARN ? SHMEMI_LOG_WARN : SHMEMI_LOG_INFO;
}

/* Called by UCX, in any thread. After a fatal message it aborts, which some of its errors do that follow from the death of
 * another PE: the launcher gets time to tell of that one first, as everywhere where a PE is missed. */
static ucs_log_func_rc_t on_message(const char *file, unsigned line, const char *function, ucs_log_level_t level,
                                    const ucs_log_component_config_t *component, const char *format, va_list arguments)
{
    (void)file, (void)line, (void)function, (void)component;
    char text[512];
    if (level == UCS_LOG_LEVEL_FATAL)
        sleep(LAUNCHER_SECONDS);
    if (level != UCS_LOG_LEVEL_ERROR && level != UCS_LOG_LEVEL_WARN)
        return UCS_LOG_FUNC_RC_CONTINUE;
    vsnprintf(text, sizeof text, format, arguments);
    text[strcspn(text, "\n")] = '\0';
    shmemi_log(level_of(level), "network (UCX): %s", text);
    return UCS_LOG_FUNC_RC_STOP;
}

static bool is_listening;

void shmemi_ucx_messages_open(void)
{
    if (getenv("UCX_LOG_LEVEL") || is_listening)
        return;
    ucs_log_push_handler(on_message);
    is_listening = true;
}

void shmemi_ucx_messages_close(void)
{
    if (is_listening)
        ucs_log_pop_handler();
    is_listening = false;
}
