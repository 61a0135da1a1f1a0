# SPDX-License-Identifier: BSD-3-Clause
"""Writes a report as a single HTML file, for the scripts of this folder.

    from htmlpage import page, table
    write("report.html", page("Title", [heading("Latency"), table(["program", "us"], [["put", 1.25]]), svg_text]))

Strings in tables and headings are plain text, which is escaped; page() takes HTML as returned by table(), heading(),
paragraph() and svgplot's figure().
"""

from html import escape

STYLE = """body { font-family: sans-serif; margin: 2em auto; max-width: 1100px; padding: 0 1em; color: #222 }
table { border-collapse: collapse; margin: 1em 0; font-size: 90% }
th, td { padding: .2em .7em; border-bottom: 1px solid #ddd; text-align: left }
th { border-bottom: 2px solid #888 }
td.number { text-align: right; font-variant-numeric: tabular-nums }
td.good { color: #3a7d44 } td.bad { color: #d1495b; font-weight: bold }
details { margin: 1em 0 } summary { cursor: pointer } svg { max-width: 100%; height: auto }"""


class Marked:
    """A cell of a table with a colour: mark is "good" or "bad"."""

    def __init__(self, value, mark):
        self.value, self.mark = value, mark


def cell(value):
    mark, value = (value.mark, value.value) if isinstance(value, Marked) else ("", value)
    number = isinstance(value, (int, float))
    words = "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
    kinds = " ".join(kind for kind in ("number" if number else "", mark) if kind)
    return f'<td class="{kinds}">{escape(words)}</td>' if kinds else f"<td>{escape(words)}</td>"


def table(titles, rows):
    """Numbers stand at the right, fractions with four digits; None is an empty cell."""
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    body = "\n".join("<tr>" + "".join(map(cell, row)) + "</tr>" for row in rows)
    return f"<table>\n<tr>{head}</tr>\n{body}\n</table>"


def heading(words, level=2):
    return f"<h{level}>{escape(words)}</h{level}>"


def paragraph(words):
    return f"<p>{escape(words)}</p>"


def details(summary, content):
    """HTML that is folded away behind a line of text."""
    return f"<details><summary>{escape(summary)}</summary>\n{content}\n</details>"


def page(title, parts):
    return "\n".join(["<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8">',
                      f"<title>{escape(title)}</title>", f"<style>{STYLE}</style></head>", "<body>",
                      heading(title, 1), *parts, "</body></html>", ""])
