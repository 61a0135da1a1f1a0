/* SPDX-License-Identifier: BSD-3-Clause
 *
 * shmemx_get_uniqueid and shmemx_init_attr: check what the program gives, then start as always.
 */
#include "bootstrap/rendezvous/unique_id.h"
#include "shmem/internal.h"
#include "shmem/shmemx.h"

#include <errno.h>
#include <string.h>

_Static_assert(sizeof(shmemx_uniqueid_t) == SHMEMI_UNIQUE_ID_BYTES, "as src/bootstrap makes it");

SHMEMI_EXPORT int shmemx_get_uniqueid(shmemx_uniqueid_t *id)
{
    if (id)
        return shmemi_unique_id_make(id->bytes);
    shmemi_error("shmemx_get_uniqueid: id is NULL");
    return -EINVAL;
}

/* A later release may have more members, which this one can do without if they are 0. */
static bool has_known_size(const shmemx_init_attr_t *attr)
{
    const unsigned char *bytes = (const unsigned char *)attr;
    enum { SIZE_MOST = 4096 };
    if (attr->size < sizeof *attr || attr->size > SIZE_MOST)
        return false;
    for (size_t i = sizeof *attr; i < attr->size; i++)
        if (bytes[i])
            return false;
    return true;
}

/* What is wrong with a start by a unique id, or NULL. */
static const char *fault_of_id(const shmemx_init_attr_t *attr)
{
    if (attr->n_pes < 1 || attr->pe < 0 || attr->pe >= attr->n_pes)
        return "pe must be from 0 to n_pes - 1";
    if (shmemi_is_initialized() && (attr->pe != shmemi_job.pe || attr->n_pes != shmemi_job.n_pes))
        return "the library is initialised already, with other numbers";
    return shmemi_unique_id_fault(attr->uniqueid->bytes);
}

static const char *fault_of(const shmemx_init_attr_t *attr)
{
    if (!has_known_size(attr))
        return "its size is not that of shmemx_init_attr_t: begin with SHMEMX_INIT_ATTR_INITIALIZER";
    if (attr->thread_level < SHMEM_THREAD_SINGLE || attr->thread_level > SHMEM_THREAD_MULTIPLE)
        return "thread_level is none (SHMEM_THREAD_*)";
    if (attr->uniqueid)
        return fault_of_id(attr);
    return attr->pe || attr->n_pes ? "pe and n_pes need a unique id" : NULL;
}

SHMEMI_EXPORT int shmemx_init_attr(const shmemx_init_attr_t *attr, int *provided)
{
    const char *fault = attr ? fault_of(attr) : "it is NULL";
    if (fault) {
        shmemi_error("shmemx_init_attr: attr: %s", fault);
        return -EINVAL;
    }
    if (attr->uniqueid && !shmemi_is_initialized())
        shmemi_unique_id_use(attr->uniqueid->bytes, attr->pe, attr->n_pes);
    if (shmemi_initialize(attr->thread_level))
        shmemi_give_up();
    if (provided)
        *provided = shmemi_thread_level();
    return 0;
}
