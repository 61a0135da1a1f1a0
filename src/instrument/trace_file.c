/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes the trace of one PE so that the file is complete JSON at any time, and joins the files of all PEs.
 */
#include "instrument/trace_file.h"

#include "base/limits.h"
#include "base/log.h"
#include "bootstrap/job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char HEAD[] = "[ ", TAIL[] = "\n]\n";
enum { HEAD_BYTES = sizeof HEAD - 1, TAIL_BYTES = sizeof TAIL - 1, COPY_BYTES = 64 << 10 };
_Static_assert((int)TAIL_BYTES <= (int)SHMEMI_TRACE_FILE_ROOM, "the caller leaves room for the end");

static bool is_apart(const char *name)
{
    return strstr(name, "%p") != NULL;
}

/* Where to insert the number of the PE in a file name: before the extension. */
static size_t stem_of(const char *name)
{
    const char *file = strrchr(name, '/'), *dot = strrchr(name, '.');
    return dot && dot > (file ? file + 1 : name) ? (size_t)(dot - name) : strlen(name);
}

/* The file of a PE, of the whole job for a negative PE. Later rounds of a process that initialises again have files of
 * their own. */
static void make_path(char path[PATH_MAX], const char *name, int pe)
{
    char round[16] = "", number[16] = "";
    size_t stem = stem_of(name);
    const char *apart = strstr(name, "%p");
    if (shmemi_job.generation > 1)
        snprintf(round, sizeof round, ".run%u", shmemi_job.generation);
    if (apart) {
        snprintf(path, PATH_MAX, "%.*s%d%s%s", (int)(apart - name), name, pe, apart + 2, round);
        return;
    }
    if (pe >= 0)
        snprintf(number, sizeof number, ".%d", pe);
    snprintf(path, PATH_MAX, "%.*s%s%s%s", (int)stem, name, round, number, name + stem);
}

static int fail_to_write(struct shmemi_trace_file *file)
{
    int rc = -errno;
    if (!file->failed)
        shmemi_error("SHMEM_TRACE: cannot write %s: %m%s", file->path, shmemi_remedy(-rc));
    file->failed = true;
    return rc;
}

static bool is_plain(int fd)
{
    struct stat status;
    return !fstat(fd, &status) && S_ISREG(status.st_mode);
}

/* What lies beyond the limit of file sizes is not even tried: a signal would kill the process. */
static int write_at(struct shmemi_trace_file *file, const char *bytes, size_t size, off_t at)
{
    if (is_plain(file->fd) && !shmemi_file_may_have((size_t)at + size)) {
        errno = EFBIG;
        return fail_to_write(file);
    }
    while (size) {
        ssize_t done = pwrite(file->fd, bytes, size, at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return fail_to_write(file);
        bytes += done;
        at += done;
        size -= (size_t)done;
    }
    return 0;
}

/* A file that is there already is written over, or read as a part, only if it is this user's own, under this name
 * alone. */
static bool is_own(int fd)
{
    struct stat status;
    return !fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_uid == geteuid() && status.st_nlink == 1;
}

/* Others may write into the folder, as into /tmp: what they have put there under the name, a link to a file of this user
 * or a pipe that nobody reads, must do no harm. */
static int make_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST)
        return fd;
    fd = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || (is_own(fd) && !ftruncate(fd, 0)))
        return fd;
    close(fd);
    errno = EPERM;
    return -1;
}

/* Why a file could not be made, where the errno does not say enough. */
static const char *reason(int error)
{
    return error == ELOOP   ? "; it is a symbolic link, which is not followed"
           : error == EPERM ? "; what is there is not a file of this user alone: choose another name"
                            : shmemi_remedy(error);
}

/* PE 0 is likely to tell the same, and then ends the job. */
static int fail_to_make(struct shmemi_trace_file *file)
{
    int rc = -errno;
    if (shmemi_job.pe > 0)
        sleep(2);
    shmemi_error("SHMEM_TRACE: cannot make %s: %m%s", file->path, reason(-rc));
    file->failed = true;
    return rc;
}

/* The file into which the parts will be joined: what makes that impossible is better known at the start. */
static bool can_be_joined(struct shmemi_trace_file *file, const char *name)
{
    if (shmemi_job.pe > 0 || is_apart(name))
        return true;
    make_path(file->path, name, -1);
    int fd = make_file(file->path);
    if (fd < 0)
        return false;
    close(fd);
    unlink(file->path);
    return true;
}

int shmemi_trace_file_open(struct shmemi_trace_file *file, const char *name)
{
    *file = (struct shmemi_trace_file){.fd = -1};
    if (!can_be_joined(file, name))
        return fail_to_make(file);
    make_path(file->path, name, shmemi_job.pe);
    file->fd = make_file(file->path);
    if (file->fd < 0)
        return fail_to_make(file);
    file->length = HEAD_BYTES;
    if (write_at(file, HEAD, HEAD_BYTES, 0) && is_plain(file->fd))
        unlink(file->path);
    return 0;
}

/* The disk was full in the midst of a write: put the end of the array back where it was, in bytes that the file has. */
static void end_early(struct shmemi_trace_file *file)
{
    if (!is_plain(file->fd))
        return;
    bool is_whole = shmemi_file_may_have((size_t)file->length + TAIL_BYTES) &&
                    pwrite(file->fd, TAIL, TAIL_BYTES, file->length) == TAIL_BYTES;
    if (!is_whole || ftruncate(file->fd, file->length + TAIL_BYTES))
        unlink(file->path); /* an open array is of no use */
}

/* A single write replaces the old end of the array, so the file is complete JSON before and after it. */
int shmemi_trace_file_append(struct shmemi_trace_file *file, char *elements, size_t size)
{
    bool is_first = file->length == HEAD_BYTES;
    if (!size)
        return 0;
    if (file->failed)
        return -EIO;
    memcpy(elements + size, TAIL, TAIL_BYTES);
    elements += is_first; /* without its comma */
    size -= is_first;
    int rc = write_at(file, elements, size + TAIL_BYTES, file->length);
    if (rc)
        end_early(file);
    else
        file->length += (off_t)size;
    return rc;
}

void shmemi_trace_file_close(struct shmemi_trace_file *file)
{
    if (file->fd >= 0 && close(file->fd))
        fail_to_write(file);
    file->fd = -1;
}

/* ---- All PEs' files together ------------------------------------------------------------------------------------- */

/* Append the elements of a part. */
static int append_part(struct shmemi_trace_file *whole, int part, off_t size)
{
    char bytes[COPY_BYTES];
    off_t at = HEAD_BYTES;
    size_t begin = 0;
    if (whole->length > HEAD_BYTES)
        bytes[begin++] = ',';
    while (at < size - TAIL_BYTES) {
        size_t left = (size_t)(size - TAIL_BYTES - at), room = sizeof bytes - begin;
        ssize_t got = pread(part, bytes + begin, left < room ? left : room, at);
        if (got <= 0)
            return -EIO;
        int rc = write_at(whole, bytes, begin + (size_t)got, whole->length);
        if (rc)
            return rc;
        whole->length += (off_t)begin + got;
        at += got;
        begin = 0;
    }
    return 0;
}

static int take_part(struct shmemi_trace_file *whole, const char *name, int pe)
{
    char path[PATH_MAX];
    make_path(path, name, pe);
    int part = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    off_t size = part < 0 || !is_own(part) ? -1 : lseek(part, 0, SEEK_END);
    int rc = size < HEAD_BYTES + TAIL_BYTES ? -ENOENT : append_part(whole, part, size);
    if (part >= 0)
        close(part);
    if (rc && !whole->failed)
        shmemi_warn("SHMEM_TRACE: %s is not complete here: the files of the PEs stay as they are", path);
    return rc;
}

static void remove_parts(const char *name)
{
    char path[PATH_MAX];
    for (int pe = 0; pe < shmemi_job.n_pes; pe++) {
        make_path(path, name, pe);
        unlink(path);
    }
}

void shmemi_trace_files_merge(const char *name)
{
    struct shmemi_trace_file whole = {.fd = -1};
    if (is_apart(name))
        return;
    make_path(whole.path, name, -1);
    whole.fd = make_file(whole.path);
    if (whole.fd < 0) {
        fail_to_make(&whole);
        return;
    }
    int rc = write_at(&whole, HEAD, HEAD_BYTES, 0);
    whole.length = HEAD_BYTES;
    for (int pe = 0; !rc && pe < shmemi_job.n_pes; pe++)
        rc = take_part(&whole, name, pe);
    if (!rc)
        rc = write_at(&whole, TAIL, TAIL_BYTES, whole.length);
    bool is_regular = is_plain(whole.fd);
    shmemi_trace_file_close(&whole);
    if (!rc && !whole.failed)
        remove_parts(name);
    else if (is_regular)
        unlink(whole.path);
}
