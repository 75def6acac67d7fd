/* Which kernels this build has and this CPU runs. The build defines HAVE_BASELINE, HAVE_AVX2 and HAVE_AVX512. */
#include <string.h>

#include "tiles.h"

#ifdef HAVE_BASELINE
extern const Tiles tiles_baseline;
#endif
#ifdef HAVE_AVX2
extern const Tiles tiles_avx2;
#endif
#ifdef HAVE_AVX512
extern const Tiles tiles_avx512;
#endif

const Tiles *find_tiles(const char *path)
{
#ifdef HAVE_BASELINE
    if (!strcmp(path, "baseline")) return &tiles_baseline;
#endif
#ifdef HAVE_AVX2
    if (!strcmp(path, "avx2") && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &tiles_avx2;
#endif
#ifdef HAVE_AVX512
    if (!strcmp(path, "avx512") && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq"))
        return &tiles_avx512;
#endif
    (void)path;
    return NULL;
}
