/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfers of GPU memory beside the raw calls of its driver, in one run and in turns, with what each should reach. The
 * route is that of the job's settings: gpu_routes.sh runs this program once per route and joins the tables.
 */
#include "routes.h"
#include "tests/osu/shmem_flavour.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALLEST_OF_SIZES = 8, MAX_ARGUMENTS = 8, OPTION_CSV = 256, OPTION_QUICK };

static const char usage[] =
    "usage: gpu_routes [-d cuda|opencl] [-m MAX] [--csv FILE] [--quick] [GROUP...]\n"
    "Two PEs. Measures transfers of mapped GPU memory from PE 0 to PE 1 beside raw calls, in turns; medians.\n"
    "  -d KIND     of the memory (cuda)\n"
    "  -m MAX      bytes of the buffers (1G); lines that need more are left out\n"
    "  --csv FILE  the table as CSV, too, behind what the file has\n"
    "  --quick     few repetitions, to see that it works\n"
    "  -v, --version\n"
    "  -h, --help\n"
    "Groups (all): direct small strided shadow staged nodes pageable atomics streams idle sizes\n";

static const struct osu_program program = {
    .name = "gpu_routes",
    .title = "GPU routes",
    .summary = "transfers beside raw calls",
    .two_pes = true,
    .placement = OSU_ANY_MEMORY,
    .min_size = SMALLEST_OF_SIZES,
    .max_size = 1 << 30,
    .large_from = SMALLEST_OF_SIZES,
    .iterations = 1,
    .iterations_large = 1,
};

static long fetched[ROUTES_WORDS];

struct arguments {
    char *session[MAX_ARGUMENTS]; /* what osu_session_start is to read */
    int n_session;
    const char *csv;
    bool quick, help, version;
    char **groups;
    int n_groups;
};

/* Returns 0, or -1 for a word that is no option. */
static int read_arguments(struct arguments *arguments, int argc, char **argv)
{
    static const struct option options[] = {{"csv", required_argument, NULL, OPTION_CSV},
                                            {"quick", no_argument, NULL, OPTION_QUICK},
                                            {"version", no_argument, NULL, 'v'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    char *kind = "cuda", *size = "1G";
    int option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "d:m:hv", options, NULL)) != -1) {
        switch (option) {
        case 'd':
            kind = optarg;
            break;
        case 'm':
            size = optarg;
            break;
        case OPTION_CSV:
            arguments->csv = optarg;
            break;
        case OPTION_QUICK:
            arguments->quick = true;
            break;
        case 'h':
            arguments->help = true;
            break;
        case 'v':
            arguments->version = true;
            break;
        default:
            return -1;
        }
    }
    char *session[] = {argv[0], "-d", kind, "-m", size, "D", "D"};
    memcpy(arguments->session, session, sizeof session);
    arguments->n_session = sizeof session / sizeof session[0];
    arguments->groups = argv + optind;
    arguments->n_groups = argc - optind;
    optind = 1;
    return 0;
}

static bool is_asked(const struct arguments *arguments, const char *group)
{
    for (int i = 0; i < arguments->n_groups; i++) {
        if (!strcmp(arguments->groups[i], group))
            return true;
    }
    return arguments->n_groups == 0;
}

/* A word that is the name of no group, or NULL. */
static const char *unknown_group(const struct arguments *arguments)
{
    for (int i = 0; i < arguments->n_groups; i++) {
        bool known = false;
        for (size_t line = 0; line < routes_n_lines; line++)
            known |= !strcmp(arguments->groups[i], routes_lines[line].group);
        if (!known)
            return arguments->groups[i];
    }
    return NULL;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- Buffers --------------------------------------------------------------------------------------------------- */

static void *touched(size_t size)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 4096, size))
        die("posix_memalign: no room for %zu bytes", size);
    memset(memory, 1, size);
    return memory;
}

/* Tells both PEs what PE 0 has found out. */
static void share_facts(struct routes *routes)
{
    static int has_peer, device[2]; /* symmetric */
    int mine = osu_my_device(routes->session.device->ops->memtype);
    bool network = !strcmp(osu_route(routes->buffers.stage.address, 1), "ucx");
    if (routes->session.me == 0) {
        routes->peer = shmem_ptr(routes->buffers.remote.address, 1);
        for (int pe = 0; pe < 2; pe++)
            shmem_int_p(&has_peer, routes->peer != NULL, pe);
    }
    for (int pe = 0; pe < 2; pe++)
        shmem_int_p(&device[routes->session.me], mine, pe);
    shmem_barrier_all();
    routes->has_peer = has_peer;
    routes->n_devices = device[0] == device[1] ? 1 : 2;
    snprintf(routes->route, sizeof routes->route, "%s%s", osu_route(routes->buffers.remote.address, 1),
             network ? "/ucx" : "");
}

static int create_buffers(struct routes *routes)
{
    const struct osu_session *session = &routes->session;
    struct latency_buffers *buffers = &routes->buffers;
    const struct osu_static_area no_area = {NULL, 0};
    size_t size = session->options.max_size;
    routes->host_size = smaller(size, ROUTES_HOST_MAX);
    routes->private_size = smaller(size, ROUTES_PRIVATE_MAX);
    routes->stride = smaller(4096, size / (ROUTES_WORDS * sizeof(double)));
    if (osu_stage_create(session, &routes->host_source, routes->host_size) ||
        osu_stage_create(session, &buffers->stage, routes->host_size) ||
        osu_memory_create(session, &buffers->local, session->device, no_area, size, true) ||
        osu_memory_create(session, &buffers->remote, session->device, no_area, size, true))
        return -1;
    routes->pageable = touched(routes->private_size);
    if (can_lock(session->device)) {
        routes->pinned = touched(routes->private_size);
        session->device->ops->locks.lock(session->device, routes->pinned, routes->private_size);
    }
    routes->fetched = fetched;
    share_facts(routes);
    return 0;
}

static void destroy_buffers(struct routes *routes)
{
    if (routes->pinned)
        routes->session.device->ops->locks.unlock(routes->session.device, routes->pinned);
    free(routes->pinned);
    free(routes->pageable);
    osu_memory_destroy(&routes->buffers.remote);
    osu_memory_destroy(&routes->buffers.local);
    osu_memory_destroy(&routes->buffers.stage);
    osu_memory_destroy(&routes->host_source);
}

/* ---- Lines ----------------------------------------------------------------------------------------------------- */

/* Returns, on PE 0, whether the bytes were right. */
static bool run_line(struct routes *routes, FILE *csv, const struct routes_line *line)
{
    if (!line->ours->possible(routes, line->size))
        return true;
    struct routes_result result = routes_measure(routes, line);
    if (routes->session.me == 0)
        routes_report_line(csv, routes, line, &result);
    return result.right;
}

/* Runs 8 bytes, then from 16 on sizes four times as large as the one before. */
static bool run_sizes(struct routes *routes, FILE *csv, const struct routes_line *line)
{
    struct routes_line one = *line;
    bool right = true;
    for (one.size = SMALLEST_OF_SIZES; one.size <= routes->session.options.max_size;
         one.size = one.size == SMALLEST_OF_SIZES ? 2 * one.size : 4 * one.size)
        right &= run_line(routes, csv, &one);
    return right;
}

static int run_lines(struct routes *routes, const struct arguments *arguments)
{
    FILE *csv = arguments->csv && routes->session.me == 0 ? fopen(arguments->csv, "a") : NULL;
    bool right = true;
    if (arguments->csv && routes->session.me == 0 && !csv)
        die("%s: cannot write", arguments->csv);
    if (routes->session.me == 0)
        routes_report_title(csv, routes);
    for (size_t i = 0; i < routes_n_lines; i++) {
        const struct routes_line *line = &routes_lines[i];
        if (is_asked(arguments, line->group))
            right &= line->size ? run_line(routes, csv, line) : run_sizes(routes, csv, line);
    }
    if (csv && fclose(csv))
        die("%s: cannot write", arguments->csv);
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    static struct routes routes;
    struct arguments arguments = {0};
    int status = EXIT_FAILURE;
    bool bad = read_arguments(&arguments, argc, argv) != 0;
    const char *unknown = bad ? NULL : unknown_group(&arguments);
    if (!bad && arguments.version) {
        program_name = "gpu_routes";
        print_version();
        return EXIT_SUCCESS;
    }
    if (bad || unknown || arguments.help) {
        if (unknown)
            fprintf(stderr, "gpu_routes: no group %s\n", unknown);
        fputs(usage, arguments.help ? stdout : stderr);
        return arguments.help ? EXIT_SUCCESS : 2;
    }
    routes.quick = arguments.quick;
    if (!osu_session_start(&routes.session, &program, arguments.n_session, arguments.session, &status))
        return status;
    if (create_buffers(&routes))
        return osu_session_end(EXIT_FAILURE);
    status = run_lines(&routes, &arguments);
    destroy_buffers(&routes);
    return osu_session_end(status);
}
