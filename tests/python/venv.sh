# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# What the tests of Python share: virtual environments in the folder of the build, filled from PyPI once.

# find_python: sets python to one that can make environments and build extension modules, or fails
find_python() {
    local probe='import ensurepip, os, sys, sysconfig, venv
sys.exit(sys.version_info < (3, 9) or not os.path.exists(sysconfig.get_paths()["include"] + "/Python.h"))'
    for python in "${PYTHON:-python3}" /usr/bin/python3; do
        "$python" -c "$probe" 2>/dev/null && return
    done
    return 1
}

# make_venv NAME PACKAGE...: sets venv, with these packages; leaves the script as skipped where they cannot be had
make_venv() {
    local name=$1 log=$tap_dir/venv.log python
    shift
    venv=$PWD/python-$name
    find_python || skip_all "no Python with headers and venv: install python3-dev and python3-venv"
    if [ "$(cat "$venv/packages" 2>/dev/null)" != "$*" ]; then
        rm -rf "$venv"
        { "$python" -m venv "$venv" && timeout 240 "$venv/bin/pip" install -q --disable-pip-version-check "$@"; } \
            >"$log" 2>&1 || skip_all "cannot install $* from PyPI: $(tail -n 1 "$log")"
        echo "$*" >"$venv/packages"
    fi
}
