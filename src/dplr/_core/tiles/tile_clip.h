/* Sums of clipped gradients of bounded rows on the grid, in whole numbers: exact, so their order is free. */
#include "tile_multiply.h"

/* Measured. */
INLINE ptrdiff_t clip_block_rows(ptrdiff_t d) { return d >= 96 ? 16 : 32; }

static void add_rounded_gradient(const double *x, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t d,
                                 const double *residual, double *gradient)
{
    add_gradient_of(ROUNDED, x, stride, rows, d, residual, gradient);
}

static void add_kept_gradient(const float *x, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t d, const double *residual,
                              double *gradient)
{
    add_gradient_of(SINGLE, x, stride, rows, d, residual, gradient);
}

static void residuals_of_block(const ClipPass *pass, ptrdiff_t from, ptrdiff_t rows, const ClipModel *model,
                               const ClipWork *work)
{
    FOR_CLIPPED_LOSS(pass->kind, residuals_of_model, pass, from, rows, model, work->residual);
    if (work->unweighted) memcpy(work->unweighted, work->residual, (size_t)rows * sizeof(double));
    if (pass->weights) weigh_residuals(pass, from, rows, work->residual);
}

/* Rows that need only rounding are used where they lie; work->gradient is empty on entry. */
static void add_clipped_in_place(const ClipPass *pass, ptrdiff_t start, ptrdiff_t rows, const ClipModel *model,
                                 const ClipWork *work)
{
    const ptrdiff_t d = pass->X.d, step = clip_block_rows(d), stride = pass->X.row_stride / (ptrdiff_t)sizeof(double);
    const double constant = pass->q > d ? pass->constants[d] : 0.0, shift = constant * model->coef[d < pass->q ? d : 0];
    vec residuals = all(0.0);
    for (ptrdiff_t first = 0; first < rows; first += step) {
        const ptrdiff_t n = rows - first < step ? rows - first : step, from = start + first;
        const double *x = (const double *)(pass->X.data + from * pass->X.row_stride);
        dots_of_block(0, ROUNDED, x, stride, n, d, model->coef, work->residual, NULL);
        for (ptrdiff_t i = 0; i < n; i += LANES)
            store(work->residual + i, load(work->residual + i) * all(GRID) + all(shift));
        residuals_of_block(pass, from, n, model, work);
        for (ptrdiff_t i = 0; i < n; i += LANES) residuals += load(work->residual + i);    /* zeros behind the last */
        add_rounded_gradient(x, stride, n, d, work->residual, work->gradient);
    }
    for (ptrdiff_t j = 0; j < d; ++j) work->gradient[j] *= GRID;
    if (pass->q > d) work->gradient[d] = lanes_total(residuals) * constant;
}

/* Rows that are kept in whole grid units. */
static void add_clipped_of_kept(const ClipPass *pass, ptrdiff_t start, ptrdiff_t rows, const ClipModel *model,
                                const ClipWork *work)
{
    const ptrdiff_t step = pass->q >= 32 ? 16 : 32, whole = (pass->q + LANES - 1) / LANES * LANES;
    for (ptrdiff_t first = 0; first < rows; first += step) {
        const ptrdiff_t n = rows - first < step ? rows - first : step, from = start + first;
        const float *x = pass->kept + from * pass->stride;
        dots_of_block(0, SINGLE, x, pass->stride, n, whole, model->coef, work->residual, NULL);
        residuals_of_block(pass, from, n, model, work);
        add_kept_gradient(x, pass->stride, n, whole, work->residual, work->gradient);
    }
}

/* Add the clipped gradients of rows [start, start + rows), or of as many entries of the index, to work->gradient. */
static void add_clipped(const ClipPass *pass, ptrdiff_t start, ptrdiff_t rows, const ClipModel *model,
                        const ClipWork *work)
{
    const ptrdiff_t step = clip_block_rows(pass->X.d), whole = (pass->q + LANES - 1) / LANES * LANES;
    if (pass->kept && !pass->index) {
        add_clipped_of_kept(pass, start, rows, model, work);
        return;
    }
    if (!pass->map.box && !pass->scale && !pass->index && layout_of(&pass->X) == DOUBLES &&
        pass->X.row_stride % (ptrdiff_t)sizeof(double) == 0) {
        add_clipped_in_place(pass, start, rows, model, work);
        return;
    }
    for (ptrdiff_t first = 0; first < rows; first += step) {
        const ptrdiff_t n = rows - first < step ? rows - first : step, from = start + first, left = rows - first - n;
        prefetch_chosen(pass, from + n, left < step ? left : step);
        pack_with_margins(pass, from, n, rows - first, model->coef, work->block, work->residual);
        residuals_of_block(pass, from, n, model, work);
        add_gradient(work->block, pass->stride, n, whole, work->residual, work->gradient);
    }
}

INLINE void residuals_of_panel(const int kind, const ClipPass *pass, ptrdiff_t from, ptrdiff_t rows,
                               const ClipPanel *panel)
{
    const double none = 0.0;
    for (ptrdiff_t i = 0; i < rows; ++i) {
        const int64_t number = row_number(pass, from + i);
        const double *inverse = pass->inverse + number, *target = pass->target ? pass->target + number : &none;
        for (ptrdiff_t first = 0; first < PANEL_MODELS; first += 4 * LANES) {
            double *place = panel->margins + i * PANEL_MODELS + first;
            Place at[4];
            vec m[4];
            EACH(k, 4) {
                const ptrdiff_t model = first + k * LANES;
                at[k] = (Place){inverse, target, panel->per_unit + model, panel->clip + model};
                m[k] = load(place + k * LANES);
            }
            clipped_residuals(kind, LANES_ARE_MODELS, 4, pass, at, m);
            if (pass->weights) EACH(k, 4) m[k] = weighted(m[k], all(pass->weights[number]));
            EACH(k, 4) store(place + k * LANES, m[k]);
        }
    }
}

/* Add the clipped gradients of panels of models: rows are packed once. */
static void add_clipped_many(const ClipPass *pass, ptrdiff_t start, ptrdiff_t rows, const ClipPanel *panels,
                             ptrdiff_t count, double *block)
{
    for (ptrdiff_t first = 0; first < rows; first += MOST_BLOCK_ROWS) {
        const ptrdiff_t n = rows - first < MOST_BLOCK_ROWS ? rows - first : MOST_BLOCK_ROWS, from = start + first;
        pack_with_margins(pass, from, n, rows - first, NULL, block, NULL);
        for (const ClipPanel *panel = panels; panel < panels + count; ++panel) {
            product(0, block, pass->stride, 1, n, pass->q, panel->coefs, panel->margins);
            FOR_CLIPPED_LOSS(pass->kind, residuals_of_panel, pass, from, n, panel);
            product(1, block, 1, pass->stride, pass->q, n, panel->margins, panel->gradients);
        }
    }
}
