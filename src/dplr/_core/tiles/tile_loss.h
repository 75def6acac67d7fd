/* Residuals, gradient and Hessian of a group of rows in one pass: bound, margin, curve, sums.

Rows are read one after another, a small block at a time, so that memory never idles; the block is then in the L1 cache
for the sums. float64 rows in C order are used where they lie, others are packed first. */
#include <math.h>

#include "tile_curves.h"
#include "tile_products.h"

/* What is multiplied into rows: 1 inside the ball, edge / norm outside, which are counted. Rows whose norm is unsure,
   because it is not a number or nearly overflows, make it return 1. */
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
                  ptrdiff_t rows, const double *targets, const double *weights, const LossWork *work)
{
    const Shape shape = shape_of(&pass->shape);
    const vec constant = all(pass->intercept * pass->coef[pass->X.d]);
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
        Curve curve = curve_of(kind, multiply_add(margin, factor, constant), target, &shape, pass->loss);
        vec weight = load(weights + i), residual = choose(here, curve.residual, all(0.0)) * weight;
        residuals += residual;
        store(work->residual + i, residual * factor);
        if (pass->loss) losses += choose(here, curve.loss, all(0.0)) * weight;
        if (pass->hessian) {
            vec root = root_of(choose(here, curve.weight, all(0.0)) * weight);
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
                           ptrdiff_t rows, const double *target, const double *weight, const LossWork *work)
{
    if (settled) return FOR_LOSS(pass->shape.kind, curves, 1, pass, x, stride, rows, target, weight, work);
    return FOR_LOSS(pass->shape.kind, curves, 0, pass, x, stride, rows, target, weight, work);
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
        const double *x = in_place ? (const double *)data : work->block;
        const double *target = work->target + first, *weight = work->weight + first;
        ptrdiff_t stride = in_place ? pass->X.row_stride / (ptrdiff_t)sizeof(double) : work->stride;
        if ((!in_place && pack_block(pass, start + first, n, work)) ||
            curves_of_block(0, pass, x, stride, n, target, weight, work)) {
            pass->settle(pass, start + first, n, target, work);
            x = work->block;
            stride = work->stride;
            curves_of_block(1, pass, x, stride, n, target, weight, work);
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
