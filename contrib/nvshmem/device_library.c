/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All that is in libnvshmem_device.a, for build files that link one: device calls are inline functions of the headers.
 */
typedef int nvs_device_library_is_empty;
