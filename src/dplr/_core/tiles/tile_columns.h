/* Sums of clipped gradients over rows of few entries that are kept by columns in tiles: lanes are rows.

For any number of models. Everything added is a whole number: the sums are those of tile_clip.h in every bit. */
#include "tile_clip.h"

/* Vectors of rows, and models, worked on together: one's operations fill the other's latencies. */
#define TOGETHER 4
#define MOST_MODELS (MOST > 3 ? 4 : 2)    /* as many as registers hold sums for */

/* Tiles whose columns stay in the L1 cache while one model after another reads them. */
#define TILES_AT_ONCE 4

/* What is known of the rows of tiles, side by side; no weights for ones. */
typedef struct { const double *inverse, *target, *weight; } RowNumbers;

/* Add the gradients of tiles of rows at `count` models, a constant, to `sums`: for each model a vector for each feature
   and one for the residuals. What is read of the rows serves all of them. */
INLINE void add_tiles(const int kind, const int form, const int count, const ClipPass *pass, const void *x,
                      ptrdiff_t tiles, const RowNumbers *of, const ClipModel *models, double *sums)
{
    const ptrdiff_t d = pass->X.d, vectors = (d + 1) * LANES;
    for (ptrdiff_t i = 0; i < tiles * TILE_ROWS; i += TOGETHER * LANES) {
        const ptrdiff_t place = i / TILE_ROWS * TILE_ROWS * d + i % TILE_ROWS;
        vec rows[MOST_MODELS * TOGETHER];
        Place at[MOST_MODELS * TOGETHER];
        EACH(k, count * TOGETHER) {
            const ClipModel *model = models + k / TOGETHER;
            const ptrdiff_t row = i + k % TOGETHER * LANES;
            at[k] = (Place){of->inverse + row, of->target + row, &model->per_unit, &model->clip};
            rows[k] = all(pass->q > d ? pass->constants[d] * model->coef[d] : 0.0);
        }
        for (ptrdiff_t j = 0; j < d; ++j) {
            vec coefs[MOST_MODELS];
            EACH(m, count) coefs[m] = all(models[m].coef[j]);
            EACH(v, TOGETHER) {
                const ptrdiff_t entry = place + j * TILE_ROWS + v * LANES;
                const vec entries = form == PLAIN ? load_once((const double *)x + entry) : entry_of(form, x, entry);
                EACH(m, count) rows[m * TOGETHER + v] = multiply_add(entries, coefs[m], rows[m * TOGETHER + v]);
            }
        }
        clipped_residuals(kind, LANES_ARE_ROWS, count * TOGETHER, pass, at, rows);
        if (of->weight)
            EACH(k, count * TOGETHER) rows[k] = weighted(rows[k], load(of->weight + i + k % TOGETHER * LANES));
        EACH(m, count) {
            vec residuals = load(sums + m * vectors + d * LANES);
            EACH(v, TOGETHER) residuals += rows[m * TOGETHER + v];
            store(sums + m * vectors + d * LANES, residuals);
        }
        for (ptrdiff_t j = 0; j < d; ++j) {
            vec total[MOST_MODELS];
            EACH(m, count) total[m] = load(sums + m * vectors + j * LANES);
            EACH(v, TOGETHER) {
                const ptrdiff_t entry = place + j * TILE_ROWS + v * LANES;
                const vec entries = form == PLAIN ? load_once((const double *)x + entry) : entry_of(form, x, entry);
                EACH(m, count) total[m] = multiply_add(entries, rows[m * TOGETHER + v], total[m]);
            }
            EACH(m, count) store(sums + m * vectors + j * LANES, total[m]);
        }
    }
}

INLINE void add_tiles_of(const int form, const int count, const ClipPass *pass, const void *x, ptrdiff_t tiles,
                         const RowNumbers *of, const ClipModel *models, double *sums)
{
    FOR_CLIPPED_LOSS(pass->kind, add_tiles, form, count, pass, x, tiles, of, models, sums);
}

/* For one model entries are converted as they are read, for several once. */
static void add_tiles_of_models(const ClipPass *pass, const float *x, ptrdiff_t tiles, const RowNumbers *of,
                                const ClipModel *models, ptrdiff_t count, double *sums)
{
    _Alignas(64) double wide[TILES_AT_ONCE * TILE_ROWS * MOST_COLUMNS];
    const ptrdiff_t vectors = (pass->X.d + 1) * LANES;
    if (count == 1) {
        add_tiles_of(SINGLE, 1, pass, x, tiles, of, models, sums);
        return;
    }
    for (ptrdiff_t k = 0; k < tiles * TILE_ROWS * pass->X.d; k += LANES) store(wide + k, load_single(x + k));
    for (; count >= MOST_MODELS; count -= MOST_MODELS, models += MOST_MODELS, sums += MOST_MODELS * vectors)
        add_tiles_of(PLAIN, MOST_MODELS, pass, wide, tiles, of, models, sums);
    for (; count > 0; --count, ++models, sums += vectors)
        add_tiles_of(PLAIN, 1, pass, wide, tiles, of, models, sums);
}

/* Write the sums of clipped gradients of rows [start, start + rows) to `gradients`, (count, q); `sums` is scratch:
   (count, d + 1) vectors. */
static void add_columns(const ClipPass *pass, ptrdiff_t start, ptrdiff_t rows, const ClipModel *models, ptrdiff_t count,
                        double *sums, double *gradients)
{
    const ptrdiff_t d = pass->X.d, end = start + rows;
    double inverses[TILE_ROWS], targets[TILE_ROWS], weights[TILE_ROWS];
    memset(sums, 0, (size_t)(count * (d + 1) * LANES) * sizeof(double));
    for (ptrdiff_t first = start / TILE_ROWS * TILE_ROWS, tiles; first < end; first += tiles * TILE_ROWS) {
        const double *inverse = pass->inverse + first;
        RowNumbers of = {inverse, pass->target ? pass->target + first : inverse,
                         pass->weights ? pass->weights + first : NULL};
        tiles = first < start ? 0 : (end - first) / TILE_ROWS;
        if (tiles > TILES_AT_ONCE) tiles = TILES_AT_ONCE;
        if (tiles == 0) {    /* a part of one: the other rows count as zero */
            for (ptrdiff_t i = 0; i < TILE_ROWS; ++i) {
                const int inside = start <= first + i && first + i < end;
                inverses[i] = inside ? inverse[i] : 0.0;
                targets[i] = inside ? of.target[i] : 0.0;
                weights[i] = inside && of.weight ? of.weight[i] : 0.0;
            }
            of = (RowNumbers){inverses, targets, of.weight ? weights : NULL};
            tiles = 1;
        }
        add_tiles_of_models(pass, pass->columns + first * d, tiles, &of, models, count, sums);
    }
    for (ptrdiff_t m = 0; m < count; ++m, sums += (d + 1) * LANES)
        for (ptrdiff_t j = 0; j < pass->q; ++j)
            gradients[m * pass->q + j] = lanes_total(load(sums + j * LANES)) * (j == d ? pass->constants[d] : 1.0);
}
