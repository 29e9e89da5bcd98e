// Triangular systems with several right-hand sides, bit-identical to `kernels/wasm/triangular-solve.ts`.
#include "pack.h"
#include "tile.h"

/** Number of rows that are solved between two updates of the remaining rows. */
#define BLOCK 64

/** Packs the rows of the block into panels [BLOCK][TILE_ROWS], with zeros right of the diagonal and an inverted diagonal. */
static void pack_lower(const double *l, ptrdiff_t row, ptrdiff_t column, int32_t width, double *to) {
  for (int32_t i = 0; i < covering(width, TILE_ROWS) * TILE_ROWS; i++) {
    double *panel = to + (ptrdiff_t)(i / TILE_ROWS) * TILE_ROWS * BLOCK + i % TILE_ROWS;
    for (int32_t k = 0; k < BLOCK; k++) {
      const int inside = i < width && k <= i;
      const double value = inside ? l[i * row + k * column] : 0;
      panel[(ptrdiff_t)k * TILE_ROWS] = inside && k == i ? 1 / value : value;
    }
  }
}

/** Solves the rows of a tile against its diagonal. Entry (r, k) of the diagonal is diagonal[k * TILE_ROWS + r]. */
INLINE void solve_rows_of(int vectors, const double *diagonal, int32_t rows, double *b, ptrdiff_t b_step) {
  for (int32_t r = 0; r < rows; r++) {
    vector sums[TILE_VECTORS];
    for (int v = 0; v < vectors; v++) sums[v] = load(b + r * b_step + v * LANES);
    for (int32_t k = 0; k < r; k++)
      for (int v = 0; v < vectors; v++) sums[v] -= diagonal[k * TILE_ROWS + r] * load(b + k * b_step + v * LANES);
    for (int v = 0; v < vectors; v++) store(b + r * b_step + v * LANES, sums[v] * diagonal[r * TILE_ROWS + r]);
  }
}

/** Solves TILE_COLUMNS right-hand sides against a packed block. Rows beyond `width` do not change. */
static void solve_panel(const double *packed, int32_t width, double *b, ptrdiff_t b_step) {
  for (int32_t i = 0; i < width; i += TILE_ROWS) {
    const double *rows = packed + (ptrdiff_t)i * BLOCK;
    const operands of = {rows, b, b_step, TILE_ROWS};
    const int32_t there = least(TILE_ROWS, width - i);
    double *at = b + i * b_step;
    tile_in_rows(SUBTRACTS, i, of, there, TILE_COLUMNS, at, b_step);
    solve_rows_of(TILE_VECTORS, rows + (ptrdiff_t)i * TILE_ROWS, there, at, b_step);
  }
}

/** Solves a lower triangular block for all right-hand sides. Steps can be negative. */
static void solve_block(const double *l, ptrdiff_t row, ptrdiff_t column, int32_t width, double *b, ptrdiff_t b_step, int32_t columns,
                        double *packed) {
  pack_lower(l, row, column, width, packed);
  int32_t c = 0;
  for (; c + TILE_COLUMNS <= columns; c += TILE_COLUMNS) solve_panel(packed, width, b + c, b_step);
  if (c == columns) return;
  double own[BLOCK * TILE_COLUMNS] = {0};
  for (int32_t i = 0; i < width; i++) memcpy(own + i * TILE_COLUMNS, b + i * b_step + c, (columns - c) * sizeof(double));
  solve_panel(packed, width, own, TILE_COLUMNS);
  for (int32_t i = 0; i < width; i++) memcpy(b + i * b_step + c, own + i * TILE_COLUMNS, (columns - c) * sizeof(double));
}

/**
 * Solves L X = B in place. B is [n x columns], row-major, with at least two columns. `scratch` has the size of the workspace
 * of a product plus BLOCK * BLOCK numbers.
 */
void KERNEL(solve_lower)(const double *l, int32_t n, double *b, int32_t columns, double *scratch) {
  double *packed = scratch + KERNEL(product_scratch)() / (int64_t)sizeof(double);
  for (int32_t k = 0; k < n; k += BLOCK) {
    const int32_t width = least(BLOCK, n - k);
    double *rows = b + (ptrdiff_t)k * columns;
    if (k > 0) KERNEL(product)(width, k, columns, l + (ptrdiff_t)k * n, n, 1, b, columns, 1, rows, columns, -1, 0, scratch);
    solve_block(l + (ptrdiff_t)k * (n + 1), n, 1, width, rows, columns, columns, packed);
  }
}

/** Solves L' X = B in place. */
void KERNEL(solve_lower_transposed)(const double *l, int32_t n, double *b, int32_t columns, double *scratch) {
  double *packed = scratch + KERNEL(product_scratch)() / (int64_t)sizeof(double);
  for (int32_t k = (n - 1) / BLOCK * BLOCK; k >= 0; k -= BLOCK) {
    const int32_t width = least(BLOCK, n - k);
    const int32_t after = k + width;
    if (after < n)
      KERNEL(product)(width, n - after, columns, l + (ptrdiff_t)after * n + k, 1, n, b + (ptrdiff_t)after * columns, columns, 1,
                      b + (ptrdiff_t)k * columns, columns, -1, 0, scratch);
    // In reverse order, the transposed block is lower triangular, and the right-hand sides have the same order.
    solve_block(l + (ptrdiff_t)(after - 1) * (n + 1), -1, -(ptrdiff_t)n, width, b + (ptrdiff_t)(after - 1) * columns,
                -(ptrdiff_t)columns, columns, packed);
  }
}
