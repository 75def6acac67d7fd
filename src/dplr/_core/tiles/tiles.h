/* What the C kernels and the Cython driver share: the grid, the packed block, and one table of functions a CPU path. */
#ifndef DPLR_TILES_H
#define DPLR_TILES_H

#include <float.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "dplr rounds rows to a grid and looks for NaN: it cannot be compiled with -ffast-math"
#endif
#if defined(__ASSOCIATIVE_MATH__) || FLT_EVAL_METHOD != 0
#error "(v + ROUNDER) - ROUNDER must round: no -fassociative-math, and float64 arithmetic in float64 (-mfpmath=sse)"
#endif

/* Rows packed at once. */
#define PACK_ROWS 128
/* Distance of two packed columns: whole cache lines, and not a power of two, so that columns do not share sets. */
#define STRIDE 136
/* 2^13 products of at most 2^40 sum to at most 2^53, exact in float64. */
#define FLUSH_ROWS 8192
/* 2^20 grid units are 1.0; a row on the unit sphere has squared norm 2^40. */
#define GRID 1048576.0
#define SQUARED_GRID 1099511627776.0
/* 1.5 * 2^52: adding and subtracting it rounds to the nearest integer, ties to even. */
#define ROUNDER 6755399441055744.0
#define LARGEST 1.7976931348623157e308
/* Of a grid unit: more than rounding moves a value that lies on its bound. */
#define SLACK 0.0009765625
#define LOW_LIMB 4294967295LL
/* Roots of weights, which multiply rows, are whole numbers of 1 / ROOT_UNITS. */
#define ROOT_UNITS 524288.0

/* From raw values to grid units: public constants only. */
typedef struct {
    const double *shift, *scale, *low, *high;
    int box;
    int labels;
    double negative, positive;
} Map;

/* A raw array (n, d); strides in bytes. */
typedef struct {
    const char *data;
    ptrdiff_t n, d, row_stride, column_stride;
    int single;     /* float32 */
} Rows;

/* The next block in memory: pieces to prefetch, one by one, while this block is worked on. */
typedef struct {
    const char *data;
    ptrdiff_t step, pieces;
} Ahead;

typedef struct LossShape LossShape;
typedef struct LossPass LossPass;
typedef struct LossWork LossWork;
struct FineBlock;
typedef struct ClipPass ClipPass;
typedef struct ClipModel ClipModel;
typedef struct ClipWork ClipWork;
typedef struct ClipPanel ClipPanel;

#define PIECE_BYTES 1024    /* eight bytes a packed row */

typedef struct {
    const char *name;
    /* Snap raw targets, whose last vector is padded with copies, into `target`. Sets `excess`; returns whether a
       label is unknown. */
    int (*snap_target)(const double *raw, ptrdiff_t rows, ptrdiff_t d, const Map *map, double *target, double *excess);
    /* Load and snap rows [start, start + rows) into columns; in a ball project those beyond it. Adds to `excess`, sets
       `squared_norm`, and `beyond` from the first row beyond the ball on. Returns whether a row may be odd: outside its
       box, not finite, or left to be projected. */
    int (*snap_rows)(const Rows *X, ptrdiff_t start, ptrdiff_t rows, const Map *map, double *columns,
                     double *squared_norm, double *excess, Ahead *ahead, int *beyond);
    /* Add columns' columns to the upper triangle of `gram`, row-major with rows of gram_stride(n_columns), and the
       columns' sums to `sums` unless it is NULL. */
    void (*add_gram)(const double *columns, ptrdiff_t n_columns, ptrdiff_t rows, double *gram, double *sums,
                     Ahead *ahead);
    /* Factors of rows from their weights, and packed columns times factors: see tile_multiply.h. */
    void (*roots_of_weights)(const double *weights, ptrdiff_t rows, double *factors);
    void (*multiply_columns)(double *columns, ptrdiff_t n_columns, ptrdiff_t rows, const double *factors);
    /* Add residuals, gradient, Hessian and loss of rows [start, start + rows) to the sums in `work`: see loss.h. */
    void (*add_loss)(const LossPass *pass, ptrdiff_t start, ptrdiff_t rows, const LossWork *work);
    /* Add residuals times bounded rows for a panel of models: see tile_many.h. */
    void (*add_losses)(const LossShape *shape, const double *x, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t q,
                       const double *target, const double *weight, const double *coefs, double *margins,
                       double *gradients);
    /* Add gradients of a block in pairs of numbers: see fine.h. */
    void (*add_fine)(const struct FineBlock *block);
    /* Rows on the grid and sums of clipped gradients: see tile_pack.h, tile_clip.h. */
    void (*measure_rows)(const ClipPass *pass, ptrdiff_t start, ptrdiff_t rows, double *block, double *squared_norm,
                         double *excess);
    void (*add_clipped)(const ClipPass *pass, ptrdiff_t start, ptrdiff_t rows, const ClipModel *model,
                        const ClipWork *work);
    void (*add_clipped_many)(const ClipPass *pass, ptrdiff_t start, ptrdiff_t rows, const ClipPanel *panels,
                             ptrdiff_t count, double *block);
    /* The same over rows kept by columns, for any number of models: see tile_columns.h. */
    void (*add_columns)(const ClipPass *pass, ptrdiff_t start, ptrdiff_t rows, const ClipModel *models,
                        ptrdiff_t count, double *sums, double *gradients);
    /* Raw labels to -1 and 1, NaN for others; returns whether there were any. */
    int (*sign_labels)(const Map *map, ptrdiff_t rows, double *target);
    /* The curves alone, for tests; whole vectors of eight. */
    void (*sigmoids)(const double *z, ptrdiff_t n, double *out);
    void (*softplus)(const double *z, ptrdiff_t n, double *out);
} Tiles;

static inline ptrdiff_t gram_stride(ptrdiff_t n_columns) { return (n_columns + 3) & ~(ptrdiff_t)3; }

/* Ask for bytes that are needed soon. */
static inline void prefetch_bytes(const char *data, ptrdiff_t bytes)
{
#ifdef __GNUC__
    for (ptrdiff_t k = 0; k < bytes; k += 64) __builtin_prefetch(data + k);
#else
    (void)data, (void)bytes;
#endif
}

/* The tiles of a path ("baseline", "neon", "avx2", "avx512") of this build, or NULL; and the same where this CPU runs
   them. */
const Tiles *built_tiles(const char *path);
const Tiles *find_tiles(const char *path);

#endif
