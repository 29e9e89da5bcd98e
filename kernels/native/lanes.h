// Vectors of LANES doubles and the size of tiles, by instruction set. Each source is compiled once for every set the
// processor family has; its functions carry the name of the set: `product_avx2`.
#ifndef LANES_H
#define LANES_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if !defined(SET) || !defined(LANES)
#error "compile with -DSET=<name of the instruction set> -DLANES=<doubles in a vector>"
#endif

// A tile has TILE_ROWS x TILE_COLUMNS accumulators, as many as fill the registers. LANES divides TILE_ROWS, that divides
// TILE_COLUMNS and 64, and that divides 48.
#if LANES == 8
#define TILE_ROWS 8
#define TILE_VECTORS 3
#elif LANES == 4
#define TILE_ROWS 4
#define TILE_VECTORS 3
#elif defined(__aarch64__)
#define TILE_ROWS 4
#define TILE_VECTORS 4
#else
#define TILE_ROWS 4
#define TILE_VECTORS 2
#endif
#define TILE_COLUMNS (TILE_VECTORS * LANES)

typedef double vector __attribute__((vector_size(LANES * 8)));
typedef double vector_anywhere __attribute__((vector_size(LANES * 8), aligned(8), may_alias));

#define NAME_OF(name, set) name##_##set
#define NAME_IN(name, set) NAME_OF(name, set)
/** The function `name` of this instruction set. */
#define KERNEL(name) NAME_IN(name, SET)
#define INLINE static inline __attribute__((always_inline))

INLINE vector load(const double *from) { return *(const vector_anywhere *)from; }

INLINE void store(double *to, vector value) { *(vector_anywhere *)to = value; }

/** A loop of few known turns, written out so that arrays it indexes stay in registers. */
#define EACH _Pragma("GCC unroll 8") for

/**
 * A number times each of a vector. GCC would first broadcast the number to a register, which on processors of AMD takes the
 * place of an addition; as a part of the multiplication it is free: 16.1 operations a cycle in place of 11.9.
 */
INLINE vector times(const double *number, vector by) {
#if LANES == 8 && defined(__x86_64__)
  vector product;
  __asm__("vmulpd %1%{1to8%}, %2, %0" : "=v"(product) : "m"(*number), "v"(by));
  return product;
#else
  return *number * by;
#endif
}

/** Workspace from the next line of the cache on: wide loads that cross lines take twice as long. */
static inline double *at_line(double *scratch) { return (double *)(((uintptr_t)scratch + 63) & ~(uintptr_t)63); }

static inline int32_t least(int32_t a, int32_t b) { return a < b ? a : b; }

static inline int32_t most(int32_t a, int32_t b) { return a > b ? a : b; }

/** Tile columns, or groups of other sizes, that cover n. */
static inline int32_t covering(int32_t n, int32_t size) { return (n + size - 1) / size; }

#endif
