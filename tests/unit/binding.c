/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What launchers say that they have bound a PE to, and whether the PE believes that it was they: a binding that
 * somebody else has made is never left.
 */
#define _GNU_SOURCE
#include "bootstrap/binding.h"

#include "unit.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool lists(const char *text, const char *expected)
{
    cpu_set_t cpus;
    char list[128];
    return shmemi_cpus_from_list(text, &cpus) && !strcmp(shmemi_cpus_list(&cpus, list, sizeof list), expected);
}

static bool masks(const char *text, const char *expected)
{
    cpu_set_t cpus;
    char list[128];
    return shmemi_cpus_from_mask(text, strlen(text), &cpus) &&
           !strcmp(shmemi_cpus_list(&cpus, list, sizeof list), expected);
}

static void check_texts(void)
{
    cpu_set_t cpus;
    char list[16];
    CHECK(lists("0", "0") && lists("0-3,8", "0-3,8") && lists("hwloc:1,0", "0-1") && lists("5\n", "5"));
    static const char *const wrong[] = {"", "-1", "3-1", "0-", "1,", "x", "0 1", "1024", "99999999999999999999", "0x3"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK(!shmemi_cpus_from_list(wrong[i], &cpus) && !CPU_COUNT(&cpus));
    CHECK(masks("0x3", "0-1") && masks("0X00F0", "4-7") && masks("8000000000000000000", "75") && masks("a", "1,3"));
    CHECK(!shmemi_cpus_from_mask("", 0, &cpus) && !shmemi_cpus_from_mask("0x", 2, &cpus));
    CHECK(!shmemi_cpus_from_mask("0xg", 3, &cpus) && !CPU_COUNT(&cpus) && !shmemi_cpus_from_mask("0", 1, &cpus));
    CHECK(shmemi_cpus_from_list("0,2,4,6,8,10,12", &cpus));
    CHECK(!strcmp(shmemi_cpus_list(&cpus, list, sizeof list), "0,2,4,6,8,10..."));
    CPU_ZERO(&cpus);
    CHECK(!strcmp(shmemi_cpus_list(&cpus, list, sizeof list), "none"));
}

static bool reports(const char *by_bootstrap, const char *expected)
{
    cpu_set_t cpus;
    char list[128];
    shmemi_binding_reported(by_bootstrap, &cpus);
    return !strcmp(shmemi_cpus_list(&cpus, list, sizeof list), expected);
}

static void forget(void)
{
    static const char *const names[] = {"OMPI_MCA_orte_base_applied_binding",
                                        "SLURM_CPU_BIND_TYPE",
                                        "SLURM_CPU_BIND_LIST",
                                        "SLURM_LOCALID",
                                        "SLURM_CPUS_ON_NODE",
                                        "MAPSHMEM_BOUND_TO",
                                        "PMI_FD",
                                        "PMI_RANK",
                                        "PMI_SIZE"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unsetenv(names[i]);
}

static void check_reports(void)
{
    forget();
    CHECK(reports(NULL, "none") && reports("hwloc:3", "3") && reports("nonsense", "none"));
    setenv("OMPI_MCA_orte_base_applied_binding", "4-5", 1);
    CHECK(reports(NULL, "4-5") && reports("3", "3"));
    forget();
    setenv("SLURM_CPU_BIND_TYPE", "mask_cpu:", 1);
    setenv("SLURM_CPU_BIND_LIST", "0x3,0xC", 1);
    CHECK(reports(NULL, "none"));
    setenv("SLURM_LOCALID", "1", 1);
    CHECK(reports(NULL, "2-3"));
    setenv("SLURM_LOCALID", "0", 1);
    CHECK(reports(NULL, "0-1"));
    setenv("SLURM_CPU_BIND_LIST", "0x30", 1);
    setenv("SLURM_LOCALID", "7", 1); /* one mask for all tasks */
    CHECK(reports(NULL, "4-5"));
    setenv("SLURM_CPU_BIND_TYPE", "none", 1);
    CHECK(reports(NULL, "none"));
    forget();
}

/* In a child that has bound itself to one processor, and whose parent may use all. */
static int allowed_in_child(int cpu, const char *variable, const char *value)
{
    int status;
    pid_t child = fork();
    if (!child) {
        cpu_set_t own;
        struct shmemi_binding binding;
        CPU_ZERO(&own);
        CPU_SET(cpu, &own);
        setenv(variable, value, 1);
        CHECK(!sched_setaffinity(0, sizeof own, &own));
        shmemi_binding_read(&binding, NULL);
        CHECK(CPU_EQUAL(&binding.own, &own) && CPU_ISSET(cpu, &binding.allowed));
        CHECK(!sched_getaffinity(0, sizeof own, &own) && CPU_EQUAL(&binding.own, &own)); /* nothing has changed */
        _exit(CPU_COUNT(&binding.allowed));
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

int main(void)
{
    cpu_set_t all;
    char number[16];
    int cpu = 0;
    check_texts();
    check_reports();
    CHECK(!sched_getaffinity(0, sizeof all, &all));
    const int count = CPU_COUNT(&all);
    if (count < 2 || count > 100) {
        printf("there are %d processors; 2 to 100 are needed\n", count);
        return 77;
    }
    while (!CPU_ISSET(cpu, &all))
        cpu++;
    snprintf(number, sizeof number, "%d", cpu);
    CHECK(allowed_in_child(cpu, "OMPI_MCA_orte_base_applied_binding", number) == count);
    CHECK(allowed_in_child(cpu, "OMPI_MCA_orte_base_applied_binding", "900") == 1); /* somebody else has bound it */
    CHECK(allowed_in_child(cpu, "NOTHING", "") == 1);
    setenv("SLURM_CPUS_ON_NODE", "1", 1); /* the launcher may use more than the job has */
    CHECK(allowed_in_child(cpu, "OMPI_MCA_orte_base_applied_binding", number) == 1);
    snprintf(number, sizeof number, "%d", count);
    setenv("SLURM_CPUS_ON_NODE", number, 1);
    snprintf(number, sizeof number, "%d", cpu);
    CHECK(allowed_in_child(cpu, "OMPI_MCA_orte_base_applied_binding", number) == count);
    return 0;
}
