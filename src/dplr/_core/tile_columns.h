/* Sums of clipped gradients over rows of few entries, kept by columns in tiles: lanes are rows, for any number of models.

Everything added is a whole number: the sums are those of tile_clip.h in every bit. */
#include "tile_clip.h"

/* Vectors worked on together: one's operations fill the other's latencies. */
#define TOGETHER 4

/* Add a tile's gradients of one model to `sums`, a vector for each feature and one for the residuals. */
INLINE void add_tile(const int form, const int kind, const ClipPass *pass, const void *tile, const double *inverse,
                     const double *target, const ClipModel *model, double *sums)
{
    const ptrdiff_t d = pass->X.d;
    const vec per_unit = all(model->per_unit), clip = all(model->clip);
    const vec shift = all(pass->q > d ? pass->constants[d] * model->coef[d] : 0.0);
    for (ptrdiff_t i = 0; i < TILE_ROWS; i += TOGETHER * LANES) {
        vec rows[TOGETHER] = {shift, shift, shift, shift};
        for (ptrdiff_t j = 0; j < d; ++j) {
            const vec coef = all(model->coef[j]);
#pragma GCC unroll 4
            for (int v = 0; v < TOGETHER; ++v)
                rows[v] = multiply_add(entry_of(form, tile, j * TILE_ROWS + i + v * LANES), coef, rows[v]);
        }
        vec sum = load(sums + d * LANES);
#pragma GCC unroll 4
        for (int v = 0; v < TOGETHER; ++v) {
            rows[v] = clipped_residual(kind, pass, rows[v] * all(1.0 / SQUARED_GRID), load(inverse + i + v * LANES),
                                       load(target + i + v * LANES), per_unit, clip);
            sum += rows[v];
        }
        store(sums + d * LANES, sum);
        for (ptrdiff_t j = 0; j < d; ++j) {
            sum = load(sums + j * LANES);
#pragma GCC unroll 4
            for (int v = 0; v < TOGETHER; ++v)
                sum = multiply_add(entry_of(form, tile, j * TILE_ROWS + i + v * LANES), rows[v], sum);
            store(sums + j * LANES, sum);
        }
    }
}

INLINE void add_tile_of(const int form, const ClipPass *pass, const void *tile, const double *inverse, const double *target,
                        const ClipModel *model, double *sums)
{
    switch (pass->kind) {
    case LOGISTIC: add_tile(form, LOGISTIC, pass, tile, inverse, target, model, sums); break;
    case HUBER_SVM: add_tile(form, HUBER_SVM, pass, tile, inverse, target, model, sums); break;
    case SQUARED: add_tile(form, SQUARED, pass, tile, inverse, target, model, sums); break;
    default: add_tile(form, HUBER_RESIDUAL, pass, tile, inverse, target, model, sums);
    }
}

static void add_kept_tile(const ClipPass *pass, const float *tile, const double *inverse, const double *target,
                          const ClipModel *model, double *sums)
{
    add_tile_of(SINGLE, pass, tile, inverse, target, model, sums);
}

static void add_wide_tile(const ClipPass *pass, const double *tile, const double *inverse, const double *target,
                          const ClipModel *model, double *sums)
{
    add_tile_of(PLAIN, pass, tile, inverse, target, model, sums);
}

/* Write the sums of clipped gradients of rows [start, start + rows) to `gradients`, (count, q);
   `sums` is scratch: (count, d + 1) vectors. */
static void add_columns(const ClipPass *pass, ptrdiff_t start, ptrdiff_t rows, const ClipModel *models, ptrdiff_t count,
                        double *sums, double *gradients)
{
    const ptrdiff_t d = pass->X.d, end = start + rows, size = (d + 1) * LANES;
    double inverses[TILE_ROWS], targets[TILE_ROWS], wide[MOST_COLUMNS * TILE_ROWS];
    memset(sums, 0, (size_t)(count * size) * sizeof(double));
    for (ptrdiff_t first = start / TILE_ROWS * TILE_ROWS; first < end; first += TILE_ROWS) {
        const double *inverse = pass->inverse + first, *target = pass->target ? pass->target + first : inverse;
        if (first < start || first + TILE_ROWS > end) {    /* the others count as zero */
            for (ptrdiff_t i = 0; i < TILE_ROWS; ++i) {
                const int inside = start <= first + i && first + i < end;
                inverses[i] = inside ? inverse[i] : 0.0;
                targets[i] = inside ? target[i] : 0.0;
            }
            inverse = inverses;
            target = targets;
        }
        const float *tile = pass->columns + first * d;
        if (count == 1) {
            add_kept_tile(pass, tile, inverse, target, models, sums);
            continue;
        }
        for (ptrdiff_t k = 0; k < d * TILE_ROWS; k += LANES) store(wide + k, load_single(tile + k));
        for (ptrdiff_t m = 0; m < count; ++m)
            add_wide_tile(pass, wide, inverse, target, models + m, sums + m * size);
    }
    for (ptrdiff_t m = 0; m < count; ++m) {
        const double *sum = sums + m * size;
        for (ptrdiff_t j = 0; j < pass->q; ++j)
            gradients[m * pass->q + j] = lanes_total(load(sum + j * LANES)) * (j == d ? pass->constants[d] : 1.0);
    }
}
