/* Gram matrix of a packed block: exact, because the entries are integers held in float64.

Lanes are rows. Every product is an integer of at most 2^40 and a block sum at most 2^53, so each order of summation, with
or without fused multiply-add, gives the same bits. */
#include "tile_lanes.h"

/* Memory would idle while tiles are summed: each of their loops also fetches a piece of the next block. */

/* Columns of a panel: they stay in the L1 cache while the rows of tiles above them stream by. */
#define PANEL 16

/* Products of `m` columns with four; m is a constant of the caller, so the sums stay in registers. */
INLINE void tile(const int m, const double *a, const double *b, ptrdiff_t rows, double *out, ptrdiff_t out_stride,
                 const char *piece)
{
    vec sums[MOST][4] = {0};
    for (ptrdiff_t r = 0; r < rows; r += LANES) {
        vec x[MOST];
        prefetch(piece + r * (ptrdiff_t)sizeof(double));
#pragma GCC unroll 8
        for (int i = 0; i < m; ++i) x[i] = load(a + i * STRIDE + r);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) {
            vec v = load_once(b + j * STRIDE + r);
#pragma GCC unroll 8
            for (int i = 0; i < m; ++i) sums[i][j] = multiply_add(x[i], v, sums[i][j]);
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < m; ++i) add_sums(out + i * out_stride, sums[i]);
}

/* Products of `width` <= 4 columns among themselves; with `fused`, also their sums. Adds zeros to entries that nobody
   reads. */
INLINE void triangle_of(const int width, const int fused, const double *a, ptrdiff_t rows, double *out,
                        ptrdiff_t out_stride, double *column_sums, const char *piece)
{
    vec sums[5][4] = {0};
    for (ptrdiff_t r = 0; r < rows; r += LANES) {
        vec x[4];
        prefetch(piece + r * (ptrdiff_t)sizeof(double));
#pragma GCC unroll 4
        for (int i = 0; i < width; ++i) x[i] = load_once(a + i * STRIDE + r);
#pragma GCC unroll 4
        for (int i = 0; i < width; ++i) {
            if (fused) sums[4][i] += x[i];
#pragma GCC unroll 4
            for (int j = i; j < width; ++j) sums[i][j] = multiply_add(x[i], x[j], sums[i][j]);
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < width; ++i) add_sums(out + i * out_stride, sums[i]);
    if (fused) add_sums(column_sums, sums[4]);
}

INLINE void sums_of(const int width, const double *a, ptrdiff_t rows, double *column_sums)
{
    vec sums[4] = {0};
    for (ptrdiff_t r = 0; r < rows; r += LANES)
#pragma GCC unroll 4
        for (int i = 0; i < width; ++i) sums[i] += load(a + i * STRIDE + r);
    add_sums(column_sums, sums);
}

/* With 32 registers the sums cost nothing beside the products; with 16 they would not stay in registers. */
INLINE void triangle_and_sums(const int width, const double *a, ptrdiff_t rows, double *out, ptrdiff_t out_stride,
                              double *column_sums, const char *piece)
{
    if (MOST > 3 && column_sums) {
        triangle_of(width, 1, a, rows, out, out_stride, column_sums, piece);
        return;
    }
    triangle_of(width, 0, a, rows, out, out_stride, NULL, piece);
    if (column_sums) sums_of(width, a, rows, column_sums);
}

static void triangle(ptrdiff_t width, const double *a, ptrdiff_t rows, double *out, ptrdiff_t out_stride,
                     double *column_sums, const char *piece)
{
    switch (width) {
    case 1: triangle_and_sums(1, a, rows, out, out_stride, column_sums, piece); break;
    case 2: triangle_and_sums(2, a, rows, out, out_stride, column_sums, piece); break;
    case 3: triangle_and_sums(3, a, rows, out, out_stride, column_sums, piece); break;
    default: triangle_and_sums(4, a, rows, out, out_stride, column_sums, piece);
    }
}

/* Products of columns [i, i_end) with columns [j, j_end), the latter in whole fours. */
static void rectangle(const double *columns, ptrdiff_t i, ptrdiff_t i_end, ptrdiff_t j_begin, ptrdiff_t j_end,
                      ptrdiff_t rows, double *gram, ptrdiff_t stride, Ahead *ahead)
{
    while (i < i_end) {
        ptrdiff_t left = i_end - i, m = left < MOST ? left : MOST;
        m -= left - m == 1 && m > 1;    /* two narrow tiles rather than one of a single row, which waits for its sums */
        for (ptrdiff_t j = j_begin; j < j_end; j += 4) {
            const double *a = columns + i * STRIDE, *b = columns + j * STRIDE;
            double *out = gram + i * stride + j;
            const char *piece = next_piece(ahead);
            switch (m) {
#if MOST > 3
            case 6: tile(6, a, b, rows, out, stride, piece); break;
            case 5: tile(5, a, b, rows, out, stride, piece); break;
            case 4: tile(4, a, b, rows, out, stride, piece); break;
#endif
            case 3: tile(3, a, b, rows, out, stride, piece); break;
            case 2: tile(2, a, b, rows, out, stride, piece); break;
            default: tile(1, a, b, rows, out, stride, piece);
            }
        }
        i += m;
    }
}

static void add_gram(const double *columns, ptrdiff_t n_columns, ptrdiff_t rows, double *gram, double *sums,
                     Ahead *ahead)
{
    ptrdiff_t stride = gram_stride(n_columns);
    /* What does not fill four columns comes first, where no tile lies above it: all other tiles are whole. */
    ptrdiff_t first = (n_columns - 1) % 4 + 1;
    triangle(first, columns, rows, gram, stride, sums, next_piece(ahead));
    for (ptrdiff_t panel = first; panel < n_columns; panel += PANEL) {
        ptrdiff_t end = panel + PANEL < n_columns ? panel + PANEL : n_columns;
        rectangle(columns, 0, panel, panel, end, rows, gram, stride, ahead);
        for (ptrdiff_t j = panel; j < end; j += 4) {
            rectangle(columns, panel, j, j, j + 4, rows, gram, stride, ahead);
            triangle(4, columns + j * STRIDE, rows, gram + j * stride + j, stride,
                     sums ? sums + j : NULL, next_piece(ahead));
        }
    }
}
