/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether the library is built with a sanitizer that watches the memory; and tells ThreadSanitizer which accesses not to
 * check. It sees only one process: when the service thread accesses the program's memory for another PE, the program has
 * ordered that access by way of the other process.
 */
#ifndef SHMEMI_SANITIZER_H
#define SHMEMI_SANITIZER_H

#ifndef __has_feature
#define __has_feature(_name) 0
#endif
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ || __has_feature(address_sanitizer) ||                 \
    __has_feature(thread_sanitizer)
#define SHMEMI_IS_SANITIZED 1
#else
#define SHMEMI_IS_SANITIZED 0
#endif

#ifdef __SANITIZE_THREAD__

void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);

static inline void shmemi_access_for_peer_begin(void)
{
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
}

static inline void shmemi_access_for_peer_end(void)
{
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}

#else

static inline void shmemi_access_for_peer_begin(void)
{
}

static inline void shmemi_access_for_peer_end(void)
{
}

#endif

#endif
