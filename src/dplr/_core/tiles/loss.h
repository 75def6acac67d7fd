/* What the loss kernels and their Cython driver share. Sums of rows that are bounded but not snapped, in float64. */
#ifndef DPLR_LOSS_H
#define DPLR_LOSS_H

#include "tiles.h"

/* Rows summed plainly; above it sums are compensated. Also the length of a vector of targets. */
#define GROUP_ROWS 512
/* At most this many rows are summed in registers. */
#define MOST_BLOCK_ROWS 48
/* Models whose coefficients lie side by side. */
#define PANEL_MODELS 32
/* Squared norms above it may have lost their smallest terms, or overflow: such rows are bounded one by one. */
#define LARGE 1e290

enum { LOGISTIC, HUBER_SVM, SQUARED, HUBER_RESIDUAL, SOFT_LOGISTIC, SOFT_HUBER, KNOTTED };

/* What the slope of a knotted loss is a function of: y m, m - y, or m, where y is taken from it. */
enum { OF_MARGIN, OF_RESIDUAL, OF_FAMILY };

/* call(kind, ...) with the kind as a constant, so that a function that is inlined has a loop of its own for each loss.
   First the losses whose gradients are also clipped, then all. */
#define FOR_CLIPPED_LOSS(kind, call, ...)                                                                             \
    ((kind) == LOGISTIC    ? call(LOGISTIC, __VA_ARGS__)                                                              \
     : (kind) == HUBER_SVM ? call(HUBER_SVM, __VA_ARGS__)                                                             \
     : (kind) == SQUARED   ? call(SQUARED, __VA_ARGS__)                                                               \
     : (kind) == KNOTTED   ? call(KNOTTED, __VA_ARGS__)                                                               \
                           : call(HUBER_RESIDUAL, __VA_ARGS__))
#define FOR_LOSS(kind, call, ...)                                                                                     \
    ((kind) == LOGISTIC         ? call(LOGISTIC, __VA_ARGS__)                                                         \
     : (kind) == HUBER_SVM      ? call(HUBER_SVM, __VA_ARGS__)                                                        \
     : (kind) == SQUARED        ? call(SQUARED, __VA_ARGS__)                                                          \
     : (kind) == HUBER_RESIDUAL ? call(HUBER_RESIDUAL, __VA_ARGS__)                                                   \
     : (kind) == SOFT_LOGISTIC  ? call(SOFT_LOGISTIC, __VA_ARGS__)                                                    \
     : (kind) == KNOTTED        ? call(KNOTTED, __VA_ARGS__)                                                          \
                                : call(SOFT_HUBER, __VA_ARGS__))

/* A convex loss by its slope, which is linear between knots and constant beyond the first and the last. Knots are
   whole numbers of 1 / per_unit, a power of two. */
typedef struct {
    int form;
    double per_unit;
    double first, last;     /* knots, as whole numbers of at most 2^16 */
    const double *pieces;   /* (last - first, 3) slope at the left knot, its change up to the right one, loss there */
} Knots;

/* A loss: public constants. `loss_shape` fills it. */
struct LossShape {
    int kind;
    double width;           /* 0 where a loss has none; the largest slope of the soft losses */
    /* SOFT_LOGISTIC is logistic where v = y m is at least `turn`, and offset - width v + square e^v below. */
    double turn, square, offset;
    Knots knots;            /* KNOTTED */
};

/* A pass: public constants, the rows, and the point. */
struct LossPass {
    Rows X;
    Map map;
    double intercept;
    LossShape shape;
    int hessian, loss, count_outside;
    int inside;             /* every row is known to lie in the ball: norms are not computed */
    double edge;            /* squared norms up to it surely lie in the ball; also the norm of a projected row */
    double far;             /* squared norms above it lie outside by more than rounding */
    const double *coef;     /* (d + 1), the last entry 0 without intercept, then zeros up to a whole vector */
    /* Load rows [start, start + rows) one by one into work->block, the longest projected, and say in work->live which
       count as zero. */
    void (*settle)(const LossPass *pass, ptrdiff_t start, ptrdiff_t rows, const double *targets,
                   const LossWork *work);
};

/* Scratch of one thread and the plain sums of a group. */
struct LossWork {
    double *target;         /* (GROUP_ROWS) -1 or 1, or the bounded number; NaN for a row that counts as zero */
    double *weight;         /* (GROUP_ROWS) what residual, second derivative and loss of a row are multiplied by */
    double *block;          /* (MOST_BLOCK_ROWS, stride) bounded rows, zeros behind each */
    ptrdiff_t stride;       /* whole vectors of the widest path */
    double *live;           /* (MOST_BLOCK_ROWS) 0 for a row that counts as zero, else 1 */
    double *residual;       /* (MOST_BLOCK_ROWS) times what bounds the row */
    double *root;           /* (MOST_BLOCK_ROWS) square root of the second derivative, times what bounds the row */
    double *constant;       /* (MOST_BLOCK_ROWS) the same root times the intercept's constant */
    double *partial;        /* (stride) sums of a block, on the portable path */
    double *columns;        /* rows times `root`, packed for `add_gram` */
    double *gradient;       /* (stride) sums of a group */
    double *gram;           /* upper triangle of the Hessian, rows of gram_stride(q) */
    double *sums;           /* of residuals (the intercept's part), of losses; whether a row was beyond the ball */
    int64_t *faults;        /* (2) */
    int64_t *outside;       /* (d + 1) */
};

#endif
