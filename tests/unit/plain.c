/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pages of host memory that are remembered: the table; that what other libraries map is seen, and mapped as it should
 * be; and that the answer is right when memory changes its kind, with a made-up GPU whose driver is told by the test
 * which addresses are its own and counts the questions. All of it a second time without a limit of the stack, where
 * memory is mapped from low addresses up, below the program and its break.
 */
#define _GNU_SOURCE
#include "base/system/plain.h"

#include "shmmap/symmetric.h"
#include "unit.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = SHMEMI_PLAIN_PAGE, TABLE = SHMEMI_PLAIN_PAGES * PAGE, GRANULE = 1 << SHMEMI_GRANULE_SHIFT };

static size_t kernel_page; /* bytes: at least PAGE */

/* ---- The made-up GPU --------------------------------------------------------------------------------------------- */

static struct {
    _Atomic uintptr_t own,
        locked; /* the first addresses of its own memory, and of what it has page-locked; a page; 0: none */
    atomic_int n_questions;
} driver;

static int driver_open(void)
{
    return 0;
}

static void driver_close(void)
{
}

static enum shmemi_claim driver_claim(const void *address)
{
    atomic_fetch_add(&driver.n_questions, 1);
    if (driver.own && (uintptr_t)address - driver.own < kernel_page)
        return SHMEMI_CLAIM_OWN;
    return driver.locked && (uintptr_t)address - driver.locked < kernel_page ? SHMEMI_CLAIM_LOCKED : SHMEMI_CLAIM_NONE;
}

static void driver_adopt(struct shmemi_place *place)
{
    CHECK(place->memory == &shmemi_memory_cuda);
}

static const struct shmemi_addresses addresses = {.claim = driver_claim, .adopt = driver_adopt};

const struct shmemi_memory shmemi_memory_cuda = {
    .name = "cuda",
    .title = "CUDA",
    .type = SHMEMI_MEMTYPE_CUDA,
    .open = driver_open,
    .close = driver_close,
    .addresses = &addresses,
};

static bool is_gpu(const void *address, size_t nbytes)
{
    struct shmemi_place place;
    if (shmemi_is_host_short(address) || shmemi_is_host(address, nbytes))
        return false;
    CHECK(!shmemi_place_of(address, nbytes, &place) && place.address == (uintptr_t)address);
    return place.memory == &shmemi_memory_cuda;
}

static int questions_about(const void *address)
{
    int before = driver.n_questions;
    is_gpu(address, 8);
    return driver.n_questions - before;
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

static void remember(const char *address)
{
    shmemi_plain_remember(address, shmemi_plain_changes());
}

static void check_pages(void)
{
    char *const a = (char *)0x7f0000000000, *const b = a + PAGE;
    CHECK(!shmemi_is_plain(NULL) && !shmemi_is_plain((void *)(PAGE - 1)) && !shmemi_is_plain((void *)UINTPTR_MAX));
    remember(a + 77);
    CHECK(shmemi_is_plain(a) && shmemi_is_plain(a + PAGE - 1) && !shmemi_is_plain(b) && !shmemi_is_plain(a - 1));
    CHECK(!shmemi_is_plain(a + TABLE) && !shmemi_is_plain(a - TABLE));
    remember(b);
    remember(a + TABLE); /* in the place of a */
    CHECK(!shmemi_is_plain(a) && shmemi_is_plain(a + TABLE) && shmemi_is_plain(b));
    shmemi_plain_forget(a, PAGE);
    CHECK(shmemi_is_plain(a + TABLE) && shmemi_is_plain(b));
    shmemi_plain_forget(b + PAGE - 1, 1);
    CHECK(!shmemi_is_plain(b) && shmemi_is_plain(a + TABLE));
    shmemi_plain_forget(a, (size_t)TABLE + 1);
    CHECK(!shmemi_is_plain(a + TABLE));
}

static void check_ranges(void)
{
    char *const a = (char *)0x7f0000000000;
    for (int i = 0; i < SHMEMI_PLAIN_PAGES; i++)
        remember(a + (size_t)i * PAGE);
    shmemi_plain_forget(a + 10 * PAGE + 5, 2 * PAGE);
    for (int i = 0; i < SHMEMI_PLAIN_PAGES; i++)
        CHECK(shmemi_is_plain(a + (size_t)i * PAGE) == (i < 10 || i > 12));
    shmemi_plain_forget(a + 20 * PAGE, 0);
    CHECK(shmemi_is_plain(a + 20 * PAGE));
    shmemi_plain_forget(a - TABLE, (size_t)3 * TABLE);
    for (int i = 0; i < SHMEMI_PLAIN_PAGES; i++)
        CHECK(!shmemi_is_plain(a + (size_t)i * PAGE));
    uint64_t before = shmemi_plain_changes();
    shmemi_plain_forget(a + TABLE, PAGE); /* while the driver is being asked */
    shmemi_plain_remember(a, before);
    CHECK(!shmemi_is_plain(a));
    remember(a);
    CHECK(shmemi_is_plain(a));
    shmemi_plain_close();
    CHECK(!shmemi_is_plain(a));
}

/* ---- What is mapped ---------------------------------------------------------------------------------------------- */

static char *pages(size_t n)
{
    char *address = mmap(NULL, n * kernel_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(address != MAP_FAILED);
    return address;
}

/* The driver gets the addresses: as another library calls mmap, which finds the symbol by its name. */
static void reserve(char *address, size_t nbytes)
{
    void *(*their_mmap)(void *, size_t, int, int, int, off_t);
    *(void **)&their_mmap = dlsym(RTLD_DEFAULT, nbytes == kernel_page ? "mmap" : "mmap64");
    CHECK(their_mmap(address, nbytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == address);
}

/* Ask until the page is remembered: other threads of the process may map memory just now. */
static void learn(const void *address)
{
    for (int i = 0; i < 1000 && !shmemi_is_plain(address); i++)
        CHECK(!is_gpu(address, 8));
    CHECK(shmemi_is_plain(address));
}

static void check_mapping(void)
{
    char *a = pages(4);
    memset(a, 1, 4 * kernel_page);
    for (int i = 0; i < 4; i++)
        learn(a + (size_t)i * kernel_page);
    CHECK(!munmap(a + kernel_page, 2 * kernel_page));
    reserve(a + kernel_page, kernel_page);
    CHECK(shmemi_is_plain(a) && !shmemi_is_plain(a + kernel_page) && shmemi_is_plain(a + 3 * kernel_page));
    reserve(a, 4 * kernel_page);
    CHECK(!shmemi_is_plain(a) && !shmemi_is_plain(a + 3 * kernel_page));
    munmap(a, 4 * kernel_page);
    char *moved = mremap(pages(1), kernel_page, 2 * kernel_page, MREMAP_MAYMOVE | MREMAP_FIXED, pages(2));
    CHECK(moved != MAP_FAILED);
    moved[2 * kernel_page - 1] = 1;
    munmap(moved, 2 * kernel_page);
    errno = 0;
    CHECK(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);
    CHECK(mmap(NULL, kernel_page, PROT_READ, MAP_PRIVATE, -1, 0) == MAP_FAILED && errno == EBADF);
}

/* Mapped from a file, at an offset beyond 32 bits. */
static void check_file(void)
{
    const off_t offset = ((off_t)5 << 32) + kernel_page;
    int fd = memfd_create("plain", 0);
    CHECK(fd >= 0 && !ftruncate(fd, offset + kernel_page) && pwrite(fd, "here", 5, offset) == 5);
    char *a = mmap(NULL, kernel_page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
    CHECK(a != MAP_FAILED && !strcmp(a, "here"));
    learn(a);
    CHECK(mmap(a, kernel_page, PROT_READ, MAP_SHARED | MAP_FIXED, fd, offset) == a && !strcmp(a, "here"));
    CHECK(!shmemi_is_plain(a));
    munmap(a, kernel_page);
    close(fd);
}

/* ---- Memory that changes its kind -------------------------------------------------------------------------------- */

static void check_questions(void)
{
    char *a = pages(2);
    learn(a);
    CHECK(!questions_about(a) && !questions_about(a + PAGE - 8) && shmemi_is_host(a, PAGE));
    CHECK(questions_about(a + kernel_page));
    CHECK(!is_gpu(NULL, 8) && !shmemi_is_plain(NULL));
    static char data;
    char local;
    CHECK(!questions_about(&data) && !questions_about(&local));
    munmap(a, 2 * kernel_page);
}

/* At one address: malloc's memory, then the GPU's, then malloc's again, then page-locked. */
static void check_kinds(void)
{
    char *a = pages(1);
    learn(a);
    CHECK(!munmap(a, kernel_page));
    reserve(a, kernel_page);
    driver.own = (uintptr_t)a;
    for (int i = 0; i < 10; i++)
        CHECK(is_gpu(a, 8) && questions_about(a));
    driver.own = 0;
    CHECK(mmap(a, kernel_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == a);
    learn(a);
    driver.locked = (uintptr_t)a; /* registered: still host memory */
    CHECK(!is_gpu(a, 8));
    munmap(a, kernel_page);
    reserve(a, kernel_page);
    for (int i = 0; i < 10; i++) /* allocated page-locked: the driver may put it to another use unseen */
        CHECK(!is_gpu(a, 8) && questions_about(a));
    driver.locked = 0;
    driver.own = (uintptr_t)a;
    CHECK(is_gpu(a, 8));
    driver.own = 0;
}

/* A pointer to memory that a GPU has freed, with nothing to transfer: the GPU may have the address again. */
static void check_left_over(void)
{
    char *a = pages(1);
    CHECK(!munmap(a, kernel_page) && !is_gpu(a, 0));
    driver.own = (uintptr_t)a;
    CHECK(is_gpu(a, 8));
    driver.own = 0;
}

/* One thread changes what the page is, over and over; the answer must be right each time, while others ask about pages
 * that share its place in the table, and map memory. */
static atomic_bool is_over;

/* What lies in the window by chance is not private. */
static void ask_if_private(const char *address)
{
    if ((uintptr_t)address - shmemi_window.base >= shmemi_window.span)
        is_gpu(address, 8);
}

static void *disturb(void *address)
{
    while (!is_over) {
        char *other = pages(1);
        ask_if_private((char *)address + TABLE);
        ask_if_private((char *)address - TABLE);
        is_gpu(other, 8);
        munmap(other, kernel_page);
    }
    return NULL;
}

static void check_threads(void)
{
    enum { THREADS = 3, ROUNDS = 20000 };
    pthread_t threads[THREADS];
    char *a = pages(1);
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&threads[i], NULL, disturb, a));
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(!is_gpu(a, 8));
        reserve(a, kernel_page);
        driver.own = (uintptr_t)a;
        CHECK(is_gpu(a, 8));
        driver.own = 0;
        CHECK(mmap(a, kernel_page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == a);
    }
    is_over = true;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    munmap(a, kernel_page);
}

/* ---- Another library takes mmap over ----------------------------------------------------------------------------- */

#ifdef __x86_64__
struct jump {
    uint8_t move[2], to[8], jump[2];
};
static const struct jump jump = {{0x48, 0xb8}, {0}, {0xff, 0xe0}}; /* mov rax, to; jmp rax */
#else
struct jump {
    uint32_t load, jump;
    uint8_t to[8];
};
static const struct jump jump = {0x58000050, 0xd61f0200, {0}}; /* ldr x16, to; br x16: of 64-bit Arm */
#endif

static void *other_mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    return (void *)syscall(SYS_mmap, address, length, protection, flags, fd, offset);
}

/* The beginning of mmap becomes a jump, as by UCX and Open MPI. */
static bool take_over(void)
{
    struct jump code = jump;
    void *target = (void *)other_mmap;
    char *place = dlsym(RTLD_DEFAULT, "mmap"), *page = place - (uintptr_t)place % kernel_page;
    memcpy(code.to, &target, sizeof target);
    if (mprotect(page, 2 * kernel_page, PROT_READ | PROT_WRITE | PROT_EXEC))
        return false;
    memcpy(place, &code, sizeof code);
    __builtin___clear_cache(place, place + sizeof code);
    return true;
}

static void check_taken_over(void)
{
    char *page = pages(2);
    CHECK(!shmemi_plain_open());
    remember(page);
    CHECK(shmemi_is_plain(page));
    if (!take_over())
        return;
    remember(page + kernel_page);
    CHECK(!shmemi_is_plain(page) && !shmemi_is_plain(page + kernel_page));
}

/* The kernel lays out addresses when a program starts. Returns where it may not have so much stack. */
static void run_again(char **argv)
{
    const struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
    char *again[] = {argv[0], "again", NULL};
    if (setrlimit(RLIMIT_STACK, &unlimited))
        return;
    execv("/proc/self/exe", again);
    CHECK(!"execv");
}

int main(int argc, char **argv)
{
    remember((char *)0x7f0000000000);
    CHECK(!shmemi_is_plain((char *)0x7f0000000000)); /* not open */
    kernel_page = (size_t)sysconf(_SC_PAGESIZE);
    if (shmemi_plain_open()) {
        printf("other libraries call another mmap: skipped\n");
        return 77;
    }
    check_pages();
    check_ranges();
    shmemi_memory_discover();
    CHECK(shmemi_memory_probe && !shmemi_window_open((size_t)32 * GRANULE, (size_t)4 * GRANULE, 0));
    check_left_over(); /* also while no static data is known */
    struct shmemi_region data = {0};
    shmemi_static_data_find(&data.base, &data.size);
    CHECK(data.size && !shmemi_region_add_static(&data));
    check_left_over();
    check_mapping();
    check_file();
    check_questions();
    check_kinds();
    check_threads();
    char *page = pages(1);
    learn(page);
    shmemi_memory_close();
    CHECK(!shmemi_is_plain(page));
    shmemi_window_close();
    check_taken_over();
    if (argc == 1)
        run_again(argv);
    return 0;
}
