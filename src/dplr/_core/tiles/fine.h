/* Gradients in pairs of float64 numbers, some 100 bits, for the last steps of a minimisation and its certificate.

One source for all paths; on the portable one a vector is a number. Products are split without error whether or not they
are fused, and all else is a fixed sequence, so that every path gives the same bits. `loss.md` bounds the error. */
#ifndef DPLR_FINE_H
#define DPLR_FINE_H

#include <math.h>
#include <string.h>

#include "loss.h"

#ifdef LANES
#include "tile_lanes.h"
INLINE vec opposite(vec v) { return (vec)((mask)v ^ INT64_MIN); }
/* 2^k for the whole number k >= -1010 in the low bits. */
INLINE vec power_of_two(vec shifted) { return (vec)(((mask)shifted << 52) + ((int64_t)1023 << 52)); }
#else
#define LANES 1
#define FUSED 0
#define INLINE static inline
typedef double vec;
typedef int mask;
INLINE vec load(const double *p) { return *p; }
INLINE void store(double *p, vec v) { *p = v; }
INLINE vec all(double value) { return value; }
INLINE vec choose(mask where, vec yes, vec no) { return where ? yes : no; }
INLINE vec root_of(vec v) { return sqrt(v); }
INLINE vec opposite(vec v) { return -v; }
INLINE vec multiply_add(vec a, vec b, vec c) { return a * b + c; }
INLINE vec power_of_two(vec shifted)
{
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits << 52) + ((uint64_t)1023 << 52);
    memcpy(&shifted, &bits, sizeof bits);
    return shifted;
}
#endif

/* Rows side by side. */
#define FINE_ROWS 16

/* The numbers h + l. */
typedef struct { vec h, l; } Fine;

/* A block of rows and what is summed over it. */
struct FineBlock {
    LossShape shape;
    double square_low;      /* SOFT_LOGISTIC: what `shape.square` lacks */
    double intercept, edge;
    int ball;               /* rows are to be projected to the ball of radius `edge` */
    ptrdiff_t d;
    const double *x;        /* (d, FINE_ROWS) raw rows of a ball, or bounded ones */
    const double *target;   /* (FINE_ROWS) NaN for a row that counts as zero */
    const double *weight;   /* (FINE_ROWS) what slopes are multiplied by */
    const double *high, *low;   /* (d + 1) coefficients */
    double *sum, *rest;     /* (d + 1, FINE_ROWS) gradients of each place of a block */
};

INLINE Fine fine(vec h) { return (Fine){h, all(0.0)}; }
INLINE Fine constant(double h, double l) { return (Fine){all(h), all(l)}; }

/* Knuth's sum, without error. */
INLINE Fine exact_sum(vec a, vec b)
{
    vec s = a + b, v = s - a;
    return (Fine){s, (a - (s - v)) + (b - v)};
}

/* The same where |a| >= |b| or a is 0. */
INLINE Fine ordered_sum(vec a, vec b)
{
    vec s = a + b;
    return (Fine){s, b - (s - a)};
}

/* Without error; for |a|, |b| < 2^500. */
INLINE Fine exact_product(vec a, vec b)
{
    vec p = a * b;
    if (FUSED) return (Fine){p, multiply_add(a, b, opposite(p))};
    vec s = all(134217729.0) * a, t = all(134217729.0) * b;
    vec ah = s - (s - a), al = a - ah, bh = t - (t - b), bl = b - bh;
    return (Fine){p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

INLINE Fine negative(Fine a) { return (Fine){opposite(a.h), opposite(a.l)}; }

/* Times one number; the low part may be as large as two roundings of the high one. */
INLINE Fine times(Fine a, vec factor)
{
    Fine p = exact_product(a.h, factor);
    return (Fine){p.h, p.l + a.l * factor};
}

/* Times a power of two, or a sign. */
INLINE Fine scaled_by(Fine a, vec factor) { return (Fine){a.h * factor, a.l * factor}; }

/* Off by some 2^-104 (|a| + |b|). */
INLINE Fine sum_of(Fine a, Fine b)
{
    Fine s = exact_sum(a.h, b.h);
    return ordered_sum(s.h, s.l + (a.l + b.l));
}

INLINE Fine product_of(Fine a, Fine b)
{
    Fine p = exact_product(a.h, b.h);
    return ordered_sum(p.h, p.l + (a.h * b.l + a.l * b.h));
}

INLINE Fine quotient_of(Fine a, Fine b)
{
    vec q = a.h / b.h;
    Fine left = sum_of(a, negative(product_of(b, fine(q))));
    return ordered_sum(q, left.h / b.h);
}

INLINE Fine root_of_fine(Fine a)
{
    vec s = root_of(a.h);
    Fine square = exact_product(s, s);
    return ordered_sum(s, ((a.h - square.h) - square.l + a.l) / (s + s));
}

INLINE Fine either(mask which, Fine yes, Fine no)
{
    return (Fine){choose(which, yes.h, no.h), choose(which, yes.l, no.l)};
}

INLINE Fine magnitude_of(Fine a) { return either((mask)(a.h < all(0.0)), negative(a), a); }

/* 2 s + s^2 for |s| < 1. */
INLINE Fine doubled(Fine s)
{
    Fine square = exact_product(s.h, s.h), twice = ordered_sum(s.h + s.h, square.h);
    return (Fine){twice.h, twice.l + ((s.l + s.l) + (square.l + (s.h + s.h) * s.l))};
}

/* e^-a for a >= 0: 2^k (1 + s) with s = e^r - 1, from r / 256 by eight doublings of r. */
INLINE Fine fine_exp_of_minus(Fine a)
{
    a = either((mask)(a.h > all(700.0)), constant(700.0, 0.0), a);
    vec shifted = a.h * all(-1.4426950408889634) + all(ROUNDER), k = shifted - all(ROUNDER);
    Fine r = exact_sum(opposite(a.h), k * all(-0x1.62e42fefa2p-1));     /* 40 bits of log 2: the product is exact */
    r = sum_of(r, negative(exact_product(k, all(0x1.9ef35793c7673p-41))));
    r = sum_of(r, (Fine){opposite(a.l), k * all(-0x1.f97b57a079a19p-103)});
    r = scaled_by(r, all(0x1p-8));
    Fine square = product_of(r, r), cube = product_of(square, r);
    vec tail = r.h * all(1.0 / 40320);
    tail = r.h * (tail + all(1.0 / 5040));
    tail = r.h * (tail + all(1.0 / 720));
    tail = r.h * (tail + all(1.0 / 120));
    tail = square.h * square.h * (tail + all(1.0 / 24));
    Fine s = sum_of(product_of(cube, constant(0x1.5555555555555p-3, 0x1.5555555555555p-57)), fine(tail));
    s = sum_of(r, sum_of(scaled_by(square, all(0.5)), s));
    for (int doubling = 0; doubling < 8; ++doubling) s = doubled(s);
    return scaled_by(sum_of(fine(all(1.0)), s), power_of_two(shifted));
}

/* 1 / (1 + e^v). */
INLINE Fine fine_sigmoid_of_minus(Fine v)
{
    Fine one = fine(all(1.0)), t = fine_exp_of_minus(magnitude_of(v));
    return quotient_of(either((mask)(v.h > all(0.0)), t, one), sum_of(one, t));
}

/* The size of the slope where v = y m is below the turn. */
INLINE Fine fine_bent(Fine v, const struct FineBlock *b)
{
    const mask positive = (mask)(v.h > all(0.0));
    Fine t = fine_exp_of_minus(magnitude_of(v)), square = constant(b->shape.square, b->square_low);
    Fine q = quotient_of(either(positive, square, product_of(square, t)), either(positive, t, fine(all(1.0))));
    return sum_of(fine(all(b->shape.width)), negative(q));
}

/* The slope of a knotted loss at v. A place below a knot by less than float64 tells lies before it. */
INLINE Fine fine_knotted(const Knots *knots, Fine v)
{
    double numbers[LANES], slopes[LANES], changes[LANES];
    const vec first = all(knots->first), last = all(knots->last);
    const Fine u = scaled_by(v, all(knots->per_unit)), one = fine(all(1.0));
    vec kept = choose((mask)(u.h < first), first, u.h);
    kept = choose((mask)(kept > last), last, kept);
    vec near = (kept + all(ROUNDER)) - all(ROUNDER), whole = near - choose((mask)(near > kept), all(1.0), all(0.0));
    whole = choose((mask)(whole == u.h), whole - choose((mask)(u.l < all(0.0)), all(1.0), all(0.0)), whole);
    whole = choose((mask)(whole < first), first, whole);
    whole = choose((mask)(whole == last), whole - all(1.0), whole);
    store(numbers, choose((mask)(kept == kept), whole - first, all(0.0)));
    for (int k = 0; k < LANES; ++k) {
        const double *piece = knots->pieces + 3 * (ptrdiff_t)numbers[k];
        slopes[k] = piece[0];
        changes[k] = piece[1];
    }
    Fine part = sum_of(u, fine(opposite(whole)));
    part = either((mask)(part.h < all(0.0)), fine(all(0.0)), part);
    part = either((mask)(u.h > last) | ((mask)(u.h == last) & (mask)(u.l > all(0.0))), one, part);
    return sum_of(fine(load(slopes)), product_of(part, fine(load(changes))));
}

/* dl/dm at the margin m. */
INLINE Fine fine_slope(const int kind, const struct FineBlock *b, Fine m, vec target)
{
    const Fine one = fine(all(1.0)), zero = fine(all(0.0)), width = fine(all(b->shape.width));
    Fine v = scaled_by(m, target), raw = sum_of(m, fine(opposite(target))), p;
    switch (kind) {
    case LOGISTIC: p = fine_sigmoid_of_minus(v); return scaled_by(p, opposite(target));
    case SOFT_LOGISTIC:
        p = either((mask)(v.h < all(b->shape.turn)), fine_bent(v, b), fine_sigmoid_of_minus(v));
        return scaled_by(p, opposite(target));
    case HUBER_SVM:
        p = quotient_of(sum_of(sum_of(one, negative(v)), width), fine(width.h + width.h));
        p = either((mask)(p.h < all(0.0)), zero, either((mask)(p.h > all(1.0)), one, p));
        return scaled_by(p, opposite(target));
    case SQUARED: return raw;
    case KNOTTED: {
        const Knots *knots = &b->shape.knots;
        if (knots->form == OF_MARGIN) return scaled_by(fine_knotted(knots, v), target);
        if (knots->form == OF_RESIDUAL) return fine_knotted(knots, raw);
        return sum_of(fine_knotted(knots, m), fine(opposite(target)));
    }
    case SOFT_HUBER:
        p = sum_of(one, negative(fine_exp_of_minus(quotient_of(magnitude_of(raw), width))));
        p = product_of(p, width);
        return either((mask)(raw.h < all(0.0)), negative(p), p);
    default:
        raw = either((mask)(raw.h > width.h), width, raw);
        return either((mask)(raw.h < opposite(width.h)), negative(width), raw);
    }
}

/* Products a b, b = b.h + b.l, added to h + l as if with twice the digits. */
INLINE void add_products(vec a, Fine b, vec *h, vec *l)
{
    Fine p = exact_product(a, b.h), s = exact_sum(*h, p.h);
    *h = s.h;
    *l += s.l + (p.l + a * b.l);
}

/* What bounds the rows of a vector: edge / norm, at most 1. Where the norm is below 1/2, it does not matter. */
INLINE Fine fine_factor(const struct FineBlock *b, const double *x)
{
    vec h = all(0.0), l = all(0.0);
    for (ptrdiff_t j = 0; j < b->d; ++j) {
        const vec v = load(x + j * FINE_ROWS);
        add_products(v, fine(v), &h, &l);
    }
    Fine factor = either((mask)(h > all(0.25)), ordered_sum(h, l), constant(0.25, 0.0));
    factor = quotient_of(fine(all(b->edge)), root_of_fine(factor));
    return either((mask)(factor.h < all(1.0)), factor, fine(all(1.0)));
}

INLINE int fine_rows(const int kind, const struct FineBlock *b)
{
    const ptrdiff_t d = b->d;
    const Fine intercept = product_of(fine(all(b->intercept)), constant(b->high[d], b->low[d]));
    for (int i = 0; i < FINE_ROWS; i += LANES) {
        const Fine factor = b->ball ? fine_factor(b, b->x + i) : fine(all(1.0));
        const vec target = load(b->target + i);
        vec h = all(0.0), l = all(0.0);
        for (ptrdiff_t j = 0; j < d; ++j)
            add_products(load(b->x + j * FINE_ROWS + i), constant(b->high[j], b->low[j]), &h, &l);
        Fine slope = fine_slope(kind, b, sum_of(product_of(ordered_sum(h, l), factor), intercept), target);
        slope = times(either((mask)(target == target), slope, fine(all(0.0))), load(b->weight + i));
        const Fine bounded = product_of(slope, factor);
        for (ptrdiff_t j = 0; j <= d; ++j) {
            double *sum = b->sum + j * FINE_ROWS + i, *rest = b->rest + j * FINE_ROWS + i;
            h = load(sum), l = load(rest);
            if (j < d) add_products(load(b->x + j * FINE_ROWS + i), bounded, &h, &l);
            else add_products(all(b->intercept), slope, &h, &l);
            store(sum, h);
            store(rest, l);
        }
    }
    return 0;
}

/* Add the gradients of a block. */
static void add_fine(const struct FineBlock *b) { FOR_LOSS(b->shape.kind, fine_rows, b); }

#endif
