/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Start-up by PMI-1 with a thread as the launcher: this process is PE 0 of 2, and PE 1 publishes whatever PE 0 does.
 * The launcher allows only short values, so everything is sent in pieces; at the end it refuses, is silent, and hangs
 * up.
 */
#include "base/log.h"
#include "base/settings.h"
#include "bootstrap/bootstrap.h"
#include "bootstrap/deadline.h"
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { VALUE_MAX = 64, MAX_PAIRS = 4096, SIZE = 5000 };
enum behaviour { HELPFUL, REFUSING, SILENT };

static struct {
    char key[40], value[VALUE_MAX + 1];
} pairs[MAX_PAIRS];
static int n_pairs;
static _Atomic enum behaviour behaviour;
static atomic_int n_inits, n_finalizes;

/* Stores the same key for PE 1. */
static void store(const char *key, const char *value)
{
    unsigned round, pe, piece;
    CHECK(n_pairs + 2 <= MAX_PAIRS && strlen(value) < VALUE_MAX);
    CHECK(sscanf(key, "mapshmem-%u-%u-%u", &round, &pe, &piece) == 3 && pe == 0);
    for (int i = 0; i < n_pairs; i++)
        CHECK(strcmp(pairs[i].key, key)); /* PMI accepts a key only once */
    for (pe = 0; pe < 2; pe++) {
        snprintf(pairs[n_pairs].key, sizeof pairs[0].key, "mapshmem-%u-%u-%u", round, pe, piece);
        snprintf(pairs[n_pairs++].value, sizeof pairs[0].value, "%s", value);
    }
}

static void answer_get(const char *key, char *answer, size_t size)
{
    for (int i = 0; i < n_pairs; i++)
        if (!strcmp(pairs[i].key, key)) {
            snprintf(answer, size, "cmd=get_result rc=0 msg=success value=%s\n", pairs[i].value);
            return;
        }
    snprintf(answer, size, "cmd=get_result rc=-1 msg=key_%s_not_found value=unknown\n", key);
}

static void answer_line(const char *line, char *answer, size_t size)
{
    char key[40], value[VALUE_MAX + 1];
    const char *reply = "";
    *answer = '\0';
    if (!strcmp(line, "cmd=init pmi_version=1 pmi_subversion=1"))
        reply = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n", n_inits++;
    else if (!strcmp(line, "cmd=get_maxes"))
        reply = "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=64\n";
    else if (!strcmp(line, "cmd=get_my_kvsname"))
        reply = "cmd=my_kvsname kvsname=kvs_7\n";
    else if (!strcmp(line, "cmd=barrier_in"))
        reply = behaviour == REFUSING ? "cmd=barrier_out rc=-1\n" : "cmd=barrier_out\n";
    else if (!strcmp(line, "cmd=finalize"))
        reply = "cmd=finalize_ack\n", n_finalizes++;
    else if (sscanf(line, "cmd=put kvsname=kvs_7 key=%39s value=%64s", key, value) == 2)
        store(key, value), reply = "cmd=put_result rc=0 msg=success\n";
    else if (sscanf(line, "cmd=get kvsname=kvs_7 key=%39s", key) == 1)
        answer_get(key, answer, size);
    else
        CHECK(!"a line that PMI does not know");
    if (*reply)
        snprintf(answer, size, "%s", reply);
}

static void *play_launcher(void *fd_p)
{
    int fd = *(int *)fd_p;
    char line[512], answer[512];
    FILE *stream = fdopen(fd, "r");
    CHECK(stream);
    while (fgets(line, sizeof line, stream)) {
        line[strcspn(line, "\n")] = '\0';
        if (behaviour == SILENT)
            break;
        answer_line(line, answer, sizeof answer);
        /* in two halves: a line need not arrive as a whole */
        size_t size = strlen(answer), half = size / 2;
        CHECK(write(fd, answer, half) == (ssize_t)half);
        CHECK(write(fd, answer + half, size - half) == (ssize_t)(size - half));
    }
    return NULL;
}

static void set_number(const char *name, int number)
{
    char text[16];
    snprintf(text, sizeof text, "%d", number);
    setenv(name, text, 1);
}

static void check_job(const unsigned char *value, size_t size)
{
    int pe = -1, n_pes = -1, node_of[2];
    unsigned char found[SIZE];
    const struct shmemi_bootstrap *pmi = &shmemi_bootstrap_pmi;
    CHECK(pmi->open(&pe, &n_pes) == 0);
    CHECK(pe == 0 && n_pes == 2);
    CHECK(pmi->nodes(node_of) == 0 && node_of[0] == 0 && node_of[1] == 0);
    CHECK(pmi->put("address", value, size) == 0);
    CHECK(pmi->fence() == 0);
    for (pe = 0; pe < 2; pe++) {
        size_t found_size = sizeof found;
        CHECK(pmi->get(pe, "address", found, &found_size) == 0);
        CHECK(found_size == size && !memcmp(found, value, size));
    }
    pmi->close();
}

/* Errors come back at once or after the time limit, and never as a hang. */
static void check_failures(void)
{
    int pe, n_pes;
    const struct shmemi_bootstrap *pmi = &shmemi_bootstrap_pmi;
    CHECK(pmi->open(&pe, &n_pes) == 0);
    behaviour = REFUSING;
    CHECK(pmi->fence() == -EPROTO);
    behaviour = SILENT;
    shmemi_settings.timeout = 1;
    shmemi_init_begins();
    CHECK(pmi->fence() == -ETIMEDOUT);
    pmi->close();
}

int main(void)
{
    int ends[2];
    pthread_t launcher;
    unsigned char value[SIZE];
    for (int i = 0; i < SIZE; i++)
        value[i] = (unsigned char)(i * 11 + i / 256);
    shmemi_settings_preview();
    shmemi_settings.bootstrap = SHMEMI_BOOTSTRAP_AUTO;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    set_number("PMI_FD", ends[0]);
    set_number("PMI_RANK", 0);
    set_number("PMI_SIZE", 2);
    CHECK(pthread_create(&launcher, NULL, play_launcher, &ends[1]) == 0);
    for (size_t size = 0; size <= 100; size += 10) /* around the size of a piece, too */
        check_job(value, size);
    check_job(value, SIZE);
    CHECK(n_inits == 1 && n_finalizes == 0); /* one connection for all rounds */
    shmemi_log_hold(true);                   /* the refusals are expected */
    check_failures();
    CHECK(pthread_join(launcher, NULL) == 0);
    shutdown(ends[1], SHUT_RDWR);
    CHECK(shmemi_bootstrap_pmi.open(&(int){0}, &(int){0}) == -EPIPE);
    return 0;
}
