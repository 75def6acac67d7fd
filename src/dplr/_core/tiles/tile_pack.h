/* Bounded rows on the grid, packed in blocks, with their margins. What rounds is one fixed sequence without fused
   multiply-add, the same on every path. */
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

/* Ask for the rows that entries [from, from + count) of the index name. */
INLINE void prefetch_chosen(const ClipPass *pass, ptrdiff_t from, ptrdiff_t count)
{
    const Rows *X = &pass->X;
    if (!pass->index || pass->kept || layout_of(X) == SCATTERED) return;
    const ptrdiff_t bytes = X->d * (ptrdiff_t)(X->single ? sizeof(float) : sizeof(double));
    for (ptrdiff_t i = from; i < from + count; ++i) prefetch_bytes(X->data + pass->index[i] * X->row_stride, bytes);
}
