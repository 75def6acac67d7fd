/* Load raw rows, bound and snap them into packed columns.

The same fixed sequence as the portable path, without fused multiply-add where it could change a bit. Lanes are rows. */
#include "tile_lanes.h"

/* How the raw rows lie in memory. */
enum { ROW_MAJOR, ANY_ORDER };

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

/* Snap entries of column j. Returns what tells odd rows: how far they were outside their bounds, or squares. */
INLINE vec snap(vec x, ptrdiff_t j, const Map *map, const int box, double *out)
{
    if (box) {
        vec v = (x - all(map->shift[j])) * all(map->scale[j]);
        vec clamped = at_least(at_most(v, all(map->high[j])), all(map->low[j]));
        store(out, to_nearest(clamped));
        return magnitude(v - clamped);
    }
    vec k = to_nearest(x * all(GRID));
    store(out, k);
    return k * k;
}

/* One vector of rows. Returns what tells odd rows. */
INLINE vec snap_vector(const int order, const int single, const int box, const char *const *row, ptrdiff_t d,
                           ptrdiff_t column_stride, const Map *map, double *out)
{
    vec seen = {0};
    ptrdiff_t j = 0;
#if LANES > 2
    for (; order == ROW_MAJOR && j + 4 <= d; j += 4) {
        vec x[4];
        transpose(row, j * column_stride, single, x);
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) x[k] = snap(x[k], j + k, map, box, out + (j + k) * STRIDE);
        seen += (x[0] + x[1]) + (x[2] + x[3]);
    }
    for (; order == ROW_MAJOR && !single && j < d && d > 1; j += 2) {
        vec x[2];
        ptrdiff_t first = j + 2 <= d ? j : j - 1;    /* a last column alone comes with the one before it */
        transpose_two(row, first * column_stride, x);
        if (first == j) seen += snap(x[0], j, map, box, out + j * STRIDE);
        seen += snap(x[1], first + 1, map, box, out + (first + 1) * STRIDE);
    }
#endif
    for (; j < d; ++j) seen += snap(gather(row, j * column_stride, single), j, map, box, out + j * STRIDE);
    return seen;
}

/* Row by row, LANES at a time. Lanes behind the last row repeat it; the caller clears them. */
INLINE void snap_by_rows(const int order, const int single, const int box, const Rows *X, ptrdiff_t start,
                         ptrdiff_t rows, const Map *map, double *columns, double *seen, Ahead *ahead)
{
    const ptrdiff_t d = X->d, row_stride = X->row_stride;
    const ptrdiff_t column_stride = order == ROW_MAJOR ? (single ? 4 : 8) : X->column_stride;
    const char *data = X->data + start * row_stride, *piece = data;
    for (ptrdiff_t r = 0; r < rows; r += LANES) {
        const char *row[LANES];
        for (int k = 0; k < LANES; ++k) row[k] = data + k * row_stride;
        for (int k = 0; k < LANES && r + LANES > rows; ++k)
            if (r + k >= rows) row[k] = data + (rows - 1 - r) * row_stride;
        vec fresh = snap_vector(order, single, box, row, d, column_stride, map, columns + r);
        if (box) fresh += load(seen + r);
        store(seen + r, fresh);
        data += LANES * row_stride;
        if (r / LANES % VECTORS_A_PIECE == 0) piece = next_piece(ahead);
        for (int k = 0; k < LINES_A_VECTOR; ++k) prefetch(piece + 64 * k);
        piece += 64 * LINES_A_VECTOR;
    }
}

/* Column by column, for whole vectors of rows that lie side by side in memory. */
INLINE void snap_by_columns(const int single, const int box, const Rows *X, ptrdiff_t start, ptrdiff_t rows,
                            const Map *map, double *columns, double *seen, Ahead *ahead)
{
    const char *piece = ahead->data;
    for (ptrdiff_t j = 0; j < X->d; ++j) {
        if (j % 2 == 0) piece = next_piece(ahead);    /* half of the columns ahead; tiles fetch the others */
        const char *column = X->data + start * X->row_stride + j * X->column_stride;
        for (ptrdiff_t r = 0; r < rows; r += LANES) {
            vec x = single ? load_single((const float *)column + r) : load((const double *)column + r);
            vec fresh = snap(x, j, map, box, columns + j * STRIDE + r);
            prefetch(piece + r * (ptrdiff_t)sizeof(double));
            if (box || j) fresh += load(seen + r);
            store(seen + r, fresh);
        }
    }
}

/* Choose by memory order; single and box are constants of the caller. */
INLINE void snap_in_order(const int single, const int box, const Rows *X, ptrdiff_t start, ptrdiff_t rows,
                          const Map *map, double *columns, double *seen, Ahead *ahead)
{
    ptrdiff_t size = single ? sizeof(float) : sizeof(double);
    if (X->row_stride == size) {
        ptrdiff_t whole = rows - rows % LANES;
        snap_by_columns(single, box, X, start, whole, map, columns, seen, ahead);
        snap_by_rows(ANY_ORDER, single, box, X, start + whole, rows - whole, map, columns + whole, seen + whole, ahead);
    } else if (X->column_stride == size) {
        snap_by_rows(ROW_MAJOR, single, box, X, start, rows, map, columns, seen, ahead);
    } else {
        snap_by_rows(ANY_ORDER, single, box, X, start, rows, map, columns, seen, ahead);
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

static int snap_rows(const Rows *X, ptrdiff_t start, ptrdiff_t rows, const Map *map, double *columns,
                     double *squared_norm, double *excess, Ahead *ahead)
{
    if (X->single && map->box)
        snap_in_order(1, 1, X, start, rows, map, columns, excess, ahead);
    else if (X->single)
        snap_in_order(1, 0, X, start, rows, map, columns, squared_norm, ahead);
    else if (map->box)
        snap_in_order(0, 1, X, start, rows, map, columns, excess, ahead);
    else
        snap_in_order(0, 0, X, start, rows, map, columns, squared_norm, ahead);
    return any_above(excess, rows, SLACK) || (!map->box && any_above(squared_norm, rows, SQUARED_GRID));
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
        store(excess + r, snap(load(raw + r), d, map, 1, target + r));
    return 0;
}
