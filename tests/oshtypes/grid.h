// SPDX-License-Identifier: BSD-3-Clause
//
// Types in C++ for oshtypes.test: base classes, namespaces, templates, nested and private types.
#ifndef GRID_H
#define GRID_H

#include <shmemx_annotate.h>
#include <cstddef>

namespace grid
{

template <class T> struct array {
    std::size_t n;
    T *data;
};

struct empty {
};

class counted
{
    char unused;
    union {
        char hidden;
    };

  public:
    int n;
    double *values;
    static int instances;
};

struct node : counted, empty {
    struct inner {
        unsigned char k;
        short *list;
    };
    class keeper
    {
        struct kept {
            int *secrets;
        };
        kept first;
    };
    array<float> a;
    inner in;
    keeper keeper_of;
    node *left, &me;
    enum class state : signed char { idle, busy } now;
    int node::*to_member;
    int (node::*to_function)() const;

    explicit node(node *to)
        : counted(), a(), in(), keeper_of(), left(to), me(*this), now(state::busy), to_member(nullptr),
          to_function(&node::get), secret(7)
    {
    }
    int get() const
    {
        return secret;
    }

  private:
    int secret;
};

} // namespace grid

#ifdef VIRTUAL
struct shape {
    virtual ~shape()
    {
    }
    int n;
};
struct square : virtual shape {
    int m;
};
extern square a_square;
#endif

SHMEMX_COUNT(grid::node, values, "n");
SHMEMX_ONE(grid::node, left);
SHMEMX_OPAQUE(grid::node, to_member);

#endif
