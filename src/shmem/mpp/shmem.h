/* Deprecated place of the header [annex F]. */
#include <shmem.h>
