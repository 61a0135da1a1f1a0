/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations in streams of the program. Private to the files of the CUDA kind of memory.
 */
#ifndef SHMEMI_CUDA_STREAM_H
#define SHMEMI_CUDA_STREAM_H

#include "gpu/cuda/context.h"

extern const struct shmemi_streams shmemi_cuda_streams;

/* take_steps of the table. */
int shmemi_cuda_stream_take_steps(const struct shmemi_stream *stream, const struct shmemi_word *words, unsigned n);

/* gpu/cuda/turn.c. If reserve fails, turn_begin reports it. */
void shmemi_cuda_turns_reserve(void);
void shmemi_cuda_turns_close(void);
int shmemi_cuda_turn_begin(const struct shmemi_stream *stream, void **turn_p);
int shmemi_cuda_turn_state(void *turn);
void shmemi_cuda_turn_end(void *turn, int status);

/* Nothing may be under way, and host memory is not page-locked any more. */
void shmemi_cuda_streams_close(void);

#endif
