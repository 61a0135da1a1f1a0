#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""look.py - opens pages and pictures in a browser without a screen, and says what is wrong with them (look.js).

Usage: look.py BROWSER PAGE...

Each page is looked at on screens of 420, 900 and 1600 pixels in light, and once in dark; a picture (.svg), which has a
size of its own, on the largest. Prints a line for each fault. Exit status:
0 if there is none, 1 if there are, 77 if the browser cannot be used."""

import html
import json
import os
import re
import subprocess
import sys
import tempfile

WIDTHS = {False: (420, 900, 1600), True: (900,)}  # by whether it is dark
LARGEST = 1650
LIMIT = 100


def browse(browser, path, folder, dark):
    """What the page has become, as HTML."""
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
               "--user-data-dir=" + os.path.join(folder, "profile"), "--window-size=1700,1000",
               "--blink-settings=preferredColorScheme=%d" % (0 if dark else 1), "--virtual-time-budget=60000",
               "--dump-dom", "file://" + path]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT, check=False,
                          env={**os.environ, "HOME": folder})
    return done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def as_script(value):
    return json.dumps(value).replace("<", "\\u003c")


def look(browser, pages, dark):
    here = os.path.dirname(os.path.abspath(__file__))
    script = read(os.path.join(here, "look.js"))
    with tempfile.TemporaryDirectory(prefix="mapshmem-look.") as folder:
        path = os.path.join(folder, "look.html")
        with open(path, "w", encoding="utf-8") as out:
            out.write('<!DOCTYPE html><html><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
                      '</head><body><pre id="found"></pre><script>const pages = %s, widths = %s, largest = %d, dark = %s;\n%s</script>'
                      "</body></html>" % (as_script(pages), as_script(WIDTHS[dark]), LARGEST, as_script(dark), script))
        shown, said = browse(browser, path, folder, dark)
    lines = re.search(r'<pre id="found">(looked at \d+)\n?(.*?)</pre>', shown, re.DOTALL)
    if not lines:
        return None, said
    return [line for line in html.unescape(lines[2]).splitlines() if line], said


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def whole(path):
    """The page with its style sheet inside of it."""
    return re.sub(r'<link rel="stylesheet" href="([^":]+)"[^>]*>',
                  lambda link: "<style>%s</style>" % read(os.path.join(os.path.dirname(path), link[1])), read(path))


def main(browser, paths):
    pages = {os.path.basename(path): whole(path) for path in paths}
    faults = []
    for dark in (False, True):
        found, said = look(browser, pages, dark)
        if found is None:
            print("the browser %s did not get through the pages: %s" % (browser, " ".join(said.split())[-200:]))
            return 77
        faults += ["%s, %s" % ("dark" if dark else "light", line) for line in found]
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
