# SPDX-License-Identifier: BSD-3-Clause
#
# What MapSHMEM is built on. Each check sets VAR_CFLAGS, VAR_LIBS and a line for the summary.

AC_DEFUN([MAPSHMEM_CHECK_UCX], [
    AC_ARG_WITH([ucx], [AS_HELP_STRING([--with-ucx=DIR], [UCX 1.13 or newer (default: pkg-config)])], [], [with_ucx=yes])
    AS_CASE([$with_ucx],
        [no], [AC_MSG_ERROR([UCX is required; it is the network between nodes])],
        [yes], [PKG_CHECK_MODULES([UCX], [ucx >= 1.13], [],
                [AC_MSG_ERROR([UCX 1.13 or newer is missing; on Debian: apt-get install libucx-dev; else --with-ucx=DIR])])],
        [UCX_CFLAGS="-I$with_ucx/include"
         UCX_LIBS="-L$with_ucx/lib -Wl,-rpath,$with_ucx/lib -lucp -lucs"])
    mapshmem_save_CPPFLAGS=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS $UCX_CFLAGS"
    AC_COMPUTE_INT([ucx_major], [UCP_API_MAJOR], [#include <ucp/api/ucp_version.h>], [ucx_major=0])
    AC_COMPUTE_INT([ucx_minor], [UCP_API_MINOR], [#include <ucp/api/ucp_version.h>], [ucx_minor=0])
    AC_CHECK_DECL([UCP_EP_ATTR_FIELD_TRANSPORTS], [ucx_tells_transports=yes], [ucx_tells_transports=no],
                  [[#include <ucp/api/ucp.h>]])
    AM_CONDITIONAL([UCX_TELLS_TRANSPORTS], [test $ucx_tells_transports = yes])
    CPPFLAGS=$mapshmem_save_CPPFLAGS
    AS_IF([test $ucx_major -lt 1 || { test $ucx_major -eq 1 && test $ucx_minor -lt 13; }],
          [AC_MSG_ERROR([UCX 1.13 or newer is required; found $ucx_major.$ucx_minor])])
    summary_ucx="$ucx_major.$ucx_minor"
    AC_DEFINE_UNQUOTED([MAPSHMEM_UCX_VERSION], ["$summary_ucx"], [UCX that the library was built with])
])

AC_DEFUN([MAPSHMEM_CHECK_PMIX], [
    PKG_CHECK_MODULES([PMIX], [pmix >= 3.0], [],
        [AC_MSG_ERROR([PMIx is missing; on Debian: apt-get install libpmix-dev])])
    summary_pmix=`$PKG_CONFIG --modversion pmix`
])

AC_DEFUN([MAPSHMEM_CHECK_HWLOC], [
    PKG_CHECK_MODULES([HWLOC], [hwloc >= 2.0], [],
        [AC_MSG_ERROR([hwloc 2 is missing; on Debian: apt-get install libhwloc-dev])])
    summary_hwloc=`$PKG_CONFIG --modversion hwloc`
])

# Only the headers are needed: the driver is opened at run time. nvcc builds the kernels of the library and of the applications.
AC_DEFUN([MAPSHMEM_CHECK_CUDA], [
    AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda=DIR], [CUDA toolkit (default: where nvcc is, /usr/local/cuda)])],
                [], [with_cuda=auto])
    cuda_dir=$with_cuda
    AS_IF([test "x$with_cuda" = xauto || test "x$with_cuda" = xyes],
          [AC_PATH_PROG([NVCC_IN_PATH], [nvcc])
           AS_IF([test -n "$NVCC_IN_PATH"],
                 [nvcc_real=`readlink -f "$NVCC_IN_PATH"`; cuda_dir=`dirname "$nvcc_real"`; cuda_dir=`dirname "$cuda_dir"`],
                 [cuda_dir=/usr/local/cuda])])
    AS_CASE([$host_cpu], [aarch64], [cuda_target=sbsa-linux], [cuda_target=$host_cpu-linux])
    have_cuda=no
    CUDA_CPPFLAGS=
    AS_IF([test "x$with_cuda" != xno],
          [for dir in "$cuda_dir/include" "$cuda_dir/targets/$cuda_target/include"; do
               AS_IF([test $have_cuda = no && test -f "$dir/cuda.h"], [have_cuda=yes; CUDA_CPPFLAGS="-I$dir"])
           done])
    AS_IF([test $have_cuda = no && test "x$with_cuda" != xno && test "x$with_cuda" != xauto],
          [AC_MSG_ERROR([--with-cuda was given, but there is no cuda.h in $cuda_dir/include])])
    AS_IF([test $have_cuda = yes],
          [AC_DEFINE([HAVE_CUDA], [1], [CUDA headers are there])
           AC_PATH_PROG([NVCC], [nvcc], [], [$cuda_dir/bin$PATH_SEPARATOR$PATH])])
    # The runtime library is for examples in which kernels are launched by <<<>>>; nvcc compiles their host side for this
    # machine.
    CUDART_LIBS=
    AS_IF([test $have_cuda = yes && test "x$cross_compiling" != xyes],
          [for dir in "$cuda_dir/lib64" "$cuda_dir/targets/$cuda_target/lib" "$cuda_dir/lib"; do
               AS_IF([test -z "$CUDART_LIBS" && test -f "$dir/libcudart_static.a"],
                     [CUDART_LIBS="$dir/libcudart_static.a -lstdc++ -lrt -ldl -lpthread"])
           done])
    AC_SUBST([CUDART_LIBS])
    AC_SUBST([CUDA_CPPFLAGS])
    AM_CONDITIONAL([HAVE_CUDA], [test $have_cuda = yes])
    AM_CONDITIONAL([HAVE_NVCC], [test $have_cuda = yes && test -n "$NVCC"])
    AM_CONDITIONAL([HAVE_CUDART], [test $have_cuda = yes && test -n "$NVCC" && test -n "$CUDART_LIBS"])
    summary_cuda="$have_cuda"
    AS_IF([test $have_cuda = yes], [summary_cuda="$cuda_dir"])
])

AC_DEFUN([MAPSHMEM_CHECK_OPENCL], [
    AC_ARG_ENABLE([opencl], [AS_HELP_STRING([--disable-opencl], [build without OpenCL])], [], [enable_opencl=auto])
    have_opencl=no
    AS_IF([test "x$enable_opencl" != xno], [
        AC_CHECK_HEADER([CL/cl.h], [have_opencl=yes], [], [#define CL_TARGET_OPENCL_VERSION 120])
        mapshmem_save_LIBS=$LIBS
        AC_CHECK_LIB([OpenCL], [clGetPlatformIDs], [OPENCL_LIBS=-lOpenCL], [have_opencl=no])
        LIBS=$mapshmem_save_LIBS
    ])
    AS_IF([test $have_opencl = no && test "x$enable_opencl" = xyes],
          [AC_MSG_ERROR([OpenCL was asked for; on Debian: apt-get install ocl-icd-opencl-dev opencl-headers])])
    AS_IF([test $have_opencl = yes], [AC_DEFINE([HAVE_OPENCL], [1], [OpenCL headers and ICD loader are there])])
    AC_SUBST([OPENCL_LIBS])
    AM_CONDITIONAL([HAVE_OPENCL], [test $have_opencl = yes])
])

# What kinds of GPU memory need.
AC_DEFUN([MAPSHMEM_CHECK_GPUS], [
    MAPSHMEM_CHECK_CUDA
    MAPSHMEM_CHECK_OPENCL
])

# MAPSHMEM_CHECK_ONE_MPI(family, VARIABLE, macro that its mpi.h defines, compilers to try): sets have_family, and
# VARIABLE_CFLAGS and VARIABLE_LIBS to what its compiler wrapper adds.
AC_DEFUN([MAPSHMEM_CHECK_ONE_MPI], [
    AC_ARG_VAR([$2_CC], [compiler wrapper of $1 (default: the first of $4 that is one)])
    AC_MSG_CHECKING([for the compiler wrapper of $1])
    have_$1=no
    for wrapper in ${$2_CC:-$4}; do
        AS_IF([test $have_$1 = no && test "x$enable_mpi" != xno &&
               echo '#include <mpi.h>' | $wrapper -E -dM -x c - 2>/dev/null | grep -Eq 'define ($3) '],
              [have_$1=yes; $2_CC=$wrapper])
    done
    $2_CFLAGS= $2_LIBS=
    AS_IF([test $have_$1 = yes],
          [for word in `$$2_CC -show`; do
               AS_CASE([$word],
                   [-I*|-D*], [AS_VAR_APPEND([$2_CFLAGS], [" $word"])],
                   [-L*|-l*|-Wl,-rpath*|-Wl,--enable-new-dtags], [AS_VAR_APPEND([$2_LIBS], [" $word"])],
                   [-pthread], [AS_VAR_APPEND([$2_CFLAGS], [" $word"]); AS_VAR_APPEND([$2_LIBS], [" $word"])])
           done
           AC_MSG_RESULT([$$2_CC])],
          [AC_MSG_RESULT([no])])
    AC_SUBST([$2_CFLAGS])
    AC_SUBST([$2_LIBS])
])

# For each MPI a module is built that starts the PEs through it; the library itself is linked with none.
AC_DEFUN([MAPSHMEM_CHECK_MPI], [
    AC_ARG_ENABLE([mpi], [AS_HELP_STRING([--disable-mpi], [build no modules for start-up by MPI])], [], [enable_mpi=auto])
    MAPSHMEM_CHECK_ONE_MPI([openmpi], [OPENMPI], [OPEN_MPI|OMPI_MAJOR_VERSION], [mpicc.openmpi mpicc])
    MAPSHMEM_CHECK_ONE_MPI([mpich], [MPICH], [MPICH_NUMVERSION|MPICH_VERSION|I_MPI_NUMVERSION|MVAPICH2_NUMVERSION],
                           [mpicc.mpich mpicc])
    AM_CONDITIONAL([HAVE_OPENMPI], [test $have_openmpi = yes])
    AM_CONDITIONAL([HAVE_MPICH], [test $have_mpich = yes])
    summary_mpi=
    AS_IF([test $have_openmpi = yes], [summary_mpi="$OPENMPI_CC"])
    AS_IF([test $have_mpich = yes], [summary_mpi="${summary_mpi:+$summary_mpi, }$MPICH_CC"])
])

AC_DEFUN([MAPSHMEM_CHECK_LAUNCHER], [
    AC_PATH_PROGS([LAUNCHER], [mpirun prterun srun])
    summary_launcher=${LAUNCHER:-none}
])

# The Fortran modules need arguments of any type and rank. FORTRAN is the compiler of oshfort, empty without one.
AC_DEFUN([MAPSHMEM_CHECK_FORTRAN], [
    AC_ARG_ENABLE([fortran], [AS_HELP_STRING([--disable-fortran], [build without the Fortran modules and oshfort])], [],
                  [enable_fortran=auto])
    have_fortran=no
    FORTRAN=
    AC_LANG_PUSH([Fortran])
    AS_IF([test "x$enable_fortran" != xno && test -n "$FC"], [
        AC_FC_SRCEXT([f90], [have_fortran=yes], [have_fortran=no])
        AC_FC_MODULE_FLAG([], [have_fortran=no])
        AC_FC_MODULE_OUTPUT_FLAG([], [have_fortran=no])
        AC_MSG_CHECKING([whether $FC has assumed type and rank])
        AC_COMPILE_IFELSE([AC_LANG_SOURCE([
subroutine probe(object, place)
    use, intrinsic :: iso_c_binding
    type(*), dimension(..), target, contiguous, intent(in) :: object
    type(c_ptr), intent(out) :: place
    place = c_null_ptr
    if (is_contiguous(object)) place = c_loc(object)
end subroutine])], [], [have_fortran=no])
        AC_MSG_RESULT([$have_fortran])
    ])
    AC_LANG_POP([Fortran])
    AS_IF([test $have_fortran = no && test "x$enable_fortran" = xyes],
          [AC_MSG_ERROR([no compiler for Fortran 2018, which was asked for; on Debian: apt-get install gfortran])])
    AS_IF([test $have_fortran = yes], [FORTRAN=$FC])
    FORTRAN_WARNING_FLAGS=
    AS_IF([test "x$ac_cv_fc_compiler_gnu" = xyes], [FORTRAN_WARNING_FLAGS="-std=f2018 -Wall -Wextra"])
    AC_SUBST([FORTRAN])
    AC_SUBST([FORTRAN_WARNING_FLAGS])
    AM_CONDITIONAL([HAVE_FORTRAN], [test $have_fortran = yes])
])

# oshtypes reads debug information.
AC_DEFUN([MAPSHMEM_CHECK_LIBDW], [
    AC_ARG_ENABLE([oshtypes], [AS_HELP_STRING([--disable-oshtypes], [build without oshtypes, which needs libdw])], [],
                  [enable_oshtypes=auto])
    have_libdw=no
    AS_IF([test "x$enable_oshtypes" != xno],
          [PKG_CHECK_MODULES([LIBDW], [libdw >= 0.171 libelf], [have_libdw=yes], [have_libdw=no])])
    AS_IF([test $have_libdw = no && test "x$enable_oshtypes" = xyes],
          [AC_MSG_ERROR([oshtypes was asked for, but libdw 0.171 or newer is missing; on Debian: apt-get install libdw-dev])])
    AM_CONDITIONAL([HAVE_LIBDW], [test $have_libdw = yes])
])

# Optional: pictures.
AC_DEFUN([MAPSHMEM_CHECK_PNG], [
    PKG_CHECK_MODULES([PNG], [libpng], [have_png=yes], [have_png=no])
    AM_CONDITIONAL([HAVE_PNG], [test $have_png = yes])
])

AC_DEFUN([MAPSHMEM_PRINT_SUMMARY], [
    AS_ECHO([""])
    AS_ECHO(["$PACKAGE_STRING is configured:"])
    AS_ECHO(["  part       found                      what will work"])
    printf "  %-10s %-26s %s\n" \
        "UCX" "$summary_ucx" "PEs on several nodes" \
        "PMIx" "$summary_pmix" "start by mpirun, prterun, srun --mpi=pmix" \
        "hwloc" "$summary_hwloc" "PEs take the nearest GPU" \
        "CUDA" "$summary_cuda" "shmmap of CUDA memory, when the machine has a driver" \
        "nvcc" "${NVCC:-no}" "CUDA kernels" \
        "OpenCL" "$have_opencl" "shmmap of OpenCL buffers" \
        "MPI" "${summary_mpi:-no}" "start-up by MPI, where the launcher has no PMIx" \
        "Fortran" "${FORTRAN:-no}" "use mapshmem; oshfort" \
        "libdw" "$have_libdw" "oshtypes: descriptors of types for deep copy" \
        "libpng" "$have_png" "stencil2d: pictures of the field" \
        "launcher" "$summary_launcher" "oshrun -n N (found at run time too)"
    AS_ECHO(["  prefix     $prefix"])
    AS_ECHO([""])
])
