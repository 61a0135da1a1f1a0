/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One wrong call, chosen by name; bad_input.test checks the message. The last PE makes it while the others wait in a
 * barrier, so a job that does not end by itself hangs. Usage: misuse CASE.
 */
#include <shmem.h>
#include <shmemx.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long word;
static long *block; /* in the heap */
static long on_stack_of_main;

static void put_to_private(void)
{
    long *private = malloc(sizeof *private);
    shmem_long_p(private, 1, 0);
}

static void wait_on_private(void)
{
    long *private = calloc(1, sizeof *private);
    shmem_long_wait_until(private, SHMEM_CMP_EQ, 1);
}

/* The library's part of the heap ends where the first block begins. */
static void put_to_library(void)
{
    shmem_long_p(block - 1, 1, 0);
}

static void get_from_stack(void)
{
    long local = 0;
    shmem_long_get(&on_stack_of_main, &local, 1, 0);
}

static void put_to_null(void)
{
    shmem_putmem(NULL, &word, 8, 0);
}

static void null_queue(void)
{
    shmemx_quiet_on_queue(NULL, 0, NULL, NULL);
}

static void stream_without_cuda(void)
{
    shmemx_barrier_all_on_stream(NULL);
}

static void pe_too_large(void)
{
    shmem_int_p((int *)&word, 1, shmem_n_pes());
}

static void pe_negative(void)
{
    shmem_long_atomic_inc(&word, -1);
}

static void put_past_the_end(void)
{
    shmemx_heap_info_t info;
    shmemx_heap_info(&info);
    shmem_putmem(block, block, info.size + 1, 0);
}

static void strides_past_the_end(void)
{
    shmem_long_iput(block, &word, 1 << 30, 1, 1 << 20, 0);
}

static void length_overflows(void)
{
    shmem_double_put((double *)block, (double *)block, SIZE_MAX / 8, 0);
}

static void length_wraps(void)
{
    shmem_double_put((double *)block, (double *)block, SIZE_MAX / 8 + 2, 0);
}

static void stride_of_zero(void)
{
    shmem_long_iput(block, &word, 0, 1, 2, 0);
}

static void misaligned_amo(void)
{
    shmem_long_atomic_inc((long *)((char *)block + 1), 0);
}

static void bad_signal_operation(void)
{
    shmem_putmem_signal(block, &word, 8, (uint64_t *)block + 1, 1, 77, 0);
}

static void bad_comparison(void)
{
    shmem_long_wait_until(&word, 99, 1);
}

static void bad_comparison_of_a_set(void)
{
    shmem_long_test_any(&word, 0, NULL, 0, 1);
}

static void misaligned_wait(void)
{
    shmem_int_wait_until((int *)((char *)block + 2), SHMEM_CMP_EQ, 1);
}

static void private_lock(void)
{
    long *private = malloc(sizeof *private);
    shmem_set_lock(private);
}

static void misaligned_lock(void)
{
    shmem_test_lock((long *)((char *)block + 4));
}

static void clear_of_free_lock(void)
{
    shmem_clear_lock(&word);
}

static void set_of_held_lock(void)
{
    shmem_set_lock(&word);
    shmem_set_lock(&word);
}

static void free_of_static(void)
{
    shmem_free(&word);
}

static void bad_root(void)
{
    shmem_long_broadcast(SHMEM_TEAM_WORLD, &word, &word, 1, shmem_n_pes());
}

static void invalid_team(void)
{
    shmem_team_sync(SHMEM_TEAM_INVALID);
}

static void unmap_of_heap(void)
{
    shmumap(block);
}

/* all: every PE makes the call, because it is collective */
static void private_dest(void)
{
    long *private = calloc(1, sizeof *private);
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, private, block, 1);
}

static void collective_past_the_end(void)
{
    shmemx_heap_info_t info;
    shmemx_heap_info(&info);
    shmem_fcollectmem(SHMEM_TEAM_WORLD, block, block, info.size / 2 + 1);
}

static void collective_overflows(void)
{
    shmem_long_alltoall(SHMEM_TEAM_WORLD, block, block, SIZE_MAX / 9);
}

static void alltoalls_stride(void)
{
    shmem_long_alltoalls(SHMEM_TEAM_WORLD, block, block, 1, 0, 1);
}

static void alltoalls_past_the_end(void)
{
    shmem_long_alltoalls(SHMEM_TEAM_WORLD, block, block, 1 << 30, 1, 1 << 20);
}

static void private_psync(void)
{
    long private[SHMEM_SYNC_SIZE] = {0};
    shmem_barrier(0, 0, shmem_n_pes(), private);
}

static long psync[SHMEM_SYNC_SIZE];

static void set_of_others(void)
{
    static int dest[8], source[8], work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
    const int size = shmem_n_pes() - 1;
    for (int i = 0; i < 8; i++)
        source[i] = 1;
    shmem_barrier(0, 0, size, psync);
    shmem_sync(0, 0, size, psync);
    shmem_broadcast32(dest, source, 8, 0, 0, 0, size, psync);
    shmem_collect32(dest, source, 8, 0, 0, size, psync);
    shmem_fcollect32(dest, source, 8, 0, 0, size, psync);
    shmem_alltoall32(dest, source, 8, 0, 0, size, psync);
    shmem_alltoalls32(dest, source, 1, 2, 4, 0, 0, size, psync);
    shmem_int_sum_to_all(dest, source, 8, 0, 0, size, work, psync);
    for (int i = 0; i < 8; i++)
        if (dest[i])
            printf("dest has changed\n");
}

static void set_too_large(void)
{
    shmem_sync(1, 0, shmem_n_pes(), psync);
}

static void negative_nreduce(void)
{
    static long work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
    shmem_long_sum_to_all(&word, &word, -1, shmem_my_pe(), 0, 1, work, psync);
}

static const struct {
    const char *name;
    void (*call)(void);
    int all;
} cases[] = {
    {"put_to_private", put_to_private, 0},
    {"get_from_stack", get_from_stack, 0},
    {"put_to_null", put_to_null, 0},
    {"put_to_library", put_to_library, 0},
    {"wait_on_private", wait_on_private, 0},
    {"pe_too_large", pe_too_large, 0},
    {"pe_negative", pe_negative, 0},
    {"put_past_the_end", put_past_the_end, 0},
    {"strides_past_the_end", strides_past_the_end, 0},
    {"length_overflows", length_overflows, 0},
    {"length_wraps", length_wraps, 0},
    {"stride_of_zero", stride_of_zero, 0},
    {"misaligned_amo", misaligned_amo, 0},
    {"bad_signal_operation", bad_signal_operation, 0},
    {"bad_comparison", bad_comparison, 0},
    {"bad_comparison_of_a_set", bad_comparison_of_a_set, 0},
    {"misaligned_wait", misaligned_wait, 0},
    {"private_lock", private_lock, 0},
    {"misaligned_lock", misaligned_lock, 0},
    {"clear_of_free_lock", clear_of_free_lock, 0},
    {"set_of_held_lock", set_of_held_lock, 0},
    {"bad_root", bad_root, 0},
    {"private_dest", private_dest, 0},
    {"collective_past_the_end", collective_past_the_end, 0},
    {"collective_overflows", collective_overflows, 0},
    {"alltoalls_stride", alltoalls_stride, 0},
    {"alltoalls_past_the_end", alltoalls_past_the_end, 0},
    {"private_psync", private_psync, 0},
    {"set_of_others", set_of_others, 0},
    {"set_too_large", set_too_large, 0},
    {"negative_nreduce", negative_nreduce, 0},
    {"invalid_team", invalid_team, 0},
    {"free_of_static", free_of_static, 1},
    {"unmap_of_heap", unmap_of_heap, 1},
    {"null_queue", null_queue, 0},
    {"stream_without_cuda", stream_without_cuda, 0},
};
enum { N_CASES = sizeof cases / sizeof cases[0] };

/* Calls before shmem_init and after shmem_finalize. */
static void call_uninitialized(const char *name)
{
    if (!strcmp(name, "my_pe"))
        shmem_my_pe();
    else if (!strcmp(name, "put"))
        shmem_long_p(&word, 1, 0);
    else if (!strcmp(name, "malloc"))
        shmem_malloc(8);
    else if (!strcmp(name, "barrier_all"))
        shmem_barrier_all();
    else if (!strcmp(name, "reduce"))
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &word, &word, 1);
    else if (!strcmp(name, "atomic"))
        shmem_long_atomic_inc(&word, 0);
    else if (!strcmp(name, "lock"))
        shmem_set_lock(&word);
    else if (!strcmp(name, "map"))
        shmmap(&word, 8, OSHM_MEMTYPE_CUDA);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (!strncmp(name, "before_", 7))
        call_uninitialized(name + 7);
    shmem_init();
    if (!strncmp(name, "after_", 6)) {
        shmem_finalize();
        call_uninitialized(name + 6);
        shmem_init();
    }
    block = shmem_malloc(sizeof(long) * 4);
    for (int i = 0; i < N_CASES; i++)
        if (!strcmp(name, cases[i].name) && (cases[i].all || shmem_my_pe() == shmem_n_pes() - 1))
            cases[i].call();
    shmem_barrier_all();
    printf("PE %d: nothing was said about '%s'\n", shmem_my_pe(), name);
    shmem_finalize();
    return 0;
}
