# SPDX-License-Identifier: BSD-3-Clause
#
# How what is installed finds its own parts, wherever the tree lies: run-time paths of programs, mapshmem.pc, the CMake
# package, module files. All are relative to the file that says them. In a system folder, which the loader searches
# anyway, programs get no run-time path, and the paths are those of configure, so that tools know them as the system's.

# MAPSHMEM_RELATIVE(VARIABLE, FROM, TO): VARIABLE becomes the path from the folder FROM to the folder TO, as ../lib
AC_DEFUN([MAPSHMEM_RELATIVE], [
    mapshmem_common="$2" mapshmem_up=
    while :; do
        AS_CASE(["$3/"], ["$mapshmem_common/"*], [break])
        mapshmem_common=`AS_DIRNAME(["$mapshmem_common"])`
        mapshmem_up="../$mapshmem_up"
        AS_IF([test "x$mapshmem_common" = x/], [mapshmem_common=; break])
    done
    mapshmem_rest="$3"
    AS_VAR_SET([$1], ["`AS_ECHO(["$mapshmem_up${mapshmem_rest@%:@"$mapshmem_common"}"]) | sed 's,//*,/,g; s,^/,,; s,/$,,'`"])
])

# Sets the folders of the installation without variables in them.
AC_DEFUN([MAPSHMEM_EXPAND_FOLDERS], [
    mapshmem_prefix=$prefix
    AS_IF([test "x$prefix" = xNONE], [mapshmem_prefix=$ac_default_prefix])
    mapshmem_save_prefix=$prefix mapshmem_save_exec_prefix=$exec_prefix
    prefix=$mapshmem_prefix
    AS_IF([test "x$exec_prefix" = xNONE], [exec_prefix=$prefix])
    for mapshmem_folder in bindir libdir includedir datadir; do
        eval "mapshmem_path=\$$mapshmem_folder"
        while AS_ECHO(["$mapshmem_path"]) | grep '[[$]]' >/dev/null; do eval "mapshmem_path=\"$mapshmem_path\""; done
        eval "mapshmem_$mapshmem_folder=\$mapshmem_path"
    done
    prefix=$mapshmem_save_prefix exec_prefix=$mapshmem_save_exec_prefix
])

AC_DEFUN([MAPSHMEM_INSTALL_PATHS], [
    MAPSHMEM_EXPAND_FOLDERS
    # Not /usr/local/lib: whether the loader knows what lies there depends on a run of ldconfig.
    SYSTEM_LIBDIRS=" `AS_ECHO(["$sys_lib_dlsearch_path_spec"]) | tr ' ' '\n' | grep -E '^(/usr)?/lib' | tr '\n' ' '`"
    is_system_libdir=no
    AS_CASE([$SYSTEM_LIBDIRS], [*" $mapshmem_libdir "*], [is_system_libdir=yes])
    MAPSHMEM_RELATIVE([mapshmem_bin_to_lib], [$mapshmem_bindir], [$mapshmem_libdir])
    MAPSHMEM_RELATIVE([mapshmem_pc_to_prefix], [$mapshmem_libdir/pkgconfig], [$mapshmem_prefix])
    MAPSHMEM_RELATIVE([CMAKE_TO_PREFIX], [$mapshmem_libdir/cmake/MapSHMEM], [$mapshmem_prefix])
    MAPSHMEM_RELATIVE([PREFIX_TO_BIN], [$mapshmem_prefix], [$mapshmem_bindir])
    MAPSHMEM_RELATIVE([PREFIX_TO_LIB], [$mapshmem_prefix], [$mapshmem_libdir])
    MAPSHMEM_RELATIVE([PREFIX_TO_INCLUDE], [$mapshmem_prefix], [$mapshmem_includedir])
    MAPSHMEM_RELATIVE([MODULE_TO_PREFIX], [$mapshmem_datadir/mapshmem/modulefiles/mapshmem], [$mapshmem_prefix])
    PROGRAM_RPATH="-Wl,-rpath,'\$\$ORIGIN/$mapshmem_bin_to_lib'"
    LIBRARY_RPATH="-Wl,-rpath,'\$\$ORIGIN'"
    NVSHMEM_RPATH="-Wl,-rpath,'\$\$ORIGIN/../../..'"
    PC_PREFIX="\${pcfiledir}/$mapshmem_pc_to_prefix"
    PC_RPATH=' -Wl,-rpath,${libdir}'
    AS_IF([test $is_system_libdir = yes], [PROGRAM_RPATH= LIBRARY_RPATH= NVSHMEM_RPATH= PC_PREFIX=$mapshmem_prefix PC_RPATH=])
    AM_CONDITIONAL([IN_SYSTEM_FOLDERS], [test $is_system_libdir = yes])
    AC_SUBST([SYSTEM_LIBDIRS])
    AC_SUBST([MODULE_TO_PREFIX])
    AC_SUBST([PROGRAM_RPATH])
    AC_SUBST([LIBRARY_RPATH])
    AC_SUBST([NVSHMEM_RPATH])
    AC_SUBST([PC_PREFIX])
    AC_SUBST([PC_RPATH])
    AC_SUBST([CMAKE_TO_PREFIX])
    AC_SUBST([PREFIX_TO_BIN])
    AC_SUBST([PREFIX_TO_LIB])
    AC_SUBST([PREFIX_TO_INCLUDE])
    PRIVATE_LIBS=`AS_ECHO(["$UCX_LIBS $PMIX_LIBS $HWLOC_LIBS $LIBS -pthread"]) | tr -s ' '`
    CMAKE_PRIVATE_LIBS=`AS_ECHO(["$PRIVATE_LIBS"]) | tr ' ' ';'`
    AC_SUBST([PRIVATE_LIBS])
    AC_SUBST([CMAKE_PRIVATE_LIBS])
])

# The archives hold the objects of the shared libraries, so they cost no second compilation. With --enable-static,
# libtool makes archives of its own, and with --disable-shared it makes nothing else: no modules for start-up by MPI.
AC_DEFUN([MAPSHMEM_CHECK_ARCHIVES], [
    AM_CONDITIONAL([BUILD_SHARED], [test "x$enable_shared" = xyes])
    AM_CONDITIONAL([OWN_ARCHIVES], [test "x$enable_shared" = xyes && test "x$enable_static" != xyes])
])

AC_DEFUN([MAPSHMEM_CHECK_VERSION_SCRIPT], [
    AC_CACHE_CHECK([whether the linker takes version scripts], [mapshmem_cv_version_script], [
        AS_ECHO(["PROBE_1 { global: probe*; };"]) >conftest.map
        mapshmem_save_LDFLAGS=$LDFLAGS
        LDFLAGS="$LDFLAGS -shared -fPIC -Wl,--version-script=conftest.map"
        AC_LINK_IFELSE([AC_LANG_SOURCE([int probe_one(void); int probe_one(void) { return 1; }])],
                       [mapshmem_cv_version_script=yes], [mapshmem_cv_version_script=no])
        LDFLAGS=$mapshmem_save_LDFLAGS
        rm -f conftest.map
    ])
    AM_CONDITIONAL([HAVE_VERSION_SCRIPT], [test $mapshmem_cv_version_script = yes])
])
