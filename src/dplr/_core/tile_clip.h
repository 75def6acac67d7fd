/* Bounded rows on the grid and the sum of their clipped gradients, in whole numbers.

Products and sums are exact, so their order is free; everything that rounds (snap, curve, clip) is one fixed sequence
without fused multiply-add, the same on every path. */
#include "clip.h"
#include "tile_many.h"

/* How entries of a row lie in memory, and how a row is bounded. */
enum { DOUBLES, SINGLES, SCATTERED };
enum { BALL, SCALED_BALL, BOX, CUBE };

/* Entries [j, j + count) of a row, zeros behind them. */
INLINE vec entries(const int layout, const Rows *X, const char *row, ptrdiff_t j, ptrdiff_t count, Some some)
{
    if (layout == DOUBLES) {
        const double *place = (const double *)row + j;
        return count == LANES ? load(place) : load_some(some, place);
    }
    if (layout == SINGLES && count == LANES) return load_single((const float *)row + j);
    double buffer[LANES] = {0};
    for (ptrdiff_t k = 0; k < count; ++k) buffer[k] = read_one(row + (j + k) * X->column_stride, X->single);
    return load(buffer);
}

/* Entries in grid units. In a box `excess` grows by how far they were outside, in a scaled ball a NaN is bounded too. */
INLINE vec on_grid(const int bounds, const ClipPass *pass, ptrdiff_t j, vec raw, double scale, vec *excess)
{
    const Map *map = &pass->map;
    if (bounds == BOX || bounds == CUBE) {
        vec v = (raw - load(map->shift + j)) * load(map->scale + j);
        vec high = bounds == CUBE ? all(pass->cube) : load(map->high + j);
        vec clamped = at_least(at_most(v, high), bounds == CUBE ? negated(high) : load(map->low + j));
        *excess += magnitude(v - clamped);
        return to_nearest(clamped);
    }
    if (bounds == BALL) return to_nearest(raw * all(GRID));
    return to_nearest(at_least(at_most(raw * all(scale), all(GRID)), all(-GRID)));
}

INLINE int64_t row_number(const ClipPass *pass, ptrdiff_t i) { return pass->index ? pass->index[i] : i; }

/* Pack rows [start, start + rows); per row, optionally, its product with coef, its squared norm without the constant
   and its excess. `vectors`, the whole vectors of features, is a constant of the caller where there are few. */
INLINE void pack_rows_on_grid(const int layout, const int bounds, const ptrdiff_t vectors, const ClipPass *pass,
                              ptrdiff_t start, ptrdiff_t rows, const double *coef, double *block, double *product,
                              double *squared_norm, double *excess)
{
    const Rows *X = &pass->X;
    const ptrdiff_t d = X->d, stride = pass->stride, rest = d - vectors * LANES;
    const int tail = vectors * LANES < pass->q;
    const Some some = first_lanes(rest);
    const vec constant = tail ? load(pass->constants + vectors * LANES) : all(0.0);
    for (ptrdiff_t i = 0; i < rows; i += LANES) {
        vec products[LANES], squares[LANES], outside[LANES];
#pragma GCC unroll 8
        for (int k = 0; k < LANES; ++k) {
            const ptrdiff_t r = i + k < rows ? i + k : rows - 1;
            const int64_t number = row_number(pass, start + r);
            const char *row = X->data + number * X->row_stride;
            const double scale = bounds == SCALED_BALL ? pass->scale[number] : GRID;
            double *out = block + r * stride;
            products[k] = squares[k] = outside[k] = all(0.0);
            for (ptrdiff_t j = 0; j < vectors * LANES; j += LANES) {
                vec v = on_grid(bounds, pass, j, entries(layout, X, row, j, LANES, some), scale, &outside[k]);
                store(out + j, v);
                if (coef) products[k] = multiply_add(v, load(coef + j), products[k]);
                if (squared_norm) squares[k] = multiply_add(v, v, squares[k]);
            }
            if (tail) {
                const ptrdiff_t j = vectors * LANES;
                vec v = on_grid(bounds, pass, j, entries(layout, X, row, j, rest, some), scale, &outside[k]);
                if (squared_norm) squares[k] = multiply_add(v, v, squares[k]);
                v += constant;
                store(out + j, v);
                if (coef) products[k] = multiply_add(v, load(coef + j), products[k]);
            }
        }
        if (coef) store(product + i, lane_sums(products));
        if (squared_norm) store(squared_norm + i, lane_sums(squares));
        if (excess) store(excess + i, lane_sums(outside));
    }
}

/* So many rows ahead memory is asked for what chosen rows hold: the CPU cannot guess where they are. A row is asked for
   line by line while another one is worked on; more at once would wait for each other. Measured. */
#define ROWS_AHEAD 12
#define SINGLES_A_LINE 16

/* Rows that are kept, the first of `left`, and their products with coef where there is one. */
static void unpack_kept(const ClipPass *pass, ptrdiff_t start, ptrdiff_t rows, ptrdiff_t left, const double *coef,
                        double *block, double *product)
{
    const ptrdiff_t whole = (pass->q + LANES - 1) / LANES * LANES, stride = pass->stride;
    const float *kept = pass->kept;
    for (ptrdiff_t i = 0; i < rows; i += LANES) {
        vec products[LANES];
        EACH(k, LANES) {
            const ptrdiff_t r = i + k < rows ? i + k : rows - 1, next = r + ROWS_AHEAD < left ? r + ROWS_AHEAD : r;
            const float *row = kept + row_number(pass, start + r) * stride;
            const float *later = kept + row_number(pass, start + next) * stride;
            double *out = block + r * stride;
            vec sum = all(0.0);
            for (ptrdiff_t j = 0; j < whole; j += LANES) {
                const vec v = load_single(row + j);
                if (j % SINGLES_A_LINE == 0) __builtin_prefetch(later + j);
                store(out + j, v);
                if (coef) sum = multiply_add(v, load(coef + j), sum);
            }
            products[k] = sum;
        }
        if (coef) store(product + i, lane_sums(products));
    }
}

/* Few vectors have a loop each, in which the coefficients stay in registers. */
INLINE void pack_as(const int layout, const int bounds, const ClipPass *pass, ptrdiff_t start, ptrdiff_t rows,
                    const double *coef, double *block, double *product)
{
    switch (layout == DOUBLES ? pass->X.d / LANES : -1) {
    case 0: pack_rows_on_grid(layout, bounds, 0, pass, start, rows, coef, block, product, NULL, NULL); break;
    case 1: pack_rows_on_grid(layout, bounds, 1, pass, start, rows, coef, block, product, NULL, NULL); break;
    case 2: pack_rows_on_grid(layout, bounds, 2, pass, start, rows, coef, block, product, NULL, NULL); break;
    case 3: pack_rows_on_grid(layout, bounds, 3, pass, start, rows, coef, block, product, NULL, NULL); break;
    default:
        pack_rows_on_grid(layout, bounds, pass->X.d / LANES, pass, start, rows, coef, block, product, NULL, NULL);
    }
}

INLINE int layout_of(const Rows *X)
{
    if (X->single) return X->column_stride == sizeof(float) ? SINGLES : SCATTERED;
    return X->column_stride == sizeof(double) ? DOUBLES : SCATTERED;
}

INLINE void pack_bounded(const int bounds, const ClipPass *pass, ptrdiff_t start, ptrdiff_t rows, const double *coef,
                         double *block, double *product)
{
    switch (layout_of(&pass->X)) {
    case DOUBLES: pack_as(DOUBLES, bounds, pass, start, rows, coef, block, product); break;
    case SINGLES: pack_as(SINGLES, bounds, pass, start, rows, coef, block, product); break;
    default: pack_as(SCATTERED, bounds, pass, start, rows, coef, block, product);
    }
}

/* The first rows of `left`. */
static void pack_with_margins(const ClipPass *pass, ptrdiff_t start, ptrdiff_t rows, ptrdiff_t left, const double *coef,
                              double *block, double *product)
{
    if (pass->kept)
        unpack_kept(pass, start, rows, left, coef, block, product);
    else if (pass->map.box && pass->cube > 0)
        pack_bounded(CUBE, pass, start, rows, coef, block, product);
    else if (pass->map.box)
        pack_bounded(BOX, pass, start, rows, coef, block, product);
    else if (pass->scale)
        pack_bounded(SCALED_BALL, pass, start, rows, coef, block, product);
    else
        pack_bounded(BALL, pass, start, rows, coef, block, product);
}

/* Squared norms in grid units, without the constant, and how far rows are outside their box; whole vectors of each. */
static void measure_rows(const ClipPass *pass, ptrdiff_t start, ptrdiff_t rows, double *block, double *squared_norm,
                         double *excess)
{
    const ptrdiff_t vectors = pass->X.d / LANES;
    const int layout = layout_of(&pass->X);
#define MEASURE(layout, bounds)                                                                                       \
    pack_rows_on_grid(layout, bounds, vectors, pass, start, rows, NULL, block, NULL, squared_norm, excess)
    if (layout == DOUBLES) {
        if (pass->map.box) MEASURE(DOUBLES, BOX);
        else if (pass->scale) MEASURE(DOUBLES, SCALED_BALL);
        else MEASURE(DOUBLES, BALL);
    } else {
        if (pass->map.box) MEASURE(SCATTERED, BOX);
        else if (pass->scale) MEASURE(SCATTERED, SCALED_BALL);
        else MEASURE(SCATTERED, BALL);
    }
#undef MEASURE
}

/* 1 / (1 + e^v) for margins v in squared grid units, in place. In single precision: far closer than residuals are
   rounded to, at half the cost. */
INLINE void sigmoids_of_minus(const int count, vec *v)
{
    const singles rounder = all_singles(ROUNDER_SINGLE), limit = all_singles(STEEPEST), one = all_singles(1.0f);
    const int pairs = count / 2;
    singles r[4], shifted[4], s[4], p[4];
    EACH(k, pairs) r[k] = narrowed(v + 2 * k) * all_singles(LOG2_OF_E * (float)(1.0 / SQUARED_GRID));
    EACH(k, pairs) r[k] = between(r[k], -limit, limit);
    EACH(k, pairs) shifted[k] = r[k] + rounder;
    EACH(k, pairs) r[k] = r[k] - (shifted[k] - rounder);
    EACH(k, pairs) p[k] = all_singles(POWER_5) * r[k] + all_singles(POWER_4);
    EACH(k, pairs) s[k] = r[k] * r[k];
    EACH(k, pairs) p[k] = p[k] * s[k] + (all_singles(POWER_3) * r[k] + all_singles(POWER_2));
    EACH(k, pairs) p[k] = p[k] * s[k] + (all_singles(POWER_1) * r[k] + one);
    EACH(k, pairs) p[k] = (singles)((singles_mask)p[k] + ((singles_mask)shifted[k] << 23)); /* the whole part of r */
    EACH(k, pairs) p[k] = one / (one + p[k]);
    EACH(k, pairs) widened(p[k], v + 2 * k);
}

INLINE vec with_sign(vec size, vec sign) { return (vec)((mask)size | ((mask)sign & INT64_MIN)); }

/* What the lanes of a vector are, and where the numbers of its rows and models lie: side by side along the lanes. */
enum { LANES_ARE_ROWS, LANES_ARE_MODELS };
typedef struct { const double *inverse, *target, *per_unit, *clip; } Place;
INLINE vec of_rows(const int lanes, const double *p) { return lanes == LANES_ARE_ROWS ? load(p) : all(*p); }
INLINE vec of_models(const int lanes, const double *p) { return lanes == LANES_ARE_ROWS ? all(*p) : load(p); }

/* Margins in squared grid units become dl/dm, clipped to clip * |inverse| and truncated: whole residual units. `count`,
   an even constant, vectors side by side. */
INLINE void clipped_residuals(const int kind, const int lanes, const int count, const ClipPass *pass, const Place *at,
                              vec *m)
{
    const int labels = kind == LOGISTIC || kind == HUBER_SVM;
    vec size[8];
    if (kind != LOGISTIC) EACH(k, count) m[k] *= all(1.0 / SQUARED_GRID);
    EACH(k, count) {
        if (labels) {
            size[k] = (vec)((mask)m[k] ^ ((mask)of_rows(lanes, at[k].inverse) & INT64_MIN));
        } else {
            m[k] -= of_rows(lanes, at[k].target);
            size[k] = magnitude(m[k]);
        }
    }
    if (kind == LOGISTIC) sigmoids_of_minus(count, size);
    EACH(k, count) {
        if (kind == HUBER_SVM) {
            const vec raw = ((all(1.0) - size[k]) + all(pass->width)) * all(pass->slope);
            size[k] = at_least(at_most(raw, all(1.0)), all(0.0));
        }
        if (kind == HUBER_RESIDUAL) size[k] = at_most(size[k], all(pass->width));
    }
    EACH(k, count) {
        const vec inverse = of_rows(lanes, at[k].inverse), cap = of_models(lanes, at[k].clip) * magnitude(inverse);
        size[k] = truncated(at_most(size[k] * of_models(lanes, at[k].per_unit), cap));
        m[k] = with_sign(size[k], labels ? negated(inverse) : m[k]);
    }
}

INLINE void residuals_of_vectors(const int kind, const int count, const ClipPass *pass, const double *inverse,
                                 const double *target, const ClipModel *model, double *residual)
{
    Place at[8];
    vec m[8];
    EACH(k, count) {
        at[k] = (Place){inverse + k * LANES, target + k * LANES, &model->per_unit, &model->clip};
        m[k] = load(residual + k * LANES);
    }
    clipped_residuals(kind, LANES_ARE_ROWS, count, pass, at, m);
    EACH(k, count) store(residual + k * LANES, m[k]);
}

/* Zeros follow the last one, up to a whole pair of vectors. */
INLINE void residuals_of_model(const int kind, const ClipPass *pass, ptrdiff_t start, ptrdiff_t rows,
                               const ClipModel *model, double *residual)
{
    double inverses[MOST_BLOCK_ROWS + 8], targets[MOST_BLOCK_ROWS + 8];
    const double *inverse = pass->inverse + start, *target = pass->target ? pass->target + start : inverse;
    ptrdiff_t i = 0;
    if (pass->index || rows % (2 * LANES)) {    /* not side by side, or not in whole pairs */
        const ptrdiff_t whole = (rows + 2 * LANES - 1) / (2 * LANES) * (2 * LANES);
        for (; i < rows; ++i) {
            inverses[i] = pass->inverse[row_number(pass, start + i)];
            targets[i] = pass->target ? pass->target[row_number(pass, start + i)] : 0.0;
        }
        for (; i < whole; ++i) inverses[i] = targets[i] = 0.0;
        inverse = inverses;
        target = targets;
    }
    for (i = 0; i + 2 * LANES < rows; i += 4 * LANES)
        residuals_of_vectors(kind, 4, pass, inverse + i, target + i, model, residual + i);
    if (i < rows) residuals_of_vectors(kind, 2, pass, inverse + i, target + i, model, residual + i);
}

/* Measured. */
INLINE ptrdiff_t clip_block_rows(ptrdiff_t d) { return d >= 96 ? 16 : 32; }

/* Ask for the rows that entries [from, from + count) of the index name. */
INLINE void prefetch_chosen(const ClipPass *pass, ptrdiff_t from, ptrdiff_t count)
{
    const Rows *X = &pass->X;
    if (!pass->index || pass->kept || layout_of(X) == SCATTERED) return;
    const ptrdiff_t bytes = X->d * (ptrdiff_t)(X->single ? sizeof(float) : sizeof(double));
    for (ptrdiff_t i = from; i < from + count; ++i) prefetch_bytes(X->data + pass->index[i] * X->row_stride, bytes);
}

static void add_rounded_gradient(const double *x, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t d,
                                 const double *residual, double *gradient)
{
    add_gradient_of(ROUNDED, x, stride, rows, d, residual, gradient);
}

static void add_kept_gradient(const float *x, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t d, const double *residual,
                              double *gradient)
{
    add_gradient_of(SINGLE, x, stride, rows, d, residual, gradient);
}

static void residuals_of_block(const ClipPass *pass, ptrdiff_t from, ptrdiff_t rows, const ClipModel *model,
                               double *residual)
{
    switch (pass->kind) {
    case LOGISTIC: residuals_of_model(LOGISTIC, pass, from, rows, model, residual); break;
    case HUBER_SVM: residuals_of_model(HUBER_SVM, pass, from, rows, model, residual); break;
    case SQUARED: residuals_of_model(SQUARED, pass, from, rows, model, residual); break;
    default: residuals_of_model(HUBER_RESIDUAL, pass, from, rows, model, residual);
    }
}

/* Rows that need only rounding are used where they lie; work->gradient is empty on entry. */
static void add_clipped_in_place(const ClipPass *pass, ptrdiff_t start, ptrdiff_t rows, const ClipModel *model,
                                 const ClipWork *work)
{
    const ptrdiff_t d = pass->X.d, step = clip_block_rows(d), stride = pass->X.row_stride / (ptrdiff_t)sizeof(double);
    const double constant = pass->q > d ? pass->constants[d] : 0.0, shift = constant * model->coef[d < pass->q ? d : 0];
    vec residuals = all(0.0);
    for (ptrdiff_t first = 0; first < rows; first += step) {
        const ptrdiff_t n = rows - first < step ? rows - first : step, from = start + first;
        const double *x = (const double *)(pass->X.data + from * pass->X.row_stride);
        dots_of_block(0, ROUNDED, x, stride, n, d, model->coef, work->residual, NULL);
        for (ptrdiff_t i = 0; i < n; i += LANES)
            store(work->residual + i, load(work->residual + i) * all(GRID) + all(shift));
        residuals_of_block(pass, from, n, model, work->residual);
        for (ptrdiff_t i = 0; i < n; i += LANES) residuals += load(work->residual + i);    /* zeros behind the last */
        add_rounded_gradient(x, stride, n, d, work->residual, work->gradient);
    }
    for (ptrdiff_t j = 0; j < d; ++j) work->gradient[j] *= GRID;
    if (pass->q > d) work->gradient[d] = lanes_total(residuals) * constant;
}

/* Rows that are kept in whole grid units. */
static void add_clipped_of_kept(const ClipPass *pass, ptrdiff_t start, ptrdiff_t rows, const ClipModel *model,
                                const ClipWork *work)
{
    const ptrdiff_t step = pass->q >= 32 ? 16 : 32, whole = (pass->q + LANES - 1) / LANES * LANES;
    for (ptrdiff_t first = 0; first < rows; first += step) {
        const ptrdiff_t n = rows - first < step ? rows - first : step, from = start + first;
        const float *x = pass->kept + from * pass->stride;
        dots_of_block(0, SINGLE, x, pass->stride, n, whole, model->coef, work->residual, NULL);
        residuals_of_block(pass, from, n, model, work->residual);
        add_kept_gradient(x, pass->stride, n, whole, work->residual, work->gradient);
    }
}

/* Add the clipped gradients of rows [start, start + rows), or of so many of the index, to work->gradient. */
static void add_clipped(const ClipPass *pass, ptrdiff_t start, ptrdiff_t rows, const ClipModel *model,
                        const ClipWork *work)
{
    const ptrdiff_t step = clip_block_rows(pass->X.d), whole = (pass->q + LANES - 1) / LANES * LANES;
    if (pass->kept && !pass->index) {
        add_clipped_of_kept(pass, start, rows, model, work);
        return;
    }
    if (!pass->map.box && !pass->scale && !pass->index && layout_of(&pass->X) == DOUBLES &&
        pass->X.row_stride % (ptrdiff_t)sizeof(double) == 0) {
        add_clipped_in_place(pass, start, rows, model, work);
        return;
    }
    for (ptrdiff_t first = 0; first < rows; first += step) {
        const ptrdiff_t n = rows - first < step ? rows - first : step, from = start + first, left = rows - first - n;
        prefetch_chosen(pass, from + n, left < step ? left : step);
        pack_with_margins(pass, from, n, rows - first, model->coef, work->block, work->residual);
        residuals_of_block(pass, from, n, model, work->residual);
        add_gradient(work->block, pass->stride, n, whole, work->residual, work->gradient);
    }
}

INLINE void residuals_of_panel(const int kind, const ClipPass *pass, ptrdiff_t from, ptrdiff_t rows,
                               const ClipPanel *panel)
{
    const double none = 0.0;
    for (ptrdiff_t i = 0; i < rows; ++i) {
        const int64_t number = row_number(pass, from + i);
        const double *inverse = pass->inverse + number, *target = pass->target ? pass->target + number : &none;
        for (ptrdiff_t first = 0; first < PANEL_MODELS; first += 4 * LANES) {
            double *place = panel->margins + i * PANEL_MODELS + first;
            Place at[4];
            vec m[4];
            EACH(k, 4) {
                const ptrdiff_t model = first + k * LANES;
                at[k] = (Place){inverse, target, panel->per_unit + model, panel->clip + model};
                m[k] = load(place + k * LANES);
            }
            clipped_residuals(kind, LANES_ARE_MODELS, 4, pass, at, m);
            EACH(k, 4) store(place + k * LANES, m[k]);
        }
    }
}

/* The same for panels of models: rows are packed once. */
static void add_clipped_many(const ClipPass *pass, ptrdiff_t start, ptrdiff_t rows, const ClipPanel *panels,
                             ptrdiff_t count, double *block)
{
    for (ptrdiff_t first = 0; first < rows; first += MOST_BLOCK_ROWS) {
        const ptrdiff_t n = rows - first < MOST_BLOCK_ROWS ? rows - first : MOST_BLOCK_ROWS, from = start + first;
        pack_with_margins(pass, from, n, rows - first, NULL, block, NULL);
        for (const ClipPanel *panel = panels; panel < panels + count; ++panel) {
            product(0, block, pass->stride, 1, n, pass->q, panel->coefs, panel->margins);
            switch (pass->kind) {
            case LOGISTIC: residuals_of_panel(LOGISTIC, pass, from, n, panel); break;
            case HUBER_SVM: residuals_of_panel(HUBER_SVM, pass, from, n, panel); break;
            case SQUARED: residuals_of_panel(SQUARED, pass, from, n, panel); break;
            default: residuals_of_panel(HUBER_RESIDUAL, pass, from, n, panel);
            }
            product(1, block, 1, pass->stride, pass->q, n, panel->margins, panel->gradients);
        }
    }
}
