/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Object files for oshtypes: any bytes where it expects ELF with debug information and marks, and any annotations. The
 * whole program runs in a child process, since it ends when it refuses something. It must end by itself, in some
 * seconds and with some memory. What goes wrong inside libdw and libelf is theirs, and does not count here: oshtypes
 * itself reads in a child process for their sake.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 20, MOST_FRAMES = 64, MOST_COUNTERS = 1 << 16, MORE_MEMORY = 1 << 30 };
enum verdict { NONE, FINISHED, OF_LIBRARY, OF_OSHTYPES };

/* What the child leaves for the fuzzer: how it ended, and which code it has reached. */
static struct report {
    volatile enum verdict verdict;
    int signal, n_frames;
    void *frames[MOST_FRAMES];
    unsigned char counters[MOST_COUNTERS];
} * report;

/* The program, compiled with other names for main and fork. */
int oshtypes_main(int argc, char **argv);
pid_t debug_fork(void);
const char *__asan_default_options(void);

/* Compilers and linkers for fuzzing define these: a counter and an address of each piece of the code. */
struct piece {
    uintptr_t address, flags;
};
extern unsigned char __start___sancov_cntrs[] __attribute__((weak));
extern unsigned char __stop___sancov_cntrs[] __attribute__((weak));
extern const struct piece __start___sancov_pcs[] __attribute__((weak));
extern const struct piece __stop___sancov_pcs[] __attribute__((weak));

const char *__asan_default_options(void)
{
    return "detect_leaks=0:allocator_may_return_null=1:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_abort=0:"
           "abort_on_error=1";
}

/* oshtypes reads in a child, and this is it already. */
pid_t debug_fork(void)
{
    return 0;
}

/* ---- In the child ------------------------------------------------------------------------------------------------ */

static size_t n_counters(void)
{
    size_t n = (size_t)(__stop___sancov_cntrs - __start___sancov_cntrs);
    return n < MOST_COUNTERS ? n : MOST_COUNTERS;
}

/* Is this address in code that is tested? In a build for fuzzing the sanitizers' code is in the same file, so only what
 * lies between the known pieces counts. */
static bool is_tested(uintptr_t address)
{
    enum { AFTER_LAST = 1024 };
    uintptr_t low = UINTPTR_MAX, high = 0;
    for (const struct piece *piece = __start___sancov_pcs; piece < __stop___sancov_pcs; piece++) {
        low = piece->address < low ? piece->address : low;
        high = piece->address > high ? piece->address : high;
    }
    return !high || (address >= low && address < high + AFTER_LAST);
}

static bool ends_in(const char *path, const char *library)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return path && !strncmp(slash ? slash + 1 : path, library, strlen(library));
}

/* Whose fault is it? The innermost function that belongs to a library or to oshtypes tells. */
static enum verdict find_culprit(void)
{
    void **frames = report->frames;
    Dl_info self, info;
    int n = report->n_frames = backtrace(frames, MOST_FRAMES);
    if (!dladdr((void *)(uintptr_t)find_culprit, &self))
        return OF_OSHTYPES;
    for (int i = 2; i < n; i++) { /* after this function and the handler */
        if (!dladdr(frames[i], &info))
            continue;
        if (ends_in(info.dli_fname, "libdw") || ends_in(info.dli_fname, "libelf"))
            return OF_LIBRARY;
        if (info.dli_fbase == self.dli_fbase && is_tested((uintptr_t)frames[i]))
            return OF_OSHTYPES;
    }
    return OF_OSHTYPES;
}

static void on_fault(int number)
{
    report->signal = number;
    report->verdict = find_culprit();
    _exit(1);
}

static void on_end(int status, void *argument)
{
    (void)argument;
    for (size_t i = 0; i < n_counters(); i++)
        report->counters[i] = __start___sancov_cntrs[i];
    report->verdict = FINISHED;
    _exit(status);
}

/* Faults may come from a stack that is full. Only time on a core counts: the machine may be busy. */
static void watch_faults(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPROF};
    static const struct itimerval limit = {.it_value = {.tv_sec = SECONDS}};
    static char other_stack[1 << 16];
    const stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
    setitimer(ITIMER_PROF, &limit, NULL);
}

static void limit_memory(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    ALWAYS(file && fscanf(file, "%*u %*u %*u %*u %*u %lu", &pages) == 1);
    fclose(file);
    const struct rlimit limit = {pages * 4096 + MORE_MEMORY, pages * 4096 + MORE_MEMORY};
    setrlimit(RLIMIT_DATA, &limit);
}

static void be_quiet(void)
{
    int nothing = open("/dev/null", O_WRONLY);
    dup2(nothing, STDOUT_FILENO);
    if (!getenv("FUZZ_DEBUG_TALKS"))
        dup2(nothing, STDERR_FILENO);
}

_Noreturn static void run_child(char **argv)
{
    int argc = 0;
    while (argv[argc])
        argc++;
    limit_memory();
    watch_faults();
    be_quiet();
    on_exit(on_end, NULL);
    exit(oshtypes_main(argc, argv));
}

/* ---- One input --------------------------------------------------------------------------------------------------- */

static int make_file(const void *bytes, size_t size, char *path, size_t room)
{
    int fd = memfd_create("debug", 0);
    ALWAYS(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    snprintf(path, room, "/proc/self/fd/%d", fd);
    return fd;
}

/* The names in the objects that the corpus begins with, and one more. */
static void make_arguments(uint8_t how, char *object, char *annotations, char **argv)
{
    static char *const types[] = {"tree", "mesh", "cell", "node", "shape", "grid::box", "t", "forest::t"};
    static char *const pointers[] = {"one", "weak", "opaque", "refuse"};
    size_t n = 0;
    argv[n++] = "oshtypes";
    if (how & 1) {
        argv[n++] = "--check";
    } else {
        argv[n++] = "-p";
        argv[n++] = pointers[how >> 1 & 3];
        argv[n++] = "-a";
        argv[n++] = annotations;
    }
    argv[n++] = object;
    if (!(how & 1))
        argv[n++] = types[how >> 3 & 7];
    if (!(how & 1) && how >> 6)
        argv[n++] = types[how >> 6];
    argv[n] = NULL;
}

static void take_report(int status)
{
    if (report->verdict != FINISHED && report->verdict != OF_LIBRARY) {
        fprintf(stderr, "oshtypes: status %#x, signal %d\n", (unsigned)status, report->signal);
        backtrace_symbols_fd(report->frames, report->n_frames, STDERR_FILENO);
        ALWAYS(!"oshtypes has ended by itself");
    }
    for (size_t i = 0; i < n_counters(); i++)
        if (__start___sancov_cntrs[i] < report->counters[i])
            __start___sancov_cntrs[i] = report->counters[i];
}

static void run_all(char **argv)
{
    int status;
    memset(report, 0, sizeof *report);
    pid_t child = fork();
    ALWAYS(child >= 0);
    if (!child)
        run_child(argv);
    while (waitpid(child, &status, 0) != child)
        ALWAYS(errno == EINTR); /* libFuzzer looks at the time */
    take_report(status);
}

/* The first call of backtrace loads a library, for which a child that is out of memory has no room. */
static void prepare(void)
{
    report = mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ALWAYS(report != MAP_FAILED);
    backtrace(report->frames, MOST_FRAMES);
}

/* The first bytes say how oshtypes is called and how many of the last are annotations. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    char object[64], annotations[64], *argv[16];
    uint8_t how = fuzz_byte(&input);
    size_t n_annotations = fuzz_byte(&input);
    if (!report)
        prepare();
    if (n_annotations > input.size)
        n_annotations = input.size;
    size_t n_object = input.size - n_annotations;
    int files[] = {make_file(input.data, n_object, object, sizeof object),
                   make_file(input.data + n_object, n_annotations, annotations, sizeof annotations)};
    make_arguments(how, object, annotations, argv);
    run_all(argv);
    close(files[0]);
    close(files[1]);
    return 0;
}
