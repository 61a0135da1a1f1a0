/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Host files and host lists of oshrun. Any bytes give a list of which every name and number is what may stand in a
 * launcher's command, or one fault in a line that exists.
 */
#include "fuzz.h"

#include "tools/complain.h"
#include "tools/oshrun/host_list.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>

const char complain_name[] = "fuzz";

static void check_name(const char *name)
{
    ALWAYS(name[0] && name[0] != '-' && strlen(name) < 256);
    for (; *name; name++)
        ALWAYS(isalnum((unsigned char)*name) || strchr("._-[]@+%", *name));
}

static void check_list(const struct host_list *list)
{
    long slots = 0;
    int n = 0;
    for (const struct host_entry *host = list->first; host; host = host->hh.next, n++) {
        check_name(host->name);
        ALWAYS(host->slots > 0 && host->slots <= OSHRUN_MOST_PES);
        slots += host->slots;
    }
    ALWAYS(slots == list->slots && n == list->n && slots <= OSHRUN_MOST_PES);
}

/* What is written of a list is read as the same list. */
static void check_text(const struct host_list *list)
{
    struct host_list again = {0};
    struct host_fault fault;
    char *text = host_list_text(list, true);
    ALWAYS(!host_list_add_words(&again, text, &fault) && again.n == list->n && again.slots == list->slots);
    char *second = host_list_text(&again, true);
    ALWAYS(!strcmp(text, second));
    free(text);
    free(second);
    host_list_free(&again);
}

static void check_slots(struct host_list *list, int slots)
{
    int rc = host_list_set_slots(list, slots);
    ALWAYS(rc == 0 || (rc == -ERANGE && (long)slots * list->n > OSHRUN_MOST_PES));
    check_list(list);
}

static void check_fault(const struct host_fault *fault, const char *text, size_t length)
{
    size_t lines = 1;
    for (size_t i = 0; i < length; i++)
        lines += text[i] == '\n';
    ALWAYS(fault->line >= 1 && fault->line <= lines);
    ALWAYS(fault->text[0] && strlen(fault->text) < sizeof fault->text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    struct host_list list = {0}, words = {0};
    struct host_fault fault = {0};
    int slots = 1 + (int)(fuzz_word(&input) % OSHRUN_MOST_PES);
    char *text = fuzz_memory(input.size + 1);
    memcpy(text, input.data, input.size);
    text[input.size] = 0;
    int rc = host_list_add_lines(&list, text, input.size, &fault);
    ALWAYS(rc == 0 || rc == -EINVAL);
    check_list(&list);
    if (rc)
        check_fault(&fault, text, input.size);
    if (list.n) {
        check_text(&list);
        check_slots(&list, slots);
    }
    if (!host_list_add_words(&words, text, &fault))
        check_text(&words);
    check_list(&words);
    host_list_free(&words);
    host_list_free(&list);
    free(text);
    return 0;
}
