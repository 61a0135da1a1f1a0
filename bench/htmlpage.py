# SPDX-License-Identifier: BSD-3-Clause
"""Writes a report as a single HTML file, for the scripts of this folder.

    from htmlpage import heading, page, plots, table
    write("report.html", page("Title", [heading("Latency"), table(["program", "time"], [["put", Figure("1.25 us")]]),
                                        plots(Painter(panels).panels())]))

Strings in tables and headings are plain text, which is escaped; page() takes HTML as returned by table(), heading(),
paragraph() and plots(). The page follows the reader's light or dark setting. A table that is wider than the screen is
moved in a box of its own; plots stand beside each other as far as they fit.
"""

from html import escape

import svgplot

STYLE = """:root { color-scheme: light dark; --paper: #fff; --ink: #222; --quiet: #555; --rule: #ccc; --good: #1d6b2c;
  --bad: #b3202f; --link: #0b5394 }
@media screen and (prefers-color-scheme: dark) { :root { --paper: #15181c; --ink: #e6e6e6; --quiet: #aab; --rule: #444a52;
  --good: #7fd08c; --bad: #ff9aa6; --link: #8ec5ff } }
body { font-family: sans-serif; line-height: 1.4; margin: 1.5em auto; max-width: 1280px; padding: 0 16px;
  background: var(--paper); color: var(--ink); overflow-wrap: break-word }
h1 { font-size: 1.6em } h2 { font-size: 1.25em; margin-top: 1.8em }
.wide { overflow-x: auto; margin: 1em 0 } .wide:focus-visible { outline: 2px solid var(--link) }
table { border-collapse: collapse; font-size: 90% }
th, td { padding: .25em .7em; border-bottom: 1px solid var(--rule); text-align: left; vertical-align: top }
.wide td, .wide th { white-space: nowrap } .wide td.long { white-space: normal; min-width: 18em }
thead th { border-bottom: 2px solid var(--quiet); vertical-align: bottom }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }
.good { color: var(--good) } .bad { color: var(--bad); font-weight: bold } .quiet { color: var(--quiet) }
.facts { width: 100% } .facts th { width: 8em; font-weight: normal; color: var(--quiet) }
.facts td { overflow-wrap: anywhere }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 360px), 1fr)); gap: 16px; margin: 1em 0 }
.plots svg { width: 100%; max-width: 520px; height: auto }
details { margin: 1em 0 } summary { cursor: pointer; color: var(--link) }
@media print { body { max-width: none; margin: 0 } .wide { overflow: visible } table { font-size: 70% }
  svg, tr { break-inside: avoid } h2, h2 + p { break-after: avoid } }"""


LONG = 40  # characters of a cell that may be broken into lines


class Marked:
    """A cell of a table with a colour: mark is "good", "bad" or "quiet"."""

    def __init__(self, value, mark):
        self.value, self.mark = value, mark


class Figure(str):
    """A number with its unit, as text."""


def cell(value):
    mark, value = (value.mark, value.value) if isinstance(value, Marked) else ("", value)
    number = isinstance(value, (int, float, Figure))
    words = "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
    kinds = " ".join(kind for kind in ("number" if number else "long" if len(words) > LONG else "", mark) if kind)
    return f'<td class="{kinds}">{escape(words)}</td>' if kinds else f"<td>{escape(words)}</td>"


def is_number(value):
    return isinstance(value.value if isinstance(value, Marked) else value, (int, float, Figure))


def table(titles, rows, name="table"):
    """Numbers stand at the right, under their titles, fractions with four digits; None is an empty cell."""
    right = [any(is_number(row[i]) for row in rows) for i in range(len(titles))]
    head = "".join('<th scope="col"%s>%s</th>' % (' class="number"' if at_right else "", escape(title))
                   for title, at_right in zip(titles, right))
    body = "\n".join("<tr>" + "".join(map(cell, row)) + "</tr>" for row in rows)
    return (f'<div class="wide" tabindex="0" role="region" aria-label="{escape(name)}"><table>\n'
            f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>")


def facts(pairs):
    """Names and what they are: a table without titles, whose long lines are broken."""
    body = "\n".join(f'<tr><th scope="row">{escape(str(name))}</th><td>{escape(str(value))}</td></tr>'
                     for name, value in pairs)
    return f'<table class="facts">\n{body}\n</table>'


def plots(panels):
    """Panels of svgplot, as many beside each other as fit."""
    return '<div class="plots">\n%s\n</div>' % "\n".join(panels)


def heading(words, level=2):
    return f"<h{level}>{escape(words)}</h{level}>"


def paragraph(words):
    return f"<p>{escape(words)}</p>"


def details(summary, content):
    """HTML that is folded away behind a line of text."""
    return f"<details><summary>{escape(summary)}</summary>\n{content}\n</details>"


def page(title, parts):
    return "\n".join(["<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8">',
                      '<meta name="viewport" content="width=device-width, initial-scale=1">',
                      f"<title>{escape(title)}</title>", f"<style>{STYLE}\n{svgplot.style()}</style></head>",
                      "<body><main>", heading(title, 1), *parts, "</main></body></html>", ""])
