# SPDX-License-Identifier: BSD-3-Clause
"""Draws plots as SVG, for the scripts of this folder; needs nothing but Python's standard library.

A figure has one or more panels and one legend above them. A panel shows lines or bars; the same name has the same
colour in all panels of a figure.

    from svgplot import Bars, Lines, figure, size_text, write
    time = Lines("time of a put, us", {"ours": [(8, 1.2), (64, 1.3)], "raw": [(8, 1.0)]}, x_text=size_text)
    share = Bars("efficiency, %", ["2 PEs", "4 PEs"], {"weak": [99, 97], "strong": [95, None]}, y_log=False, y_most=100)
    write("picture.svg", figure([time, share], columns=2, dashed=["raw"]))

Values are numbers; None, and what is not above 0 on a logarithmic axis, is left out. The text that
figure() returns can be put into an HTML page as it is.
"""

import math
import os
from html import escape

COLOURS = ("#1b6ca8", "#d1495b", "#3a7d44", "#8d5a97", "#e08e1b", "#555555", "#00a0a0", "#a05000", "#c2b000", "#e07bb0")
STYLE = ".grid { stroke: #ddd } polyline { fill: none; stroke-width: 2 } .legend { stroke-width: 2 }"
LINE = 17  # height of a line of the legend


def scaled(value, units):
    for limit, unit in units:
        if abs(value) >= limit:
            return f"{value / limit:g} {unit}".rstrip()
    return f"{value:g}"


def number_text(value):
    """1000000 as "1 M"."""
    return scaled(value, ((1e9, "G"), (1e6, "M")))


def size_text(size):
    """Bytes: 65536 as "64 KiB"."""
    return scaled(size, ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B")))


def time_text(us):
    """Microseconds: 2000 as "2 ms"."""
    return scaled(us, ((1e6, "s"), (1e3, "ms"))) if us >= 1e3 else f"{us:g} us"


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
    """From 0, in steps of 1, 2 or 5 times a power of ten."""

    def __init__(self, most):
        step = 10.0 ** math.floor(math.log10(most))
        step = next(s for s in (step / 5, step / 2, step, step * 2) if most / s <= 6)
        self.high = step * math.ceil(most / step * 0.9999)
        self.ticks = [step * i for i in range(round(self.high / step) + 1)]

    def share(self, value):
        return min(value, self.high) / self.high


def value_axis(values, log, most):
    if log:
        return LogAxis(min(values), max(values))
    return LinearAxis(most or max(values + [1e-9]))


class Panel:
    """What lines and bars share: a title, the value axis, and the place that the figure gives it."""

    def __init__(self, title, names, y_log, y_most, y_text):
        self.title, self.names, self.y_log, self.y_most, self.y_text = title, names, y_log, y_most, y_text

    def usable(self, value):
        return value is not None and (value > 0 or (not self.y_log and value >= 0))

    def draw(self, left, top, width, height, colours, dashed):
        self.left, self.top, self.width, self.height = left, top, width, height
        values = self.values()
        out = [text(left + width / 2, top - 10, "middle", self.title)]
        if not values:
            return out + [text(left + width / 2, top + height / 2, "middle", "no figures")]
        self.axis = value_axis(values, self.y_log, self.y_most)
        for tick in self.axis.ticks:
            out += [line(left, left + width, self.y(tick), self.y(tick)),
                    text(left - 6, self.y(tick) + 4, "end", self.y_text(tick))]
        return out + self.contents(colours, dashed)

    def y(self, value):
        return self.top + self.height * (1 - self.axis.share(value))

    def values(self):
        """All that the value axis must hold."""
        raise NotImplementedError

    def contents(self, colours, dashed):
        """The SVG elements inside of the frame."""
        raise NotImplementedError


class Lines(Panel):
    """A line for each name in series: {name: [(x, y), ...]}. x_log: equal factors are equal distances."""

    def __init__(self, title, series, x_log=True, x_text=number_text, y_log=True, y_most=None, y_text=number_text):
        super().__init__(title, list(series), y_log, y_most, y_text)
        self.x_log, self.x_text = x_log, x_text
        self.series = {name: sorted((x, y) for x, y in points if self.usable(y) and (x > 0 or not x_log))
                       for name, points in series.items()}

    def values(self):
        return [y for points in self.series.values() for _, y in points]

    def x(self, value):
        if self.xs[0] == self.xs[-1]:
            return self.left + self.width / 2
        place = math.log if self.x_log else float
        first, last = place(self.xs[0]), place(self.xs[-1])
        return self.left + self.width * (place(value) - first) / (last - first)

    def contents(self, colours, dashed):
        self.xs = sorted({x for points in self.series.values() for x, _ in points})
        out = []
        for x in self.xs[::max(1, math.ceil(len(self.xs) / 8))]:
            out += [line(self.x(x), self.x(x), self.top, self.top + self.height),
                    text(self.x(x), self.top + self.height + 16, "middle", self.x_text(x))]
        for name, points in self.series.items():
            places = [(self.x(x), self.y(y)) for x, y in points]
            out.append('<polyline points="%s" stroke="%s"%s/>' % (" ".join("%.1f,%.1f" % p for p in places),
                                                                  colours[name], dash(name, dashed)))
            for (x, y), place in zip(points, places):
                out.append('<circle cx="%.1f" cy="%.1f" r="2.5" fill="%s"><title>%s: %s, %.4g</title></circle>' % (
                    *place, colours[name], escape(name), self.x_text(x), y))
        return out


class Bars(Panel):
    """Groups of bars, one for each name in series: {name: [value of each group]}; bars end at y_most."""

    def __init__(self, title, groups, series, y_log=True, y_most=None, y_text=number_text):
        super().__init__(title, list(series), y_log, y_most, y_text)
        self.groups, self.series = groups, series

    def values(self):
        return [v for values in self.series.values() for v in values if self.usable(v)]

    def contents(self, colours, dashed):
        out = []
        group = self.width / max(1, len(self.groups))
        wide = group * 0.8 / max(1, len(self.series))
        bottom = self.top + self.height
        for i, label in enumerate(self.groups):
            left = self.left + group * i
            out.append(text(left + group / 2, bottom + 14, "middle", label))
            for k, (name, values) in enumerate(self.series.items()):
                if self.usable(values[i]):
                    y = self.y(values[i])
                    out.append('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"><title>%s, %s: %.4g'
                               '</title></rect>' % (left + group * 0.1 + k * wide, y, max(0.5, wide - 1), bottom - y,
                                                    colours[name], escape(label), escape(name), values[i]))
        return out


def text(x, y, anchor, words):
    return '<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>' % (x, y, anchor, escape(words))


def line(x1, x2, y1, y2):
    return '<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" class="grid"/>' % (x1, x2, y1, y2)


def dash(name, dashed):
    return ' stroke-dasharray="5 3"' if name in dashed else ""


def legend(names, colours, dashed, across):
    """Returns the elements and the height that they take."""
    out, x, y = [], 60, 20
    for name in names:
        wide = 45 + 6.5 * len(name)
        if x > 60 and x + wide > across:
            x, y = 60, y + LINE
        out.append('<line x1="%d" x2="%d" y1="%d" y2="%d" stroke="%s" class="legend"%s/>' % (
            x, x + 22, y - 4, y - 4, colours[name], dash(name, dashed)))
        out.append(text(x + 27, y, "start", name))
        x += wide
    return out, y + LINE


def figure(panels, columns=2, dashed=(), note="", width=430, height=280):
    """SVG text of all panels, width x height each, in rows of so many columns; None leaves a place empty."""
    names = list(dict.fromkeys(name for panel in panels if panel for name in panel.names))
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    columns = max(1, min(columns, len(panels)))
    across = columns * (width + 90) + 20
    out, above = legend(names, colours, dashed, across)
    if note:
        out.append(text(60, above + 3, "start", note))
        above += LINE
    for i, panel in enumerate(panels):
        if panel:
            out += panel.draw(60 + i % columns * (width + 90), above + 30 + i // columns * (height + 70), width, height,
                              colours, dashed)
    down = above + math.ceil(len(panels) / columns) * (height + 70)
    return "\n".join(['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" '
                      'font-size="11">' % (across, down), "<style>%s</style>" % STYLE,
                      '<rect width="%d" height="%d" fill="white"/>' % (across, down), *out, "</svg>", ""])


def write(path, content):
    """The file is there as a whole or not at all."""
    with open(path + ".new", "w", encoding="utf-8") as out:
        out.write(content)
    os.replace(path + ".new", path)
