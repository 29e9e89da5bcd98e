// The multiplication of tiles: c = from + a b or c = from - a b over k summands. Each entry uses one lane and is summed in the
// order of the summands. Results are therefore bit-identical for every vector width and every tile size.
#ifndef TILE_H
#define TILE_H

#include "lanes.h"

/**
 * Operands of a tile. `a` is a packed panel [k][TILE_ROWS]. The right operand has columns in groups of TILE_ROWS: consecutive
 * packed panels, or rows of a matrix. The distance between groups is b_panel, and between summands b_step.
 */
typedef struct {
  const double *a;
  const double *b;
  ptrdiff_t b_step;
  ptrdiff_t b_panel;
} operands;

/** Returns the operands if both sides are packed over k summands. */
INLINE operands packed(int32_t k, const double *a, const double *b) {
  return (operands){a, b, TILE_ROWS, (ptrdiff_t)k * TILE_ROWS};
}

/** Location of a tile. The distance between rows is `step`, and between groups of TILE_ROWS columns `panel`. */
typedef struct {
  double *at;
  ptrdiff_t step;
  ptrdiff_t panel;
} place;

/** Returns the location of a tile in a matrix with the distance `step` between rows. */
INLINE place in_rows(double *at, ptrdiff_t step) { return (place){at, step, TILE_ROWS}; }

INLINE double *vector_at(place of, int row, int v) {
  return of.at + row * of.step + v * LANES / TILE_ROWS * of.panel + v * LANES % TILE_ROWS;
}

/** Computes a tile of TILE_ROWS x (vectors * LANES), in place or from zero. */
INLINE void tile_of(int vectors, int subtracts, int starts, int32_t k, operands of, place c) {
  vector sums[TILE_ROWS][TILE_VECTORS];
  EACH (int i = 0; i < TILE_ROWS; i++)
    EACH (int v = 0; v < vectors; v++) sums[i][v] = starts ? (vector){0} : load(vector_at(c, i, v));
  const double *a = of.a;
  const double *b = of.b;
  for (; k > 0; k--) {
    vector right[TILE_VECTORS];
    EACH (int v = 0; v < vectors; v++) right[v] = load(b + v * LANES / TILE_ROWS * of.b_panel + v * LANES % TILE_ROWS);
    EACH (int i = 0; i < TILE_ROWS; i++)
      EACH (int v = 0; v < vectors; v++) {
        const vector product = times(a + i, right[v]);
        sums[i][v] = subtracts ? sums[i][v] - product : sums[i][v] + product;
      }
    a += TILE_ROWS;
    b += of.b_step;
  }
  EACH (int i = 0; i < TILE_ROWS; i++)
    EACH (int v = 0; v < vectors; v++) store(vector_at(c, i, v), sums[i][v]);
}

/** Operation of a tile: sums begin with `c` or with zero, and products are added or subtracted. */
typedef enum { ADDS = 0, STARTS = 1, SUBTRACTS = 2 } action;

/** Like `tile_of`, for the smallest number of vectors that contain `columns`. Further columns of these vectors are also written. */
static void tile(action does, int32_t k, operands of, int32_t columns, place c) {
  switch (covering(columns, LANES) * 4 + (int)does) {
#define CASES(vectors)                                                     \
  case vectors * 4 + ADDS: return tile_of(vectors, 0, 0, k, of, c);        \
  case vectors * 4 + STARTS: return tile_of(vectors, 0, 1, k, of, c);      \
  case vectors * 4 + SUBTRACTS: return tile_of(vectors, 1, 0, k, of, c);
    CASES(1)
    CASES(2)
#if TILE_VECTORS > 2
    CASES(3)
#endif
#if TILE_VECTORS > 3
    CASES(4)
#endif
#undef CASES
  }
}

/** Like `tile`, for a tile of which only `rows` x `columns` entries of `c` exist. */
static void tile_at_edge(action does, int32_t k, operands of, int32_t rows, int32_t columns, double *c, ptrdiff_t step) {
  double own[TILE_ROWS * TILE_COLUMNS] = {0};
  if (does != STARTS)
    for (int32_t i = 0; i < rows; i++) memcpy(own + i * TILE_COLUMNS, c + i * step, columns * sizeof(double));
  tile(does, k, of, columns, in_rows(own, TILE_COLUMNS));
  for (int32_t i = 0; i < rows; i++) memcpy(c + i * step, own + i * TILE_COLUMNS, columns * sizeof(double));
}

/** Prefetches the rows of the next tile, because they are in distant memory and are needed at the start of the tile. */
INLINE void fetch_ahead(const double *c, int32_t rows, ptrdiff_t step) {
  for (int32_t i = 0; i < rows; i++)
    for (int j = 0; j < TILE_COLUMNS; j += 8) __builtin_prefetch(c + i * step + j, 1);
}

/** Computes a tile of a matrix, complete or partial. */
static inline void tile_in_rows(action does, int32_t k, operands of, int32_t rows, int32_t columns, double *c, ptrdiff_t step) {
  if (rows < TILE_ROWS || columns % LANES != 0) tile_at_edge(does, k, of, rows, columns, c, step);
  else tile(does, k, of, columns, in_rows(c, step));
}

#endif
