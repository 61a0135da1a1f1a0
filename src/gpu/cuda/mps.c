/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Several processes on one GPU. Without further ado they use it in turns of about two milliseconds: a kernel that waits
 * for another process keeps the GPU until its turn ends. (A stream that waits by an operation of the driver does not.) The
 * copy engines serve all processes at once. With NVIDIA's Multi-Process Service (MPS) all run beside each other.
 */
#include "gpu/cuda/cuda_calls.h"

#include "base/log.h"
#include "base/tuning.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* CU_DEVICE_ATTRIBUTE_MPS_ENABLED, which older versions of cuda.h do not have. */
static const CUdevice_attribute attribute_mps_enabled = (CUdevice_attribute)133;

/* Is there a control pipe of MPS, which programs would connect to? */
static bool has_control_pipe(void)
{
    const char *folder = getenv("CUDA_MPS_PIPE_DIRECTORY");
    char path[512];
    struct stat status;
    snprintf(path, sizeof path, "%s/control", folder ? folder : "/tmp/nvidia-mps");
    return !stat(path, &status) && (S_ISSOCK(status.st_mode) || S_ISFIFO(status.st_mode));
}

/* Before CUDA is initialised: those that the program may see, or all of the machine. 0: unknown. */
static unsigned count_gpus(void)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    unsigned n = visible && visible[0];
    for (; visible && *visible; visible++)
        n += *visible == ',';
    DIR *folder = n ? NULL : opendir("/proc/driver/nvidia/gpus");
    for (const struct dirent *entry; folder && (entry = readdir(folder));)
        n += entry->d_name[0] != '.';
    if (folder)
        closedir(folder);
    return n;
}

/* A GPU has a hundred and some for all its processes, those of other jobs as well; with none left the driver refuses
 * another one. */
static unsigned queues_of_process(void)
{
    const unsigned pes = shmemi_memory_machine_pes > 0 ? (unsigned)shmemi_memory_machine_pes : 1;
    const unsigned gpus = count_gpus(), sharers = gpus ? (pes + gpus - 1) / gpus : pes;
    const unsigned queues = SHMEMI_MPS_QUEUES / sharers;
    return sharers < 2 || queues < SHMEMI_MPS_QUEUES_LEAST ? SHMEMI_MPS_QUEUES_LEAST
           : queues < SHMEMI_MPS_QUEUES_MOST               ? queues
                                                           : SHMEMI_MPS_QUEUES_MOST;
}

/* Under MPS a process has two hardware queues unless it asks for more, otherwise eight. Streams that share one wait for
 * each other: if one of them waits for a word that another would set, neither goes on. */
void shmemi_cuda_mps_prepare(void)
{
    char text[16];
    if (!has_control_pipe() || getenv("CUDA_DEVICE_MAX_CONNECTIONS"))
        return;
    snprintf(text, sizeof text, "%u", queues_of_process());
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", text, 0);
    shmemi_debug("MPS: CUDA_DEVICE_MAX_CONNECTIONS is set to %s", text);
}

/* device: -1: there is none yet. */
bool shmemi_cuda_uses_mps(int device)
{
    int enabled = 0;
    if (device >= 0 && shmemi_cuda.cuDeviceGetAttribute(&enabled, attribute_mps_enabled, device) == CUDA_SUCCESS)
        return enabled;
    return has_control_pipe();
}
