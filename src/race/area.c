/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes and opens the area that the PEs share, and lays out the shadow behind it.
 */
#include "race/area.h"
#include "shmmap/symmetric.h"

#include <pshmem.h>
#include <shmemx.h>

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct race_area *race_area;
struct race_process race;

/* Mapped objects follow the heap in the window; so much of it is watched. */
static const size_t mapped_span = (size_t)16 << 30;
static size_t shadow_start, shadow_of_pe, shadow_of_window;

/* The first thread that fails ends the job; the others wait for that. The end itself is not looked at. */
void race_fatal(const char *format, ...)
{
    static atomic_bool is_ending;
    va_list arguments;
    race.window_size = 0;
    while (atomic_exchange(&is_ending, true))
        (void)pause();
    char text[512];
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "MapSHMEM race, PE %d: %s\n", race.pe, text);
    pshmem_global_exit(1);
}

void race_lock_take(race_lock *lock)
{
    for (unsigned tries = 0; atomic_exchange_explicit(lock, 1, memory_order_acquire); tries++)
        if (tries > 100)
            sched_yield();
}

static struct race_word *shadow(int pe, size_t offset)
{
    return (struct race_word *)((char *)race_area + shadow_start + (size_t)pe * shadow_of_pe) + offset / RACE_WORD;
}

struct race_word *race_window_word(int pe, size_t offset)
{
    return shadow(pe, offset);
}

struct race_word *race_static_word(int pe, size_t offset)
{
    return shadow(pe, shadow_of_window + offset);
}

/* Words of private memory have numbers of their own, which no other PE uses. */
uint64_t race_word_number(const struct race_word *word)
{
    const uintptr_t offset = (uintptr_t)word - (uintptr_t)race_area;
    if (offset < shadow_start + (size_t)race.n_pes * shadow_of_pe)
        return offset / sizeof *word;
    return race_private_number | (uint64_t)race.pe << 48 | (uintptr_t)word / sizeof *word;
}

bool race_place_of_number(uint64_t number, int *pe, bool *is_static, size_t *offset)
{
    if (number & race_private_number)
        return false;
    const size_t at = number * sizeof(struct race_word) - shadow_start;
    *pe = (int)(at / shadow_of_pe);
    *offset = at % shadow_of_pe / sizeof(struct race_word) * RACE_WORD;
    *is_static = *offset >= shadow_of_window;
    *offset -= *is_static ? shadow_of_window : 0;
    return true;
}

uint16_t race_routine(const char *name)
{
    race_lock_take(&race_area->routines_lock);
    unsigned i = 1, n = atomic_load(&race_area->n_routines);
    while (i <= n && strcmp(race_area->routine[i], name) != 0)
        i++;
    if (i > n && i < RACE_ROUTINES_MAX) {
        (void)snprintf(race_area->routine[i], RACE_ROUTINE_BYTES, "%s", name);
        atomic_store(&race_area->n_routines, i);
    }
    race_lock_give(&race_area->routines_lock);
    return i < RACE_ROUTINES_MAX ? (uint16_t)i : 0;
}

/* What PE 0 tells the others, on the symmetric heap. */
struct invitation {
    int64_t pid;
    int32_t descriptor, error;
    uint64_t bytes;
};

/* The heap begins the window, whose base is aligned more than the library's own part of the heap is long. */
static void find_memory(struct race_process *found, void *first_block)
{
    _Static_assert((size_t)SHMEMI_RUNTIME_BYTES < (size_t)SHMEMI_WINDOW_ALIGNMENT,
                   "the base of the window is below the first block");
    shmemx_heap_info_t info;
    char *base;
    shmemx_heap_info(&info);
    found->window_base = (uintptr_t)first_block & ~(uintptr_t)(SHMEMI_WINDOW_ALIGNMENT - 1);
    found->heap_size = info.size + SHMEMI_RUNTIME_BYTES;
    found->window_size = found->heap_size + mapped_span;
    shmemi_static_data_find(&base, &found->static_size);
    found->static_base = (uintptr_t)base & ~(uintptr_t)(RACE_WORD - 1);
    found->static_size += (uintptr_t)base - found->static_base;
}

static void lay_out(const struct race_process *found)
{
    const size_t page = 1 << 16, per_word = sizeof(struct race_word) / RACE_WORD;
    shadow_start = (sizeof(struct race_area) + page - 1) & ~(page - 1);
    shadow_of_window = found->window_size;
    shadow_of_pe = ((found->window_size + found->static_size + page) & ~(page - 1)) * per_word;
}

static void *map_area(int descriptor, size_t bytes)
{
    void *area = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
    if (area == MAP_FAILED)
        race_fatal(
            "no room for %zu MiB of addresses: %s; run with fewer PEs, a smaller SHMEM_SYMMETRIC_SIZE, or without "
            "a limit on virtual memory (ulimit -v)",
            bytes >> 20, strerror(errno));
    return area;
}

static void invite(struct invitation *invitation)
{
    int descriptor = memfd_create("mapshmem-race", MFD_CLOEXEC);
    if (descriptor < 0 || ftruncate(descriptor, (off_t)invitation->bytes))
        race_fatal("cannot make memory that the PEs share: %s", strerror(errno));
    invitation->pid = getpid();
    invitation->descriptor = descriptor;
    race_area = map_area(descriptor, invitation->bytes);
}

static void accept_invitation(const struct invitation *invitation, size_t bytes)
{
    char path[64], name[64] = "";
    if (invitation->bytes != bytes)
        race_fatal("PE 0 has another size of the heap or of static data: --race needs the same program on all PEs");
    (void)snprintf(path, sizeof path, "/proc/%lld/fd/%d", (long long)invitation->pid, invitation->descriptor);
    ssize_t length = readlink(path, name, sizeof name - 1);
    int descriptor = length > 0 && strstr(name, "mapshmem-race") ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (descriptor < 0)
        race_fatal("cannot open the memory that PE 0 shares (%s): --race needs all PEs on one host", path);
    race_area = map_area(descriptor, bytes);
    close(descriptor);
}

/* The executable, which the loader reports first. */
static int find_program(struct dl_phdr_info *info, size_t size, void *argument)
{
    (void)size;
    struct race_process *found = argument;
    found->program_base = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD)
            found->program_size = info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
    return 1;
}

/* The first time. */
static void share_area(struct invitation *invitation, size_t bytes)
{
    struct invitation mine = {.bytes = bytes}, received;
    if (race.pe == 0)
        invite(&mine);
    *invitation = mine;
    pshmem_barrier_all();
    if (race.pe > 0) {
        pshmem_getmem(&received, invitation, sizeof received, 0);
        accept_invitation(&received, bytes);
    }
    race_area->pe[race.pe].pid = (uint32_t)getpid();
    pshmem_barrier_all();
    if (race.pe == 0)
        close(mine.descriptor);
}

/* A program that starts the library again goes on with the area that it has. */
void race_area_open(void)
{
    struct invitation *invitation = pshmem_malloc(sizeof *invitation);
    race.pe = pshmem_my_pe();
    race.n_pes = pshmem_n_pes();
    if (!invitation)
        race_fatal("no room in the symmetric heap: set SHMEM_SYMMETRIC_SIZE");
    if (race.n_pes > RACE_PES_MAX)
        race_fatal("--race is for at most %d PEs", RACE_PES_MAX);
    struct race_process found = race;
    find_memory(&found, invitation);
    dl_iterate_phdr(find_program, &found);
    if (race_area && found.window_size != shadow_of_window)
        race_fatal("the symmetric heap has another size than before: --race needs the same one");
    lay_out(&found);
    if (!race_area)
        share_area(invitation, shadow_start + (size_t)race.n_pes * shadow_of_pe);
    race_area->pe[race.pe].program = found.program_base;
    found.window = race_window_word(race.pe, 0);
    found.static_words = race_static_word(race.pe, 0);
    pshmem_barrier_all();
    pshmem_free(invitation);
    race = found;
}
