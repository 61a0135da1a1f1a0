/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which times are told, and how they are compared: figures that were seen on a laptop, and the limits.
 */
#include "support/noise.h"

#include <string.h>

#include "unit.h"

static int says(const struct noise *noise, double seconds, double naive_seconds, const char *expected)
{
    char text[NOISE_TEXT];

    noise_compare(noise, seconds, "naive", naive_seconds, text);
    return !strcmp(text, expected);
}

static int writes(enum told told, double seconds, const char *expected)
{
    char text[NOISE_TEXT];

    noise_seconds(told, seconds, text);
    return !strcmp(text, expected);
}

int main(void)
{
    /* The kernel alone took longer than the run of which it is a part. */
    CHECK(noise_part(&noise_of_cpu, 1.682, 9.455746) == NOT_MEASURED);
    CHECK(noise_part(&noise_of_cpu, 0.845, 1.285964) == NOT_MEASURED);
    CHECK(noise_part(&noise_of_gpu, 0.1, 0.104) == NOT_MEASURED);
    /* It took longer by no more than two runs differ, or the run was short. */
    CHECK(noise_part(&noise_of_cpu, 1.0, 1.082) == TOO_SMALL);
    CHECK(noise_part(&noise_of_gpu, 0.1, 0.101) == TOO_SMALL);
    CHECK(noise_part(&noise_of_cpu, 0.079709, 0.076616) == TOO_SMALL);
    CHECK(noise_part(&noise_of_cpu, 0.076451, 9) == TOO_SMALL);
    CHECK(noise_part(&noise_of_gpu, 0.009, 0.001) == TOO_SMALL);
    CHECK(noise_part(&noise_of_gpu, 0.044, 0.0425) == TOLD);
    CHECK(noise_part(&noise_of_cpu, 1.682, 1.5) == TOLD);

    CHECK(writes(TOLD, 0.0766161, "0.076616"));
    CHECK(writes(TOO_SMALL, 0.0766161, "too small to tell"));
    CHECK(writes(NOT_MEASURED, 0, "not measured"));

    CHECK(says(&noise_of_cpu, 1.283, 1, "is 28 % slower than naive"));
    CHECK(says(&noise_of_cpu, 0.5, 2, "takes 75 % less time than naive"));
    CHECK(says(&noise_of_cpu, 1.2, 1, "beside naive: too small to tell"));
    CHECK(says(&noise_of_cpu, 0.9, 1, "beside naive: too small to tell"));
    CHECK(says(&noise_of_cpu, 0.003767536, 0.003203375, "beside naive: too small to tell"));
    CHECK(says(&noise_of_cpu, 0.01, 1, "beside naive: too small to tell"));
    CHECK(says(&noise_of_gpu, 0.0444, 0.0855, "takes 48 % less time than naive"));
    CHECK(says(&noise_of_gpu, 0.101, 0.1, "beside naive: too small to tell"));
    CHECK(noise_on(&device_cuda_ops) == &noise_of_gpu && noise_on(&device_opencl_ops) == &noise_of_cpu);
    return 0;
}
