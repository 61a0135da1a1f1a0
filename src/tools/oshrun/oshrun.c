/* SPDX-License-Identifier: BSD-3-Clause
 *
 * oshrun: start the PEs of an OpenSHMEM program through a launcher that speaks PMIx, or through MPICH's.
 *
 * The launcher does the work; this program finds it, writes its command line, and reports in one line how a job failed.
 */
#define _GNU_SOURCE
#include "tools/oshrun/oshrun.h"

#include "tools/complain.h"

#include <signal.h>
#include <stdlib.h>

const char complain_name[] = "oshrun";

/* MPICH's launcher waits for ever for a host that it cannot reach, and says nothing. */
static void warn_of_unknown_host(const struct oshrun_job *job)
{
    const char *unknown = job->kind == OSHRUN_HYDRA ? host_list_unknown(&job->hosts) : NULL;
    if (unknown)
        complain("host %s; %s may wait for it for ever", unknown, oshrun_launcher_name(job));
}

int main(int argc, char *argv[])
{
    static struct oshrun_job job;
    signal(SIGCHLD, SIG_DFL); /* who ignores it cannot wait for children */
    oshrun_read_command_line(&job, argc, argv);
    oshrun_find_program(&job);
    oshrun_find_launcher(&job);
    oshrun_forward_environment(&job);
    oshrun_build_command(&job);
    if (job.dry_run) {
        oshrun_print_command(stdout, &job);
        return 0;
    }
    oshrun_refuse_nested(&job);
    warn_of_unknown_host(&job);
    return oshrun_supervise(&job);
}
