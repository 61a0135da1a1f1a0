/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes the events of a trace, and names the processes and threads in it.
 */
#include "instrument/trace.h"

#include "base/text/escape.h"
#include "base/settings.h"
#include "bootstrap/job.h"
#include "instrument/trace_file.h"
#include "instrument/watch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    BUFFER_BYTES = 64 << 10,
    EVENT_BYTES_MAX = 1024,
    NAME_BYTES_MAX = 120,
    STALE_NS = 100000000, /* a waiting thread writes the buffer out when the last write was so long ago */
    COPY_TRACKS = 1000,   /* thread numbers from here on stand for queues of devices */
    QUEUES_MAX = 64,      /* queues of a device */
};

static struct {
    pthread_mutex_t lock;
    atomic_bool is_open;
    struct shmemi_trace_file file;
    _Atomic uint64_t zero; /* shmemi_clock at ts 0; 0: not known yet, nothing is recorded */
    uint64_t written_at;
    size_t used;
    char buffer[BUFFER_BYTES];
    unsigned n_threads;
    uint64_t n_requests;
    uint64_t known_copy_tracks[16]; /* by device: a bit for each queue whose track has been named */
} trace = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local struct {
    unsigned number, generation; /* generation: of the trace in which the number is valid */
    const char *name;
} thread;

/* ---- Text -------------------------------------------------------------------------------------------------------- */

static void put_text(const char *text)
{
    for (size_t i = 0; i < NAME_BYTES_MAX && text[i]; i++)
        trace.buffer[trace.used++] = text[i];
}

/* A string that may have any characters, without its quotation marks. */
static void put_string(const char *text)
{
    trace.used += shmemi_escape_json(trace.buffer + trace.used, NAME_BYTES_MAX, &text);
}

static void put_number(uint64_t number)
{
    char digits[20];
    unsigned n = 0;
    do
        digits[n++] = (char)('0' + number % 10);
    while (number /= 10);
    while (n)
        trace.buffer[trace.used++] = digits[--n];
}

/* Nanoseconds as microseconds with three decimal places. */
static void put_micros(uint64_t ns)
{
    unsigned rest = (unsigned)(ns % 1000);
    put_number(ns / 1000);
    const char digits[] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10), (char)('0' + rest % 10)};
    memcpy(trace.buffer + trace.used, digits, sizeof digits);
    trace.used += sizeof digits;
}

/* With the lock held. */
static void write_out(void)
{
    if (shmemi_trace_file_append(&trace.file, trace.buffer, trace.used))
        atomic_store_explicit(&trace.is_open, false, memory_order_relaxed);
    trace.used = 0;
    trace.written_at = shmemi_clock();
}

/* The start of an event, up to where its further fields begin. With the lock held. */
static void begin_event(const char *phase, const char *name, unsigned tid)
{
    if (trace.used > BUFFER_BYTES - EVENT_BYTES_MAX)
        write_out();
    put_text(",\n{\"ph\":\"");
    put_text(phase);
    put_text("\",\"name\":\"");
    put_string(name);
    put_text("\",\"pid\":");
    put_number((uint64_t)shmemi_job.pe);
    put_text(",\"tid\":");
    put_number(tid);
}

static void put_category(const char *category)
{
    put_text(",\"cat\":\"");
    put_string(category);
    put_text("\"");
}

static void put_time(uint64_t at)
{
    put_text(",\"ts\":");
    put_micros(at > trace.zero ? at - trace.zero : 0);
}

static void put_duration(uint64_t begin, uint64_t end)
{
    put_time(begin);
    put_text(",\"dur\":");
    put_micros(end - begin);
}

static void put_transfer(const struct shmemi_trace_transfer *transfer)
{
    put_text(",\"args\":{\"route\":\"");
    put_string(transfer->route);
    put_text("\",\"pe\":");
    put_number((uint64_t)transfer->pe);
    put_text(",\"region\":\"");
    if (transfer->region == SHMEMI_REGION_HEAP) {
        put_text("heap");
    } else if (transfer->region == SHMEMI_REGION_STATIC) {
        put_text("static");
    } else {
        put_text("mapped ");
        put_number(transfer->region);
    }
    put_text("\",\"offset\":");
    put_number(transfer->offset);
    put_text(",\"bytes\":");
    put_number(transfer->nbytes);
    put_text("}}");
}

static void name_track(const char *kind, unsigned tid, const char *name)
{
    begin_event("M", kind, tid);
    put_text(",\"args\":{\"name\":\"");
    put_string(name);
    put_text("\"}}");
}

/* The number of this thread; names its track in the trace on first use. With the lock held. */
static unsigned my_track(void)
{
    char name[32];
    if (thread.generation == shmemi_job.generation)
        return thread.number;
    thread.generation = shmemi_job.generation;
    thread.number = ++trace.n_threads;
    snprintf(name, sizeof name, thread.number == 1 ? "program" : "thread %u", thread.number);
    name_track("thread_name", thread.number, thread.name ? thread.name : name);
    return thread.number;
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

static bool begin_record(void)
{
    if (!atomic_load_explicit(&trace.is_open, memory_order_relaxed) || !trace.zero)
        return false;
    pthread_mutex_lock(&trace.lock);
    return true;
}

static void end_record(void)
{
    pthread_mutex_unlock(&trace.lock);
}

void shmemi_trace_name_thread(const char *name)
{
    thread.name = name;
}

void shmemi_trace_transfer(const struct shmemi_trace_transfer *transfer)
{
    if (!begin_record())
        return;
    begin_event("X", transfer->name, my_track());
    put_category(transfer->category);
    put_duration(transfer->begin, transfer->end);
    put_transfer(transfer);
    end_record();
}

void shmemi_trace_span(const char *name, const char *category, uint64_t begin, uint64_t end)
{
    if (!begin_record())
        return;
    begin_event("X", name, my_track());
    put_category(category);
    put_duration(begin, end);
    put_text("}");
    end_record();
}

void shmemi_trace_label(const char *label)
{
    if (!atomic_load_explicit(&trace.is_open, memory_order_relaxed))
        return;
    pthread_mutex_lock(&trace.lock);
    begin_event("M", "process_labels", 0);
    put_text(",\"args\":{\"labels\":\"");
    put_string(label);
    put_text("\"}}");
    end_record();
}

static void put_request_end(const struct shmemi_trace_transfer *request, const char *phase, uint64_t number,
                            uint64_t at)
{
    begin_event(phase, request->name, 0);
    put_category(request->category);
    put_text(",\"id\":");
    put_number(number);
    put_time(at);
}

/* Requests overlap in time, so they are written as asynchronous events, which may overlap on a track. */
void shmemi_trace_served(const struct shmemi_trace_transfer *request)
{
    if (!begin_record())
        return;
    uint64_t number = ++trace.n_requests;
    put_request_end(request, "b", number, request->begin);
    put_transfer(request);
    put_request_end(request, "e", number, request->end);
    put_text("}");
    end_record();
}

static unsigned copy_track(const char *device, int number, unsigned queue)
{
    char name[64];
    unsigned tid = COPY_TRACKS + (unsigned)number * QUEUES_MAX + queue % QUEUES_MAX;
    uint64_t *known = &trace.known_copy_tracks[(unsigned)number % 16];
    if (*known >> queue % QUEUES_MAX & 1)
        return tid;
    *known |= (uint64_t)1 << queue % QUEUES_MAX;
    snprintf(name, sizeof name, "%s device %d, queue %u", device, number, queue);
    name_track("thread_name", tid, name);
    return tid;
}

void shmemi_trace_copy(const char *device, int number, unsigned queue, const char *name, uint64_t nbytes,
                       uint64_t begin, uint64_t end)
{
    if (!begin_record())
        return;
    unsigned track = copy_track(device, number, queue);
    begin_event("X", name, track);
    put_category("device copy");
    put_duration(begin, end);
    put_text(",\"args\":{\"bytes\":");
    put_number(nbytes);
    put_text("}}");
    end_record();
}

/* ---- Begin and end ----------------------------------------------------------------------------------------------- */

static void introduce(void)
{
    char name[64];
    snprintf(name, sizeof name, "PE %d", shmemi_job.pe);
    name_track("process_name", 0, name);
    begin_event("M", "process_sort_index", 0);
    put_text(",\"args\":{\"sort_index\":");
    put_number((uint64_t)shmemi_job.pe);
    put_text("}}");
}

int shmemi_trace_open(void)
{
    int rc = shmemi_trace_file_open(&trace.file, shmemi_settings.trace);
    if (rc)
        return rc;
    pthread_mutex_lock(&trace.lock);
    trace.zero = 0;
    trace.used = 0;
    trace.n_threads = 0;
    trace.n_requests = 0;
    memset(trace.known_copy_tracks, 0, sizeof trace.known_copy_tracks);
    introduce();
    write_out();
    atomic_store(&trace.is_open, !trace.file.failed);
    pthread_mutex_unlock(&trace.lock);
    return 0;
}

void shmemi_trace_start(_Atomic uint64_t *zero)
{
    uint64_t known = 0, now = shmemi_clock();
    if (!atomic_compare_exchange_strong(zero, &known, now))
        now = known;
    pthread_mutex_lock(&trace.lock);
    trace.zero = now;
    pthread_mutex_unlock(&trace.lock);
}

/* With the lock held. */
static void finish(void)
{
    if (!atomic_exchange(&trace.is_open, false))
        return;
    write_out();
    shmemi_trace_file_close(&trace.file);
}

void shmemi_trace_close(void)
{
    pthread_mutex_lock(&trace.lock);
    finish();
    pthread_mutex_unlock(&trace.lock);
}

void shmemi_trace_last(void)
{
    if (pthread_mutex_trylock(&trace.lock))
        return;
    finish();
    pthread_mutex_unlock(&trace.lock);
}

void shmemi_trace_rest(void)
{
    if (!atomic_load_explicit(&trace.is_open, memory_order_relaxed) || pthread_mutex_trylock(&trace.lock))
        return;
    if (trace.used && shmemi_clock() - trace.written_at > STALE_NS)
        write_out();
    pthread_mutex_unlock(&trace.lock);
}

void shmemi_trace_merge(void)
{
    shmemi_trace_files_merge(shmemi_settings.trace);
}
