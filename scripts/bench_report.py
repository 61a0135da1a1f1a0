# SPDX-License-Identifier: BSD-3-Clause
"""Writes the results of scripts/bench: CSV, JSON, pictures, and a page that shows all of them."""

import csv
import io
import json
import os
import re
import statistics

import htmlpage
import svgplot
from bench_table import PROGRAMS, RATES

COLUMNS = ("suite", "program", "arguments", "memory", "pes", "size", "operation", "metric", "unit", "peer", "value",
           "best", "runs")
SHOWN_SIZES = ("8", "4096", "65536", "1048576")
DASHED = ("naive", "raw copy")  # of the programs themselves: what a transfer could be, and what it replaces


class Results:
    """The figures of all runs by what they are, in the order in which they came."""

    def __init__(self, ours):
        self.ours, self.values, self.cases = ours, {}, {}

    def add(self, case, library, figures):
        for figure in figures:
            key = (str(case), figure.subject, figure.metric, figure.unit, figure.peer or library)
            self.values.setdefault(key, []).append(figure.value)
            self.cases[str(case)] = case

    def rows(self):
        found = []
        for (name, subject, metric, unit, peer), values in self.values.items():
            case = self.cases[name]
            best = max(values) if unit in RATES else min(values)
            found.append(dict(zip(COLUMNS, (
                case.program.suite, case.program.name, " ".join(case.arguments), case.memory, case.pes,
                int(subject) if subject.isdecimal() else "", "" if subject.isdecimal() else subject, metric, unit, peer,
                statistics.median(values), best, len(values)))))
        return found

    def median(self, case, subject, metric, unit, peer):
        values = self.values.get((str(case), subject, metric, unit, peer))
        return statistics.median(values) if values else None

    def lines(self):
        """What can be compared: (case, subject, metric, unit), and its figures by peer; programs as in their table."""
        lines = {}
        for (name, subject, metric, unit, peer) in self.values:
            line = lines.setdefault((name, subject, metric, unit), {})
            line[peer] = self.median(name, subject, metric, unit, peer)
        found = [((self.cases[name], *rest), by_peer) for (name, *rest), by_peer in lines.items()]
        return dict(sorted(found, key=lambda line: PROGRAMS.index(line[0][0].program)))


def ratio(unit, ours, theirs):
    """Above 1: ours is better."""
    if not ours or not theirs:
        return None
    return ours / theirs if unit in RATES else theirs / ours


def unit_text(unit, value):
    """A figure and its unit, short."""
    if unit == "us":
        return svgplot.time_text(float("%.3g" % value))
    if unit == "1/s":
        return svgplot.number_text(float("%.3g" % value)) + "/s"
    return "%.3g %s" % (value, unit)


def as_csv(rows):
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({**row, **{name: "%.6g" % row[name] for name in ("value", "best")}})
    return out.getvalue()


# ---- pictures --------------------------------------------------------------------------------------------------------


def lines_panel(title, unit, of_case):
    series = {}
    counted = next(iter(of_case))[0].program.counted
    for (_, size, _, _), by_peer in of_case.items():
        for peer, value in by_peer.items():
            series.setdefault(peer, []).append((int(size), value))
    return svgplot.Lines("%s, %s%s" % (title, unit, " by " + counted if counted else ""), series,
                         x_text=svgplot.number_text if counted else svgplot.size_text, y_log=unit != "%",
                         y_most=100 if unit == "%" else None)


def bars_panel(title, unit, of_case):
    peers = dict.fromkeys(peer for by_peer in of_case.values() for peer in by_peer)
    groups = [re.sub("^shmem_", "", subject) or metric for _, subject, metric, _ in of_case]
    return svgplot.Bars("%s, %s" % (title, unit), groups,
                        {peer: [by_peer.get(peer) for by_peer in of_case.values()] for peer in peers})


def panels_of(lines):
    """A panel for each program, number of PEs and unit."""
    panels = {}
    for key, by_peer in lines.items():
        case, subject, metric, unit = key
        kind = "lines" if subject.isdecimal() else "bars"
        panel = (case.program.name, case.pes, metric if kind == "lines" else "", unit, kind)
        panels.setdefault(panel, {})[key] = by_peer
    out = []
    for (name, pes, metric, unit, kind), of_case in panels.items():
        title = "%s, %d PEs%s" % (name, pes, ": " + metric if metric else "")
        if metric == "bandwidth" or (kind == "bars" and len(of_case) > 8):
            continue  # a rate by another name; and what the table has
        out.append((lines_panel if kind == "lines" else bars_panel)(title, unit, of_case))
    return out


def pictures(results):
    """{name of a memory: SVG}"""
    by_memory = {}
    for key, by_peer in results.lines().items():
        by_memory.setdefault(key[0].memory or "no buffers", {})[key] = by_peer
    drawn = {}
    for memory, lines in by_memory.items():
        panels = panels_of(lines)
        if panels:
            drawn[memory] = svgplot.figure(panels, columns=3, dashed=DASHED, width=330, height=200)
    return drawn


# ---- the page --------------------------------------------------------------------------------------------------------


def compared(results, peers, only_shown):
    """Rows of a table: what, ours, and each peer with its ratio."""
    rows = []
    for (case, subject, metric, unit), by_peer in results.lines().items():
        if only_shown and (subject.isdecimal() and subject not in SHOWN_SIZES or metric == "bandwidth"):
            continue
        size = case.subject_text(subject)
        ours = by_peer.get(results.ours)
        row = [case.program.name, case.memory, case.pes, size, "%s, %s" % (metric, unit), ours]
        for peer in peers:
            worth = ratio(unit, ours, by_peer.get(peer))
            mark = worth and peer not in DASHED and ("good" if worth >= 1.05 else "bad" if worth < 0.95 else "")
            row += [by_peer.get(peer), htmlpage.Marked(round(worth, 2), mark) if worth else None]
        rows.append(row)
    return rows


def tables(results):
    """A table for each suite, with the sizes that are shown."""
    parts = []
    by_suite = {}
    for key in results.lines():
        by_suite.setdefault(key[0].program.suite, []).append(key)
    every = list(dict.fromkeys(peer for *_, peer in results.values if peer != results.ours))
    for suite, keys in by_suite.items():
        part = Results(results.ours)
        names = {str(key[0]) for key in keys}
        part.values = {key: values for key, values in results.values.items() if key[0] in names}
        part.cases = results.cases
        peers = [peer for peer in every if any(key[4] == peer for key in part.values)]
        titles = ["program", "memory", "PEs", "size", "figure", results.ours]
        for peer in peers:
            titles += [peer, "ratio"]
        shown, complete = compared(part, peers, True), compared(part, peers, False)
        parts += [htmlpage.heading(suite), htmlpage.table(titles, shown)]
        if len(complete) > len(shown):
            parts.append(htmlpage.details("all %d figures of %s" % (len(complete), suite),
                                          htmlpage.table(titles, complete)))
    return parts


def html(about, results, troubles, drawn):
    failed, left_out = troubles
    machine = [[name.replace("_", " "), value] for name, value in about.items() if value != ""]
    parts = [htmlpage.table(["", ""], machine),
             htmlpage.paragraph("Medians of the runs, in which all took turns. A ratio above 1: %s is better. "
                                "Raw copy: the same bytes by memcpy or the GPU's driver to the peer's address. Naive: "
                                "copies by hand through host memory around the same transfer. Points of the pictures "
                                "tell their values." % results.ours)]
    if failed:
        parts += [htmlpage.heading("Failed"), htmlpage.table(["what", "by", "why"], [
            [what, who, htmlpage.Marked(why, "bad")] for what, who, why in failed])]
    parts += tables(results)
    for memory, svg in drawn.items():
        parts += [htmlpage.heading("Pictures: " + memory), svg]
    if left_out:
        parts += [htmlpage.heading("Not measured"), htmlpage.table(["what", "by", "why"], left_out)]
    return htmlpage.page("Micro-benchmarks of MapSHMEM", parts)


def save(folder, about, results, troubles):
    failed, left_out = troubles
    rows = results.rows()
    drawn = pictures(results)
    whys = [{"what": what, "peer": who, "why": why} for what, who, why in failed]
    skipped = [{"what": what, "peer": who, "why": why} for what, who, why in left_out]
    svgplot.write(os.path.join(folder, "bench.csv"), as_csv(rows))
    svgplot.write(os.path.join(folder, "bench.json"), json.dumps(
        {"machine": about, "rows": rows, "failed": whys, "not_measured": skipped}, indent=1) + "\n")
    for memory, svg in drawn.items():
        svgplot.write(os.path.join(folder, "bench-%s.svg" % memory.replace(" ", "-")), svg)
    svgplot.write(os.path.join(folder, "bench.html"), html(about, results, troubles, drawn))
