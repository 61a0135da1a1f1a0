/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Descriptors passed between the processes of a node: each gets those of all others, in order and with their sizes;
 * letters from outside are discarded with their descriptors; a process that cannot take part does not hold up the
 * others; nothing stays open.
 */
#define _GNU_SOURCE
#include "base/log.h"
#include "base/settings.h"
#include "bootstrap/job.h"
#include "transport/sockets/mailbox.h"
#include "transport/sockets/sockets.h"
#include "tests/patience.h"
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES_MAX = 40, OTHER_USER = 65534 };

/* What the processes share: their labels, and a barrier. */
struct common {
    struct shmemi_mailbox_label label[PROCESSES_MAX];
    atomic_int arrived[4];
};

static struct common *common;
static int node_pes[PROCESSES_MAX];

static void meet(int where)
{
    atomic_fetch_add(&common->arrived[where], 1);
    for (unsigned turns = 0; atomic_load(&common->arrived[where]) < shmemi_job.node_n_pes;)
        wait_a_turn(&turns);
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

/* A file whose contents say who made it and which one it is. */
static int make_file(int sender, unsigned number)
{
    int text[2] = {sender, (int)number};
    int fd = memfd_create("descriptor", MFD_CLOEXEC);
    CHECK(fd >= 0 && write(fd, text, sizeof text) == sizeof text);
    return fd;
}

static void check_file(int fd, int sender, unsigned number)
{
    int text[2];
    CHECK(pread(fd, text, sizeof text, 0) == sizeof text && text[0] == sender && text[1] == (int)number);
    CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC);
}

static struct shmemi_descriptors make_descriptors(unsigned count)
{
    struct shmemi_descriptors mine = {.count = count};
    for (unsigned i = 0; i < count; i++) {
        mine.fd[i] = make_file(shmemi_job.node_rank, i);
        mine.size[i] = (uint64_t)(shmemi_job.node_rank + 1) << 32 | i;
    }
    return mine;
}

static void check_received(struct shmemi_descriptors *received, int sender, unsigned count)
{
    CHECK(received->count == count);
    for (unsigned i = 0; i < count; i++) {
        check_file(received->fd[i], sender, i);
        CHECK(received->size[i] == ((uint64_t)(sender + 1) << 32 | i));
    }
    shmemi_descriptors_close(received);
    CHECK(received->count == 0);
}

/* ---- letters of others ------------------------------------------------------------------------------------------- */

/* A descriptor beside words that look like a letter of a PE of this job, whose token is not known. */
static void send_foreign(size_t size, struct shmemi_key key, uint64_t token, uint32_t sender)
{
    uint64_t words[128] = {key.word[0], key.word[1], token, (uint64_t)1 << 32 | sender};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct sockaddr_un address;
    struct iovec vector = {words, size};
    struct msghdr message = {
        &address, shmemi_socket_address(common->label[0].socket, &address), &vector, 1, &control, sizeof control, 0};
    int fd = make_file(-1, 0), from = socket(AF_UNIX, SOCK_DGRAM, 0);
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &fd, sizeof fd);
    CHECK(sendmsg(from, &message, MSG_DONTWAIT) == (ssize_t)size);
    close(fd);
    close(from);
}

/* Everything in it is right, but the kernel says that another user sends it. Without root there is no other user. */
static void send_as_another_user(size_t size, struct shmemi_key key, uint64_t token, uint32_t sender)
{
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (!child) {
        if (!setresuid(OTHER_USER, OTHER_USER, OTHER_USER))
            send_foreign(size, key, token, sender);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void send_all_foreign(void)
{
    enum { LETTER = 32 + 8 * SHMEMI_DESCRIPTORS_MAX };
    const struct shmemi_key key = shmemi_job.key, first = {{key.word[0] + 1, key.word[1]}},
                            second = {{key.word[0], key.word[1] ^ 1}};
    const uint64_t token = common->label[1].token;
    send_foreign(1, (struct shmemi_key){{0, 0}}, 0, 0);
    send_foreign(LETTER, key, 12345, 1);
    send_foreign(LETTER, key, 0, 1);
    send_foreign(LETTER, first, token, 1);
    send_foreign(LETTER, second, token, 1);
    send_foreign(LETTER, key, token, 9999);
    send_foreign(LETTER + 8, key, token, 1);
    send_as_another_user(LETTER, key, token, 1);
}

static unsigned long n_foreign(void)
{
    return geteuid() == 0 ? 8 : 7;
}

/* ---- cases ------------------------------------------------------------------------------------------------------- */

/* How many descriptors a process has to pass on. */
typedef unsigned (*count_func_t)(int node_rank);

static unsigned one_each(int node_rank)
{
    (void)node_rank;
    return 1;
}

static unsigned various(int node_rank)
{
    return node_rank == 1 ? SHMEMI_DESCRIPTORS_MAX : node_rank == 2 ? 0 : (unsigned)node_rank;
}

struct scenario {
    const char *name;
    int n;
    count_func_t count;
    bool has_foreign;  /* process 0 gets foreign letters */
    int poor, without; /* has no room for descriptors; has no mailbox; -1: none */
};

/* Prevent this process from opening further files. */
static void limit_files(void)
{
    int next = dup(0);
    struct rlimit limit = {(rlim_t)next, (rlim_t)next};
    close(next);
    CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
}

static bool takes_part(const struct scenario *scenario, int node_rank)
{
    return node_rank != scenario->without;
}

static void run_process(const struct scenario *scenario, int rank)
{
    static struct shmemi_descriptors received[PROCESSES_MAX];
    shmemi_job.pe = node_pes[rank];
    shmemi_job.node_rank = rank;
    shmemi_log_set_pe(shmemi_job.pe);
    int before = count_open();
    struct shmemi_descriptors mine = make_descriptors(scenario->count(rank));
    if (takes_part(scenario, rank))
        shmemi_mailbox_open(&common->label[rank]);
    CHECK(!takes_part(scenario, rank) || common->label[rank].token);
    common->label[rank].n_enclosed = mine.count;
    if (rank == scenario->poor)
        limit_files();
    meet(0);
    if (rank == 0 && scenario->has_foreign)
        send_all_foreign();
    meet(1);
    shmemi_mailbox_exchange(&mine, common->label, received);
    for (int i = 0; i < scenario->n; i++) {
        bool comes = i != rank && takes_part(scenario, i) && takes_part(scenario, rank) && rank != scenario->poor;
        check_received(&received[i], i, comes ? scenario->count(i) : 0);
    }
    shmemi_descriptors_close(&mine);
    CHECK(shmemi_foreign_messages() == (rank == 0 && scenario->has_foreign ? n_foreign() : 0));
    meet(2);
    shmemi_mailbox_close();
    CHECK(rank == scenario->poor || count_open() == before);
    _exit(0);
}

static void run(const struct scenario *scenario)
{
    pid_t child[PROCESSES_MAX];
    int n_failed = 0;
    memset(common, 0, sizeof *common);
    shmemi_job.key.word[0]++;
    shmemi_job.node_n_pes = scenario->n;
    for (int i = 0; i < scenario->n; i++) {
        child[i] = fork();
        CHECK(child[i] >= 0);
        if (!child[i]) {
            alarm(60);
            run_process(scenario, i);
        }
    }
    for (int i = 0; i < scenario->n; i++) {
        int status = 1;
        CHECK(waitpid(child[i], &status, 0) == child[i]);
        n_failed += status != 0;
    }
    printf("%s: %d of %d processes failed\n", scenario->name, n_failed, scenario->n);
    CHECK(!n_failed);
}

int main(void)
{
    static const struct scenario scenarios[] = {
        {"one each", 4, one_each, false, -1, -1},
        {"none, several and as many as there can be", 5, various, false, -1, -1},
        {"more than sockets hold", PROCESSES_MAX, one_each, false, -1, -1},
        {"foreign letters", 3, one_each, true, -1, -1},
        {"one cannot open more files", 4, one_each, false, 2, -1},
        {"one has no socket", 4, one_each, false, -1, 1},
    };
    common = mmap(NULL, sizeof *common, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(common != MAP_FAILED);
    for (int i = 0; i < PROCESSES_MAX; i++)
        node_pes[i] = 3 * i + 1;
    shmemi_job.node_pes = node_pes;
    shmemi_job.key.word[1] = (uint64_t)getpid() << 32;
    shmemi_job.n_pes = 3 * PROCESSES_MAX;
    shmemi_settings.timeout = 20;
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
        run(&scenarios[i]);
    return 0;
}
