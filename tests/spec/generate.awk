# SPDX-License-Identifier: BSD-3-Clause
#
# Makes C from the inventory of the specification (openshmem-1.6-prototypes.tsv). -v make= one of
#   declarations   every prototype again, with parentheses around the name: does not compile after another one
#   twins          the same of the profiling interface: pshmem_x, or px when the name does not begin with shmem_
#   table          the address of every routine: what no header declares fails to compile, what no library has to link
#   stubs          every routine, as a function that notes its name in `called`
#   uses           calls of the type-generic names (-v names=openshmem-1.6-names.tsv), in each form and with every type;
#                  main compares the routine that was called, and prints a line for each that is wrong
# Names of the same C type count as one: shmem_int64_put may stand for shmem_long_put (LP64), and shmem_wait_until and
# shmem_swap, old routines, for those of long.

function same_type(name) { return name in alias ? alias[name] : name }

# shmem_[ctx_]T_rest: T replaced by the name that stands for its C type
function canonical(symbol,    head, t, rest) {
    if (symbol == "shmem_wait_until" || symbol == "shmem_swap")
        return "shmem_long_" substr(symbol, 7)
    head = symbol ~ /^shmem_ctx_/ ? "shmem_ctx_" : "shmem_"
    rest = substr(symbol, length(head) + 1)
    t = rest
    sub(/_.*/, "", t)
    return t in alias ? head alias[t] substr(rest, length(t) + 1) : symbol
}

function result_type(symbol) {
    return substr(prototype[symbol], 1, index(prototype[symbol], symbol "(") - 1)
}

function parameters(symbol,    text) {
    text = substr(prototype[symbol], index(prototype[symbol], symbol "(") + length(symbol) + 1)
    sub(/\);$/, "", text)
    return text
}

function argument_names(list,    n, i, part, out) {
    n = split(list, part, /, */)
    for (i = 1; i <= n; i++) {
        sub(/.*[ *]/, "", part[i])
        out = out (i > 1 ? ", " : "") part[i]
    }
    return out
}

# The address of a routine. C++ has to be told which of the functions of this name is meant.
function table_entry(symbol, name) {
    return "    (routine_t)(" result_type(symbol) "(*)(" parameters(symbol) "))(" name ")"
}

function return_of(type) { return type ~ /^void *$/ ? "" : "return 0; " }

# A function that calls the generic name with parameters like those of `symbol`, and one line of the table of cases.
function use(generic, symbol, list) {
    uses++
    printf "static void use_%d(%s) { (void)%s(%s); }\n", uses, list, generic, argument_names(list)
    checks = checks sprintf("    called = \"nothing\"; use_%d(%s); check(\"%s\", \"%s\", \"%s\");\n", uses,
                            zeros(list), generic, list, canonical(symbol))
}

function zeros(list,    n, i, part, out) {
    n = split(list, part, /, */)
    for (i = 1; i <= n; i++)
        out = out (i > 1 ? ", 0" : "0")
    return out
}

function without_const(list) { gsub(/const /, "", list); return list }

# With the constness of the prototype, and with none.
function use_both(generic, symbol,    list) {
    list = parameters(symbol)
    use(generic, symbol, list)
    if (list ~ /const /)
        use(generic, symbol, without_const(list))
}

function use_typed(generic,    base, t, symbol, seen) {
    base = substr(generic, 7)
    for (t = 1; t <= n_types; t++) {
        symbol = "shmem_" types[t] "_" base
        if (!(symbol in prototype) || same_type(types[t]) in seen)
            continue
        seen[same_type(types[t])] = 1
        use_both(generic, symbol)
        if (("shmem_ctx_" types[t] "_" base) in prototype)
            use_both(generic, "shmem_ctx_" types[t] "_" base)
    }
}

function use_generic(generic,    before) {
    before = uses
    use_typed(generic)
    if (generic in prototype && generic != "shmem_wait_until" && generic != "shmem_swap") # a routine of this name
        use_both(generic, generic)
    if (generic == "shmem_sync")
        use_both(generic, "shmem_team_sync")
    if (generic ~ /^shmem_signal_/)
        use_both(generic, "shmem_ctx_" substr(generic, 7))
    if (uses == before)
        print "#error no routine belongs to " generic
}

BEGIN {
    FS = "\t"
    n_types = split("float double longdouble char schar short int long longlong uchar ushort uint ulong ulonglong " \
                    "int8 int16 int32 int64 uint8 uint16 uint32 uint64 size ptrdiff complexd complexf", types, " ")
    split("int8 schar int16 short int32 int int64 long uint8 uchar uint16 ushort uint32 uint uint64 ulong size ulong " \
          "ptrdiff long", pairs, " ")
    for (i = 1; i in pairs; i += 2)
        alias[pairs[i]] = pairs[i + 1]
}

/^#/ || $1 == "symbol" { next }
{ symbols[++n] = $1; prototype[$1] = $5 }

END {
    for (i = 1; i <= n; i++) {
        s = symbols[i]
        if (make == "declarations")
            print result_type(s) "(" s ")(" parameters(s) ");"
        else if (make == "twins")
            print result_type(s) "(p" s ")(" parameters(s) ");"
        else if (make == "stubs")
            printf "%s(%s)(%s) { called = \"%s\"; %s}\n", result_type(s), s,
                   parameters(s), canonical(s), return_of(result_type(s))
    }
    if (make == "table") {
        print "typedef void (*routine_t)(void);\nconst routine_t table[] = {"
        for (i = 1; i <= n; i++)
            print table_entry(symbols[i], symbols[i]) "," table_entry(symbols[i], "p" symbols[i]) ","
        print "};"
    }
    if (make == "uses") {
        while ((getline line < names) > 0) {
            split(line, field, "\t")
            if (field[2] == "generic")
                use_generic(field[1])
        }
        print "int main(void)\n{\n" checks "    printf(\"%d uses\\n\", n_checks);\n    return failures > 0;\n}"
    }
}
