/* Which kernels this build has and this CPU runs. The build defines HAVE_ and the name of each path that it has. */
#include <string.h>

#include "tiles.h"

#ifdef HAVE_BASELINE
extern const Tiles tiles_baseline;
#endif
#ifdef HAVE_NEON
extern const Tiles tiles_neon;
#endif
#ifdef HAVE_AVX2
extern const Tiles tiles_avx2;
#endif
#ifdef HAVE_AVX512
extern const Tiles tiles_avx512;
#endif

#if defined(HAVE_AVX2) || defined(HAVE_AVX512)
#include <cpuid.h>

/* Of XCR0: the registers that the operating system saves. */
#define SAVES_YMM 0x06u
#define SAVES_ZMM 0xe6u

static int runs_avx2, runs_avx512;

static unsigned saved_registers(void)
{
    unsigned low, high;
    /* Volatile: a compiler may otherwise move it before the check that the CPU knows it. */
    __asm__ __volatile__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

/* Asked once, as CPUID is slow in virtual machines. Not by `__builtin_cpu_supports`, which is 0 with runtimes that have
   no model of the CPU. */
__attribute__((constructor)) static void ask_cpu(void)
{
    const unsigned first = bit_FMA | bit_OSXSAVE | bit_AVX;
    const unsigned wide = bit_AVX2 | bit_AVX512F | bit_AVX512DQ | bit_AVX512VL;
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & first) != first) return;
    const unsigned saved = saved_registers();
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return;
    runs_avx2 = (b & bit_AVX2) && (saved & SAVES_YMM) == SAVES_YMM;
    runs_avx512 = (b & wide) == wide && (saved & SAVES_ZMM) == SAVES_ZMM;
}
#endif

const Tiles *built_tiles(const char *path)
{
#ifdef HAVE_BASELINE
    if (!strcmp(path, "baseline")) return &tiles_baseline;
#endif
#ifdef HAVE_NEON
    if (!strcmp(path, "neon")) return &tiles_neon;
#endif
#ifdef HAVE_AVX2
    if (!strcmp(path, "avx2")) return &tiles_avx2;
#endif
#ifdef HAVE_AVX512
    if (!strcmp(path, "avx512")) return &tiles_avx512;
#endif
    (void)path;
    return NULL;
}

const Tiles *find_tiles(const char *path)
{
#ifdef HAVE_AVX2
    if (!strcmp(path, "avx2") && !runs_avx2) return NULL;
#endif
#ifdef HAVE_AVX512
    if (!strcmp(path, "avx512") && !runs_avx512) return NULL;
#endif
    return built_tiles(path);
}
