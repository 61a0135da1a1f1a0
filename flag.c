#include <shmem.h>
#include <stdio.h>

static int data, flag;

int main(void)
{
    shmem_init();
    if (shmem_my_pe() == 0) {
        shmem_int_p(&data, 42, 1);
        shmem_int_atomic_set(&flag, 1, 1); /* no fence before it: it may overtake the data */
    } else if (shmem_my_pe() == 1) {
        shmem_int_wait_until(&flag, SHMEM_CMP_EQ, 1);
        printf("%d\n", data);
    }
    shmem_finalize();
    return 0;
}
