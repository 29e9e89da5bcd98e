// Where multiplications happen: c = from + a b or from - a b for a tile over k summands, each entry in the order of the
// summands, one lane an entry. So every width of vectors, and every size of tiles, gives the same bits.
#ifndef TILE_H
#define TILE_H

#include "lanes.h"

/**
 * Operands of a tile. `a` is a packed panel [k][TILE_ROWS]. The right side are columns in groups of TILE_ROWS, the groups
 * b_panel apart, summands b_step: packed panels one after the other, or rows of a matrix.
 */
typedef struct {
  const double *a;
  const double *b;
  ptrdiff_t b_step;
  ptrdiff_t b_panel;
} operands;

/** Both sides packed over k summands. */
INLINE operands packed(int32_t k, const double *a, const double *b) {
  return (operands){a, b, TILE_ROWS, (ptrdiff_t)k * TILE_ROWS};
}

/** Where a tile lies: rows `step` apart, groups of TILE_ROWS columns `panel` apart. */
typedef struct {
  double *at;
  ptrdiff_t step;
  ptrdiff_t panel;
} place;

/** In a matrix whose rows lie `step` apart. */
INLINE place in_rows(double *at, ptrdiff_t step) { return (place){at, step, TILE_ROWS}; }

INLINE double *vector_at(place of, int row, int v) {
  return of.at + row * of.step + v * LANES / TILE_ROWS * of.panel + v * LANES % TILE_ROWS;
}

/** A tile of TILE_ROWS x (vectors * LANES), in place or from zero. */
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

/** What a tile does: sums begin at `c` or at zero, products are added or subtracted. */
typedef enum { ADDS = 0, STARTS = 1, SUBTRACTS = 2 } action;

/** As `tile_of`, for the least number of vectors that hold `columns`; those beyond are computed and written as well. */
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

/** As `tile`, where only `rows` x `columns` of rows of `c` exist. */
static void tile_at_edge(action does, int32_t k, operands of, int32_t rows, int32_t columns, double *c, ptrdiff_t step) {
  double own[TILE_ROWS * TILE_COLUMNS] = {0};
  if (does != STARTS)
    for (int32_t i = 0; i < rows; i++) memcpy(own + i * TILE_COLUMNS, c + i * step, columns * sizeof(double));
  tile(does, k, of, columns, in_rows(own, TILE_COLUMNS));
  for (int32_t i = 0; i < rows; i++) memcpy(c + i * step, own + i * TILE_COLUMNS, columns * sizeof(double));
}

/** Asks for the rows of the tile after this one: they come from far away, and a tile needs them at its beginning. */
INLINE void fetch_ahead(const double *c, int32_t rows, ptrdiff_t step) {
  for (int32_t i = 0; i < rows; i++)
    for (int j = 0; j < TILE_COLUMNS; j += 8) __builtin_prefetch(c + i * step + j, 1);
}

/** `tile` on rows of a matrix, by whichever way its size needs. */
static inline void tile_in_rows(action does, int32_t k, operands of, int32_t rows, int32_t columns, double *c, ptrdiff_t step) {
  if (rows < TILE_ROWS || columns % LANES != 0) tile_at_edge(does, k, of, rows, columns, c, step);
  else tile(does, k, of, columns, in_rows(c, step));
}

#endif
