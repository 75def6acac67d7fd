# Declarations of the C headers in `tiles/`, and the types of the arrays that kernels take.
from libc.stdint cimport int64_t, uint8_t

cdef extern from "tiles.h":
    const Py_ssize_t PACK_ROWS
    const Py_ssize_t STRIDE
    const Py_ssize_t FLUSH_ROWS
    const Py_ssize_t PIECE_BYTES
    const double GRID
    const double SQUARED_GRID
    const double ROUNDER
    const double LARGEST
    const double SLACK
    const int64_t LOW_LIMB
    const double ROOT_UNITS

    ctypedef struct Map:
        # From raw values to grid units: public constants only.
        const double *shift
        const double *scale
        const double *low
        const double *high
        bint box
        bint labels
        double negative
        double positive

    ctypedef struct Rows:
        const char *data
        Py_ssize_t n
        Py_ssize_t d
        Py_ssize_t row_stride
        Py_ssize_t column_stride
        bint single

    ctypedef struct Ahead:
        const char *data
        Py_ssize_t step
        Py_ssize_t pieces

    Py_ssize_t gram_stride(Py_ssize_t n_columns) noexcept nogil
    void prefetch_bytes(const char *data, Py_ssize_t bytes) noexcept nogil

cdef extern from "loss.h":
    enum: PANEL_MODELS
    const Py_ssize_t GROUP_ROWS
    const Py_ssize_t MOST_BLOCK_ROWS
    const double LARGE
    const int LOGISTIC
    const int HUBER_SVM
    const int SQUARED
    const int HUBER_RESIDUAL
    const int SOFT_LOGISTIC
    const int SOFT_HUBER
    const int KNOTTED
    const int OF_MARGIN
    const int OF_RESIDUAL
    const int OF_FAMILY

    ctypedef struct KnotsShape "Knots":
        int form
        double per_unit
        double first
        double last
        const double *pieces

    ctypedef struct LossShape:
        int kind
        double width
        double turn
        double square
        double offset
        KnotsShape knots

    ctypedef struct LossWork:
        double *target
        double *weight
        double *block
        Py_ssize_t stride
        double *live
        double *residual
        double *root
        double *constant
        double *partial
        double *columns
        double *gradient
        double *gram
        double *sums
        int64_t *faults
        int64_t *outside

    ctypedef struct LossPass:
        Rows X
        Map map
        double intercept
        LossShape shape
        bint hessian
        bint loss
        bint count_outside
        bint inside
        double edge
        double far
        const double *coef
        void (*settle)(
            const LossPass *p, Py_ssize_t start, Py_ssize_t rows, const double *targets, const LossWork *work
        ) noexcept nogil

cdef extern from "fine.h":
    enum: FINE_ROWS

    ctypedef struct FineBlock "struct FineBlock":
        LossShape shape
        double square_low
        double intercept
        double edge
        bint ball
        Py_ssize_t d
        const double *x
        const double *target
        const double *weight
        const double *high
        const double *low
        double *sum
        double *rest

    void add_fine(const FineBlock *block) noexcept nogil

cdef extern from "clip.h":
    enum: TILE_ROWS
    enum: MOST_COLUMNS
    const float POWER_1
    const float POWER_2
    const float POWER_3
    const float POWER_4
    const float POWER_5
    const float LOG2_OF_E
    const float STEEPEST
    const float ROUNDER_SINGLE

    ctypedef struct ClipPass:
        Rows X
        Map map
        Py_ssize_t q
        Py_ssize_t stride
        double cube
        const double *constants
        const double *scale
        const double *inverse
        const double *target
        const double *weights
        const float *kept
        const float *columns
        const int64_t *index
        int kind
        double width
        double slope
        KnotsShape knots

    ctypedef struct ClipModel:
        const double *coef
        double per_unit
        double clip

    ctypedef struct ClipWork:
        double *block
        double *residual
        double *unweighted
        double *gradient

    ctypedef struct ClipPanel:
        const double *coefs
        const double *per_unit
        const double *clip
        double *margins
        double *gradients

cdef extern from "tiles.h":
    ctypedef struct Tiles:
        bint (*snap_target)(
            const double *raw, Py_ssize_t rows, Py_ssize_t d, const Map *to_grid, double *target, double *excess
        ) noexcept nogil
        bint (*snap_rows)(
            const Rows *X, Py_ssize_t start, Py_ssize_t rows, const Map *to_grid, double *columns,
            double *squared_norm, double *excess, Ahead *ahead, int *beyond
        ) noexcept nogil
        void (*add_gram)(
            const double *columns, Py_ssize_t n_columns, Py_ssize_t rows, double *gram, double *sums, Ahead *ahead
        ) noexcept nogil
        void (*roots_of_weights)(const double *weights, Py_ssize_t rows, double *factors) noexcept nogil
        void (*multiply_columns)(
            double *columns, Py_ssize_t n_columns, Py_ssize_t rows, const double *factors
        ) noexcept nogil
        void (*add_loss)(
            const LossPass *p, Py_ssize_t start, Py_ssize_t rows, const LossWork *work
        ) noexcept nogil
        void (*add_losses)(
            const LossShape *shape, const double *x, Py_ssize_t stride, Py_ssize_t rows, Py_ssize_t q,
            const double *target, const double *weight, const double *coefs, double *margins, double *gradients
        ) noexcept nogil
        void (*add_fine)(const FineBlock *block) noexcept nogil
        void (*measure_rows)(
            const ClipPass *p, Py_ssize_t start, Py_ssize_t rows, double *block, double *squared_norm, double *excess
        ) noexcept nogil
        void (*add_clipped)(
            const ClipPass *p, Py_ssize_t start, Py_ssize_t rows, const ClipModel *model, const ClipWork *work
        ) noexcept nogil
        void (*add_clipped_many)(
            const ClipPass *p, Py_ssize_t start, Py_ssize_t rows, const ClipPanel *panels, Py_ssize_t count,
            double *block
        ) noexcept nogil
        void (*add_columns)(
            const ClipPass *p, Py_ssize_t start, Py_ssize_t rows, const ClipModel *models, Py_ssize_t count,
            double *sums, double *gradients
        ) noexcept nogil
        bint (*sign_labels)(const Map *to_grid, Py_ssize_t rows, double *target) noexcept nogil
        void (*sigmoids)(const double *z, Py_ssize_t n, double *out) noexcept nogil
        void (*softplus)(const double *z, Py_ssize_t n, double *out) noexcept nogil

    const Tiles *built_tiles(const char *path) noexcept nogil
    const Tiles *find_tiles(const char *path) noexcept nogil

ctypedef fused floating:
    float
    double

ctypedef fused number:
    double
    int64_t
    uint8_t     # booleans


cdef inline Py_ssize_t whole_vectors(Py_ssize_t n) noexcept nogil:
    """Up to the next multiple of the widest vector."""
    return (n + 7) & ~<Py_ssize_t> 7
