/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The hosts of a job, from --hosts or a host file. Both are somebody else's text: names and numbers are checked, and
 * names hold nothing that a shell on another host, through which launchers start their daemons, would take for more.
 */
#ifndef HOST_LIST_H
#define HOST_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <uthash.h>

enum { OSHRUN_MOST_PES = 9999999 };

/* One host, which is named once; hh.next is the next one in the order of the text. */
struct host_entry {
    int slots;
    UT_hash_handle hh;
    char name[];
};

struct host_list {
    struct host_entry *first;
    int n, slots; /* of all */
};

/* What is wrong with a text, and in which line, from 1 on. */
struct host_fault {
    size_t line;
    char text[240];
};

/* Add the hosts of "A:2,B". 0, or -EINVAL with *fault. A host that is named several times gets the sum. */
int host_list_add_words(struct host_list *list, const char *text, struct host_fault *fault);

/* Add the hosts of lines such as "A", "A:2" or "A slots=2", with comments behind "#". As above. */
int host_list_add_lines(struct host_list *list, const char *text, size_t length, struct host_fault *fault);

/* Read a host file whole; ends the process with a line if that cannot be done. */
void host_list_add_file(struct host_list *list, const char *path);

/* Give every host so many slots. -ERANGE if that is too many altogether. */
int host_list_set_slots(struct host_list *list, int slots);

/* The hosts as text, with the number of PEs of each or without. The caller frees it. */
char *host_list_text(const struct host_list *list, bool with_slots);

void host_list_free(struct host_list *list);

/* The first host whose name this machine does not know, and why; NULL if there is none. */
const char *host_list_unknown(const struct host_list *list);

#endif
