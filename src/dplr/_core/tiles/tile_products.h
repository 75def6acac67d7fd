/* Products of a block of rows with coefficients, and with residuals: the two halves of a gradient.

Rows lie one after another, whole vectors or not, and hold numbers as they are, numbers to be rounded, or whole numbers
in single precision. */
#include "tile_lanes.h"

#if LANES == 8
typedef __mmask8 Some;
INLINE Some first_lanes(ptrdiff_t count) { return (Some)((1u << count) - 1); }
INLINE vec load_some(Some some, const double *p) { return _mm512_maskz_loadu_pd(some, p); }
#elif LANES == 4
typedef __m256i Some;
INLINE Some first_lanes(ptrdiff_t count)
{
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
}
INLINE vec load_some(Some some, const double *p) { return _mm256_maskload_pd(p, some); }
#else
typedef ptrdiff_t Some;
INLINE Some first_lanes(ptrdiff_t count) { return count; }
INLINE vec load_some(Some some, const double *p)
{
    return (vec){some > 0 ? p[0] : 0.0, some > 1 ? p[1] : 0.0};
}
#endif

/* Sums of the lanes of LANES vectors, one a lane; each sum is the same function of its vector. */
INLINE vec lane_sums(const vec *v)
{
#if LANES == 8
    vec pair[4], four[2];
    for (int k = 0; k < 4; ++k)
        pair[k] = _mm512_unpacklo_pd(v[2 * k], v[2 * k + 1]) + _mm512_unpackhi_pd(v[2 * k], v[2 * k + 1]);
    for (int k = 0; k < 2; ++k)
        four[k] = _mm512_shuffle_f64x2(pair[2 * k], pair[2 * k + 1], 0x88) +
                  _mm512_shuffle_f64x2(pair[2 * k], pair[2 * k + 1], 0xdd);
    return _mm512_shuffle_f64x2(four[0], four[1], 0x88) + _mm512_shuffle_f64x2(four[0], four[1], 0xdd);
#elif LANES == 4
    vec low = _mm256_unpacklo_pd(v[0], v[1]) + _mm256_unpackhi_pd(v[0], v[1]);
    vec high = _mm256_unpacklo_pd(v[2], v[3]) + _mm256_unpackhi_pd(v[2], v[3]);
    return _mm256_permute2f128_pd(low, high, 0x20) + _mm256_permute2f128_pd(low, high, 0x31);
#else
    return (vec){v[0][0] + v[0][1], v[1][0] + v[1][1]};
#endif
}

INLINE double lanes_total(vec v)
{
    double total = 0.0;
    for (int k = 0; k < LANES; ++k) total += v[k];
    return total;
}

/* To the nearest multiple of 2^-20: the spacing of numbers around 1.5 * 2^32. For numbers up to 2^31. */
INLINE vec on_fine_grid(vec v) { return (v + all(6442450944.0)) - all(6442450944.0); }

/* What entries of a row are: numbers, numbers to round to the grid, or whole numbers in single precision. */
enum { PLAIN, ROUNDED, SINGLE };

INLINE vec entry_of(const int form, const void *row, ptrdiff_t j)
{
    if (form == SINGLE) return load_single((const float *)row + j);
    const vec v = load((const double *)row + j);
    return form == ROUNDED ? on_fine_grid(v) : v;
}

INLINE vec some_entries_of(const int form, Some some, const void *row, ptrdiff_t j)
{
    const vec v = load_some(some, (const double *)row + j);
    return form == ROUNDED ? on_fine_grid(v) : v;
}

INLINE const void *row_of(const int form, const void *x, ptrdiff_t i, ptrdiff_t stride)
{
    return (const char *)x + i * stride * (ptrdiff_t)(form == SINGLE ? sizeof(float) : sizeof(double));
}

/* Products of a block's rows with the coefficients and, with `norms`, with themselves. `vectors` of a row are whole; it
   is a constant of the caller where there are few, so that loops vanish and the coefficients stay in registers. */
INLINE void dots(const int norms, const int form, const ptrdiff_t vectors, const void *x, ptrdiff_t stride,
                 ptrdiff_t rows, ptrdiff_t d, const double *coef, double *margin, double *squared_norm)
{
    const Some some = first_lanes(d - vectors * LANES);
    const vec last = load_some(some, coef + vectors * LANES);    /* what lies behind the coefficients may be a NaN */
    for (ptrdiff_t i = 0; i < rows; i += LANES) {
        vec products[LANES], squares[LANES];
#pragma GCC unroll 8
        for (int k = 0; k < LANES; ++k) {
            const void *row = row_of(form, x, i + k < rows ? i + k : rows - 1, stride);
            vec v = all(0.0);    /* rows in single precision are whole vectors */
            if (form != SINGLE) v = some_entries_of(form, some, row, vectors * LANES);
            vec product = v * last, square = v * v;
            for (ptrdiff_t j = 0; j < vectors; ++j) {
                v = entry_of(form, row, j * LANES);
                product = multiply_add(v, load(coef + j * LANES), product);
                if (norms) square = multiply_add(v, v, square);
            }
            products[k] = product;
            squares[k] = square;
        }
        store(margin + i, lane_sums(products));
        if (norms) store(squared_norm + i, lane_sums(squares));
    }
}

INLINE void dots_of_block(const int norms, const int form, const void *x, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t d,
                          const double *coef, double *margin, double *squared_norm)
{
    switch (d / LANES) {
    case 0: dots(norms, form, 0, x, stride, rows, d, coef, margin, squared_norm); break;
    case 1: dots(norms, form, 1, x, stride, rows, d, coef, margin, squared_norm); break;
    case 2: dots(norms, form, 2, x, stride, rows, d, coef, margin, squared_norm); break;
    case 3: dots(norms, form, 3, x, stride, rows, d, coef, margin, squared_norm); break;
    default: dots(norms, form, d / LANES, x, stride, rows, d, coef, margin, squared_norm);
    }
}

/* Columns [0, width vectors) of the block times the residuals; `splits` sets of sums hide the latency. */
INLINE void add_panel(const int width, const int splits, const int partial, const int form, const void *x,
                      ptrdiff_t stride, ptrdiff_t rows, const double *residual, Some some, double *gradient)
{
    vec sums[4][8] = {0};
    ptrdiff_t i = 0;
    for (; i + splits <= rows; i += splits)
#pragma GCC unroll 4
        for (int s = 0; s < splits; ++s) {
            const vec r = all(residual[i + s]);
            const void *row = row_of(form, x, i + s, stride);
#pragma GCC unroll 8
            for (int v = 0; v < width; ++v) {
                vec entry = partial && v == width - 1 ? some_entries_of(form, some, row, v * LANES)
                                                      : entry_of(form, row, v * LANES);
                sums[s][v] = multiply_add(r, entry, sums[s][v]);
            }
        }
    for (; i < rows; ++i) {
        const vec r = all(residual[i]);
        const void *row = row_of(form, x, i, stride);
#pragma GCC unroll 8
        for (int v = 0; v < width; ++v) {
            vec entry = partial && v == width - 1 ? some_entries_of(form, some, row, v * LANES)
                                                      : entry_of(form, row, v * LANES);
            sums[0][v] = multiply_add(r, entry, sums[0][v]);
        }
    }
#pragma GCC unroll 8
    for (int v = 0; v < width; ++v) {
        vec total = sums[0][v];
#pragma GCC unroll 4
        for (int s = 1; s < splits; ++s) total += sums[s][v];
        store(gradient + v * LANES, load(gradient + v * LANES) + total);
    }
}

#define PANEL_OF(width, splits)                                                                                       \
    case width:                                                                                                       \
        if (partial) add_panel(width, splits, 1, form, x, stride, rows, residual, some, gradient);                 \
        else add_panel(width, splits, 0, form, x, stride, rows, residual, some, gradient);                         \
        break

INLINE void add_gradient_of(const int form, const void *x, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t d,
                            const double *residual, double *gradient)
{
    const ptrdiff_t vectors = (d + LANES - 1) / LANES;
    const Some some = first_lanes(d % LANES);
    for (ptrdiff_t first = 0; first < vectors; first += 8, x = row_of(form, x, 1, 8 * LANES), gradient += 8 * LANES) {
        const ptrdiff_t width = vectors - first < 8 ? vectors - first : 8;
        const int partial = first + width == vectors && d % LANES != 0;
        switch (width) {
            PANEL_OF(1, 4);
            PANEL_OF(2, 4);
            PANEL_OF(3, 2);
            PANEL_OF(4, 2);
            PANEL_OF(5, 1);
            PANEL_OF(6, 1);
            PANEL_OF(7, 1);
            PANEL_OF(8, 1);
        }
    }
}

static void add_gradient(const double *x, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t d, const double *residual,
                         double *gradient)
{
    add_gradient_of(PLAIN, x, stride, rows, d, residual, gradient);
}
