/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A start without a launcher, over real sockets. The server: visitors who greet, enter and speak rightly, wrongly, in part,
 * out of order, or go away. Who does not prove that he knows the key changes nothing; who does gets whole frames only. A
 * PE: a server that sends anything; the PE takes what makes sense, or ends. The real files, with the calls replaced that
 * would wait, or end the process.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <sys/socket.h>
#include <unistd.h>

static int poll_at_once(struct pollfd *list, nfds_t n, int timeout);
static _Noreturn void leave_process(int status);

#define poll poll_at_once
#define _exit leave_process
#include "bootstrap/rendezvous/rendezvous_server.c"
#include "bootstrap/rendezvous/rendezvous_client.c"
#undef poll
#undef _exit

enum { PES = 3, MOST_GUESTS = 8, MOST_FILES = 128, MOST_BYTES = 400 };

struct guest {
    int fd;
    bool has_greeted, is_right; /* it has proved that it knows the key */
    unsigned n_said;            /* messages, also parts of them */
    struct shmemi_key nonce;
};

static struct {
    struct fuzz_input *input;
    struct shmemi_venue venue;
    struct guest guests[MOST_GUESTS];
    int n, n_right;
    jmp_buf end_of_process;
} meeting;

static int poll_at_once(struct pollfd *list, nfds_t n, int timeout)
{
    (void)timeout;
    return poll(list, n, 0);
}

static _Noreturn void leave_process(int status)
{
    (void)status;
    longjmp(meeting.end_of_process, 1);
}

static unsigned count_files(void)
{
    unsigned n = 0;
    for (int fd = 0; fd < MOST_FILES; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* ---- The server -------------------------------------------------------------------------------------------------- */

static void send_some(struct guest *guest, const void *bytes, size_t size)
{
    guest->n_said++;
    if (guest->fd >= 0)
        send(guest->fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void arrive(void)
{
    struct guest *guest = &meeting.guests[meeting.n];
    if (meeting.n == MOST_GUESTS)
        return;
    *guest = (struct guest){.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    ALWAYS(guest->fd >= 0);
    if (connect(guest->fd, &meeting.venue.address.any, meeting.venue.length)) {
        close(guest->fd); /* all have come, or the job has ended */
        guest->fd = -1;
    }
    meeting.n++;
}

/* A byte of a message is another one, or its end is missing. True: it is right. */
static bool spoil(void *message, size_t *size_p)
{
    uint8_t odd = fuzz_byte(meeting.input);
    if (odd < 200)
        return true;
    uint8_t *byte = (uint8_t *)message + fuzz_below(meeting.input, *size_p), before = *byte;
    *byte = fuzz_byte(meeting.input);
    if (odd < 240)
        return *byte == before;
    *size_p = fuzz_below(meeting.input, *size_p);
    return false;
}

static void greet(struct guest *guest)
{
    struct shmemi_greeting greeting = {.magic = SHMEMI_GREETING_MAGIC, .nonce = {{fuzz_byte(meeting.input), 1}}};
    size_t size = sizeof greeting;
    guest->nonce = greeting.nonce;
    guest->has_greeted = spoil(&greeting, &size) && !guest->n_said;
    send_some(guest, &greeting, size);
}

static void enter(struct guest *guest, const struct shmemi_key *key)
{
    struct shmemi_challenge challenge;
    struct shmemi_entry entry;
    memset(&entry, 0, sizeof entry);
    bool is_answered = guest->fd >= 0 && guest->has_greeted && guest->n_said == 1 &&
                       recv(guest->fd, &challenge, sizeof challenge, MSG_DONTWAIT) == (ssize_t)sizeof challenge;
    if (!is_answered)
        return;
    const struct shmemi_key nonce[] = {guest->nonce, challenge.nonce};
    const struct shmemi_key proof = shmemi_rendezvous_proof(key, nonce, 0, NULL);
    ALWAYS(shmemi_key_equals(&proof, &challenge.proof));
    entry.pe = (uint32_t)fuzz_below(meeting.input, PES + 1);
    entry.n_pes = fuzz_byte(meeting.input) < 240 ? PES : (uint32_t)fuzz_number(meeting.input);
    entry.is_host = fuzz_byte(meeting.input) & 1;
    entry.n_pes = entry.n_pes < 1000 ? entry.n_pes : 1;
    entry.proof = shmemi_rendezvous_proof(key, nonce, 0, &entry);
    const struct shmemi_entry right = entry;
    size_t size = sizeof entry;
    spoil(&entry, &size);
    /* Padding is not proven; and what the guest says next may happen to be the end that is missing. */
    guest->is_right = size < sizeof entry || !memcmp(&entry, &right, offsetof(struct shmemi_entry, padding));
    meeting.n_right += guest->is_right;
    send_some(guest, &entry, size);
}

static void speak(struct guest *guest)
{
    static const uint32_t kinds[] = {SHMEMI_FRAME_GATHER, SHMEMI_FRAME_GATHER, SHMEMI_FRAME_GATHER, SHMEMI_FRAME_ASK,
                                     SHMEMI_FRAME_LEAVE,  SHMEMI_FRAME_END,    SHMEMI_FRAME_BYE,    99};
    struct {
        struct shmemi_frame frame;
        uint8_t bytes[MOST_BYTES];
    } message = {.frame = {.kind = kinds[fuzz_below(meeting.input, sizeof kinds / sizeof kinds[0])]}};
    message.frame.size = message.frame.kind == SHMEMI_FRAME_GATHER ? (uint32_t)fuzz_below(meeting.input, MOST_BYTES)
                         : message.frame.kind == SHMEMI_FRAME_END  ? sizeof(struct shmemi_end_of_job)
                                                                   : 0;
    size_t size = sizeof message.frame + message.frame.size;
    if (fuzz_byte(meeting.input) > 240)
        message.frame.size = (uint32_t)fuzz_word(meeting.input);
    send_some(guest, &message, size);
}

static void go(struct guest *guest)
{
    if (guest->fd >= 0)
        close(guest->fd);
    guest->fd = -1;
}

static void act(const struct shmemi_key *key)
{
    uint8_t what = fuzz_byte(meeting.input) % 8;
    struct guest *guest = &meeting.guests[meeting.n ? fuzz_below(meeting.input, (size_t)meeting.n) : 0];
    if (what < 2 || !meeting.n)
        arrive();
    else if (what == 2)
        greet(guest);
    else if (what == 3)
        enter(guest, key);
    else if (what < 7)
        speak(guest);
    else if (fuzz_byte(meeting.input) > 200)
        go(guest);
}

static void check_server(const struct shmemi_rendezvous_server *server)
{
    ALWAYS(server->n_members <= meeting.n_right && server->n_contributions <= server->n_members);
    ALWAYS(server->n_left <= server->n_members);
    ALWAYS(!server->n_left || !server->n_contributions);
    ALWAYS(meeting.n_right || (!server->n_pes && !server->end && server->listener >= 0));
    int n_members = 0;
    for (int i = 0; i < server->n; i++)
        n_members += is_member(server->visitors[i]);
    ALWAYS(n_members <= server->n_members);
}

/* A right guest has got whole frames of known kinds, or the beginning of the last one; others at most a challenge. */
static void check_guest(struct guest *guest)
{
    static uint8_t got[1 << 16];
    ssize_t n = guest->fd >= 0 ? recv(guest->fd, got, sizeof got, MSG_DONTWAIT) : 0;
    size_t at = 0, size = n > 0 ? (size_t)n : 0;
    struct shmemi_frame frame;
    ALWAYS(guest->is_right || size <= sizeof(struct shmemi_challenge));
    while (guest->is_right && size - at >= sizeof frame) {
        memcpy(&frame, got + at, sizeof frame);
        ALWAYS(frame.kind >= SHMEMI_FRAME_WELCOME && frame.kind <= SHMEMI_FRAME_END);
        at += sizeof frame;
        at = frame.size < size - at ? at + frame.size : size;
    }
    go(guest);
}

static void fuzz_server(void)
{
    const struct shmemi_key key = {{3, 4}};
    struct shmemi_rendezvous_server *server = calloc(1, sizeof *server);
    meeting.venue = shmemi_venue_named((uint64_t)getpid(), 0);
    ALWAYS(server);
    server->key = key;
    server->listener = shmemi_venue_listen(&meeting.venue);
    ALWAYS(server->listener >= 0 && !make_room(server));
    enlist(server);
    meeting.n = meeting.n_right = 0;
    while (meeting.input->size && !server->end) {
        act(&key);
        serve_some(server);
        check_server(server);
    }
    for (int i = 0; i < 4 && !(server->end && shmemi_server_is_over(server)); i++)
        serve_some(server);
    check_server(server);
    for (int i = 0; i < meeting.n; i++)
        check_guest(&meeting.guests[i]);
    stop_listening(server);
    release(server);
}

/* ---- A PE -------------------------------------------------------------------------------------------------------- */

static void fuzz_frames(void)
{
    int ends[2];
    ALWAYS(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
    client.fd = ends[0];
    client.pe = 1;
    client.n_pes = PES;
    while (meeting.input->size) {
        uint8_t bytes[MOST_BYTES] = {0};
        struct shmemi_frame frame = {(uint32_t)fuzz_below(meeting.input, 10), (uint32_t)fuzz_below(meeting.input, 64)};
        if (fuzz_byte(meeting.input) > 250)
            frame.size = (uint32_t)fuzz_number(meeting.input);
        memcpy(bytes, &frame, sizeof frame);
        for (size_t i = 0; i < 8; i++)
            bytes[sizeof frame + i] = fuzz_byte(meeting.input);
        send(ends[1], bytes, sizeof frame + (frame.size < 64 ? frame.size : 64), MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    close(ends[1]);
    if (!setjmp(meeting.end_of_process))
        while (read_frame())
            continue;
    close(ends[0]);
    free(client.answer);
    client.answer = NULL;
    client.kind = 0;
    client.is_over = false;
}

/* What all PEs have published, which the server says. */
static void fuzz_gathered(void)
{
    size_t offsets[PES + 1];
    struct shmemi_gathered all = {.offsets = offsets};
    const struct shmemi_gathered_head head = {(int32_t)fuzz_number(meeting.input),
                                              fuzz_byte(meeting.input) < 240 ? PES : fuzz_byte(meeting.input)};
    const size_t from = sizeof head + PES * sizeof(uint32_t);
    uint32_t sizes[PES];
    size_t total = 0;
    for (int pe = 0; pe < PES; pe++)
        total += sizes[pe] = (uint32_t)fuzz_number(meeting.input);
    size_t size =
        total < MOST_BYTES && fuzz_byte(meeting.input) < 240 ? from + total : fuzz_below(meeting.input, MOST_BYTES);
    uint8_t whole[MOST_BYTES + sizeof head + sizeof sizes] = {0}, *answer = fuzz_memory(size);
    memcpy(whole, &head, sizeof head);
    memcpy(whole + sizeof head, sizes, sizeof sizes);
    memcpy(answer, whole, size);
    client.n_pes = PES;
    int rc = unpack(answer, size, &all);
    ALWAYS(rc == 0 || rc == -EPROTO);
    ALWAYS(!rc == (size >= from && head.n_pes == PES && total == size - from));
    ALWAYS(client.host >= -1 && client.host < PES);
    ALWAYS(rc || (all.bytes == answer && offsets[0] == 0 && offsets[PES] == total));
    free(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    unsigned n_files = count_files();
    shmemi_log_hold(true); /* one line is enough of what is refused */
    meeting.input = &input;
    switch (fuzz_byte(&input) % 4) {
    case 0:
        fuzz_gathered();
        break;
    case 1:
        fuzz_frames();
        break;
    default:
        fuzz_server();
    }
    ALWAYS(count_files() == n_files);
    return 0;
}
