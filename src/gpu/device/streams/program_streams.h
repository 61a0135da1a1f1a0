/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations in streams of the program.
 */
#ifndef SHMEMI_PROGRAM_STREAMS_H
#define SHMEMI_PROGRAM_STREAMS_H

#include "gpu/device/gpu_context.h"
#include "gpu/meeting_call.h"

extern const struct shmemi_streams shmemi_gpu_streams;

/* gpu/device/streams/stream_contexts.c: open, make_current, here, prepare and drain of the tables */
int shmemi_gpu_stream_open(struct shmemi_stream *stream, char *reason, size_t reason_size);
void shmemi_gpu_make_current(const struct shmemi_place *place);
int shmemi_gpu_here(struct shmemi_place *place_p, int device);
int shmemi_gpu_prepare_place(const struct shmemi_place *place);
void shmemi_gpu_streams_drain(void);
/* Make what streams of the program need in a context, which is current, unless it has been made. */
void shmemi_gpu_stream_prepare(struct shmemi_gpu_context *context);

/* gpu/device/streams/gpu_stream_words.c: functions of the table of commands */
int shmemi_gpu_stream_copy(const struct shmemi_stream *stream, const struct shmemi_place *dest,
                           const struct shmemi_place *source, size_t nbytes);
int shmemi_gpu_stream_copy_shape(const struct shmemi_stream *stream, const struct shmemi_place *dest,
                                 const struct shmemi_place *source, const struct shmemi_shape *shape);
int shmemi_gpu_stream_store(const struct shmemi_stream *stream, const struct shmemi_place *dest, const void *value,
                            size_t nbytes);
int shmemi_gpu_stream_update(const struct shmemi_stream *stream, const struct shmemi_stream_update *update);
int shmemi_gpu_stream_wait_words(const struct shmemi_stream *stream, const struct shmemi_stream_wait *wait);

bool shmemi_gpu_stream_is_recording(const struct shmemi_stream *stream);
/* The address at which the current context reaches host memory; false when the memory is not page-locked. */
bool shmemi_gpu_device_address(uintptr_t address, uintptr_t *address_p);
/* The address at which the stream's GPU reaches a word; false when it does not reach it, or not as is needed: to modify a
 * word over PCIe is not atomic with what CPUs do. Words in other contexts are left to a thread. */
bool shmemi_gpu_stream_reach(const struct shmemi_stream *stream, const struct shmemi_place *place, bool modifies,
                             uintptr_t *address_p);
/* Let the stream take these steps, one after the other; false, with nothing enqueued, if the driver refuses. */
bool shmemi_gpu_take_words(void *stream, const struct shmemi_gpu_word *words, unsigned n);
/* Should another thread wait instead of a kernel, while the driver's operation holds up the stream? A graph cannot have
 * that. */
bool shmemi_gpu_leaves_wait(const struct shmemi_stream *stream);

int shmemi_gpu_stream_take_steps(const struct shmemi_stream *stream, const struct shmemi_word *words, unsigned n);

/* gpu/device/streams/stream_holds.c. If reserve fails, begin reports it. */
void shmemi_stream_holds_reserve(void);
void shmemi_stream_holds_close(void);
int shmemi_stream_hold_begin(const struct shmemi_stream *stream, void **hold_p);
int shmemi_stream_hold_begin_with_copy(const struct shmemi_stream *stream, void *dest,
                                       const struct shmemi_place *source, size_t nbytes, void **hold_p);
int shmemi_stream_hold_state(void *hold);
void shmemi_stream_hold_end(void *hold, int status);

/* Forget the streams of the program. Nothing may be under way, and host memory is not page-locked any more. */
void shmemi_gpu_streams_close(void);

/* gpu/device/streams/ready.c: use once what copies need, before kernels wait for them, in all contexts. No kernel waits
 * yet. */
int shmemi_gpu_make_ready(void);
void shmemi_gpu_trial_close(struct shmemi_gpu_trial *trial);

/* gpu/device/streams/meet.c: calls of the table of commands */
int shmemi_gpu_stream_meet(const struct shmemi_stream *stream, const struct shmemi_meeting *meeting, void **extras_p);
void shmemi_gpu_end_meetings(void **extras_p);
void shmemi_gpu_complaint_reserve(void);
void shmemi_gpu_complaint_close(void);
/* Report once why a kernel has ended with an error, if it has said so. */
void shmemi_gpu_complaint_report(void);
bool shmemi_gpu_may_meet(const struct shmemi_place *place);
int shmemi_gpu_allocate(const struct shmemi_place *place, size_t nbytes, void **object_p);
void shmemi_gpu_free(const struct shmemi_place *place, void *object);
/* For a kernel that handles so many bytes between two meetings. */
unsigned shmemi_gpu_blocks_for(size_t nbytes);

#endif
