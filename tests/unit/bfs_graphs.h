/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random graphs for the test of the kernels of bfs, and the serial search that it compares with.
 */
#ifndef BFS_GRAPHS_H
#define BFS_GRAPHS_H

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "bfs_device.h"

using adjacency = std::vector<std::set<u32>>;
using random_numbers = std::mt19937;

static void add_edge(adjacency &graph, u32 a, u32 b)
{
    if (a == b)
        return;
    graph[a].insert(b);
    graph[b].insert(a);
}

static std::vector<u32> random_order(u32 n, random_numbers &random)
{
    std::vector<u32> order(n);

    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    return order;
}

/* A few vertices have most of the edges, and some have none. */
static adjacency power_law(u32 n, u32 n_edges, random_numbers &random)
{
    std::vector<u32> order = random_order(n, random);
    std::uniform_real_distribution<double> uniform(0, 1);
    auto draw = [&] {
        double x = uniform(random);

        return order[(u32)(x * x * x * n)];
    };
    adjacency graph(n);

    for (u32 i = 0; i < n_edges; i++) {
        u32 a = draw();

        add_edge(graph, a, draw());
    }
    return graph;
}

/* Layers of `width` vertices, each joined to one or two of the layer before. */
static adjacency braid(u32 n, u32 width, random_numbers &random)
{
    std::vector<u32> order = random_order(n, random);
    adjacency graph(n);

    for (u32 i = width; i < n; i++)
        for (u32 k = 0; k < 2; k++)
            add_edge(graph, order[i], order[i / width * width - width + random() % width]);
    return graph;
}

/* NONE for vertices that the root does not reach. */
static std::vector<u32> serial_levels(const adjacency &graph, u32 root)
{
    std::vector<u32> level(graph.size(), NONE), queue = {root};

    level[root] = 0;
    for (size_t i = 0; i < queue.size(); i++)
        for (u32 neighbour : graph[queue[i]])
            if (level[neighbour] == NONE) {
                level[neighbour] = level[queue[i]] + 1;
                queue.push_back(neighbour);
            }
    return level;
}

#endif
