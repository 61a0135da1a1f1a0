/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bootstrap over PMI-1, the text protocol between MPICH's Hydra (mpiexec) and its processes: lines of "cmd=... key=..."
 * on the descriptor in PMI_FD, each answered by one line. Intel MPI, MVAPICH and Flux have it too.
 *
 * The connection is shared with the MPI library of a hybrid program, which says "init" on it again in MPI_Init and
 * "finalize" in MPI_Finalize; after that the launcher does not listen any more. So everything is fetched at the fences
 * of start-up, and at the end of a process that did not use MPI this file says "finalize". PMI's keys live as long as
 * the job, hence a new one for each round.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/tuning.h"
#include "bootstrap/bootstrap.h"
#include "bootstrap/deadline.h"
#include "bootstrap/mpi_library.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BYTES = 8192, PIECE_HEX_MAX = 4096, NAME_BYTES = 257 };

static int fd = -1; /* a duplicate of PMI_FD's descriptor, which MPI closes */
static pid_t owner; /* process that opened fd; forked children must not use it */
static int rank, n_processes;
static char space[NAME_BYTES];
static size_t piece_bytes; /* bytes that fit into one value of PMI, as hexadecimal digits */
static unsigned round_number;

static int report_closed(void)
{
    shmemi_error("the launcher does not listen any more%s",
                 shmemi_mpi_state() == SHMEMI_MPI_FINALIZED
                     ? ": MPI_Finalize closes the connection; call shmem_init before it"
                     : "");
    return -EPIPE;
}

static int send_line(const char *line, size_t size)
{
    while (size) {
        ssize_t sent = send(fd, line, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return -EPIPE;
        line += sent;
        size -= (size_t)sent;
    }
    return 0;
}

/* Wait for input. 0, or -ETIMEDOUT. */
static int await_input(long long deadline)
{
    struct pollfd input = {.fd = fd, .events = POLLIN};
    for (;;) {
        long long left = deadline - (long long)(shmemi_clock() / 1000000);
        int n = poll(&input, 1, left > 0 ? (int)left : 0);
        if (n > 0)
            return 0;
        if (n == 0 || errno != EINTR)
            return n == 0 ? -ETIMEDOUT : -EIO;
    }
}

/* One line without its newline; the launcher sends nothing that was not asked for. No limit if milliseconds is -1. */
static int receive_line(char *line, int milliseconds)
{
    const long long for_ever = 1000000000;
    long long deadline = (long long)(shmemi_clock() / 1000000) + (milliseconds < 0 ? for_ever : milliseconds);
    size_t length = 0;
    while (length < LINE_BYTES - 1) {
        int rc = await_input(deadline);
        if (rc)
            return rc;
        ssize_t n = recv(fd, line + length, LINE_BYTES - 1 - length, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -EPIPE;
        length += (size_t)n;
        if (line[length - 1] == '\n') {
            line[length - 1] = '\0';
            return 0;
        }
    }
    return -EMSGSIZE;
}

/* The text after " name=" up to the next blank; false if there is none or it does not fit. */
static bool read_field(const char *line, const char *name, char *value, size_t size)
{
    size_t name_length = strlen(name);
    for (const char *blank = strchr(line, ' '); blank; blank = strchr(blank + 1, ' ')) {
        if (strncmp(blank + 1, name, name_length) || blank[1 + name_length] != '=')
            continue;
        const char *start = blank + 2 + name_length;
        size_t length = strcspn(start, " ");
        if (length >= size)
            return false;
        memcpy(value, start, length);
        value[length] = '\0';
        return true;
    }
    return false;
}

/* Send a command and wait for the answer of that name. */
__attribute__((format(printf, 3, 4))) static int ask(char *answer, const char *answer_name, const char *format, ...)
{
    va_list args;
    char code[16] = "0";
    va_start(args, format);
    int length = vsnprintf(answer, LINE_BYTES, format, args);
    va_end(args);
    int rc = length < LINE_BYTES ? send_line(answer, (size_t)length) : -EMSGSIZE;
    if (!rc)
        rc = receive_line(answer, shmemi_init_milliseconds_left());
    if (rc == -EPIPE)
        return report_closed();
    if (rc == -ETIMEDOUT)
        return shmemi_init_is_over("");
    size_t name_length = strlen(answer_name);
    bool is_expected = !rc && !strncmp(answer, "cmd=", 4) && !strncmp(answer + 4, answer_name, name_length);
    if (is_expected)
        read_field(answer, "rc", code, sizeof code);
    if (is_expected && !strcmp(code, "0"))
        return 0;
    shmemi_error("the launcher's PMI did not answer with %s but '%.200s'", answer_name, rc ? strerror(-rc) : answer);
    return -EPROTO;
}

/* ---- gathering --------------------------------------------------------------------------------------------------- */

static void to_hex(char *text, const unsigned char *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    text[2 * size] = '\0';
}

static int digit_value(char digit)
{
    return digit >= '0' && digit <= '9' ? digit - '0' : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* Decode hexadecimal digits, which must stand for exactly `size` bytes. */
static bool from_hex(unsigned char *bytes, size_t size, const char *text)
{
    for (size_t i = 0; i < size; i++) {
        int high = digit_value(text[2 * i]);
        int low = high < 0 ? -1 : digit_value(text[2 * i + 1]);
        if (low < 0)
            return false;
        bytes[i] = (unsigned char)(high << 4 | low);
    }
    return text[2 * size] == '\0';
}

static size_t count_pieces(size_t size)
{
    return size ? (size + piece_bytes - 1) / piece_bytes : 1;
}

/* The first piece begins with the total number of bytes. */
static int put_piece(size_t piece, const unsigned char *bytes, size_t size)
{
    char line[LINE_BYTES], value[PIECE_HEX_MAX + 1], head[24] = "";
    size_t from = piece * piece_bytes, left = size - from;
    to_hex(value, bytes + from, left < piece_bytes ? left : piece_bytes);
    if (!piece)
        snprintf(head, sizeof head, "%zu.", size);
    return ask(line, "put_result", "cmd=put kvsname=%s key=mapshmem-%u-%d-%zu value=%s%s\n", space, round_number, rank,
               piece, head, value);
}

static int put_pieces(const unsigned char *bytes, size_t size)
{
    int rc = 0;
    for (size_t piece = 0; !rc && piece < count_pieces(size); piece++)
        rc = put_piece(piece, bytes, size);
    return rc;
}

static int get_piece(int pe, size_t piece, char *value)
{
    char line[LINE_BYTES];
    int rc = ask(line, "get_result", "cmd=get kvsname=%s key=mapshmem-%u-%d-%zu\n", space, round_number, pe, piece);
    if (rc)
        return rc;
    if (read_field(line, "value", value, LINE_BYTES))
        return 0;
    shmemi_error("the launcher's PMI has no value from PE %d", pe);
    return -EPROTO;
}

static int make_room(struct shmemi_gathered *all, size_t size)
{
    unsigned char *bytes = realloc(all->bytes, size + 1);
    if (bytes)
        all->bytes = bytes;
    else
        shmemi_error("out of memory for %zu bytes that other PEs have published", size);
    return bytes ? 0 : -ENOMEM;
}

/* Append what a PE has put to all->bytes; all->offsets[pe] is its beginning. */
static int get_pieces(int pe, struct shmemi_gathered *all)
{
    char value[LINE_BYTES], *digits;
    int rc = get_piece(pe, 0, value);
    if (rc)
        return rc;
    size_t size = strtoul(value, &digits, 10), begin = all->offsets[pe];
    bool is_valid = *digits++ == '.' && size <= SHMEMI_PUBLISHED_MAX;
    rc = is_valid ? make_room(all, begin + size) : 0;
    if (rc)
        return rc;
    unsigned char *bytes = all->bytes;
    all->offsets[pe + 1] = begin + size;
    for (size_t piece = 0; !rc && is_valid && piece < count_pieces(size); piece++) {
        size_t from = piece * piece_bytes, left = size - from;
        if (piece)
            rc = get_piece(pe, piece, digits = value);
        is_valid = !rc && from_hex(bytes + begin + from, left < piece_bytes ? left : piece_bytes, digits);
    }
    if (rc || is_valid)
        return rc;
    shmemi_error("what PE %d has published through PMI is not usable", pe);
    return -EPROTO;
}

static int gather(const void *mine, size_t size, struct shmemi_gathered *all)
{
    char line[LINE_BYTES];
    int rc = put_pieces(mine, size);
    if (!rc)
        rc = ask(line, "barrier_out", "cmd=barrier_in\n");
    for (int pe = 0; !rc && pe < n_processes; pe++)
        rc = get_pieces(pe, all);
    round_number++;
    return rc;
}

/* ---- the connection ---------------------------------------------------------------------------------------------- */

/* MPI may have closed the descriptor, and its number may be that of another file by now. */
static bool is_closed_by_mpi(void)
{
    const char *family = shmemi_mpi_family();
    return shmemi_mpi_state() == SHMEMI_MPI_FINALIZED && family && !strcmp(family, "mpich");
}

/* Say "finalize" to the launcher; if MPI_Finalize has done so already, this is ignored. A process that exits in the
 * middle of the job must not appear to have finished. */
static void disconnect(void)
{
    static const char finalize_request[] = "cmd=finalize\n";
    char line[LINE_BYTES];
    const bool is_in_use = shmemi_bootstrap == &shmemi_bootstrap_pmi;
    if (getpid() != owner)
        return;
    if (is_in_use && is_closed_by_mpi())
        shmemi_bootstrap_fail_alone(EXIT_FAILURE);
    if (is_in_use || shmemi_mpi_state() == SHMEMI_MPI_ACTIVE)
        return;
    if (!send_line(finalize_request, sizeof finalize_request - 1))
        receive_line(line, SHMEMI_PMI_FINALIZE_MS);
    close(fd);
}

static int greet(void)
{
    char line[LINE_BYTES], number[16] = "";
    int rc = ask(line, "response_to_init", "cmd=init pmi_version=1 pmi_subversion=1\n");
    if (!rc)
        rc = ask(line, "maxes", "cmd=get_maxes\n");
    if (!rc)
        read_field(line, "vallen_max", number, sizeof number);
    if (!rc)
        rc = ask(line, "my_kvsname", "cmd=get_my_kvsname\n");
    if (rc)
        return rc;
    const size_t room_for_size = 24; /* bytes for the number before the first piece, and for the final zero */
    size_t value_max = strtoul(number, NULL, 10);
    if (value_max < 64 || !read_field(line, "kvsname", space, sizeof space)) {
        shmemi_error("the launcher's PMI offers values of %zu bytes and the space '%s': not usable", value_max, space);
        return -EPROTO;
    }
    size_t digits = value_max - room_for_size < PIECE_HEX_MAX ? value_max - room_for_size : PIECE_HEX_MAX;
    piece_bytes = digits / 2;
    return 0;
}

static int connect_launcher(void)
{
    if (is_closed_by_mpi())
        return report_closed();
    fd = fcntl(atoi(getenv("PMI_FD")), F_DUPFD_CLOEXEC, 3);
    if (fd < 0)
        return -ENODEV;
    int rc = greet();
    if (rc) {
        close(fd);
        fd = -1;
        return rc;
    }
    owner = getpid();
    atexit(disconnect);
    return 0;
}

static int pmi_open(int *pe_p, int *n_pes_p)
{
    if (!shmemi_launcher_has_pmi())
        return -ENODEV;
    rank = atoi(getenv("PMI_RANK"));
    n_processes = atoi(getenv("PMI_SIZE"));
    if (rank < 0 || rank >= n_processes) {
        shmemi_error("the environment has no process %s of %s (PMI_RANK, PMI_SIZE)", getenv("PMI_RANK"),
                     getenv("PMI_SIZE"));
        return -EPROTO;
    }
    if (n_processes == 1 && shmemi_settings.bootstrap == SHMEMI_BOOTSTRAP_AUTO)
        return -ENODEV; /* a single PE needs no connection, which MPI may have closed */
    shmemi_log_set_pe(rank);
    int rc = fd < 0 ? connect_launcher() : 0;
    if (!rc)
        rc = shmemi_gather_open(rank, n_processes, gather);
    if (rc)
        return rc;
    *pe_p = rank;
    *n_pes_p = n_processes;
    return 0;
}

static void pmi_abort(int status)
{
    char line[64];
    int length = snprintf(line, sizeof line, "cmd=abort exitcode=%d\n", status);
    fflush(NULL);
    if (!send_line(line, (size_t)length))
        sleep(10); /* the launcher ends this process */
    shmemi_bootstrap_fail_alone(status);
}

const struct shmemi_bootstrap shmemi_bootstrap_pmi = {
    .name = "pmi",
    .open = pmi_open,
    .close = shmemi_gather_close,
    SHMEMI_GATHER_MEMBERS,
    .abort = pmi_abort,
};
