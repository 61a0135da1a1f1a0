# SPDX-License-Identifier: BSD-3-Clause
#
# Which versions find_package(NVSHMEM VERSION) accepts: those up to the release whose interface this is.

set(PACKAGE_VERSION 3.4.5)
if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
    set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
endif()
