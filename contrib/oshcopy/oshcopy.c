/* SPDX-License-Identifier: BSD-3-Clause
 *
 * oshcopy: runs a program whose large copies between pageable host memory and a GPU are made by several threads.
 *
 * The program, which need not know anything of SHMEM, is started with a library of MapSHMEM preloaded. That library
 * does all the work; where it is missing, the program runs as it is. Its environment is ours, with what the options
 * set.
 */
#define _GNU_SOURCE
#include "tools/complain.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"

extern char **environ;

const char complain_name[] = "oshcopy";

static const char help[] =
    "Usage: oshcopy [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
    "\n"
    "Runs PROGRAM, with its large copies between pageable host memory and memory of a CUDA device made by several "
    "threads:\n"
    "cudaMemcpy, cudaMemcpy2D, cuMemcpy, cuMemcpyHtoD, cuMemcpyDtoH, cuMemcpy2D and their asynchronous forms, in both\n"
    "directions, whether the program is linked with the CUDA runtime statically or not. All other copies are left to "
    "the "
    "driver.\n"
    "\n"
    "  -m, --min SIZE      leave copies of less than SIZE bytes to the driver (8m)\n"
    "  -t, --threads N     number of threads that copy (the process's share of the cores near the GPU, up to 8)\n"
    "  -l, --log           say on stderr, when a process ends, what was done; twice: also for each large copy\n"
    "  -h, --help          print this text\n"
    "      --version       print the version\n"
    "\n"
    "Environment\n"
    "  OSHCOPY_MIN, OSHCOPY_LOG       as --min; 1 or 2: as --log\n"
    "  SHMEM_COPY_THREADS             as --threads\n"
    "  SHMEM_COPY_CHUNK               bytes of a page-locked buffer, of which each thread has two (2m); 0: leave all "
    "copies\n"
    "                                 to the driver\n"
    "  MAPSHMEM_LIBDIR                directory of oshcopy.so, for a library that is not installed\n";

static const char version[] = "oshcopy (MapSHMEM) " PACKAGE_VERSION "\n";

static const struct option long_options[] = {
    {"min", required_argument, NULL, 'm'}, {"threads", required_argument, NULL, 't'}, {"log", no_argument, NULL, 'l'},
    {"help", no_argument, NULL, 'h'},      {"version", no_argument, NULL, 'V'},       {0},
};

/* ---- options ----------------------------------------------------------------------------------------------------- */

static const char *value_of(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* 0 to 2. */
static int log_level(void)
{
    const char *text = value_of("OSHCOPY_LOG");
    if (!text)
        return 0;
    if (text[0] < '0' || text[0] > '2' || text[1])
        complain_and_exit(2, "OSHCOPY_LOG=%.100s: must be 0, 1 or 2", text);
    return text[0] - '0';
}

static void raise_log_level(void)
{
    setenv("OSHCOPY_LOG", log_level() ? "2" : "1", 1);
}

static _Noreturn void print(const char *text)
{
    fputs(text, stdout);
    exit(0);
}

static void read_options(int argc, char *argv[])
{
    const char *word;
    int option;
    opterr = 0;
    do {
        word = optind < argc ? argv[optind] : "";
        option = getopt_long(argc, argv, "+:hlm:t:", long_options, NULL);
        switch (option) {
        case -1:
            break;
        case 'h':
            print(help);
        case 'V':
            print(version);
        case 'l':
            raise_log_level();
            break;
        case 'm':
            setenv("OSHCOPY_MIN", optarg, 1);
            break;
        case 't':
            setenv("SHMEM_COPY_THREADS", optarg, 1);
            break;
        case ':':
            complain_and_exit(2, "%.100s needs a value", word);
        default:
            complain_and_exit(2, "unknown option '%.100s' (see oshcopy --help)", word);
        }
    } while (option >= 0);
}

/* Digits, of which one may be followed by a point, and a letter for thousands. */
static bool is_size(const char *text)
{
    size_t whole = strspn(text, "0123456789"), part = 0;
    text += whole;
    if (*text == '.') {
        part = strspn(++text, "0123456789");
        text += part;
    }
    return whole + part > 0 && (!*text || (strchr("kKmMgGtT", *text) && !text[1]));
}

static void check_settings(void)
{
    const char *min = value_of("OSHCOPY_MIN"), *threads = value_of("SHMEM_COPY_THREADS");
    if (min && !is_size(min))
        complain_and_exit(2, "OSHCOPY_MIN=%.100s: not a number of bytes, as 8m", min);
    if (threads && threads[strspn(threads, "0123456789")])
        complain_and_exit(2, "SHMEM_COPY_THREADS=%.100s: not a number of threads", threads);
    log_level();
}

/* ---- the library ------------------------------------------------------------------------------------------------- */

/* FOLDER/PART/oshcopy.so, if it is there. */
static bool try_place(char library[static PATH_MAX], const char *folder, const char *part)
{
    return snprintf(library, PATH_MAX, "%s%s/oshcopy.so", folder, part) < PATH_MAX && !access(library, F_OK);
}

/* An installation that was moved as a whole still works: the library is looked for beside this program first. */
static bool find_library(char library[static PATH_MAX])
{
    static const char prefix[] = OSHCOPY_PREFIX "/", libdir[] = OSHCOPY_LIBDIR;
    const char *given = value_of("MAPSHMEM_LIBDIR");
    char folder[PATH_MAX];
    if (given)
        return try_place(library, given, "") || try_place(library, given, "/mapshmem");
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    folder[length > 0 ? length : 0] = 0;
    for (int part = 0; part < 2; part++) {
        char *slash = strrchr(folder, '/');
        if (!slash)
            break;
        *slash = 0;
        if (part == 0 && try_place(library, folder, "/.libs"))
            return true;
    }
    if (!strncmp(libdir, prefix, strlen(prefix))) {
        size_t end = strlen(folder);
        snprintf(folder + end, sizeof folder - end, "/%s", libdir + strlen(prefix));
        if (try_place(library, folder, "/mapshmem"))
            return true;
    }
    return try_place(library, libdir, "/mapshmem");
}

/* Starts this program with --version; its output goes to a pipe. */
static int spawn_version(const int ends[2])
{
    char *words[] = {"oshcopy", "--version", NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    int rc = posix_spawn(&pid, "/proc/self/exe", &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return rc ? -rc : pid;
}

/* Whether the loader takes what LD_PRELOAD names, with all that this needs, without a word: this program then says no
 * more than its version. */
static bool loads_silently(void)
{
    char output[sizeof version + 1];
    size_t length = 0;
    ssize_t n = 1;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    int pid = spawn_version(ends);
    close(ends[1]);
    while (pid > 0 && n > 0 && length < sizeof output) {
        n = read(ends[0], output + length, sizeof output - length);
        length += n > 0 ? (size_t)n : 0;
    }
    close(ends[0]);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    return length == strlen(version) && !memcmp(output, version, length);
}

/* Set LD_PRELOAD if that does what it is to do; colons and blanks separate the names in it. */
static bool preload(void)
{
    const char *found = getenv("LD_PRELOAD");
    char library[PATH_MAX], *others = found ? strdup(found) : NULL, *all = NULL;
    if (!find_library(library) || strpbrk(library, ": \t\n\v\f\r"))
        return false;
    setenv("LD_PRELOAD", library, 1);
    bool loads = loads_silently();
    if (loads && others && *others && asprintf(&all, "%s:%s", library, others) >= 0)
        setenv("LD_PRELOAD", all, 1);
    else if (!loads && others)
        setenv("LD_PRELOAD", others, 1);
    else if (!loads)
        unsetenv("LD_PRELOAD");
    free(others);
    free(all);
    return loads;
}

int main(int argc, char *argv[])
{
    char process[16];
    read_options(argc, argv);
    if (optind >= argc)
        complain_and_exit(2, "no program given (see oshcopy --help)");
    check_settings();
    if (!preload() && log_level())
        complain("no oshcopy.so that can be preloaded, so the program runs without (was MapSHMEM built with CUDA?)");
    if (log_level()) {
        snprintf(process, sizeof process, "%d", (int)getpid());
        setenv("OSHCOPY_PROCESS", process, 1);
    }
    execvp(argv[optind], argv + optind);
    complain_and_exit(errno == ENOENT ? 127 : 126, "%.200s: %s", argv[optind], strerror(errno));
}
