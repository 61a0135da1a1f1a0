/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Graph files of the application bfs: any bytes. They are refused with a message of one line, or become a graph that is
 * one: its rows are sorted and lead to vertices, and each edge is there in both directions. The parts that several PEs
 * read are the whole file. This is the only PE; what the files of bfs take from SHMEM and from the system's threads and
 * memory is here.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include "apps/bfs/collective.h"
#include "apps/bfs/edges.h"
#include "apps/bfs/memory.h"
#include "apps/bfs/rows.h"
#include "apps/bfs/threads.h"

#include <setjmp.h>
#include <shmemx.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_FILE = 1 << 16, MOST_VERTICES = 1 << 16, THREADS = 3, HEAP_SHARE = 1 << 15 };

static jmp_buf refused;
static int my_pe, n_pes = 1;

/* ---- Memory and files that a refused graph leaves ---------------------------------------------------------------- */

/* The files of bfs are compiled with these names in place of malloc and so on. */
void *graph_malloc(size_t size);
void graph_free_memory(void *memory);
void *graph_mmap(void *address, size_t size, int protection, int flags, int file, off_t offset);
int graph_munmap(void *address, size_t size);

struct block {
    struct block *next, *previous;
    size_t size;
    max_align_t bytes[];
};
static struct block blocks = {&blocks, &blocks, 0};

/* Buffers of a megabyte take longer to allocate than a small graph to read: these few are used again. */
enum { MOST_SPARE = 8, SPARE_BYTES = 1 << 19 };
static struct block *spare[MOST_SPARE];

static struct block *take_spare(size_t size)
{
    for (int i = 0; i < MOST_SPARE; i++) {
        struct block *block = spare[i];
        if (!block || block->size != size)
            continue;
        spare[i] = NULL;
        return block;
    }
    return malloc(sizeof(struct block) + size);
}

static void give_away(struct block *block)
{
    for (int i = 0; i < MOST_SPARE; i++) {
        if (spare[i] || block->size < SPARE_BYTES)
            continue;
        spare[i] = block;
        return;
    }
    free(block);
}

void *graph_malloc(size_t size)
{
    struct block *block = take_spare(size);
    ALWAYS(block);
    *block = (struct block){blocks.next, &blocks, size};
    blocks.next->previous = block;
    blocks.next = block;
    return block->bytes;
}

void graph_free_memory(void *memory)
{
    struct block *block = memory ? (struct block *)((char *)memory - sizeof *block) : NULL;
    if (!block)
        return;
    block->next->previous = block->previous;
    block->previous->next = block->next;
    give_away(block);
}

/* The file that is being read. */
static struct {
    void *bytes; /* NULL: none */
    size_t size;
} mapped;

void *graph_mmap(void *address, size_t size, int protection, int flags, int file, off_t offset)
{
    ALWAYS(!mapped.bytes);
    mapped.bytes = mmap(address, size, protection, flags, file, offset);
    mapped.size = size;
    return mapped.bytes;
}

int graph_munmap(void *address, size_t size)
{
    ALWAYS(address == mapped.bytes && size == mapped.size);
    mapped.bytes = NULL;
    return munmap(address, size);
}

static void clean_up(int first_file)
{
    if (mapped.bytes)
        graph_munmap(mapped.bytes, mapped.size);
    while (blocks.next != &blocks)
        graph_free_memory(blocks.next->bytes);
    close_range((unsigned)first_file, ~0U, 0);
}

void *host_alloc(size_t bytes)
{
    ALWAYS(bytes < (size_t)1 << 28);
    return graph_malloc(bytes);
}

void *symmetric_alloc(size_t bytes)
{
    return host_alloc(bytes);
}

void shmem_free(void *memory)
{
    graph_free_memory(memory);
}

/* ---- The end of all PEs ------------------------------------------------------------------------------------------ */

void quit_all(const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ALWAYS(length > 0 && (size_t)length < sizeof text && !strchr(text, '\n'));
    ALWAYS(n_pes == 1); /* nothing is refused while parts are compared */
    longjmp(refused, 1);
}

void die(const char *format, ...)
{
    (void)format;
    abort(); /* for what cannot happen */
}

void quit_if_any(const char *problem)
{
    if (problem[0])
        quit_all("%s", problem);
}

void memory_refuse(const struct options *opt, const struct place *place, const struct extent *extent)
{
    (void)opt, (void)place;
    if (extent->n_vertices > MOST_VERTICES || extent->n_edges > MOST_FILE)
        quit_all("too large");
}

void memory_refuse_host(const char *what, uint64_t n)
{
    (void)what;
    if (n > 1 << 26)
        quit_all("too large");
}

/* ---- A single PE ------------------------------------------------------------------------------------------------- */

void sum_over_pes(uint64_t *values, size_t n)
{
    (void)values, (void)n;
}

/* Where a part of the file is read, others have edges. */
uint64_t sum_of_pes(uint64_t value)
{
    return value ? value : n_pes > 1;
}

uint64_t max_of_pes(uint64_t value)
{
    return value;
}

size_t heap_share(size_t wanted)
{
    return wanted < HEAP_SHARE ? wanted : HEAP_SHARE;
}

int shmem_my_pe(void)
{
    return my_pe;
}

int shmem_n_pes(void)
{
    return n_pes;
}

void shmem_barrier_all(void)
{
}

void shmem_putmem(void *dest, const void *source, size_t nbytes, int pe)
{
    ALWAYS(pe == 0);
    memcpy(dest, source, nbytes);
}

void shmem_putmem_nbi(void *dest, const void *source, size_t nbytes, int pe)
{
    shmem_putmem(dest, source, nbytes, pe);
}

void shmem_uint64_p(uint64_t *dest, uint64_t value, int pe)
{
    shmem_putmem(dest, &value, sizeof value, pe);
}

/* Threads, one after the other. */
int threads_count(void)
{
    return THREADS;
}

void threads_run(void (*work)(int thread, void *arg), void *arg)
{
    for (int i = 0; i < THREADS; i++)
        work(i, arg);
}

void threads_share(size_t n, int thread, size_t *first, size_t *end)
{
    *first = n * (size_t)thread / THREADS;
    *end = n * ((size_t)thread + 1) / THREADS;
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

static int make_file(const void *bytes, size_t size, char *path, size_t room)
{
    int fd = memfd_create("graph", 0);
    ALWAYS(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    snprintf(path, room, "/proc/self/fd/%d", fd);
    return fd;
}

/* The edges that n PEs read are, one after the other, those that a single one has read. */
static void check_parts(const char *path, const struct edge_list *whole, int n)
{
    uint64_t n_vertices = 0;
    size_t at = 0;
    n_pes = n;
    for (my_pe = 0; my_pe < n; my_pe++) {
        struct edge_list part = edges_read(path);
        ALWAYS(part.n <= whole->n - at);
        for (size_t i = 0; i < part.n; i++, at++)
            ALWAYS(part.edges[i].a == whole->edges[at].a && part.edges[i].b == whole->edges[at].b);
        n_vertices = part.n_vertices > n_vertices ? part.n_vertices : n_vertices;
        edge_list_free(&part);
    }
    ALWAYS(at == whole->n && n_vertices == whole->n_vertices);
    my_pe = 0;
    n_pes = 1;
}

/* ---- One input --------------------------------------------------------------------------------------------------- */

static void check_graph(const struct graph *graph)
{
    ALWAYS(graph->size == graph->part.n_vertices && graph->row[0] == 0);
    for (vertex_t i = 0; i < graph->size; i++) {
        ALWAYS(graph->row[i] <= graph->row[i + 1] && graph->row[i + 1] <= graph->n_adjacent);
        for (uint64_t k = graph->row[i]; k < graph->row[i + 1]; k++) {
            vertex_t v = graph->column[k];
            ALWAYS(v < graph->size && v != i && (k == graph->row[i] || graph->column[k - 1] < v));
            size_t at = row_search(graph, v, i);
            ALWAYS(at < graph->row[v + 1] && graph->column[at] == i);
        }
    }
}

static void read_graph(const char *path, uint8_t how)
{
    static struct graph graph;
    struct edge_list list = edges_read(path);
    const struct extent extent = {list.n_vertices, list.n_all, 0};
    memory_refuse(NULL, NULL, &extent);
    check_parts(path, &list, 2 + how % 5);
    graph_build(&list, "fuzz", &graph);
    check_graph(&graph);
    graph_free(&graph);
}

static void refuse_or_read(const char *path, uint8_t how, int first_file)
{
    if (!setjmp(refused))
        read_graph(path, how);
    clean_up(first_file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    char path[64];
    uint8_t how = fuzz_byte(&input);
    if (input.size > MOST_FILE)
        return 0;
    int fd = make_file(input.data, input.size, path, sizeof path);
    refuse_or_read(path, how, fd + 1);
    ALWAYS(n_pes == 1 && blocks.next == &blocks && !mapped.bytes);
    close(fd);
    return 0;
}
