# SPDX-License-Identifier: BSD-3-Clause
"""The results of bench/scale: medians and efficiencies, as a table, CSV, JSON, pictures and a page.

A run is a dict: app, mode, variant, device, pes, problem, command, status ("ok", "skipped", "failed"), then cause, or
seconds, comm_seconds, rate with rate_unit, verified and perhaps alone_percent. A row is the same for all runs of one
kind. CSV and JSON have all percentages as measured, and the spread of the runs; the table, the pictures and the page
leave out those that the noise hides (steady() below).
"""

import csv
import io
import json
import os

import htmlpage
import svgplot

COLUMNS = ("app", "mode", "variant", "device", "pes", "problem", "runs", "seconds", "seconds_min", "seconds_max",
           "spread_percent", "comm_seconds", "comm_percent", "rate", "rate_unit", "efficiency_percent", "alone_percent", "verified",
           "status")
TITLES = ("app", "mode", "variant", "PEs", "time", "rate", "efficiency", "communication", "kernels alone", "verified")
TOO_SMALL = "too small to tell"

# When a percentage can be told from noise. One turn of the scheduler, or a clock that wakes late, is some milliseconds.
LEAST_SECONDS = 0.01         # a run is at least so long
LEAST_SECONDS_ALONE = 0.1    # where there is no second run that would show the noise
MOST_SPREAD = 25             # percent between the fastest and the slowest run, of the one in the middle
MOST_EFFICIENCY = 150        # percent: caches may make several PEs better than one, but not by more
MOST_ALONE = 110             # percent of the time: kernels cannot take longer alone than together with an exchange

DASHED = ("no loss",)
KIND = ("app", "mode", "variant", "pes")


def one_line(one):
    words = "%s %s %s, %d PEs: " % tuple(one[name] for name in KIND)
    if one["status"] != "ok":
        return words + "%s: %s" % (one["status"], one["cause"])
    return words + "%s, %s%s" % (seconds_text(one["seconds"]), svgplot.number_text(svgplot.short(one["rate"])),
                                 one["rate_unit"])


def seconds_text(seconds):
    return svgplot.time_text(svgplot.short(seconds * 1e6, 4))


def steady(row):
    """Whether the runs of a row were long enough, and alike enough, for a percentage."""
    if row["runs"] < 2:
        return row["seconds"] >= LEAST_SECONDS_ALONE
    return row["seconds"] >= LEAST_SECONDS and row["spread_percent"] <= MOST_SPREAD


def percent_of(part, whole):
    """None stays: the program has not told the part."""
    return None if part is None else 100 * part / whole


def median_of(runs):
    """One row: the run in the middle by time, so that its figures belong together."""
    good = sorted((one for one in runs if one["status"] == "ok"), key=lambda one: one["seconds"])
    row = dict(good[(len(good) - 1) // 2] if good else runs[0])
    row["runs"] = len(good)
    if good:
        row.update(seconds_min=good[0]["seconds"], seconds_max=good[-1]["seconds"],
                   spread_percent=100 * (good[-1]["seconds"] - good[0]["seconds"]) / row["seconds"],
                   comm_percent=percent_of(row["comm_seconds"], row["seconds"]))
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
            row["told"] = told(row, base)
    return rows


def told(row, base):
    """The names of the percentages that mean something. Efficiency stands on two rows."""
    if not steady(row):
        return []
    names = ["comm_percent"] if row["comm_percent"] is not None else []
    if steady(base) and row["efficiency_percent"] <= MOST_EFFICIENCY:
        names.append("efficiency_percent")
    if (row.get("alone_percent") or MOST_ALONE + 1) <= MOST_ALONE:
        names.append("alone_percent")
    return names


def share(row, name):
    """A percentage as text: empty where the program has none."""
    if name not in row:
        return ""
    return "%.1f %%" % row[name] if name in row["told"] else TOO_SMALL


def rate_text(row):
    """13260000 as "13.26 MTEPS"."""
    factors = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""))
    return svgplot.scaled(row["rate"], [(factor, prefix + row["rate_unit"]) for factor, prefix in factors])


def cells(row):
    if "rate" not in row:
        return [row[name] for name in KIND] + [row["status"]] + [""] * (len(TITLES) - len(KIND) - 1)
    percent = ("efficiency_percent", "comm_percent", "alone_percent")
    return [row[name] for name in KIND] + [seconds_text(row["seconds"]), rate_text(row),
                                           *(share(row, name) for name in percent), row["verified"]]


def page_cells(row):
    """Figures stand at the right; what is too small to tell is said quietly."""
    words = [htmlpage.Marked(cell, "quiet") if cell == TOO_SMALL else cell for cell in cells(row)]
    return words[2:4] + [htmlpage.Figure(cell) if isinstance(cell, str) and cell else cell for cell in words[4:9]] + [
        words[9], row["problem"]]


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


def series(rows, name):
    """{variant: points}; percentages that the noise hides are left out."""
    found = {}
    for row in rows:
        if "rate" in row:
            is_told = name == "rate" or name in row["told"]
            found.setdefault(row["variant"], []).append((row["pes"], row[name] if is_told else None))
    return found


def hidden(rows, name):
    """A note on the points that are not drawn."""
    count = sum("rate" in row and name not in row["told"] for row in rows)
    return "%d of %d points %s" % (count, len(rows), TOO_SMALL) if count else ""


def ideal(rows):
    """What the slowest variant on the fewest PEs would become without any loss."""
    base = min((row for row in rows if "rate" in row), key=lambda row: (row["pes"], row["rate"]))
    return [(pes, base["rate"] / base["pes"] * pes) for pes in sorted({row["pes"] for row in rows})]


def panels_of(rows):
    """The panels of one program and mode, none without figures."""
    if not any("rate" in row for row in rows):
        return []
    pes = {"x_text": lambda n: "%d" % n, "y_log": False, "y_most": 100, "y_text": svgplot.percent_text}
    return [svgplot.Lines("%s by PEs" % rows[0]["rate_unit"], {**series(rows, "rate"), "no loss": ideal(rows)},
                          x_text=pes["x_text"], note="both axes logarithmic"),
            svgplot.Lines("efficiency by PEs", series(rows, "efficiency_percent"),
                          note=hidden(rows, "efficiency_percent"), **pes),
            svgplot.Lines("communication by PEs, of the time", series(rows, "comm_percent"),
                          note=hidden(rows, "comm_percent"), **pes)]


def pictures(rows):
    """{(program, mode): panels}"""
    groups = {}
    for row in rows:
        groups.setdefault((row["app"], row["mode"]), []).append(row)
    drawn = {group: panels_of(members) for group, members in groups.items()}
    return {group: panels for group, panels in drawn.items() if panels}


def html(about, rows, left_out, drawn):
    failed = [row for row in rows if row["status"] == "failed"]
    parts = [htmlpage.facts([(name.replace("_", " "), value) for name, value in about.items()])]
    for app, mode in dict.fromkeys((row["app"], row["mode"]) for row in rows):
        members = [row for row in rows if (row["app"], row["mode"]) == (app, mode)]
        panels = svgplot.Painter(drawn.get((app, mode), []), DASHED).panels()
        parts += [htmlpage.heading("%s, %s scaling" % (app, mode)), htmlpage.plots(panels),
                  htmlpage.table(TITLES[2:] + ("problem",), [page_cells(row) for row in members], app + ", " + mode)]
    if failed:
        parts += [htmlpage.heading("Failed"), htmlpage.table(["run", "cause"], [
            [one_line(row).split(":")[0], htmlpage.Marked(row["cause"], "bad")] for row in failed])]
    if left_out:
        parts += [htmlpage.heading("Left out"), htmlpage.table(["what", "why"], left_out)]
    parts += [htmlpage.paragraph("Each row is the run in the middle of its repeats by time. Efficiency: work of a PE "
                                 "in a second, compared with the smallest number of PEs of the same variant. Too small "
                                 "to tell: the runs took less than %g ms (a single one less than %g ms) or differ by "
                                 "more than %d %%; the efficiency would be above %d %%, so that the smallest run must "
                                 "have been disturbed; or the kernels alone seem to take longer than with an exchange. "
                                 % (LEAST_SECONDS * 1e3, LEAST_SECONDS_ALONE * 1e3, MOST_SPREAD, MOST_EFFICIENCY) +
                                 "Communication is that of the slowest PE, waits for other PEs included. Kernels "
                                 "alone: what part of the time the same kernels take without any exchange."),
              htmlpage.details("Commands", htmlpage.table(["command"], [[row["command"]] for row in rows]))]
    return htmlpage.page("Scaling", parts)


def save(folder, about, rows, found, left_out):
    os.makedirs(folder, exist_ok=True)
    drawn = pictures(rows)
    files = {"%s_%s.svg" % group: svgplot.figure(panels, columns=3, dashed=DASHED) for group, panels in drawn.items()}
    files["scale.csv"] = as_csv(rows)
    files["scale.json"] = json.dumps({"machine": about, "rows": rows, "runs": found, "left_out": left_out}, indent=1)
    files["scale.html"] = html(about, rows, left_out, drawn)
    for name, content in files.items():
        svgplot.write(os.path.join(folder, name), content)
