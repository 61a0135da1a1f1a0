/* Deprecated place of the header [annex F]. */
#include <shmemx.h>
