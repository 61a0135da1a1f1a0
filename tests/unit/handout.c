/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The node segment goes to the PEs of the node and to nobody else: strangers of this user and of another get nothing
 * and hold nobody up, a lowest PE that is not one is not believed, only memory that is sealed and has the right size is
 * mapped, a PE that does not come is named, and no descriptor stays open.
 */
#define _GNU_SOURCE
#include "transport/sockets/handout.h"

#include "base/log.h"
#include "base/settings.h"
#include "bootstrap/deadline.h"
#include "bootstrap/job.h"
#include "transport/sockets/sockets.h"
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 1 << 20, PES = 5, CROWD = 150, OTHER_USER = 65534 };

static const struct shmemi_handout expected = {SIZE, 4096};

static int make_memory(off_t size, bool is_sealed)
{
    int fd = memfd_create("segment", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CHECK(fd >= 0 && !ftruncate(fd, size));
    CHECK(!is_sealed || !shmemi_handout_seal(fd));
    return fd;
}

static int count_open(void)
{
    int n = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (readdir(directory))
        n++;
    closedir(directory);
    return n;
}

/* ---- What is sound ----------------------------------------------------------------------------------------------- */

static void judge(int fd, bool is_sound)
{
    CHECK(shmemi_handout_is_sound(fd, SIZE) == is_sound);
    close(fd);
}

static void check_sound(void)
{
    char name[] = "/tmp/handout-XXXXXX";
    int ends[2], file = mkstemp(name);
    CHECK(file >= 0 && !unlink(name) && !ftruncate(file, SIZE) && !pipe(ends));
    judge(make_memory(SIZE, true), true);
    judge(make_memory(SIZE, false), false);
    judge(make_memory(SIZE - 1, true), false);
    judge(make_memory(2 * SIZE, true), false);
    judge(make_memory(0, true), false);
    judge(file, false);
    judge(ends[0], false);
    judge(ends[1], false);
    judge(open("/dev/zero", O_RDWR), false);
    int fd = make_memory(SIZE, true);
    CHECK(ftruncate(fd, 0) && ftruncate(fd, 2 * SIZE)); /* nobody can change it */
    close(fd);
}

/* ---- Handing out ------------------------------------------------------------------------------------------------- */

static void become(int pe)
{
    shmemi_job.pe = shmemi_job.node_rank = pe;
    shmemi_log_set_pe(pe);
}

/* PE pe, in a process of its own, gets the segment and writes its number there; at once, or when the other end of a pipe
 * is closed. */
static pid_t start_pe_after(int pipe_end, int pe, uint64_t number, int result)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child)
        return child;
    char byte;
    CHECK(pipe_end < 0 || !read(pipe_end, &byte, 1));
    become(pe);
    shmemi_handout_close();
    int before = count_open(), fd = shmemi_handout_fetch(number, &expected);
    CHECK(result ? fd == result : fd >= 0);
    if (fd >= 0) {
        CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC && pwrite(fd, &pe, sizeof pe, 64 * pe) == sizeof pe);
        close(fd);
    }
    CHECK(count_open() == before);
    _exit(0);
}

static pid_t start_pe(int pe, uint64_t number, int result)
{
    return start_pe_after(-1, pe, number, result);
}

static void end_pe(pid_t child)
{
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static int connect_to(uint64_t number)
{
    struct sockaddr_un address;
    socklen_t length = shmemi_socket_address(number, &address);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && !connect(fd, (struct sockaddr *)&address, length));
    return fd;
}

/* A stranger's messages, with a descriptor beside each; it expects no answer but the end of the connection. */
static void ask_as_stranger(uint64_t number, struct shmemi_key key, uint64_t pe, size_t size)
{
    uint64_t words[32] = {key.word[0], key.word[1], pe};
    struct iovec vector = {words, size};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    const struct shmemi_descriptors enclosed = {.count = 1, .fd = {0}};
    union shmemi_enclosed room;
    char answer[256];
    int fd = connect_to(number);
    shmemi_socket_enclose(&message, &room, &enclosed, false);
    if (sendmsg(fd, &message, MSG_NOSIGNAL) >= 0)
        CHECK(recv(fd, answer, sizeof answer, 0) <= 0);
    close(fd);
}

/* They close the pipe when those of this user have been refused. */
static pid_t start_strangers(uint64_t number, int pipe_end)
{
    const struct shmemi_key key = shmemi_job.key, wrong = {{key.word[0], key.word[1] ^ 1}};
    pid_t child = fork();
    CHECK(child >= 0);
    if (child)
        return child;
    int silent = connect_to(number);
    ask_as_stranger(number, wrong, 1, 24);
    ask_as_stranger(number, key, 1, 23);
    ask_as_stranger(number, key, 1, 25);
    ask_as_stranger(number, key, PES, 24);
    close(pipe_end);
    if (!setresuid(OTHER_USER, OTHER_USER, OTHER_USER))
        for (int i = 0; i < 100; i++)
            ask_as_stranger(number, key, 1, 24); /* with the right key, even */
    close(silent);
    _exit(0);
}

static void check_handing_out(void)
{
    pid_t child[PES], strangers;
    uint64_t number;
    int ends[2], before = count_open(), segment = make_memory(SIZE, true);
    become(0);
    CHECK(!shmemi_handout_open(&number) && number && !pipe(ends));
    strangers = start_strangers(number, ends[1]);
    close(ends[1]);
    for (int pe = 1; pe < PES; pe++)
        child[pe] = start_pe_after(ends[0], pe, number, 0);
    close(ends[0]);
    CHECK(!shmemi_handout_serve(segment, &expected));
    for (int pe = 1, found = 0; pe < PES; pe++, found = 0) {
        end_pe(child[pe]);
        CHECK(pread(segment, &found, sizeof found, 64 * pe) == sizeof found && found == pe);
    }
    shmemi_handout_close();
    kill(strangers, SIGKILL); /* those who came after the end are not heard */
    waitpid(strangers, NULL, 0);
    close(segment);
    CHECK(count_open() == before);
}

/* Many who connect and say nothing, which any process of this user can do: they do not keep the places. */
static void check_crowd(void)
{
    uint64_t number;
    pid_t child[PES];
    int segment = make_memory(SIZE, true), crowd[CROWD];
    become(0);
    CHECK(!shmemi_handout_open(&number));
    for (int i = 0; i < CROWD; i++)
        crowd[i] = connect_to(number);
    for (int pe = 1; pe < PES; pe++)
        child[pe] = start_pe(pe, number, 0);
    CHECK(!shmemi_handout_serve(segment, &expected));
    for (int pe = 1; pe < PES; pe++)
        end_pe(child[pe]);
    for (int i = 0; i < CROWD; i++)
        close(crowd[i]);
    shmemi_handout_close();
    close(segment);
}

/* One answer to whoever connects. */
static pid_t serve_falsely(int listener, int segment, uint64_t key_change)
{
    struct {
        struct shmemi_key key;
        struct shmemi_handout handout;
    } answer = {shmemi_job.key, expected};
    const struct shmemi_descriptors enclosed = {.count = 1, .fd = {segment}};
    struct iovec vector = {&answer, sizeof answer};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    union shmemi_enclosed room;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child)
        return child;
    answer.key.word[1] ^= key_change;
    int visitor = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    char question[64];
    shmemi_socket_enclose(&message, &room, &enclosed, false);
    if (recv(visitor, question, sizeof question, 0) > 0)
        (void)!sendmsg(visitor, &message, MSG_NOSIGNAL);
    _exit(0);
}

/* A lowest PE with another key, of another user, or with memory that can still shrink. */
static void check_false_lowest(int wanted, bool is_sealed, uint64_t key_change, bool is_other_user)
{
    uint64_t number;
    int segment = make_memory(SIZE, is_sealed), listener = shmemi_socket_open(SOCK_SEQPACKET, false, &number);
    if (is_other_user && setresuid((uid_t)-1, OTHER_USER, (uid_t)-1))
        return;                                   /* there is no other user without root */
    CHECK(listener >= 0 && !listen(listener, 5)); /* the kernel notes the user here */
    CHECK(!is_other_user || !setresuid((uid_t)-1, 0, (uid_t)-1));
    pid_t server = serve_falsely(listener, segment, key_change);
    end_pe(start_pe(1, number, wanted));
    end_pe(server);
    close(listener);
    close(segment);
}

/* Strangers without a pause, until they are killed. */
static pid_t start_flood(uint64_t number)
{
    struct sockaddr_un address;
    socklen_t length = shmemi_socket_address(number, &address);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child)
        return child;
    if (setresuid(OTHER_USER, OTHER_USER, OTHER_USER))
        pause();
    for (;;) {
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        (void)connect(fd, (struct sockaddr *)&address, length);
        close(fd);
    }
}

/* A PE that never comes; the lowest one gives up in time, although others come all the time. */
static void check_missing(void)
{
    uint64_t number;
    int segment = make_memory(SIZE, true);
    become(0);
    shmemi_settings.timeout = 2;
    shmemi_init_begins();
    CHECK(!shmemi_handout_open(&number));
    pid_t child = start_pe(2, number, 0), flood = start_flood(number);
    CHECK(shmemi_handout_serve(segment, &expected) == -ETIMEDOUT);
    kill(flood, SIGKILL);
    waitpid(flood, NULL, 0);
    end_pe(child);
    shmemi_handout_close();
    close(segment);
}

int main(void)
{
    static int node_pes[PES], node_of[PES];
    for (int pe = 0; pe < PES; pe++)
        node_pes[pe] = pe;
    shmemi_job.n_pes = shmemi_job.node_n_pes = PES;
    shmemi_job.node_pes = node_pes;
    shmemi_job.node_of = node_of;
    CHECK(!shmemi_job_index_node());
    CHECK(!shmemi_key_make(&shmemi_job.key) && (shmemi_job.key.word[0] | shmemi_job.key.word[1]));
    shmemi_settings.timeout = 20;
    check_sound();
    check_handing_out();
    check_crowd();
    CHECK(shmemi_foreign_messages() >= 4);
    check_false_lowest(-EPROTO, true, 1, false);
    check_false_lowest(-EPROTO, false, 0, false);
    check_false_lowest(-EPERM, true, 0, true);
    check_missing();
    return 0;
}
