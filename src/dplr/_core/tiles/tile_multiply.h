/* Rows of the Gram kernel times factors: packed columns, whole vectors of rows. Nothing rounds but what truncates. */
#include "tile_residuals.h"

/* Roots of weights, truncated to multiples of 2^-19: exactly, for weights that are multiples of 2^-30. */
static void roots_of_weights(const double *weights, ptrdiff_t rows, double *factors)
{
    ptrdiff_t i = 0;
    for (; i + LANES <= rows; i += LANES)
        store(factors + i, truncated(root_of(load(weights + i)) * all(ROOT_UNITS)) * all(1.0 / ROOT_UNITS));
    for (; i < rows; ++i) factors[i] = (double)(int64_t)(sqrt(weights[i]) * ROOT_UNITS) * (1.0 / ROOT_UNITS);
}

/* Entries k of columns become sign(k) floor(|k| factor); the products are exact. */
static void multiply_columns(double *columns, ptrdiff_t n_columns, ptrdiff_t rows, const double *factors)
{
    for (ptrdiff_t j = 0; j < n_columns; ++j)
        for (ptrdiff_t i = 0; i < rows; i += LANES) {
            double *place = columns + j * STRIDE + i;
            store(place, weighted(load(place), load(factors + i)));
        }
}
