/* Load raw rows, bound and snap them into packed columns.

The same fixed sequence as the portable path, without fused multiply-add where it could change a bit; only projection is
quicker, and leaves to the portable path what it might round otherwise. Lanes are rows. */
#include "tile_lanes.h"

/* How the raw rows lie in memory. */
enum { ROW_MAJOR, ANY_ORDER };

/* What becomes of an entry: a whole number of grid units, clamped to the box or not, or grid units not yet rounded. */
enum { TO_GRID, TO_BOX, TO_UNITS };

/* Lines of the next block to fetch while a vector of rows is packed; tiles fetch the rest. Measured. */
#define LINES_A_VECTOR 4
#define VECTORS_A_PIECE (PIECE_BYTES / 64 / LINES_A_VECTOR)

INLINE double read_one(const char *p, const int single)
{
    if (single) {
        float value;
        memcpy(&value, p, sizeof value);
        return value;
    }
    double value;
    memcpy(&value, p, sizeof value);
    return value;
}

/* One entry of each of LANES rows. */
INLINE vec gather(const char *const *row, ptrdiff_t offset, const int single)
{
    vec v;
    for (int k = 0; k < LANES; ++k) v[k] = read_one(row[k] + offset, single);
    return v;
}

#if LANES > 2
/* Entries [0, 2) of LANES rows: even and odd rows apart, as unpacking wants them. */
INLINE vec pairs(const char *const *row, ptrdiff_t offset, const int odd)
{
    const double *a = (const double *)(row[odd] + offset), *b = (const double *)(row[2 + odd] + offset);
    __m256d low = _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(a)), _mm_loadu_pd(b), 1);
#if LANES == 4
    return low;
#else
    const double *c = (const double *)(row[4 + odd] + offset), *d = (const double *)(row[6 + odd] + offset);
    vec v = _mm512_castpd256_pd512(low);
    v = _mm512_mask_broadcast_f64x2(v, 0x30, _mm_loadu_pd(c));
    return _mm512_mask_broadcast_f64x2(v, 0xc0, _mm_loadu_pd(d));
#endif
}

INLINE vec unpack_low(vec a, vec b)
{
#if LANES == 4
    return _mm256_unpacklo_pd(a, b);
#else
    return _mm512_unpacklo_pd(a, b);
#endif
}

INLINE vec unpack_high(vec a, vec b)
{
#if LANES == 4
    return _mm256_unpackhi_pd(a, b);
#else
    return _mm512_unpackhi_pd(a, b);
#endif
}

INLINE void transpose_two(const char *const *row, ptrdiff_t offset, vec *v)
{
    vec even = pairs(row, offset, 0), odd = pairs(row, offset, 1);
    v[0] = unpack_low(even, odd);
    v[1] = unpack_high(even, odd);
}

/* Four float32 entries of each of four rows, transposed. */
INLINE void transpose_singles(const char *const *row, ptrdiff_t offset, __m128 *v)
{
    for (int k = 0; k < 4; ++k) v[k] = _mm_loadu_ps((const float *)(row[k] + offset));
    _MM_TRANSPOSE4_PS(v[0], v[1], v[2], v[3]);
}

/* Four entries of each of LANES rows, transposed: v[k] holds entry k of the rows. */
INLINE void transpose(const char *const *row, ptrdiff_t offset, const int single, vec *v)
{
    if (single) {
        __m128 x[LANES];
        for (int first = 0; first < LANES; first += 4) transpose_singles(row + first, offset, x + first);
        for (int k = 0; k < 4; ++k) {
#if LANES == 4
            v[k] = _mm256_cvtps_pd(x[k]);
#else
            v[k] = _mm512_cvtps_pd(_mm256_insertf128_ps(_mm256_castps128_ps256(x[k]), x[4 + k], 1));
#endif
        }
        return;
    }
    transpose_two(row, offset, v);
    transpose_two(row, offset + 16, v + 2);
}
#endif

/* Snap entries of column j. Returns what tells odd rows: how far they were outside their bounds, or squares. What is
   not yet rounded adds its own squares to `raw`. */
INLINE vec snap(vec x, ptrdiff_t j, const Map *map, const int goal, double *out, vec *raw)
{
    if (goal == TO_BOX) {
        vec v = (x - all(map->shift[j])) * all(map->scale[j]);
        vec clamped = at_least(at_most(v, all(map->high[j])), all(map->low[j]));
        store(out, to_nearest(clamped));
        return magnitude(v - clamped);
    }
    vec units = x * all(GRID), k = to_nearest(units);
    store(out, goal == TO_UNITS ? units : k);
    if (goal == TO_UNITS) *raw = multiply_add(units, units, *raw);
    return k * k;
}

/* One vector of rows. Returns what tells odd rows. */
INLINE vec snap_vector(const int order, const int single, const int goal, const char *const *row, ptrdiff_t d,
                       ptrdiff_t column_stride, const Map *map, double *out, vec *raw)
{
    vec seen = {0};
    ptrdiff_t j = 0;
#if LANES > 2
    for (; order == ROW_MAJOR && j + 4 <= d; j += 4) {
        vec x[4];
        transpose(row, j * column_stride, single, x);
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) x[k] = snap(x[k], j + k, map, goal, out + (j + k) * STRIDE, raw);
        seen += (x[0] + x[1]) + (x[2] + x[3]);
    }
    for (; order == ROW_MAJOR && !single && j < d && d > 1; j += 2) {
        vec x[2];
        ptrdiff_t first = j + 2 <= d ? j : j - 1;    /* a last column alone comes with the one before it */
        transpose_two(row, first * column_stride, x);
        if (first == j) seen += snap(x[0], j, map, goal, out + j * STRIDE, raw);
        seen += snap(x[1], first + 1, map, goal, out + (first + 1) * STRIDE, raw);
    }
#endif
    for (; j < d; ++j) seen += snap(gather(row, j * column_stride, single), j, map, goal, out + j * STRIDE, raw);
    return seen;
}

/* Row by row, LANES at a time. Lanes behind the last row repeat it; the caller clears them. */
INLINE void snap_by_rows(const int order, const int single, const int goal, const Rows *X, ptrdiff_t start,
                         ptrdiff_t rows, const Map *map, double *columns, double *seen, double *raw, Ahead *ahead)
{
    const ptrdiff_t d = X->d, row_stride = X->row_stride;
    const ptrdiff_t column_stride = order == ROW_MAJOR ? (single ? 4 : 8) : X->column_stride;
    const char *data = X->data + start * row_stride, *piece = data;
    for (ptrdiff_t r = 0; r < rows; r += LANES) {
        const char *row[LANES];
        for (int k = 0; k < LANES; ++k) row[k] = data + k * row_stride;
        for (int k = 0; k < LANES && r + LANES > rows; ++k)
            if (r + k >= rows) row[k] = data + (rows - 1 - r) * row_stride;
        vec squares = {0}, fresh = snap_vector(order, single, goal, row, d, column_stride, map, columns + r, &squares);
        if (goal == TO_UNITS) store(raw + r, squares);
        if (goal == TO_BOX) fresh += load(seen + r);
        store(seen + r, fresh);
        data += LANES * row_stride;
        if (r / LANES % VECTORS_A_PIECE == 0) piece = next_piece(ahead);
        for (int k = 0; k < LINES_A_VECTOR; ++k) prefetch(piece + 64 * k);
        piece += 64 * LINES_A_VECTOR;
    }
}

/* Column by column, for whole vectors of rows that lie side by side in memory. */
INLINE void snap_by_columns(const int single, const int goal, const Rows *X, ptrdiff_t start, ptrdiff_t rows,
                            const Map *map, double *columns, double *seen, double *raw, Ahead *ahead)
{
    const char *piece = ahead->data;
    for (ptrdiff_t j = 0; j < X->d; ++j) {
        if (j % 2 == 0) piece = next_piece(ahead);    /* half of the columns ahead; tiles fetch the others */
        const char *column = X->data + start * X->row_stride + j * X->column_stride;
        for (ptrdiff_t r = 0; r < rows; r += LANES) {
            vec x = single ? load_single((const float *)column + r) : load((const double *)column + r);
            vec squares = goal == TO_UNITS && j ? load(raw + r) : all(0.0);
            vec fresh = snap(x, j, map, goal, columns + j * STRIDE + r, &squares);
            if (goal == TO_UNITS) store(raw + r, squares);
            prefetch(piece + r * (ptrdiff_t)sizeof(double));
            if (goal == TO_BOX || j) fresh += load(seen + r);
            store(seen + r, fresh);
        }
    }
}

/* Choose by memory order; single and goal are constants of the caller. */
INLINE void snap_in_order(const int single, const int goal, const Rows *X, ptrdiff_t start, ptrdiff_t rows,
                          const Map *map, double *columns, double *seen, double *raw, Ahead *ahead)
{
    ptrdiff_t size = single ? sizeof(float) : sizeof(double);
    if (X->row_stride == size) {
        ptrdiff_t whole = rows - rows % LANES;
        snap_by_columns(single, goal, X, start, whole, map, columns, seen, raw, ahead);
        snap_by_rows(ANY_ORDER, single, goal, X, start + whole, rows - whole, map, columns + whole, seen + whole,
                     raw ? raw + whole : NULL, ahead);
    } else if (X->column_stride == size) {
        snap_by_rows(ROW_MAJOR, single, goal, X, start, rows, map, columns, seen, raw, ahead);
    } else {
        snap_by_rows(ANY_ORDER, single, goal, X, start, rows, map, columns, seen, raw, ahead);
    }
}

INLINE int all_lanes(mask lanes)
{
    int64_t every = -1;
    for (int k = 0; k < LANES; ++k) every &= lanes[k];
    return every != 0;
}

/* Whether an entry is a NaN or above the limit; lanes behind the last row repeat it. */
static int any_above(const double *values, ptrdiff_t rows, double limit)
{
    mask fine = ~(mask){0};
    for (ptrdiff_t r = 0; r < rows; r += LANES) fine &= (mask)(load(values + r) <= all(limit));
    return !all_lanes(fine);
}

/* Vectors of rows projected together. */
#define AT_ONCE 4

/* 2^20 over the root of squares, to 2^-49 of it. Most rows beyond the ball lie on the sphere, and need no root. */
INLINE vec inverse_root(vec squares)
{
    const vec over = squares * all(1.0 / SQUARED_GRID) - all(1.0);
    if (all_true((mask)(magnitude(over) <= all(1.0 / 65536)))) return all(1.0) - over * (all(0.5) - over * all(0.375));
    return all(GRID) / root_of(squares);
}

/* Round rows of grid units whose squared norm is `raw`, and project those that would round to more than the ball, which
   `rounded` says. Returns whether a row is left to be settled: it is not finite, or an entry is so close to a tie that
   `project_row` may round it the other way (functional.md, lemma 12). */
static int project_units(ptrdiff_t rows, ptrdiff_t d, double *columns, const double *raw, const double *rounded)
{
    const double shrunk = (1.0 - 0.5 * sqrt((double)d) / GRID) * (1.0 - 1.0 / SQUARED_GRID);
    const double sure = 0.5 - (double)(d + 64) / 4294967296.0;
    mask fine = ~(mask){0};
    for (ptrdiff_t r = 0; r < rows; r += AT_ONCE * LANES) {
        vec projected[AT_ONCE], farthest[AT_ONCE], factor[AT_ONCE];
        mask inside[AT_ONCE];
        EACH(v, AT_ONCE) {
            const ptrdiff_t i = r + v * LANES;
            inside[v] = (mask)(load(rounded + i) <= all(SQUARED_GRID)) | ~rows_left(rows - i);
            fine &= inside[v] | (mask)(load(raw + i) <= all(LARGEST));
            factor[v] = inverse_root(choose(inside[v], all(SQUARED_GRID), load(raw + i)));
            factor[v] = choose(inside[v], all(1.0), all(shrunk) * factor[v]);
            projected[v] = farthest[v] = all(0.0);
        }
        for (ptrdiff_t j = 0; j < d; ++j) {
            EACH(v, AT_ONCE) {
                double *place = columns + j * STRIDE + r + v * LANES;
                const vec units = load(place), k = multiply_add(units, factor[v], all(ROUNDER)) - all(ROUNDER);
                farthest[v] = larger_size(multiply_add(units, factor[v], -k), farthest[v]);
                projected[v] = multiply_add(k, k, projected[v]);
                store(place, k);
            }
        }
        EACH(v, AT_ONCE)
            fine &= inside[v] | ((mask)(farthest[v] <= all(sure)) & (mask)(projected[v] <= all(SQUARED_GRID)));
    }
    return !all_true(fine);
}

INLINE void snap_to(const int goal, const Rows *X, ptrdiff_t start, ptrdiff_t rows, const Map *map, double *columns,
                    double *seen, double *raw, Ahead *ahead)
{
    if (X->single) snap_in_order(1, goal, X, start, rows, map, columns, seen, raw, ahead);
    else snap_in_order(0, goal, X, start, rows, map, columns, seen, raw, ahead);
}

/* From the first row beyond the ball on, blocks are loaded so that rows can be projected. */
static int snap_ball(const Rows *X, ptrdiff_t start, ptrdiff_t rows, const Map *map, double *columns,
                     double *squared_norm, Ahead *ahead, int *beyond)
{
    double raw[PACK_ROWS] = {0};
    if (!*beyond) {
        snap_to(TO_GRID, X, start, rows, map, columns, squared_norm, NULL, ahead);
        *beyond = any_above(squared_norm, rows, SQUARED_GRID);
        if (!*beyond) return 0;
    }
    snap_to(TO_UNITS, X, start, rows, map, columns, squared_norm, raw, ahead);
    return project_units(rows, X->d, columns, raw, squared_norm);
}

static int snap_rows(const Rows *X, ptrdiff_t start, ptrdiff_t rows, const Map *map, double *columns,
                     double *squared_norm, double *excess, Ahead *ahead, int *beyond)
{
    int odd = 0;
    if (map->box) snap_to(TO_BOX, X, start, rows, map, columns, excess, NULL, ahead);
    else odd = snap_ball(X, start, rows, map, columns, squared_norm, ahead, beyond);
    return odd | any_above(excess, rows, SLACK);
}

/* The positive label becomes 2^20, everything else -2^20. Without branches: labels are hard to predict. */
static int snap_labels(const double *raw, ptrdiff_t rows, const Map *map, double *target, double *excess)
{
    mask known = ~(mask){0};
    for (ptrdiff_t r = 0; r < rows; r += LANES) {
        vec v = load(raw + r);
        mask positive = (mask)(v == all(map->positive));
        known &= positive | (mask)(v == all(map->negative));
        store(target + r, choose(positive, all(GRID), all(-GRID)));
        store(excess + r, all(0.0));
    }
    return !all_lanes(known);
}

static int snap_target(const double *raw, ptrdiff_t rows, ptrdiff_t d, const Map *map, double *target,
                       double *excess)
{
    if (map->labels) return snap_labels(raw, rows, map, target, excess);
    for (ptrdiff_t r = 0; r < rows; r += LANES)
        store(excess + r, snap(load(raw + r), d, map, TO_BOX, target + r, NULL));
    return 0;
}
