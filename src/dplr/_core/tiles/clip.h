/* What the clipped-gradient kernels and their Cython driver share. Everything summed is a whole number: see clip.md. */
#ifndef DPLR_CLIP_H
#define DPLR_CLIP_H

#include "loss.h"

/* 2^r = 1 + r (POWER_1 + ... + POWER_5 r^4) for |r| <= 1/2, in single precision, to 2.1e-7 of it. */
#define POWER_1 0.69314697f
#define POWER_2 0.24022242f
#define POWER_3 0.05550734f
#define POWER_4 0.009671513f
#define POWER_5 0.0013264723f
#define LOG2_OF_E 1.442695f
/* Sigmoids are at least 2^-58: far below what residuals are rounded to. */
#define STEEPEST 58.0f
/* v + ROUNDER_SINGLE - ROUNDER_SINGLE is the whole number nearest to v. */
#define ROUNDER_SINGLE 12582912.0f

/* Rows of a tile, kept by columns, and how many features such rows may have. */
#define TILE_ROWS 32
#define MOST_COLUMNS 32

/* Public constants of a pass, and what is known of every row. */
struct ClipPass {
    Rows X;
    Map map;                    /* arrays padded with zeros to whole vectors */
    ptrdiff_t q, stride;        /* entries of a packed row, constant included; with the zeros behind it */
    double cube;                /* every column is clamped to +- this many grid units; 0: to bounds of its own */
    const double *constants;    /* (stride) zero except the intercept's constant in grid units, behind the features */
    const double *scale;        /* (n) grid units in 1.0, fewer where a row is projected; NULL where none is */
    const double *inverse;      /* (n) a little less than 1 / norm, signed by the label; 0: the row counts as zero */
    const double *target;       /* (n) numeric targets; NULL with labels */
    const double *weights;      /* (n) from 0 to 1, what residuals are multiplied by; NULL for ones */
    const float *kept;          /* (n, stride) rows in whole grid units, constant and zeros behind them; NULL: from X */
    const float *columns;       /* (tiles, d, TILE_ROWS) rows in whole grid units, without their constant; or NULL */
    const int64_t *index;       /* which rows; NULL for rows side by side */
    int kind;
    double width, slope;        /* of the Huber losses; slope = 0.5 / width */
    Knots knots;                /* KNOTTED */
};

/* One model: its point, and what its residuals are rounded to. */
struct ClipModel {
    const double *coef;         /* (stride) whole numbers of 2^-20 */
    double per_unit;            /* residual units in 1.0, a power of two */
    double clip;                /* largest residual times norm, in residual units */
};

/* Scratch of one thread. */
struct ClipWork {
    double *block;              /* (MOST_BLOCK_ROWS, stride) rows in grid units, zeros behind each */
    double *residual;           /* (MOST_BLOCK_ROWS + 8) margins, then residuals */
    double *unweighted;         /* (MOST_BLOCK_ROWS + 8) residuals before weights multiply them; NULL: not wanted */
    double *gradient;           /* (stride) whole numbers of grid units times residual units */
};

/* Models side by side, for a panel: (PANEL_MODELS) each, coefs (q, PANEL_MODELS). */
struct ClipPanel {
    const double *coefs, *per_unit, *clip;
    double *margins;            /* (MOST_BLOCK_ROWS, PANEL_MODELS) */
    double *gradients;          /* (q, PANEL_MODELS) */
};

#endif
