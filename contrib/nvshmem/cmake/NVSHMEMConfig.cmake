# SPDX-License-Identifier: BSD-3-Clause
#
# The CMake package of the NVSHMEM interface: find_package(NVSHMEM), with NVSHMEM_ROOT or a hint at the folder above lib.
#
#   nvshmem::nvshmem, nvshmem::nvshmem_host, nvshmem::nvshmem_device   also spelled NVSHMEM::...
#   NVSHMEM_INCLUDE_DIR, NVSHMEM_LIB_DIR
#
# All of them are the library for the host, since device calls are in the headers. Paths are relative to this file.

get_filename_component(nvshmem_here "${CMAKE_CURRENT_LIST_DIR}" REALPATH)
get_filename_component(nvshmem_home "${nvshmem_here}/../../.." ABSOLUTE)
set(NVSHMEM_VERSION 3.4.5)
set(NVSHMEM_INCLUDE_DIR "${nvshmem_home}/include")
set(NVSHMEM_LIB_DIR "${nvshmem_home}/lib")

if(NOT TARGET nvshmem::nvshmem_host)
    add_library(nvshmem::nvshmem_host SHARED IMPORTED)
    set_target_properties(nvshmem::nvshmem_host PROPERTIES
        IMPORTED_LOCATION "${NVSHMEM_LIB_DIR}/libmapshmem_nvshmem.so"
        INTERFACE_INCLUDE_DIRECTORIES "${NVSHMEM_INCLUDE_DIR}")
    add_library(NVSHMEM::nvshmem_host INTERFACE IMPORTED)
    set_target_properties(NVSHMEM::nvshmem_host PROPERTIES INTERFACE_LINK_LIBRARIES nvshmem::nvshmem_host)
    foreach(nvshmem_part nvshmem nvshmem_device nvshmem_bootstrap_uid)
        add_library(nvshmem::${nvshmem_part} INTERFACE IMPORTED)
        set_target_properties(nvshmem::${nvshmem_part} PROPERTIES INTERFACE_LINK_LIBRARIES nvshmem::nvshmem_host)
        add_library(NVSHMEM::${nvshmem_part} INTERFACE IMPORTED)
        set_target_properties(NVSHMEM::${nvshmem_part} PROPERTIES INTERFACE_LINK_LIBRARIES nvshmem::nvshmem_host)
    endforeach()
endif()
# Programs use the targets of CUDA that NVIDIA's package looks for.
find_package(CUDAToolkit QUIET)
