/* Vectors of one instruction set: LANES float64 numbers, 2, 4 or 8, of as many rows.

The baseline is written in GNU C vectors and compiles on any CPU. The other paths use intrinsics, because what they need
(shuffles, rounding, fused multiply-add) has no portable spelling. FUSED: whether multiply_add rounds once. */
#ifndef DPLR_TILE_LANES_H
#define DPLR_TILE_LANES_H

#include <math.h>
#include <string.h>

#include "tiles.h"

#define INLINE static inline __attribute__((always_inline))

/* The next piece of the block ahead; the last one again when all is fetched. */
INLINE const char *next_piece(Ahead *ahead)
{
    const char *piece = ahead->data;
    if (ahead->pieces > 1) {
        ahead->data += ahead->step;
        ahead->pieces -= 1;
    }
    return piece;
}

/* Into the L2 cache: the L1 cache is full of packed columns. */
INLINE void prefetch(const char *line) { __builtin_prefetch(line, 0, 2); }

#if LANES == 8
#include <immintrin.h>

/* Rows of a tile: MOST * 4 sums stay in registers. */
#define MOST 6
#define FUSED 1
typedef __m512d vec;
INLINE vec load(const double *p) { return _mm512_loadu_pd(p); }
/* Two vectors in single precision. */
typedef __m512 singles;
INLINE singles narrowed(const vec *v)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(v[0])), _mm512_cvtpd_ps(v[1]), 1);
}
INLINE void widened(singles v, vec *out)
{
    out[0] = _mm512_cvtps_pd(_mm512_castps512_ps256(v));
    out[1] = _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1));
}
INLINE vec load_single(const float *p) { return _mm512_cvtps_pd(_mm256_loadu_ps(p)); }
INLINE singles all_singles(float value) { return _mm512_set1_ps(value); }
INLINE singles between(singles v, singles low, singles high) { return _mm512_max_ps(_mm512_min_ps(v, high), low); }
INLINE void store(double *p, vec v) { _mm512_storeu_pd(p, v); }
INLINE vec all(double value) { return _mm512_set1_pd(value); }
INLINE vec to_nearest(vec v) { return _mm512_roundscale_pd(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
/* Both take the bound where v is a NaN, like the comparisons of the portable path. */
INLINE vec at_most(vec v, vec high) { return _mm512_min_pd(v, high); }
INLINE vec at_least(vec v, vec low) { return _mm512_max_pd(v, low); }
INLINE vec magnitude(vec v) { return _mm512_abs_pd(v); }
/* The larger one of |v| and size >= 0; either where v is a NaN. */
INLINE vec larger_size(vec v, vec size) { return _mm512_range_pd(v, size, 0xb); }
INLINE vec multiply_add(vec a, vec b, vec c) { return _mm512_fmadd_pd(a, b, c); }
/* Towards zero; for numbers from 0 to 2^51. */
INLINE vec truncated(vec v) { return _mm512_roundscale_pd(v, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC); }
INLINE vec root_of(vec v) { return _mm512_sqrt_pd(v); }
INLINE __m256d fold(vec v) { return _mm512_castpd512_pd256(v) + _mm512_extractf64x4_pd(v, 1); }
#elif LANES == 4
#include <immintrin.h>

#define MOST 3
#define FUSED 1
typedef __m256d vec;
INLINE vec load(const double *p) { return _mm256_loadu_pd(p); }
typedef __m256 singles;
INLINE singles narrowed(const vec *v) { return _mm256_set_m128(_mm256_cvtpd_ps(v[1]), _mm256_cvtpd_ps(v[0])); }
INLINE void widened(singles v, vec *out)
{
    out[0] = _mm256_cvtps_pd(_mm256_castps256_ps128(v));
    out[1] = _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1));
}
INLINE vec load_single(const float *p) { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
INLINE singles all_singles(float value) { return _mm256_set1_ps(value); }
INLINE singles between(singles v, singles low, singles high) { return _mm256_max_ps(_mm256_min_ps(v, high), low); }
INLINE void store(double *p, vec v) { _mm256_storeu_pd(p, v); }
INLINE vec all(double value) { return _mm256_set1_pd(value); }
INLINE vec to_nearest(vec v) { return _mm256_round_pd(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
INLINE vec at_most(vec v, vec high) { return _mm256_min_pd(v, high); }
INLINE vec at_least(vec v, vec low) { return _mm256_max_pd(v, low); }
INLINE vec magnitude(vec v) { return _mm256_andnot_pd(_mm256_set1_pd(-0.0), v); }
INLINE vec larger_size(vec v, vec size) { return _mm256_max_pd(magnitude(v), size); }
INLINE vec multiply_add(vec a, vec b, vec c) { return _mm256_fmadd_pd(a, b, c); }
INLINE vec truncated(vec v) { return _mm256_round_pd(v, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC); }
INLINE vec root_of(vec v) { return _mm256_sqrt_pd(v); }
INLINE __m256d fold(vec v) { return v; }
#elif defined(NEON)
#include <arm_neon.h>

#define MOST 6
#define FUSED 1
typedef float64x2_t vec;
typedef float32x4_t singles;
INLINE vec load(const double *p) { return vld1q_f64(p); }
INLINE vec load_single(const float *p) { return vcvt_f64_f32(vld1_f32(p)); }
INLINE singles narrowed(const vec *v) { return vcvt_high_f32_f64(vcvt_f32_f64(v[0]), v[1]); }
INLINE void widened(singles v, vec *out)
{
    out[0] = vcvt_f64_f32(vget_low_f32(v));
    out[1] = vcvt_high_f64_f32(v);
}
INLINE singles all_singles(float value) { return vdupq_n_f32(value); }
INLINE singles between(singles v, singles low, singles high) { return vmaxnmq_f32(vminnmq_f32(v, high), low); }
INLINE void store(double *p, vec v) { vst1q_f64(p, v); }
INLINE vec all(double value) { return vdupq_n_f64(value); }
INLINE vec to_nearest(vec v) { return vrndnq_f64(v); }
/* The number where the other one is a NaN that an operation gave. Of zeros they choose by sign, and no sum shows it. */
INLINE vec at_most(vec v, vec high) { return vminnmq_f64(v, high); }
INLINE vec at_least(vec v, vec low) { return vmaxnmq_f64(v, low); }
INLINE vec magnitude(vec v) { return vabsq_f64(v); }
INLINE vec larger_size(vec v, vec size) { return vmaxnmq_f64(vabsq_f64(v), size); }
INLINE vec multiply_add(vec a, vec b, vec c) { return vfmaq_f64(c, a, b); }
INLINE vec truncated(vec v) { return vrndq_f64(v); }
INLINE vec root_of(vec v) { return vsqrtq_f64(v); }
#else
#define MOST 3
#define FUSED 0
typedef double vec __attribute__((vector_size(16)));
typedef float singles __attribute__((vector_size(16)));
#endif

typedef int64_t mask __attribute__((vector_size(8 * LANES)));
typedef int32_t singles_mask __attribute__((vector_size(sizeof(singles))));

/* For each k from 0, side by side: one vector's operations fill another's latencies. */
#define MOST_VECTORS 16
#define EACH(k, count) _Pragma("GCC unroll 16") for (int k = 0; k < (count); ++k)

INLINE vec choose(mask where, vec yes, vec no) { return (vec)(((mask)yes & where) | ((mask)no & ~where)); }

INLINE int all_true(mask lanes)
{
#if LANES == 8
    return _mm512_movepi64_mask((__m512i)lanes) == 0xff;
#elif LANES == 4
    return _mm256_movemask_pd((__m256d)lanes) == 0xf;
#else
    return (lanes[0] & lanes[1]) != 0;
#endif
}

/* Lanes of the last vector that hold a row. */
INLINE mask rows_left(ptrdiff_t rows)
{
    mask lanes;
    for (int k = 0; k < LANES; ++k) lanes[k] = -(int64_t)(k < rows);
    return lanes;
}

/* One load for several products: compilers would rather repeat it in each, and loads are then the limit. */
#if LANES == 8
INLINE vec load_once(const double *p) { vec v = load(p); __asm__("" : "+v"(v)); return v; }
#elif LANES == 4
INLINE vec load_once(const double *p) { vec v = load(p); __asm__("" : "+x"(v)); return v; }
#elif defined(NEON)
INLINE vec load_once(const double *p) { vec v = load(p); __asm__("" : "+w"(v)); return v; }
#endif

#if LANES == 2 && !defined(NEON)
INLINE vec load(const double *p) { vec v; memcpy(&v, p, sizeof v); return v; }
INLINE vec load_once(const double *p) { return load(p); }
INLINE vec load_single(const float *p) { return (vec){p[0], p[1]}; }
INLINE singles narrowed(const vec *v)
{
    return (singles){(float)v[0][0], (float)v[0][1], (float)v[1][0], (float)v[1][1]};
}
INLINE void widened(singles v, vec *out)
{
    out[0] = (vec){v[0], v[1]};
    out[1] = (vec){v[2], v[3]};
}
INLINE singles all_singles(float value) { return (singles){value, value, value, value}; }
INLINE singles between(singles v, singles low, singles high)
{
    singles_mask inside = (singles_mask)(v < high);
    v = (singles)(((singles_mask)v & inside) | ((singles_mask)high & ~inside));
    inside = (singles_mask)(v > low);
    return (singles)(((singles_mask)v & inside) | ((singles_mask)low & ~inside));
}
INLINE void store(double *p, vec v) { memcpy(p, &v, sizeof v); }
INLINE vec all(double value) { return (vec){value, value}; }
INLINE vec to_nearest(vec v) { return (v + ROUNDER) - ROUNDER; }
INLINE vec at_most(vec v, vec high) { return choose((mask)(v < high), v, high); }
INLINE vec at_least(vec v, vec low) { return choose((mask)(v > low), v, low); }
INLINE vec magnitude(vec v) { return (vec)((mask)v & INT64_MAX); }
INLINE vec larger_size(vec v, vec size) { return at_least(magnitude(v), size); }
INLINE vec multiply_add(vec a, vec b, vec c) { return a * b + c; }
INLINE vec root_of(vec v) { return (vec){sqrt(v[0]), sqrt(v[1])}; }
INLINE vec truncated(vec v)
{
    vec near = to_nearest(v);
    return near - choose((mask)(near > v), all(1.0), all(0.0));
}
#endif

#if LANES == 2
/* Sums of the lanes of four vectors, added to out[0..3]. */
INLINE void add_sums(double *out, const vec *v)
{
    for (int k = 0; k < 4; ++k) out[k] += v[k][0] + v[k][1];
}
#else
INLINE void add_sums(double *out, const vec *v)
{
    __m256d a = fold(v[0]), b = fold(v[1]), c = fold(v[2]), d = fold(v[3]);
    __m256d ab = _mm256_unpacklo_pd(a, b) + _mm256_unpackhi_pd(a, b);
    __m256d cd = _mm256_unpacklo_pd(c, d) + _mm256_unpackhi_pd(c, d);
    __m256d sums = _mm256_permute2f128_pd(ab, cd, 0x20) + _mm256_permute2f128_pd(ab, cd, 0x31);
    _mm256_storeu_pd(out, _mm256_loadu_pd(out) + sums);
}
#endif

#endif
