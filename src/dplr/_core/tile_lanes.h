/* Vectors of one instruction set: `vec` for sums of products, `row_vec` for packing. LANES is 2, 4 or 8.

The wider paths use intrinsics, because what they need (shuffles, roundpd) has no portable spelling; the baseline is
written in GNU C vectors and compiles on any CPU. */
#ifndef DPLR_TILE_LANES_H
#define DPLR_TILE_LANES_H

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

#if LANES > 2
#include <immintrin.h>

#define ROW_LANES 4
typedef __m256d row_vec;
typedef int64_t row_mask __attribute__((vector_size(32)));

INLINE row_vec row_select(row_mask mask, row_vec yes, row_vec no)
{
    return (row_vec)(((row_mask)yes & mask) | ((row_mask)no & ~mask));
}
INLINE row_vec row_load(const double *p) { return _mm256_loadu_pd(p); }
INLINE row_vec row_load_single(const float *p) { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
INLINE void row_store(double *p, row_vec v) { _mm256_storeu_pd(p, v); }
INLINE row_vec row_all(double value) { return _mm256_set1_pd(value); }
INLINE row_vec row_round(row_vec v) { return _mm256_round_pd(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
/* Both take the bound where v is a NaN, like the comparisons of the portable path. */
INLINE row_vec row_at_most(row_vec v, row_vec high) { return _mm256_min_pd(v, high); }
INLINE row_vec row_at_least(row_vec v, row_vec low) { return _mm256_max_pd(v, low); }
INLINE row_vec row_abs(row_vec v) { return _mm256_andnot_pd(_mm256_set1_pd(-0.0), v); }

/* Sums of the lanes of four vectors, added to out[0..3]. */
INLINE void add_four_sums(double *out, __m256d a, __m256d b, __m256d c, __m256d d)
{
    __m256d ab = _mm256_unpacklo_pd(a, b) + _mm256_unpackhi_pd(a, b);
    __m256d cd = _mm256_unpacklo_pd(c, d) + _mm256_unpackhi_pd(c, d);
    __m256d sums = _mm256_permute2f128_pd(ab, cd, 0x20) + _mm256_permute2f128_pd(ab, cd, 0x31);
    _mm256_storeu_pd(out, _mm256_loadu_pd(out) + sums);
}
#else
#define ROW_LANES 2
typedef double row_vec __attribute__((vector_size(16)));
typedef int64_t row_mask __attribute__((vector_size(16)));

INLINE row_vec row_select(row_mask mask, row_vec yes, row_vec no)
{
    return (row_vec)(((row_mask)yes & mask) | ((row_mask)no & ~mask));
}
INLINE row_vec row_load(const double *p) { row_vec v; memcpy(&v, p, sizeof v); return v; }
INLINE row_vec row_load_single(const float *p) { return (row_vec){p[0], p[1]}; }
INLINE void row_store(double *p, row_vec v) { memcpy(p, &v, sizeof v); }
INLINE row_vec row_all(double value) { return (row_vec){value, value}; }
INLINE row_vec row_round(row_vec v) { return (v + ROUNDER) - ROUNDER; }
INLINE row_vec row_at_most(row_vec v, row_vec high) { return row_select((row_mask)(v < high), v, high); }
INLINE row_vec row_at_least(row_vec v, row_vec low) { return row_select((row_mask)(v > low), v, low); }
INLINE row_vec row_abs(row_vec v) { return (row_vec)((row_mask)v & INT64_MAX); }

INLINE void add_four_sums(double *out, row_vec a, row_vec b, row_vec c, row_vec d)
{
    out[0] += a[0] + a[1];
    out[1] += b[0] + b[1];
    out[2] += c[0] + c[1];
    out[3] += d[0] + d[1];
}
#endif

#if LANES == 8
/* Rows of a tile: MOST * 4 sums stay in registers. */
#define MOST 6
typedef __m512d vec;
INLINE vec load(const double *p) { return _mm512_loadu_pd(p); }
INLINE vec multiply_add(vec a, vec b, vec c) { return _mm512_fmadd_pd(a, b, c); }
INLINE __m256d fold(vec v) { return _mm512_castpd512_pd256(v) + _mm512_extractf64x4_pd(v, 1); }
INLINE void add_sums(double *out, const vec *v) { add_four_sums(out, fold(v[0]), fold(v[1]), fold(v[2]), fold(v[3])); }
#else
#define MOST 3
typedef row_vec vec;
INLINE vec load(const double *p) { return row_load(p); }
#if LANES == 4
INLINE vec multiply_add(vec a, vec b, vec c) { return _mm256_fmadd_pd(a, b, c); }
#else
INLINE vec multiply_add(vec a, vec b, vec c) { return a * b + c; }
#endif
INLINE void add_sums(double *out, const vec *v) { add_four_sums(out, v[0], v[1], v[2], v[3]); }
#endif

#endif
