/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a launcher has left behind: processes, and folders in a folder where everybody may write. Only what belongs to
 * this user is touched, and no link is followed: others may have put links, pipes and folders of their own there.
 */
#define _GNU_SOURCE
#include "tools/oshrun/keeper.h"
#include "tools/oshrun/stderr_filter.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MEMBERS_MS = 1000, MOST_DEPTH = 32 };

void oshrun_sleep_ms(long milliseconds)
{
    struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

/* The session of a process; -1 if it has ended, though perhaps nobody has waited for it. */
static long session_of(const char *pid)
{
    char path[300], line[600] = "", state;
    long session;
    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    char *read = fgets(line, sizeof line, file), *name_end = strrchr(line, ')');
    fclose(file);
    if (!read || !name_end || sscanf(name_end + 1, " %c %*d %*d %ld", &state, &session) != 2)
        return -1;
    return state == 'Z' || state == 'X' ? -1 : session;
}

bool oshrun_has_ended(pid_t pid)
{
    char name[20];
    snprintf(name, sizeof name, "%d", (int)pid);
    return session_of(name) < 0;
}

/* Send the signal, if it is one, to all processes of the session; how many there are. */
static int signal_members(pid_t session, int signal)
{
    DIR *processes = opendir("/proc");
    struct dirent *entry;
    int n = 0;
    while (processes && (entry = readdir(processes)))
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && session_of(entry->d_name) == session) {
            n++;
            if (signal)
                kill(atoi(entry->d_name), signal);
        }
    if (processes)
        closedir(processes);
    return n;
}

/* Processes end by themselves when they notice that the launcher is gone. */
static void sweep_processes(pid_t launcher)
{
    for (long limit = oshrun_now() + MEMBERS_MS; signal_members(launcher, 0); oshrun_sleep_ms(20))
        if (oshrun_now() > limit) {
            signal_members(launcher, SIGKILL);
            return;
        }
}

/* ---- folders ----------------------------------------------------------------------------------------------------- */

/* A folder of this user, opened; -1 if it is something else, or another user's. */
static int open_own_folder(int in, const char *name)
{
    struct stat status;
    int folder = openat(in, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (folder < 0 || (!fstat(folder, &status) && status.st_uid == geteuid()))
        return folder;
    close(folder);
    return -1;
}

/* The entries of an open folder, whose descriptor stays open; NULL if they cannot be read. */
static DIR *entries_of(int folder)
{
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = copy < 0 ? NULL : fdopendir(copy);
    if (!entries && copy >= 0)
        close(copy);
    return entries;
}

static void remove_own_folder(int in, const char *name, int depth)
{
    int folder = depth < MOST_DEPTH ? open_own_folder(in, name) : -1;
    DIR *entries = folder < 0 ? NULL : entries_of(folder);
    struct dirent *entry;
    while (entries && (entry = readdir(entries)))
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") && unlinkat(folder, entry->d_name, 0) < 0)
            remove_own_folder(folder, entry->d_name, depth + 1);
    if (entries)
        closedir(entries);
    if (folder < 0)
        return;
    close(folder);
    unlinkat(in, name, AT_REMOVEDIR);
}

/* Open MPI 4 names a folder of the job by the number that contact.txt begins with; 0 if it does not. */
static unsigned long job_number(int folder)
{
    char text[16] = "";
    struct stat status;
    int number = 0, file = openat(folder, "contact.txt", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return 0;
    if (!fstat(file, &status) && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
        read(file, text, sizeof text - 1) > 0)
        number = (int)strspn(text, "0123456789");
    close(file);
    return number && text[number] == '.' ? strtoul(text, NULL, 10) : 0;
}

/* Removes what Open MPI 4 has left: a folder for the user, in it one for the launcher, in that one for the job. */
static void sweep_user_folder(int temporary, const char *name, pid_t launcher)
{
    const char *own = word_text("pid.%d", (int)launcher);
    int user = open_own_folder(temporary, name), folder = user < 0 ? -1 : open_own_folder(user, own);
    if (folder >= 0) {
        unsigned long number = job_number(folder);
        close(folder);
        if (number)
            remove_own_folder(user, word_text("jf.%lu", number >> 16), 0);
        remove_own_folder(user, own, 0);
    }
    if (user >= 0)
        close(user);
}

static void sweep_folders(pid_t launcher)
{
    const char *place = getenv("TMPDIR");
    DIR *entries = opendir(place && *place ? place : "/tmp");
    struct dirent *entry;
    const char *of_user = word_text("ompi.*.%d", (int)geteuid());
    const char *of_prrte = word_text("prte*.%d.%d", (int)launcher, (int)geteuid());
    while (entries && (entry = readdir(entries))) {
        if (!fnmatch(of_user, entry->d_name, 0))
            sweep_user_folder(dirfd(entries), entry->d_name, launcher);
        else if (!fnmatch(of_prrte, entry->d_name, 0))
            remove_own_folder(dirfd(entries), entry->d_name, 0);
    }
    if (entries)
        closedir(entries);
}

void oshrun_sweep(pid_t launcher)
{
    sweep_processes(launcher);
    sweep_folders(launcher);
}
