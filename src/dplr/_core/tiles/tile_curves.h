/* Logistic function, log(1 + e^z), and the losses, for vectors. A NaN stays a NaN: no clamp may make it legal. */
#include "tile_knots.h"

INLINE vec negated(vec v) { return (vec)((mask)v ^ INT64_MIN); }

INLINE vec with_sign(vec size, vec sign) { return (vec)((mask)size | ((mask)sign & INT64_MIN)); }

/* e^a for a <= 0: 2^k e^r with |r| <= log(2) / 2, e^r = 1 + r + s Q(r), s = r^2, Q of degree 9 through Chebyshev's
   points (relative error 2e-17). k is in the low bits of `shifted`. */
typedef struct { vec shifted, r, s, q; } Power;

INLINE Power power_of(vec a)
{
    a = choose((mask)(a < all(-746.0)), all(-746.0), a);
    vec shifted = multiply_add(a, all(1.4426950408889634), all(ROUNDER));
    vec k = shifted - all(ROUNDER);
    vec r = multiply_add(k, all(-0x1.62e42fefa2p-1), a);    /* 40 bits of log 2: the product is exact */
    r = multiply_add(k, all(-7.371002565167799e-13), r);
    vec s = r * r;
    vec even = multiply_add(all(2.7620088445409746e-07), s, all(2.4801521295954376e-05));
    vec odd = multiply_add(all(2.510038549551032e-08), s, all(2.7557268459997064e-06));
    even = multiply_add(even, s, all(0.0013888888917213717));
    odd = multiply_add(odd, s, all(0.00019841269863053618));
    even = multiply_add(even, s, all(0.04166666666662413));
    odd = multiply_add(odd, s, all(0.008333333333330062));
    even = multiply_add(even, s, all(0.5000000000000001));
    odd = multiply_add(odd, s, all(0.16666666666666669));
    return (Power){shifted, r, s, multiply_add(odd, r, even)};
}

/* 2^k v. In two exact steps, so that results below 2^-1022 are rounded once. */
INLINE vec scaled(vec v, Power e)
{
    mask scale = ((mask)e.shifted << 52) + ((int64_t)(1023 + 128) << 52);
    return v * (vec)scale * all(0x1p-128);
}

INLINE vec exp_of_negative(vec a)
{
    Power e = power_of(a);
    return scaled(all(1.0) + multiply_add(e.s, e.q, e.r), e);
}

/* log(1 + t) for t in [0, 1]: t or (t - 1) / 2 as c, so that f = c / (2 + c) is at most 0.172, and
   log(1 + c) = c - c^2/2 + f (c^2/2 + z R(z)), z = f^2, R the tail of the series of 2 artanh(f) / f. */
INLINE vec log_one_plus(vec t)
{
    mask upper = (mask)(t > all(0.41421356));
    vec c = choose(upper, (t - all(1.0)) * all(0.5), t);
    vec f = c / (all(2.0) + c), z = f * f, half = all(0.5) * c * c;
    vec tail = multiply_add(all(0.13088034850927555), z, all(0.13268638369266825));
    tail = multiply_add(tail, z, all(0.15386244737621665));
    tail = multiply_add(tail, z, all(0.18181795547521137));
    tail = multiply_add(tail, z, all(0.22222222392581045));
    tail = multiply_add(tail, z, all(0.28571428570799784));
    tail = multiply_add(tail, z, all(0.40000000000000885));
    tail = multiply_add(tail, z, all(0.6666666666666666));
    vec rest = f * multiply_add(z, tail, half) - half;
    vec low = rest + choose(upper, all(2.3190468138462996e-17), all(0.0));
    return choose(upper, all(0.6931471805599453), all(0.0)) + (c + low);
}

/* 1 / (1 + e^-z) and log(1 + e^z). */
INLINE vec sigmoid_of(vec z)
{
    vec t = exp_of_negative(negated(magnitude(z)));
    return choose((mask)(z < all(0.0)), t, all(1.0)) / (all(1.0) + t);
}

INLINE vec softplus_of(vec z)
{
    vec t = exp_of_negative(negated(magnitude(z)));
    vec positive = choose((mask)(z < all(0.0)), all(0.0), z);
    return positive + log_one_plus(t);
}

/* Of one row: dl/dm, d2l/dm2, l. */
typedef struct { vec residual, weight, loss; } Curve;

INLINE vec clamped(vec v, vec low, vec high)
{
    v = choose((mask)(v < low), low, v);
    return choose((mask)(v > high), high, v);
}

INLINE Curve logistic_curve(vec m, vec s, const int loss)
{
    Curve c = {0};
    vec v = s * m;
    vec t = exp_of_negative(negated(magnitude(v)));
    vec p = choose((mask)(v > all(0.0)), t, all(1.0)) / (all(1.0) + t);
    c.residual = negated(s) * p;
    c.weight = p * (all(1.0) - p);
    if (loss) c.loss = choose((mask)(v > all(0.0)), all(0.0), negated(v)) + log_one_plus(t);
    return c;
}

/* Quadratic where |1 - v| <= width. */
INLINE Curve huber_svm_curve(vec m, vec s, vec width)
{
    Curve c;
    vec v = s * m, slope = all(0.5) / width;
    vec raw = ((all(1.0) - v) + width) * slope, u = clamped(raw, all(0.0), all(1.0));
    c.residual = negated(s) * u;
    c.weight = choose((mask)(raw >= all(0.0)) & (mask)(raw <= all(1.0)), slope, all(0.0));
    c.loss = choose((mask)(raw > all(1.0)), all(1.0) - v, width * u * u);
    return c;
}

INLINE Curve squared_curve(vec m, vec y)
{
    vec r = m - y;
    return (Curve){r, all(1.0), all(0.5) * r * r};
}

/* Quadratic where |m - y| <= width. */
INLINE Curve huber_residual_curve(vec m, vec y, vec width)
{
    vec raw = m - y, r = clamped(raw, negated(width), width), size = magnitude(raw);
    mask inside = (mask)(size <= width);
    return (Curve){r, choose(inside, all(1.0), all(0.0)),
                   choose(inside, all(0.5) * raw * raw, width * (size - all(0.5) * width))};
}

/* The constants of a loss, in vectors. */
typedef struct { vec width, turn, square, offset; const Knots *knots; } Shape;

INLINE Shape shape_of(const LossShape *loss)
{
    return (Shape){all(loss->width), all(loss->turn), all(loss->square), all(loss->offset), &loss->knots};
}

/* Logistic from `turn` on; below it the slope's size is width - square e^v. One exponential and one quotient for both:
   e^v is 1 / t where v > 0, and t elsewhere. */
INLINE Curve soft_logistic_curve(vec m, vec s, const Shape *shape, const int loss)
{
    Curve c = {0};
    vec v = s * m, t = exp_of_negative(negated(magnitude(v)));
    mask positive = (mask)(v > all(0.0)), bent = (mask)(v < shape->turn);
    vec small = choose(positive, t, all(1.0));
    vec top = choose(bent, choose(positive, shape->square, shape->square * t), small);
    vec q = top / choose(bent, small, all(1.0) + t);
    vec p = choose(bent, shape->width - q, q);
    c.residual = negated(s) * p;
    c.weight = choose(bent, q, p * (all(1.0) - p));
    if (loss) {
        vec logistic = choose(positive, all(0.0), negated(v)) + log_one_plus(t);
        c.loss = choose(bent, (shape->offset - shape->width * v) + q, logistic);
    }
    return c;
}

/* With a = |m - y| / width: slope width (1 - e^-a), weight e^-a, loss width^2 (a - (1 - e^-a)). As e^-a is
   2^k (1 + rest), 1 - e^-a is (1 - 2^k) - 2^k rest: 1 - 2^k is 0 or at least 1/2, and little cancels. For k = 0, r = -a
   and a - (1 - e^-a) = s q: nothing cancels there either. */
INLINE Curve soft_huber_curve(vec m, vec y, const Shape *shape, const int loss)
{
    Curve c = {0};
    vec raw = m - y, a = magnitude(raw) / shape->width;
    Power e = power_of(negated(a));
    vec two = scaled(all(1.0), e), gone = all(1.0) - two, rest = multiply_add(e.s, e.q, e.r);
    c.residual = with_sign(shape->width * (gone - two * rest), raw);
    c.weight = two * (all(1.0) + rest);
    if (loss) c.loss = shape->width * (shape->width * (((a - gone) + two * e.r) + two * (e.s * e.q)));
    return c;
}

INLINE Curve knotted_curve(vec m, vec y, const Knots *knots, const int loss)
{
    Curve c = {0};
    const int of_margin = knots->form == OF_MARGIN, of_family = knots->form == OF_FAMILY;
    vec place = m;
    if (of_margin) place = y * m;
    else if (!of_family) place = m - y;
    Piece piece = piece_of(knots, place);
    vec slope = slope_at(piece), step = all(1.0 / knots->per_unit);
    c.residual = slope;
    if (of_margin) c.residual = y * slope;
    else if (of_family) c.residual = slope - y;
    c.weight = choose((mask)(piece.beyond == all(0.0)), piece.change * all(knots->per_unit), all(0.0));
    if (loss) {
        vec inside = piece.part * (piece.slope + all(0.5) * piece.part * piece.change);
        c.loss = piece.loss + step * (inside + piece.beyond * slope);
        if (of_family) c.loss -= y * m;
    }
    return c;
}

INLINE Curve curve_of(const int kind, vec m, vec target, const Shape *shape, const int loss)
{
    switch (kind) {
    case LOGISTIC: return logistic_curve(m, target, loss);
    case HUBER_SVM: return huber_svm_curve(m, target, shape->width);
    case SQUARED: return squared_curve(m, target);
    case SOFT_LOGISTIC: return soft_logistic_curve(m, target, shape, loss);
    case SOFT_HUBER: return soft_huber_curve(m, target, shape, loss);
    case KNOTTED: return knotted_curve(m, target, shape->knots, loss);
    default: return huber_residual_curve(m, target, shape->width);
    }
}

/* For tests: `z` and `out` have whole vectors. */
static void sigmoids(const double *z, ptrdiff_t n, double *out)
{
    for (ptrdiff_t i = 0; i < n; i += LANES) store(out + i, sigmoid_of(load(z + i)));
}

static void softplus(const double *z, ptrdiff_t n, double *out)
{
    for (ptrdiff_t i = 0; i < n; i += LANES) store(out + i, softplus_of(load(z + i)));
}
