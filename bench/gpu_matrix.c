/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Is mapped memory ever slower than copies by hand? For each call and size: mapped, by hand, the same call between host
 * buffers, the plain copy, in turns, and which cells are slower than by hand. What a launch decides (link, binding, who
 * shares a GPU) is that of this job: gpu_matrix.sh starts one job for each and adds up.
 */
#include "matrix.h"
#include "tests/osu/shmem_flavour.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_CSV = 256, OPTION_QUICK, OPTION_AS, OPTION_CALLS, OPTION_BLOCK, QUICK_BLOCK_US = 200, BLOCK_US = 4000 };

static const double limit = 1.03; /* mapped may take so many times as long as by hand */

static const size_t sizes[] = {8, 64, 1 << 10, 8 << 10, 32 << 10, 128 << 10, 1 << 20, 4 << 20, 64 << 20};

static const char usage[] =
    "usage: gpu_matrix [-d cuda|opencl] [-m MAX] [--calls LIST] [--as TEXT] [--csv FILE] [--block US] [--quick]\n"
    "Two PEs. Measures calls on mapped GPU memory beside the same by hand, and beside host memory; medians in us.\n"
    "  -d KIND       of the memory (cuda)\n"
    "  -m MAX        largest size (64M)\n"
    "  --calls LIST  some of put,get,put_nbi,iput,put_signal (all)\n"
    "  --as TEXT     link, binding and sharing of the job, as the table should name them (\"- - -\")\n"
    "  --csv FILE    the table as CSV, too, behind what the file has\n"
    "  --block US    how long each of the measured blocks should take (4000)\n"
    "  --quick       short blocks, sizes to 1 MiB\n"
    "  -v, --version\n"
    "  -h, --help\n";

static const struct osu_program program = {
    .name = "gpu_matrix",
    .title = "GPU matrix",
    .summary = "mapped memory beside copies by hand",
    .two_pes = true,
    .placement = OSU_ANY_MEMORY,
    .min_size = 8,
    .max_size = 64 << 20,
    .large_from = 8,
    .iterations = 1,
    .iterations_large = 1,
};

struct arguments {
    char *kind, *most;
    const char *csv, *as, *calls;
    double block_us;
    bool help, version;
};

struct count {
    int cells, slower;
    bool right;
};

/* Returns 0, or -1 for a word that is no option. */
static int read_arguments(struct arguments *arguments, int argc, char **argv)
{
    static const struct option options[] = {{"csv", required_argument, NULL, OPTION_CSV},
                                            {"as", required_argument, NULL, OPTION_AS},
                                            {"calls", required_argument, NULL, OPTION_CALLS},
                                            {"block", required_argument, NULL, OPTION_BLOCK},
                                            {"quick", no_argument, NULL, OPTION_QUICK},
                                            {"version", no_argument, NULL, 'v'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    const char *of[OPTION_BLOCK + 1] = {['d'] = "cuda", [OPTION_AS] = "- - -"};
    bool quick = false;
    int option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "d:m:hv", options, NULL)) != -1) {
        if (option == '?')
            return -1;
        quick |= option == OPTION_QUICK;
        arguments->help |= option == 'h';
        arguments->version |= option == 'v';
        of[option] = optarg;
    }
    arguments->kind = (char *)of['d'];
    arguments->most = (char *)(of['m'] ? of['m'] : quick ? "1M" : "64M");
    arguments->csv = of[OPTION_CSV];
    arguments->as = of[OPTION_AS];
    arguments->calls = of[OPTION_CALLS];
    arguments->block_us = of[OPTION_BLOCK] ? atof(of[OPTION_BLOCK]) : quick ? QUICK_BLOCK_US : BLOCK_US;
    int rest = argc - optind;
    optind = 1;
    return rest ? -1 : 0;
}

/* Is the call in the list, which is separated by commas? */
static bool is_asked(const char *calls, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = calls; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (!strncmp(at, name, length) && (at[length] == ',' || !at[length]))
            return true;
    return !calls;
}

/* ---- Buffers ----------------------------------------------------------------------------------------------------- */

/* PE 0 finds out whether PE 1's memory has addresses here, and tells it. */
static void find_peer(struct matrix *matrix)
{
    static int has_peer, has_host_peer; /* symmetric */
    if (matrix->session.me == 0) {
        matrix->peer = shmem_ptr(matrix->buffers.remote.address, 1);
        matrix->host_peer = shmem_ptr(matrix->buffers.stage.address, 1);
        for (int pe = 0; pe < 2; pe++) {
            shmem_int_p(&has_peer, matrix->peer != NULL, pe);
            shmem_int_p(&has_host_peer, matrix->host_peer != NULL, pe);
        }
    }
    shmem_barrier_all();
    matrix->has_peer = has_peer;
    matrix->has_host_peer = has_host_peer;
}

static void join_parts(struct matrix *matrix)
{
    const struct latency_buffers *buffers = &matrix->buffers;
    const struct osu_session *session = &matrix->session;
    matrix->signal = symmetric_alloc(4 * sizeof *matrix->signal);
    memset(matrix->signal, 0, 4 * sizeof *matrix->signal);
    matrix->hand = (struct by_hand){
        .device = session->device,
        .near = buffers->local.object,
        .far = buffers->remote.object,
        .out = matrix->host_source.address,
        .in = buffers->stage.address,
        .signal = matrix->signal + 1,
        .me = session->me,
    };
    matrix->queue = session->device->ops->gpu.queue_open(session->device);
    find_peer(matrix);
}

static int create_buffers(struct matrix *matrix)
{
    const struct osu_session *session = &matrix->session;
    struct latency_buffers *buffers = &matrix->buffers;
    const struct osu_static_area no_area = {NULL, 0};
    size_t size = session->options.max_size;
    if (osu_stage_create(session, &matrix->host_source, size) || osu_stage_create(session, &buffers->stage, size) ||
        osu_memory_create(session, &buffers->local, session->device, no_area, size, true) ||
        osu_memory_create(session, &buffers->remote, session->device, no_area, size, true))
        return -1;
    memset(matrix->host_source.address, 1, size);
    memset(buffers->stage.address, 1, size);
    join_parts(matrix);
    return 0;
}

static void destroy_buffers(struct matrix *matrix)
{
    matrix->session.device->ops->gpu.queue_close(matrix->queue);
    osu_memory_destroy(&matrix->buffers.remote);
    osu_memory_destroy(&matrix->buffers.local);
    osu_memory_destroy(&matrix->buffers.stage);
    osu_memory_destroy(&matrix->host_source);
    shmem_free(matrix->signal);
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

static void print_title(const struct matrix *matrix, const struct arguments *arguments)
{
    const struct device *device = matrix->session.device;
    printf("# gpu_matrix: %s, %s; route %s, host memory %s; link, binding, sharing: %s\n", arguments->kind,
           device->ops->gpu.label(device), osu_route(matrix->buffers.remote.address, 1),
           osu_route(matrix->buffers.stage.address, 1), arguments->as);
    printf("%-21s  %12s  %12s  %12s  %12s  %10s\n", "# Call:bytes", "Latency (us)", "By hand (us)", "Host (us)",
           "Raw (us)", "of by hand");
}

static void print_figure(double value)
{
    char text[32] = "-";
    if (!isnan(value))
        snprintf(text, sizeof text, value < 1 ? "%.4f" : "%.2f", value);
    printf("  %12s", text);
}

static bool is_slower(const struct matrix_cell *cell)
{
    return cell->us[MATRIX_MAPPED] > limit * cell->us[MATRIX_BY_HAND];
}

static void print_cell(const char *name, size_t size, const struct matrix_cell *cell)
{
    char subject[64];
    snprintf(subject, sizeof subject, "%s:%zu", name, size);
    printf("%-21s", subject);
    for (int column = 0; column < MATRIX_WAYS; column++)
        print_figure(cell->us[column]);
    printf("  %10.3f%s%s\n", cell->us[MATRIX_MAPPED] / cell->us[MATRIX_BY_HAND], is_slower(cell) ? "  slower" : "",
           cell->right ? "" : "  WRONG BYTES");
    fflush(stdout);
}

/* kind,link,binding,sharing,call,bytes,mapped,by hand,host,raw */
static void write_cell(FILE *csv, const struct arguments *arguments, const char *name, size_t size,
                       const struct matrix_cell *cell)
{
    char link[32] = "-", binding[32] = "-", sharing[32] = "-";
    sscanf(arguments->as, "%31s %31s %31s", link, binding, sharing);
    fprintf(csv, "%s,%s,%s,%s,%s,%zu", arguments->kind, link, binding, sharing, name, size);
    for (int column = 0; column < MATRIX_WAYS; column++) {
        if (isnan(cell->us[column]))
            fprintf(csv, ",");
        else
            fprintf(csv, ",%.5g", cell->us[column]);
    }
    fprintf(csv, ",%s\n", cell->right ? "right" : "wrong");
}

static void run_call(struct matrix *matrix, const struct arguments *arguments, FILE *csv,
                     const struct matrix_call *call, struct count *count)
{
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t size = sizes[i];
        if (size > call->most || call->span(size) > matrix->session.options.max_size)
            continue;
        struct matrix_cell cell = matrix_measure(matrix, call, size);
        count->cells++;
        count->slower += is_slower(&cell);
        count->right &= cell.right;
        if (matrix->session.me == 0)
            print_cell(call->name, size, &cell);
        if (csv)
            write_cell(csv, arguments, call->name, size, &cell);
    }
}

static int run_calls(struct matrix *matrix, const struct arguments *arguments)
{
    FILE *csv = arguments->csv && matrix->session.me == 0 ? fopen(arguments->csv, "a") : NULL;
    struct count count = {.right = true};
    if (arguments->csv && matrix->session.me == 0 && !csv)
        die("%s: cannot write", arguments->csv);
    if (matrix->session.me == 0)
        print_title(matrix, arguments);
    for (size_t i = 0; i < matrix_n_calls; i++)
        if (is_asked(arguments->calls, matrix_calls[i].name))
            run_call(matrix, arguments, csv, &matrix_calls[i], &count);
    if (matrix->session.me == 0)
        printf("# cells: %d, slower than by hand: %d\n", count.cells, count.slower);
    if (csv && fclose(csv))
        die("%s: cannot write", arguments->csv);
    return count.right ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    static struct matrix matrix;
    struct arguments arguments = {0};
    int status = EXIT_FAILURE;
    bool bad = read_arguments(&arguments, argc, argv) != 0;
    if (!bad && arguments.version) {
        program_name = "gpu_matrix";
        print_version();
        return EXIT_SUCCESS;
    }
    if (bad || arguments.help) {
        fputs(usage, arguments.help ? stdout : stderr);
        return arguments.help ? EXIT_SUCCESS : 2;
    }
    char *session[] = {argv[0], "-d", arguments.kind, "-m", arguments.most, "D", "D"};
    setenv("SHMEM_SYMMETRIC_SIZE", "160m", 0);
    if (!osu_session_start(&matrix.session, &program, (int)(sizeof session / sizeof session[0]), session, &status))
        return status;
    matrix.block_us = arguments.block_us;
    if (create_buffers(&matrix))
        return osu_session_end(EXIT_FAILURE);
    status = run_calls(&matrix, &arguments);
    destroy_buffers(&matrix);
    return osu_session_end(status);
}
