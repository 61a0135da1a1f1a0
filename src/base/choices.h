/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The words that a setting may have, and an enum of each list: CHOICE(value, word), in the order of the values.
 */
#ifndef SHMEMI_CHOICES_H
#define SHMEMI_CHOICES_H

#define SHMEMI_LOG_CHOICES(CHOICE)                                                                                     \
    CHOICE(SHMEMI_LOG_ERROR, "error")                                                                                  \
    CHOICE(SHMEMI_LOG_WARN, "warn")                                                                                    \
    CHOICE(SHMEMI_LOG_INFO, "info")                                                                                    \
    CHOICE(SHMEMI_LOG_DEBUG, "debug")

#define SHMEMI_ROUTE_CHOICES(CHOICE)                                                                                   \
    CHOICE(SHMEMI_ROUTE_AUTO, "auto")                                                                                  \
    CHOICE(SHMEMI_ROUTE_IPC, "ipc")                                                                                    \
    CHOICE(SHMEMI_ROUTE_SHADOW, "shadow")                                                                              \
    CHOICE(SHMEMI_ROUTE_GDR, "gdr")                                                                                    \
    CHOICE(SHMEMI_ROUTE_STAGED, "staged")                                                                              \
    CHOICE(SHMEMI_ROUTE_NAIVE, "naive")

#define SHMEMI_BOOTSTRAP_CHOICES(CHOICE)                                                                               \
    CHOICE(SHMEMI_BOOTSTRAP_AUTO, "auto")                                                                              \
    CHOICE(SHMEMI_BOOTSTRAP_PMIX, "pmix")                                                                              \
    CHOICE(SHMEMI_BOOTSTRAP_MPI, "mpi")                                                                                \
    CHOICE(SHMEMI_BOOTSTRAP_PMI, "pmi")                                                                                \
    CHOICE(SHMEMI_BOOTSTRAP_TORCHRUN, "torchrun")                                                                      \
    CHOICE(SHMEMI_BOOTSTRAP_SINGLE, "single")                                                                          \
    CHOICE(SHMEMI_BOOTSTRAP_MPI_FILE, "mpi:FILE")

#define SHMEMI_YIELD_CHOICES(CHOICE)                                                                                   \
    CHOICE(SHMEMI_YIELD_AUTO, "auto")                                                                                  \
    CHOICE(SHMEMI_YIELD_NEVER, "0")                                                                                    \
    CHOICE(SHMEMI_YIELD_ALWAYS, "1")

#define SHMEMI_THREAD_CORES_CHOICES(CHOICE)                                                                            \
    CHOICE(SHMEMI_THREAD_CORES_AUTO, "auto")                                                                           \
    CHOICE(SHMEMI_THREAD_CORES_BOUND, "bound")

#define SHMEMI_STRICT_CHOICES(CHOICE)                                                                                  \
    CHOICE(SHMEMI_STRICT_NEVER, "0")                                                                                   \
    CHOICE(SHMEMI_STRICT_ALWAYS, "1")                                                                                  \
    CHOICE(SHMEMI_STRICT_TYPOS, "typos")

#define SHMEMI_STREAM_PUT_CHOICES(CHOICE)                                                                              \
    CHOICE(SHMEMI_STREAM_PUT_AUTO, "auto")                                                                             \
    CHOICE(SHMEMI_STREAM_PUT_ENGINE, "engine")                                                                         \
    CHOICE(SHMEMI_STREAM_PUT_KERNEL, "kernel")

#define SHMEMI_OPENCL_COPY_CHOICES(CHOICE)                                                                             \
    CHOICE(SHMEMI_OPENCL_COPY_AUTO, "auto")                                                                            \
    CHOICE(SHMEMI_OPENCL_COPY_QUEUE, "queue")

#define SHMEMI_CHOICE_VALUE(_value, _word) _value,

enum shmemi_log_level { SHMEMI_LOG_CHOICES(SHMEMI_CHOICE_VALUE) };
enum shmemi_gpu_route { SHMEMI_ROUTE_CHOICES(SHMEMI_CHOICE_VALUE) };
enum shmemi_bootstrap_choice { SHMEMI_BOOTSTRAP_CHOICES(SHMEMI_CHOICE_VALUE) };
enum shmemi_yield_choice { SHMEMI_YIELD_CHOICES(SHMEMI_CHOICE_VALUE) };
enum shmemi_thread_cores_choice { SHMEMI_THREAD_CORES_CHOICES(SHMEMI_CHOICE_VALUE) };
enum shmemi_strict_choice { SHMEMI_STRICT_CHOICES(SHMEMI_CHOICE_VALUE) };
enum shmemi_stream_put_choice { SHMEMI_STREAM_PUT_CHOICES(SHMEMI_CHOICE_VALUE) };
enum shmemi_opencl_copy_choice { SHMEMI_OPENCL_COPY_CHOICES(SHMEMI_CHOICE_VALUE) };

#endif
