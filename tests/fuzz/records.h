/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The records of a batch of puts (SHMEMI_REQUEST_SCATTER), as fuzz_requests reads and makes them.
 */
#ifndef FUZZ_RECORDS_H
#define FUZZ_RECORDS_H

#include "fuzz.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct record {
    uint64_t offset;
    uint32_t region;
    uint16_t nbytes, more_rows;
};

/* The next record of a batch: if it has more rows than one, their distance follows it; then the bytes, padded to 8.
 * False at the end, and where something is wrong. */
static inline bool record_parse(const char *payload, size_t size, size_t *at_p, struct record *record,
                                uint64_t *pitch_p)
{
    size_t at = *at_p + sizeof *record;
    if (size - *at_p < sizeof *record)
        return false;
    memcpy(record, payload + *at_p, sizeof *record);
    *pitch_p = record->nbytes;
    if (record->more_rows && size - at < sizeof *pitch_p)
        return false;
    if (record->more_rows) {
        memcpy(pitch_p, payload + at, sizeof *pitch_p);
        at += sizeof *pitch_p;
    }
    size_t padded = ((record->more_rows + (size_t)1) * record->nbytes + 7) / 8 * 8;
    if (padded > size - at || *pitch_p < record->nbytes)
        return false;
    *at_p = at + padded;
    return true;
}

/* Make the record at this place one of several rows, right most of the time. Returns its length with their bytes. */
static inline size_t record_make_rows(struct fuzz_input *input, char *payload, size_t size, uint32_t nbytes)
{
    uint16_t most = (uint16_t)((size - 32) / nbytes), more_rows = (uint16_t)fuzz_below(input, most < 8 ? most : 8);
    uint64_t pitch = nbytes + fuzz_below(input, 24);
    if (fuzz_byte(input) >= 250)
        pitch = fuzz_number(input);
    memcpy(payload + 14, &more_rows, 2);
    if (more_rows)
        memcpy(payload + 16, &pitch, 8);
    return (more_rows ? 24 : 16) + ((more_rows + (size_t)1) * nbytes + 7) / 8 * 8;
}

#endif
