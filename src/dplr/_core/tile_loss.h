/* Residuals, gradient and Hessian of a group of rows in one pass: bound, margin, curve, sums.

Rows are read one after another, a small block at a time, so that memory never idles; the block is then in the L1 cache
for the sums. float64 rows in C order are used where they lie, others are packed first. */
#include <math.h>

#include "tile_curves.h"

#if LANES == 8
typedef __mmask8 Some;
INLINE Some first_lanes(ptrdiff_t count) { return (Some)((1u << count) - 1); }
INLINE vec load_some(Some some, const double *p) { return _mm512_maskz_loadu_pd(some, p); }
INLINE vec root_of(vec v) { return _mm512_sqrt_pd(v); }
#elif LANES == 4
typedef __m256i Some;
INLINE Some first_lanes(ptrdiff_t count)
{
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
}
INLINE vec load_some(Some some, const double *p) { return _mm256_maskload_pd(p, some); }
INLINE vec root_of(vec v) { return _mm256_sqrt_pd(v); }
#else
typedef ptrdiff_t Some;
INLINE Some first_lanes(ptrdiff_t count) { return count; }
INLINE vec load_some(Some some, const double *p)
{
    return (vec){some > 0 ? p[0] : 0.0, some > 1 ? p[1] : 0.0};
}
INLINE vec root_of(vec v) { return (vec){sqrt(v[0]), sqrt(v[1])}; }
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

/* Lanes of the last vector that hold no row. */
INLINE mask rows_left(ptrdiff_t rows)
{
    mask lanes;
    for (int k = 0; k < LANES; ++k) lanes[k] = -(int64_t)(k < rows);
    return lanes;
}

/* What is multiplied into rows: 1 inside the ball, edge / norm outside, which are counted. Rows whose norm is unsure,
   because it is no number or nearly overflows, make it return 1. */
INLINE int ball_factor(const LossPass *pass, vec squared_norm, mask here, vec *factor, mask *outside, double *beyond)
{
    mask inside = (mask)(squared_norm <= all(pass->edge)) | ~here;
    *factor = all(1.0);
    if (all_true(inside)) return 0;
    *beyond = 1.0;
    if (!all_true((mask)(squared_norm <= all(LARGE)) | ~here)) return 1;
    *factor = choose(inside, all(1.0), all(pass->edge) / root_of(squared_norm));
    *outside -= (mask)(squared_norm > all(pass->far)) & here;
    return 0;
}

/* Residuals and weights of a block. Returns 1 as soon as a row must be settled; `settled` says that this was done. */
INLINE int curves(const int kind, const int settled, const LossPass *pass, const double *x, ptrdiff_t stride,
                  ptrdiff_t rows, const double *targets, const LossWork *work)
{
    const vec width = all(pass->width), constant = all(pass->intercept * pass->coef[pass->X.d]);
    const int norms = !pass->map.box && !pass->inside;
    double *margins = work->residual, *squared_norms = work->root;
    vec residuals = all(0.0), losses = all(0.0);
    mask outside = {0};
    if (norms) dots_of_block(1, PLAIN, x, stride, rows, pass->X.d, pass->coef, margins, squared_norms);
    else dots_of_block(0, PLAIN, x, stride, rows, pass->X.d, pass->coef, margins, squared_norms);
    for (ptrdiff_t i = 0; i < rows; i += LANES) {
        vec margin = load(margins + i), factor = all(pass->map.box ? 1.0 / GRID : 1.0), target = load(targets + i);
        mask present = ~(mask){0}, here = (mask)(target == target);
        if (i + LANES > rows) here &= present = rows_left(rows - i);
        if (settled) here &= (mask)(load(work->live + i) > all(0.0));
        if (norms && ball_factor(pass, load(squared_norms + i), present, &factor, &outside, work->sums + 2)) return 1;
        Curve curve = curve_of(kind, multiply_add(margin, factor, constant), target, width, pass->loss);
        vec residual = choose(here, curve.residual, all(0.0));
        residuals += residual;
        store(work->residual + i, residual * factor);
        if (pass->loss) losses += choose(here, curve.loss, all(0.0));
        if (pass->hessian) {
            vec root = root_of(choose(here, curve.weight, all(0.0)));
            store(work->root + i, root * factor);
            store(work->constant + i, root * all(pass->intercept));
        }
    }
    work->sums[0] += lanes_total(residuals);
    if (pass->loss) work->sums[1] += lanes_total(losses);
    if (pass->count_outside)
        for (int k = 0; k < LANES; ++k) work->outside[0] += outside[k];
    return 0;
}

static int curves_of_block(const int settled, const LossPass *pass, const double *x, ptrdiff_t stride,
                           ptrdiff_t rows, const double *target, const LossWork *work)
{
    switch (pass->kind) {
    case LOGISTIC: return settled ? curves(LOGISTIC, 1, pass, x, stride, rows, target, work)
                                : curves(LOGISTIC, 0, pass, x, stride, rows, target, work);
    case HUBER_SVM: return settled ? curves(HUBER_SVM, 1, pass, x, stride, rows, target, work)
                                 : curves(HUBER_SVM, 0, pass, x, stride, rows, target, work);
    case SQUARED: return settled ? curves(SQUARED, 1, pass, x, stride, rows, target, work)
                               : curves(SQUARED, 0, pass, x, stride, rows, target, work);
    default: return settled ? curves(HUBER_RESIDUAL, 1, pass, x, stride, rows, target, work)
                          : curves(HUBER_RESIDUAL, 0, pass, x, stride, rows, target, work);
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

/* Rows times the roots of their weights, transposed into packed columns; then the constant's column. */
INLINE void pack_roots(const double *x, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t d, int intercept,
                       const LossWork *work, double *columns)
{
    for (ptrdiff_t i = 0; i < rows; i += LANES) {
        const char *row[LANES];
        const vec root = load(work->root + i);
        ptrdiff_t j = 0;
        for (int k = 0; k < LANES; ++k) row[k] = (const char *)(x + (i + k < rows ? i + k : rows - 1) * stride);
#if LANES > 2
        for (; j + 4 <= d; j += 4) {
            vec v[4];
            transpose(row, j * (ptrdiff_t)sizeof(double), 0, v);
#pragma GCC unroll 4
            for (int k = 0; k < 4; ++k) store(columns + (j + k) * STRIDE + i, v[k] * root);
        }
#endif
        for (; j < d; ++j)
            store(columns + j * STRIDE + i, gather(row, j * (ptrdiff_t)sizeof(double), 0) * root);
        if (intercept) store(columns + d * STRIDE + i, load(work->constant + i));
    }
}

/* Read rows of any layout and type into the block; map and clamp them to the box, in grid units. Returns whether an
   entry may not be finite or, where that is counted, is outside. */
INLINE int pack_rows(const int single, const int box, const LossPass *pass, ptrdiff_t start, ptrdiff_t rows,
                     const LossWork *work)
{
    const Rows *X = &pass->X;
    const Map *map = &pass->map;
    const ptrdiff_t d = X->d, size = single ? sizeof(float) : sizeof(double);
    vec excess = all(0.0);
    double rest = 0.0;
    for (ptrdiff_t i = 0; i < rows; ++i) {
        const char *row = X->data + (start + i) * X->row_stride;
        double *out = work->block + i * work->stride;
        ptrdiff_t j = 0;
        for (; X->column_stride == size && j + LANES <= d; j += LANES) {
            vec raw = single ? load_single((const float *)row + j) : load((const double *)row + j);
            if (box) {
                vec v = (raw - load(map->shift + j)) * load(map->scale + j);
                raw = at_least(at_most(v, load(map->high + j)), load(map->low + j));
                excess += magnitude(v - raw);
            }
            store(out + j, raw);
        }
        for (; j < d; ++j) {
            double raw = read_one(row + j * X->column_stride, single);
            if (box) {
                double v = (raw - map->shift[j]) * map->scale[j];
                raw = v < map->high[j] ? v : map->high[j];
                raw = raw > map->low[j] ? raw : map->low[j];
                rest += v > raw ? v - raw : raw - v;
            }
            out[j] = raw;
        }
    }
    rest += lanes_total(excess);
    return box && !(rest <= (pass->count_outside ? SLACK : LARGEST));
}

static int pack_block(const LossPass *pass, ptrdiff_t start, ptrdiff_t rows, const LossWork *work)
{
    if (pass->X.single)
        return pass->map.box ? pack_rows(1, 1, pass, start, rows, work) : pack_rows(1, 0, pass, start, rows, work);
    return pass->map.box ? pack_rows(0, 1, pass, start, rows, work) : pack_rows(0, 0, pass, start, rows, work);
}

/* Measured: small blocks let memory work while sums are made. Packed columns take blocks that divide PACK_ROWS. */
INLINE ptrdiff_t block_rows(const LossPass *pass)
{
    return pass->X.d >= 96 ? 8 : pass->X.d >= 32 ? 16 : pass->hessian ? 32 : MOST_BLOCK_ROWS;
}

INLINE int lies_in_order(const LossPass *pass)
{
    return !pass->map.box && !pass->X.single && pass->X.column_stride == sizeof(double) &&
           pass->X.row_stride % (ptrdiff_t)sizeof(double) == 0;
}

static void flush_columns(const LossPass *pass, ptrdiff_t packed, const LossWork *work, const char *next)
{
    const ptrdiff_t q = pass->X.d + (pass->intercept > 0), whole = (packed + 7) & ~(ptrdiff_t)7;
    Ahead ahead = {next, 0, 1};
    for (ptrdiff_t j = 0; j < q; ++j)
        memset(work->columns + j * STRIDE + packed, 0, (whole - packed) * sizeof(double));
    add_gram(work->columns, q, whole, work->gram, NULL, &ahead);
}

/* Raw labels to -1 and 1, and NaN for what is neither: without branches, because labels are hard to predict. Returns
   whether one was neither. */
static int sign_labels(const Map *map, ptrdiff_t rows, double *target)
{
    mask known = ~(mask){0};
    for (ptrdiff_t i = 0; i < rows; i += LANES) {
        vec raw = load(target + i);
        mask positive = (mask)(raw == all(map->positive)), negative = (mask)(raw == all(map->negative));
        known &= positive | negative | ~rows_left(rows - i);
        store(target + i, choose(positive, all(1.0), choose(negative, all(-1.0), all(NAN))));
    }
    return !all_true(known);
}

/* Add rows [start, start + rows), at most GROUP_ROWS with their targets in work->target, to the sums in work. */
static void add_loss(const LossPass *pass, ptrdiff_t start, ptrdiff_t rows, const LossWork *work)
{
    const ptrdiff_t d = pass->X.d, step = block_rows(pass);
    const int in_place = lies_in_order(pass);
    ptrdiff_t packed = 0;
    for (ptrdiff_t first = 0; first < rows; first += step) {
        const ptrdiff_t n = rows - first < step ? rows - first : step;
        const char *data = pass->X.data + (start + first) * pass->X.row_stride;
        const double *x = in_place ? (const double *)data : work->block, *target = work->target + first;
        ptrdiff_t stride = in_place ? pass->X.row_stride / (ptrdiff_t)sizeof(double) : work->stride;
        if ((!in_place && pack_block(pass, start + first, n, work)) ||
            curves_of_block(0, pass, x, stride, n, target, work)) {
            pass->settle(pass, start + first, n, target, work);
            x = work->block;
            stride = work->stride;
            curves_of_block(1, pass, x, stride, n, target, work);
        }
        add_gradient(x, stride, n, d, work->residual, work->gradient);
        if (pass->hessian) {
            pack_roots(x, stride, n, d, pass->intercept > 0, work, work->columns + packed);
            packed += n;
            if (packed == PACK_ROWS || first + n == rows) {
                flush_columns(pass, packed, work, data);
                packed = 0;
            }
        }
    }
}
