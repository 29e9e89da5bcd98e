// Packed panels: adjacent vectors of an operand are interleaved as [k][width]. Missing vectors are zero.
#ifndef PACK_H
#define PACK_H

#include "lanes.h"

/**
 * Packs `count` vectors of k entries into consecutive panels [k][TILE_ROWS]. Entry e of vector v is
 * from[v * vector_step + e * entry_step].
 */
static void pack(const double *from, ptrdiff_t vector_step, ptrdiff_t entry_step, int32_t count, int32_t k, double *to) {
  for (int32_t v = 0; v < count; v += TILE_ROWS) {
    const int32_t there = least(TILE_ROWS, count - v);
    const double *source = from + v * vector_step;
    if (there < TILE_ROWS) {
      for (int32_t e = 0; e < k; e++)
        for (int32_t j = 0; j < TILE_ROWS; j++) to[e * TILE_ROWS + j] = j < there ? source[j * vector_step + e * entry_step] : 0;
    } else if (vector_step == 1) {
      for (int32_t e = 0; e < k; e++)
        for (int32_t j = 0; j < TILE_ROWS; j += LANES) store(to + e * TILE_ROWS + j, load(source + e * entry_step + j));
    } else {
      // Eight entries of each vector are packed together, so that each cache line is read once and the output stays in the cache.
      for (int32_t e = 0; e < k; e += 8) {
        const int32_t end = least(e + 8, k);
        for (int32_t j = 0; j < TILE_ROWS; j++)
          for (int32_t s = e; s < end; s++) to[s * TILE_ROWS + j] = source[j * vector_step + s * entry_step];
      }
    }
    to += (ptrdiff_t)k * TILE_ROWS;
  }
}

#endif
