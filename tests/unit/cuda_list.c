/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lists of small operations on CUDA memory: transfers of all lengths and alignments and all atomic operations against a
 * model on the CPU, entries that run last, exact sums of many threads, the pool of lists. The argument "short" reduces
 * each, for compute-sanitizer. Skipped (77) without a CUDA device, and in a build without kernels.
 */
#include "cuda_user.h"
#include "gpu/list.h"
#include "tests/patience.h"

#include <errno.h>

enum { SIZE_MAX_TESTED = 4096, LISTS_MAX = 64, THREADS = 8 };

static CUcontext primary;
static struct shmemi_place here, there; /* two boxes of one device */
static char model[BOX];
static int thinning = 1; /* one case in this many is tested */

static struct shmemi_list *take(void)
{
    struct shmemi_list *list = memory->lists->take(&here);
    CHECK(list && !shmemi_list_length(list) && list->object == here.object);
    return list;
}

static int await(struct shmemi_list *list)
{
    int rc;
    for (unsigned turns = 0; (rc = memory->lists->test(list)) == -EAGAIN;)
        wait_a_turn(&turns);
    return rc;
}

static void run(struct shmemi_list *list)
{
    CHECK(!memory->lists->start(list) && !await(list));
    shmemi_list_deliver(list);
    memory->lists->give(list);
}

static void read_box(const struct shmemi_place *box, void *into)
{
    USE(cuda.cuMemcpyDtoH(into, box->address, BOX));
}

static void write_box(const struct shmemi_place *box, const void *from)
{
    USE(cuda.cuMemcpyHtoD(box->address, from, BOX));
}

/* ---- Transfers --------------------------------------------------------------------------------------------------- */

/* A list of transfers between random places; what they write does not overlap, and lies between bytes that stay. */
struct mix {
    struct shmemi_list *list;
    size_t written; /* bytes of the dest so far */
};

static size_t next_dest(struct mix *mix, size_t nbytes)
{
    size_t at = mix->written + (size_t)rand() % 17;
    mix->written = at + nbytes;
    return at;
}

static bool has_room(const struct mix *mix, size_t nbytes)
{
    return shmemi_list_has_room(mix->list, nbytes) && mix->written + nbytes + 16 < BOX;
}

/* To the box "there", from host memory or the box "here", whose model is host_a. */
static void add_put(struct mix *mix, size_t nbytes, bool from_device)
{
    size_t to = next_dest(mix, nbytes), from = (size_t)rand() % (BOX - SIZE_MAX_TESTED);
    memcpy(model + to, host_a + from, nbytes);
    if (from_device)
        shmemi_list_copy(mix->list, there.address + to, here.address + from, nbytes);
    else
        shmemi_list_put(mix->list, there.address + to, host_a + from, nbytes);
}

/* From the box "here" to host_b. */
static void add_get(struct mix *mix, size_t nbytes)
{
    size_t to = next_dest(mix, nbytes), from = (size_t)rand() % (BOX - SIZE_MAX_TESTED);
    memcpy(model + to, host_a + from, nbytes);
    shmemi_list_get(mix->list, host_b + to, here.address + from, nbytes);
}

static size_t next_size(size_t *size, bool at_random)
{
    if (at_random)
        return *size = 1 + (size_t)rand() % SIZE_MAX_TESTED;
    *size += (size_t)thinning;
    return *size;
}

/* All sizes in turn, or random ones, in as many lists as that takes. */
static void check_transfers(bool at_random, int n_lists, bool puts)
{
    size_t size = 0;
    for (int i = 0; i < n_lists && size <= SIZE_MAX_TESTED; i++) {
        struct mix mix = {.list = take()};
        fill(model, BOX, 77);
        memcpy(host_b, model, BOX);
        write_box(&there, model);
        while (next_size(&size, at_random) <= SIZE_MAX_TESTED && has_room(&mix, size)) {
            if (puts)
                add_put(&mix, size, rand() % 2);
            else
                add_get(&mix, size);
        }
        size -= at_random ? 0 : (size_t)thinning; /* this one is for the next list */
        run(mix.list);
        if (puts)
            read_box(&there, host_b);
        CHECK(!memcmp(host_b, model, BOX));
        if (!at_random && size + (size_t)thinning > SIZE_MAX_TESTED)
            break;
    }
}

/* Both ends at each offset from 16 bytes, with lengths around those where the way of copying changes; each also in a
 * list of its own, for which there is another kernel. */
static void check_alignments(bool alone)
{
    static const size_t sizes[] = {1, 2, 3, 4, 7, 8, 9, 15, 16, 31, 63, 64, 65, 100, 255, 600, 1024};
    fill(model, BOX, 5);
    write_box(&there, model);
    struct mix mix = {.list = NULL};
    for (int alignments = 0, n = 0; alignments < 256; alignments++)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            if (n++ % (alone ? 7 * thinning : thinning))
                continue;
            bool is_full = mix.written > BOX / 2;
            if (mix.list && (alone || is_full || !has_room(&mix, sizes[s]))) {
                run(mix.list);
                mix.list = NULL;
            }
            if (!mix.list)
                mix.list = take();
            mix.written = is_full ? 0 : mix.written;
            mix.written = (mix.written + 47) / 16 * 16 + (size_t)alignments / 16;
            size_t to = mix.written, from = 1024 + (size_t)alignments % 16;
            memcpy(model + to, host_a + from, sizes[s]);
            shmemi_list_copy(mix.list, there.address + to, here.address + from, sizes[s]);
            mix.written += sizes[s];
        }
    if (mix.list)
        run(mix.list);
    read_box(&there, host_b);
    CHECK(!memcmp(host_b, model, BOX));
}

/* ---- Atomic operations ------------------------------------------------------------------------------------------- */

static uint64_t random_word(void)
{
    return (uint64_t)rand() << 40 ^ (uint64_t)rand() << 20 ^ (uint64_t)rand();
}

static struct shmemi_amo random_amo(int op, unsigned size, uint64_t word)
{
    uint64_t mask = size == 4 ? UINT32_MAX : UINT64_MAX;
    return (struct shmemi_amo){
        .op = (enum shmemi_amo_op)op,
        .size = size,
        .operand = random_word() & mask,
        .compare = (rand() % 2 ? word : random_word()) & mask,
    };
}

/* Each operation on words of its own, with neighbours: in one list, one by one, and by the kind's own routine. */
static void check_operations(unsigned size, int way)
{
    enum { WORDS = 256 };
    static uint64_t old[WORDS], expected[WORDS];
    struct shmemi_list *list = way == 0 ? take() : NULL;
    fill(model, BOX, 3);
    write_box(&there, model);
    memset(old, 0, sizeof old);
    for (int i = 0; i < WORDS; i += way ? thinning : 1) {
        char *word = model + (size_t)i * 24 + (size == 4 ? 4 : 8);
        uintptr_t address = there.address + (uintptr_t)(word - model);
        uint64_t now = 0;
        memcpy(&now, word, size);
        struct shmemi_amo amo = random_amo(i % (SHMEMI_AMO_COMPARE_SWAP + 1), size, now);
        struct shmemi_place place = {memory, there.object, address};
        void *fetch_p = i % 3 ? &old[i] : NULL;
        uint64_t before = shmemi_amo_apply(word, &amo);
        expected[i] = amo.op == SHMEMI_AMO_SET ? now : before;
        if (!fetch_p && way < 2)
            expected[i] = 0;
        if (way == 2) {
            CHECK(!memory->amo(&place, &amo, &old[i]));
            continue;
        }
        list = list ? list : take();
        shmemi_list_amo(list, address, &amo, fetch_p);
        if (way == 1) {
            run(list);
            list = NULL;
        }
    }
    if (list)
        run(list);
    for (int i = 0; i < WORDS; i += way ? thinning : 1)
        CHECK(old[i] == expected[i]);
    read_box(&there, host_b);
    CHECK(!memcmp(host_b, model, BOX));
}

/* Each word is copied to, and the last entries add to it; in the other order the sum would be lost. */
static void check_last(uint32_t n)
{
    const struct shmemi_amo add = {SHMEMI_AMO_ADD, 8, 1000, 0};
    struct shmemi_list *list = take();
    memset(model, 0, BOX);
    write_box(&there, model);
    for (uint32_t i = 0; i < n; i++) {
        shmemi_list_copy(list, there.address + 8 * i, here.address + 8 * i, 8);
        shmemi_list_amo_last(list, there.address + 8 * i, &add);
    }
    run(list);
    read_box(&there, host_b);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t source, sum;
        memcpy(&source, host_a + 8 * i, 8);
        memcpy(&sum, host_b + 8 * i, 8);
        CHECK(sum == source + 1000);
    }
}

/* ---- Many at once ------------------------------------------------------------------------------------------------ */

static int adds_per_thread;

/* To one word, by lists of different lengths and by the kind's routine. */
static void *add_many(void *argument)
{
    const struct shmemi_amo add = {SHMEMI_AMO_ADD, 8, 1, 0};
    uint64_t old;
    (void)argument;
    for (int left = adds_per_thread, length = 1; left > 0; length = length * 3 % 1000 + 1) {
        struct shmemi_list *list = left % 5 ? memory->lists->take(&here) : NULL;
        if (!list) {
            CHECK(!memory->amo(&there, &add, &old));
            left--;
            continue;
        }
        int n = length < left ? length : left;
        for (int i = 0; i < n; i++)
            shmemi_list_amo(list, there.address, &add, NULL);
        run(list);
        left -= n;
    }
    return NULL;
}

static void check_threads(int n)
{
    pthread_t thread[THREADS];
    uint64_t sum = 0;
    adds_per_thread = n;
    USE(cuda.cuMemcpyHtoD(there.address, &sum, sizeof sum));
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&thread[i], NULL, add_many, NULL));
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    USE(cuda.cuMemcpyDtoH(&sum, there.address, sizeof sum));
    CHECK(sum == (uint64_t)n * THREADS);
}

/* Lists of one thread take effect one after the other. */
static void check_order_of_lists(void)
{
    struct shmemi_list *list[8];
    uint64_t value, found;
    for (int i = 0; i < 8; i++) {
        list[i] = take();
        value = 100 + (uint64_t)i;
        shmemi_list_put(list[i], there.address, &value, sizeof value);
        CHECK(!memory->lists->start(list[i]));
    }
    for (int i = 0; i < 8; i++) {
        CHECK(!await(list[i]));
        memory->lists->give(list[i]);
    }
    USE(cuda.cuMemcpyDtoH(&found, there.address, sizeof found));
    CHECK(found == value);
}

static void check_pool(void)
{
    struct shmemi_list *list[LISTS_MAX];
    int n = 0;
    while (n < LISTS_MAX && (list[n] = memory->lists->take(&here)))
        n++;
    CHECK(n > 1 && n < LISTS_MAX);
    while (n--)
        memory->lists->give(list[n]);
}

static void check_atomic_unit(void)
{
    struct shmemi_atomic_unit unit, other = {.exists = true};
    memory->atomic_units->find(&here, &unit);
    CHECK(unit.exists && memory->atomic_units->reaches(&there, &unit));
    CHECK(!memory->atomic_units->reaches(&there, &other));
}

static void open_boxes(void)
{
    struct shmemi_allocation a, b;
    char reason[160];
    CHECK(!open_object(user_alloc(BOX), BOX, &a, reason) && !open_object(user_alloc(BOX), BOX, &b, reason));
    here = a.place;
    there = b.place;
    fill(host_a, BOX, 1);
    write_box(&here, host_a);
}

int main(int argc, char **argv)
{
    if (memory->open() || (load_user_functions(), memory->device_count() == 0)) {
        printf("# no CUDA device: skipped\n");
        return SKIP;
    }
    if (argc > 1 && !strcmp(argv[1], "short"))
        thinning = 41;
    USE(shmemi_cuda.cuDevicePrimaryCtxRetain(&primary, 0));
    USE(cuda.cuCtxSetCurrent(primary));
    open_boxes();
    if (!shmemi_gpu_has_kernels(here.object)) {
        printf("# no kernels in this build: skipped\n");
        return SKIP;
    }
    check_atomic_unit();
    check_pool();
    check_alignments(false);
    check_alignments(true);
    for (int puts = 0; puts < 2; puts++) {
        check_transfers(false, INT32_MAX, puts);
        check_transfers(true, thinning == 1 ? 20 : 1, puts);
    }
    for (int way = 0; way < 3; way++) {
        check_operations(4, way);
        check_operations(8, way);
    }
    check_last(1);
    check_last(1000);
    check_order_of_lists();
    check_threads(thinning == 1 ? 20000 : 500);
    memory->close();
    printf("# %d failures\n", n_failures);
    return n_failures ? 1 : 0;
}
