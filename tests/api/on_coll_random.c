/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives of several teams in two queues or streams, in a random order and without waiting in between; in different
 * orders on different PEs; by several threads at once, beside blocking collectives of the same teams.
 */
#include "map_check.h"
#include "check.h"

#include <pthread.h>
#include <shmemx.h>

enum { LANES = 2, TEAMS = 4, OPERATIONS = 60, ROUNDS = 4, MOST = 600, AREA = 64 << 10, BYTES = 2 * OPERATIONS * AREA };

static struct device *device;
static struct queue *queues[LANES];
static void *lanes[LANES];
static bool is_queue;
static struct buffer *buffer;
static char *map, *heap;
static shmem_team_t teams[TEAMS];
static unsigned long random_state = 7;

#define ON(NAME, LANE, ...)                                                                                            \
    (is_queue ? shmemx_##NAME##_on_queue(__VA_ARGS__, lanes[LANE], 0, NULL, NULL)                                      \
              : shmemx_##NAME##_on_stream(__VA_ARGS__, lanes[LANE]))

/* The same sequence on all PEs. */
static unsigned pick(unsigned n)
{
    random_state = random_state * 6364136223846793005ul + 1442695040888963407ul;
    return (unsigned)(random_state >> 33) % n;
}

static void finish(void)
{
    for (int i = 0; i < LANES; i++)
        device->ops->gpu.finish(queues[i]);
}

/* ---- One batch --------------------------------------------------------------------------------------------------- */

enum kind { REDUCE, BROADCAST, FCOLLECT, ALLTOALL, SCAN, SYNC, KINDS };

struct operation {
    enum kind kind;
    int number, n, me; /* of the team */
    shmem_team_t team;
    size_t nelems;
    bool is_mapped;
};

static size_t source_at(const struct operation *op)
{
    return (size_t)(2 * op->number) * AREA;
}

static size_t dest_at(const struct operation *op)
{
    return source_at(op) + AREA;
}

static int64_t value(const struct operation *op, int pe, size_t i)
{
    return op->number * 100003 + pe * 7919 + (int64_t)i * 31;
}

static int64_t expected(const struct operation *op, size_t i)
{
    int64_t sum = 0;
    const size_t n = op->nelems;
    switch (op->kind) {
    case BROADCAST:
        return value(op, op->number % op->n, i);
    case FCOLLECT:
        return value(op, (int)(i / n), i % n);
    case ALLTOALL:
        return value(op, (int)(i / n), (size_t)op->me * n + i % n);
    default:
        for (int pe = 0; pe < (op->kind == SCAN ? op->me + 1 : op->n); pe++)
            sum += value(op, pe, i);
        return sum;
    }
}

static size_t n_results(const struct operation *op)
{
    if (op->kind == SYNC)
        return 0;
    return op->kind == FCOLLECT || op->kind == ALLTOALL ? op->nelems * (size_t)op->n : op->nelems;
}

static void fill(const struct operation *op)
{
    int64_t image[AREA / 8];
    const size_t n = op->kind == ALLTOALL ? op->nelems * (size_t)op->n : op->nelems;
    for (size_t i = 0; i < n; i++)
        image[i] = value(op, op->me, i);
    if (op->is_mapped)
        device_write(device, buffer, source_at(op), image, n * 8);
    else
        memcpy(heap + source_at(op), image, n * 8);
}

static void enqueue(const struct operation *op, int lane)
{
    char *base = op->is_mapped ? map : heap;
    int64_t *dest = (void *)(base + dest_at(op)), *source = (void *)(base + source_at(op));
    switch (op->kind) {
    case REDUCE:
        ON(int64_sum_reduce, lane, op->team, dest, source, op->nelems);
        break;
    case BROADCAST:
        ON(int64_broadcast, lane, op->team, dest, source, op->nelems, op->number % op->n);
        break;
    case FCOLLECT:
        ON(int64_fcollect, lane, op->team, dest, source, op->nelems);
        break;
    case ALLTOALL:
        ON(int64_alltoall, lane, op->team, dest, source, op->nelems);
        break;
    case SCAN:
        ON(int64_sum_inscan, lane, op->team, dest, source, op->nelems);
        break;
    default:
        ON(team_barrier, lane, op->team);
    }
}

static void check(const struct operation *op)
{
    int64_t image[AREA / 8];
    const size_t n = n_results(op);
    if (op->is_mapped)
        device_read(device, image, buffer, dest_at(op), n * 8);
    else
        memcpy(image, heap + dest_at(op), n * 8);
    for (size_t i = 0; i < n; i++)
        CHECK_THAT(image[i] == expected(op, i),
                   "number %d, kind %d, team of %d, %zu elements: element %zu is %lld, not %lld", op->number,
                   (int)op->kind, op->n, op->nelems, i, (long long)image[i], (long long)expected(op, i));
}

static struct operation choose(int number)
{
    struct operation op = {.number = number, .kind = (enum kind)pick(KINDS), .team = teams[pick(TEAMS)]};
    op.is_mapped = pick(2);
    op.nelems = pick(3) ? 1 + pick(40) : 1 + pick(MOST);
    if (op.team == SHMEM_TEAM_INVALID)
        return op;
    op.n = shmem_team_n_pes(op.team);
    op.me = shmem_team_my_pe(op.team);
    return op;
}

/* Which lane a PE takes for an operation is its own affair. */
static void check_batch(void)
{
    struct operation ops[OPERATIONS];
    for (int i = 0; i < OPERATIONS; i++) {
        ops[i] = choose(i);
        if (ops[i].n)
            fill(&ops[i]);
    }
    shmem_barrier_all();
    for (int i = 0; i < OPERATIONS; i++)
        if (ops[i].n)
            enqueue(&ops[i], (i * 5 + shmem_my_pe() * 3) / 2 % LANES);
    finish();
    for (int i = 0; i < OPERATIONS; i++)
        if (ops[i].n)
            check(&ops[i]);
    shmem_barrier_all();
}

/* ---- Different orders -------------------------------------------------------------------------------------------- */

/* Of two teams of all PEs, some PEs begin with one and some with the other, in different lanes. */
static void check_orders(void)
{
    struct operation ops[2 * OPERATIONS / 2];
    for (int i = 0; i < OPERATIONS; i++) {
        ops[i] = (struct operation){.number = i, .kind = REDUCE, .team = teams[i % 2], .nelems = 20};
        ops[i].n = shmem_n_pes();
        ops[i].me = shmem_team_my_pe(ops[i].team);
        fill(&ops[i]);
    }
    shmem_barrier_all();
    for (int i = 0; i < OPERATIONS; i++) {
        int k = shmem_my_pe() % 2 ? i ^ 1 : i;
        enqueue(&ops[k], k % 2);
    }
    finish();
    for (int i = 0; i < OPERATIONS; i++)
        check(&ops[i]);
    shmem_barrier_all();
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static void *enqueue_all(void *argument)
{
    const struct operation *ops = argument;
    for (int i = 0; i < OPERATIONS; i += 2)
        enqueue(&ops[i], ops[i].number % LANES);
    return NULL;
}

static void check_blocking(int i)
{
    static int64_t sum[2], mine[2];
    int64_t n = shmem_n_pes();
    mine[0] = i;
    mine[1] = shmem_my_pe();
    CHECK(shmem_int64_sum_reduce(teams[i % 2], sum, mine, 2) == 0);
    CHECK(sum[0] == n * i && sum[1] == n * (n - 1) / 2);
    CHECK(shmem_team_sync(teams[i % 2]) == 0);
}

/* Each of two threads fills a lane with a team's collectives; the main thread uses both teams meanwhile. */
static void check_threads(void)
{
    struct operation ops[OPERATIONS];
    pthread_t thread[LANES];
    for (int i = 0; i < OPERATIONS; i++) {
        ops[i] = (struct operation){
            .number = i, .kind = (enum kind)(i / 2 % SYNC), .team = teams[i % 2], .nelems = 50, .is_mapped = i / 4 % 2};
        ops[i].n = shmem_n_pes();
        ops[i].me = shmem_team_my_pe(ops[i].team);
        fill(&ops[i]);
    }
    shmem_barrier_all();
    for (int i = 0; i < LANES; i++)
        CHECK(!pthread_create(&thread[i], NULL, enqueue_all, &ops[i]));
    for (int i = 0; i < OPERATIONS; i++)
        check_blocking(i);
    for (int i = 0; i < LANES; i++)
        CHECK(!pthread_join(thread[i], NULL));
    finish();
    for (int i = 0; i < OPERATIONS; i++)
        check(&ops[i]);
    shmem_barrier_all();
}

/* ---- Teams come and go ------------------------------------------------------------------------------------------- */

static void make_teams(void)
{
    const int n = shmem_n_pes(), me = shmem_my_pe();
    shmem_team_t part;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &teams[0]);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &teams[1]);
    teams[2] = SHMEM_TEAM_WORLD;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, NULL, 0, &teams[3]);
    if (n > 1)
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 2, n / 2, NULL, 0, &part);
    if (me % 2)
        teams[3] = part;
}

/* What is under way is completed by shmem_team_destroy. */
static void destroy_teams(void)
{
    struct operation op = {.kind = REDUCE, .n = shmem_n_pes(), .me = shmem_my_pe(), .team = teams[0], .nelems = 10};
    fill(&op);
    shmem_barrier_all();
    enqueue(&op, 0);
    ON(team_sync, 1, teams[1]);
    shmem_team_destroy(teams[0]);
    shmem_team_destroy(teams[1]);
    shmem_team_destroy(teams[3]);
    check(&op);
    shmem_barrier_all();
}

static bool check_kind(const struct device_ops *kind)
{
    device = map_open_device(kind);
    if (!device)
        return false;
    is_queue = kind->memtype == DEVICE_TYPE_OPENCL;
    queues[0] = kind->gpu.queue_open(device);
    queues[1] = kind->gpu.urgent_queue_open(device);
    for (int i = 0; i < LANES; i++)
        lanes[i] = kind->gpu.queue_object(queues[i]);
    buffer = device_alloc(device, BYTES);
    map = shmmap(buffer, BYTES, kind->memtype);
    CHECK_THAT(map, "shmmap: %s", shmemx_strerror());
    for (int i = 0; i < ROUNDS; i++) {
        make_teams();
        check_batch();
        check_orders();
        check_threads();
        destroy_teams();
    }
    ON(team_sync, 1, SHMEM_TEAM_WORLD); /* completed by shmumap */
    shmumap(map);
    ON(team_barrier, 0, SHMEM_TEAM_SHARED); /* by shmem_finalize */
    return true;
}

int main(void)
{
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    heap = check_shmem_malloc(BYTES);
    bool any = check_kind(&device_opencl_ops);
    any |= check_kind(&device_cuda_ops);
    if (any)
        return check_end();
    shmem_finalize();
    return CHECK_SKIP;
}
