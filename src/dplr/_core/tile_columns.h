/* Sums of clipped gradients over rows of few entries that are kept by columns in tiles: lanes are rows.

For any number of models. Everything added is a whole number: the sums are those of tile_clip.h in every bit. */
#include "tile_clip.h"

/* Vectors worked on together: one's operations fill the other's latencies. */
#define TOGETHER 4

/* Tiles whose columns stay in the L1 cache while one model after another reads them. */
#define TILES_AT_ONCE 4

/* Add the gradients of tiles of rows at one model to `sums`, a vector for each feature and one for the residuals. */
INLINE void add_tiles(const int form, const int kind, const ClipPass *pass, const void *x, ptrdiff_t tiles,
                      const double *inverse, const double *target, const ClipModel *model, double *sums)
{
    const ptrdiff_t d = pass->X.d;
    const vec per_unit = all(model->per_unit), clip = all(model->clip);
    const vec shift = all(pass->q > d ? pass->constants[d] * model->coef[d] : 0.0);
    vec residuals = load(sums + d * LANES);
    for (ptrdiff_t i = 0; i < tiles * TILE_ROWS; i += TOGETHER * LANES) {
        const ptrdiff_t place = i / TILE_ROWS * TILE_ROWS * d + i % TILE_ROWS;
        vec rows[TOGETHER] = {shift, shift, shift, shift};
        for (ptrdiff_t j = 0; j < d; ++j) {
            const vec coef = all(model->coef[j]);
#pragma GCC unroll 4
            for (int v = 0; v < TOGETHER; ++v)
                rows[v] = multiply_add(entry_of(form, x, place + j * TILE_ROWS + v * LANES), coef, rows[v]);
        }
#pragma GCC unroll 4
        for (int v = 0; v < TOGETHER; ++v) {
            rows[v] = clipped_residual(kind, pass, rows[v] * all(1.0 / SQUARED_GRID), load(inverse + i + v * LANES),
                                       load(target + i + v * LANES), per_unit, clip);
            residuals += rows[v];
        }
        for (ptrdiff_t j = 0; j < d; ++j) {
            vec sum = load(sums + j * LANES);
#pragma GCC unroll 4
            for (int v = 0; v < TOGETHER; ++v)
                sum = multiply_add(entry_of(form, x, place + j * TILE_ROWS + v * LANES), rows[v], sum);
            store(sums + j * LANES, sum);
        }
    }
    store(sums + d * LANES, residuals);
}

INLINE void add_tiles_of(const int form, const ClipPass *pass, const void *x, ptrdiff_t tiles, const double *inverse,
                         const double *target, const ClipModel *model, double *sums)
{
    switch (pass->kind) {
    case LOGISTIC: add_tiles(form, LOGISTIC, pass, x, tiles, inverse, target, model, sums); break;
    case HUBER_SVM: add_tiles(form, HUBER_SVM, pass, x, tiles, inverse, target, model, sums); break;
    case SQUARED: add_tiles(form, SQUARED, pass, x, tiles, inverse, target, model, sums); break;
    default: add_tiles(form, HUBER_RESIDUAL, pass, x, tiles, inverse, target, model, sums);
    }
}

/* For one model entries are converted as they are read, for several once. */
static void add_tiles_of_models(const ClipPass *pass, const float *x, ptrdiff_t tiles, const double *inverse,
                                const double *target, const ClipModel *models, ptrdiff_t count, double *sums)
{
    _Alignas(64) double wide[TILES_AT_ONCE * TILE_ROWS * MOST_COLUMNS];
    if (count == 1) {
        add_tiles_of(SINGLE, pass, x, tiles, inverse, target, models, sums);
        return;
    }
    for (ptrdiff_t k = 0; k < tiles * TILE_ROWS * pass->X.d; k += LANES) store(wide + k, load_single(x + k));
    for (ptrdiff_t m = 0; m < count; ++m, sums += (pass->X.d + 1) * LANES)
        add_tiles_of(PLAIN, pass, wide, tiles, inverse, target, models + m, sums);
}

/* Write the sums of clipped gradients of rows [start, start + rows) to `gradients`, (count, q); `sums` is scratch:
   (count, d + 1) vectors. */
static void add_columns(const ClipPass *pass, ptrdiff_t start, ptrdiff_t rows, const ClipModel *models, ptrdiff_t count,
                        double *sums, double *gradients)
{
    const ptrdiff_t d = pass->X.d, end = start + rows;
    double inverses[TILE_ROWS], targets[TILE_ROWS];
    memset(sums, 0, (size_t)(count * (d + 1) * LANES) * sizeof(double));
    for (ptrdiff_t first = start / TILE_ROWS * TILE_ROWS, tiles; first < end; first += tiles * TILE_ROWS) {
        const double *inverse = pass->inverse + first, *target = pass->target ? pass->target + first : inverse;
        tiles = first < start ? 0 : (end - first) / TILE_ROWS;
        if (tiles > TILES_AT_ONCE) tiles = TILES_AT_ONCE;
        if (tiles == 0) {    /* a part of one: the other rows count as zero */
            for (ptrdiff_t i = 0; i < TILE_ROWS; ++i) {
                const int inside = start <= first + i && first + i < end;
                inverses[i] = inside ? inverse[i] : 0.0;
                targets[i] = inside ? target[i] : 0.0;
            }
            inverse = inverses;
            target = targets;
            tiles = 1;
        }
        add_tiles_of_models(pass, pass->columns + first * d, tiles, inverse, target, models, count, sums);
    }
    for (ptrdiff_t m = 0; m < count; ++m, sums += (d + 1) * LANES)
        for (ptrdiff_t j = 0; j < pass->q; ++j)
            gradients[m * pass->q + j] = lanes_total(load(sums + j * LANES)) * (j == d ? pass->constants[d] : 1.0);
}
