/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A library to preload into a PE: it lets something happen to one PE at a chosen step of its life, so that tests find
 * out how a job ends. The program under test needs no hook: steps are calls that it makes, which this library sees on
 * their way: to OpenSHMEM, and those of the library (its Python package, or the program) itself to libc, PMIx and UCX; what these call in turn
 * is no step.
 *
 *     oshrun -n 4 env LD_PRELOAD=libfault.so FAULT='2 after:PMIx_Init KILL' PROGRAM
 *
 * FAULT is "PE STEP ACTION [MILLISECONDS]". PE: a number, or "all".
 * STEP    start            the process has begun: before main, and so before shmem_init
 *         before:CALL#N    the N-th call of that name (#N may be left out: the first), before it is made
 *         after:CALL#N     the same, after it has returned
 *         list             no step: each step is written to stderr as "fault: PE STEP"
 * ACTION  KILL, TERM, SEGV, ABRT, STOP  the signal
 *         exit=STATUS      _exit(STATUS)
 *         leave=STATUS     exit(STATUS), with what is registered to run at the end
 *         sleep=MILLISECONDS            the PE is late
 * FAULT_MARK names a file that is made just before the action.
 * MILLISECONDS, if given: the action comes so long after the step, from another thread, while the PE goes on.
 * CALLs are the names at the end of this file. UCX puts itself between a program and mmap, munmap: these are steps with
 * UCX_MEM_MMAP_HOOK_MODE=none only. A test program behind libtool's wrapper is a shell script: give its .libs/PROGRAM.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Calls go through with up to eight integers or pointers as arguments, and a result of that kind. Where a caller gives fewer,
 * the rest is whatever lies there, which the real function does not look at. */
typedef long word;
typedef word call_function(word, word, word, word, word, word, word, word);

struct call {
    const char *name;
    atomic_uint count;
    _Atomic(call_function *) real;
};

static struct {
    bool is_mine; /* this PE is the one */
    bool list;
    const char *pe;
    char step[80];
    char action[32];
    long delay;
} fault;

/* ---- The action -------------------------------------------------------------------------------------------------- */

static void nap(long milliseconds)
{
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&time, &time))
        continue;
}

static int signal_number(const char *name)
{
    for (int i = 1; i < NSIG; i++)
        if (sigabbrev_np(i) && !strcmp(sigabbrev_np(i), name))
            return i;
    return 0;
}

/* Tests see in its time when it happened, or that the step was never reached. */
static void leave_mark(void)
{
    const char *path = getenv("FAULT_MARK");
    FILE *mark = path ? fopen(path, "w") : NULL;
    if (mark)
        fclose(mark);
}

/* OpenCL for CPUs catches some signals and goes on. */
static void be_killed(int number)
{
    kill(getpid(), number);
    nap(20);
    signal(number, SIG_DFL);
    kill(getpid(), number);
}

static void act(void)
{
    leave_mark();
    long number = strchr(fault.action, '=') ? atol(strchr(fault.action, '=') + 1) : 0;
    if (!strncmp(fault.action, "exit=", 5))
        _exit((int)number);
    if (!strncmp(fault.action, "leave=", 6))
        exit((int)number);
    if (!strncmp(fault.action, "sleep=", 6))
        nap(number);
    else if (!strcmp(fault.action, "STOP"))
        kill(getpid(), SIGSTOP);
    else
        be_killed(signal_number(fault.action));
}

static void *act_later(void *unused)
{
    (void)unused;
    nap(fault.delay);
    act();
    return NULL;
}

/* One write for each line: lines of several PEs do not mix. */
static void write_step(const char *step)
{
    char line[120];
    int length = snprintf(line, sizeof line, "fault: %s %s\n", fault.pe, step);
    ssize_t ignored = write(STDERR_FILENO, line, (size_t)length);
    (void)ignored;
}

static void at(const char *step)
{
    pthread_t thread;
    if (fault.list)
        write_step(step);
    if (strcmp(step, fault.step))
        return;
    if (!fault.delay)
        act();
    else if (!pthread_create(&thread, NULL, act_later, NULL))
        pthread_detach(thread);
}

/* ---- Steps ------------------------------------------------------------------------------------------------------- */

/* Calls that PMIx, UCX and others make themselves are no steps. The caller is an address in the code that calls. */
static bool is_of_library(const void *caller)
{
    Dl_info object;
    if (!dladdr(caller, &object) || !object.dli_fname)
        return false;
    return strstr(object.dli_fname, "mapshmem") || !strcmp(object.dli_fname, program_invocation_name);
}

/* What an interpreter has loaded is not behind this library: it is found where the caller finds it. */
static call_function *find_for(const void *caller, const char *name)
{
    Dl_info object;
    void *handle = dladdr(caller, &object) ? dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    return handle ? (call_function *)dlsym(handle, name) : NULL;
}

static call_function *real(struct call *call, const void *caller)
{
    call_function *function = atomic_load(&call->real);
    if (function)
        return function;
    function = (call_function *)dlsym(RTLD_NEXT, call->name);
    if (!function)
        function = find_for(caller, call->name);
    if (!function)
        abort();
    atomic_store(&call->real, function);
    return function;
}

static void pass(const char *when, const struct call *call, unsigned n)
{
    char step[80];
    snprintf(step, sizeof step, "%s:%s#%u", when, call->name, n);
    at(step);
}

static word make_call(struct call *call, const void *caller, word a, word b, word c, word d, word e, word f, word g,
                      word h)
{
    if (!fault.is_mine || !is_of_library(caller))
        return real(call, caller)(a, b, c, d, e, f, g, h);
    unsigned n = 1 + atomic_fetch_add(&call->count, 1);
    pass("before", call, n);
    word result = real(call, caller)(a, b, c, d, e, f, g, h);
    pass("after", call, n);
    return result;
}

/* ---- The setting ------------------------------------------------------------------------------------------------- */

static const char *this_pe(void)
{
    static const char *const names[] = {"PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (getenv(names[i]))
            return getenv(names[i]);
    return "0";
}

__attribute__((constructor)) static void begin(void)
{
    char pe[16] = "", step[72] = "";
    const char *text = getenv("FAULT");
    if (!text || sscanf(text, "%15s %71s %31s %ld", pe, step, fault.action, &fault.delay) < 2)
        return;
    fault.pe = this_pe();
    fault.is_mine = !strcmp(pe, "all") || !strcmp(pe, fault.pe);
    fault.list = !strcmp(step, "list");
    snprintf(fault.step, sizeof fault.step, "%s%s", step, strchr(step, ':') && !strchr(step, '#') ? "#1" : "");
    if (fault.is_mine)
        at("start");
}

/* ---- The calls --------------------------------------------------------------------------------------------------- */

#define CALL(name_)                                                                                                    \
    __attribute__((visibility("default"))) word name_(word a, word b, word c, word d, word e, word f, word g, word h); \
    word name_(word a, word b, word c, word d, word e, word f, word g, word h)                                         \
    {                                                                                                                  \
        static struct call call = {.name = #name_};                                                                    \
        return make_call(&call, __builtin_return_address(0), a, b, c, d, e, f, g, h);                                  \
    }

CALL(shmem_init)
CALL(shmem_init_thread)
CALL(shmem_finalize)
CALL(shmem_malloc)
CALL(shmem_barrier_all)
CALL(shmem_sync_all)
CALL(shmem_putmem)
CALL(shmem_getmem)
CALL(shmem_quiet)
CALL(shmem_broadcastmem)
CALL(shmem_fcollectmem)
CALL(shmem_long_sum_reduce)
CALL(shmem_team_split_strided)
CALL(shmmap)
CALL(shmumap)

CALL(socket)
CALL(bind)
CALL(memfd_create)
CALL(poll)
CALL(sendmsg)
CALL(recvmsg)
CALL(mmap)
CALL(mmap64)
CALL(munmap)
CALL(sem_timedwait)

CALL(PMIx_Init)
CALL(PMIx_Register_event_handler)
CALL(PMIx_Resolve_nodes)
CALL(PMIx_Resolve_peers)
CALL(PMIx_Put)
CALL(PMIx_Commit)
CALL(PMIx_Fence_nb)
CALL(PMIx_Get)
CALL(PMIx_Finalize)

CALL(ucp_init_version)
CALL(ucp_worker_create)
CALL(ucp_worker_get_address)
CALL(ucp_ep_create)
CALL(ucp_worker_flush_nbx)
CALL(ucp_ep_close_nbx)
CALL(ucp_worker_destroy)
CALL(ucp_cleanup)
