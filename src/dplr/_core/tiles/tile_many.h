/* Gradients of a block of rows for many models at once: lanes are models. */
#include "tile_loss.h"

/* c (m, PANEL_MODELS) = or += a b, with a's entries anywhere; m is a constant of the caller. */
INLINE void product_tile(const int m, const int add, const double *a, ptrdiff_t a_row, ptrdiff_t a_column, ptrdiff_t depth,
                         const double *b, double *c)
{
    for (ptrdiff_t first = 0; first < PANEL_MODELS; first += 4 * LANES) {
        vec sums[MOST][4] = {0};
        for (ptrdiff_t p = 0; p < depth; ++p) {
            vec row[4];
#pragma GCC unroll 4
            for (int v = 0; v < 4; ++v) row[v] = load_once(b + p * PANEL_MODELS + first + v * LANES);
#pragma GCC unroll 8
            for (int i = 0; i < m; ++i) {
                vec entry = all(a[i * a_row + p * a_column]);
#pragma GCC unroll 4
                for (int v = 0; v < 4; ++v) sums[i][v] = multiply_add(entry, row[v], sums[i][v]);
            }
        }
#pragma GCC unroll 8
        for (int i = 0; i < m; ++i) {
#pragma GCC unroll 4
            for (int v = 0; v < 4; ++v) {
                double *out = c + i * PANEL_MODELS + first + v * LANES;
                vec total = sums[i][v];
                if (add) total += load(out);
                store(out, total);
            }
        }
    }
}

INLINE void product(const int add, const double *a, ptrdiff_t a_row, ptrdiff_t a_column, ptrdiff_t rows, ptrdiff_t depth,
                    const double *b, double *c)
{
    for (ptrdiff_t i = 0; i < rows; i += MOST) {
        const double *from = a + i * a_row;
        double *to = c + i * PANEL_MODELS;
        switch (rows - i < MOST ? rows - i : MOST) {
#if MOST > 3
        case 6: product_tile(6, add, from, a_row, a_column, depth, b, to); break;
        case 5: product_tile(5, add, from, a_row, a_column, depth, b, to); break;
        case 4: product_tile(4, add, from, a_row, a_column, depth, b, to); break;
#endif
        case 3: product_tile(3, add, from, a_row, a_column, depth, b, to); break;
        case 2: product_tile(2, add, from, a_row, a_column, depth, b, to); break;
        default: product_tile(1, add, from, a_row, a_column, depth, b, to);
        }
    }
}

INLINE void residuals_of(const int kind, const LossShape *loss, ptrdiff_t rows, const double *target,
                         const double *weight, double *margins)
{
    const Shape shape = shape_of(loss);
    for (ptrdiff_t i = 0; i < rows; ++i) {
        const vec y = all(target[i]), a = all(weight[i]);
        for (ptrdiff_t k = 0; k < PANEL_MODELS; k += LANES) {
            double *place = margins + i * PANEL_MODELS + k;
            store(place, curve_of(kind, load(place), y, &shape, 0).residual * a);
        }
    }
}

/* Add a panel's gradients. Rows are bounded and hold the constant; what counts as zero is a row of zeros. */
static void add_losses(const LossShape *loss, const double *x, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t q,
                       const double *target, const double *weight, const double *coefs, double *margins,
                       double *gradients)
{
    product(0, x, stride, 1, rows, q, coefs, margins);
    FOR_LOSS(loss->kind, residuals_of, loss, rows, target, weight, margins);
    product(1, x, 1, stride, q, rows, margins, gradients);
}
