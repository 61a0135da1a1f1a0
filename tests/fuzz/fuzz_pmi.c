/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Start-up by PMI-1 with a launcher that is broken or hostile, and PEs that publish anything: the launcher is at the
 * other end of a socket pair, answers rightly, wrongly, in pieces, not at all, or hangs up. Start-up succeeds with
 * sensible numbers or fails; it neither waits for ever nor leaves its memory. The real file, with two calls replaced:
 * sending lets the launcher read, and waiting lets it answer, so that no time passes.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static ssize_t send_and_answer(int fd, const void *line, size_t size, int flags);
static int poll_launcher(struct pollfd *polled, nfds_t n, int timeout);
static int do_at_exit(void (*function)(void));

#define send send_and_answer
#define poll poll_launcher
#define atexit do_at_exit
#include "bootstrap/pmi.c"
#undef send
#undef poll
#undef atexit

enum { MOST_PAIRS = 64, MOST_ASKS = 400, MOST_BYTES = 300, PES = 4 };

static struct {
    struct fuzz_input *input;
    int socket;         /* its end */
    unsigned value_max; /* that it has announced */
    int asks;
    struct {
        char key[64], value[PIECE_HEX_MAX + 64];
    } pairs[MOST_PAIRS]; /* what this PE has put */
    int n_pairs;
    char answer[2 * LINE_BYTES]; /* not sent yet */
    size_t at, end;
} launcher;

static int do_at_exit(void (*function)(void))
{
    (void)function; /* called at the end of each input instead */
    return 0;
}

static void add(const char *bytes, size_t size)
{
    if (size > sizeof launcher.answer - launcher.end)
        size = sizeof launcher.answer - launcher.end;
    memcpy(launcher.answer + launcher.end, bytes, size);
    launcher.end += size;
}

static void add_text(const char *text)
{
    add(text, strlen(text));
}

static void store(const char *key, const char *value)
{
    if (launcher.n_pairs == MOST_PAIRS)
        return;
    ALWAYS(strlen(value) < sizeof launcher.pairs[0].value);
    strcpy(launcher.pairs[launcher.n_pairs].key, key);
    strcpy(launcher.pairs[launcher.n_pairs++].value, value);
}

/* What this PE has put for the same round and piece: another PE would publish much the same. */
static const char *find(unsigned round, unsigned piece)
{
    char key[64];
    snprintf(key, sizeof key, "mapshmem-%u-%d-%u", round, rank, piece);
    for (int i = 0; i < launcher.n_pairs; i++)
        if (!strcmp(launcher.pairs[i].key, key))
            return launcher.pairs[i].value;
    return "0.";
}

/* Some digits of a value are others, it is cut off, longer, or its number of bytes is wrong. */
static void spoil_value(char *value, size_t room)
{
    struct fuzz_input *input = launcher.input;
    static const char digits[] = "0123456789abcdefgF. ";
    size_t length = strlen(value);
    char *dot = strchr(value, '.'), rest[PIECE_HEX_MAX + 32];
    switch (fuzz_byte(input) % 4) {
    case 0:
        for (size_t n = fuzz_below(input, 16); n && length; n--)
            value[fuzz_below(input, length)] = digits[fuzz_below(input, sizeof digits - 1)];
        break;
    case 1:
        value[fuzz_below(input, length + 1)] = '\0';
        break;
    case 2:
        for (size_t n = fuzz_byte(input); n && length < room - 1; n--)
            value[length++] = '7';
        value[length] = '\0';
        break;
    default:
        snprintf(rest, sizeof rest, "%s", dot ? dot + 1 : value);
        snprintf(value, room, "%llu.%s", (unsigned long long)fuzz_number(input), rest);
    }
}

static void answer_get(const char *key)
{
    unsigned round, pe, piece;
    char value[PIECE_HEX_MAX + 64] = "";
    if (sscanf(key, "mapshmem-%u-%u-%u", &round, &pe, &piece) == 3)
        snprintf(value, sizeof value, "%s", find(round, piece));
    if (fuzz_byte(launcher.input) >= 128)
        spoil_value(value, sizeof value);
    add_text("cmd=get_result rc=0 msg=success value=");
    add_text(value);
    add_text("\n");
}

static void answer_maxes(void)
{
    static const unsigned choices[] = {1024, 64, 65, 100, 256, 2048, 4096, 4120, 8000, 63, 0, 1u << 31};
    char line[80];
    launcher.value_max = choices[fuzz_below(launcher.input, sizeof choices / sizeof *choices)];
    snprintf(line, sizeof line, "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=%u\n", launcher.value_max);
    add_text(line);
}

static void answer_rightly(const char *line)
{
    static char value[LINE_BYTES];
    char key[64];
    if (!strncmp(line, "cmd=init", 8))
        add_text("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
    else if (!strncmp(line, "cmd=get_maxes", 13))
        answer_maxes();
    else if (!strncmp(line, "cmd=get_my_kvsname", 18))
        add_text("cmd=my_kvsname kvsname=kvs_7\n");
    else if (!strncmp(line, "cmd=barrier_in", 14))
        add_text("cmd=barrier_out rc=0\n");
    else if (!strncmp(line, "cmd=finalize", 12))
        add_text("cmd=finalize_ack\n");
    else if (sscanf(line, "cmd=put kvsname=%*s key=%63s value=%8191s", key, value) == 2)
        store(key, value), add_text("cmd=put_result rc=0 msg=success\n");
    else if (sscanf(line, "cmd=get kvsname=%*s key=%63s", key) == 1)
        answer_get(key);
}

/* Any bytes, with the words of the protocol among them; most often a line. */
static void answer_anything(void)
{
    static const char *const words[] = {
        "cmd=",         "get_result", "barrier_out",      " rc=", "0", " value=", " kvsname=", "maxes",
        " vallen_max=", "my_kvsname", "response_to_init", "\n"};
    struct fuzz_input *input = launcher.input;
    for (size_t n = fuzz_below(input, 24); n; n--) {
        uint8_t what = fuzz_byte(input);
        if (what < 128)
            add_text(words[what % (sizeof words / sizeof *words)]);
        else if (what < 250)
            add((const char *)&what, 1), launcher.answer[launcher.end ? launcher.end - 1 : 0] = (char)(what - 100);
        else
            for (size_t i = fuzz_byte(input) * (size_t)40; i; i--)
                add_text("x");
    }
    if (fuzz_byte(input) < 200)
        add_text("\n");
}

static ssize_t send_and_answer(int to, const void *line, size_t size, int flags)
{
    char asked[LINE_BYTES + 1];
    ssize_t sent = send(to, line, size, flags);
    ssize_t got = sent > 0 ? recv(launcher.socket, asked, sizeof asked - 1, MSG_DONTWAIT) : -1;
    if (got <= 0)
        return sent;
    asked[got] = '\0';
    ALWAYS(asked[got - 1] == '\n' && strlen(asked) == (size_t)got); /* a whole line, as it says itself */
    launcher.at = launcher.end = 0;
    uint8_t choice = fuzz_byte(launcher.input);
    if (++launcher.asks > MOST_ASKS || choice >= 252)
        return sent; /* no answer */
    if (choice < 240)
        answer_rightly(asked);
    else
        answer_anything();
    return sent;
}

/* Wait for the launcher: the next part of its answer comes, or its end of the connection is closed, or time is up. */
static int poll_launcher(struct pollfd *polled, nfds_t n, int timeout)
{
    (void)n, (void)timeout;
    size_t left = launcher.end - launcher.at, part = left;
    polled->revents = POLLIN;
    if (fuzz_byte(launcher.input) >= 224)
        part = fuzz_below(launcher.input, left + 1);
    if (part) {
        ALWAYS(write(launcher.socket, launcher.answer + launcher.at, part) == (ssize_t)part);
        launcher.at += part;
        return 1;
    }
    if (!left && fuzz_byte(launcher.input) & 1)
        return shutdown(launcher.socket, SHUT_RDWR), 1;
    return 0;
}

/* ---- One input --------------------------------------------------------------------------------------------------- */

static void set_number(const char *name, int number)
{
    char text[16];
    snprintf(text, sizeof text, "%d", number);
    setenv(name, text, 1);
}

static void use(struct fuzz_input *input, int n_pes)
{
    const struct shmemi_bootstrap *pmi = &shmemi_bootstrap_pmi;
    int node_of[PES];
    size_t size = fuzz_below(input, MOST_BYTES);
    unsigned char *bytes = fuzz_memory(size);
    memset(bytes, 0xa5, size);
    ALWAYS(!pmi->nodes(node_of) && node_of[0] == 0);
    for (int pe = 1; pe < n_pes; pe++)
        ALWAYS(node_of[pe] >= 0 && node_of[pe] <= pe);
    ALWAYS(!pmi->put("address", bytes, size) && !pmi->put("more", "x", 1));
    bool is_there = !pmi->fence();
    for (int pe = 0; pe < n_pes; pe++) {
        size_t room = fuzz_below(input, MOST_BYTES), found_size = room;
        unsigned char *found = fuzz_memory(room);
        int rc = pmi->get(pe, fuzz_byte(input) & 1 ? "address" : "more", found, &found_size);
        ALWAYS(rc ? rc < 0 : is_there && found_size <= room);
        free(found);
    }
    free(bytes);
}

static void reset(int *pair)
{
    if (fd >= 0 && fcntl(fd, F_GETFD) >= 0)
        close(fd);
    close(pair[0]);
    close(pair[1]);
    fd = -1;
    round_number = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    int pair[2], pe = -1, n_pes = -1, wanted = 2 + (int)fuzz_below(&input, PES - 1);
    shmemi_log_hold(true); /* one line is enough of what is refused */
    shmemi_settings.timeout = 1;
    ALWAYS(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    launcher.input = &input;
    launcher.socket = pair[1];
    launcher.asks = launcher.n_pairs = 0;
    launcher.at = launcher.end = 0;
    set_number("PMI_FD", pair[0]);
    set_number("PMI_SIZE", wanted);
    set_number("PMI_RANK", (int)fuzz_below(&input, (size_t)wanted));
    int rc = shmemi_bootstrap_pmi.open(&pe, &n_pes);
    if (!rc) {
        ALWAYS(n_pes == wanted && pe >= 0 && pe < n_pes);
        use(&input, n_pes);
        shmemi_bootstrap_pmi.close();
        disconnect();
    }
    ALWAYS(rc <= 0);
    reset(pair);
    return 0;
}
