# SPDX-License-Identifier: BSD-3-Clause
"""What scripts in Python, here and in bench, share for their command lines: a parser that raises Usage, and types of options."""

import argparse
import re


class Usage(Exception):
    """What is wrong with the command line."""


class Parser(argparse.ArgumentParser):
    def __init__(self):
        super().__init__(add_help=False, allow_abbrev=False)

    def error(self, message):
        raise Usage(message)


def positive(text):
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("'%s' is no number above 0" % text)
    return int(text)


def numbers(text):
    """A list with commas, in ascending order."""
    return sorted({positive(word) for word in text.split(",")})


def chosen(known):
    """A list with commas of words that are known, or none."""
    def words(text):
        found = [] if text == "none" else text.split(",")
        for word in found:
            if word not in known:
                raise argparse.ArgumentTypeError("'%s' is none of %s" % (word, ", ".join(known)))
        return found
    return words


def pattern(text):
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError("'%s' is no regular expression: %s" % (text, error))
