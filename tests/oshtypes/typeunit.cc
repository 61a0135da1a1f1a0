/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Types of one name in namespaces and classes, for compilers that put each into a unit of its own.
 */
struct node {
    long other;
};
namespace one
{
struct node {
    int n;
    node *next;
};
struct outer {
    struct inner {
        float a, b;
        node *list;
    } in;
};
} // namespace one
node here;
one::node there;
one::outer around;
