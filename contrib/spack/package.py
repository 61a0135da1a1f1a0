# SPDX-License-Identifier: BSD-3-Clause
#
# Spack recipe. In a repository of your own:
#
#     spack repo create ~/mapshmem-repo mapshmem; spack repo add ~/mapshmem-repo
#     mkdir -p ~/mapshmem-repo/packages/mapshmem && cp contrib/spack/package.py ~/mapshmem-repo/packages/mapshmem
#     spack install mapshmem
#
# "git" below names where the sources are: set it to your checkout or mirror.

from spack.package import *

try:  # Spack 1.0 and later keep the build systems in the repository of packages
    from spack_repo.builtin.build_systems.autotools import AutotoolsPackage
except ImportError:
    pass


class Mapshmem(AutotoolsPackage):
    """OpenSHMEM 1.6 library whose symmetric memory includes GPU memory that the program has allocated."""

    homepage = "https://www.openshmem.org"
    git = "file:///opt/src/mapshmem"

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("cuda", default=False, description="CUDA memory and the library's own kernels")
    variant("opencl", default=True, description="OpenCL memory")
    variant("fortran", default=True, description="The Fortran module mapshmem, and oshfort")
    variant("mpi", default=False, description="Start-up by MPI, where the launcher has no PMIx")
    variant("launcher", default=True, description="Open MPI, whose launcher oshrun calls outside of Slurm")
    variant("oshtypes", default=True, description="oshtypes: descriptions of types from debug information")
    variant("apps", default=True, description="Pictures of stencil2d, compressed graphs for bfs")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("autoconf", type="build")
    depends_on("automake", type="build")
    depends_on("libtool", type="build")
    depends_on("m4", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("uthash", type="build")

    depends_on("ucx@1.13:")
    depends_on("pmix@3:")
    depends_on("hwloc@2:")
    depends_on("cuda", when="+cuda")
    depends_on("opencl", when="+opencl")
    depends_on("mpi", when="+mpi")
    depends_on("openmpi", type="run", when="+launcher")
    depends_on("elfutils@0.171:", when="+oshtypes")
    depends_on("libpng", when="+apps")

    # They have the names of the compilers that they call, which while Spack builds are its own.
    filter_compiler_wrappers("oshcc", "oshc++", "oshcxx", "oshfort", relative_root="bin")

    # "make check" is for developers and takes an hour; with --test=root, first_program is tried instead.
    build_time_test_callbacks = []

    def configure_args(self):
        args = self.enable_or_disable("opencl") + self.enable_or_disable("fortran")
        args += self.enable_or_disable("oshtypes")
        if self.spec.satisfies("+cuda"):
            args.append(f"--with-cuda={self.spec['cuda'].prefix}")
        else:
            args.append("--without-cuda")
        if self.spec.satisfies("~mpi"):
            args.append("--disable-mpi")
        return args

    def setup_run_environment(self, env):
        env.set("MAPSHMEM_DIR", self.prefix)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def first_program(self):
        """A program is compiled and started with one PE."""
        with working_dir("first", create=True):
            with open("first.c", "w") as source:
                source.write("#include <shmem.h>\nint main(void) { shmem_init(); shmem_finalize(); return 0; }\n")
            Executable(self.prefix.bin.oshcc)("first.c", "-o", "first")
            Executable("./first")()
