# SPDX-License-Identifier: BSD-3-Clause
"""Draws plots as SVG, for the scripts of this folder; needs nothing but Python's standard library.

A panel shows lines or bars under a title and a legend. A figure puts panels beside each other into one picture; a page
takes them one by one, so that they fit on any screen. The same name has the same colour in all panels of a figure.
Pictures have a light and a dark form (prefers-color-scheme), and say in words what they show (title, desc).

    from svgplot import Bars, Lines, Painter, figure, size_text, time_text, write
    time = Lines("time of a put", {"ours": [(8, 1.2), (64, 1.3)], "raw": [(8, 1.0)]}, x_text=size_text, y_text=time_text)
    share = Bars("start of a job", ["2 PEs", "8 PEs"], {"ours": [55e3, 61e3], "peer": [304e3, None]}, text=time_text)
    write("picture.svg", figure([time, share], columns=2, dashed=["raw"]))
    html = "".join(Painter([time, share], dashed=["raw"]).panels())

Values are numbers. None, and what is not above 0 on a logarithmic axis, is left out.
"""

import math
import os
from html import escape

from svgtext import EM, LINE, fitted, text, wide

# The series, for light and for dark paper: each at least 3:1 against it (WCAG 2.1, 1.4.11).
COLOURS = (("#1b6ca8", "#5fb0ea"), ("#c8324a", "#f2788a"), ("#2f7a3d", "#6fc27e"), ("#7d4a8b", "#c79ad6"),
           ("#b35c00", "#f2a54a"), ("#555555", "#b8b8b8"), ("#007c85", "#3fc4c4"), ("#8a4a20", "#d79a62"),
           ("#7a6a00", "#d6c437"), ("#b03a78", "#f49ac4"))
MARKERS = ("M-3,0a3,3 0 1 0 6,0a3,3 0 1 0 -6,0", "M-3,-3h6v6h-6z", "M0,-4l4,4l-4,4l-4,-4z", "M0,-4l4,7h-8z")
WIDTH = 400  # of a panel, with its margins
BAR = 13
RANGE = 8  # groups of bars that differ by more each get a scale of their own


def style():
    light, dark = ("".join(".plot .s%d{fill:%s;stroke:%s}" % (i, pair[mode], pair[mode])
                           for i, pair in enumerate(COLOURS)) for mode in (0, 1))
    return (".plot{font:%dpx sans-serif}.plot .paper{fill:#fff}.plot text{fill:#222}.plot .quiet{fill:#555}"
            ".plot .grid{stroke:#ddd}.plot .zero{stroke:#666}.plot .name{font-weight:bold}"
            "%s.plot .line{fill:none;stroke-width:2}\n@media screen and (prefers-color-scheme:dark){"
            ".plot .paper{fill:#15181c}.plot text{fill:#e6e6e6}.plot .quiet{fill:#aab}.plot .grid{stroke:#3a3f46}"
            ".plot .zero{stroke:#aaa}%s.plot .line{fill:none}}" % (EM, light, dark))


def scaled(value, units):
    for limit, unit in units:
        if abs(value) >= limit:
            return f"{value / limit:.4g} {unit}".rstrip()
    return f"{value:.4g}"


def number_text(value):
    """1000000 as "1 M"."""
    return scaled(value, ((1e9, "G"), (1e6, "M")))


def rate_text(per_second):
    """334000 as "334 k"."""
    return scaled(per_second, ((1e9, "G"), (1e6, "M"), (1e3, "k")))


def size_text(size):
    """Bytes: 65536 as "64 KiB"."""
    return scaled(size, ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))) if size >= 1 else f"{size:.4g} B"


def time_text(us):
    """Microseconds: 2000 as "2 ms"."""
    if 0 < us < 0.1:
        return f"{us * 1e3:.4g} ns"
    return scaled(us, ((1e6, "s"), (1e3, "ms"))) if us >= 1e3 else f"{us:.4g} us"


def percent_text(share):
    return f"{share:.4g} %"


def short(value, digits=3):
    """The value with as many digits as people read."""
    return float(f"%.{digits}g" % value)


class LogAxis:
    """From one 1, 2 or 5 times a power of ten to another; whole decades where there are more than two."""

    def __init__(self, least, most):
        steps = [m * 10.0**k for k in range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
                 for m in ((1,) if most / least > 100 else (1, 2, 5))]
        below = [s for s in steps if s <= least * 1.0001]
        above = [s for s in steps if s >= most / 1.0001] or [10.0 ** math.ceil(math.log10(most))]
        self.low = below[-1] if below else least
        self.high = above[0] if above[0] > self.low else self.low * 10
        shown = [s for s in steps if self.low <= s <= self.high]
        self.ticks = shown[::max(1, math.ceil(len(shown) / 8))]

    def share(self, value):
        return math.log(value / self.low) / math.log(self.high / self.low)


class LinearAxis:
    """From 0 to at least the largest value, in steps of 1, 2 or 5 times a power of ten."""

    def __init__(self, most, steps=6):
        decade = 10.0 ** math.floor(math.log10(most))
        step = next(s for s in (decade / 5, decade / 2, decade, decade * 2, decade * 5) if most / s <= steps)
        self.high = step * math.ceil(most / step * 0.9999)
        self.ticks = [step * i for i in range(round(self.high / step) + 1)]

    def share(self, value):
        return value / self.high


class Panel:
    """What lines and bars share: a title, a legend, and the frame of the picture."""

    def __init__(self, title, names, note=""):
        self.title, self.names, self.note = title, names, note

    def draw(self, painter):
        """SVG text of this panel alone, and its height."""
        head, top = self.head(painter)
        body, height = self.contents(painter, top)
        label = escape(self.title, quote=True)
        return "\n".join(['<svg class="plot" xmlns="http://www.w3.org/2000/svg" role="img" aria-label="%s" width="%d" '
                          'height="%d" viewBox="0 0 %d %d">' % (label, WIDTH, height, WIDTH, height),
                          "<title>%s</title>" % label, "<desc>%s</desc>" % escape(self.words()),
                          '<rect class="paper" width="%d" height="%d"/>' % (WIDTH, height), *head, *body,
                          "</svg>"]), height

    def head(self, painter):
        out = [text(8, 18, self.title, limit=WIDTH - 16, kind="name")]
        y = 18
        if self.note:
            y += LINE
            out.append(text(8, y, self.note, limit=WIDTH - 16, kind="quiet"))
        x = WIDTH
        for name in self.names:
            room = wide(name) + 42
            if x + room > WIDTH:
                x, y = 8, y + LINE + 1
            out += [self.key(painter, name, x, y - 4), text(x + 28, y, name, limit=WIDTH - x - 32)]
            x += room
        return out, y + 10

    def key(self, painter, name, x, y):
        return painter.line([(x, y), (x + 22, y)], name) + painter.marker(name, x + 11, y)


class Lines(Panel):
    """A line for each name in series: {name: [(x, y), ...]}. Logarithmic axes have equal distances for equal factors.
    y_most: what a linear axis reaches at least."""

    def __init__(self, title, series, x_log=True, x_text=number_text, y_log=True, y_most=None, y_text=number_text,
                 note="", height=200):
        super().__init__(title, list(series), note)
        self.x_log, self.x_text, self.y_log, self.y_text = x_log, x_text, y_log, y_text
        self.y_most, self.plot_height = y_most, height
        self.series = {name: sorted((x, y) for x, y in points if self.usable(y) and (x > 0 or not x_log))
                       for name, points in series.items()}

    def usable(self, value):
        return value is not None and (value > 0 or (not self.y_log and value >= 0))

    def words(self):
        """What a reader without eyes is told."""
        return "; ".join("%s: from %s at %s to %s at %s" % (
            name, self.y_text(short(points[0][1])), self.x_text(points[0][0]), self.y_text(short(points[-1][1])),
            self.x_text(points[-1][0])) for name, points in self.series.items() if points) or "no figures"

    def place(self, value):
        return math.log(value) if self.x_log else float(value)

    def x(self, value):
        if self.xs[0] == self.xs[-1]:
            return (self.left + self.right) / 2
        first, last = self.place(self.xs[0]), self.place(self.xs[-1])
        return self.left + (self.right - self.left) * (self.place(value) - first) / (last - first)

    def y(self, value):
        return self.top + self.plot_height * (1 - self.axis.share(value))

    def contents(self, painter, top):
        values = [y for points in self.series.values() for _, y in points]
        if not values:
            return [text(WIDTH / 2, top + 30, "no figures", "middle")], top + 50
        self.axis = LogAxis(min(values), max(values)) if self.y_log else \
            LinearAxis(max([*values, self.y_most or 1e-9]))
        self.xs = sorted({x for points in self.series.values() for x, _ in points})
        self.top, self.left = top + 10, 14 + max(wide(self.y_text(tick)) for tick in self.axis.ticks)
        self.right = WIDTH - 12 - wide(self.x_text(self.xs[-1])) / 2
        return [*self.grid(), *self.lines(painter)], self.top + self.plot_height + 28

    def grid(self):
        out, bottom, free = [], self.top + self.plot_height, 0
        for tick in self.axis.ticks:
            out += [rule(self.left, self.right, self.y(tick), self.y(tick), "grid"),
                    text(self.left - 6, self.y(tick) + 4, self.y_text(tick), "end")]
        for x in self.xs:
            half = wide(self.x_text(x)) / 2
            if self.x(x) - half < free:
                continue
            free = self.x(x) + half + 8
            out += [rule(self.x(x), self.x(x), self.top, bottom, "grid"),
                    text(self.x(x), bottom + 17, self.x_text(x), "middle")]
        return out + [rule(self.left, self.right, bottom, bottom, "zero")]

    def lines(self, painter):
        out = []
        for name, points in self.series.items():
            places = [(self.x(x), self.y(y)) for x, y in points]
            out += [painter.line(places, name)] if places else []
            out += [painter.marker(name, *place, "%s, %s: %s" % (name, self.x_text(x), self.y_text(short(y, 4))))
                    for (x, y), place in zip(points, places)]
        return out


class Bars(Panel):
    """Groups of bars that lie, one for each name in series: {name: [value of each group]}. All begin at 0 and end with
    their value in figures; nothing is cut and nothing logarithmic. Where the groups differ too much for one scale
    (RANGE), each has its own."""

    def __init__(self, title, groups, series, text=number_text, note=""):  # pylint: disable=redefined-outer-name
        most = [max((v for v in values if v is not None), default=0) for values in zip(*series.values())]
        large = [value for value in most if value > 0]
        self.own = bool(large) and max(large) / min(large) > RANGE
        if self.own:
            note = ", ".join(filter(None, [note, "each group on a scale of its own, from 0"]))
        super().__init__(title, list(series), note)
        self.groups, self.series, self.value_text = groups, series, text
        self.scales = most if self.own else [max(most, default=0)] * len(groups)

    def key(self, painter, name, x, y):
        return '<rect x="%d" y="%d" width="22" height="10" class="%s"/>' % (x, y - 5, painter.kind(name))

    def words(self):
        return "; ".join("%s: %s" % (group, ", ".join(
            "%s %s" % (name, self.value_text(short(values[i]))) for name, values in self.series.items()
            if values[i] is not None)) for i, group in enumerate(self.groups)) or "no figures"

    def contents(self, painter, top):
        out, y = [], top + 4
        for i, group in enumerate(self.groups):
            y += LINE
            out.append(text(8, y - 4, group, limit=WIDTH - 16))
            start = y
            for name, values in self.series.items():
                if values[i] is not None:
                    out += self.bar(painter, y, name, group, values[i], self.scales[i])
                    y += BAR + 3
            out.append(rule(8, 8, start - 2, y, "zero"))
            y += 5
        return out or [text(WIDTH / 2, y + 20, "no figures", "middle")], y + 10 if out else y + 40

    def bar(self, painter, y, name, group, value, scale):
        words = self.value_text(short(value))
        long = max(0, value) / scale * (WIDTH - 16 - 80) if scale > 0 else 0
        return ['<rect x="8" y="%.1f" width="%.1f" height="%d" class="%s"><title>%s, %s: %s</title></rect>' % (
            y, max(0.5, long), BAR, painter.kind(name), escape(group), escape(name), escape(words)),
            text(8 + long + 6, y + BAR - 2, words)]


def rule(x1, x2, y1, y2, kind):
    return '<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" class="%s"/>' % (x1, x2, y1, y2, kind)


class Painter:
    """Gives each name of some panels its colour and marker, and draws the panels."""

    def __init__(self, panels, dashed=()):
        self.drawn = [panel for panel in panels if panel]
        self.dashed = dashed
        names = list(dict.fromkeys(name for panel in self.drawn for name in panel.names))
        self.number = {name: i for i, name in enumerate(names)}

    def panels(self):
        return [panel.draw(self)[0] for panel in self.drawn]

    def kind(self, name):
        return "s%d" % (self.number[name] % len(COLOURS))

    def line(self, places, name):
        return '<polyline points="%s" class="line %s"%s/>' % (
            " ".join("%.1f,%.1f" % place for place in places), self.kind(name),
            ' stroke-dasharray="5 3"' if name in self.dashed else "")

    def marker(self, name, x, y, words=""):
        told = "<title>%s</title>" % escape(words) if words else ""
        return '<path d="%s" transform="translate(%.1f,%.1f)" class="%s">%s</path>' % (
            MARKERS[self.number[name] % len(MARKERS)], x, y, self.kind(name), told)


def figure(panels, columns=2, dashed=(), note=""):
    """SVG text of all panels, in rows of so many columns; None leaves a place empty."""
    painter = Painter(panels, dashed)
    columns = max(1, min(columns, len(panels)))
    out, y = [], 0
    if note:
        out, y = [text(8, 20, note, limit=columns * WIDTH - 16)], 26
    for start in range(0, len(panels), columns):
        row = [panel.draw(painter) if panel else ("", 0) for panel in panels[start:start + columns]]
        out += ['<g transform="translate(%d,%d)">\n%s\n</g>' % (i * WIDTH, y, svg)
                for i, (svg, _) in enumerate(row) if svg]
        y += max(height for _, height in row) + 10
    across = columns * WIDTH
    words = escape(", ".join(panel.title for panel in painter.drawn))
    return "\n".join(['<svg class="plot" xmlns="http://www.w3.org/2000/svg" role="img" width="%d" '
                      'height="%d" viewBox="0 0 %d %d">' % (across, y, across, y), "<title>%s</title>" % words,
                      "<style>%s</style>" % style(), '<rect class="paper" width="%d" height="%d"/>' % (across, y), *out, "</svg>", ""])


def write(path, content):
    """The file is there as a whole or not at all."""
    with open(path + ".new", "w", encoding="utf-8") as out:
        out.write(content)
    os.replace(path + ".new", path)


__all__ = ["Bars", "Lines", "Painter", "figure", "fitted", "number_text", "percent_text", "short", "size_text", "style",
           "time_text", "write"]
