/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads a host file: an ordinary file, a pipe such as bash's <(...), a terminal. A device without an end, a file that
 * is far too large, and a pipe into which nobody writes end with a line.
 */
#define _GNU_SOURCE
#include "tools/complain.h"
#include "tools/oshrun/host_list.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_BYTES = 16 << 20, PATIENCE_MS = 10000 };

/* Wait until a pipe has something or has been left by its writers. */
static void await_bytes(int fd, const char *path)
{
    struct pollfd wanted = {.fd = fd, .events = POLLIN};
    if (!poll(&wanted, 1, PATIENCE_MS))
        complain_and_exit(2, "--hostfile %s: nobody has written anything to it for %d s", path, PATIENCE_MS / 1000);
}

/* What one read gives: bytes, or 0 at the end. */
static size_t read_some(int fd, const char *path, char *buffer, size_t room, bool may_still_come)
{
    for (;;) {
        ssize_t n = read(fd, buffer, room);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            complain_and_exit(2, "--hostfile %s: cannot be read: %s", path, strerror(errno));
        if (n > 0 || (n == 0 && !may_still_come))
            return (size_t)n;
        await_bytes(fd, path);
        if (n == 0)
            may_still_come = false;
    }
}

void host_list_add_file(struct host_list *list, const char *path)
{
    struct stat status;
    struct host_fault fault;
    size_t length = 0, n;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); /* a FIFO without a writer must not hold us up */
    if (fd < 0 || fstat(fd, &status) < 0)
        complain_and_exit(2, "--hostfile %s: cannot be read: %s", path, strerror(errno));
    char *text = malloc(MOST_BYTES + 1);
    if (!text)
        complain_and_exit(1, "no memory is left");
    do {
        n = read_some(fd, path, text + length, MOST_BYTES + 1 - length, S_ISFIFO(status.st_mode) && !length);
        length += n;
    } while (n && length <= MOST_BYTES && !(memchr(text + length - n, 0, n)));
    close(fd);
    if (host_list_add_lines(list, text, length, &fault) < 0)
        complain_and_exit(2, "--hostfile %s, line %zu: %s", path, fault.line, fault.text);
    if (length > MOST_BYTES)
        complain_and_exit(2, "--hostfile %s: larger than %d MiB", path, MOST_BYTES >> 20);
    if (!list->n)
        complain_and_exit(2, "--hostfile %s: there is no host in it", path);
    free(text);
}
