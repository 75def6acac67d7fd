/* The slope of a loss between its knots, for vectors: one fixed sequence without fused multiply-add. */
#ifndef DPLR_TILE_KNOTS_H
#define DPLR_TILE_KNOTS_H

#include "loss.h"
#include "tile_lanes.h"

/* Of one piece: slope and loss at its left knot, the change of the slope, and how much of the piece lies behind. */
typedef struct { vec slope, change, loss, part, beyond; } Piece;

/* The piece in which a place lies; `beyond` is how far outside all of them, in pieces. Of a NaN: the first, with NaNs. */
INLINE Piece piece_of(const Knots *knots, vec place)
{
    double numbers[LANES], slopes[LANES], changes[LANES], losses[LANES];
    const vec first = all(knots->first), last = all(knots->last), scaled = place * all(knots->per_unit);
    vec u = choose((mask)(scaled < first), first, scaled);
    u = choose((mask)(u > last), last, u);
    vec near = to_nearest(u), whole = near - choose((mask)(near > u), all(1.0), all(0.0));
    whole = choose((mask)(whole == last), whole - all(1.0), whole);
    store(numbers, choose((mask)(u == u), whole - first, all(0.0)));
    for (int k = 0; k < LANES; ++k) {
        const double *piece = knots->pieces + 3 * (ptrdiff_t)numbers[k];
        slopes[k] = piece[0];
        changes[k] = piece[1];
        losses[k] = piece[2];
    }
    return (Piece){load(slopes), load(changes), load(losses), u - whole, scaled - u};
}

INLINE vec slope_at(Piece piece) { return piece.slope + piece.part * piece.change; }

#endif
