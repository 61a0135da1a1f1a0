# SPDX-License-Identifier: BSD-3-Clause
"""Reads the recipes for conda and EasyBuild with those tools' own parsers, and prints what they make of them.

Usage: render.py conda FOLDER      needs py-rattler-build
       render.py easybuild FILE    needs easybuild-framework and easybuild-easyblocks, and environment-modules at MODULESHOME

conda: name, version and requirements of each package that the recipe renders to. EasyBuild: name, version, step options
and dependencies, after its check of all parameters. Nothing is downloaded or built.
"""

import os
import sys


def conda(folder):
    from rattler_build.stage0 import Stage0Recipe
    from rattler_build.variant_config import VariantConfig

    recipe = Stage0Recipe.from_file(os.path.join(folder, "recipe.yaml"))
    for variant in recipe.render(VariantConfig.from_file(os.path.join(folder, "variants.yaml"))):
        rendered = variant.recipe.to_dict()
        print(rendered["package"]["name"], rendered["package"]["version"])
        print("\n".join(rendered["build"]["script"]))
        for kind in ("build", "host", "run"):
            print("\n".join("%s: %s" % (kind, name) for name in rendered["requirements"][kind]))


def easybuild(path):
    from easybuild.framework.easyconfig.easyconfig import process_easyconfig
    from easybuild.tools.options import set_up_configuration

    set_up_configuration(args=["--modules-tool=EnvironmentModules", "--module-syntax=Tcl", "--allow-modules-tool-mismatch",
                               "--allow-use-as-root-and-accept-consequences"], silent=True)
    for parsed in process_easyconfig(path, validate=True):
        config = parsed["ec"]
        print(config.name, config.version)
        print(config["configopts"])
        print("\n".join("%(name)s %(version)s" % dependency for dependency in config.all_dependencies))


{"conda": conda, "easybuild": easybuild}[sys.argv[1]](sys.argv[2])
