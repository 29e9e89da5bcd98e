// Matrix products and X'X. Each entry is summed over k in order, beginning with the value of C.
#include "pack.h"
#include "tile.h"

/** Number of summands that are packed together. */
#define DEPTH 256
/** Numbers of rows of the left operand and of columns of the right operand that are packed together. They fill half of a second-level cache of 2 MiB. */
#define ROWS 96
#define COLUMNS 336

/** Size of the workspace of `product` in bytes. */
int64_t KERNEL(product_scratch)(void) { return (int64_t)DEPTH * (ROWS + COLUMNS + TILE_ROWS + TILE_COLUMNS) * sizeof(double) + 64; }

/** Returns the position of a tile of the rows from `row` on: -1 below the diagonal, 0 across it, 1 above it. */
static inline int side_of(int32_t row, int32_t rows, int32_t column, int32_t columns) {
  if (column + columns <= row) return -1;
  return column >= row + rows - 1 ? 1 : 0;
}

/** Updates a tile across the diagonal without changing entries below the diagonal. */
static void upper_tile(action does, int32_t k, operands of, int32_t row, int32_t rows, int32_t column, int32_t columns, double *c,
                       ptrdiff_t c_step) {
  double own[TILE_ROWS * TILE_COLUMNS] = {0};
  for (int32_t i = 0; i < rows; i++)
    for (int32_t j = most(0, row + i - column); j < columns; j++) own[i * TILE_COLUMNS + j] = c[i * c_step + j];
  tile(does, k, of, columns, in_rows(own, TILE_COLUMNS));
  for (int32_t i = 0; i < rows; i++)
    for (int32_t j = most(0, row + i - column); j < columns; j++) c[i * c_step + j] = own[i * TILE_COLUMNS + j];
}

/** Updates the tiles of a block of C. The first entry of the block is in row `row` and column `column` of C. */
static void add_block(action does, int32_t m, int32_t depth, int32_t n, const double *left, const double *right, double *c,
                      ptrdiff_t c_step, int upper, int32_t row, int32_t column) {
  for (int32_t i = 0; i < m; i += TILE_ROWS) {
    const int32_t rows = least(TILE_ROWS, m - i);
    for (int32_t j = 0; j < n; j += TILE_COLUMNS) {
      const int32_t columns = least(TILE_COLUMNS, n - j);
      const operands of = packed(depth, left + (ptrdiff_t)i * depth, right + (ptrdiff_t)j * depth);
      double *at = c + i * c_step + j;
      const int side = upper ? side_of(row + i, rows, column + j, columns) : 1;
      if (side > 0) tile_in_rows(does, depth, of, rows, columns, at, c_step);
      else if (side == 0) upper_tile(does, depth, of, row + i, rows, column + j, columns, at, c_step);
    }
  }
}

/**
 * Computes C += sign A B with a sign of 1 or -1. Element (i, s) of A is a[i * a_row + s * a_inner], and element (s, j) of B is
 * b[s * b_inner + j * b_column]. The distance between rows of C is c_step. With `upper`, no entry below the diagonal of C is
 * written.
 */
void KERNEL(product)(int32_t m, int32_t k, int32_t n, const double *a, ptrdiff_t a_row, ptrdiff_t a_inner, const double *b,
                     ptrdiff_t b_inner, ptrdiff_t b_column, double *c, ptrdiff_t c_step, double sign, int32_t upper, double *scratch) {
  double *left = at_line(scratch);
  double *right = left + (ptrdiff_t)DEPTH * (ROWS + TILE_ROWS);
  for (int32_t kk = 0; kk < k; kk += DEPTH) {
    const int32_t depth = least(DEPTH, k - kk);
    for (int32_t jj = 0; jj < n; jj += COLUMNS) {
      const int32_t width = least(COLUMNS, n - jj);
      pack(b + kk * b_inner + jj * b_column, b_column, b_inner, width, depth, right);
      const int32_t row_end = upper ? least(m, jj + width) : m;
      for (int32_t ii = 0; ii < row_end; ii += ROWS) {
        const int32_t height = least(ROWS, row_end - ii);
        pack(a + ii * a_row + kk * a_inner, a_row, a_inner, height, depth, left);
        add_block(sign < 0 ? SUBTRACTS : ADDS, height, depth, width, left, right, c + ii * c_step + jj, c_step, upper, ii, jj);
      }
    }
  }
}

// X'X. Threads share the groups of columns of a slab of rows. One thread packs a slab, and every thread adds groups of it to C.

/** Maximum number of rows that are packed together. The numbers of slabs and groups equal those of `kernels/wasm/symmetric-rank-k.ts`. */
#define SLAB_ROWS 320
/** Number of columns of a group, which is eight panels of six columns in `kernels/wasm/symmetric-rank-k.ts`. */
#define GROUP_COLUMNS 48
/** Number of columns of a block of right panels, which fits into a second-level cache. */
#define BLOCK_COLUMNS 192

static int32_t slabs_of(int32_t rows) { return most(1, covering(covering(rows, 4), SLAB_ROWS / 4)); }

/** Returns the first row of a slab. The lengths of slabs differ by at most four rows. */
static int32_t slab_at(int32_t rows, int32_t slab) {
  return least(rows, (int32_t)((int64_t)slab * covering(rows, 4) / slabs_of(rows)) * 4);
}

/** Packs the columns of a slab, beginning at the next cache line. */
void KERNEL(pack_slab)(const double *x, int32_t rows, int32_t columns, int32_t slab, double *panels) {
  const int32_t row = slab_at(rows, slab);
  pack(x + (ptrdiff_t)row * columns, 1, columns, columns, slab_at(rows, slab + 1) - row, at_line(panels));
}

/**
 * Updates the tiles of C on and right of the diagonal: rows [first, last) and columns [from, to). Both ranges begin at a
 * multiple of TILE_ROWS. As many right panels as possible stay in a first-level cache while the left panels of the group change.
 */
static void add_tiles(int32_t rows, int32_t columns, double *c, int32_t slab, const double *panels, int32_t first, int32_t last, int32_t from,
                      int32_t to) {
  const int32_t depth = slab_at(rows, slab + 1) - slab_at(rows, slab);
  const action does = slab == 0 ? STARTS : ADDS;
  for (int32_t group = from; group < to; group += TILE_COLUMNS) {
    const int32_t end = least(to, group + TILE_COLUMNS);
    for (int32_t i = first; i < least(last, end); i += TILE_ROWS) {
      const int32_t j = most(group, i);
      double *at = c + (ptrdiff_t)i * columns + j;
      fetch_ahead(at + (ptrdiff_t)TILE_ROWS * columns, least(TILE_ROWS, last - i - TILE_ROWS), columns);
      tile_in_rows(does, depth, packed(depth, panels + (ptrdiff_t)i * depth, panels + (ptrdiff_t)j * depth), least(TILE_ROWS, last - i),
                   end - j, at, columns);
    }
  }
}

/** Copies the entries right of the diagonal, in rows [first, last) and columns [from, to), to their mirrored positions. */
static void mirror(double *c, int32_t n, int32_t first, int32_t last, int32_t from, int32_t to) {
  for (int32_t j = from; j < to; j += 8)
    for (int32_t i = first; i < least(last, j + 8); i += 8)
      for (int32_t t = j; t < least(to, j + 8); t++) {
        const int32_t end = least(least(last, i + 8), t);
        for (int32_t s = i; s < end; s++) c[(ptrdiff_t)t * n + s] = c[(ptrdiff_t)s * n + t];
      }
}

/** Adds one group of rows of a packed slab to C = X'X. With the last slab, the rows are mirrored below the diagonal. */
void KERNEL(add_slab_group)(int32_t rows, int32_t columns, double *c, int32_t slab, int32_t group, double *panels) {
  const int32_t first = group * GROUP_COLUMNS;
  const int32_t last = least(columns, first + GROUP_COLUMNS);
  for (int32_t block = first; block < columns; block += BLOCK_COLUMNS)
    add_tiles(rows, columns, c, slab, at_line(panels), first, last, block, least(columns, block + BLOCK_COLUMNS));
  if (slab == slabs_of(rows) - 1) mirror(c, columns, first, last, first, columns);
}

/** Computes the complete matrix C = X'X and overwrites C. `panels` has the size of a slab. */
void KERNEL(symmetric_rank_k)(const double *x, int32_t rows, int32_t columns, double *c, double *panels) {
  for (int32_t slab = 0; slab < slabs_of(rows); slab++) {
    KERNEL(pack_slab)(x, rows, columns, slab, panels);
    for (int32_t block = 0; block < columns; block += BLOCK_COLUMNS) {
      const int32_t end = least(columns, block + BLOCK_COLUMNS);
      for (int32_t first = 0; first < end; first += GROUP_COLUMNS)
        add_tiles(rows, columns, c, slab, at_line(panels), first, least(end, first + GROUP_COLUMNS), block, end);
      if (slab == slabs_of(rows) - 1) mirror(c, columns, 0, columns, block, end);
    }
  }
}
