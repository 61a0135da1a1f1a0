# SPDX-License-Identifier: BSD-3-Clause
"""Runs contrib/spack/package.py without Spack: prints the options of configure that its variants lead to.

Usage: recipe.py PACKAGE.PY
What the recipe takes from Spack is played here, as far as Spack's documentation says what it does. A name that the
recipe uses and Spack does not have fails; whether a real Spack can install it is not shown.
"""
import sys
import types


class AutotoolsPackage:
    """Spack's class for packages with configure; every variant is either on or off."""

    variants = {}

    def __init__(self, chosen):
        self.spec = Spec(chosen)

    def enable_or_disable(self, name):
        assert name in self.variants, f"no variant {name}"
        return [f"--{'enable' if name in self.spec.chosen else 'disable'}-{name}"]


class Spec:
    """Variants that were chosen; a dependency that is asked for has a prefix."""

    prefix = "/prefix"

    def __init__(self, chosen):
        self.chosen = chosen

    def satisfies(self, what):
        name = what[1:]
        assert name in AutotoolsPackage.variants, f"no variant {name}"
        return (name in self.chosen) == (what[0] == "+")

    def __getitem__(self, dependency):
        assert dependency in dependencies, f"no dependency {dependency}"
        return Spec(self.chosen)


dependencies = []


def depends_on(spec, type=("build", "link"), when=""):
    assert not when or when[1:] in AutotoolsPackage.variants, f"{spec}: no variant {when}"
    dependencies.append(spec.split("@")[0])


def variant(name, default, description):
    AutotoolsPackage.variants[name] = default


def nothing(*_, **__):
    """version, license: they only record something. run_after and its kind: the method itself."""
    return lambda method: method


def main():
    spack = types.ModuleType("spack.package")
    for name in ("version", "license", "filter_compiler_wrappers", "run_after", "on_package_attributes", "working_dir",
                 "Executable"):
        setattr(spack, name, nothing)
    spack.depends_on, spack.variant, spack.AutotoolsPackage = depends_on, variant, AutotoolsPackage
    sys.modules["spack"], sys.modules["spack.package"] = types.ModuleType("spack"), spack
    recipe = {}
    with open(sys.argv[1], encoding="utf-8") as source:
        exec(compile(source.read(), sys.argv[1], "exec"), recipe)
    package = recipe["Mapshmem"]
    for chosen in [()] + [(name,) for name in AutotoolsPackage.variants]:
        print("\n".join(package(chosen).configure_args()))


main()
