// Cholesky factorisation A = L L' of the lower triangle, bit-identical to `kernels/wasm/cholesky.ts`. Products are subtracted
// from an entry in the order of the columns. Exceptions are entries in a diagonal tile of 4 x 4, and entries in the last rows
// that do not form a group of four: each earlier block of columns is subtracted from them as one sum.
#include "pack.h"
#include "tile.h"

/** Number of columns that are factored between two updates of the columns to their right. */
#define WIDTH 128
/** Number of remaining columns that are updated together. Their panels fit into a second-level cache. */
#define REST_COLUMNS 384

/** Returns the address of the entry of row `row` in column 0, in panels [WIDTH][TILE_ROWS]. */
static inline double *row_of(double *panels, int32_t row) {
  return panels + (ptrdiff_t)(row / TILE_ROWS) * TILE_ROWS * WIDTH + row % TILE_ROWS;
}

/** Packs the rows of a block of columns; missing entries are zero. */
static void pack_rows(const double *from, ptrdiff_t step, int32_t rows, int32_t width, double *to) {
  if (width == WIDTH) return pack(from, step, 1, rows, width, to);
  memset(to, 0, sizeof(double) * WIDTH * covering(rows, TILE_ROWS) * TILE_ROWS);
  for (int32_t i = 0; i < rows; i += TILE_ROWS) pack(from + i * step, step, 1, least(TILE_ROWS, rows - i), width, row_of(to, i));
}

/** Returns the operands of the rows from `row` on, beginning with column j. */
static inline place columns_of(double *panels, int32_t row, int32_t j) {
  return (place){row_of(panels, row) + (ptrdiff_t)j * TILE_ROWS, TILE_ROWS, TILE_ROWS * WIDTH};
}

/** Subtracts the contribution of the earlier columns from the columns [j, j + TILE_ROWS) of some rows; `diagonal` is row j of the block. */
static inline void update_columns(int32_t j, const double *diagonal, int32_t rows, double *panels, int32_t row) {
  const operands of = {diagonal, row_of(panels, row), TILE_ROWS, TILE_ROWS * WIDTH};
  tile(SUBTRACTS, j, of, rows, columns_of(panels, row, j));
}

/**
 * Solves `count` updated columns of some rows against the factored tile. Entry (r, s) of the tile is
 * factored[s * TILE_ROWS + r].
 */
static inline void solve_columns(int32_t count, const double *factored, const double *inverses, int32_t rows, place of) {
  for (int v = 0; v < covering(rows, LANES); v++) {
    double *at = vector_at(of, 0, v);
    for (int32_t s = 0; s < count; s++) {
      vector sum = load(at + s * TILE_ROWS);
      for (int32_t k = 0; k < s; k++) sum -= factored[k * TILE_ROWS + s] * load(at + k * TILE_ROWS);
      store(at + s * TILE_ROWS, sum * inverses[s]);
    }
  }
}

/** Factors a diagonal tile in place. Returns `count`, or the first column with a pivot that is not positive. */
static int32_t factor_tile(int32_t count, double *tile_at, double *inverses) {
  for (int32_t s = 0; s < count; s++) {
    double *column = tile_at + s * TILE_ROWS;
    for (int32_t k = 0; k < s; k++)
      for (int32_t r = s; r < TILE_ROWS; r++) column[r] -= tile_at[k * TILE_ROWS + s] * tile_at[k * TILE_ROWS + r];
    if (!(column[s] > 0)) return s;
    column[s] = sqrt(column[s]);
    inverses[s] = 1 / column[s];
    for (int32_t r = s + 1; r < TILE_ROWS; r++) column[r] *= inverses[s];
  }
  return count;
}

/** Factors the square block, whose panels contain the rows [0, width). Writes the inverted pivots to `inverses`. */
static int32_t factor_block(int32_t width, double *panels, double *inverses) {
  for (int32_t j = 0; j < width; j += TILE_ROWS) {
    const int32_t count = least(TILE_ROWS, width - j);
    const double *diagonal = row_of(panels, j);
    double *own = row_of(panels, j) + (ptrdiff_t)j * TILE_ROWS;
    update_columns(j, diagonal, TILE_ROWS, panels, j);
    const int32_t factored = factor_tile(count, own, inverses + j);
    if (factored < count) return j + factored;
    for (int32_t s = 1; s < count; s++) memset(own + s * TILE_ROWS, 0, s * sizeof(double)); // Above the diagonal.
    for (int32_t i = j + TILE_ROWS; i < width; i += TILE_COLUMNS) {
      const int32_t rows = least(TILE_COLUMNS, width - i);
      update_columns(j, diagonal, rows, panels, i);
      solve_columns(count, own, inverses + j, rows, columns_of(panels, i, j));
    }
  }
  return width;
}

/** Solves the rows below the block. Each panel is solved against the whole block while it is in the first-level cache. */
static void solve_rows(int32_t width, int32_t rows, double *block, const double *inverses, double *below) {
  for (int32_t i = 0; i < rows; i += TILE_COLUMNS) {
    const int32_t there = least(TILE_COLUMNS, rows - i);
    for (int32_t j = 0; j < width; j += TILE_ROWS) {
      const double *diagonal = row_of(block, j);
      update_columns(j, diagonal, there, below, i);
      solve_columns(least(TILE_ROWS, width - j), diagonal + (ptrdiff_t)j * TILE_ROWS, inverses + j, there, columns_of(below, i, j));
    }
  }
}

/** Writes rows of a factored block to the matrix; row i is written up to column i + `past`. */
static void unpack_rows(double *panels, int32_t rows, int32_t width, int32_t past, double *to, ptrdiff_t step) {
  for (int32_t i = 0; i < rows; i++) {
    const double *row = row_of(panels, i);
    const int32_t end = least(width, i + past + 1);
    for (int32_t j = 0; j < end; j++) to[i * step + j] = row[(ptrdiff_t)j * TILE_ROWS];
  }
}

/** Returns true if a block is subtracted from an entry as one sum. */
static inline int is_summed_apart(int32_t i, int32_t j, int32_t whole) { return i >= whole || i >> 2 == j >> 2; }

/** Updates a tile with entries above the diagonal or with separate sums. `whole`: number of rows in groups of four. */
static void subtract_mixed(int32_t k, operands of, int32_t i, int32_t rows, int32_t j, int32_t columns, int32_t whole, double *c,
                           ptrdiff_t c_step) {
  double own[TILE_ROWS * TILE_COLUMNS] = {0};
  for (int32_t r = 0; r < rows; r++)
    for (int32_t s = 0; s < columns && j + s <= i + r; s++)
      if (!is_summed_apart(i + r, j + s, whole)) own[r * TILE_COLUMNS + s] = c[r * c_step + s];
  tile(SUBTRACTS, k, of, columns, in_rows(own, TILE_COLUMNS));
  for (int32_t r = 0; r < rows; r++)
    for (int32_t s = 0; s < columns && j + s <= i + r; s++) {
      const double value = own[r * TILE_COLUMNS + s];
      c[r * c_step + s] = is_summed_apart(i + r, j + s, whole) ? c[r * c_step + s] + value : value;
    }
}

/** Updates the remaining matrix: A22 -= L21 L21'. The panels are both operands. */
static void update_rest(double *c, ptrdiff_t c_step, int32_t n, double *below) {
  const int32_t whole = n & ~3;
  for (int32_t block = 0; block < n; block += REST_COLUMNS) {
    const int32_t block_end = least(n, block + REST_COLUMNS);
    for (int32_t i = block; i < n; i += TILE_ROWS) {
      const int32_t rows = least(TILE_ROWS, n - i);
      for (int32_t j = block; j < least(block_end, i + rows); j += TILE_COLUMNS) {
        const int32_t columns = least(TILE_COLUMNS, least(block_end, i + rows) - j);
        const operands of = packed(WIDTH, row_of(below, i), row_of(below, j));
        double *at = c + i * c_step + j;
        if (i + rows <= whole && j + TILE_COLUMNS <= (i & ~3) && rows == TILE_ROWS)
          tile(SUBTRACTS, WIDTH, of, TILE_COLUMNS, in_rows(at, c_step));
        else subtract_mixed(WIDTH, of, i, rows, j, columns, whole, at, c_step);
      }
    }
  }
}

/**
 * Returns n, or the first column with a pivot that is not positive. `scratch` has (WIDTH + n + TILE_ROWS) * WIDTH numbers
 * from the next cache line on.
 */
int32_t KERNEL(cholesky)(double *a, int32_t n, double *scratch) {
  double *block = at_line(scratch);
  double *below = block + (ptrdiff_t)WIDTH * WIDTH;
  for (int32_t k = 0; k < n; k += WIDTH) {
    const int32_t width = least(WIDTH, n - k);
    const int32_t rest = n - k - width;
    double inverses[WIDTH];
    double *corner = a + (ptrdiff_t)k * (n + 1);
    double *under = corner + (ptrdiff_t)width * n;
    pack_rows(corner, n, width, width, block);
    const int32_t factored = factor_block(width, block, inverses);
    if (factored < width) return k + factored;
    pack_rows(under, n, rest, width, below);
    solve_rows(width, rest, block, inverses, below);
    unpack_rows(block, width, width, 0, corner, n);
    unpack_rows(below, rest, width, width, under, n);
    update_rest(under + width, n, rest, below);
  }
  return n;
}
