/* The kernels of one instruction set. Compiled once for each, with LANES and TILES_NAME defined by the build. */
#include "tile_gram.h"
#include "tile_snap.h"
#include "tile_columns.h"
#include "fine.h"

#define QUOTE(name) #name
#define QUOTED(name) QUOTE(name)
#define JOIN(a, b) a##b
#define JOINED(a, b) JOIN(a, b)

const Tiles JOINED(tiles_, TILES_NAME) = {QUOTED(TILES_NAME), snap_target, snap_rows, add_gram,
                                           roots_of_weights, multiply_columns, add_loss, add_losses, add_fine,
                                           measure_rows, add_clipped, add_clipped_many, add_columns, sign_labels, sigmoids, softplus};
