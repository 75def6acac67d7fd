/* Load raw rows, bound and snap them into packed columns.

The same fixed sequence as the portable path, without fused multiply-add where it could change a bit. Lanes are rows. */
#include "tile_lanes.h"

/* How the raw rows lie in memory. */
enum { ROW_MAJOR, ANY_ORDER };

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

/* Snap entries of column j. `seen` grows by what tells odd rows: excess over the bounds, or squares. */
INLINE row_vec snap(row_vec x, row_vec seen, ptrdiff_t j, const Map *map, const int box, double *out)
{
    if (box) {
        row_vec v = (x - row_all(map->shift[j])) * row_all(map->scale[j]);
        row_vec clamped = row_at_least(row_at_most(v, row_all(map->high[j])), row_all(map->low[j]));
        row_store(out, row_round(clamped));
        return seen + row_abs(v - clamped);
    }
    row_vec k = row_round(x * row_all(GRID));
    row_store(out, k);
    return seen + k * k;
}

/* Row by row, ROW_LANES at a time. Lanes behind the last row repeat it; the caller clears them. */
INLINE void snap_by_rows(const int order, const int single, const int box, const Rows *X, ptrdiff_t start,
                         ptrdiff_t rows, const Map *map, double *columns, double *seen)
{
    for (ptrdiff_t r = 0; r < rows; r += ROW_LANES) {
        const char *row[ROW_LANES];
        for (int k = 0; k < ROW_LANES; ++k) {
            ptrdiff_t i = r + k < rows ? r + k : rows - 1;
            row[k] = X->data + (start + i) * X->row_stride;
        }
        row_vec sum = row_load(seen + r);
        ptrdiff_t j = 0;
#if ROW_LANES == 4
        for (; order == ROW_MAJOR && j + 4 <= X->d; j += 4) {
            row_vec x[4];
            transpose(row, j * X->column_stride, single, x);
#pragma GCC unroll 4
            for (int k = 0; k < 4; ++k) sum = snap(x[k], sum, j + k, map, box, columns + (j + k) * STRIDE + r);
        }
#endif
        for (; j < X->d; ++j)
            sum = snap(gather(row, j * X->column_stride, single), sum, j, map, box, columns + j * STRIDE + r);
        row_store(seen + r, sum);
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
            row_store(seen + r, snap(x, row_load(seen + r), j, map, box, columns + j * STRIDE + r));
        }
    }
}

/* Choose by memory order; single and box are constants of the caller. */
INLINE void snap_in_order(const int single, const int box, const Rows *X, ptrdiff_t start, ptrdiff_t rows,
                          const Map *map, double *columns, double *seen)
{
    ptrdiff_t size = single ? sizeof(float) : sizeof(double);
    if (X->row_stride == size && X->d > 1) {
        ptrdiff_t whole = rows - rows % ROW_LANES;
        snap_by_columns(single, box, X, start, whole, map, columns, seen);
        snap_by_rows(ANY_ORDER, single, box, X, start + whole, rows - whole, map, columns + whole, seen + whole);
    } else if (X->column_stride == size) {
        snap_by_rows(ROW_MAJOR, single, box, X, start, rows, map, columns, seen);
    } else {
        snap_by_rows(ANY_ORDER, single, box, X, start, rows, map, columns, seen);
    }
}

static void snap_rows(const Rows *X, ptrdiff_t start, ptrdiff_t rows, const Map *map, double *columns,
                      double *squared_norm, double *excess)
{
    memset(squared_norm, 0, PACK_ROWS * sizeof(double));
    if (X->single && map->box)
        snap_in_order(1, 1, X, start, rows, map, columns, excess);
    else if (X->single)
        snap_in_order(1, 0, X, start, rows, map, columns, squared_norm);
    else if (map->box)
        snap_in_order(0, 1, X, start, rows, map, columns, excess);
    else
        snap_in_order(0, 0, X, start, rows, map, columns, squared_norm);
}

static int64_t snap_target(const double *raw, ptrdiff_t rows, ptrdiff_t d, const Map *map, double *target,
                           double *excess)
{
    if (map->labels) {
        int64_t known = 0;
        for (ptrdiff_t r = 0; r < rows; ++r) known += (raw[r] == map->positive) | (raw[r] == map->negative);
        for (ptrdiff_t r = 0; r < rows; ++r) target[r] = raw[r] == map->positive ? GRID : -GRID;
        return rows - known;
    }
    for (ptrdiff_t r = 0; r < PACK_ROWS; r += ROW_LANES)
        row_store(excess + r, snap(row_load(raw + r), row_load(excess + r), d, map, 1, target + r));
    return 0;
}
