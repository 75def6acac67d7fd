/* Margins to clipped residuals, in whole numbers. What rounds (curve, clip) is one fixed sequence without fused
   multiply-add, the same on every path. */
#include "tile_knots.h"
#include "tile_pack.h"

/* 1 / (1 + e^v) for margins v in squared grid units, in place. In single precision: far closer than residuals are
   rounded to, at half the cost. */
INLINE void sigmoids_of_minus(const int count, vec *v)
{
    const singles rounder = all_singles(ROUNDER_SINGLE), limit = all_singles(STEEPEST), one = all_singles(1.0f);
    const int pairs = count / 2;
    singles r[MOST_VECTORS / 2], shifted[MOST_VECTORS / 2], s[MOST_VECTORS / 2], p[MOST_VECTORS / 2];
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
    const int form = pass->knots.form, signs = kind == KNOTTED && form == OF_MARGIN;
    const int labels = kind == LOGISTIC || kind == HUBER_SVM || signs;
    vec size[MOST_VECTORS];
    if (kind != LOGISTIC) EACH(k, count) m[k] *= all(1.0 / SQUARED_GRID);
    EACH(k, count) {
        if (labels) {
            size[k] = (vec)((mask)m[k] ^ ((mask)of_rows(lanes, at[k].inverse) & INT64_MIN));
        } else {
            if (kind != KNOTTED || form == OF_RESIDUAL) m[k] -= of_rows(lanes, at[k].target);
            size[k] = m[k];
            if (kind != KNOTTED) size[k] = magnitude(m[k]);
        }
    }
    if (kind == LOGISTIC) sigmoids_of_minus(count, size);
    EACH(k, count) {
        if (kind == HUBER_SVM) {
            const vec raw = ((all(1.0) - size[k]) + all(pass->width)) * all(pass->slope);
            size[k] = at_least(at_most(raw, all(1.0)), all(0.0));
        }
        if (kind == HUBER_RESIDUAL) size[k] = at_most(size[k], all(pass->width));
        if (kind == KNOTTED) {
            vec slope = slope_at(piece_of(&pass->knots, size[k]));
            if (form == OF_FAMILY) slope -= of_rows(lanes, at[k].target);
            m[k] = slope;
            if (signs) m[k] = (vec)((mask)slope ^ ((mask)of_rows(lanes, at[k].inverse) & INT64_MIN));
            size[k] = magnitude(slope);
        }
    }
    EACH(k, count) {
        const vec inverse = of_rows(lanes, at[k].inverse), cap = of_models(lanes, at[k].clip) * magnitude(inverse);
        size[k] = truncated(at_most(size[k] * of_models(lanes, at[k].per_unit), cap));
        m[k] = with_sign(size[k], labels && !signs ? negated(inverse) : m[k]);
    }
}

/* Residuals times the weights of their rows, truncated: one rounding, no more than the product. */
INLINE vec weighted(vec residual, vec weight)
{
    return with_sign(truncated(magnitude(residual) * weight), residual);
}

INLINE void residuals_of_vectors(const int kind, const int count, const ClipPass *pass, const double *inverse,
                                 const double *target, const ClipModel *model, double *residual)
{
    Place at[MOST_VECTORS];
    vec m[MOST_VECTORS];
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

/* Multiply the residuals of a block by weights; what is behind the last one stays zero. */
static void weigh_residuals(const ClipPass *pass, ptrdiff_t start, ptrdiff_t rows, double *residual)
{
    double weights[MOST_BLOCK_ROWS + 8];
    ptrdiff_t i = 0;
    for (; i < rows; ++i) weights[i] = pass->weights[row_number(pass, start + i)];
    for (; i % LANES; ++i) weights[i] = 0.0;
    for (i = 0; i < rows; i += LANES) store(residual + i, weighted(load(residual + i), load(weights + i)));
}
