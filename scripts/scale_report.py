# SPDX-License-Identifier: BSD-3-Clause
"""The results of scripts/scale: medians and efficiencies, as a table, CSV, JSON, pictures and a page.

A run is a dict: app, mode, variant, device, pes, problem, command, status ("ok", "skipped", "failed"), then cause, or
seconds, comm_seconds, rate with rate_unit, verified and perhaps alone_percent. A row is the same for all runs of one
kind.
"""

import csv
import io
import json
import os

import htmlpage
import svgplot

COLUMNS = ("app", "mode", "variant", "device", "pes", "problem", "runs", "seconds", "seconds_min", "seconds_max",
           "comm_seconds", "comm_percent", "rate", "rate_unit", "efficiency_percent", "alone_percent", "verified",
           "status")
TITLES = ("app", "mode", "variant", "PEs", "time, s", "rate", "efficiency, %", "communication, %", "kernels alone, %",
          "verified")
KIND = ("app", "mode", "variant", "pes")


def one_line(one):
    words = "%s %s %s, %d PEs: " % tuple(one[name] for name in KIND)
    if one["status"] != "ok":
        return words + "%s: %s" % (one["status"], one["cause"])
    return words + "%.4g s, %s%s" % (one["seconds"], svgplot.number_text(float("%.3g" % one["rate"])), one["rate_unit"])


def median_of(runs):
    """One row: the run in the middle by time, so that its figures belong together."""
    good = sorted((one for one in runs if one["status"] == "ok"), key=lambda one: one["seconds"])
    row = dict(good[(len(good) - 1) // 2] if good else runs[0])
    row["runs"] = len(good)
    if good:
        row.update(seconds_min=good[0]["seconds"], seconds_max=good[-1]["seconds"],
                   comm_percent=100 * row["comm_seconds"] / row["seconds"])
    bad = [one for one in runs if one["status"] == "failed"]
    return {**row, "status": "failed", "cause": bad[0]["cause"]} if bad else row


def summarise(found):
    """The rows in the order of programs, modes, variants and PEs, each with its efficiency."""
    kinds = {}
    for one in found:
        kinds.setdefault(tuple(one[name] for name in KIND), []).append(one)
    order = list(dict.fromkeys(kind[:3] for kind in kinds))
    rows = [median_of(kinds[kind]) for kind in sorted(kinds, key=lambda kind: (order.index(kind[:3]), kind[3]))]
    first = {}
    for row in rows:
        if "rate" in row:
            base = first.setdefault(tuple(row[name] for name in KIND[:3]), row)
            row["efficiency_percent"] = 100 * ((row["rate"] / row["pes"]) / (base["rate"] / base["pes"]))
    return rows


def rate_text(row):
    return svgplot.number_text(float("%.4g" % row["rate"])) + row["rate_unit"]


def cells(row):
    if "rate" not in row:
        return [row[name] for name in KIND] + [row["status"]] + [""] * (len(TITLES) - len(KIND) - 1)
    percent = ("efficiency_percent", "comm_percent", "alone_percent")
    share = [round(row[name], 1) if name in row else "" for name in percent]
    return [row[name] for name in KIND] + ["%.4g" % row["seconds"], rate_text(row), *share, row["verified"]]


def table(rows, left_out):
    """For the terminal."""
    lines = [[str(cell) for cell in line] for line in [TITLES, *map(cells, rows)]]
    widths = [max(map(len, column)) for column in zip(*lines)]
    text = ["  ".join(word.ljust(width) for word, width in zip(line, widths)).rstrip() for line in lines]
    text += ["%s left out: %s" % pair for pair in left_out]
    text += ["%s: %s" % (one_line(row).split(":")[0], row["cause"]) for row in rows if row["status"] != "ok"]
    return "\n".join(text)


def as_csv(rows):
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: "%.6g" % value if isinstance(value, float) else value for name, value in row.items()})
    return out.getvalue()


def series(rows, value):
    found = {}
    for row in rows:
        if "rate" in row:
            found.setdefault(row["variant"], []).append((row["pes"], value(row)))
    return found


def ideal(rows):
    """What the slowest variant on the fewest PEs would become without any loss."""
    base = min((row for row in rows if "rate" in row), key=lambda row: (row["pes"], row["rate"]))
    return [(pes, base["rate"] / base["pes"] * pes) for pes in sorted({row["pes"] for row in rows})]


def picture(rows):
    """SVG of one program and mode, or "" without figures."""
    if not any("rate" in row for row in rows):
        return ""
    rates = series(rows, lambda row: row["rate"])
    pes = {"x_text": lambda n: "%d" % n}
    efficiency = series(rows, lambda row: row["efficiency_percent"])
    most = max(100, *(y for points in efficiency.values() for _, y in points))
    return svgplot.figure([
        svgplot.Lines("%s over PEs" % rows[0]["rate_unit"], {**rates, "no loss": ideal(rows)}, **pes),
        svgplot.Lines("efficiency, %", efficiency, y_log=False, y_most=most, **pes),
        svgplot.Lines("communication, % of the time", series(rows, lambda row: row["comm_percent"]), y_log=False,
                      y_most=100, **pes)], columns=3, dashed=["no loss"], width=300)


def pictures(rows):
    """{(program, mode): SVG}"""
    groups = {}
    for row in rows:
        groups.setdefault((row["app"], row["mode"]), []).append(row)
    drawn = {group: picture(members) for group, members in groups.items()}
    return {group: svg for group, svg in drawn.items() if svg}


def html(about, rows, left_out, drawn):
    failed = [row for row in rows if row["status"] == "failed"]
    parts = [htmlpage.table(["", ""], [[name, str(value)] for name, value in about.items()])]
    for app, mode in dict.fromkeys((row["app"], row["mode"]) for row in rows):
        members = [row for row in rows if (row["app"], row["mode"]) == (app, mode)]
        parts += [htmlpage.heading("%s, %s scaling" % (app, mode)), drawn.get((app, mode), ""),
                  htmlpage.table(TITLES[2:] + ("problem",), [cells(row)[2:] + [row["problem"]] for row in members])]
    if failed:
        parts += [htmlpage.heading("Failed"), htmlpage.table(["run", "cause"], [
            [one_line(row).split(":")[0], htmlpage.Marked(row["cause"], "bad")] for row in failed])]
    if left_out:
        parts += [htmlpage.heading("Left out"), htmlpage.table(["what", "why"], left_out)]
    parts += [htmlpage.paragraph("Each row is the run in the middle of its repeats by time. Efficiency: work of a PE "
                                 "in a second, compared with the smallest number of PEs of the same variant. "
                                 "Communication is that of the slowest PE, waits for other PEs included. Kernels "
                                 "alone: what part of the time the same kernels take without any exchange."),
              htmlpage.details("Commands", htmlpage.table(["command"], [[row["command"]] for row in rows]))]
    return htmlpage.page("Scaling", parts)


def save(folder, about, rows, found, left_out):
    os.makedirs(folder, exist_ok=True)
    drawn = pictures(rows)
    files = {"%s_%s.svg" % group: svg for group, svg in drawn.items()}
    files["scale.csv"] = as_csv(rows)
    files["scale.json"] = json.dumps({"machine": about, "rows": rows, "runs": found, "left_out": left_out}, indent=1)
    files["scale.html"] = html(about, rows, left_out, drawn)
    for name, content in files.items():
        svgplot.write(os.path.join(folder, name), content)
