/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Start by the variables of torchrun, which other launchers of PyTorch programs set as well: RANK, WORLD_SIZE,
 * MASTER_ADDR, MASTER_PORT; PE 0 has the server.
 *
 * On one machine the PEs meet at a name of that machine's, and the kernel tells each end that the other one is a process
 * of this user. Over several machines nothing that torchrun gives is a secret, so there must be a file with one
 * (SHMEM_KEY_FILE), from which and from the variables each PE makes the key; the places are ports above MASTER_PORT, at
 * which torchrun itself listens. Others may have taken some of the names or ports: PE 0 takes the first that is free, and
 * the others go on until they have found who knows the key.
 */
#define _GNU_SOURCE
#include "bootstrap/rendezvous/torchrun.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/settings.h"
#include "bootstrap/bootstrap.h"
#include "bootstrap/rendezvous/kept_sockets.h"
#include "bootstrap/rendezvous/rendezvous.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PORTS = 16, SECRET_LEAST = 16, SECRET_MOST = 4096, PORT_MOST = 65535 };

/* What the variables say. */
struct torchrun_job {
    int rank, size, port;
    const char *address;
    bool is_on_one_machine;
};

static bool is_set(const char *name)
{
    return getenv(name) && *getenv(name);
}

/* The first of the variables that is not set; NULL: all are. */
static const char *missing_variable(void)
{
    static const char *const names[] = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!is_set(names[i]))
            return names[i];
    return NULL;
}

int shmemi_torchrun_size(void)
{
    return missing_variable() ? 0 : atoi(getenv("WORLD_SIZE"));
}

/* One of several processes must not run alone because a variable was forgotten. A single variable, or those of one process,
 * may have been set for other uses. */
static int judge_without(const char *missing)
{
    const int n_set = is_set("RANK") + is_set("WORLD_SIZE") + is_set("MASTER_ADDR") + is_set("MASTER_PORT");
    const bool is_meant = is_set("WORLD_SIZE") ? n_set > 1 && atoi(getenv("WORLD_SIZE")) > 1 : n_set > 2;
    if (!is_meant)
        return -ENODEV;
    shmemi_error(
        "%s is not set, and other variables of torchrun are: a start by them needs RANK, WORLD_SIZE, MASTER_ADDR "
        "and MASTER_PORT; to run a single PE, set SHMEM_BOOTSTRAP=single",
        missing);
    return -EINVAL;
}

/* A whole number from least to most. 0 or -EINVAL, logged. */
static int read_number(const char *name, int least, int most, int *number_p)
{
    const char *text = getenv(name);
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (isdigit((unsigned char)*text) && !*end && !errno && number >= least && number <= most) {
        *number_p = (int)number;
        return 0;
    }
    shmemi_error("%s=%s in the environment is not a number from %d to %d; to start a single PE, unset RANK or set "
                 "SHMEM_BOOTSTRAP=single",
                 name, text, least, most);
    return -EINVAL;
}

static bool is_loopback(const char *address)
{
    return !strcmp(address, "localhost") || !strncmp(address, "127.", 4) || !strcmp(address, "::1");
}

static int read_job(struct torchrun_job *job)
{
    int local_size = 0, rc = read_number("WORLD_SIZE", 1, INT_MAX, &job->size);
    if (!rc)
        rc = read_number("RANK", 0, job->size - 1, &job->rank);
    if (!rc)
        rc = read_number("MASTER_PORT", 1, PORT_MOST, &job->port);
    if (!rc && getenv("LOCAL_WORLD_SIZE"))
        rc = read_number("LOCAL_WORLD_SIZE", 1, job->size, &local_size);
    job->address = getenv("MASTER_ADDR");
    job->is_on_one_machine = local_size ? local_size == job->size : is_loopback(job->address);
    return rc;
}

/* ---- The key ----------------------------------------------------------------------------------------------------- */

static int open_secret(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc = 0;
    if (fd < 0) {
        rc = -errno;
        shmemi_error("SHMEM_KEY_FILE=%s: %m", path);
        return rc;
    }
    if (!fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_uid == geteuid() && !(status.st_mode & 077))
        return fd;
    shmemi_error("SHMEM_KEY_FILE=%s must be a file of this user that nobody else can read: chmod 600", path);
    close(fd);
    return -EACCES;
}

/* The key that the bytes of the file make. */
static int read_secret(const char *path, struct shmemi_key *key)
{
    static const struct shmemi_key none;
    unsigned char bytes[SECRET_MOST + 1];
    int fd = open_secret(path);
    if (fd < 0)
        return fd;
    ssize_t n = TEMP_FAILURE_RETRY(read(fd, bytes, sizeof bytes));
    close(fd);
    if (n >= SECRET_LEAST && n <= SECRET_MOST)
        *key = shmemi_keyed_hash(&none, bytes, (size_t)n);
    explicit_bzero(bytes, sizeof bytes);
    if (n >= SECRET_LEAST && n <= SECRET_MOST)
        return 0;
    shmemi_error("SHMEM_KEY_FILE=%s must have %d to %d bytes that nobody can guess: head -c 32 /dev/urandom", path,
                 SECRET_LEAST, SECRET_MOST);
    return -EINVAL;
}

/* Jobs with one secret, and restarts of a job, have different keys. */
static void derive_key(const struct torchrun_job *job, struct shmemi_key *key)
{
    char text[1024];
    const char *id = getenv("TORCHELASTIC_RUN_ID"), *restarts = getenv("TORCHELASTIC_RESTART_COUNT");
    snprintf(text, sizeof text, "torchrun %s %d %d %s %s", job->address, job->port, job->size, restarts ? restarts : "",
             id ? id : "");
    *key = shmemi_keyed_hash(key, text, strlen(text));
}

static int make_key(const struct torchrun_job *job, struct shmemi_key *key)
{
    int rc = *shmemi_settings.key_file ? read_secret(shmemi_settings.key_file, key) : 0;
    if (!rc && !*shmemi_settings.key_file && !job->is_on_one_machine) {
        shmemi_error(
            "torchrun has started this job on several machines, and gives no secret by which PEs recognise each "
            "other: SHMEM_KEY_FILE must name a file with the same random bytes on all of them "
            "(doc/cluster.md); or start with oshrun");
        rc = -ENOKEY;
    }
    if (!rc)
        derive_key(job, key);
    return rc;
}

/* ---- The places -------------------------------------------------------------------------------------------------- */

static int port_of_venue(const struct torchrun_job *job, int i)
{
    return job->port + PORTS <= PORT_MOST ? job->port + 1 + i : job->port - 1 - i;
}

static void list_names(struct shmemi_ticket *ticket)
{
    ticket->n_venues = SHMEMI_VENUES_MAX;
    for (int i = 0; i < SHMEMI_VENUES_MAX; i++)
        ticket->venues[i] = shmemi_venue_named(ticket->key.word[0] ^ ticket->key.word[1], (unsigned)i);
}

/* PE 0 listens at all its addresses, the others look for it at the address that torchrun gives. */
static int list_addresses(const struct torchrun_job *job, struct shmemi_ticket *ticket)
{
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int error = getaddrinfo(job->address, NULL, &wanted, &found);
    if (error) {
        shmemi_error("MASTER_ADDR=%s: %s", job->address, gai_strerror(error));
        return -EADDRNOTAVAIL;
    }
    for (int i = 0; i < PORTS; i++)
        for (const struct addrinfo *at = found; at && ticket->n_venues < SHMEMI_VENUES_MAX; at = at->ai_next)
            if (at->ai_addrlen <= sizeof ticket->venues[0].address) {
                struct shmemi_venue *venue = &ticket->venues[ticket->n_venues++];
                memcpy(&venue->address, at->ai_addr, venue->length = at->ai_addrlen);
                shmemi_venue_set_port(venue, (uint16_t)port_of_venue(job, i));
            }
    freeaddrinfo(found);
    return 0;
}

/* ---- The server -------------------------------------------------------------------------------------------------- */

static int listen_at_port(int port)
{
    static const int families[] = {AF_INET6, AF_INET};
    int fd = -EAFNOSUPPORT;
    for (int i = 0; i < 2 && fd < 0 && fd != -EADDRINUSE; i++) {
        struct shmemi_venue venue = shmemi_venue_everywhere(families[i]);
        shmemi_venue_set_port(&venue, (uint16_t)port);
        fd = shmemi_venue_listen(&venue);
    }
    return fd;
}

static int serve(const struct torchrun_job *job, const struct shmemi_ticket *ticket)
{
    const int n = job->is_on_one_machine ? ticket->n_venues : PORTS;
    int fd = -EADDRINUSE;
    for (int i = 0; i < n && fd == -EADDRINUSE; i++)
        fd = job->is_on_one_machine ? shmemi_venue_listen(&ticket->venues[i]) : listen_at_port(port_of_venue(job, i));
    if (fd >= 0)
        return shmemi_rendezvous_serve(fd, &ticket->key);
    errno = -fd;
    shmemi_error("cannot listen for the other PEs near MASTER_PORT=%d: %m%s", job->port, shmemi_remedy(-fd));
    return fd;
}

static int torchrun_open(int *pe_p, int *n_pes_p)
{
    static struct shmemi_ticket ticket; /* static: it is large */
    struct torchrun_job job;
    const char *missing = missing_variable();
    int rc = missing ? judge_without(missing) : read_job(&job);
    if (rc)
        return rc;
    if (job.size == 1 && shmemi_settings.bootstrap == SHMEMI_BOOTSTRAP_AUTO)
        return -ENODEV; /* a single PE meets nobody */
    shmemi_log_set_pe(job.rank);
    ticket = (struct shmemi_ticket){.pe = job.rank, .n_pes = job.size, .is_patient = true, .is_host = !job.rank};
    rc = make_key(&job, &ticket.key);
    if (!rc && job.is_on_one_machine)
        list_names(&ticket);
    else if (!rc)
        rc = list_addresses(&job, &ticket);
    if (!rc && !job.rank)
        rc = serve(&job, &ticket);
    if (!rc)
        rc = shmemi_rendezvous_join(&ticket);
    *pe_p = job.rank;
    *n_pes_p = job.size;
    return rc;
}

const struct shmemi_bootstrap shmemi_bootstrap_torchrun = {
    .name = "torchrun",
    .open = torchrun_open,
    SHMEMI_RENDEZVOUS_MEMBERS,
};
