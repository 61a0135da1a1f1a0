# SPDX-License-Identifier: BSD-3-Clause
"""Words in an SVG picture: how much room they need, and how they are made to fit. Widths are estimates, on the safe side
for the sans-serif fonts that browsers use."""

from html import escape

EM = 12  # pixels
LINE = 17
NARROW, BROAD = "ijl.,:;|!'()[] ftrI1", "mwMW@%"


def wide(words):
    """Pixels that a line of text needs at most."""
    return sum(0.42 if c in NARROW else 0.92 if c in BROAD else 0.68 if c.isupper() else 0.6 for c in words) * EM


def fitted(words, limit):
    """The words, shortened at their end if they need more pixels."""
    if wide(words) <= limit:
        return words
    while words and wide(words + "...") > limit:
        words = words[:-1]
    return words.rstrip() + "..."


def text(x, y, words, anchor="start", limit=None, kind=""):
    """An element; where it had to be shortened its title tells the whole."""
    shown = words if limit is None else fitted(words, limit)
    told = "" if shown == words else "<title>%s</title>" % escape(words)
    return '<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s%s</text>' % (
        x, y, anchor, ' class="%s"' % kind if kind else "", escape(shown), told)
