/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Types of deep copy: which descriptions are refused, with which message; what a walk finds in the others; layout
 * hashes, which are equal for equal layouts whatever the names and the order of creation; destruction.
 */
#include "deep/types/type.h"

#include "base/log.h"
#include "deep/types/count.h"
#include "deep/types/type_table.h"

#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wmissing-field-initializers" /* as in the examples */

#define VALUE SHMEMX_FIELD_VALUE
#define POINTER SHMEMX_FIELD_POINTER
#define STRING SHMEMX_FIELD_STRING
#define CFI SHMEMX_FIELD_CFI
#define GFORTRAN SHMEMX_FIELD_GFORTRAN
#define WEAK SHMEMX_FIELD_WEAK
#define OPAQUE SHMEMX_FIELD_OPAQUE

typedef shmemx_field_t field_t;
typedef shmemx_type_desc_t text_t;

#define N_OF(_array) (sizeof(_array) / sizeof(_array)[0])
#define FIELDS(...)                                                                                                    \
    N_OF(((const field_t[]){__VA_ARGS__})), (const field_t[])                                                          \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }
#define TYPES(...)                                                                                                     \
    N_OF(((const text_t[]){__VA_ARGS__})), (const text_t[])                                                            \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

static char report[4096];

/* What the library says on stderr goes to a pipe. */
static int pipe_ends[2], true_stderr;

static void capture(void)
{
    CHECK(!pipe(pipe_ends));
    true_stderr = dup(2);
    dup2(pipe_ends[1], 2);
    close(pipe_ends[1]);
}

static void captured(void)
{
    fflush(stderr);
    dup2(true_stderr, 2);
    close(true_stderr);
    ssize_t length = read(pipe_ends[0], report, sizeof report - 1);
    close(pipe_ends[0]);
    report[length > 0 ? length : 0] = '\0';
}

static size_t lines(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static int create(size_t n, const text_t *texts, const struct shmemi_type **types)
{
    capture();
    int rc = shmemi_types_create("create", n, texts, types);
    captured();
    return rc;
}

static const struct shmemi_type *make(const char *name, size_t size, size_t n_fields, const field_t *fields)
{
    const text_t text = {name, size, n_fields, fields};
    const struct shmemi_type *type = NULL;
    if (create(1, &text, &type))
        fprintf(stderr, "%s", report);
    CHECK(type && type == shmemi_type_find(name));
    return type;
}

/* The call fails with one line that has all these words, and changes nothing. */
#define REFUSED(_rc, _name, ...) refused(_rc, _name, (const char *const[]){__VA_ARGS__, NULL})
static void refused(int rc, const char *name, const char *const *words)
{
    bool good = rc && lines(report) == 1;
    for (; *words; words++)
        good = good && strstr(report, *words);
    if (!good)
        fprintf(stderr, "%s: %d: %s", name, rc, report);
    CHECK(good && !shmemi_type_find(name));
}

static int make_bad(size_t size, size_t n_fields, const field_t *fields)
{
    return create(1, &(text_t){"bad", size, n_fields, fields}, NULL);
}

static void check_refusals(void)
{
    make("pair", 16, FIELDS({"n", 0, VALUE, "int"}, {"data", 8, POINTER, "double", .count = "n"}));
    REFUSED(make_bad(0, 0, NULL), "bad", "type bad", "size is 0");
    REFUSED(make_bad(8, FIELDS({NULL, 0, VALUE, "int"})), "bad", "type bad", "field 0", "name");
    REFUSED(make_bad(8, FIELDS({"a.b", 0, VALUE, "int"})), "bad", "field a.b", "dot");
    REFUSED(make_bad(8, FIELDS({"a", 0, VALUE, "int"}, {"a", 4, VALUE, "int"})), "bad", "field a", "two fields");
    REFUSED(make_bad(8, FIELDS({"a", 8, VALUE, "char"})), "bad", "field a", "1 bytes at offset 8", "the type, 8");
    REFUSED(make_bad(8, FIELDS({"a", 4, POINTER, "char"})), "bad", "field a", "8 bytes at offset 4");
    REFUSED(make_bad(8, FIELDS({"a", SIZE_MAX - 3, VALUE, "int"})), "bad", "field a", "past the size");
    REFUSED(make_bad(8, FIELDS({"a", 0, VALUE, "int", SIZE_MAX / 2})), "bad", "field a", "larger than memory");
    REFUSED(make_bad(16, FIELDS({"b", 4, VALUE, "int"}, {"a", 0, VALUE, "int", 2})), "bad", "field b",
            "overlaps field a", "0 to 7");
    REFUSED(make_bad(8, FIELDS({"a", 0, POINTER, "pear"})), "bad", "field a", "no type pear", "did you mean pair?");
    REFUSED(make_bad(8, FIELDS({"a", 0, POINTER, "unsinged int"})), "bad", "did you mean unsigned int?");
    REFUSED(make_bad(8, FIELDS({"a", 0, POINTER, "something else"})), "bad", "no type something else\n");
    REFUSED(make_bad(8, FIELDS({"a", 0, WEAK, "pear"})), "bad", "field a", "no type pear");
    REFUSED(make_bad(8, FIELDS({"a", 0, POINTER, NULL})), "bad", "field a", "needs a type");
    REFUSED(make_bad(8, FIELDS({"a", 0, 7, "int"})), "bad", "field a", "7 is not a kind");
    REFUSED(make_bad(8, FIELDS({"a", 0, -1, "int"})), "bad", "field a", "-1 is not a kind");
    REFUSED(make_bad(8, FIELDS({"a", 0, STRING, "double"})), "bad", "field a", "string", "double");
    REFUSED(make_bad(8, FIELDS({"a", 0, STRING, "char", 2})), "bad", "field a", "n is 2");
    REFUSED(make_bad(8, FIELDS({"a", 0, WEAK, NULL, 2})), "bad", "field a", "n is 2");
    REFUSED(make_bad(999, FIELDS({"a", 0, CFI, "int", 16})), "bad", "field a", "rank 16");
    REFUSED(make_bad(39, FIELDS({"a", 0, GFORTRAN, "int", 1})), "bad", "field a", "64 bytes");
    REFUSED(make_bad(8, FIELDS({"a", 0, VALUE, "bad"})), "bad", "field a", "bad would be inside itself");
    REFUSED(create(TYPES({"bad", 8, FIELDS({"a", 0, VALUE, "b"})}, {"b", 8, FIELDS({"c", 0, VALUE, "bad"})}), NULL),
            "bad", "field c", "inside itself");
    CHECK(!shmemi_type_find("b"));
    REFUSED(create(TYPES({"good", 8, 0, NULL}, {"bad", 8, FIELDS({"a", 0, VALUE, "worse"})}), NULL), "good", "field a");
    REFUSED(create(TYPES({"", 8, 0, NULL}), NULL), "", "needs a name");
    REFUSED(create(TYPES({NULL, 8, 0, NULL}), NULL), "", "needs a name");
    REFUSED(create(TYPES({"bad", 8, 1, NULL}), NULL), "bad", "its fields");
    CHECK(create(TYPES({"int", 4, 0, NULL}), NULL) == -EEXIST && strstr(report, "predefined"));
    CHECK(create(TYPES({"pair", 16, 0, NULL}), NULL) == -EEXIST && strstr(report, "another type"));
    CHECK(create(TYPES({"a", 4, 0, NULL}, {"a", 5, 0, NULL}), NULL) == -EEXIST && !shmemi_type_find("a"));
    shmemi_types_close();
    CHECK(!shmemi_type_find("pair"));
}

static int make_count(const char *count)
{
    return make_bad(88, FIELDS({"n", 0, VALUE, "int"}, {"x", 8, VALUE, "float"}, {"shape", 16, VALUE, "shape"},
                               {"many", 24, VALUE, "int", 3}, {"p", 40, POINTER, "int"},
                               {"shapes", 48, VALUE, "shape", 2}, {"data", 80, POINTER, "int", .count = count}));
}

static void check_bad_counts(void)
{
    make("shape", 8, FIELDS({"nx", 0, VALUE, "short"}, {"ny", 2, VALUE, "uint8_t"}));
    REFUSED(make_count(""), "bad", "field data", "\"\"", "empty");
    REFUSED(make_count("m"), "bad", "field data", "\"m\"", "type bad has no member m", "did you mean n?");
    REFUSED(make_count("n*shap.nx"), "bad", "field data", "no member shap", "did you mean shape?");
    REFUSED(make_count("shape.nz"), "bad", "field data", "type shape has no member nz", "nx");
    REFUSED(make_count("x"), "bad", "field data", "x is not an integer");
    REFUSED(make_count("p"), "bad", "field data", "p is not a single integer");
    REFUSED(make_count("many"), "bad", "field data", "many is not a single integer");
    REFUSED(make_count("shape"), "bad", "field data", "shape is not an integer");
    REFUSED(make_count("shapes.nx"), "bad", "field data", "shapes is not a single object");
    REFUSED(make_count("n.nx"), "bad", "field data", "no member nx");
    REFUSED(make_count("n+"), "bad", "field data", "not a sum of products");
    REFUSED(make_count("n n"), "bad", "field data", "not a sum of products");
    REFUSED(make_count("2(n)"), "bad", "field data", "not a sum of products");
    REFUSED(make_count("*n"), "bad", "field data", "not a sum of products");
    REFUSED(make_count("n*-1"), "bad", "field data", "not a sum of products");
    REFUSED(make_count("0x10"), "bad", "field data", "not a decimal");
    REFUSED(make_count("1.5"), "bad", "field data", "not a decimal");
    REFUSED(make_count("99999999999999999999"), "bad", "field data", "too large");
    REFUSED(make_count("shape."), "bad", "field data", "has no member");
    REFUSED(make_bad(16, FIELDS({"n", 0, VALUE, "int"}, {"a", 8, STRING, "char", .count = "n"})), "bad", "field a",
            "only a SHMEMX_FIELD_POINTER");
    REFUSED(make_bad(16, FIELDS({"n", 0, VALUE, "int"}, {"a", 8, POINTER, "char", 3, "n"})), "bad", "field a", "\"n\"",
            "n, 3");
    shmemi_types_close();
}

static void check_links(void)
{
    const struct shmemi_type *tree = make("tree", 48,
                                          FIELDS({"right", 40, POINTER, "tree"}, {"key", 0, VALUE, "double"},
                                                 {"n", 8, VALUE, "int"}, {"data", 16, POINTER, "double", .count = "n"},
                                                 {"name", 24, STRING, "char"}, {"left", 32, WEAK, "tree"}));
    CHECK(tree->size == 48 && tree->alignment == 16 && tree->has_links && tree->n_links == 4);
    CHECK(!strcmp(tree->name, "tree") && !strcmp(tree->links[0].name, "data") && tree->links[0].offset == 16);
    CHECK(tree->links[0].count && tree->links[0].target == shmemi_type_find("double"));
    CHECK(tree->links[1].kind == SHMEMX_FIELD_STRING && tree->links[1].n == 1 && !tree->links[1].count);
    CHECK(tree->links[2].kind == SHMEMX_FIELD_WEAK && tree->links[2].target == tree);
    CHECK(tree->links[3].kind == SHMEMX_FIELD_POINTER && tree->links[3].target == tree && tree->links[3].n == 1);

    const struct shmemi_type *plain = make("plain", 12, FIELDS({"v", 0, VALUE, "int", 3}));
    CHECK(!plain->has_links && !plain->n_links && plain->alignment == 4);
    const struct shmemi_type *nest =
        make("nest", 1000,
             FIELDS({"plain", 0, VALUE, "plain"}, {"trees", 16, VALUE, "tree", 3}, {"any", 160, OPAQUE, NULL},
                    {"array", 168, CFI, "tree", 2}, {"box", 240, GFORTRAN, "tree", 0}));
    CHECK(nest->n_links == 4 && nest->alignment == 8);
    CHECK(nest->links[0].kind == SHMEMX_FIELD_VALUE && nest->links[0].n == 3 && nest->links[0].target == tree);
    CHECK(!nest->links[1].target && nest->links[2].n == 2 && nest->links[3].n == 0);
    /* Objects inside each other, in the most difficult order. */
    const struct shmemi_type *types[3];
    CHECK(!create(TYPES({"outer", 64, FIELDS({"v", 8, VALUE, "middle"})},
                        {"middle", 16, FIELDS({"v", 8, VALUE, "inner"})},
                        {"inner", 8, FIELDS({"v", 0, POINTER, "outer"})}),
                  types));
    CHECK(types[0]->n_links == 1 && types[0]->links[0].target == types[1]);
    CHECK(types[1]->links[0].target == types[2] && types[2]->links[0].target == types[0]);
    shmemi_types_close();
}

static void check_selection(void)
{
    const struct shmemi_type *tree = make("struct my.tree", 32,
                                          FIELDS({"left", 0, POINTER, "struct my.tree"},
                                                 {"right", 8, POINTER, "struct my.tree"}, {"n", 16, VALUE, "int"}));
    const struct shmemi_type *wood =
        make("wood", 64, FIELDS({"tree", 0, VALUE, "struct my.tree"}, {"left", 32, OPAQUE}));
    struct shmemi_field_set set;
    CHECK(!shmemi_field_set_open("map", NULL, &set) && !shmemi_field_set_has(&set, tree->links[0].id));
    shmemi_field_set_close(&set);
    const char *const names[] = {"struct my.tree.right", "wood.left", NULL};
    CHECK(!shmemi_field_set_open("map", names, &set));
    CHECK(!shmemi_field_set_has(&set, tree->links[0].id) && shmemi_field_set_has(&set, tree->links[1].id));
    CHECK(!shmemi_field_set_has(&set, wood->links[0].id) && shmemi_field_set_has(&set, wood->links[1].id));
    shmemi_field_set_close(&set);
    static const struct {
        const char *name, *words;
    } bad[] = {{"right", "type.field"},
               {"tree.right", "no such type"},
               {"struct my.tree.rihgt", "did you mean right?"},
               {"struct my.tree.n", "no such pointer"},
               {"wood.tree", "not a pointer"},
               {"", "type.field"}};
    for (size_t i = 0; i < N_OF(bad); i++) {
        const char *const one[] = {"wood.left", bad[i].name, NULL};
        capture();
        int rc = shmemi_field_set_open("map", one, &set);
        captured();
        CHECK(rc == -EINVAL && !set.words && lines(report) == 1);
        CHECK(strstr(report, "map: ") && strstr(report, bad[i].name) && strstr(report, bad[i].words));
    }
    shmemi_types_close();
}

static uint64_t layout(const char *name)
{
    const struct shmemi_type *type = shmemi_type_find(name);
    CHECK(type && type->layout);
    return type->layout;
}

#define NODE(_self, _other)                                                                                            \
    FIELDS({"n", 0, VALUE, "int"}, {"a", 8, POINTER, _self}, {"b", 16, POINTER, _other, .count = "n"})

static void check_hashes(void)
{
    /* Two types that refer to each other, one that refers to them, made in every order, under other names. */
    CHECK(!create(TYPES({"A", 24, NODE("A", "B")}, {"B", 24, NODE("B", "A")}, {"C", 24, NODE("A", "C")}), NULL));
    const uint64_t a = layout("A"), b = layout("B"), c = layout("C");
    shmemi_types_close();
    CHECK(!create(TYPES({"Y", 24, NODE("Y", "X")}, {"X", 24, NODE("X", "Y")}), NULL));
    make("Z", 24, NODE("X", "Z"));
    CHECK(layout("X") == a && layout("Y") == b && layout("Z") == c);
    shmemi_types_close();

    /* Every change that makes another layout, in the type itself and in types that it reaches. */
    static const field_t variants[][2] = {
        {{"n", 0, VALUE, "int"}, {"p", 8, POINTER, "T"}},
        {{"n", 0, VALUE, "int"}, {"p", 16, POINTER, "T"}},
        {{"n", 0, VALUE, "int"}, {"p", 8, POINTER, "T", 2}},
        {{"n", 0, VALUE, "int"}, {"p", 8, POINTER, "T", .count = "n"}},
        {{"n", 0, VALUE, "unsigned"}, {"p", 8, POINTER, "T", .count = "n"}},
        {{"n", 4, VALUE, "int"}, {"p", 8, POINTER, "T", .count = "n"}},
        {{"n", 0, VALUE, "long"}, {"p", 8, POINTER, "T", .count = "n"}},
        {{"n", 0, VALUE, "int"}, {"p", 8, POINTER, "T", .count = "n+1"}},
        {{"n", 0, VALUE, "int"}, {"p", 8, POINTER, "T", .count = "n-1"}},
        {{"n", 0, VALUE, "int"}, {"p", 8, POINTER, "T", .count = "2*n"}},
        {{"n", 0, VALUE, "int"}, {"p", 8, POINTER, "T", .count = "n*n"}},
        {{"n", 0, VALUE, "int"}, {"p", 8, POINTER, "char"}},
        {{"n", 0, VALUE, "int"}, {"p", 8, POINTER, "int"}},
        {{"n", 0, VALUE, "int"}, {"p", 8, POINTER, "F"}},
        {{"n", 0, VALUE, "int"}, {"p", 8, STRING, "char"}},
        {{"n", 0, VALUE, "int"}, {"p", 8, WEAK, "T"}},
        {{"n", 0, VALUE, "int"}, {"p", 8, WEAK, NULL}},
        {{"n", 0, VALUE, "int"}, {"p", 8, OPAQUE, NULL}},
        {{"n", 0, VALUE, "int"}, {"p", 8, CFI, "T", 0}},
        {{"n", 0, VALUE, "int"}, {"p", 8, CFI, "T", 1}},
        {{"n", 0, VALUE, "int"}, {"p", 8, GFORTRAN, "T", 1}},
        {{"n", 0, VALUE, "int"}, {"p", 8, VALUE, "F"}},
        {{"n", 0, VALUE, "int"}, {"p", 8, VALUE, "F", 2}},
        {{"n", 0, VALUE, "int"}, {"p", 8, VALUE, "int"}},
    };
    uint64_t near[N_OF(variants)], far[N_OF(variants)];
    for (size_t i = 0; i < N_OF(variants); i++) {
        /* far refers to T through a chain, and T refers to far: a circle of four. */
        CHECK(
            !create(TYPES({"far", 8, FIELDS({"p", 0, POINTER, "chain"})},
                          {"chain", 8, FIELDS({"p", 0, POINTER, "link"})}, {"link", 8, FIELDS({"p", 0, POINTER, "T"})},
                          {"T", 96, 2, variants[i]}, {"F", 8, FIELDS({"p", 0, POINTER, "far"})}),
                    NULL));
        near[i] = layout("T");
        far[i] = layout("far");
        for (size_t j = 0; j < i; j++)
            CHECK(near[i] != near[j] && far[i] != far[j]);
        shmemi_types_close();
    }
    /* Members that are not pointers need not be described, but an object's size always matters. */
    make("T", 64, FIELDS({"p", 8, POINTER, "T"}));
    const uint64_t small = layout("T");
    shmemi_types_close();
    make("T", 64, FIELDS({"v", 0, VALUE, "float"}, {"p", 8, POINTER, "T"}));
    CHECK(layout("T") == small);
    shmemi_types_close();
    make("T", 72, FIELDS({"p", 8, POINTER, "T"}));
    CHECK(layout("T") != small);
    shmemi_types_close();
    CHECK(layout("int") == layout("float") && layout("int") != layout("double"));
}

static int destroy(const struct shmemi_type *type)
{
    capture();
    int rc = shmemi_type_destroy(type);
    captured();
    return rc;
}

static void check_destruction(void)
{
    const struct shmemi_type *leaf = make("leaf", 8, 0, NULL), *types[2];
    CHECK(make("leaf", 8, 0, NULL) == leaf); /* twice */
    const struct shmemi_type *user = make("user", 8, FIELDS({"leaf", 0, POINTER, "leaf"}));
    CHECK(!destroy(leaf) && shmemi_type_find("leaf") == leaf);
    CHECK(destroy(leaf) == -EBUSY && strstr(report, "type leaf: type user still needs it"));
    CHECK(shmemi_type_find("leaf") == leaf);
    shmemi_type_hold(user);
    CHECK(destroy(user) == -EBUSY && strstr(report, "mapped"));
    shmemi_type_let_go(user);
    CHECK(!destroy(user) && !shmemi_type_find("user") && !destroy(leaf) && !shmemi_type_find("leaf"));
    CHECK(destroy(shmemi_type_find("int")) == -EPERM && strstr(report, "predefined"));
    CHECK(destroy(NULL) == -EINVAL && lines(report) == 1);

    /* Types that refer to each other can be destroyed one after the other, also by name, and created again. */
    const text_t circle[] = {{"A", 24, NODE("A", "B")}, {"B", 24, NODE("B", "A")}};
    CHECK(!create(2, circle, types));
    user = make("user", 8, FIELDS({"a", 0, WEAK, "A"}));
    CHECK(destroy(types[0]) == -EBUSY && destroy(types[1]) == -EBUSY && strstr(report, "user"));
    CHECK(!destroy(user));
    shmemi_type_hold(types[1]);
    CHECK(destroy(types[0]) == -EBUSY);
    shmemi_type_let_go(types[1]);
    CHECK(!destroy(types[0]) && !shmemi_type_find("A") && shmemi_type_find("B"));
    CHECK(destroy(types[0]) == -EINVAL); /* again */
    CHECK(create(TYPES({"A", 8, 0, NULL}), NULL) == -EEXIST);
    REFUSED(create(TYPES({"bad", 8, FIELDS({"a", 0, POINTER, "A"})}), NULL), "bad", "no type A");
    CHECK(!create(1, circle, types) && shmemi_type_find("A") == types[0]);
    CHECK(!destroy(types[1]) && !destroy(types[0]) && !shmemi_type_find("B"));
    CHECK(!create(TYPES({"A", 8, 0, NULL}), NULL));
    shmemi_types_close();
}

/* Numbers of fields do not grow forever. */
static void check_numbers(void)
{
    make("first", 8, FIELDS({"p", 0, POINTER, "int"}));
    for (int i = 0; i < 1000; i++) {
        const struct shmemi_type *type = make("second", 16, FIELDS({"p", 0, POINTER, "int"}, {"q", 8, POINTER, "int"}));
        CHECK(type->links[0].id == 1 && type->links[1].id == 2 && !shmemi_type_destroy(type));
    }
    shmemi_types_close();
}

/* Threads make, look up and destroy the same types. */
static void *churn(void *argument)
{
    (void)argument;
    const text_t circle[] = {{"A", 24, NODE("A", "B")}, {"B", 24, NODE("B", "A")}};
    for (int i = 0; i < 300; i++) {
        const struct shmemi_type *types[2];
        CHECK(!shmemi_types_create("create", 2, circle, types));
        CHECK(shmemi_type_find("A") == types[0] && types[1]->layout == types[0]->layout);
        shmemi_type_hold(types[0]);
        shmemi_type_let_go(types[0]);
        if (i % 3)
            continue;
        for (int j = i ? 0 : 2; j < 3; j++)
            shmemi_type_destroy(types[0]);
    }
    return NULL;
}

static void check_threads(void)
{
    pthread_t threads[4];
    const struct shmemi_type *type = make("other", 8, FIELDS({"p", 0, POINTER, "other"}));
    for (int i = 0; i < 4; i++)
        CHECK(!pthread_create(&threads[i], NULL, churn, NULL));
    for (int i = 0; i < 4; i++)
        CHECK(!pthread_join(threads[i], NULL));
    CHECK(shmemi_type_find("other") == type && shmemi_type_find("A") && shmemi_type_find("B"));
    shmemi_types_close();
}

static void check_predefined(void)
{
    static const struct {
        const char *name;
        size_t size, alignment;
    } some[] = {
        {"char", 1, 1},           {"double", 8, 8},         {"unsigned long", 8, 8}, {"int32_t", 4, 4},
        {"size_t", 8, 8},         {"float _Complex", 8, 8}, {"void *", 8, 8},        {"long double _Complex", 32, 16},
        {"real(kind=10)", 16, 16}};
    for (size_t i = 0; i < N_OF(some); i++) {
        const struct shmemi_type *type = shmemi_type_find(some[i].name);
        CHECK(type && type->size == some[i].size && type->alignment == some[i].alignment && !type->has_links);
    }
    size_t n;
    struct shmemi_type_entry *all = shmemi_predefined_types(&n);
    for (size_t i = 0; i < n; i++)
        CHECK(shmemi_type_find(all[i].type.name) == &all[i].type); /* no name twice */
    CHECK(!shmemi_type_find("void") && !shmemi_type_find("") && !shmemi_type_find(NULL));
}

int main(void)
{
    check_predefined();
    check_refusals();
    check_bad_counts();
    check_links();
    check_selection();
    check_hashes();
    check_destruction();
    check_numbers();
    check_threads();
    return 0;
}
