/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plain calls of a device, and page-locking, in short: struct plain_ops and the optional tables beside it.
 */
#ifndef SUPPORT_PLAIN_H
#define SUPPORT_PLAIN_H

#include "device.h"

static inline void plain_write(struct device *dev, struct buffer *buf, size_t offset, const void *source, size_t bytes)
{
    dev->ops->plain.write(dev, buf, offset, source, bytes);
}

static inline void plain_read(struct device *dev, void *dest, const struct buffer *buf, size_t offset, size_t bytes)
{
    dev->ops->plain.read(dev, dest, buf, offset, bytes);
}

static inline bool plain_copy(struct device *dev, const struct device_copy *copy, size_t bytes, long count)
{
    return dev->ops->plain.copy(dev, copy, bytes, count);
}

static inline void plain_copy_2d(struct device *dev, const struct device_block *block)
{
    dev->ops->plain.copy_2d(dev, block);
}

static inline void *plain_stream(struct device *dev)
{
    return dev->ops->plain.stream(dev);
}

static inline void plain_synchronize(struct device *dev)
{
    dev->ops->plain.synchronize(dev);
}

/* Only where can_enqueue says so. */
static inline void plain_enqueue(struct device *dev, const struct device_copy *copy, size_t bytes)
{
    dev->ops->enqueues.enqueue(dev, copy, bytes);
}

static inline void plain_copy_words(struct device *dev, const struct device_words *words)
{
    dev->ops->enqueues.copy_words(dev, words);
}

static inline bool can_enqueue(const struct device *dev)
{
    return dev->ops->enqueues.enqueue != NULL;
}

static inline bool can_lock(const struct device *dev)
{
    return dev->ops->locks.lock != NULL;
}

#endif
