/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The network ports of a PE: its own sockets among those of /proc/self/net that listen (TCP) or take datagrams (UDP).
 *
 *     ports none|some: fails unless each PE has none, or PE 0 has some
 */
#include <shmem.h>

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_mine(unsigned long inode)
{
    char wanted[64], path[300], link[64];
    bool is = false;
    DIR *directory = opendir("/proc/self/fd");
    snprintf(wanted, sizeof wanted, "socket:[%lu]", inode);
    for (struct dirent *entry; directory && !is && (entry = readdir(directory));) {
        snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
        ssize_t length = readlink(path, link, sizeof link - 1);
        is = length == (ssize_t)strlen(wanted) && !memcmp(link, wanted, (size_t)length);
    }
    if (directory)
        closedir(directory);
    return is;
}

/* Sockets of this process in a table of /proc/self/net; of TCP only those that listen (state 0A). */
static int count_in(const char *table)
{
    char path[64], line[512];
    unsigned state;
    unsigned long inode;
    int n = 0;
    snprintf(path, sizeof path, "/proc/self/net/%s", table);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "%*s %*s %*s %x %*s %*s %*s %*s %*s %lu", &state, &inode) == 2 &&
            (table[0] == 'u' || state == 0x0A) && is_mine(inode))
            n++;
    if (file)
        fclose(file);
    return n;
}

int main(int argc, char **argv)
{
    static const char *const tables[] = {"tcp", "tcp6", "udp", "udp6"};
    static long mine, most;
    shmem_init();
    for (int i = 0; i < 4; i++)
        mine += count_in(tables[i]);
    shmem_long_max_reduce(SHMEM_TEAM_WORLD, &most, &mine, 1);
    bool is_right = argc == 2 && (strcmp(argv[1], "none") ? most > 0 : most == 0);
    if (shmem_my_pe() == 0)
        printf("%ld ports\n", most);
    shmem_finalize();
    return is_right ? 0 : 1;
}
