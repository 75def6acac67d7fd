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

/* One entry of each of ROW_LANES rows. */
INLINE row_vec gather(const char *const *row, ptrdiff_t offset, const int single)
{
    row_vec v;
    for (int k = 0; k < ROW_LANES; ++k) v[k] = read_one(row[k] + offset, single);
    return v;
}

#if ROW_LANES == 4
/* Four entries of each of four rows, transposed: v[k] holds entry k of the rows. */
INLINE void transpose(const char *const *row, ptrdiff_t offset, const int single, row_vec *v)
{
    if (single) {
        __m128 a = _mm_loadu_ps((const float *)(row[0] + offset)), b = _mm_loadu_ps((const float *)(row[1] + offset));
        __m128 c = _mm_loadu_ps((const float *)(row[2] + offset)), d = _mm_loadu_ps((const float *)(row[3] + offset));
        _MM_TRANSPOSE4_PS(a, b, c, d);
        v[0] = _mm256_cvtps_pd(a);
        v[1] = _mm256_cvtps_pd(b);
        v[2] = _mm256_cvtps_pd(c);
        v[3] = _mm256_cvtps_pd(d);
        return;
    }
    for (int half = 0; half < 2; ++half) {
        ptrdiff_t at = offset + 16 * half;
        __m256d even = _mm256_loadu2_m128d((const double *)(row[2] + at), (const double *)(row[0] + at));
        __m256d odd = _mm256_loadu2_m128d((const double *)(row[3] + at), (const double *)(row[1] + at));
        v[2 * half] = _mm256_unpacklo_pd(even, odd);
        v[2 * half + 1] = _mm256_unpackhi_pd(even, odd);
    }
}
#endif

/* Snap entries of column j. Returns what tells odd rows: how far they were outside their bounds, or squares. */
INLINE row_vec snap(row_vec x, ptrdiff_t j, const Map *map, const int box, double *out)
{
    if (box) {
        row_vec v = (x - row_all(map->shift[j])) * row_all(map->scale[j]);
        row_vec clamped = row_at_least(row_at_most(v, row_all(map->high[j])), row_all(map->low[j]));
        row_store(out, row_round(clamped));
        return row_abs(v - clamped);
    }
    row_vec k = row_round(x * row_all(GRID));
    row_store(out, k);
    return k * k;
}

/* One vector of rows. Returns what tells odd rows. */
INLINE row_vec snap_vector(const int order, const int single, const int box, const char *const *row, ptrdiff_t d,
                           ptrdiff_t column_stride, const Map *map, double *out)
{
    row_vec seen = {0};
    ptrdiff_t j = 0;
#if ROW_LANES == 4
    for (; order == ROW_MAJOR && j + 4 <= d; j += 4) {
        row_vec x[4];
        transpose(row, j * column_stride, single, x);
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) x[k] = snap(x[k], j + k, map, box, out + (j + k) * STRIDE);
        seen += (x[0] + x[1]) + (x[2] + x[3]);
    }
#endif
    for (; j < d; ++j) seen += snap(gather(row, j * column_stride, single), j, map, box, out + j * STRIDE);
    return seen;
}

/* Row by row, ROW_LANES at a time. Lanes behind the last row repeat it; the caller clears them. */
INLINE void snap_by_rows(const int order, const int single, const int box, const Rows *X, ptrdiff_t start,
                         ptrdiff_t rows, const Map *map, double *columns, double *seen, Ahead *ahead)
{
    const ptrdiff_t d = X->d, row_stride = X->row_stride;
    const ptrdiff_t column_stride = order == ROW_MAJOR ? (single ? 4 : 8) : X->column_stride;
    const char *data = X->data + start * row_stride, *piece = data;
    for (ptrdiff_t r = 0; r < rows; r += ROW_LANES) {
        const char *row[ROW_LANES];
        for (int k = 0; k < ROW_LANES; ++k) row[k] = data + k * row_stride;
        for (int k = 0; k < ROW_LANES && r + ROW_LANES > rows; ++k)
            if (r + k >= rows) row[k] = data + (rows - 1 - r) * row_stride;
        row_vec fresh = snap_vector(order, single, box, row, d, column_stride, map, columns + r);
        if (box) fresh += row_load(seen + r);
        row_store(seen + r, fresh);
        data += ROW_LANES * row_stride;
        if (r / ROW_LANES % VECTORS_A_PIECE == 0) piece = next_piece(ahead);
        for (int k = 0; k < LINES_A_VECTOR; ++k) prefetch(piece + 64 * k);
        piece += 64 * LINES_A_VECTOR;
    }
}

/* Column by column, for whole vectors of rows that lie side by side in memory. */
INLINE void snap_by_columns(const int single, const int box, const Rows *X, ptrdiff_t start, ptrdiff_t rows,
                            const Map *map, double *columns, double *seen)
{
    for (ptrdiff_t j = 0; j < X->d; ++j) {
        const char *column = X->data + start * X->row_stride + j * X->column_stride;
        for (ptrdiff_t r = 0; r < rows; r += ROW_LANES) {
            row_vec x = single ? row_load_single((const float *)column + r) : row_load((const double *)column + r);
            row_vec fresh = snap(x, j, map, box, columns + j * STRIDE + r);
            if (box || j) fresh += row_load(seen + r);
            row_store(seen + r, fresh);
        }
    }
}

/* Choose by memory order; single and box are constants of the caller. */
INLINE void snap_in_order(const int single, const int box, const Rows *X, ptrdiff_t start, ptrdiff_t rows,
                          const Map *map, double *columns, double *seen, Ahead *ahead)
{
    ptrdiff_t size = single ? sizeof(float) : sizeof(double);
    if (X->row_stride == size) {
        ptrdiff_t whole = rows - rows % ROW_LANES;
        snap_by_columns(single, box, X, start, whole, map, columns, seen);
        snap_by_rows(ANY_ORDER, single, box, X, start + whole, rows - whole, map, columns + whole, seen + whole, ahead);
    } else if (X->column_stride == size) {
        snap_by_rows(ROW_MAJOR, single, box, X, start, rows, map, columns, seen, ahead);
    } else {
        snap_by_rows(ANY_ORDER, single, box, X, start, rows, map, columns, seen, ahead);
    }
}

INLINE int all_lanes(row_mask mask)
{
    int64_t all = -1;
    for (int k = 0; k < ROW_LANES; ++k) all &= mask[k];
    return all != 0;
}

/* Whether an entry is a NaN or above the limit; lanes behind the last row repeat it. */
static int any_above(const double *values, ptrdiff_t rows, double limit)
{
    row_mask fine = ~(row_mask){0};
    for (ptrdiff_t r = 0; r < rows; r += ROW_LANES) fine &= (row_mask)(row_load(values + r) <= row_all(limit));
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
    row_mask known = ~(row_mask){0};
    for (ptrdiff_t r = 0; r < rows; r += ROW_LANES) {
        row_vec v = row_load(raw + r);
        row_mask positive = (row_mask)(v == row_all(map->positive));
        known &= positive | (row_mask)(v == row_all(map->negative));
        row_store(target + r, row_select(positive, row_all(GRID), row_all(-GRID)));
        row_store(excess + r, row_all(0.0));
    }
    return !all_lanes(known);
}

static int snap_target(const double *raw, ptrdiff_t rows, ptrdiff_t d, const Map *map, double *target,
                       double *excess)
{
    if (map->labels) return snap_labels(raw, rows, map, target, excess);
    for (ptrdiff_t r = 0; r < rows; r += ROW_LANES)
        row_store(excess + r, snap(row_load(raw + r), d, map, 1, target + r));
    return 0;
}
