# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# look_at: a test of pages and pictures in a browser; sourced by the tests of the tools that make them, after tap.sh.
# "scripts/setup --for-tests" installs the browser.

# a_browser: prints the first that is there
a_browser() { type -P chromium-headless-shell chromium google-chrome chrome | head -n 1; }

# look_at PAGE...: nothing leaves the screen, overlaps, is cut or hard to read (tests/pages/look.js)
look_at() {
    local browser name="${1##*/}"
    [ $# -lt 2 ] || name+=" and $(($# - 1)) others"
    name+=" in a browser"
    browser=$(a_browser)
    if [ -z "$browser" ]; then
        skip "$name" "no chromium: scripts/setup --for-tests installs it"
        return
    fi
    run 110 python3 "${srcdir:-.}/tests/pages/look.py" "$browser" "$@"
    judge "$name"
}
