/* SPDX-License-Identifier: BSD-3-Clause
 *
 * nvrtc FILE OPTION...: compiles a kernel at run time, as programs do, and prints what the compiler says.
 */
#include <nvrtc.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    static char source[1 << 16], log[1 << 16];
    nvrtcProgram program;
    size_t size = 0;
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!file || !fread(source, 1, sizeof source - 1, file))
        return 2;
    fclose(file);
    if (nvrtcCreateProgram(&program, source, argv[1], 0, NULL, NULL) != NVRTC_SUCCESS)
        return 3;
    nvrtcResult result = nvrtcCompileProgram(program, argc - 2, (const char *const *)argv + 2);
    if (nvrtcGetProgramLogSize(program, &size) == NVRTC_SUCCESS && size <= sizeof log)
        nvrtcGetProgramLog(program, log);
    printf("%s: %s\n", nvrtcGetErrorString(result), log);
    return result != NVRTC_SUCCESS;
}
