/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The window of symmetric addresses: lookup at every border, deterministic placing, reuse of what was removed, a full
 * window, and refusal of ranges that leave a region.
 */
#include "shmmap/symmetric.h"

#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { GRANULE = 1 << SHMEMI_GRANULE_SHIFT, HEAP = 4 * GRANULE, SPAN = 32 * GRANULE };

/* The region with a number, without a reference to it. */
static const struct shmemi_region *find(uint32_t id)
{
    const struct shmemi_region *region = shmemi_region_borrow(id);
    if (region)
        shmemi_region_give_back();
    return region;
}

static struct shmemi_region heap;

static void open_window(void)
{
    CHECK(shmemi_window_open(SPAN, HEAP, 0) == 0);
    CHECK(shmemi_window.base % SHMEMI_WINDOW_ALIGNMENT == 0);
    CHECK(shmemi_window.span == SPAN && shmemi_window.heap_size == HEAP);
    heap = (struct shmemi_region){.place = shmemi_place_host((void *)shmemi_window.base)};
    CHECK(shmemi_region_add_heap(&heap) == 0);
}

static char *at(size_t offset)
{
    return (char *)shmemi_window.base + offset;
}

static void check_heap(void)
{
    CHECK(heap.base == at(0) && heap.size == HEAP && heap.id == SHMEMI_REGION_HEAP);
    CHECK(shmemi_region_of(at(0)) == &heap && shmemi_region_of(at(HEAP - 1)) == &heap);
    CHECK(!shmemi_region_of(at(HEAP)) && !shmemi_region_of(at(SPAN - 1)));
    CHECK(!shmemi_region_of(at(0) - 1) && !shmemi_region_of(at(SPAN)));
    CHECK(!shmemi_region_of(NULL) && !shmemi_region_of((void *)UINTPTR_MAX) && !shmemi_region_of(&heap));
    CHECK(find(SHMEMI_REGION_HEAP) == &heap);
    CHECK(!find(SHMEMI_REGION_STATIC) && !find(UINT32_MAX));
}

/* The library's own part of the heap is in the region, but no look-up by address finds it. */
static void check_reserved(void)
{
    struct shmemi_region region = {0};
    CHECK(shmemi_window_open(SPAN, HEAP, GRANULE) == 0 && shmemi_region_add_heap(&region) == 0);
    CHECK(region.base == at(0) && region.size == HEAP);
    CHECK(!shmemi_region_of(at(0)) && !shmemi_region_of(at(GRANULE - 1)));
    CHECK(shmemi_region_of(at(GRANULE)) == &region && shmemi_region_of(at(HEAP - 1)) == &region);
    CHECK(!shmemi_is_host(at(0), 1) && !shmemi_is_host(at(GRANULE - 1), 1) && shmemi_is_host(at(GRANULE), 1));
    CHECK(!shmemi_is_in_heap(at(GRANULE - 1), 1) && shmemi_is_in_heap(at(GRANULE), HEAP - GRANULE));
    shmemi_window_close();
}

static void check_holds(void)
{
    CHECK(shmemi_region_holds(&heap, 0, HEAP) && !shmemi_region_holds(&heap, 0, (size_t)HEAP + 1));
    CHECK(shmemi_region_holds(&heap, HEAP - 1, 1) && !shmemi_region_holds(&heap, HEAP - 1, 2));
    CHECK(shmemi_region_holds(&heap, HEAP, 0) && !shmemi_region_holds(&heap, (size_t)HEAP + 1, 0));
    CHECK(!shmemi_region_holds(&heap, 1, SIZE_MAX) && !shmemi_region_holds(&heap, SIZE_MAX, 2));
}

static void check_static(void)
{
    static char room[102], *const data = room + 1;
    static struct shmemi_region region;
    region = (struct shmemi_region){.base = data, .size = 100};
    CHECK(shmemi_region_add_static(&region) == 0 && region.id == SHMEMI_REGION_STATIC);
    CHECK(shmemi_region_of(data) == &region && shmemi_region_of(data + 99) == &region);
    CHECK(!shmemi_region_of(data + 100) && !shmemi_region_of(data - 1));
    shmemi_region_remove(&region);
    CHECK(!shmemi_region_of(data) && !find(SHMEMI_REGION_STATIC));
}

static struct shmemi_region mapped(size_t size)
{
    static struct shmemi_memory gpu; /* only its address is used */
    return (struct shmemi_region){.size = size, .place = {.memory = &gpu, .address = 0x1000}};
}

static void check_mapped(void)
{
    struct shmemi_region a = mapped(1), b = mapped(GRANULE + 1), c = mapped(GRANULE);
    CHECK(!shmemi_region_add_mapped(&a) && !shmemi_region_add_mapped(&b) && !shmemi_region_add_mapped(&c));
    CHECK(a.base == at(HEAP) && b.base == a.base + GRANULE && c.base == b.base + 2 * GRANULE);
    CHECK(a.id == SHMEMI_REGION_FIRST_MAPPED && b.id == a.id + 1 && c.id == b.id + 1);
    CHECK(shmemi_region_of(b.base) == &b && shmemi_region_of(b.base + GRANULE) == &b && shmemi_region_of(c.base) == &c);
    CHECK(!shmemi_region_of(c.base + GRANULE));
    /* a hole of two granules takes two, not three */
    const uint32_t id = b.id;
    shmemi_region_remove(&b);
    CHECK(!shmemi_region_of(b.base) && !find(id) && shmemi_region_of(c.base) == &c);
    struct shmemi_region d = mapped(3 * GRANULE), e = mapped(2 * GRANULE);
    CHECK(!shmemi_region_add_mapped(&d) && d.base == c.base + GRANULE && d.id == id);
    CHECK(!shmemi_region_add_mapped(&e) && e.base == b.base);
    struct shmemi_region *all[] = {&a, &c, &d, &e};
    for (int i = 0; i < 4; i++)
        shmemi_region_remove(all[i]);
    CHECK(!shmemi_region_of(at(HEAP)));
}

static void check_full(void)
{
    struct shmemi_region whole = mapped(SPAN - HEAP), one = mapped(1), large = mapped(SPAN);
    CHECK(shmemi_region_add_mapped(&large) == -ENOSPC);
    CHECK(shmemi_region_add_mapped(&whole) == 0 && whole.base == at(HEAP));
    CHECK(shmemi_region_of(at(SPAN - 1)) == &whole);
    CHECK(shmemi_region_add_mapped(&one) == -ENOSPC);
    shmemi_region_remove(&whole);
    CHECK(shmemi_region_add_mapped(&one) == 0);
    shmemi_region_remove(&one);
}

/* Every number is taken, though the window has room. */
static void check_numbers(void)
{
    static struct shmemi_region many[SHMEMI_REGIONS_MAX];
    uint32_t n = 0;
    CHECK(shmemi_window_open((size_t)2 * SHMEMI_REGIONS_MAX * GRANULE, HEAP, 0) == 0);
    do
        many[n] = mapped(1);
    while (!shmemi_region_add_mapped(&many[n]) && ++n);
    CHECK(n == SHMEMI_REGIONS_MAX - SHMEMI_REGION_FIRST_MAPPED);
    CHECK(shmemi_region_add_mapped(&many[n]) == -EMFILE);
    while (n)
        shmemi_region_remove(&many[--n]);
    shmemi_window_close();
}

/* Where a local argument lies. */
static void check_places(void)
{
    struct shmemi_region region = mapped(GRANULE + 100);
    struct shmemi_place place;
    char on_stack = 0;
    CHECK(!shmemi_region_add_mapped(&region));
    CHECK(shmemi_place_of(region.base + 50, 100, &place) == 0);
    CHECK(place.memory == region.place.memory && place.address == region.place.address + 50);
    CHECK(shmemi_place_of(region.base + GRANULE, 100, &place) == 0);
    shmemi_log_hold(true); /* the next two are refused, with a message */
    CHECK(shmemi_place_of(region.base + GRANULE, 101, &place) == -EFAULT);
    CHECK(shmemi_place_of(at(SPAN - 1), 1, &place) == -EFAULT);
    shmemi_log_hold(false);
    CHECK(shmemi_place_of(&on_stack, 1, &place) == 0 && place.memory == &shmemi_memory_host);
    CHECK(shmemi_is_host(at(0), HEAP) && shmemi_is_host(at(HEAP - 1), 1) && !shmemi_is_host(at(HEAP), 1));
    CHECK(!shmemi_is_host(at(0), (size_t)HEAP + 1) && !shmemi_is_host(at(HEAP - 1), 2));
    CHECK(!shmemi_is_host(at(1), SIZE_MAX));
    CHECK(shmemi_is_host(&on_stack, 1) && !shmemi_is_host(NULL, 1) && !shmemi_is_host((void *)4095, 1));
    shmemi_region_remove(&region);
}

static bool count(struct shmemi_region *region, void *argument)
{
    unsigned *n = argument;
    CHECK(region->id >= *n);
    return ++*n < 3;
}

static void check_for_each(void)
{
    struct shmemi_region a = mapped(1), b = mapped(1), c = mapped(1);
    unsigned n = 0;
    shmemi_region_add_mapped(&a);
    shmemi_region_add_mapped(&b);
    shmemi_region_add_mapped(&c);
    shmemi_region_for_each(count, &n);
    CHECK(n == 3); /* it stopped when told to */
    shmemi_region_remove(&a);
    shmemi_region_remove(&b);
    shmemi_region_remove(&c);
}

/* Objects of two devices that this PE shares with others: the most counts, and only as long as the object is there. */
static void check_sharers(void)
{
    struct shmemi_region objects[] = {mapped(1), mapped(1), mapped(1)};
    static const int sharers[] = {3, 2, 4}, devices[] = {0, 0, 1};
    for (int i = 0; i < 3; i++) {
        objects[i].place.memory = &shmemi_memory_opencl;
        objects[i].allocation.device = devices[i];
        objects[i].sharers = sharers[i];
        CHECK(!shmemi_region_add_mapped(&objects[i]));
        shmemi_region_count_sharers(&objects[i]);
    }
    const int type = SHMEMI_MEMTYPE_OPENCL;
    CHECK(shmemi_memory_sharers_of(type, 0) == 3 && shmemi_memory_sharers_of(type, 1) == 4);
    CHECK(shmemi_memory_sharers_of(type, 2) == 1 && shmemi_memory_sharers[type] == 4);
    for (int i = 2; i >= 0; i--) {
        static const int most[] = {1, 3, 3};
        shmemi_region_remove(&objects[i]);
        shmemi_region_count_sharers(&objects[i]);
        CHECK(shmemi_memory_sharers[type] == most[i] && shmemi_memory_sharers_of(type, 1) == 1);
    }
}

/* What is not known to the lookup may be removed, and changes nothing. */
static void check_unknown(void)
{
    struct shmemi_region region = mapped(1), none = {.id = SHMEMI_REGION_NONE};
    CHECK(!shmemi_region_add_mapped(&region));
    const uint32_t id = region.id;
    shmemi_region_remove(&none);
    CHECK(find(SHMEMI_REGION_HEAP) == &heap && find(id) == &region);
    shmemi_region_remove(&region);
    CHECK(region.id == SHMEMI_REGION_NONE && !find(id));
    shmemi_region_remove(&region);
    CHECK(find(SHMEMI_REGION_HEAP) == &heap);
}

/* How many bytes of addresses this process uses. */
static size_t addresses_in_use(void)
{
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    CHECK(file && fscanf(file, "%zu", &pages) == 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Emulators of processes take a limit of addresses, and do not keep it. */
static bool limits_are_kept(void)
{
    struct rlimit before, limit;
    getrlimit(RLIMIT_AS, &before);
    limit = before;
    limit.rlim_cur = addresses_in_use();
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    void *more = mmap(NULL, SPAN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(setrlimit(RLIMIT_AS, &before) == 0);
    if (more != MAP_FAILED)
        munmap(more, SPAN);
    return more == MAP_FAILED;
}

static void check_limited(size_t room, size_t heap_size, size_t least, size_t most)
{
    struct rlimit before, limit;
    getrlimit(RLIMIT_AS, &before);
    limit = before;
    limit.rlim_cur = addresses_in_use() + room;
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    int rc = shmemi_window_open((size_t)1 << 40, heap_size, 0);
    CHECK(setrlimit(RLIMIT_AS, &before) == 0);
    CHECK(rc == (most ? 0 : -ENOMEM));
    CHECK(shmemi_window.span >= least && shmemi_window.span <= most);
    CHECK(shmemi_window.base % SHMEMI_WINDOW_ALIGNMENT == 0 && shmemi_window.span % GRANULE == 0);
    shmemi_window_close();
}

/* Under a limit of addresses the window takes a quarter to a half of what there is, or more where the heap needs it. */
static void check_limits(void)
{
    const size_t m = (size_t)1 << 20, g = (size_t)1 << 30;
    check_limited(64 * g, HEAP, 16 * g, 32 * g);
    check_limited(3 * g, HEAP, g / 2, 3 * g / 2);
    check_limited(600 * m, 500 * m, 564 * m, 564 * m);
    shmemi_log_hold(true);
    check_limited(500 * m, 500 * m, 0, 0);
    shmemi_log_hold(false);
}

/* There is room for the window, but not for its table: it takes nothing, and says what was short. */
static void check_no_room_for_table(void)
{
    struct rlimit before, limit;
    const size_t used = addresses_in_use();
    getrlimit(RLIMIT_AS, &before);
    limit = before;
    limit.rlim_cur = used + SPAN;
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    shmemi_log_hold(true);
    errno = EBUSY;
    int rc = shmemi_window_open(SPAN, HEAP, 0);
    shmemi_log_hold(false);
    CHECK(setrlimit(RLIMIT_AS, &before) == 0);
    CHECK(rc == -ENOMEM && !shmemi_window.span && addresses_in_use() == used);
}

static bool is_there(void *page)
{
    return msync(page, 1, MS_ASYNC) == 0 || errno != ENOMEM;
}

/* After it has been made smaller, nothing of it is left behind the end. */
static void check_shrink(void)
{
    open_window();
    shmemi_window_shrink(SPAN + GRANULE); /* it never grows */
    CHECK(shmemi_window.span == SPAN && is_there(at(SPAN - GRANULE)));
    shmemi_window_shrink(HEAP + GRANULE);
    struct shmemi_region one = mapped(GRANULE), other = mapped(1);
    CHECK(shmemi_window.span == HEAP + GRANULE && !is_there(at(HEAP + GRANULE)));
    CHECK(shmemi_region_add_mapped(&one) == 0 && shmemi_region_add_mapped(&other) == -ENOSPC);
    shmemi_region_remove(&one);
    shmemi_window_close();
}

int main(void)
{
    for (int i = 0; i < 2; i++) { /* it can be opened again */
        open_window();
        check_heap();
        check_holds();
        check_static();
        check_mapped();
        check_full();
        check_places();
        check_for_each();
        check_sharers();
        check_unknown();
        shmemi_window_close();
        CHECK(!shmemi_region_of((void *)heap.base) && !find(SHMEMI_REGION_HEAP));
    }
    const bool has_limits = limits_are_kept();
    check_numbers();
    if (has_limits) {
        check_limits();
        check_no_room_for_table();
    }
    check_shrink();
    check_reserved();
    shmemi_log_hold(true);
    CHECK(shmemi_window_open(HEAP, HEAP, 0) == -EINVAL); /* no room beside the heap */
    if (!has_limits)
        puts("skipped: all but what happens under a limit of addresses, which the system does not keep (RLIMIT_AS)");
    return has_limits ? 0 : 77;
}
