# SPDX-License-Identifier: BSD-3-Clause
"""Writes the results of bench/bench: CSV, JSON, pictures, and a page that shows all of them."""

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
TEXTS = {"us": svgplot.time_text, "ms": lambda ms: svgplot.time_text(1e3 * ms), "s": lambda s: svgplot.time_text(1e6 * s),
         "KiB": lambda size: svgplot.size_text(1024 * size), "1/s": svgplot.rate_text, "%": svgplot.percent_text}

# What is too close to tell. With repeated runs: two programs whose runs overlap. A single run says nothing of its
# noise, so there two figures must differ by this factor.
SINGLE_RUN = 1.25


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

    def told(self, line, one, other):
        """Whether the runs of two peers differ by more than their noise."""
        ours, theirs = (self.values.get((str(line[0]), *line[1:], peer)) for peer in (one, other))
        if not ours or not theirs:
            return False
        if min(len(ours), len(theirs)) == 1:
            low, high = sorted((statistics.median(ours), statistics.median(theirs)))
            return high >= low * SINGLE_RUN
        return max(ours) < min(theirs) or max(theirs) < min(ours)

    def lines(self):
        """What can be compared: (case, subject, metric, unit), and its figures by peer; programs as in their table."""
        lines = {}
        for (name, subject, metric, unit, peer) in self.values:
            line = lines.setdefault((name, subject, metric, unit), {})
            line[peer] = self.median(name, subject, metric, unit, peer)
        found = [((self.cases[name], *rest), by_peer) for (name, *rest), by_peer in lines.items()]
        return dict(sorted(found, key=lambda line: PROGRAMS.index(line[0][0].program)))


def ratio(unit, ours, theirs):
    """Above 1: ours is better. Shares in percent are compared by eye."""
    if not ours or not theirs or unit == "%":
        return None
    return ours / theirs if unit in RATES else theirs / ours


def unit_text(unit, value):
    """A figure and its unit, short: 55380 us as "55.4 ms"."""
    words = TEXTS.get(unit, svgplot.number_text)(svgplot.short(value))
    return words + ("/s" if unit == "1/s" else "" if unit in TEXTS else " " + unit)


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
    by = " by " + counted if counted else ""
    return svgplot.Lines(title + ("" if unit in TEXTS else ", " + unit) + ", per second" * (unit == "1/s") + by, series,
                         x_text=svgplot.number_text if counted else svgplot.size_text, y_log=unit != "%",
                         y_most=100 if unit == "%" else None, y_text=TEXTS.get(unit, svgplot.number_text),
                         note="both axes logarithmic" if unit != "%" else "sizes logarithmic")


def bars_panel(title, unit, of_case):
    peers = dict.fromkeys(peer for by_peer in of_case.values() for peer in by_peer)
    groups = [re.sub("^shmem_", "", subject) or metric for _, subject, metric, _ in of_case]
    return svgplot.Bars(title, groups, {peer: [by_peer.get(peer) for by_peer in of_case.values()] for peer in peers},
                        text=lambda value: unit_text(unit, value))


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
    """{name of a memory: panels}"""
    by_memory = {}
    for key, by_peer in results.lines().items():
        by_memory.setdefault(key[0].memory or "no buffers", {})[key] = by_peer
    drawn = {}
    for memory, lines in by_memory.items():
        panels = panels_of(lines)
        if panels:
            drawn[memory] = panels
    return drawn


# ---- the page --------------------------------------------------------------------------------------------------------


def figure_cell(unit, value):
    return None if value is None else htmlpage.Figure(unit_text(unit, value))


def ratio_cell(results, line, by_peer, peer):
    """What ours is worth beside the peer, with a colour; or that their noise hides it."""
    worth = ratio(line[3], by_peer.get(results.ours), by_peer.get(peer))
    if not worth:
        return None
    if not results.told(line, results.ours, peer):
        return htmlpage.Marked("too close to tell", "quiet")
    mark = "" if peer in DASHED else "good" if worth >= 1.05 else "bad" if worth < 0.95 else ""
    return htmlpage.Marked(htmlpage.Figure("%.3g" % worth), mark)


def compared(results, peers, only_shown):
    """Rows of a table: what, ours, the ratios to the peers, which matter most, and the peers' figures."""
    rows = []
    for (case, subject, metric, unit), by_peer in results.lines().items():
        if only_shown and (subject.isdecimal() and subject not in SHOWN_SIZES or metric == "bandwidth"):
            continue
        line = (case, subject, metric, unit)
        ours = by_peer.get(results.ours)
        row = [case.program.name, case.memory, case.pes, case.subject_text(subject), metric, figure_cell(unit, ours)]
        row += [ratio_cell(results, line, by_peer, peer) for peer in peers]
        row += [figure_cell(unit, by_peer.get(peer)) for peer in peers]
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
        titles = ["program", "memory", "PEs", "size", "what", results.ours]
        titles += ["ratio to " + peer for peer in peers] + peers
        shown, complete = compared(part, peers, True), compared(part, peers, False)
        parts += [htmlpage.heading(suite), htmlpage.table(titles, shown, suite)]
        if len(complete) > len(shown):
            parts.append(htmlpage.details("all %d figures of %s" % (len(complete), suite),
                                          htmlpage.table(titles, complete, "all of " + suite)))
    return parts


def html(about, results, troubles, drawn):
    failed, left_out = troubles
    machine = [(name.replace("_", " "), value) for name, value in about.items() if value != ""]
    parts = [htmlpage.facts(machine),
             htmlpage.paragraph("Medians of the runs, in which all took turns. A ratio above 1: %s is better. Too close "
                                "to tell: the runs of the two overlap or, where there is one run of each, differ by "
                                "less than a quarter. Raw copy: the same bytes by memcpy or the GPU's driver to the "
                                "peer's address. Naive: copies by hand through host memory around the same transfer. "
                                "Points and bars of the pictures tell their values." % results.ours)]
    if failed:
        parts += [htmlpage.heading("Failed"), htmlpage.table(["what", "by", "why"], [
            [what, who, htmlpage.Marked(why, "bad")] for what, who, why in failed])]
    parts += tables(results)
    for memory, panels in drawn.items():
        parts += [htmlpage.heading("Pictures: " + memory), htmlpage.plots(svgplot.Painter(panels, DASHED).panels())]
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
    for memory, panels in drawn.items():
        svgplot.write(os.path.join(folder, "bench-%s.svg" % memory.replace(" ", "-")),
                      svgplot.figure(panels, columns=3, dashed=DASHED))
    svgplot.write(os.path.join(folder, "bench.html"), html(about, results, troubles, drawn))
