/* SPDX-License-Identifier: BSD-3-Clause
 *
 * oshtypes: writes descriptors for deep copy (shmemx_deep.h) from the debug information of a program.
 */
#include "tools/oshtypes/plan.h"
#include "tools/oshtypes/util.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"

static const char usage[] = "usage: oshtypes [-o FILE] [-n NAME] [-a FILE]... [-i HEADER]... [OPTION]... FILE TYPE...\n"
                            "       oshtypes --check FILE\n"
                            "       oshtypes --help\n";

static const char help[] =
    "\n"
    "Reads the debug information (DWARF 4 or 5, compile with -g) of FILE, an object file, archive, shared library or\n"
    "executable, and writes a C file with the descriptors that shmemx_put_deep and the like need for each TYPE and\n"
    "all types that it reaches. The program compiles and links that file, and calls int NAME_register(void) after\n"
    "shmem_init; it returns 0, or prints why it failed and returns a negative errno value. TYPE is a struct, class or\n"
    "typedef of C and C++ or a derived type of gfortran: tree, \"struct tree\", mesh::cell. shmemx_type_find finds it\n"
    "by this name, and the types that it reaches by their names in the debug information. A struct without a name is\n"
    "named after its member (mesh.shape), and each element of an array of pointers is a field (child[0]).\n"
    "\n"
    "  -o, --output FILE       the C file (default: standard output)\n"
    "  -n, --name NAME         name of the function: NAME_register (default: the C file's name without its ending)\n"
    "  -a, --annotations FILE  read annotations; may be given several times\n"
    "  -i, --include HEADER    the C file includes it, and does not compile unless all sizes and offsets agree\n"
    "  -f, --file FILE         look for types in this file, too; may be given several times\n"
    "  -u, --unit PATTERN      only read compilation units whose source file matches (* and ? as in the shell)\n"
    "  -p, --pointers KIND     treat pointers without annotation as one, weak or opaque, or refuse them\n"
    "  -c, --check             compare the files of oshtypes that are linked into FILE with its debug information:\n"
    "                          prints a line for each type that has changed since, and then ends with status 1\n"
    "  -h, --help   -V, --version\n"
    "\n"
    "Annotations\n"
    "  C and C++ do not say how many objects a pointer points to. Lines of an annotation file do (#: a comment):\n"
    "      TYPE.MEMBER one                 one object, or null\n"
    "      TYPE.MEMBER count EXPRESSION    so many: n, nx*ny, 2*shape.n+1 of integer members of the same object\n"
    "      TYPE.MEMBER string              characters, ended by the first that is 0\n"
    "      TYPE.MEMBER weak                not followed; null unless its target is copied because of another pointer\n"
    "      TYPE.MEMBER opaque              not followed, copied unchanged\n"
    "      TYPE.MEMBER cfi RANK of TYPE    a CFI_CDESC_T(RANK), the C descriptor of a Fortran array\n"
    "  After one and count, \"of TYPE\" replaces the type that is pointed to, as for void pointers: mesh.data count n\n"
    "  of double. MEMBER[] is what MEMBER's pointers point to: names count n and names[] string for char **names.\n"
    "  Annotations may also stand beside the type in the source: SHMEMX_COUNT(tree, data, \"n\") and other macros of\n"
    "  shmemx_annotate.h, which leave a mark in the object file.\n"
    "\n"
    "Without annotation\n"
    "  A pointer to a struct counts as a pointer to one object, with a warning; a function pointer is opaque. Any\n"
    "  other pointer is an error (even char *: a string, a buffer or one character?), unless -p says otherwise.\n"
    "  All errors are reported in one run, and then nothing is written.\n"
    "  Pointers in unions, and unions with pointers, can only be opaque. Bit-fields are copied, and cannot be counts.\n"
    "  Flexible array members are not part of an object's size and are not copied, with a warning. Base classes are\n"
    "  part of the object; virtual ones are refused. The pointer to the table of virtual functions is opaque.\n"
    "  Fortran needs no annotations: allocatable and pointer components of any rank, scalars and strings of deferred\n"
    "  length (of kind 1) tell what they point to. Annotations are needed for polymorphic components (one, if the\n"
    "  dynamic type is always the declared one), arrays of strings of deferred length (opaque) and c_ptr.\n"
    "\n"
    "Files that are out of date\n"
    "  NAME_register compares the marks (SHMEMX_COUNT, SHMEMX_LAYOUT, ...) that oshtypes has seen with those of the\n"
    "  running program: sizes, offsets, annotations. -i compares when the C file is compiled. --check compares all\n"
    "  layouts, Fortran's included, with the debug information of the linked program; put it into the makefile.\n"
    "\n"
    "Example\n"
    "  oshcc -g -c mesh.c && oshtypes -o mesh_types.c mesh.o mesh && oshcc mesh.o mesh_types.c -o mesh &&\n"
    "  oshtypes --check mesh                               # the program calls mesh_types_register()\n";

static struct {
    struct osht_output output;
    const char **annotations, **files;
    size_t n_annotations, n_files;
    const char *unit;
    enum osht_unannotated unannotated;
    bool check;
} options;

static const struct option long_options[] = {{"output", required_argument, NULL, 'o'},
                                             {"name", required_argument, NULL, 'n'},
                                             {"annotations", required_argument, NULL, 'a'},
                                             {"include", required_argument, NULL, 'i'},
                                             {"file", required_argument, NULL, 'f'},
                                             {"unit", required_argument, NULL, 'u'},
                                             {"pointers", required_argument, NULL, 'p'},
                                             {"check", no_argument, NULL, 'c'},
                                             {"help", no_argument, NULL, 'h'},
                                             {"version", no_argument, NULL, 'V'},
                                             {NULL, 0, NULL, 0}};

static enum osht_unannotated pointers_option(const char *text)
{
    static const struct {
        const char *text;
        enum osht_unannotated value;
    } values[] = {{"one", OSHT_TAKE_AS_ONE},
                  {"weak", OSHT_TAKE_AS_WEAK},
                  {"opaque", OSHT_TAKE_AS_OPAQUE},
                  {"refuse", OSHT_REFUSE}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (!strcmp(values[i].text, text))
            return values[i].value;
    osht_fail("--pointers must be one, weak, opaque or refuse, not %s", text);
}

/* Status 2, and one line. */
static _Noreturn void refuse_command_line(const char *what)
{
    osht_error("%s; --help lists what there is", what);
    exit(2);
}

static void take_option(int option, const char *word)
{
    switch (option) {
    case 'o':
        options.output.path = optarg;
        break;
    case 'n':
        options.output.name = optarg;
        break;
    case 'a':
        OSHT_APPEND(options.annotations, options.n_annotations) = optarg;
        break;
    case 'i':
        OSHT_APPEND(options.output.headers, options.output.n_headers) = optarg;
        break;
    case 'f':
        OSHT_APPEND(options.files, options.n_files) = optarg;
        break;
    case 'u':
        options.unit = optarg;
        break;
    case 'p':
        options.unannotated = pointers_option(optarg);
        break;
    case 'c':
        options.check = true;
        break;
    case 'h':
        printf("%s%s", usage, help);
        exit(0);
    case 'V':
        printf("%s\n", PACKAGE_STRING);
        exit(0);
    default:
        refuse_command_line(osht_text("%s: the option is unknown, or its value is missing", word));
    }
}

/* The last part of a path without its ending, as a name in C. */
static const char *stem(const char *path)
{
    const char *slash = strrchr(path, '/'), *start = slash ? slash + 1 : path;
    char *name = osht_text("%.*s", (int)strcspn(start, "."), start);
    for (char *at = name; *at; at++)
        if (!isalnum((unsigned char)*at))
            *at = '_';
    return isdigit((unsigned char)*name) || !*name ? osht_text("_%s", name) : name;
}

/* The C file has the name and the headers in it as they are. */
static void check_names(void)
{
    const struct osht_output *output = &options.output;
    size_t length = 0;
    for (const char *at = output->name; at && (isalnum((unsigned char)*at) || *at == '_'); at++)
        length++;
    if (output->name && (!length || output->name[length] || isdigit((unsigned char)*output->name)))
        osht_fail("--name must be a name in C, not '%s'", output->name);
    for (size_t i = 0; i < output->n_headers; i++)
        if (strpbrk(output->headers[i], "\"\\\r\n"))
            osht_fail("--include: '%s' is no name of a header", output->headers[i]);
}

/* ---- --check ---- */

static void check_stamp(const char *path, const struct shmemi_mark *stamp)
{
    const struct osht_definition *definition = osht_debug_named(stamp->type);
    struct osht_type *record = definition ? osht_model_record(definition) : NULL;
    if (!record)
        osht_error("%s: the debug information has no type %s any more", path, stamp->type);
    else if (osht_model_is_one(record) && osht_hash(osht_model_shape(record)) != stamp->size)
        osht_error("%s: type %s is not what it was when oshtypes ran; it is now: %s", path, stamp->type,
                   osht_model_shape(record));
}

static int check_program(const char *path)
{
    const char *bytes;
    size_t size, n = 0;
    struct shmemi_mark stamp;
    osht_debug_open(path, options.unit);
    if (!osht_debug_is_there())
        osht_fail("%s: no debug information to compare with; compile with -g", path);
    for (size_t i = 0; osht_debug_section("shmemx_stamps", i, &bytes, &size); i++)
        for (size_t at = 0; shmemi_marks_next(bytes, size, &at, &stamp); n++)
            check_stamp(path, &stamp);
    if (!n)
        osht_error("%s: no file of oshtypes is linked into it", path);
    else if (!osht_errors())
        printf("%s: %zu type%s as described\n", path, n, n == 1 ? "" : "s");
    osht_debug_close();
    return osht_errors() ? 1 : 0;
}

/* ---- writing ---- */

/* The C file takes the place of what has its name. */
static void check_is_no_output(const char *input)
{
    struct stat in, out;
    if (options.output.path && !stat(input, &in) && !stat(options.output.path, &out) && in.st_dev == out.st_dev &&
        in.st_ino == out.st_ino)
        osht_fail("%s is read, so it cannot be written: name another file with -o", options.output.path);
}

static void read_all(const char *path)
{
    check_is_no_output(path);
    osht_debug_open(path, options.unit);
    for (size_t i = 0; i < options.n_files; i++) {
        check_is_no_output(options.files[i]);
        osht_debug_open(options.files[i], options.unit);
    }
    if (!osht_debug_is_there())
        osht_fail("%s: no debug information%s; compile with -g (with -flto the linked program has it)", path,
                  options.unit ? " of such a unit" : "");
    osht_notes_from_marks();
    for (size_t i = 0; i < options.n_annotations; i++) {
        check_is_no_output(options.annotations[i]);
        osht_notes_read(options.annotations[i]);
    }
}

static const char *temporary_name(pid_t process)
{
    return osht_text("%s.%ld.tmp", options.output.path, (long)process);
}

/* Write to a temporary file first, so that the C file appears complete or not at all. */
static void write_file(size_t n, const struct osht_descriptor *const *descriptors)
{
    const char *path = options.output.path, *temporary = path ? temporary_name(getpid()) : NULL;
    FILE *file = path ? fopen(temporary, "w") : stdout;
    if (!file)
        osht_fail("%s: %m", temporary);
    osht_write(file, &options.output, n, descriptors);
    bool failed = ferror(file) | fflush(file);
    failed |= path && fclose(file);
    if (failed || (path && rename(temporary, path))) {
        int error = errno;
        if (path)
            unlink(temporary);
        osht_fail("%s: %s", path ? path : "standard output", strerror(error));
    }
}

static int generate(const char *path, int n_types, char **types)
{
    const struct osht_descriptor *const *descriptors;
    struct osht_output *output = &options.output;
    check_names();
    read_all(path);
    for (int i = 0; i < n_types; i++)
        osht_plan_add(types[i], options.unannotated);
    size_t n = osht_plan_end(&descriptors);
    output->source = path;
    if (!output->name)
        output->name = stem(output->path ? output->path : path);
    if (!osht_errors())
        write_file(n, descriptors);
    osht_debug_close();
    if (osht_errors())
        fprintf(stderr, "oshtypes: nothing was written\n");
    return osht_errors() ? 1 : 0;
}

/* ---- damaged files ---- */

/* libdw has been seen to fail on debug information that is damaged. So a child process reads it, and this one is left
 * to say what happened. */
static int work_in_child(const char *path, int n_types, char **types)
{
    int status;
    pid_t child = fork();
    if (child <= 0) /* the child; or none can be had, and then this process does it */
        return options.check ? check_program(path) : generate(path, n_types, types);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            osht_fail("cannot wait for the process that reads: %m");
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    if (options.output.path)
        unlink(temporary_name(child));
    osht_fail("%s: damaged, or too large: the process that read it ended with signal %d (%s)", path, WTERMSIG(status),
              strsignal(WTERMSIG(status)));
}

int main(int argc, char **argv)
{
    opterr = 0; /* getopt would write what is wrong as it is */
    for (int option; (option = getopt_long(argc, argv, "o:n:a:i:f:u:p:chV", long_options, NULL)) != -1;)
        take_option(option, argv[optind - 1]);
    argv += optind;
    argc -= optind;
    if (argc < (options.check ? 1 : 2))
        refuse_command_line("a file is needed, and a type unless with --check");
    return work_in_child(argv[0], argc - 1, argv + 1);
}
