#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the graph files of tests/apps/bfs.test.

Usage: graphs.py small DIR         one small graph, written in several ways
       graphs.py large FILE EDGES  a list of edges of a graph with a few hubs
       graphs.py search FILE ROOT  what a search of a list of edges finds
"""
import random
import sys

VERTICES = 800
EDGES = 2400
GAP = 7  # in one of the files, vertices are multiples of this


def make():
    """Different edges without loops, vertices from 1 on; the last vertex has one."""
    rand = random.Random(20)
    edges = {(1, VERTICES)}
    while len(edges) < EDGES:
        a = 1 + int(rand.random() ** 2 * VERTICES)
        b = 1 + int(rand.random() * VERTICES)
        if a != b:
            edges.add((min(a, b), max(a, b)))
    return sorted(edges)


def write_small(directory):
    edges = make()
    texts = {
        'edges': '# a b\n' + ''.join(f'{a}\t{b}\n' for a, b in edges),
        'weighted': ''.join(f'{a},{b},0.5\r\n% between\r\n' for a, b in edges),
        'from0': '\n'.join(f'{a - 1} {b - 1}' for a, b in edges),
        'gaps': ''.join(f' {a * GAP} {b * GAP}\n\n' for a, b in edges),
    }
    for name, text in texts.items():
        with open(f'{directory}/{name}', 'w', newline='') as file:
            file.write(text)


def write_large(path, n):
    """Every vertex is joined to some earlier one, most of them to low ones; each edge is another one."""
    draw = random.Random(21).random
    vertices = n // 8
    with open(path, 'w') as file:
        file.write(''.join([f'{i % vertices + 1} {int((i % vertices + 1) * draw() ** 3)}\n' for i in range(n)]))


def search(path, root):
    """Prints levels, vertices and edges as bfs does."""
    neighbours = {}
    n_edges = 0
    with open(path) as file:
        for a, b in (map(int, line.split()) for line in file if not line.startswith('#')):
            neighbours.setdefault(a, []).append(b)
            neighbours.setdefault(b, []).append(a)
    frontier, reached, levels = [root], {root}, 0
    while frontier:
        levels += 1
        n_edges += sum(len(neighbours[v]) for v in frontier)
        found = {u for v in frontier for u in neighbours[v]} - reached
        reached |= found
        frontier = list(found)
    print(f' {levels} levels, {len(reached)} vertices, {n_edges // 2} edges, valid')


if len(sys.argv) == 3 and sys.argv[1] == 'small':
    write_small(sys.argv[2])
elif len(sys.argv) == 4 and sys.argv[1] == 'large':
    write_large(sys.argv[2], int(sys.argv[3]))
elif len(sys.argv) == 4 and sys.argv[1] == 'search':
    search(sys.argv[2], int(sys.argv[3]))
else:
    sys.exit(__doc__)
